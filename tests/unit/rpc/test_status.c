/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses, timeouts: the text forms of the gRPC paper. */
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "rpc/inner.h"

static void
every_refusal_comes_back_as_it_went(void **state)
{
	struct status_text text;
	struct h2_header hs[RPC_HEADERS];
	struct buf detail;

	(void)state;
	buf_init(&detail, LIMIT_HEADERS);
	for (int code = 0; code < FAULT_COUNT; code++) {
		struct fault in = { .code = (enum fault_code)code };
		struct fault out;
		size_t n;

		(void)text_fmt(in.text, sizeof(in.text), "row %d", code);
		(void)text_fmt(in.field, sizeof(in.field), "a.b[%d]", code);
		n = status_headers(&in, SPAN_LIT("x"), &text, hs);
		assert_true(status_parse(hs, n, &out, &detail));
		assert_int_equal(out.code, code);
		if (code == FAULT_NONE)
			continue;
		assert_string_equal(out.text, in.text);
		assert_string_equal(out.field, in.field);
		assert_true(span_is(buf_span(&detail), "x"));
		buf_clear(&detail);
	}
	buf_release(&detail);
}

static void
text_is_escaped_as_clients_expect(void **state)
{
	struct fault in = { .code = FAULT_INVALID };
	struct fault out;
	struct status_text text;
	struct h2_header hs[RPC_HEADERS];
	struct buf detail;
	size_t n;

	(void)state;
	buf_init(&detail, 8);
	(void)text_copy(in.text, sizeof(in.text),
	    SPAN_LIT(" a:b 5%\n\xc3\xa9 "));
	n = status_headers(&in, SPAN_LIT(""), &text, hs);
	assert_true(
	    span_is(h2_find(hs, n, "grpc-message"), "a:b 5%25%0A%C3%A9"));
	assert_true(status_parse(hs, n, &out, &detail));
	assert_string_equal(out.text, "a:b 5%\n\xc3\xa9");
	/* broken escapes stay as they are */
	hs[0] = HEADER("grpc-status", SPAN_LIT("3"));
	hs[1] = HEADER("grpc-message", SPAN_LIT("%zz%4%00x%"));
	assert_true(status_parse(hs, 2, &out, &detail));
	assert_string_equal(out.text, "%zz%4x%");
	buf_release(&detail);
}

static void
the_longest_text_fits(void **state)
{
	struct fault in = { .code = FAULT_INVALID };
	struct status_text text;
	struct h2_header hs[RPC_HEADERS];
	static uint8_t detail[STATUS_DETAIL + 1];
	size_t n;

	(void)state;
	memset(in.text, '\xff', sizeof(in.text) - 1);
	memset(in.field, '\xff', sizeof(in.field) - 1);
	n = status_headers(&in, span_of(detail, STATUS_DETAIL), &text, hs);
	assert_int_equal(h2_find(hs, n, "grpc-message").len, 3 * 239);
	assert_int_equal(h2_find(hs, n, "grpc-status-details-bin").len,
	    (STATUS_DETAIL * 4 + 2) / 3);
	n = status_headers(&in, span_of(detail, sizeof(detail)), &text, hs);
	assert_null(h2_find(hs, n, "grpc-status-details-bin").ptr);
}

static void
details_may_be_padded_or_not(void **state)
{
	static const struct {
		const char *text;
		const char *bytes;
	} rows[] = {
		{ "Zg==", "f" },
		{ "Zg", "f" },
		{ "Zm8=", "fo" },
		{ "Zm9v", "foo" },
		{ "Zm9vYg", "foob" },
		{ "Zm9-", "" }, /* the url alphabet is another */
		{ "Z", "" },
		{ "Z\0==", "" },
	};
	struct buf detail;
	struct fault out;

	(void)state;
	buf_init(&detail, 64);
	for (size_t i = 0; i < NELEM(rows); i++) {
		struct h2_header hs[] = {
			HEADER("grpc-status", SPAN_LIT("5")),
			HEADER("grpc-status-details-bin",
			    span_str(rows[i].text)),
		};

		buf_clear(&detail);
		assert_true(status_parse(hs, NELEM(hs), &out, &detail));
		assert_int_equal(out.code, FAULT_NOT_FOUND);
		assert_true(span_is(buf_span(&detail), rows[i].bytes));
	}
	buf_release(&detail);
}

static void
statuses_of_strangers_have_a_code(void **state)
{
	static const struct {
		const char *status;
		const char *reason;
		enum fault_code code;
	} rows[] = {
		{ "0", NULL, FAULT_NONE },
		{ "2", NULL, FAULT_SYSTEM },
		{ "7", NULL, FAULT_REFUSED },
		{ "13", NULL, FAULT_SYSTEM },
		{ "16", NULL, FAULT_UNAUTHENTICATED },
		{ "99", NULL, FAULT_SYSTEM },
		{ "x", NULL, FAULT_SYSTEM },
		{ "", NULL, FAULT_SYSTEM },
		{ "8", "RATE_LIMITED", FAULT_RATE_LIMITED },
		{ "8", "NOT_FOUND", FAULT_LIMIT }, /* does not belong */
		{ "0", "NOT_FOUND", FAULT_NONE },
	};
	struct buf detail;
	struct fault out;

	(void)state;
	buf_init(&detail, 8);
	for (size_t i = 0; i < NELEM(rows); i++) {
		struct h2_header hs[] = {
			{ SPAN_LIT("grpc-status"), span_str(rows[i].status) },
			{ SPAN_LIT("nacre-reason"), span_str(rows[i].reason) },
		};

		hs[0].value.ptr = (const uint8_t *)rows[i].status;
		assert_true(status_parse(hs, NELEM(hs), &out, &detail));
		assert_int_equal(out.code, rows[i].code);
	}
	assert_false(status_parse(NULL, 0, &out, &detail));
	buf_release(&detail);
}

static void
timeouts_are_digits_and_a_unit(void **state)
{
	static const struct {
		const char *text;
		int64_t ms; /* -1: refused */
	} rows[] = {
		{ "1H", 3600000 },
		{ "2M", 120000 },
		{ "3S", 3000 },
		{ "7969m", 7969 },
		{ "1500u", 1 },
		{ "999999n", 0 },
		{ "99999999H", 99999999LL * 3600000 },
		{ "0m", 0 },
		{ "", -1 },
		{ "m", -1 },
		{ "1", -1 },
		{ "100000000m", -1 },
		{ "-1m", -1 },
		{ "1x", -1 },
		{ "1 m", -1 },
	};
	char text[12];

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		int64_t ms = -1;

		assert_int_equal(timeout_parse(span_str(rows[i].text), &ms),
		    rows[i].ms >= 0);
		if (rows[i].ms >= 0)
			assert_int_equal(ms, rows[i].ms);
	}
	timeout_format(1234, text);
	assert_string_equal(text, "1234m");
	timeout_format(100000000, text);
	assert_string_equal(text, "100000S");
	timeout_format(INT64_MAX, text);
	assert_string_equal(text, "99999999S");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_refusal_comes_back_as_it_went),
		cmocka_unit_test(text_is_escaped_as_clients_expect),
		cmocka_unit_test(the_longest_text_fits),
		cmocka_unit_test(details_may_be_padded_or_not),
		cmocka_unit_test(statuses_of_strangers_have_a_code),
		cmocka_unit_test(timeouts_are_digits_and_a_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
