/* SPDX-License-Identifier: Apache-2.0 */
/* The list of errors: order, cap, the one sentence. */
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "yaml/yaml.h"

static void
errors_are_kept_by_place(void **state)
{
	struct yaml_errors e;
	struct fault f = { 0 };

	(void)state;
	yaml_errors_init(&e);
	yaml_error(&e, 2, 5, "third");
	yaml_error(&e, 1, 9, "first");
	yaml_error(&e, 2, 1, "second");
	yaml_error(&e, 2, 5, "fourth");
	assert_int_equal(yaml_fault(&e, FAULT_INVALID, &f), -1);
	assert_string_equal(f.text,
	    "1:9: first; 2:1: second; 2:5: third; 2:5: fourth");
	assert_int_equal(f.code, FAULT_INVALID);
}

static void
the_first_twenty_are_kept_and_the_rest_counted(void **state)
{
	struct yaml_errors e;
	struct fault f = { 0 };

	(void)state;
	yaml_errors_init(&e);
	for (uint32_t i = 100; i > 0; i--)
		yaml_error(&e, i, 1, "x%u", (unsigned)i);
	assert_int_equal(e.count, 100);
	for (uint32_t i = 0; i < YAML_ERRORS; i++)
		assert_int_equal(e.list[i].line, i + 1);
	yaml_error(&e, 200, 1, "last");
	yaml_error(&e, 20, 2, "just behind");
	assert_string_equal(e.list[YAML_ERRORS - 1].text, "x20");
	assert_int_equal(yaml_fault(&e, FAULT_INVALID, &f), -1);
	assert_non_null(strstr(f.text, "1:1: x1; 2:1: x2; "));
	assert_non_null(strstr(f.text, " more"));
}

static void
a_long_sentence_is_cut_and_still_counts(void **state)
{
	struct yaml_errors e;
	struct fault f = { 0 };
	char word[YAML_ERROR_TEXT * 2];

	(void)state;
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	yaml_errors_init(&e);
	yaml_error(&e, UINT32_MAX, UINT32_MAX, "%s", word);
	yaml_error(&e, UINT32_MAX, UINT32_MAX, "%s", word);
	assert_int_equal(yaml_fault(&e, FAULT_INVALID, &f), -1);
	assert_non_null(strstr(f.text, "xxx; and 1 more"));
	assert_int_equal(strlen(e.list[0].text), YAML_ERROR_TEXT - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_are_kept_by_place),
		cmocka_unit_test(
		    the_first_twenty_are_kept_and_the_rest_counted),
		cmocka_unit_test(a_long_sentence_is_cut_and_still_counts),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
