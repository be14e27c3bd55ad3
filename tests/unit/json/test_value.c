/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a tree, and the strict reader of objects. */
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "json/json.h"

static struct arena arena;

static int
start(void **state)
{
	(void)state;
	arena_init(&arena, 1 << 20);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static const struct json_value *
parsed(const char *text)
{
	const struct json_value *root = NULL;
	struct fault f = { 0 };

	if (json_parse(span_str(text), &arena, &root, &f) != 0)
		fail_msg("%s: %s", text, f.text);
	return root;
}

static void
integers_are_plain_and_bounded(void **state)
{
	static const struct {
		const char *text;
		int64_t min;
		int64_t max;
		bool taken;
		int64_t n;
	} rows[] = {
		{ "0", 0, 0, true, 0 },
		{ "-1", -1, 0, true, -1 },
		{ "-2", -1, 0, false, 0 },
		{ "5", 0, 4, false, 0 },
		{ "9223372036854775807", INT64_MIN, INT64_MAX, true,
		    INT64_MAX },
		{ "9223372036854775808", INT64_MIN, INT64_MAX, false, 0 },
		{ "-9223372036854775808", INT64_MIN, INT64_MAX, true,
		    INT64_MIN },
		{ "-9223372036854775809", INT64_MIN, INT64_MAX, false, 0 },
		{ "99999999999999999999999", INT64_MIN, INT64_MAX, false, 0 },
		{ "-0", -1, 1, false, 0 },
		{ "1.0", 0, 9, false, 0 },
		{ "1e3", 0, 9999, false, 0 },
		{ "\"1\"", 0, 9, false, 0 },
		{ "true", 0, 9, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		int64_t n = 77;
		bool taken = json_int(parsed(rows[i].text), rows[i].min,
		    rows[i].max, &n);

		if (taken != rows[i].taken)
			fail_msg("%s", rows[i].text);
		assert_true(n == (taken ? rows[i].n : 77));
	}
}

static void
unsigned_integers_reach_their_end(void **state)
{
	uint64_t n = 0;

	(void)state;
	assert_true(json_uint(parsed("18446744073709551615"), UINT64_MAX, &n));
	assert_true(n == UINT64_MAX);
	assert_false(json_uint(parsed("18446744073709551616"), UINT64_MAX, &n));
	assert_false(json_uint(parsed("-1"), UINT64_MAX, &n));
	assert_false(json_uint(NULL, UINT64_MAX, &n));
}

static void
other_kinds_answer_no(void **state)
{
	const struct json_value *v = parsed("{\"s\":\"a\\u0000\",\"t\":\"a\","
					    "\"b\":true,\"l\":[\"s\"]}");
	struct span s = SPAN_LIT("old");
	const char *text = "old";
	bool truth = false;

	(void)state;
	assert_true(json_str(json_get(v, "s"), &s));
	assert_int_equal(s.len, 2);
	assert_false(json_cstr(json_get(v, "s"), &text));
	assert_string_equal(text, "old");
	assert_true(json_cstr(json_get(v, "t"), &text));
	assert_string_equal(text, "a");
	assert_true(json_bool(json_get(v, "b"), &truth));
	assert_true(truth);
	assert_false(json_bool(json_get(v, "t"), &truth));
	assert_false(json_str(json_get(v, "b"), &s));
	assert_null(json_get(v, "absent"));
	assert_null(json_get(json_get(v, "l"), "s"));
	assert_null(json_get(NULL, "s"));
	assert_null(json_first(NULL));
	assert_null(json_next(NULL));
	assert_false(json_is(NULL, JSON_NULL));
	assert_false(json_str(NULL, &s));
}

static void
an_unknown_key_is_named(void **state)
{
	static const char *const keys[] = { "a", "b" };
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(json_only(parsed("{}"), keys, 2, &f), 0);
	assert_int_equal(json_only(parsed("{\"b\":1}"), keys, 2, &f), 0);
	assert_int_equal(json_only(parsed("{\"b\":1, \"c\":2}"), keys, 2, &f),
	    -1);
	assert_string_equal(f.text, "unknown key 'c' at byte 8");
	assert_string_equal(f.field, "c");
	assert_int_equal(json_only(parsed(" []"), keys, 2, &f), -1);
	assert_string_equal(f.text, "expected object, found array at byte 1");
	assert_int_equal(f.code, FAULT_INVALID);
}

static void
a_needed_member_is_there_and_of_its_kind(void **state)
{
	const struct json_value *v = parsed("{\"a\":1}");
	const struct json_value *m = NULL;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(json_need(v, "a", JSON_NUMBER, &m, &f), 0);
	assert_true(json_is(m, JSON_NUMBER));
	assert_int_equal(json_want(v, "b", JSON_STRING, &m, &f), 0);
	assert_null(m);
	assert_int_equal(json_need(v, "b", JSON_STRING, &m, &f), -1);
	assert_string_equal(f.text, "'b' is missing at byte 0");
	assert_string_equal(f.field, "b");
	assert_int_equal(json_want(v, "a", JSON_STRING, &m, &f), -1);
	assert_string_equal(f.text,
	    "a: expected string, found number at byte 5");
	assert_string_equal(f.field, "a");
	assert_int_equal(json_need(parsed("1"), "a", JSON_STRING, &m, &f), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_are_plain_and_bounded),
		cmocka_unit_test(unsigned_integers_reach_their_end),
		cmocka_unit_test(other_kinds_answer_no),
		cmocka_unit_test(an_unknown_key_is_named),
		cmocka_unit_test(a_needed_member_is_there_and_of_its_kind),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, end);
}
