/* SPDX-License-Identifier: Apache-2.0 */
/* The error object and its table. */
#include <errno.h>
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"

static void
setting_a_fault_is_one_line(void **state)
{
	struct fault f = { 0 };

	(void)state;
	errno = ENOENT;
	assert_int_equal(fault_set(&f, FAULT_LIMIT, "all %u are spent", 3U),
	    -1);
	assert_int_equal(f.code, FAULT_LIMIT);
	assert_int_equal(f.sys, 0);
	assert_string_equal(f.text, "all 3 are spent");
	assert_string_equal(f.field, "");
	assert_int_equal(errno, ENOENT);
}

static void
a_system_fault_keeps_errno_and_its_text(void **state)
{
	struct fault f = { 0 };

	(void)state;
	errno = ENOENT;
	assert_int_equal(fault_sys(&f, "cannot open '%s'", "x"), -1);
	assert_int_equal(f.code, FAULT_SYSTEM);
	assert_int_equal(f.sys, ENOENT);
	assert_string_equal(f.text,
	    "cannot open 'x': No such file or directory");
}

static void
a_field_is_named(void **state)
{
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(fault_field(&f, "name", "too long"), -1);
	assert_int_equal(f.code, FAULT_INVALID);
	assert_string_equal(f.field, "name");
	assert_string_equal(f.text, "too long");
	(void)fault_set(&f, FAULT_BUSY, "later");
	assert_string_equal(f.field, "");
}

static void
context_goes_in_front(void **state)
{
	struct fault f = { 0 };

	(void)state;
	(void)fault_field(&f, "x", "bad");
	assert_int_equal(fault_prefix(&f, "file %d", 7), -1);
	assert_int_equal(fault_prefix(&f, "import"), -1);
	assert_string_equal(f.text, "import: file 7: bad");
	assert_string_equal(f.field, "x");
	assert_int_equal(f.code, FAULT_INVALID);
	fault_clear(&f);
	assert_int_equal(f.code, FAULT_NONE);
	assert_string_equal(f.text, "");
}

static void
long_text_is_cut_and_terminated(void **state)
{
	struct fault f = { 0 };
	char word[1000];

	(void)state;
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	(void)fault_field(&f, word, "%s", word);
	assert_int_equal(strlen(f.text), sizeof(f.text) - 1);
	assert_int_equal(strlen(f.field), sizeof(f.field) - 1);
	(void)fault_prefix(&f, "%s", word);
	assert_int_equal(strlen(f.text), sizeof(f.text) - 1);
	errno = EIO;
	(void)fault_sys(&f, "%s", word);
	assert_int_equal(strlen(f.text), sizeof(f.text) - 1);
}

static void
a_cut_falls_between_characters(void **state)
{
	static const char *const letters[] = { "\xc3\xa9", "\xe2\x82\xac",
		"\xf0\x9f\x90\x9a" };

	(void)state;
	for (size_t i = 0; i < NELEM(letters); i++)
		for (size_t lead = 0; lead < 4; lead++) {
			struct fault f = { 0 };
			char word[500] = "";
			size_t used = lead;

			memset(word, 'x', lead);
			while (used + 5 < sizeof(word)) {
				memcpy(word + used, letters[i],
				    strlen(letters[i]));
				used += strlen(letters[i]);
			}
			(void)fault_field(&f, word, "%s", word);
			assert_true(utf8_valid(span_str(f.text)));
			assert_true(utf8_valid(span_str(f.field)));
			assert_true(strlen(f.text) > sizeof(f.text) - 5);
			(void)fault_prefix(&f, "ab");
			assert_true(utf8_valid(span_str(f.text)));
			(void)fault_prefix(&f, "%s", word);
			assert_true(utf8_valid(span_str(f.text)));
			errno = EIO;
			(void)fault_sys(&f, "%s", word);
			assert_true(utf8_valid(span_str(f.text)));
		}
}

static void
bytes_that_are_no_text_are_marked(void **state)
{
	struct fault f = { 0 };

	(void)state;
	(void)fault_field(&f, "a\xff", "no '%s' here, %.1s", "x\xc3y\xff",
	    "\xc3\xa9");
	assert_string_equal(f.text, "no 'x?y?' here, ?");
	assert_string_equal(f.field, "a?");
	(void)fault_prefix(&f, "\xfe\xc3\xa9");
	assert_string_equal(f.text, "?\xc3\xa9: no 'x?y?' here, ?");
}

static void
every_code_has_a_row_of_its_own(void **state)
{
	(void)state;
	assert_string_equal(fault_reason(FAULT_NONE), "OK");
	for (int i = 1; i < FAULT_COUNT; i++) {
		enum fault_code code = (enum fault_code)i;

		assert_true(fault_grpc(code) >= 1 && fault_grpc(code) <= 16);
		assert_true(fault_jsonrpc(code) < 0);
		assert_true(fault_exit(code) > 0 && fault_exit(code) < 126);
		assert_int_equal(fault_from_reason(fault_reason(code)), code);
	}
	assert_int_equal(fault_from_reason("no such reason"), FAULT_NONE);
}

static void
a_peers_status_becomes_a_code_of_that_status(void **state)
{
	(void)state;
	assert_int_equal(fault_from_grpc(3), FAULT_INVALID);
	assert_int_equal(fault_from_grpc(5), FAULT_NOT_FOUND);
	assert_int_equal(fault_from_grpc(12), FAULT_UNIMPLEMENTED);
	assert_int_equal(fault_from_grpc(2), FAULT_SYSTEM);
	assert_int_equal(fault_from_grpc(-1), FAULT_SYSTEM);
	assert_int_equal(fault_from_grpc(999), FAULT_SYSTEM);
	assert_int_equal(fault_kind(FAULT_INVALID), FAULT_KIND_INVALID);
	assert_int_equal(fault_kind(FAULT_LIMIT), FAULT_KIND_REFUSED);
	assert_int_equal(fault_kind(FAULT_SYSTEM), FAULT_KIND_SYSTEM);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(setting_a_fault_is_one_line),
		cmocka_unit_test(a_system_fault_keeps_errno_and_its_text),
		cmocka_unit_test(a_field_is_named),
		cmocka_unit_test(context_goes_in_front),
		cmocka_unit_test(long_text_is_cut_and_terminated),
		cmocka_unit_test(a_cut_falls_between_characters),
		cmocka_unit_test(bytes_that_are_no_text_are_marked),
		cmocka_unit_test(every_code_has_a_row_of_its_own),
		cmocka_unit_test(a_peers_status_becomes_a_code_of_that_status),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
