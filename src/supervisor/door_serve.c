/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the door answers. It is the MCP endpoint and nothing else; a request to
 * it needs a session with the gateway.
 */
#include <string.h>

#include "supervisor/inner.h"

#define JSON "application/json"

static void
be(struct h1_reply *r, int status, const char *body)
{
	*r = (struct h1_reply){ .status = status,
		.type = JSON,
		.body = span_str(body) };
}

static bool
is_grpc(const struct h1_request *q)
{
	struct span type = h1_find(q, "content-type", NULL);

	type.len = type.len < 16 ? type.len : 16;
	return h1_is_word(type, "application/grpc");
}

bool
door_refuse_early(const struct h1_request *q, struct h1_reply *r)
{
	if (!span_is(q->path, "/mcp")) {
		be(r, 404, "{\"error\":\"not_found\"}");
		return true;
	}
	if (is_grpc(q)) {
		be(r, 415, "{\"error\":\"mcp_only\"}");
		return true;
	}
	return false;
}

void
door_serve(struct door_conn *c)
{
	char sum[DIGEST_HEX] = "";
	struct h1_reply r;

	if (c->caller.has_digest)
		hex_format(c->caller.digest, DIGEST_SIZE, sum);
	log_info("door: '%s' (pid %d, state %d, %s%s) asks%s",
	    c->caller.program, (int)c->caller.pid, (int)c->caller.state,
	    c->caller.in_image ? "of the image" : "sha256 ", sum,
	    c->caller.is_shared ? ", another program holds it too" : "");
	be(&r, 503, "{\"error\":\"no_session\"}");
	door_reply(c, &r);
}

void
door_forget(struct door_conn *c)
{
	c->serving = NULL;
}
