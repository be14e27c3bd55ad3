/* SPDX-License-Identifier: Apache-2.0 */
/* The validator: what RFC 8259 takes, and where everything else goes wrong. */
#include <stdlib.h>
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "json/json.h"

#define BYTES(s) s, sizeof(s) - 1

static const struct {
	const char *text;
	size_t len;
} valid[] = {
	{ BYTES("null") },
	{ BYTES(" true\n") },
	{ BYTES("false\t") },
	{ BYTES("0") },
	{ BYTES("-0") },
	{ BYTES("-10.25e+3") },
	{ BYTES("1E400") },
	{ BYTES("123456789012345678901234567890") },
	{ BYTES("\"\"") },
	{ BYTES("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"") },
	{ BYTES("\"\\u0000\\uD834\\udd1e\"") },
	{ BYTES("\"\x7f\xc3\xa9\xe2\x80\xa8\xf0\x9d\x84\x9e\"") },
	{ BYTES("\"\xef\xbf\xbf\"") },
	{ BYTES("[]") },
	{ BYTES("{}") },
	{ BYTES("[ ]") },
	{ BYTES("[1,[2,{\"a\":{}}],[]]") },
	{ BYTES("\r\n{ \"a\" : 1 , \"b\" : [ ] }\r\n") },
	{ BYTES("{\"\":\"\"}") },
};

static void
what_the_grammar_takes_is_taken(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(valid); i++) {
		struct fault f = { 0 };

		if (json_check(span_of(valid[i].text, valid[i].len), &f) != 0)
			fail_msg("%s: %s", valid[i].text, f.text);
		assert_int_equal(f.code, FAULT_NONE);
	}
}

static const struct {
	const char *text;
	size_t len;
	const char *says;
} invalid[] = {
	{ BYTES(""), "JSON ends early at byte 0" },
	{ BYTES("  "), "JSON ends early at byte 2" },
	{ BYTES("\xef\xbb\xbf{}"), "no value at byte 0" },
	{ BYTES("{\"a\":1}{\"b\":2}"), "more after the value at byte 7" },
	{ BYTES("{\"a\":1}\0{}"), "more after the value at byte 7" },
	{ BYTES("1 1"), "more after the value at byte 2" },
	{ BYTES("\0"), "no value at byte 0" },
	{ BYTES("[1\0]"), "no ',' or ']' at byte 2" },
	{ BYTES("{\"a\" \"b\"}"), "no ':' after a key at byte 5" },
	{ BYTES("{\"a\"}"), "no ':' after a key at byte 4" },
	{ BYTES("{\"a\":1 \"b\":2}"), "no ',' or '}' at byte 7" },
	{ BYTES("{\"a\":1,}"), "no key at byte 7" },
	{ BYTES("{,\"a\":1}"), "no key at byte 1" },
	{ BYTES("{\"a\"::1}"), "no value at byte 5" },
	{ BYTES("{\"a\":1:2}"), "no ',' or '}' at byte 6" },
	{ BYTES("{\"a\":\"b\"\"c\"}"), "no ',' or '}' at byte 8" },
	{ BYTES("{'a':1}"), "no key at byte 1" },
	{ BYTES("{a:1}"), "no key at byte 1" },
	{ BYTES("{1:2}"), "no key at byte 1" },
	{ BYTES("{{\"a\":1}:2}"), "no key at byte 1" },
	{ BYTES("[1 2]"), "no ',' or ']' at byte 3" },
	{ BYTES("[1,]"), "no value at byte 3" },
	{ BYTES("[,1]"), "no value at byte 1" },
	{ BYTES("[1}"), "no ',' or ']' at byte 2" },
	{ BYTES("{\"a\":1]"), "no ',' or '}' at byte 6" },
	{ BYTES("]"), "no value at byte 0" },
	{ BYTES("[1"), "JSON ends early at byte 2" },
	{ BYTES("{\"a\":"), "JSON ends early at byte 5" },
	{ BYTES("tru"), "no value at byte 0" },
	{ BYTES("truee"), "more after the value at byte 4" },
	{ BYTES("True"), "no value at byte 0" },
	{ BYTES("NaN"), "no value at byte 0" },
	{ BYTES("01"), "more after the value at byte 1" },
	{ BYTES("+1"), "no value at byte 0" },
	{ BYTES(".5"), "no value at byte 0" },
	{ BYTES("1."), "fraction without a digit at byte 2" },
	{ BYTES("-"), "number without a digit at byte 1" },
	{ BYTES("-x"), "number without a digit at byte 1" },
	{ BYTES("1e"), "exponent without a digit at byte 2" },
	{ BYTES("1e+"), "exponent without a digit at byte 3" },
	{ BYTES("0x1"), "more after the value at byte 1" },
	{ BYTES("[1\xff]"), "no ',' or ']' at byte 2" },
	{ BYTES("\""), "string without an end at byte 0" },
	{ BYTES(" \"a\\\""), "string without an end at byte 1" },
	{ BYTES("\"a\nb\""), "control byte in a string at byte 2" },
	{ BYTES("\"\0\""), "control byte in a string at byte 1" },
	{ BYTES("\"\\x\""), "unknown escape at byte 1" },
	{ BYTES("\"\\\0\""), "unknown escape at byte 1" },
	{ BYTES("\"\\"), "unknown escape at byte 1" },
	{ BYTES("\"\\u12\""), "\\u without four hex digits at byte 1" },
	{ BYTES("\"\\u12g4\""), "\\u without four hex digits at byte 1" },
	{ BYTES("\"\\u"), "\\u without four hex digits at byte 1" },
	{ BYTES("\"\\ud800\""), "lone surrogate at byte 1" },
	{ BYTES("\"\\udc00\""), "lone surrogate at byte 1" },
	{ BYTES("\"\\ud800\\u0041\""), "lone surrogate at byte 1" },
	{ BYTES("\"\\ud800\\ud800\""), "lone surrogate at byte 1" },
	{ BYTES("\"\\udd1e\\ud834\""), "lone surrogate at byte 1" },
	{ BYTES("\"\\ud800\\u"), "lone surrogate at byte 1" },
	{ BYTES("\"ab\xff\""), "invalid UTF-8 at byte 3" },
	{ BYTES("\"\xc0\xaf\""), "invalid UTF-8 at byte 1" },
	{ BYTES("\"\xed\xa0\x80\""), "invalid UTF-8 at byte 1" },
	{ BYTES("\"\xf4\x90\x80\x80\""), "invalid UTF-8 at byte 1" },
	{ BYTES("\"\x80\""), "invalid UTF-8 at byte 1" },
	{ BYTES("\"\xe2\x82"), "invalid UTF-8 at byte 1" },
	{ BYTES("{\"\\ud800\":1}"), "lone surrogate at byte 2" },
};

static void
what_is_wrong_is_told_with_its_offset(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(invalid); i++) {
		struct fault f = { 0 };

		if (json_check(span_of(invalid[i].text, invalid[i].len), &f) ==
		    0)
			fail_msg("taken: %s", invalid[i].text);
		assert_string_equal(f.text, invalid[i].says);
		assert_int_equal(f.code, FAULT_INVALID);
	}
}

static void
every_beginning_of_a_text_is_refused(void **state)
{
	static const char text[] =
	    "{\"a\":[1.5e1,\"\\ud834\\udd1e\xc3\xa9\",true],\"b\":{}}";

	(void)state;
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		struct fault f = { 0 };

		assert_int_equal(json_check(span_of(text, n), &f), -1);
		assert_int_equal(f.code, FAULT_INVALID);
	}
}

static void
nesting_ends_at_its_limit(void **state)
{
	char text[2 * (JSON_DEPTH + 1)];
	struct fault f = { 0 };

	(void)state;
	memset(text, '[', JSON_DEPTH);
	memset(text + JSON_DEPTH, ']', JSON_DEPTH);
	assert_int_equal(json_check(span_of(text, 2 * JSON_DEPTH), &f), 0);
	memset(text, '[', JSON_DEPTH + 1);
	memset(text + JSON_DEPTH + 1, ']', JSON_DEPTH + 1);
	assert_int_equal(json_check(span_of(text, sizeof(text)), &f), -1);
	assert_int_equal(f.code, FAULT_LIMIT);
	assert_string_equal(f.text, "over 64 levels at byte 64");
}

static void
values_end_at_their_limit(void **state)
{
	size_t n = 2 * (size_t)JSON_TOKENS + 1;
	char *text = must_alloc(n);
	struct fault f = { 0 };

	(void)state;
	for (size_t i = 0; i < n; i++)
		text[i] = i % 2 ? '1' : ',';
	text[0] = '[';
	text[n - 1] = ']';
	assert_int_equal(json_check(span_of(text, n), &f), -1);
	assert_int_equal(f.code, FAULT_LIMIT);
	assert_string_equal(f.text,
	    "over 65536 values and keys at byte 131071");
	text[n - 3] = ']'; /* one number fewer */
	text[n - 2] = text[n - 1] = ' ';
	assert_int_equal(json_check(span_of(text, n), &f), 0);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_grammar_takes_is_taken),
		cmocka_unit_test(what_is_wrong_is_told_with_its_offset),
		cmocka_unit_test(every_beginning_of_a_text_is_refused),
		cmocka_unit_test(nesting_ends_at_its_limit),
		cmocka_unit_test(values_end_at_their_limit),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
