/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, hex, UTF-8, escapes, names, times, base64url: tables. */
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"

#define BYTES(s) s, sizeof(s) - 1

static void
numbers_are_plain_decimal_up_to_their_bound(void **state)
{
	static const struct {
		const char *text;
		uint64_t max;
		bool taken;
		uint64_t n;
	} rows[] = {
		{ "0", 0, true, 0 },
		{ "9", 9, true, 9 },
		{ "10", 9, false, 0 },
		{ "18446744073709551615", UINT64_MAX, true, UINT64_MAX },
		{ "18446744073709551616", UINT64_MAX, false, 0 },
		{ "18446744073709551620", UINT64_MAX, false, 0 },
		{ "99999999999999999999", UINT64_MAX, false, 0 },
		{ "184467440737095516150", UINT64_MAX, false, 0 },
		{ "", 9, false, 0 },
		{ "00", 9, false, 0 },
		{ "01", 9, false, 0 },
		{ "-1", 9, false, 0 },
		{ "+1", 9, false, 0 },
		{ " 1", 9, false, 0 },
		{ "1 ", 9, false, 0 },
		{ "1x", 99, false, 0 },
		{ "0x1", 99, false, 0 },
		{ "1.0", 99, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		uint64_t n = 77;

		if (num_parse(span_str(rows[i].text), rows[i].max, &n) !=
		    rows[i].taken)
			fail_msg("'%s'", rows[i].text);
		assert_true(n == (rows[i].taken ? rows[i].n : 77));
	}
}

static void
hex_goes_both_ways(void **state)
{
	static const uint8_t bytes[] = { 0x00, 0x9f, 0xa0, 0xff };
	char text[9];
	uint8_t back[4];

	(void)state;
	hex_format(bytes, sizeof(bytes), text);
	assert_string_equal(text, "009fa0ff");
	assert_true(hex_parse(span_str("009FA0fF"), back, 4));
	assert_memory_equal(back, bytes, 4);
	assert_false(hex_parse(span_str("009fa0f"), back, 4));
	assert_false(hex_parse(span_str("009fa0ff0"), back, 4));
	assert_false(hex_parse(span_str("009fa0fg"), back, 4));
	assert_true(hex_parse(span_str(""), back, 0));
}

static void
text_that_does_not_fit_is_told(void **state)
{
	char out[4];

	(void)state;
	assert_true(text_fmt(out, sizeof(out), "%d", 123));
	assert_false(text_fmt(out, sizeof(out), "%d", 1234));
	assert_string_equal(out, "123");
	assert_true(text_copy(out, sizeof(out), SPAN_LIT("abc")));
	assert_false(text_copy(out, sizeof(out), SPAN_LIT("abcd")));
	assert_string_equal(out, "abc");
	assert_true(text_copy(out, 1, span_of(NULL, 0)));
	assert_string_equal(out, "");
	assert_false(text_copy(out, sizeof(out), SPAN_LIT("ab\xc3\xa9")));
	assert_string_equal(out, "ab");
	assert_true(text_copy(out, sizeof(out), SPAN_LIT("b\xc3\xa9")));
	assert_false(text_fmt(out, sizeof(out), "%s", "b\xe2\x82\xac"));
	assert_string_equal(out, "b");
	assert_false(text_copy(out, 1, SPAN_LIT("\xc3\xa9")));
	assert_string_equal(out, "");
}

static void
a_begun_character_is_not_whole(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		size_t whole;
	} rows[] = {
		{ BYTES(""), 0 },
		{ BYTES("ab"), 2 },
		{ BYTES("a\xc3"), 1 },
		{ BYTES("a\xc3\xa9"), 3 },
		{ BYTES("a\xe2\x82"), 1 },
		{ BYTES("a\xe2\x82\xac"), 4 },
		{ BYTES("a\xf0\x9f\x90"), 1 },
		{ BYTES("\xf0\x9f\x90\x9a"), 4 },
		{ BYTES("a\x80\x80\x80\x80"), 5 }, /* was none before */
		{ BYTES("\x80"), 1 },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++)
		assert_int_equal(utf8_whole(span_of(rows[i].text, rows[i].len)),
		    rows[i].whole);
}

static void
only_whole_shortest_utf8_is_valid(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		bool valid;
	} rows[] = {
		{ BYTES(""), true },
		{ BYTES("a\0b"), true },
		{ BYTES("\x7f"), true },
		{ BYTES("\x80"), false },
		{ BYTES("\xbf"), false },
		{ BYTES("\xc0\x80"), false },
		{ BYTES("\xc1\xbf"), false },
		{ BYTES("\xc2\x80"), true },
		{ BYTES("\xdf\xbf"), true },
		{ BYTES("\xc2"), false },
		{ BYTES("\xc2\x41"), false },
		{ BYTES("\xe0\x9f\xbf"), false },
		{ BYTES("\xe0\xa0\x80"), true },
		{ BYTES("\xe2\x82"), false },
		{ BYTES("\xed\x9f\xbf"), true },
		{ BYTES("\xed\xa0\x80"), false },
		{ BYTES("\xed\xbf\xbf"), false },
		{ BYTES("\xee\x80\x80"), true },
		{ BYTES("\xef\xbf\xbf"), true },
		{ BYTES("\xf0\x8f\xbf\xbf"), false },
		{ BYTES("\xf0\x90\x80\x80"), true },
		{ BYTES("\xf4\x8f\xbf\xbf"), true },
		{ BYTES("\xf4\x90\x80\x80"), false },
		{ BYTES("\xf5\x80\x80\x80"), false },
		{ BYTES("\xf8\x88\x80\x80\x80"), false },
		{ BYTES("\xff"), false },
		{ BYTES("a\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9ez"), true },
		{ BYTES("a\xc3\xa9\xe2\x82\xac\xf0\x9d\x84z"), false },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++)
		if (utf8_valid(span_of(rows[i].text, rows[i].len)) !=
		    rows[i].valid)
			fail_msg("row %zu", i);
}

/* Each scalar value, encoded the long way round. */
static void
every_scalar_value_is_valid_and_no_surrogate_is(void **state)
{
	(void)state;
	for (uint32_t c = 0x80; c <= 0x10ffff; c++) {
		uint8_t s[4];
		size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		static const uint8_t lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
		bool surrogate = c >= 0xd800 && c <= 0xdfff;

		s[0] = (uint8_t)(lead[n] | c >> 6 * (n - 1));
		for (size_t i = 1; i < n; i++)
			s[i] = (uint8_t)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
		if (utf8_valid(span_of(s, n)) == surrogate)
			fail_msg("U+%04x", (unsigned)c);
	}
}

static void
strangers_text_becomes_printable(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		size_t size;
		const char *out;
	} rows[] = {
		{ BYTES(""), 8, "" },
		{ BYTES("plain \"text\""), 64, "plain \"text\"" },
		{ BYTES("a\nb\0c\x7f\x1b[0m"), 64,
		    "a\\x0ab\\x00c\\x7f\\x1b[0m" },
		{ BYTES("\\"), 64, "\\\\" },
		{ BYTES("\xc3\xa9"), 64, "\xc3\xa9" },
		{ BYTES("\xc3"), 64, "\\xc3" },
		/* C1: the second CSI; and the first character behind them */
		{ BYTES("\xc2\x9b"
			"0m"),
		    64, "\\xc2\\x9b0m" },
		{ BYTES("\xc2\xa0"), 64, "\xc2\xa0" },
		{ BYTES("\xff\xfe"), 64, "\\xff\\xfe" },
		{ BYTES("abcd"), 4, "abc" },
		{ BYTES("a\xc3\xa9"), 3, "a" },
		{ BYTES("a\n"), 5, "a" },
		{ BYTES("a\n"), 6, "a\\x0a" },
		{ BYTES("a\\"), 3, "a" },
		{ BYTES("abc"), 1, "" },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		char out[64];

		memset(out, '#', sizeof(out));
		text_escape(span_of(rows[i].in, rows[i].len), out,
		    rows[i].size);
		assert_string_equal(out, rows[i].out);
	}
}

static void
what_a_terminal_obeys_is_not_printable(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		bool is_printable;
	} rows[] = {
		{ BYTES(""), true },
		{ BYTES("a\\x0a \xc3\xa9\xc2\xa0~"), true },
		{ BYTES("a\n"), false },
		{ BYTES("\x7f"), false },
		{ BYTES("a\xc2\x80"), false },
		{ BYTES("\xc2\x9f"), false },
		{ BYTES("a\xff"), false },
		{ BYTES("a\0"), false },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++)
		assert_int_equal(
		    text_is_printable(span_of(rows[i].in, rows[i].len)),
		    rows[i].is_printable);
}

static void
names_are_dns_labels(void **state)
{
	static const struct {
		const char *text;
		bool valid;
	} rows[] = {
		{ "a", true },
		{ "0", true },
		{ "a-b-9", true },
		{ "abcdefghijklmnopqrs", true },   /* 19 */
		{ "abcdefghijklmnopqrst", false }, /* 20 */
		{ "", false },
		{ "-", false },
		{ "-a", false },
		{ "a-", false },
		{ "a--b", false },
		{ "A", false },
		{ "a_b", false },
		{ "a.b", false },
		{ "a/b", false },
		{ "..", false },
		{ "a b", false },
		{ "\xc3\xa9", false },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++)
		if (name_valid(span_str(rows[i].text), LIMIT_NAME) !=
		    rows[i].valid)
			fail_msg("'%s'", rows[i].text);
	assert_false(name_valid(SPAN_LIT("a\0b"), LIMIT_NAME));
}

static void
times_are_utc(void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00Z" },
		{ 999, "1970-01-01T00:00:00Z" },
		{ -1, "1969-12-31T23:59:59Z" },
		{ INT64_C(951782400000), "2000-02-29T00:00:00Z" },
		{ INT64_C(1709251199000), "2024-02-29T23:59:59Z" },
		{ INT64_C(1709251200000), "2024-03-01T00:00:00Z" },
		{ INT64_C(4107542400000), "2100-03-01T00:00:00Z" },
		{ INT64_C(253402300799000), "9999-12-31T23:59:59Z" },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		char out[32];

		time_format(rows[i].ms, out);
		assert_string_equal(out, rows[i].text);
	}
}

static void
numbers_are_written_as_they_are_read(void **state)
{
	static const uint64_t rows[] = { 0, 9, 10, 99, 100, 4294967296,
		UINT64_C(9999999999999999999), UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		char out[21];
		char want[32];
		uint64_t back;

		(void)snprintf(want, sizeof(want), "%llu",
		    (unsigned long long)rows[i]);
		assert_int_equal(num_format(rows[i], out), strlen(want));
		assert_string_equal(out, want);
		assert_true(num_parse(span_str(out), UINT64_MAX, &back));
		assert_true(back == rows[i]);
	}
}

/* RFC 4648 section 10, unpadded, and bytes that need the other alphabet. */
static const struct {
	const char *bytes;
	size_t len;
	const char *text;
} base64[] = {
	{ BYTES(""), "" },
	{ BYTES("f"), "Zg" },
	{ BYTES("fo"), "Zm8" },
	{ BYTES("foo"), "Zm9v" },
	{ BYTES("foob"), "Zm9vYg" },
	{ BYTES("fooba"), "Zm9vYmE" },
	{ BYTES("foobar"), "Zm9vYmFy" },
	{ BYTES("\xfb\xff\xfe"), "-__-" },
	{ BYTES("\x00"), "AA" },
	{ BYTES("{\"alg\":\"ES256\"}"), "eyJhbGciOiJFUzI1NiJ9" },
};

static void
base64url_goes_both_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(base64); i++) {
		struct span s = span_of(base64[i].bytes, base64[i].len);
		size_t n = strlen(base64[i].text);
		char text[32];
		uint8_t back[32];
		size_t got = 99;

		assert_int_equal(base64url_format(s, text, sizeof(text)), n);
		assert_string_equal(text, base64[i].text);
		assert_int_equal(base64url_format(s, text, n + 1), n);
		assert_int_equal(base64url_format(s, text, n), 0);
		assert_true(base64url_parse(span_str(base64[i].text), back,
		    s.len, &got));
		assert_int_equal(got, s.len);
		assert_memory_equal(back, s.ptr, s.len);
		if (s.len > 0)
			assert_false(base64url_parse(span_str(base64[i].text),
			    back, s.len - 1, &got));
	}
}

static void
base64url_has_one_form_a_value(void **state)
{
	static const char *const bad[] = { "Z", "Zm9vY", "Zg==", "Zg=", "Zh",
		"Zm9", "Zm8 ", " Zm8", "Zm8\n", "Z+8v", "Zm/v", "-_.",
		"Z\x80" };

	(void)state;
	for (size_t i = 0; i < NELEM(bad); i++) {
		uint8_t out[32];
		size_t n;

		if (base64url_parse(span_str(bad[i]), out, sizeof(out), &n))
			fail_msg("'%s'", bad[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_plain_decimal_up_to_their_bound),
		cmocka_unit_test(hex_goes_both_ways),
		cmocka_unit_test(text_that_does_not_fit_is_told),
		cmocka_unit_test(a_begun_character_is_not_whole),
		cmocka_unit_test(only_whole_shortest_utf8_is_valid),
		cmocka_unit_test(
		    every_scalar_value_is_valid_and_no_surrogate_is),
		cmocka_unit_test(strangers_text_becomes_printable),
		cmocka_unit_test(what_a_terminal_obeys_is_not_printable),
		cmocka_unit_test(names_are_dns_labels),
		cmocka_unit_test(times_are_utc),
		cmocka_unit_test(numbers_are_written_as_they_are_read),
		cmocka_unit_test(base64url_goes_both_ways),
		cmocka_unit_test(base64url_has_one_form_a_value),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
