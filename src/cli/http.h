/* SPDX-License-Identifier: Apache-2.0 */
/* The MCP endpoint by HTTP/1.1: of this host's gateway, or in a sandbox. */
#ifndef CLI_HTTP_H
#define CLI_HTTP_H

#include <stdbool.h>

#include "base/base.h"

struct cli;

struct http_answer {
	int status;
	bool is_stream; /* text/event-stream */
	struct span body;
};

/* To the gateway's socket; where there is none, to the door that /etc/hosts
 * names. NOT_READY when there is neither. */
int http_connect(const struct cli *c, int *fd, struct fault *f) MUST_CHECK;
/* A whole request that says "Connection: close"; the answer lives in a. */
int http_exchange(int fd, struct span request, struct arena *a,
    struct http_answer *out, struct fault *f) MUST_CHECK;

#endif
