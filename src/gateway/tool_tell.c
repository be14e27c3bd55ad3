/* SPDX-License-Identifier: Apache-2.0 */
/* Reply messages as the JSON of results, member by member as mcp/fields.def
 * has them. */
#include "gateway/tool.h"
#include "json/json.h"
#include "mcp/mcp.h"
#include "proto/nacre_v1.pb.h"
#include "wire/wire.h"

/* Left away when it is empty. */
static void
text_member(struct json_out *o, const char *key, const char *text)
{
	if (text == NULL || *text == '\0')
		return;
	json_out_key(o, key);
	json_out_text(o, text);
}

static void
truth_member(struct json_out *o, const char *key, bool truth)
{
	if (!truth)
		return;
	json_out_key(o, key);
	json_out_bool(o, true);
}

static void
time_member(struct json_out *o, const char *key, int64_t ms)
{
	char text[32];

	if (ms <= 0)
		return;
	time_format(ms, text);
	text_member(o, key, text);
}

static const char *
given(const char *text)
{
	return text != NULL && *text != '\0' ? text : NULL;
}

static void
child_write(const nacre_v1_Child *c, struct json_out *o)
{
	const struct mcp_sandbox s = {
		.id = c->id != NULL ? c->id : "",
		.name = c->name != NULL ? c->name : "",
		.kind = c->kind != NULL ? c->kind : "",
		.state = c->state != NULL ? c->state : "",
		.parent = given(c->parent),
		.root = given(c->root),
		.depth = c->has_depth ? (int)c->depth : -1,
		.policy_hash = given(c->policy_hash),
		.created_ms = c->created_ms > 0 ? c->created_ms : -1,
		.ended_ms = c->ended_ms > 0 ? c->ended_ms : -1,
		.has_exit = c->has_exit,
		.exit_code = c->exit_code,
		.reason = given(c->reason),
	};

	mcp_sandbox_write(o, &s);
}

int
tool_tell_child(const void *message, struct arena *a, struct json_out *o,
    struct fault *f)
{
	const nacre_v1_ChildReply *r = message;

	(void)a;
	(void)f;
	json_out_object(o);
	json_out_key(o, "sandbox");
	child_write(&r->sandbox, o);
	json_out_end(o);
	return 0;
}

int
tool_tell_children(const void *message, struct arena *a, struct json_out *o,
    struct fault *f)
{
	const nacre_v1_ListChildrenReply *r = message;

	(void)a;
	(void)f;
	json_out_object(o);
	json_out_key(o, "sandboxes");
	json_out_array(o);
	for (size_t i = 0; i < r->sandboxes_count; i++)
		child_write(&r->sandboxes[i], o);
	json_out_end(o);
	text_member(o, "next_cursor", r->next_cursor);
	json_out_end(o);
	return 0;
}

int
tool_tell_deleted(const void *message, struct arena *a, struct json_out *o,
    struct fault *f)
{
	const nacre_v1_DeleteChildReply *r = message;

	(void)a;
	(void)f;
	json_out_object(o);
	json_out_key(o, "deleted");
	json_out_array(o);
	for (size_t i = 0; i < r->deleted_count; i++)
		json_out_text(o, r->deleted[i]);
	json_out_end(o);
	json_out_end(o);
	return 0;
}

/* Half of what a result has is for either stream, and what the other leaves. */
static bool
cut_streams(struct span *out, struct span *err)
{
	size_t half = MCP_RESULT_TEXTS / 2;
	size_t took = mcp_text_cost(*out);
	size_t all = out->len + err->len;

	took = took < half ? took : half;
	*err = mcp_text_cut(*err, MCP_RESULT_TEXTS - took);
	*out = mcp_text_cut(*out, MCP_RESULT_TEXTS - mcp_text_cost(*err));
	return out->len + err->len < all;
}

int
tool_tell_exec(const void *message, struct arena *a, struct json_out *o,
    struct fault *f)
{
	const nacre_v1_ExecChildSandboxReply *r = message;
	struct span out = wire_span(r->out);
	struct span err = wire_span(r->err);
	bool is_cut = cut_streams(&out, &err);

	(void)a;
	(void)f;
	json_out_object(o);
	json_out_key(o, "exit_code");
	json_out_int(o, r->exit_code);
	json_out_key(o, "stdout");
	json_out_str(o, out);
	json_out_key(o, "stderr");
	json_out_str(o, err);
	truth_member(o, "truncated", r->truncated || is_cut);
	truth_member(o, "timed_out", r->timed_out);
	truth_member(o, "replaced", !utf8_valid(out) || !utf8_valid(err));
	json_out_end(o);
	return 0;
}

/* RFC 4648 4, padded. */
static struct span
base64(struct span s, struct arena *a)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = (s.len + 2) / 3 * 4;
	uint8_t *out = arena_get(a, n + 1);
	size_t at = 0;

	for (size_t i = 0; out != NULL && i < s.len; i += 3) {
		size_t left = s.len - i;
		uint32_t v = (uint32_t)s.ptr[i] << 16;

		if (left > 1)
			v |= (uint32_t)s.ptr[i + 1] << 8;
		if (left > 2)
			v |= s.ptr[i + 2];
		out[at++] = (uint8_t)digits[v >> 18];
		out[at++] = (uint8_t)digits[v >> 12 & 63];
		out[at++] = left > 1 ? (uint8_t)digits[v >> 6 & 63] : '=';
		out[at++] = left > 2 ? (uint8_t)digits[v & 63] : '=';
	}
	return span_of(out, out != NULL ? n : 0);
}

int
tool_tell_file(const void *message, struct arena *a, struct json_out *o,
    struct fault *f)
{
	const nacre_v1_GetChildFileReply *r = message;
	struct span data = wire_span(r->data);
	/* Text of nothing but escapes is shorter so, and then it fits. */
	bool is_text =
	    utf8_valid(data) && mcp_text_cost(data) <= MCP_RESULT_TEXTS;

	if (!is_text) {
		data = base64(data, a);
		if (data.ptr == NULL)
			return fault_set(f, FAULT_LIMIT,
			    "the answer is too long");
	}
	json_out_object(o);
	json_out_key(o, "path");
	json_out_text(o, r->path);
	json_out_key(o, "encoding");
	json_out_text(o, is_text ? "utf-8" : "base64");
	json_out_key(o, "data");
	json_out_str(o, data);
	json_out_key(o, "eof");
	json_out_bool(o, r->eof);
	json_out_key(o, "size");
	json_out_uint(o, r->size);
	json_out_key(o, "offset");
	json_out_uint(o, r->offset);
	json_out_end(o);
	return 0;
}

static void
limit_write(const char *key, const nacre_v1_GrantLimit *l, struct json_out *o)
{
	json_out_key(o, key);
	json_out_object(o);
	json_out_key(o, "max");
	json_out_uint(o, l->max);
	json_out_key(o, "used");
	json_out_uint(o, l->used);
	json_out_key(o, "left");
	json_out_uint(o, l->left);
	json_out_end(o);
}

static void
programs_write(const nacre_v1_Grant *g, struct json_out *o)
{
	json_out_key(o, "programs");
	json_out_array(o);
	for (size_t i = 0; i < g->programs_count; i++) {
		const nacre_v1_GrantProgram *p = &g->programs[i];

		json_out_object(o);
		json_out_key(o, "path");
		json_out_text(o, p->path);
		text_member(o, "resolved", p->resolved);
		text_member(o, "sha256", p->sha256);
		json_out_end(o);
	}
	json_out_end(o);
}

static void
grant_member(const nacre_v1_Grant *g, struct json_out *o)
{
	json_out_object(o);
	json_out_key(o, "id");
	json_out_text(o, g->id);
	json_out_key(o, "root");
	json_out_text(o, g->root);
	json_out_key(o, "state");
	json_out_text(o, g->state);
	limit_write("depth", &g->depth, o);
	limit_write("breadth", &g->breadth, o);
	limit_write("total", &g->total, o);
	time_member(o, "expires_at", g->expires_ms);
	programs_write(g, o);
	text_member(o, "set_by", g->set_by);
	time_member(o, "set_at", g->set_ms);
	json_out_end(o);
}

int
tool_tell_grant(const void *message, struct arena *a, struct json_out *o,
    struct fault *f)
{
	const nacre_v1_GrantReply *r = message;

	(void)a;
	(void)f;
	json_out_object(o);
	json_out_key(o, "granted");
	json_out_bool(o, r->granted);
	if (r->has_grant) {
		json_out_key(o, "grant");
		grant_member(&r->grant, o);
	}
	json_out_end(o);
	return 0;
}

int
tool_tell_grants(const void *message, struct arena *a, struct json_out *o,
    struct fault *f)
{
	const nacre_v1_ListGrantsReply *r = message;

	(void)a;
	(void)f;
	json_out_object(o);
	json_out_key(o, "grants");
	json_out_array(o);
	for (size_t i = 0; i < r->grants_count; i++)
		grant_member(&r->grants[i], o);
	json_out_end(o);
	text_member(o, "next_cursor", r->next_cursor);
	json_out_end(o);
	return 0;
}
