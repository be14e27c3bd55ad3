/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the door answers to a head alone. Most of it is the gateway's to judge,
 * with the body; but nobody is told to go on with a body, nor sends one that is
 * too long, only to hear of what his head had said already.
 */
#include "mcp/mcp.h"
#include "supervisor/inner.h"

enum {
	LINES = 256, /* bytes of fields of an answer */
};

static void
be(struct h1_reply *r, int status, const char *body)
{
	*r = (struct h1_reply){ .status = status,
		.type = "application/json",
		.body = span_str(body) };
}

static bool
is_grpc(const struct h1_request *q)
{
	struct span type = h1_find(q, "content-type", NULL);

	type.len = type.len < 16 ? type.len : 16;
	return h1_is_word(type, "application/grpc");
}

static void
be_answer(struct h1_reply *r, const struct mcp_answer *a, struct arena *arena)
{
	char *lines = arena_get(arena, LINES);
	size_t n = 0;

	*r = (struct h1_reply){ .status = a->status,
		.type = a->type,
		.body = a->body,
		.closes = a->close,
		.more = lines };
	for (size_t i = 0; lines && i < a->nheaders; i++) {
		if (!text_fmt(lines + n, LINES - n, "%s: %.*s\r\n",
			a->headers[i].name, (int)a->headers[i].value.len,
			(const char *)a->headers[i].value.ptr))
			lines[n] = '\0';
		n = strlen(lines);
	}
}

bool
door_refuse_early(const struct h1_request *q, struct arena *a,
    struct h1_reply *r)
{
	static const struct mcp_server server;
	const struct mcp_head head = {
		.method = q->method,
		.target = q->path,
		.host = q->host,
		.length = q->is_chunked ? -1 : (int64_t)q->length,
		.header = h1_field,
		.at = q,
	};
	const struct mcp_request request = {
		.server = &server,
		.head = &head,
		.side = MCP_SANDBOX,
		.auth = MCP_KNOWN,
	};
	struct mcp_answer answer;

	if (!span_is(q->path, "/mcp")) {
		be(r, 404, "{\"error\":\"not_found\"}");
		return true;
	}
	if (is_grpc(q)) {
		be(r, 415, "{\"error\":\"mcp_only\"}");
		return true;
	}
	if ((!q->expects_continue && q->length <= H1_BODY) ||
	    !mcp_front(&request, a, &answer))
		return false;
	be_answer(r, &answer, a);
	return true;
}

void
door_refuse_malformed(int status, struct h1_reply *r)
{
	struct mcp_answer answer;

	be(r, status, "{\"error\":\"bad_request\"}");
	if (status == 413) {
		mcp_too_large(&answer);
		r->body = answer.body;
	}
	r->closes = true;
}
