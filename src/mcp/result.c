/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call came to, as one JSON-RPC response. Success goes out twice, as
 * structuredContent for programs and as text for models; a refusal is text
 * alone.
 */
#include "mcp/inner.h"

static void
response_begin(struct json_out *o, const struct mcp_call *c, struct buf *out)
{
	json_out_init(o, out);
	json_out_object(o);
	json_out_key(o, "jsonrpc");
	json_out_text(o, "2.0");
	json_out_key(o, "id");
	json_out_raw(o, c->id.raw);
}

static void
result_begin(struct json_out *o, const struct mcp_call *c, struct buf *out)
{
	response_begin(o, c, out);
	json_out_key(o, "result");
	json_out_object(o);
	if (c->era == MCP_MODERN) {
		json_out_key(o, "resultType");
		json_out_text(o, "complete");
	}
}

static int
result_end(struct json_out *o, const struct mcp_call *c, bool is_error,
    struct fault *f)
{
	if (is_error) {
		json_out_key(o, "isError");
		json_out_bool(o, true);
	}
	if (c->era == MCP_MODERN)
		mcp_meta_write(o);
	json_out_end(o);
	json_out_end(o);
	return json_out_done(o, f);
}

static void
text_write(struct json_out *o, struct span text)
{
	json_out_key(o, "content");
	json_out_array(o);
	json_out_object(o);
	json_out_key(o, "type");
	json_out_text(o, "text");
	json_out_key(o, "text");
	json_out_str(o, text);
	json_out_end(o);
	json_out_end(o);
}

/* As structuredContent, and escaped once more inside the text. */
static size_t
byte_cost(uint8_t c, bool is_utf8)
{
	if (c == '"' || c == '\\')
		return 2 + 4;
	if (c == '\b' || c == '\f' || c == '\n' || c == '\r' || c == '\t')
		return 2 + 3;
	if (c < 0x20)
		return 6 + 7;
	return c < 0x80 || is_utf8 ? 1 + 1 : 3 + 3;
}

size_t
mcp_text_cost(struct span s)
{
	bool is_utf8 = utf8_valid(s);
	size_t cost = 0;

	for (size_t i = 0; i < s.len; i++)
		cost += byte_cost(s.ptr[i], is_utf8);
	return cost;
}

struct span
mcp_text_cut(struct span s, size_t most)
{
	bool is_utf8 = utf8_valid(s);
	size_t n = 0;

	for (; n < s.len; n++) {
		size_t cost = byte_cost(s.ptr[n], is_utf8);

		if (cost > most)
			break;
		most -= cost;
	}
	if (n < s.len)
		s.len = utf8_whole(span_of(s.ptr, n));
	return s;
}

int
mcp_result(const struct mcp_call *c, struct span structured, struct buf *out,
    struct fault *f)
{
	struct json_out o;

	result_begin(&o, c, out);
	text_write(&o, structured);
	json_out_key(&o, "structuredContent");
	json_out_raw(&o, structured);
	return result_end(&o, c, false, f);
}

int
mcp_content(const struct mcp_call *c, struct span content, bool is_error,
    struct buf *out, struct fault *f)
{
	struct json_out o;

	result_begin(&o, c, out);
	json_out_key(&o, "content");
	json_out_raw(&o, content);
	return result_end(&o, c, is_error, f);
}

int
mcp_failure(const struct mcp_call *c, const char *message, struct buf *out,
    struct fault *f)
{
	struct json_out o;

	response_begin(&o, c, out);
	json_out_key(&o, "error");
	json_out_object(&o);
	json_out_key(&o, "code");
	json_out_int(&o, MCP_INTERNAL_ERROR);
	json_out_key(&o, "message");
	json_out_text(&o, message);
	json_out_end(&o);
	json_out_end(&o);
	return json_out_done(&o, f);
}

int
mcp_refused(const struct mcp_call *c, struct span object, struct buf *out,
    struct fault *f)
{
	struct json_out o;

	result_begin(&o, c, out);
	text_write(&o, object);
	return result_end(&o, c, true, f);
}

struct mcp_refusal
mcp_refusal_of(const struct fault *fault)
{
	return (struct mcp_refusal){
		.code = fault_reason(fault->code),
		.message = span_str(fault->text),
		.field = span_str(fault->field),
	};
}

static void
member_write(struct json_out *o, const char *key, struct span text)
{
	if (text.len == 0)
		return;
	json_out_key(o, key);
	json_out_str(o, text);
}

static bool
is_own(struct span key)
{
	return span_is(key, "code") || span_is(key, "message") ||
	    span_is(key, "hint") || span_is(key, "field");
}

static int
more_write(struct json_out *o, const struct mcp_refusal *r, struct arena *a,
    struct fault *f)
{
	const struct json_value *root;

	if (r->more.len == 0)
		return 0;
	if (json_parse(r->more, a, &root, f) != 0)
		return -1;
	for (const struct json_value *m = json_first(root); m;
	     m = json_next(m)) {
		if (is_own(m->key) || span_find(m->key, '\0') != m->key.len)
			continue;
		json_out_key(o, (const char *)m->key.ptr);
		json_out_raw(o, m->raw);
	}
	return 0;
}

int
mcp_refusal(const struct mcp_call *c, const struct mcp_refusal *r,
    struct arena *a, struct buf *out, struct fault *f)
{
	size_t n = 256 + 6 * (r->message.len + r->hint.len + r->field.len) +
	    6 * r->more.len;
	struct json_out inside;
	struct buf object;
	int rc;

	if (!mcp_buf(a, n, &object))
		return fault_set(f, FAULT_LIMIT,
		    "a refusal of %zu bytes is too large for its arena", n);
	json_out_init(&inside, &object);
	json_out_object(&inside);
	json_out_key(&inside, "code");
	json_out_text(&inside, r->code);
	json_out_key(&inside, "message");
	json_out_str(&inside, r->message);
	member_write(&inside, "hint", r->hint);
	member_write(&inside, "field", r->field);
	rc = more_write(&inside, r, a, f);
	json_out_end(&inside);
	if (rc != 0 || json_out_done(&inside, f) != 0)
		return -1;
	return mcp_refused(c, buf_span(&object), out, f);
}
