/* SPDX-License-Identifier: Apache-2.0 */
/* The writer: structure, escapes, a full buffer. */
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "json/json.h"

#define BYTES(s) s, sizeof(s) - 1

static void
example(struct json_out *o)
{
	json_out_object(o);
	json_out_key(o, "list");
	json_out_array(o);
	json_out_int(o, INT64_MIN);
	json_out_uint(o, UINT64_MAX);
	json_out_bool(o, true);
	json_out_bool(o, false);
	json_out_null(o);
	json_out_array(o);
	json_out_end(o);
	json_out_object(o);
	json_out_end(o);
	json_out_end(o);
	json_out_key(o, "q\"");
	json_out_text(o, NULL);
	json_out_key(o, "raw");
	json_out_raw(o, SPAN_LIT("[1]"));
	json_out_end(o);
}

static const char example_text[] =
    "{\"list\":[-9223372036854775808,18446744073709551615,true,false,null,[],"
    "{}],\"q\\\"\":\"\",\"raw\":[1]}";

static void
commas_and_colons_stand_where_they_belong(void **state)
{
	struct json_out o;
	struct buf b;
	struct fault f = { 0 };

	(void)state;
	buf_init(&b, 1024);
	assert_int_equal(buf_add(&b, "> ", 2, &f), 0);
	json_out_init(&o, &b);
	example(&o);
	assert_int_equal(json_out_done(&o, &f), 0);
	assert_true(span_is(span_from(buf_span(&b), 2), example_text));
	buf_release(&b);
}

static void
a_full_buffer_is_told_once_and_left_clean(void **state)
{
	(void)state;
	for (size_t max = 2; max < sizeof(example_text) + 1; max++) {
		struct json_out o;
		struct buf b;
		struct fault f = { 0 };

		buf_init(&b, max);
		assert_int_equal(buf_add(&b, "> ", 2, &f), 0);
		json_out_init(&o, &b);
		example(&o);
		assert_int_equal(json_out_done(&o, &f), -1);
		assert_int_equal(f.code, FAULT_LIMIT);
		assert_true(span_is(buf_span(&b), "> "));
		buf_release(&b);
	}
}

static void
strings_are_escaped_and_mended(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		const char *out;
	} rows[] = {
		{ BYTES(""), "\"\"" },
		{ BYTES("a/b"), "\"a/b\"" },
		{ BYTES("\"\\"), "\"\\\"\\\\\"" },
		{ BYTES("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"" },
		{ BYTES("\0\x01\x1f\x7f"), "\"\\u0000\\u0001\\u001f\x7f\"" },
		{ BYTES("\xc3\xa9\xe2\x80\xa8"), "\"\xc3\xa9\xe2\x80\xa8\"" },
		{ BYTES("a\xff"
			"b"),
		    "\"a\xef\xbf\xbd"
		    "b\"" },
		{ BYTES("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ BYTES("\xed\xa0\x80"),
		    "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		struct json_out o;
		struct buf b;
		struct fault f = { 0 };

		buf_init(&b, 256);
		json_out_init(&o, &b);
		json_out_str(&o, span_of(rows[i].in, rows[i].len));
		assert_int_equal(json_out_done(&o, &f), 0);
		assert_true(span_is(buf_span(&b), rows[i].out));
		assert_int_equal(json_check(buf_span(&b), &f), 0);
		buf_release(&b);
	}
}

static void
every_byte_comes_back(void **state)
{
	uint8_t all[0x80];
	struct json_out o;
	struct buf b;
	struct arena a;
	const struct json_value *v;
	struct span s;
	struct fault f = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (uint8_t)i;
	buf_init(&b, 4096);
	arena_init(&a, 4096);
	json_out_init(&o, &b);
	json_out_str(&o, span_of(all, sizeof(all)));
	assert_int_equal(json_out_done(&o, &f), 0);
	assert_int_equal(json_parse(buf_span(&b), &a, &v, &f), 0);
	assert_true(json_str(v, &s));
	assert_true(span_equal(s, span_of(all, sizeof(all))));
	arena_release(&a);
	buf_release(&b);
}

static void
the_deepest_text_is_one_the_parser_takes(void **state)
{
	struct json_out o;
	struct buf b;
	struct fault f = { 0 };

	(void)state;
	buf_init(&b, 4096);
	json_out_init(&o, &b);
	for (int i = 0; i < JSON_DEPTH; i++) {
		if (i % 2) {
			json_out_key(&o, "k");
			json_out_array(&o);
		} else {
			json_out_object(&o);
		}
	}
	for (int i = 0; i < JSON_DEPTH; i++)
		json_out_end(&o);
	assert_int_equal(json_out_done(&o, &f), 0);
	assert_int_equal(json_check(buf_span(&b), &f), 0);
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_and_colons_stand_where_they_belong),
		cmocka_unit_test(a_full_buffer_is_told_once_and_left_clean),
		cmocka_unit_test(strings_are_escaped_and_mended),
		cmocka_unit_test(every_byte_comes_back),
		cmocka_unit_test(the_deepest_text_is_one_the_parser_takes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
