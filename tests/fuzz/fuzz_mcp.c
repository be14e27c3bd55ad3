/* rooms: mcp json */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request as text (a line "METHOD TARGET", fields, a blank line, the body) is
 * decided, its calls are refused or answered, and whatever is said is what a
 * client can read: JSON or events of JSON, with a status that is known.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../lib/mcp_peer.h"
#include "base/base.h"
#include "json/json.h"
#include "mcp/mcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static const struct mcp_tool extra[] = { {
    .name = "fixture",
    .title = "t",
    .text = "d",
    .sides = MCP_SANDBOX | MCP_HOST,
    .in_schema = "{\"type\":\"object\"}",
    .capability = "sampling",
    .mirrored = "region",
    .mirror = "mcp-param-region",
} };

static struct span
line_take(struct span *rest)
{
	struct span line = span_of(rest->ptr, span_find(*rest, '\n'));

	*rest = span_from(*rest, line.len + 1);
	return line;
}

static void
field_take(struct peer *p, struct arena *a, struct span line)
{
	size_t colon = span_find(line, ':');
	char *name = arena_str(a, span_of(line.ptr, colon));
	struct span value = span_from(line, colon + 1);

	if (span_starts(value, " $SESSION")) {
		char *text = arena_get(a, MCP_SESSION_TEXT);

		mcp_session_issue(&p->request, "2025-11-25", text);
		value = span_str(text);
	}
	if (strcmp(name, "host") == 0)
		p->head.host = value;
	else if (p->nfields < PEER_FIELDS)
		peer_set(p, name, value);
}

static void
request_take(struct peer *p, struct arena *a, struct span rest)
{
	struct span line = line_take(&rest);
	size_t blank = span_find(line, ' ');

	peer_init(p);
	peer_bare(p);
	p->server.extra = extra;
	p->server.nextra = NELEM(extra);
	p->head.method = span_of(line.ptr, blank);
	p->head.target = span_from(line, blank + 1);
	for (line = line_take(&rest); line.len > 0; line = line_take(&rest))
		field_take(p, a, line);
	p->request.side = rest.len % 2 ? MCP_HOST : MCP_SANDBOX;
	p->request.body = rest;
	p->head.length = (int64_t)rest.len;
}

static void
message_check(struct span text)
{
	const struct json_value *root;
	struct arena a;
	struct fault f = { 0 };

	arena_init(&a, 64 << 20);
	BUG_IF(json_parse(text, &a, &root, &f) != 0);
	BUG_IF(root->kind != JSON_OBJECT && root->kind != JSON_ARRAY);
	BUG_IF(root->kind == JSON_OBJECT && !json_get(root, "jsonrpc") &&
	    !json_is(json_get(root, "error"), JSON_STRING));
	BUG_IF(json_is(json_get(root, "id"), JSON_NULL));
	arena_release(&a);
}

static void
events_check(struct span rest)
{
	static const char head[] = "event: message\ndata: ";

	while (rest.len > 0) {
		BUG_IF(!span_starts(rest, head));
		rest = span_from(rest, sizeof(head) - 1);
		message_check(line_take(&rest));
		BUG_IF(line_take(&rest).len != 0);
	}
}

static void
answer_check(const struct mcp_answer *a)
{
	static const int known[] = { 200, 202, 204, 400, 401, 403, 404, 405,
		406, 413, 415 };
	bool found = false;

	for (size_t i = 0; i < NELEM(known); i++)
		if (a->status == known[i])
			found = true;
	BUG_IF(!found || a->stream);
	BUG_IF(a->body.len > 0 && !a->type);
	if (a->body.len == 0)
		return;
	if (strcmp(a->type, "text/event-stream") == 0)
		events_check(a->body);
	else
		message_check(a->body);
}

static void
call_answer(const struct mcp_request *q, const struct mcp_call *c,
    struct arena *a, struct buf *message)
{
	struct fault f = { 0 };
	struct fault g = { 0 };
	struct mcp_refusal r;

	if (mcp_arguments_check(c->tool, q->side, c->arguments, &f) == 0) {
		BUG_IF(mcp_result(c,
			   c->arguments ? c->arguments->raw : SPAN_LIT("{}"),
			   message, &f) != 0);
		return;
	}
	BUG_IF(f.code != FAULT_INVALID || f.field[0] == '\0');
	r = mcp_refusal_of(&f);
	r.more = c->arguments ? c->arguments->raw : SPAN_LIT("");
	BUG_IF(mcp_refusal(c, &r, a, message, &g) != 0);
}

static void
calls_answer(const struct mcp_request *q, struct mcp_decision *d,
    struct arena *a)
{
	struct mcp_progress progress = { .done = 1, .total = 5 };
	struct mcp_answer head = { 0 };
	struct mcp_reply reply;
	struct buf message;
	struct buf out;
	unsigned send = 0;

	buf_init(&message, 32 << 20);
	buf_init(&out, 32 << 20);
	mcp_reply_begin(&reply, d, 0);
	if (mcp_reply_progress(&reply, 5, &progress, &head, &out) != 0)
		BUG_IF(!head.stream);
	for (size_t i = 0; i < d->ncalls; i++) {
		BUG_IF(send != 0);
		buf_clear(&message);
		call_answer(q, &d->calls[i], a, &message);
		send = mcp_reply_over(&reply, &d->calls[i],
		    arena_dup(a, buf_span(&message)), &head, &out);
	}
	BUG_IF(!(send & MCP_SEND_END));
	if (reply.streaming)
		events_check(buf_span(&out));
	else
		answer_check(&head);
	buf_release(&message);
	buf_release(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static struct peer peer;
	struct mcp_decision d;
	struct arena text;
	struct arena a;

	arena_init(&text, 64 << 20);
	arena_init(&a, n % 7 ? 64 << 20 : n << 3);
	request_take(&peer, &text, span_of(p, n));
	mcp_decide(&peer.request, &a, &d);
	if (d.next == MCP_RUN)
		calls_answer(&peer.request, &d, &text);
	else
		answer_check(&d.answer);
	for (size_t i = 0; i < d.ncancels; i++)
		BUG_IF(!mcp_id_equal(&d.cancels[i], &d.cancels[i]));
	arena_release(&a);
	arena_release(&text);
	return 0;
}
