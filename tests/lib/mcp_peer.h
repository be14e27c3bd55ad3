/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the MCP room without HTTP: heads by hand, and a server. */
#ifndef TESTS_LIB_MCP_PEER_H
#define TESTS_LIB_MCP_PEER_H

#include "base/base.h"
#include "mcp/mcp.h"

#define PEER_FIELDS 16

struct peer {
	struct mcp_server server;
	struct mcp_head head;
	struct mcp_request request;
	struct mcp_ended ended;
	struct mcp_key key;
	struct {
		const char *name; /* lower case; borrowed */
		struct span value;
	} fields[PEER_FIELDS];
	size_t nfields;
};

/* A POST of JSON to /mcp of localhost, from a sandbox, with no body yet. */
void peer_init(struct peer *p);
/* Drop all fields. */
void peer_bare(struct peer *p);
void peer_field(struct peer *p, const char *name, const char *value);
void peer_set(struct peer *p, const char *name, struct span value);
void peer_body(struct peer *p, const char *body);

#endif
