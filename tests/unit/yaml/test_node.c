/* SPDX-License-Identifier: Apache-2.0 */
/* What a scalar means is asked, not guessed. */
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "yaml/yaml.h"

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

static const struct yaml_node *
parsed(const char *text)
{
	const struct yaml_node *root = NULL;
	struct yaml_errors errors;
	struct fault f = { 0 };

	if (yaml_parse(span_str(text), &arena, &root, &errors, &f) != 0)
		fail_msg("%s: %s", text, f.text);
	return root;
}

enum {
	NOT = -1
};

static const struct {
	const char *text;
	bool null;
	int truth;  /* NOT, 0, 1 */
	int number; /* NOT, value */
	bool str;
} rows[] = {
	{ "--- ", true, NOT, NOT, false },
	{ "~", true, NOT, NOT, false },
	{ "null", true, NOT, NOT, false },
	{ "'null'", false, NOT, NOT, true },
	{ "Null", false, NOT, NOT, true },
	{ "''", false, NOT, NOT, true },
	{ "true", false, 1, NOT, false },
	{ "false", false, 0, NOT, false },
	{ "'true'", false, NOT, NOT, true },
	{ "True", false, NOT, NOT, true },
	{ "yes", false, NOT, NOT, true },
	{ "on", false, NOT, NOT, true },
	{ "0", false, NOT, 0, true },
	{ "42", false, NOT, 42, true },
	{ "43", false, NOT, NOT, true },
	{ "'42'", false, NOT, NOT, true },
	{ "042", false, NOT, NOT, true },
	{ "0x2a", false, NOT, NOT, true },
	{ "0o52", false, NOT, NOT, true },
	{ "+42", false, NOT, NOT, true },
	{ "-1", false, NOT, NOT, true },
	{ "4_2", false, NOT, NOT, true },
	{ "1:30", false, NOT, NOT, true },
	{ "4e1", false, NOT, NOT, true },
	{ "42.0", false, NOT, NOT, true },
	{ "[]", false, NOT, NOT, false },
	{ "{}", false, NOT, NOT, false },
};

static void
forms_are_exact(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		const struct yaml_node *n = parsed(rows[i].text);
		bool truth = false;
		uint64_t number = 0;
		struct span s;

		if (yaml_is_null(n) != rows[i].null)
			fail_msg("null: %s", rows[i].text);
		if (yaml_bool(n, &truth) != (rows[i].truth != NOT) ||
		    truth != (rows[i].truth == 1))
			fail_msg("bool: %s", rows[i].text);
		if (yaml_uint(n, 42, &number) != (rows[i].number != NOT) ||
		    (rows[i].number > 0 && number != 42))
			fail_msg("uint: %s", rows[i].text);
		if (yaml_str(n, &s) != rows[i].str)
			fail_msg("str: %s", rows[i].text);
	}
}

static void
an_absent_member_is_of_no_kind(void **state)
{
	const struct yaml_node *n = yaml_get(parsed("a: 1"), "b");
	bool truth;
	uint64_t number;
	struct span s;

	(void)state;
	assert_null(n);
	assert_false(yaml_is(n, YAML_SCALAR));
	assert_false(yaml_is_null(n));
	assert_false(yaml_bool(n, &truth));
	assert_false(yaml_uint(n, 1, &number));
	assert_false(yaml_str(n, &s));
	assert_null(yaml_first(n));
	assert_null(yaml_next(n));
	assert_null(yaml_get(n, "a"));
	assert_null(yaml_get(parsed("[a]"), "a"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms_are_exact),
		cmocka_unit_test(an_absent_member_is_of_no_kind),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, end);
}
