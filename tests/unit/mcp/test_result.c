/* SPDX-License-Identifier: Apache-2.0 */
/* What a call came to, read back as a client does. */
#include "../../lib/mcp_peer.h"
#include "../../lib/unit.h"
#include "base/base.h"
#include "json/json.h"
#include "mcp/mcp.h"

static struct arena arena;
static struct buf out;
static struct mcp_call call;

static int
start(void **state)
{
	(void)state;
	arena_init(&arena, 1 << 20);
	buf_init(&out, 1 << 20);
	call = (struct mcp_call){
		.era = MCP_LEGACY,
		.id = { .raw = SPAN_LIT("\"a\\u00e9\"") },
	};
	return 0;
}

static int
end(void **state)
{
	(void)state;
	arena_release(&arena);
	buf_release(&out);
	return 0;
}

static const struct json_value *
parsed(struct span text)
{
	const struct json_value *root = NULL;
	struct fault f = { 0 };

	if (json_parse(text, &arena, &root, &f) != 0)
		fail_msg("%s in %.*s", f.text, (int)text.len,
		    (const char *)text.ptr);
	return root;
}

static struct span
text_of(const struct json_value *result)
{
	return json_get(json_first(json_get(result, "content")), "text")->text;
}

static void
success_goes_out_twice(void **state)
{
	struct fault f = { 0 };
	struct span structured = SPAN_LIT("{\"a\":\"\\\"x\\n\",\"b\":[1,2]}");
	const struct json_value *root;

	(void)state;
	assert_int_equal(mcp_result(&call, structured, &out, &f), 0);
	root = parsed(buf_span(&out));
	assert_true(span_is(json_get(root, "id")->raw, "\"a\\u00e9\""));
	root = json_get(root, "result");
	assert_int_equal(root->count, 2);
	assert_true(span_equal(text_of(root), structured));
	assert_true(
	    span_equal(json_get(root, "structuredContent")->raw, structured));
}

static void
the_second_era_says_more(void **state)
{
	struct fault f = { 0 };
	const struct json_value *root;

	(void)state;
	call.era = MCP_MODERN;
	assert_int_equal(mcp_result(&call, SPAN_LIT("{}"), &out, &f), 0);
	root = json_get(parsed(buf_span(&out)), "result");
	assert_true(span_is(json_get(root, "resultType")->text, "complete"));
	root = json_get(json_get(root, "_meta"),
	    "io.modelcontextprotocol/serverInfo");
	assert_true(span_is(json_get(root, "name")->text, "nacre"));
}

static void
a_refusal_is_an_object_in_a_text(void **state)
{
	struct mcp_refusal r = {
		.code = "LIMIT_REACHED",
		.message = SPAN_LIT("all 3 \"children\" are spent\xff"),
		.hint = SPAN_LIT("ask the user to widen the grant"),
		.more = SPAN_LIT("{\"limit\":\"total\",\"used\":3,"
				 "\"code\":\"X\",\"counterexample\":"
				 "{\"host\":\"a\\\\b\"}}"),
	};
	struct fault f = { 0 };
	const struct json_value *root;

	(void)state;
	assert_int_equal(mcp_refusal(&call, &r, &arena, &out, &f), 0);
	root = json_get(parsed(buf_span(&out)), "result");
	assert_true(json_get(root, "isError")->truth);
	assert_null(json_get(root, "structuredContent"));
	root = parsed(text_of(root));
	assert_true(span_is(json_first(root)->key, "code"));
	assert_true(span_is(json_get(root, "code")->text, "LIMIT_REACHED"));
	assert_true(span_is(json_get(root, "message")->text,
	    "all 3 \"children\" are spent\xef\xbf\xbd"));
	assert_true(span_is(json_get(root, "hint")->text,
	    "ask the user to widen the grant"));
	assert_true(span_is(json_get(root, "limit")->text, "total"));
	root = json_get(root, "counterexample");
	assert_true(span_is(json_get(root, "host")->text, "a\\b"));
}

static void
a_fault_is_a_refusal(void **state)
{
	struct fault why = { 0 };
	struct fault f = { 0 };
	struct mcp_refusal r;
	const struct json_value *root;

	(void)state;
	(void)fault_field(&why, "name", "name is taken");
	r = mcp_refusal_of(&why);
	assert_int_equal(mcp_refusal(&call, &r, &arena, &out, &f), 0);
	root = parsed(text_of(json_get(parsed(buf_span(&out)), "result")));
	assert_int_equal(root->count, 3);
	assert_true(span_is(json_get(root, "code")->text, "INVALID_ARGUMENT"));
	assert_true(span_is(json_get(root, "field")->text, "name"));
}

static void
what_does_not_fit_is_not_there(void **state)
{
	struct fault f = { 0 };
	struct mcp_refusal r = { .code = "BUSY" };
	struct arena none;
	struct buf small;

	(void)state;
	arena_init(&none, 0);
	buf_init(&small, 90);
	assert_int_equal(buf_add(&small, "abc", 3, &f), 0);
	assert_int_equal(mcp_result(&call, SPAN_LIT("{}"), &small, &f), -1);
	assert_int_equal(f.code, FAULT_LIMIT);
	assert_int_equal(small.len, 3);
	assert_int_equal(mcp_refusal(&call, &r, &none, &out, &f), -1);
	assert_int_equal(out.len, 0);
	buf_release(&small);
}

static void
failure_is_an_error_of_the_protocol(void **state)
{
	struct fault f = { 0 };
	const struct json_value *root;

	(void)state;
	assert_int_equal(mcp_failure(&call, "Internal error", &out, &f), 0);
	root = parsed(buf_span(&out));
	assert_null(json_get(root, "result"));
	assert_true(
	    span_is(json_get(json_get(root, "error"), "code")->raw, "-32603"));
}

static void
content_goes_out_as_it_is(void **state)
{
	struct fault f = { 0 };
	const struct json_value *root;

	(void)state;
	assert_int_equal(mcp_content(&call, SPAN_LIT("[{\"type\":\"image\"}]"),
			     true, &out, &f),
	    0);
	root = json_get(parsed(buf_span(&out)), "result");
	assert_true(
	    span_is(json_get(root, "content")->raw, "[{\"type\":\"image\"}]"));
	assert_true(json_get(root, "isError")->truth);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, start, end)
	const struct CMUnitTest tests[] = {
		T(success_goes_out_twice),
		T(the_second_era_says_more),
		T(a_refusal_is_an_object_in_a_text),
		T(a_fault_is_a_refusal),
		T(what_does_not_fit_is_not_there),
		T(failure_is_an_error_of_the_protocol),
		T(content_goes_out_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
