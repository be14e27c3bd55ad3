/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers: a status, a few headers, a body. Errors that belong to no id leave
 * it out: clients of both eras choke on "id":null.
 */
#include <string.h>

#include "mcp/inner.h"

bool
mcp_buf(struct arena *a, size_t n, struct buf *b)
{
	buf_init(b, n);
	b->base = arena_get(a, n);
	b->cap = b->base ? n : 0;
	return b->base;
}

void
mcp_answer_plain(struct mcp_answer *out, int status)
{
	*out = (struct mcp_answer){ .status = status };
}

void
mcp_answer_json(struct mcp_answer *out, int status, struct span body)
{
	*out = (struct mcp_answer){
		.status = status,
		.type = "application/json",
		.body = body,
	};
}

void
mcp_answer_header(struct mcp_answer *out, const char *name, struct span value)
{
	BUG_IF(out->nheaders == MCP_HEADERS);
	out->headers[out->nheaders++] = (struct mcp_header){
		.name = name,
		.value = value,
	};
}

void
mcp_answer_spent(struct mcp_answer *out)
{
	mcp_answer_json(out, 400,
	    SPAN_LIT("{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,"
		     "\"message\":\"Invalid Request: it needs more memory "
		     "than one request has\"}}"));
}

void
mcp_answer_stream(struct mcp_answer *out)
{
	*out = (struct mcp_answer){
		.status = 200,
		.type = "text/event-stream",
		.stream = true,
	};
	mcp_answer_header(out, "Cache-Control",
	    SPAN_LIT("no-cache, no-transform"));
	mcp_answer_header(out, "X-Accel-Buffering", SPAN_LIT("no"));
}

struct span
mcp_error_text(struct arena *a, const struct mcp_id *id,
    const struct mcp_error *e)
{
	size_t id_len = id ? id->raw.len : 0;
	size_t n = 128 + id_len + 6 * strlen(e->message) + e->data.len;
	struct json_out o;
	struct buf b;
	struct fault f = { 0 };

	if (!mcp_buf(a, n, &b))
		return SPAN_LIT("");
	json_out_init(&o, &b);
	json_out_object(&o);
	json_out_key(&o, "jsonrpc");
	json_out_text(&o, "2.0");
	if (id_len > 0) {
		json_out_key(&o, "id");
		json_out_raw(&o, id->raw);
	}
	json_out_key(&o, "error");
	json_out_object(&o);
	json_out_key(&o, "code");
	json_out_int(&o, e->code);
	json_out_key(&o, "message");
	json_out_text(&o, e->message);
	if (e->data.len > 0) {
		json_out_key(&o, "data");
		json_out_raw(&o, e->data);
	}
	json_out_end(&o);
	json_out_end(&o);
	return json_out_done(&o, &f) == 0 ? buf_span(&b) : SPAN_LIT("");
}

void
mcp_answer_error(struct mcp_answer *out, struct arena *a,
    const struct mcp_error *e)
{
	struct span text = mcp_error_text(a, NULL, e);

	if (text.len == 0)
		mcp_answer_spent(out);
	else
		mcp_answer_json(out, e->status, text);
}

void
mcp_too_large(struct mcp_answer *out)
{
	mcp_answer_json(out, 413,
	    SPAN_LIT("{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,"
		     "\"message\":\"Payload Too Large: a body has at most "
		     "1048576 bytes\"}}"));
	out->close = true;
}

void
mcp_unavailable(struct mcp_answer *out)
{
	mcp_answer_json(out, 503, SPAN_LIT("{\"error\":\"unavailable\"}"));
}
