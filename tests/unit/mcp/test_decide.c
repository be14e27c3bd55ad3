/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions that are no answers: calls, cancels, the end of a session. */
#include "../../lib/mcp_peer.h"
#include "../../lib/unit.h"
#include "base/base.h"
#include "json/json.h"
#include "mcp/mcp.h"

#define OWN "io.modelcontextprotocol/"
#define ENVELOPE                                   \
 "\"_meta\":{\"" OWN "protocolVersion\":"          \
 "\"2026-07-28\",\"" OWN "clientCapabilities\":{}" \
 ",\"progressToken\":\"p\"}"

static struct arena arena;
static struct peer peer;
static struct mcp_decision d;
static char session[MCP_SESSION_TEXT];

static int
start(void **state)
{
	(void)state;
	arena_init(&arena, MCP_ARENA);
	peer_init(&peer);
	mcp_session_issue(&peer.request, "2025-03-26", session);
	peer_field(&peer, "mcp-session-id", session);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static void
decide(const char *body)
{
	peer_body(&peer, body);
	mcp_decide(&peer.request, &arena, &d);
}

static void
modern(const char *method, const char *name)
{
	peer_init(&peer);
	peer_field(&peer, "mcp-protocol-version", "2026-07-28");
	peer_field(&peer, "mcp-method", method);
	if (name)
		peer_field(&peer, "mcp-name", name);
}

static void
a_call_is_handed_on_whole(void **state)
{
	(void)state;
	decide("{\"params\":{\"arguments\":{\"id\":\"x\"},\"_meta\":"
	       "{\"progressToken\":0},\"name\":\"get_sandbox\"},"
	       "\"method\":\"tools/call\",\"id\":0,\"jsonrpc\":\"2.0\"}");
	assert_int_equal(d.next, MCP_RUN);
	assert_int_equal(d.ncalls, 1);
	assert_int_equal(d.era, MCP_LEGACY);
	assert_string_equal(d.version, "2025-03-26");
	assert_true(d.in_session && d.accepts.json && d.accepts.asks_stream);
	assert_string_equal(d.calls[0].tool->name, "get_sandbox");
	assert_true(d.calls[0].listed);
	assert_true(span_is(d.calls[0].id.raw, "0"));
	assert_true(span_is(d.calls[0].progress_token, "0"));
	assert_true(span_is(d.calls[0].arguments->raw, "{\"id\":\"x\"}"));
	peer_field(&peer, "mcp-protocol-version", "2025-06-18");
	decide("{\"jsonrpc\":\"2.0\",\"id\":\"0\",\"method\":\"tools/call\","
	       "\"params\":{\"name\":\"list_grants\",\"_meta\":"
	       "{\"progressToken\":1.5}}}");
	assert_int_equal(d.next, MCP_RUN);
	assert_string_equal(d.version, "2025-06-18");
	assert_false(d.calls[0].listed);
	assert_null(d.calls[0].arguments);
	assert_int_equal(d.calls[0].progress_token.len, 0);
}

static void
a_call_of_the_second_era_has_no_session(void **state)
{
	(void)state;
	modern("tools/call", "get_grant");
	decide("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
	       "\"params\":{\"name\":\"get_grant\"," ENVELOPE "}}");
	assert_int_equal(d.next, MCP_RUN);
	assert_int_equal(d.era, MCP_MODERN);
	assert_string_equal(d.version, "2026-07-28");
	assert_false(d.in_session);
	assert_int_equal(d.calls[0].era, MCP_MODERN);
	assert_true(span_is(d.calls[0].progress_token, "\"p\""));
}

static void
a_cancel_names_its_call(void **state)
{
	struct mcp_id number = { .text = SPAN_LIT("9") };
	struct mcp_id string = { .text = SPAN_LIT("9"), .is_string = true };

	(void)state;
	decide("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	       "\"params\":{\"requestId\":9,\"reason\":\"x\"}}");
	assert_int_equal(d.answer.status, 202);
	assert_int_equal(d.ncancels, 1);
	assert_true(mcp_id_equal(&d.cancels[0], &number));
	assert_false(mcp_id_equal(&d.cancels[0], &string));
	decide("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	       "\"params\":{\"requestId\":\"\\u0039\"}}");
	assert_true(mcp_id_equal(&d.cancels[0], &string));
	decide("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	       "\"params\":{\"requestId\":null}}");
	assert_int_equal(d.answer.status, 202);
	assert_int_equal(d.ncancels, 0);
}

static void
a_cancel_of_a_stranger_is_none(void **state)
{
	(void)state;
	peer.request.principal = SPAN_LIT("sandbox:two");
	decide("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	       "\"params\":{\"requestId\":9}}");
	assert_int_equal(d.answer.status, 404);
	assert_int_equal(d.ncancels, 0);
	modern("notifications/cancelled", NULL);
	decide("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	       "\"params\":{\"requestId\":9," ENVELOPE "}}");
	assert_int_equal(d.answer.status, 202);
	assert_int_equal(d.ncancels, 0);
}

static void
a_batch_hands_on_calls_and_cancels(void **state)
{
	(void)state;
	decide("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
	       "\"params\":{\"name\":\"get_grant\"}},"
	       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	       "\"params\":{\"requestId\":5}},"
	       "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"},"
	       "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\","
	       "\"params\":{\"name\":\"get_policy\"}}]");
	assert_int_equal(d.next, MCP_RUN);
	assert_true(d.is_batch);
	assert_int_equal(d.ncalls, 2);
	assert_int_equal(d.nreplies, 1);
	assert_int_equal(d.ncancels, 1);
	assert_string_equal(d.calls[1].tool->name, "get_policy");
}

static void
delete_ends_the_session(void **state)
{
	(void)state;
	peer.head.method = SPAN_LIT("DELETE");
	peer_body(&peer, "");
	mcp_decide(&peer.request, &arena, &d);
	assert_int_equal(d.answer.status, 204);
	assert_true(d.ends_session && d.in_session);
	assert_null(d.answer.type);
	mcp_ended_add(&peer.ended, &d.session);
	mcp_decide(&peer.request, &arena, &d);
	assert_int_equal(d.answer.status, 404);
	assert_false(d.ends_session);
}

static void
initialize_hands_out_a_session_that_holds(void **state)
{
	struct mcp_session s;

	(void)state;
	decide("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
	       "\"params\":{\"protocolVersion\":\"2024-11-05\","
	       "\"capabilities\":{},\"clientInfo\":{\"name\":\"a\","
	       "\"version\":\"1\"}}}");
	assert_int_equal(d.answer.status, 200);
	assert_int_equal(d.answer.nheaders, 1);
	assert_string_equal(d.answer.headers[0].name, "Mcp-Session-Id");
	assert_true(
	    mcp_session_verify(&peer.request, d.answer.headers[0].value, &s));
	assert_string_equal(s.version, "2024-11-05");
	assert_false(d.in_session);
}

static const struct mcp_tool extra[] = {
	{
	    .name = "needs",
	    .title = "t",
	    .text = "d",
	    .sides = MCP_SANDBOX,
	    .in_schema = "{\"type\":\"object\"}",
	    .capability = "sampling",
	},
	{
	    .name = "mirrors",
	    .title = "t",
	    .text = "d",
	    .sides = MCP_SANDBOX,
	    .in_schema = "{\"type\":\"object\",\"x\":[1]}",
	    .mirrored = "region",
	    .mirror = "mcp-param-region",
	},
};

static void
an_extra_tool_may_need_a_capability(void **state)
{
	(void)state;
	modern("tools/call", "needs");
	peer.server.extra = extra;
	peer.server.nextra = NELEM(extra);
	decide("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
	       "\"params\":{\"name\":\"needs\"," ENVELOPE "}}");
	assert_int_equal(d.answer.status, 400);
	assert_true(span_is(d.answer.body,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32021,"
	    "\"message\":\"Missing required client capability\",\"data\":"
	    "{\"requiredCapabilities\":{\"sampling\":{}}}}}"));
	decide("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
	       "\"params\":{\"name\":\"needs\",\"_meta\":{"
	       "\"" OWN "protocolVersion\":\"2026-07-28\","
	       "\"" OWN "clientCapabilities\":{\"sampling\":{}}}}}");
	assert_int_equal(d.next, MCP_RUN);
}

static void
an_extra_tool_may_mirror_an_argument(void **state)
{
	static const struct {
		const char *header; /* NULL: none */
		const char *argument;
		int status; /* 0: runs */
	} rows[] = {
		{ NULL, "\"eu\"", 400 },
		{ "eu", "\"eu\"", 0 },
		{ " eu ", "\"eu\"", 0 },
		{ "us", "\"eu\"", 400 },
		{ "=?base64?ZXU=?=", "\"eu\"", 0 },
		{ "=?base64?ZXU?=", "\"eu\"", 400 },
		{ "=?base64?ZX V=?=", "\"eu\"", 400 },
		{ "=?base64?w6k=?=", "\"\\u00e9\"", 0 },
		{ "=?base64?"
		  "?=",
		    "\"\"", 0 },
		{ "=?base64?4pyT4pyT?=", "\"\xe2\x9c\x93\xe2\x9c\x93\"", 0 },
		{ "5", "5", 0 },
		{ "true", "true", 0 },
		{ NULL, "null", 0 },
	};
	char body[512];

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		modern("tools/call", "mirrors");
		peer.server.extra = extra;
		peer.server.nextra = NELEM(extra);
		if (rows[i].header)
			peer_field(&peer, "mcp-param-region", rows[i].header);
		(void)text_fmt(body, sizeof(body),
		    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
		    "\"params\":{\"name\":\"mirrors\",\"arguments\":"
		    "{\"region\":%s}," ENVELOPE "}}",
		    rows[i].argument);
		decide(body);
		if (rows[i].status != d.answer.status)
			fail_msg("row %zu: status %d", i, d.answer.status);
		assert_int_equal(d.next, rows[i].status ? MCP_ANSWER : MCP_RUN);
	}
}

static void
headers_that_stand_twice_are_refused(void **state)
{
	static const char *const names[] = { "mcp-protocol-version",
		"mcp-method", "mcp-name" };
	static const char *const values[] = { "2026-07-28", "tools/call",
		"get_grant" };

	(void)state;
	for (size_t i = 0; i < NELEM(names); i++) {
		modern("tools/call", "get_grant");
		peer_field(&peer, names[i], values[i]);
		decide(
		    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
		    "\"params\":{\"name\":\"get_grant\"," ENVELOPE "}}");
		assert_int_equal(d.answer.status, 400);
		assert_non_null(
		    strstr((const char *)d.answer.body.ptr, "-32020"));
	}
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, start, end)
	const struct CMUnitTest tests[] = {
		T(a_call_is_handed_on_whole),
		T(a_call_of_the_second_era_has_no_session),
		T(a_cancel_names_its_call),
		T(a_cancel_of_a_stranger_is_none),
		T(a_batch_hands_on_calls_and_cancels),
		T(delete_ends_the_session),
		T(initialize_hands_out_a_session_that_holds),
		T(an_extra_tool_may_need_a_capability),
		T(an_extra_tool_may_mirror_an_argument),
		T(headers_that_stand_twice_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
