/* SPDX-License-Identifier: Apache-2.0 */
/* tests/data/mcp/matrix.jsonl, line by line; README.md there says how. */
#include "../../lib/mcp_peer.h"
#include "../../lib/unit.h"
#include "base/base.h"
#include "json/json.h"
#include "mcp/mcp.h"

struct matrix {
	struct arena arena;
	char session[MCP_SESSION_TEXT];
	char spare[MCP_SESSION_TEXT];
	char ended[MCP_SESSION_TEXT];
	char other[MCP_SESSION_TEXT];
	const char *name; /* of the case */
	const struct json_value *row;
	struct span reply; /* JSON of the answer, out of its events if any */
	size_t events;
	struct mcp_answer answer;
	struct buf out;
	struct buf message;
};

static struct peer peer;
static struct matrix matrix;

#define EXPECT(cond)                                                        \
 do {                                                                       \
  if (!(cond))                                                              \
   fail_msg("%s: %s; status %d, body %.*s", matrix.name, #cond,             \
       matrix.answer.status, (int)matrix.answer.body.len,                   \
       matrix.answer.body.ptr ? (const char *)matrix.answer.body.ptr : ""); \
 } while (0)

static const struct json_value *
parsed(struct span text)
{
	const struct json_value *root = NULL;
	struct fault f = { 0 };

	if (json_parse(text, &matrix.arena, &root, &f) != 0)
		fail_msg("%s: %s in %.*s", matrix.name, f.text, (int)text.len,
		    (const char *)text.ptr);
	return root;
}

static int64_t
wanted(const char *member)
{
	int64_t n = -1;

	(void)!json_int(json_get(matrix.row, member), INT64_MIN, INT64_MAX, &n);
	return n;
}

static struct span
text_of(const char *member, const char *otherwise)
{
	struct span s = span_str(otherwise);

	(void)!json_str(json_get(matrix.row, member), &s);
	return s;
}

/* Every member of `part` is in `whole`, with that value. */
static bool
is_part(const struct json_value *part, const struct json_value *whole)
{
	const struct json_value *w = json_first(whole);

	if (!whole || part->kind != whole->kind)
		return false;
	if (part->kind == JSON_OBJECT) {
		for (const struct json_value *m = part->first; m; m = m->next)
			if (!is_part(m,
				json_get(whole, (const char *)m->key.ptr)))
				return false;
		return true;
	}
	if (part->kind != JSON_ARRAY)
		return part->kind == JSON_STRING
		    ? span_equal(part->text, whole->text)
		    : span_equal(part->raw, whole->raw);
	if (part->count != whole->count)
		return false;
	for (const struct json_value *m = part->first; m; m = m->next) {
		if (!is_part(m, w))
			return false;
		w = w->next;
	}
	return true;
}

static struct span
placeholder(struct span s)
{
	if (span_is(s, "$SESSION"))
		return span_str(matrix.session);
	if (span_is(s, "$SPARE"))
		return span_str(matrix.spare);
	if (span_is(s, "$ENDED"))
		return span_str(matrix.ended);
	if (span_is(s, "$OTHER"))
		return span_str(matrix.other);
	return s;
}

static void
request_make(void)
{
	const struct json_value *headers = json_get(matrix.row, "headers");
	struct span hex = text_of("body_hex", "");

	peer_bare(&peer);
	peer.head.method = text_of("method", "POST");
	peer.head.target = text_of("path", "/mcp");
	peer.head.host = SPAN_LIT("localhost:8080");
	for (const struct json_value *m = json_first(headers); m; m = m->next)
		if (span_is(m->key, "host"))
			peer.head.host = m->text;
		else
			peer_set(&peer, (const char *)m->key.ptr,
			    placeholder(m->text));
	peer.request.body = text_of("body", "");
	if (hex.len > 0) {
		uint8_t *bytes = arena_get(&matrix.arena, hex.len / 2);

		assert_true(hex_parse(hex, bytes, hex.len / 2));
		peer.request.body = span_of(bytes, hex.len / 2);
	}
	peer.head.length = (int64_t)peer.request.body.len;
}

/* What the gateway would do with a call, for one tool and every refusal. */
static void
call_run(struct mcp_call *c)
{
	struct mcp_refusal r;
	struct fault f = { 0 };
	struct fault g = { 0 };

	if (!c->listed)
		(void)fault_set(&f, FAULT_REFUSED, "not for a sandbox");
	if (f.code == FAULT_NONE &&
	    mcp_arguments_check(c->tool, peer.request.side, c->arguments, &f) ==
		0) {
		assert_int_equal(mcp_result(c, SPAN_LIT("{\"sandboxes\":[]}"),
				     &matrix.message, &f),
		    0);
		return;
	}
	r = mcp_refusal_of(&f);
	assert_int_equal(mcp_refusal(c, &r, &matrix.arena, &matrix.message, &g),
	    0);
}

static void
calls_run(struct mcp_decision *d)
{
	struct mcp_reply reply;
	unsigned send = 0;

	mcp_reply_begin(&reply, d, 0);
	for (size_t i = 0; i < d->ncalls; i++) {
		EXPECT(send == 0);
		buf_clear(&matrix.message);
		call_run(&d->calls[i]);
		send = mcp_reply_over(&reply, &d->calls[i],
		    arena_dup(&matrix.arena, buf_span(&matrix.message)),
		    &matrix.answer, &matrix.out);
	}
	EXPECT(send == (MCP_SEND_HEAD | MCP_SEND_END));
}

/* "event: message", "data: JSON", a blank line; the last JSON stays. */
static void
events_read(void)
{
	struct span rest = matrix.answer.body;

	matrix.events = 0;
	while (rest.len > 0) {
		EXPECT(span_starts(rest, "event: message\ndata: "));
		rest = span_from(rest, sizeof("event: message\ndata: ") - 1);
		matrix.reply = span_of(rest.ptr, span_find(rest, '\n'));
		(void)parsed(matrix.reply);
		rest = span_from(rest, matrix.reply.len);
		EXPECT(span_starts(rest, "\n\n"));
		rest = span_from(rest, 2);
		matrix.events++;
	}
}

static void
headers_check(void)
{
	const struct json_value *want = json_get(matrix.row, "answer_headers");

	for (const struct json_value *m = json_first(want); m; m = m->next) {
		bool found = false;

		for (size_t i = 0; i < matrix.answer.nheaders; i++) {
			const struct mcp_header *h = &matrix.answer.headers[i];

			if (strcasecmp(h->name, (const char *)m->key.ptr) == 0)
				found = span_is(m->text, "*") ||
				    span_equal(h->value, m->text);
		}
		EXPECT(found);
	}
}

static void
refusal_check(const struct json_value *result)
{
	const struct json_value *item = json_first(json_get(result, "content"));
	struct span text;
	bool is_error = false;

	EXPECT(json_bool(json_get(result, "isError"), &is_error) && is_error);
	EXPECT(!json_get(result, "structuredContent"));
	EXPECT(json_str(json_get(item, "text"), &text));
	item = json_get(parsed(text), "code");
	EXPECT(json_is(item, JSON_STRING) &&
	    span_equal(item->text, text_of("refusal", "")));
}

static void
structured_check(const struct json_value *result)
{
	const struct json_value *item = json_first(json_get(result, "content"));
	const struct json_value *structured =
	    json_get(result, "structuredContent");
	struct span text;

	EXPECT(!json_get(result, "isError"));
	EXPECT(json_is(structured, JSON_OBJECT));
	EXPECT(json_str(json_get(item, "text"), &text));
	EXPECT(is_part(structured, parsed(text)));
}

static void
response_check(const struct json_value *root)
{
	const struct json_value *result = json_get(root, "result");
	const struct json_value *error = json_get(root, "error");
	const struct json_value *id = json_get(matrix.row, "id");
	int64_t n = 0;

	EXPECT(is_part(parsed(SPAN_LIT("{\"jsonrpc\":\"2.0\"}")), root));
	EXPECT(!result != !error);
	EXPECT(id ? is_part(id, json_get(root, "id")) : !json_get(root, "id"));
	if (json_get(matrix.row, "error")) {
		EXPECT(json_int(json_get(error, "code"), -40000, 0, &n));
		EXPECT(n == wanted("error"));
		EXPECT(json_is(json_get(error, "message"), JSON_STRING));
		EXPECT(
		    !json_get(matrix.row, "data") == !json_get(error, "data"));
		return;
	}
	EXPECT(result);
	if (json_get(matrix.row, "result"))
		EXPECT(is_part(json_get(matrix.row, "result"), result));
	if (json_get(matrix.row, "refusal"))
		refusal_check(result);
	if (json_get(matrix.row, "structured"))
		structured_check(result);
	if (json_get(matrix.row, "tools"))
		EXPECT((int64_t)json_get(result, "tools")->count ==
		    wanted(peer.request.side == MCP_HOST ? "host_tools"
							 : "tools"));
}

static void
body_check(void)
{
	const struct json_value *root;
	bool head = span_is(peer.head.method, "HEAD");

	if (json_get(matrix.row, "body_is")) {
		EXPECT(span_equal(matrix.answer.body, text_of("body_is", "")));
		return;
	}
	if (head ||
	    (!json_get(matrix.row, "error") && !json_get(matrix.row, "id") &&
		!json_get(matrix.row, "batch"))) {
		EXPECT(matrix.answer.body.len == 0);
		return;
	}
	root = parsed(matrix.reply);
	if (!json_get(matrix.row, "batch")) {
		response_check(root);
		return;
	}
	EXPECT(json_is(root, JSON_ARRAY));
	EXPECT((int64_t)root->count == wanted("batch"));
}

static void
row_check(void)
{
	struct mcp_decision d;
	bool front;
	struct mcp_answer early;
	struct span type = text_of("type", "");

	request_make();
	front = mcp_front(&peer.request, &matrix.arena, &early);
	mcp_decide(&peer.request, &matrix.arena, &d);
	matrix.answer = d.answer;
	if (front)
		EXPECT(early.status == d.answer.status);
	buf_clear(&matrix.out);
	if (d.next == MCP_RUN)
		calls_run(&d);
	matrix.reply = matrix.answer.body;
	matrix.events = 0;
	EXPECT(matrix.answer.status == wanted("status"));
	EXPECT(!matrix.answer.type == (matrix.answer.body.len == 0) ||
	    span_is(peer.head.method, "HEAD"));
	if (type.len > 0)
		EXPECT(span_is(type, matrix.answer.type));
	if (matrix.answer.type &&
	    strcmp(matrix.answer.type, "text/event-stream") == 0)
		events_read();
	if (json_get(matrix.row, "events"))
		EXPECT((int64_t)matrix.events == wanted("events"));
	headers_check();
	body_check();
}

static void
sessions_make(enum mcp_side side)
{
	struct mcp_session s;
	struct span mine = peer.request.principal;

	peer.request.side = side;
	mcp_session_issue(&peer.request, "2025-11-25", matrix.session);
	peer.request.random[0]++;
	mcp_session_issue(&peer.request, "2025-11-25", matrix.spare);
	peer.request.random[0]++;
	mcp_session_issue(&peer.request, "2025-11-25", matrix.ended);
	assert_true(
	    mcp_session_verify(&peer.request, span_str(matrix.ended), &s));
	mcp_ended_add(&peer.ended, &s);
	peer.request.principal = SPAN_LIT("sandbox:two");
	mcp_session_issue(&peer.request, "2025-11-25", matrix.other);
	peer.request.principal = mine;
}

static void
matrix_run(enum mcp_side side)
{
	FILE *file = fopen(TEST_DATA "/mcp/matrix.jsonl", "r");
	static char line[16384];
	size_t n = 0;

	assert_non_null(file);
	peer_init(&peer);
	buf_init(&matrix.out, 1 << 20);
	buf_init(&matrix.message, 1 << 20);
	sessions_make(side);
	while (fgets(line, sizeof(line), file)) {
		arena_init(&matrix.arena, 16 << 20);
		matrix.name = "?";
		matrix.row = parsed(span_str(line));
		assert_true(
		    json_cstr(json_get(matrix.row, "case"), &matrix.name));
		if (side == MCP_SANDBOX || !json_get(matrix.row, "side"))
			row_check();
		arena_release(&matrix.arena);
		n++;
	}
	assert_true(n > 180);
	(void)fclose(file);
	buf_release(&matrix.out);
	buf_release(&matrix.message);
}

static void
every_row_holds_for_a_sandbox(void **state)
{
	(void)state;
	matrix_run(MCP_SANDBOX);
}

static void
every_row_holds_for_the_host(void **state)
{
	(void)state;
	matrix_run(MCP_HOST);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_holds_for_a_sandbox),
		cmocka_unit_test(every_row_holds_for_the_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
