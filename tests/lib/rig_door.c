/* SPDX-License-Identifier: Apache-2.0 */
/* Through a guest's door, and its tokens: calls of its supervisor's session. */
#include "json/json.h"
#include "proto/nacre_sandbox.pb.h"
#include "proto/nacre_session.pb.h"
#include "rig.h"
#include "unit.h"
#include "wire/wire.h"

enum {
	ARENA = 4 << 20,
};

#define SESSION "/nacre.session.v1.Session/"
#define META                                                              \
 "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
 "\"io.modelcontextprotocol/clientCapabilities\":{}}"

static void
copy(char *to, size_t size, const struct json_value *v, const char *key)
{
	struct span s;

	if (json_str(json_get(v, key), &s))
		(void)text_copy(to, size, s);
}

static void
take_refused(struct rig_answer *a, const struct json_value *v)
{
	static const struct {
		const char *code;
		const char *member;
	} more[] = {
		{ "NOT_ALLOWED", "why" },
		{ "NOT_READY", "state" },
		{ "INVALID_ARGUMENT", "field" },
		{ "LIMIT_REACHED", "limit" },
	};
	char code[64] = "?";
	char text[64] = "";
	uint64_t used = 0;
	uint64_t max = 0;

	copy(code, sizeof(code), v, "code");
	for (const struct rig_member *m = rig_members; m->code != NULL; m++)
		if (strcmp(code, m->code) == 0 &&
		    json_get(v, m->member) == NULL)
			fail_msg("%s without %s: %s", code, m->member, a->text);
	copy(a->id, sizeof(a->id), v, "sandbox_id");
	for (size_t i = 0; i < NELEM(more); i++)
		if (strcmp(code, more[i].code) == 0)
			copy(text, sizeof(text), v, more[i].member);
	if (strcmp(code, "LIMIT_REACHED") == 0 &&
	    json_uint(json_get(v, "used"), UINT32_MAX, &used) &&
	    json_uint(json_get(v, "max"), UINT32_MAX, &max))
		(void)text_fmt(a->word, sizeof(a->word), "%s %s %u/%u", code,
		    text, (unsigned)used, (unsigned)max);
	else if (strcmp(code, "RATE_LIMITED") == 0 &&
	    json_uint(json_get(v, "retry_after_ms"), UINT32_MAX, &used))
		(void)text_fmt(a->word, sizeof(a->word), "%s %u", code,
		    (unsigned)used);
	else
		(void)text_fmt(a->word, sizeof(a->word), "%s%s%s", code,
		    *text != '\0' ? " " : "", text);
}

/* A tool's result: one sandbox, or a refusal as text that is JSON. */
static void
take_result(struct rig_answer *a, struct span body, struct arena *arena)
{
	const struct json_value *root = NULL;
	const struct json_value *refusal = NULL;
	const struct json_value *v;
	struct fault f = { 0 };
	struct span text;
	bool is_error = false;

	(void)text_copy(a->text, sizeof(a->text), body);
	if (json_parse(body, arena, &root, &f) != 0)
		fail_msg("an answer: %s: %s", f.text, a->text);
	v = json_get(root, "result");
	if (v == NULL)
		fail_msg("no result: %s", a->text);
	(void)!json_bool(json_get(v, "isError"), &is_error);
	if (!is_error) {
		v = json_get(json_get(v, "structuredContent"), "sandbox");
		copy(a->id, sizeof(a->id), v, "id");
		copy(a->state, sizeof(a->state), v, "state");
		a->is_yes = true;
		(void)text_copy(a->word, sizeof(a->word), SPAN_LIT("ok"));
		return;
	}
	if (!json_str(json_get(json_first(json_get(v, "content")), "text"),
		&text) ||
	    json_parse(text, arena, &refusal, &f) != 0)
		fail_msg("no refusal: %s", a->text);
	take_refused(a, refusal);
}

static void
door_message(struct rpc_call *c, void *owner, struct span m)
{
	nacre_session_v1_DoorDown d = nacre_session_v1_DoorDown_init_zero;
	struct rig_answer *a = owner;
	struct fault f = { 0 };
	struct arena arena;
	struct span part;

	rpc_consume(c, m.len);
	arena_init(&arena, ARENA);
	if (WIRE_DECODE(nacre_session_v1_DoorDown, &d, m, &arena, &f) != 0)
		fail_msg("%s", f.text);
	part = d.which_kind == nacre_session_v1_DoorDown_reply_tag
	    ? wire_span(d.kind.reply.body)
	    : wire_span(d.kind.piece);
	if (part.len > 0)
		assert_int_equal(buf_add(&a->bytes, part.ptr, part.len, &f), 0);
	arena_release(&arena);
}

/* A call that took its time is answered as a stream, behind what kept it up. */
static struct span
last_event(struct span body)
{
	static const char data[] = "\ndata: ";
	size_t n = sizeof(data) - 1;

	if (body.len == 0 || body.ptr[0] == '{')
		return body;
	for (size_t at = body.len; at-- > 0;) {
		struct span rest = span_from(body, at);

		if (rest.len > n && memcmp(rest.ptr, data, n) == 0)
			return span_of(rest.ptr + n,
			    span_find(span_from(rest, n), '\n'));
	}
	return body;
}

static void
door_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct rig_answer *a = owner;
	struct arena arena;

	(void)c;
	a->call = NULL;
	a->is_done = true;
	if (f->code != FAULT_NONE) {
		rig_take_refusal(a, detail, f);
		return;
	}
	arena_init(&arena, ARENA);
	take_result(a, last_event(buf_span(&a->bytes)), &arena);
	arena_release(&arena);
}

static void
send_up(struct rpc_call *c, const nacre_session_v1_DoorUp *up)
{
	struct fault f = { 0 };
	struct buf b;

	buf_init(&b, LIMIT_MESSAGE);
	if (WIRE_ENCODE(nacre_session_v1_DoorUp, up, &b, &f) != 0 ||
	    rpc_send(c, buf_span(&b), &f) != 0)
		fail_msg("%s", f.text);
	buf_release(&b);
}

static void
send_request(struct rig_guest *g, struct rpc_call *c,
    const char *const (*fields)[2], const char *program, struct arena *a)
{
	nacre_session_v1_DoorUp up = nacre_session_v1_DoorUp_init_zero;
	nacre_session_v1_DoorRequest *q = &up.kind.request;
	nacre_session_v1_DoorField list[RIG_FIELDS];
	uint8_t digest[32] = { 0 };
	pb_size_t n = 0;

	up.which_kind = nacre_session_v1_DoorUp_request_tag;
	q->token = g->door;
	q->method = arena_str(a, SPAN_LIT("POST"));
	q->path = arena_str(a, SPAN_LIT("/mcp"));
	q->host = arena_str(a, SPAN_LIT("openshell.local"));
	for (; n < RIG_FIELDS && fields[n][0] != NULL; n++)
		list[n] = (nacre_session_v1_DoorField){
			arena_str(a, span_str(fields[n][0])),
			arena_str(a, span_str(fields[n][1])),
		};
	q->fields = list;
	q->fields_count = n;
	q->has_caller = true;
	q->caller.pid = 7;
	q->caller.program = arena_str(a, span_str(program));
	q->caller.state = nacre_sandbox_v1_ProgramState_PROGRAM_FILE;
	q->caller.sha256 = wire_bytes(a, span_of(digest, sizeof(digest)));
	send_up(c, &up);
}

struct rpc_call *
rig_door_request(struct rig_guest *g, const char *const (*fields)[2],
    const char *program, struct span body, const struct rpc_call_events *events,
    void *owner)
{
	nacre_session_v1_DoorUp up = nacre_session_v1_DoorUp_init_zero;
	struct fault f = { 0 };
	struct arena arena;
	struct rpc_call *c = rpc_call(g->inner, SESSION "Door",
	    span_str(g->bearer), -1, events, owner, &f);

	if (c == NULL)
		fail_msg("%s", f.text);
	arena_init(&arena, ARENA);
	send_request(g, c, fields, program, &arena);
	up.which_kind = nacre_session_v1_DoorUp_body_tag;
	up.kind.body = wire_bytes(&arena, body);
	send_up(c, &up);
	rpc_half_close(c);
	arena_release(&arena);
	return c;
}

void
rig_door(struct rig_guest *g, struct rig_answer *a, const char *tool,
    const char *arguments, const char *program)
{
	static const struct rpc_call_events events = {
		.message = door_message,
		.closed = door_closed,
	};
	const char *const fields[RIG_FIELDS][2] = {
		{ "content-type", "application/json" },
		{ "accept", "application/json, text/event-stream" },
		{ "mcp-protocol-version", "2026-07-28" },
		{ "mcp-method", "tools/call" },
		{ "mcp-name", tool },
	};
	struct arena arena;

	memset(a, 0, sizeof(*a));
	buf_init(&a->bytes, 2 * LIMIT_MESSAGE);
	if (g->inner == NULL || !g->is_open) {
		a->is_done = a->is_lost = true;
		return;
	}
	arena_init(&arena, ARENA);
	a->call = rig_door_request(g, fields, program,
	    span_str(arena_fmt(&arena,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
		"\"params\":{" META ",\"name\":\"%s\",\"arguments\":%s}}",
		tool, arguments)),
	    &events, a);
	arena_release(&arena);
}

/* --- tokens */

struct renewal {
	struct rig_guest *g;
	bool is_done;
};

static void
renew_message(struct rpc_call *c, void *owner, struct span m)
{
	nacre_session_v1_Tokens t = nacre_session_v1_Tokens_init_zero;
	struct renewal *r = owner;
	struct fault f = { 0 };
	struct arena a;

	rpc_consume(c, m.len);
	arena_init(&a, ARENA);
	if (WIRE_DECODE(nacre_session_v1_Tokens, &t, m, &a, &f) != 0)
		fail_msg("%s", f.text);
	rig_take_tokens(r->g, t.gateway, t.door, t.life_ms);
	arena_release(&a);
}

static void
renew_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct renewal *r = owner;

	(void)c;
	(void)detail;
	r->is_done = true;
	if (f->code != FAULT_NONE && f->code != FAULT_LOST)
		fail_msg("tokens are not renewed: %s", f->text);
}

static void
renew(struct rig_guest *g)
{
	static const struct rpc_call_events events = {
		.message = renew_message,
		.closed = renew_closed,
	};
	const nacre_session_v1_RefreshRequest ask = { .epoch = g->epoch };
	struct renewal r = { .g = g };
	struct fault f = { 0 };
	struct rpc_call *c;
	struct buf b;

	buf_init(&b, 64);
	c = rpc_call(g->inner, SESSION "Refresh", span_str(g->bearer), -1,
	    &events, &r, &f);
	if (c == NULL ||
	    WIRE_ENCODE(nacre_session_v1_RefreshRequest, &ask, &b, &f) != 0 ||
	    rpc_call_unary(c, buf_span(&b), &f) != 0)
		fail_msg("%s", f.text);
	buf_release(&b);
	rig_until(g->rig, &r.is_done, "new tokens");
}

void
rig_renew(struct rig *r)
{
	for (size_t i = 0; i < RIG_GUESTS; i++) {
		struct rig_guest *g = &r->guest[i];

		if (g->is_used && g->is_open &&
		    rig_clock()->mono_ms >= g->half_life_ms)
			renew(g);
	}
}
