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

static void
the_body_is_json(void)
{
	const struct json_value *root;
	struct fault f = { 0 };

	assert_int_equal(json_parse(answer.body, &arena, &root, &f), 0);
	assert_true(json_is(root, JSON_OBJECT));
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

static void
a_spent_arena_is_an_answer(void **state)
{
	struct mcp_decision d;
	struct arena small;

	(void)state;
	peer_field(&peer, "mcp-protocol-version", "2026-07-28");
	peer_field(&peer, "mcp-method", "tools/list");
	peer_body(&peer,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\","
	    "\"params\":{\"_meta\":{"
	    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
	    "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
	for (size_t cap = 0; cap < 256 << 10; cap += 512) {
		arena_init(&small, cap);
		mcp_decide(&peer.request, &small, &d);
		assert_int_equal(d.next, MCP_ANSWER);
		assert_true(d.answer.status == 400 || d.answer.status == 200);
		answer = d.answer;
		the_body_is_json();
		arena_release(&small);
		arena_release(&arena);
	}
	assert_int_equal(answer.status, 200);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
