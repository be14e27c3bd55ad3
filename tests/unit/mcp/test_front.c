/* SPDX-License-Identifier: Apache-2.0 */
/* What a head alone decides, beside the rows of the matrix. */
#include "../../lib/mcp_peer.h"
#include "../../lib/unit.h"
#include "base/base.h"
#include "json/json.h"
#include "mcp/mcp.h"

static struct peer peer;
static struct arena arena;
static struct mcp_answer answer;

static int
start(void **state)
{
	(void)state;
	peer_init(&peer);
	arena_init(&arena, MCP_ARENA);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static bool
front(void)
{
	return mcp_front(&peer.request, &arena, &answer);
}

static bool
has_header(const char *name, const char *value)
{
	for (size_t i = 0; i < answer.nheaders; i++)
		if (strcmp(answer.headers[i].name, name) == 0 &&
		    span_is(answer.headers[i].value, value))
			return true;
	return false;
}

static const struct json_value *
the_body_is_valid(void)
{
	const struct json_value *root = NULL;
	struct fault f = { 0 };

	if (json_parse(answer.body, &arena, &root, &f) != 0)
		fail_msg("%s", f.text);
	return root;
}

static void
the_body_is_json(void)
{
	assert_true(json_is(the_body_is_valid(), JSON_OBJECT));
}

static void
a_good_head_goes_on(void **state)
{
	(void)state;
	assert_false(front());
	peer.head.length = MCP_BODY;
	assert_false(front());
}

static void
a_caller_without_a_token_is_challenged(void **state)
{
	static const struct {
		enum mcp_auth auth;
		int status;
		const char *challenge;
	} rows[] = {
		{ MCP_NO_TOKEN, 401, "Bearer realm=\"nacre\"" },
		{ MCP_BAD_TOKEN, 401,
		    "Bearer realm=\"nacre\", error=\"invalid_token\", "
		    "error_description=\"The access token is invalid or "
		    "expired\"" },
		{ MCP_NO_SCOPE, 403,
		    "Bearer realm=\"nacre\", error=\"insufficient_scope\"" },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		peer.request.auth = rows[i].auth;
		peer.head.method = SPAN_LIT("GET");
		assert_true(front());
		assert_int_equal(answer.status, rows[i].status);
		assert_true(has_header("WWW-Authenticate", rows[i].challenge));
		the_body_is_json();
	}
}

static void
places_and_names_come_before_who_calls(void **state)
{
	(void)state;
	peer.request.auth = MCP_NO_TOKEN;
	peer.head.target = SPAN_LIT("/.well-known/oauth-protected-resource");
	assert_true(front());
	assert_int_equal(answer.status, 404);
	peer.head.target = SPAN_LIT("/mcp");
	peer_field(&peer, "origin", "http://evil.example.com");
	assert_true(front());
	assert_int_equal(answer.status, 403);
	assert_int_equal(answer.nheaders, 0);
}

static void
what_is_off_is_not_there(void **state)
{
	(void)state;
	peer.server.off = true;
	assert_true(front());
	assert_int_equal(answer.status, 404);
	assert_true(span_is(answer.body, "{\"error\":\"mcp_disabled\"}"));
}

static void
a_large_body_is_refused_before_and_after(void **state)
{
	struct mcp_decision d;

	(void)state;
	peer.head.length = MCP_BODY + 1;
	assert_true(front());
	assert_int_equal(answer.status, 413);
	assert_true(answer.close);
	the_body_is_json();
	peer.head.length = -1;
	assert_false(front());
	peer.request.body =
	    span_of(arena_get(&arena, MCP_BODY + 1), MCP_BODY + 1);
	mcp_decide(&peer.request, &arena, &d);
	assert_int_equal(d.answer.status, 413);
	peer.request.body.len = MCP_BODY;
	mcp_decide(&peer.request, &arena, &d);
	assert_int_equal(d.answer.status, 400);
}

static void
a_host_can_be_added(void **state)
{
	static const char *const hosts[] = { "build.example.com" };

	(void)state;
	peer.head.host = SPAN_LIT("BUILD.example.com:8443");
	assert_true(front());
	assert_int_equal(answer.status, 403);
	peer.server.hosts = hosts;
	peer.server.nhosts = 1;
	peer_field(&peer, "origin", "https://build.example.com:8443");
	assert_false(front());
}

static void
two_origins_are_none(void **state)
{
	(void)state;
	peer_field(&peer, "origin", "http://localhost");
	assert_false(front());
	peer_field(&peer, "origin", "http://localhost");
	assert_true(front());
	assert_int_equal(answer.status, 403);
}

static void
bearer_tokens_are_found(void **state)
{
	static const struct {
		const char *value;
		const char *token; /* NULL: none */
	} rows[] = {
		{ "Bearer abc", "abc" },
		{ "bearer  abc ", "abc" },
		{ "BEARER a.b-c_d~e+f/g==", "a.b-c_d~e+f/g==" },
		{ "Bearer", NULL },
		{ "Bearer ", NULL },
		{ "Basic abc", NULL },
		{ "Bearerabc", NULL },
		{ "", NULL },
	};
	struct span token;

	(void)state;
	assert_false(mcp_bearer(&peer.head, &token));
	for (size_t i = 0; i < NELEM(rows); i++) {
		peer_bare(&peer);
		peer_field(&peer, "authorization", rows[i].value);
		assert_int_equal(mcp_bearer(&peer.head, &token),
		    rows[i].token != NULL);
		if (rows[i].token)
			assert_true(span_is(token, rows[i].token));
	}
	peer_bare(&peer);
	peer_field(&peer, "authorization", "Bearer a");
	peer_field(&peer, "authorization", "Bearer b");
	assert_false(mcp_bearer(&peer.head, &token));
}

/* With every cap of the arena there is an answer, and in the end the right one. */
static void
spend(const char *body, int status)
{
	struct mcp_decision d = { 0 };
	struct arena small;

	peer_body(&peer, body);
	for (size_t cap = 0; cap < 128 << 10; cap += 256) {
		arena_init(&small, cap);
		mcp_decide(&peer.request, &small, &d);
		if (d.next == MCP_ANSWER) {
			answer = d.answer;
			assert_true(
			    answer.status == 400 || answer.status == status);
			if (answer.status == 400)
				assert_int_equal(answer.nheaders, 0);
			if (answer.body.len > 0 &&
			    strcmp(answer.type, "application/json") == 0)
				the_body_is_valid();
		}
		arena_release(&small);
		arena_release(&arena);
	}
	if (status == 0)
		assert_int_equal(d.next, MCP_RUN);
	else
		assert_int_equal(d.answer.status, status);
}

#define OWN "io.modelcontextprotocol/"
#define ENVELOPE                                         \
 "\"_meta\":{\"" OWN "protocolVersion\":\"2026-07-28\"," \
 "\"" OWN "clientCapabilities\":{}}"

static void
modern(const char *method)
{
	peer_init(&peer);
	peer_field(&peer, "mcp-protocol-version", "2026-07-28");
	peer_field(&peer, "mcp-method", method);
}

static void
a_spent_arena_is_an_answer(void **state)
{
	char session[MCP_SESSION_TEXT];

	(void)state;
	modern("tools/list");
	spend("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\","
	      "\"params\":{" ENVELOPE "}}",
	    200);
	modern("subscriptions/listen");
	spend(
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
	    "\"subscriptions/listen\",\"params\":{\"notifications\":{}," ENVELOPE
	    "}}",
	    200);
	peer_init(&peer);
	spend("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","
	      "\"params\":{\"protocolVersion\":\"2025-11-25\","
	      "\"capabilities\":{},\"clientInfo\":{}}}",
	    200);
	mcp_session_issue(&peer.request, "2025-03-26", session);
	peer_field(&peer, "mcp-session-id", session);
	spend("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
	      "\"params\":{\"name\":\"get_grant\"}}",
	    0);
	spend("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},"
	      "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}]",
	    200);
	spend("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},"
	      "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\","
	      "\"params\":{\"name\":\"get_grant\"}}]",
	    0);
}

static void
fifty_lists_fit(void **state)
{
	static char body[8192] = "[";
	char session[MCP_SESSION_TEXT];
	struct mcp_decision d;
	size_t len = 1;

	(void)state;
	for (int i = 0; i < MCP_BATCH; i++) {
		(void)text_fmt(body + len, sizeof(body) - len,
		    "%s{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":"
		    "\"tools/list\"}",
		    i ? "," : "", i);
		len = strlen(body);
	}
	(void)text_fmt(body + len, sizeof(body) - len, "]");
	mcp_session_issue(&peer.request, "2025-03-26", session);
	peer_field(&peer, "mcp-session-id", session);
	peer.request.side = MCP_HOST;
	peer_body(&peer, body);
	mcp_decide(&peer.request, &arena, &d);
	assert_int_equal(d.answer.status, 200);
	/* More values than our own reader takes: only its size is looked at. */
	assert_true(d.answer.body.len > MCP_BATCH * peer.server.listed[1].len);
}

static void
a_session_that_stands_twice_is_none(void **state)
{
	char session[MCP_SESSION_TEXT];
	struct mcp_decision d;

	(void)state;
	mcp_session_issue(&peer.request, "2025-03-26", session);
	peer_field(&peer, "mcp-session-id", session);
	peer_field(&peer, "mcp-session-id", session);
	peer_body(&peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
	mcp_decide(&peer.request, &arena, &d);
	assert_int_equal(d.answer.status, 400);
}

static void
a_lost_gateway_is_said(void **state)
{
	(void)state;
	mcp_unavailable(&answer);
	assert_int_equal(answer.status, 503);
	the_body_is_json();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_good_head_goes_on, start,
		    end),
		cmocka_unit_test_setup_teardown(
		    a_caller_without_a_token_is_challenged, start, end),
		cmocka_unit_test_setup_teardown(
		    places_and_names_come_before_who_calls, start, end),
		cmocka_unit_test_setup_teardown(what_is_off_is_not_there, start,
		    end),
		cmocka_unit_test_setup_teardown(
		    a_large_body_is_refused_before_and_after, start, end),
		cmocka_unit_test_setup_teardown(a_host_can_be_added, start,
		    end),
		cmocka_unit_test_setup_teardown(two_origins_are_none, start,
		    end),
		cmocka_unit_test_setup_teardown(bearer_tokens_are_found, start,
		    end),
		cmocka_unit_test_setup_teardown(a_spent_arena_is_an_answer,
		    start, end),
		cmocka_unit_test_setup_teardown(fifty_lists_fit, start, end),
		cmocka_unit_test_setup_teardown(
		    a_session_that_stands_twice_is_none, start, end),
		cmocka_unit_test_setup_teardown(a_lost_gateway_is_said, start,
		    end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
