/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/data/policy/invalid: files that are refused. Their first comment lines
 * are what is said of them, each with line and column.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "../../lib/unit.h"
#include "policy/policy.h"

#define FOLDER TEST_DATA "/policy/invalid"

static void
said(const struct yaml_errors *errors, size_t i, char *out, size_t size)
{
	if (i < YAML_ERRORS)
		policy_error_format(errors, i, out, size);
	else
		(void)text_fmt(out, size, "and %zu more",
		    errors->count - YAML_ERRORS);
}

static void
file_check(const char *name, struct span text, const struct yaml_errors *errors)
{
	size_t lines =
	    errors->count > YAML_ERRORS ? YAML_ERRORS + 1 : errors->count;
	char one[YAML_ERROR_TEXT + 32];

	for (size_t i = 0; i < lines; i++) {
		size_t end = span_find(text, '\n');
		struct span line = span_of(text.ptr, end);

		said(errors, i, one, sizeof(one));
		if (!span_starts(line, "# ") ||
		    !span_is(span_from(line, 2), one))
			fail_msg("%s: %s", name, one);
		text = span_from(text, end + 1);
	}
	if (span_starts(text, "#"))
		fail_msg("%s: less is said than expected", name);
}

static void
each_file_is_refused_with_all_its_places(void **state)
{
	static struct yaml_errors errors;
	DIR *d = opendir(FOLDER);
	const struct dirent *e;
	unsigned n = 0;

	(void)state;
	assert_non_null(d);
	while ((e = readdir(d))) {
		struct policy p;
		struct arena a;
		struct buf b;
		struct fault f = { 0 };

		if (e->d_name[0] == '.')
			continue;
		arena_init(&a, 16 << 20);
		buf_init(&b, POLICY_BYTES);
		assert_int_equal(file_read(dirfd(d), e->d_name, &b, &f), 0);
		if (policy_parse(buf_span(&b), &a, &p, &errors, &f) == 0)
			fail_msg("taken: %s", e->d_name);
		assert_int_equal(f.code, FAULT_INVALID);
		file_check(e->d_name, buf_span(&b), &errors);
		buf_release(&b);
		arena_release(&a);
		n++;
	}
	(void)closedir(d);
	assert_true(n >= 40);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_file_is_refused_with_all_its_places),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
