/* SPDX-License-Identifier: Apache-2.0 */
/* How a call is answered over time: JSON or a stream, progress, the end. */
#include "../../lib/mcp_peer.h"
#include "../../lib/unit.h"
#include "base/base.h"
#include "mcp/mcp.h"

static struct mcp_call calls[2];
static struct mcp_decision decision;
static struct mcp_reply reply;
static struct mcp_answer head;
static struct buf out;

#define MESSAGE "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}"
#define EVENT   "event: message\ndata: " MESSAGE "\n\n"

static int
start(void **state)
{
	(void)state;
	memset(calls, 0, sizeof(calls));
	calls[0].id.raw = SPAN_LIT("7");
	calls[0].progress_token = SPAN_LIT("0");
	decision = (struct mcp_decision){
		.next = MCP_RUN,
		.accepts = { true, true, true },
		.calls = calls,
		.ncalls = 1,
	};
	buf_init(&out, 4096);
	mcp_reply_begin(&reply, &decision, 1000);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	buf_release(&out);
	return 0;
}

static unsigned
progress(int64_t now_ms, uint64_t done)
{
	struct mcp_progress p = { .done = done, .total = 5, .message = "x" };

	buf_clear(&out);
	return mcp_reply_progress(&reply, now_ms, &p, &head, &out);
}

static unsigned
over(struct mcp_call *c, const char *message)
{
	buf_clear(&out);
	return mcp_reply_over(&reply, c, span_str(message), &head, &out);
}

static void
a_quick_call_is_json(void **state)
{
	(void)state;
	assert_int_equal(over(&calls[0], MESSAGE),
	    MCP_SEND_HEAD | MCP_SEND_END);
	assert_string_equal(head.type, "application/json");
	assert_false(head.stream);
	assert_true(span_is(head.body, MESSAGE));
	assert_int_equal(mcp_reply_due(&reply), -1);
	assert_int_equal(over(&calls[0], MESSAGE), 0);
}

static void
progress_opens_the_stream(void **state)
{
	(void)state;
	assert_int_equal(progress(1001, 0), MCP_SEND_HEAD | MCP_SEND_BODY);
	assert_true(head.stream);
	assert_string_equal(head.type, "text/event-stream");
	assert_int_equal(head.status, 200);
	assert_true(span_is(buf_span(&out),
	    "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":"
	    "\"notifications/progress\",\"params\":{\"progressToken\":0,"
	    "\"progress\":0,\"total\":5,\"message\":\"x\"}}\n\n"));
	assert_int_equal(progress(1102, 1), MCP_SEND_BODY);
	assert_int_equal(over(&calls[0], MESSAGE),
	    MCP_SEND_BODY | MCP_SEND_END);
	assert_true(span_is(buf_span(&out), EVENT));
	assert_int_equal(progress(9000, 5), 0);
}

static void
progress_only_grows_and_not_too_often(void **state)
{
	(void)state;
	assert_int_not_equal(progress(1000, 2), 0);
	assert_int_equal(progress(1099, 3), 0);
	assert_int_equal(progress(1200, 2), 0);
	assert_int_equal(progress(1200, 1), 0);
	assert_int_not_equal(progress(1200, 3), 0);
}

static void
a_total_that_is_not_known_is_not_told(void **state)
{
	struct mcp_progress p = { .done = 3 };

	(void)state;
	assert_int_not_equal(mcp_reply_progress(&reply, 1000, &p, &head, &out),
	    0);
	assert_true(span_is(buf_span(&out),
	    "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":"
	    "\"notifications/progress\",\"params\":{\"progressToken\":0,"
	    "\"progress\":3}}\n\n"));
}

static void
who_asked_for_no_progress_has_none(void **state)
{
	(void)state;
	calls[0].progress_token = SPAN_LIT("");
	assert_int_equal(progress(2000, 1), 0);
	calls[0].progress_token = SPAN_LIT("\"\"");
	assert_int_not_equal(progress(2000, 1), 0);
}

static void
who_takes_no_stream_waits(void **state)
{
	(void)state;
	decision.accepts.asks_stream = false;
	assert_int_equal(mcp_reply_due(&reply), -1);
	assert_int_equal(progress(2000, 1), 0);
	assert_int_equal(mcp_reply_tick(&reply, 90000, &head, &out), 0);
	assert_int_equal(over(&calls[0], MESSAGE),
	    MCP_SEND_HEAD | MCP_SEND_END);
	assert_string_equal(head.type, "application/json");
}

static void
who_takes_nothing_else_has_one_event(void **state)
{
	(void)state;
	decision.accepts.json = false;
	assert_int_equal(over(&calls[0], MESSAGE),
	    MCP_SEND_HEAD | MCP_SEND_END);
	assert_string_equal(head.type, "text/event-stream");
	assert_false(head.stream);
	assert_true(span_is(head.body, EVENT));
}

static void
a_long_call_is_streamed_and_kept_alive(void **state)
{
	(void)state;
	assert_int_equal(mcp_reply_due(&reply), 1000 + MCP_STREAM_AFTER_MS);
	assert_int_equal(mcp_reply_tick(&reply, 2499, &head, &out), 0);
	assert_int_equal(mcp_reply_tick(&reply, 2500, &head, &out),
	    MCP_SEND_HEAD | MCP_SEND_BODY);
	assert_true(head.stream);
	assert_true(span_is(buf_span(&out), ": keepalive\n\n"));
	assert_int_equal(mcp_reply_due(&reply), 2500 + MCP_KEEPALIVE_MS);
	assert_int_not_equal(progress(10000, 1), 0);
	assert_int_equal(mcp_reply_due(&reply), 10000 + MCP_KEEPALIVE_MS);
	buf_clear(&out);
	assert_int_equal(mcp_reply_tick(&reply, 25000, &head, &out),
	    MCP_SEND_BODY);
	assert_int_equal(over(&calls[0], MESSAGE),
	    MCP_SEND_BODY | MCP_SEND_END);
}

static void
a_cancelled_call_is_answered_by_nothing(void **state)
{
	(void)state;
	assert_int_equal(over(&calls[0], ""), MCP_SEND_HEAD | MCP_SEND_END);
	assert_int_equal(head.status, 200);
	assert_string_equal(head.type, "text/event-stream");
	assert_false(head.stream);
	assert_int_equal(head.body.len, 0);
}

static void
a_cancelled_stream_ends(void **state)
{
	(void)state;
	(void)progress(2000, 1);
	assert_int_equal(over(&calls[0], ""), MCP_SEND_END);
	assert_int_equal(out.len, 0);
}

static void
a_batch_waits_for_all(void **state)
{
	struct span known[] = { SPAN_LIT("{\"id\":1}") };

	(void)state;
	decision.is_batch = true;
	decision.ncalls = 2;
	decision.replies = known;
	decision.nreplies = 1;
	assert_int_equal(mcp_reply_due(&reply), -1);
	assert_int_equal(progress(2000, 1), 0);
	assert_int_equal(over(&calls[1], "{\"id\":3}"), 0);
	assert_int_equal(over(&calls[1], "{\"id\":4}"), 0);
	assert_int_equal(over(&calls[0], "{\"id\":2}"),
	    MCP_SEND_HEAD | MCP_SEND_END);
	assert_true(span_is(head.body, "[{\"id\":1},{\"id\":2},{\"id\":3}]"));
}

static void
a_batch_leaves_out_what_was_cancelled(void **state)
{
	(void)state;
	decision.is_batch = true;
	decision.ncalls = 2;
	assert_int_equal(over(&calls[0], ""), 0);
	assert_int_equal(over(&calls[1], "{\"id\":3}"),
	    MCP_SEND_HEAD | MCP_SEND_END);
	assert_true(span_is(head.body, "[{\"id\":3}]"));
	(void)end(NULL);
	(void)start(NULL);
	decision.is_batch = true;
	assert_int_equal(over(&calls[0], ""), MCP_SEND_HEAD | MCP_SEND_END);
	assert_int_equal(head.body.len, 0);
}

#define LOST(id)                                                              \
 "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":-32603,\"message\":" \
 "\"the answers of this batch are too long\"}}"

/* The last one was cancelled, the others do not fit: something is said. */
static void
of_a_batch_too_long_the_longest_become_errors(void **state)
{
	struct span known[] = { SPAN_LIT("{\"id\":1}") };
	static char text[3000];
	static char longer[4000];

	(void)state;
	memset(text, ' ', sizeof(text) - 1);
	memset(longer, ' ', sizeof(longer) - 1);
	decision.is_batch = true;
	decision.ncalls = 2;
	decision.replies = known;
	decision.nreplies = 1;
	calls[1].id.raw = SPAN_LIT("8");
	assert_int_equal(over(&calls[1], longer), 0);
	assert_int_equal(over(&calls[0], text), MCP_SEND_HEAD | MCP_SEND_END);
	assert_true(span_starts(head.body, "[{\"id\":1},   "));
	assert_memory_equal(head.body.ptr + head.body.len - sizeof(LOST("8")),
	    LOST("8") "]", sizeof(LOST("8")));
	(void)end(NULL);
	(void)start(NULL);
	decision.is_batch = true;
	decision.ncalls = 2;
	memset(longer, ' ', sizeof(longer) - 1);
	buf_release(&out);
	buf_init(&out, 300);
	assert_int_equal(over(&calls[0], longer), 0);
	assert_int_equal(over(&calls[1], ""), MCP_SEND_HEAD | MCP_SEND_END);
	assert_true(span_is(head.body, "[" LOST("7") "]"));
}

static void
a_batch_for_who_takes_only_streams_is_one_event(void **state)
{
	(void)state;
	decision.is_batch = true;
	decision.accepts.json = false;
	assert_int_equal(over(&calls[0], MESSAGE),
	    MCP_SEND_HEAD | MCP_SEND_END);
	assert_string_equal(head.type, "text/event-stream");
	assert_false(head.stream);
	assert_true(
	    span_is(head.body, "event: message\ndata: [" MESSAGE "]\n\n"));
}

/* Whoever ran it kept no answer of it. */
static void
what_a_batch_gave_up_is_an_error(void **state)
{
	(void)state;
	decision.is_batch = true;
	decision.ncalls = 2;
	calls[1].id.raw = SPAN_LIT("8");
	calls[1].is_lost = true;
	assert_int_equal(over(&calls[0], MESSAGE), 0);
	assert_int_equal(over(&calls[1], ""), MCP_SEND_HEAD | MCP_SEND_END);
	assert_true(span_is(head.body, "[" MESSAGE "," LOST("8") "]"));
}

static void
events_are_never_cut(void **state)
{
	struct buf small;
	uint8_t room[sizeof(EVENT)];

	(void)state;
	for (size_t cap = 1; cap < sizeof(EVENT) - 1; cap++) {
		small = (struct buf){ .base = room, .cap = cap, .max = cap };
		assert_int_equal(mcp_sse_event(&small, SPAN_LIT(MESSAGE)), -1);
		assert_int_equal(small.len, 0);
	}
	small = (struct buf){ .base = room,
		.cap = sizeof(EVENT) - 1,
		.max = sizeof(EVENT) - 1 };
	assert_int_equal(mcp_sse_event(&small, SPAN_LIT(MESSAGE)), 0);
	assert_true(span_is(buf_span(&small), EVENT));
}

static void
line_breaks_part_data_lines(void **state)
{
	(void)state;
	assert_int_equal(mcp_sse_event(&out, SPAN_LIT("{\n\"a\":\r\n1}")), 0);
	assert_true(span_is(buf_span(&out),
	    "event: message\ndata: {\ndata: \"a\":\ndata: \ndata: 1}\n\n"));
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, start, end)
	const struct CMUnitTest tests[] = {
		T(a_quick_call_is_json),
		T(progress_opens_the_stream),
		T(progress_only_grows_and_not_too_often),
		T(a_total_that_is_not_known_is_not_told),
		T(who_asked_for_no_progress_has_none),
		T(who_takes_no_stream_waits),
		T(who_takes_nothing_else_has_one_event),
		T(a_long_call_is_streamed_and_kept_alive),
		T(a_cancelled_call_is_answered_by_nothing),
		T(a_cancelled_stream_ends),
		T(a_batch_waits_for_all),
		T(a_batch_leaves_out_what_was_cancelled),
		T(of_a_batch_too_long_the_longest_become_errors),
		T(a_batch_for_who_takes_only_streams_is_one_event),
		T(what_a_batch_gave_up_is_an_error),
		T(events_are_never_cut),
		T(line_breaks_part_data_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
