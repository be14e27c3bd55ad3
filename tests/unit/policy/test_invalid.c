/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/data/policy/invalid: files that are refused. Their first comment lines
 * are what is said of them, each with line and column. tests/data/policy/shapes:
 * what users of the language have written elsewhere, each key of it; such a file
 * is taken, or what is said of it says what to write.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "../../lib/unit.h"
#include "policy/policy.h"

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

static bool
says_what_to_write(const char *what)
{
	static const char *const words[] = { "write", "remove", "leave", "give",
		"rename", "must be", "must begin", "name a", "name the",
		"must follow a wildcard: '", "may only be the first" };

	for (size_t i = 0; i < NELEM(words); i++)
		if (strstr(what, words[i]))
			return true;
	return false;
}

/* A file that is taken has a text that reads back. */
static void
taken_check(const struct policy *p, struct arena *a)
{
	struct yaml_errors errors;
	struct policy again;
	struct fault f = { 0 };

	assert_int_equal(policy_parse(p->text, a, &again, &errors, &f), 0);
	assert_memory_equal(again.hash, p->hash, POLICY_HASH);
}

/* True: the file was taken. */
static bool
one_check(int folder, const char *name, bool shape)
{
	static struct yaml_errors errors;
	struct policy p;
	struct arena a;
	struct buf b;
	struct fault f = { 0 };
	bool taken;

	arena_init(&a, 16 << 20);
	buf_init(&b, POLICY_BYTES);
	assert_int_equal(file_read(folder, name, &b, &f), 0);
	taken = policy_parse(buf_span(&b), &a, &p, &errors, &f) == 0;
	if (taken) {
		taken_check(&p, &a);
		if (span_starts(buf_span(&b), "# "))
			fail_msg("taken: %s", name);
	} else {
		assert_int_equal(f.code, FAULT_INVALID);
		file_check(name, buf_span(&b), &errors);
	}
	for (size_t i = 0; shape && !taken && i < errors.count; i++)
		if (!says_what_to_write(errors.list[i].text))
			fail_msg("%s: %s", name, errors.list[i].text);
	buf_release(&b);
	arena_release(&a);
	return taken;
}

static void
folder_check(const char *path, bool shape, unsigned *taken, unsigned *refused)
{
	DIR *d = opendir(path);
	const struct dirent *e;

	assert_non_null(d);
	*taken = *refused = 0;
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			++*(one_check(dirfd(d), e->d_name, shape) ? taken
								  : refused);
	(void)closedir(d);
}

static void
each_file_is_refused_with_all_its_places(void **state)
{
	unsigned taken;
	unsigned refused;

	(void)state;
	folder_check(TEST_DATA "/policy/invalid", false, &taken, &refused);
	assert_int_equal(taken, 0);
	assert_true(refused >= 40);
}

static void
each_shape_is_taken_or_told_what_to_write(void **state)
{
	unsigned taken;
	unsigned refused;

	(void)state;
	folder_check(TEST_DATA "/policy/shapes", true, &taken, &refused);
	assert_int_equal(taken, 13);
	assert_int_equal(refused, 17);
}

/* Each of the one half overlaps each of the other; not each is told. */
static void
overlaps_are_counted_to_an_end(void **state)
{
	static struct yaml_errors errors;
	struct policy p;
	struct arena a;
	struct fault f = { 0 };
	struct buf b;

	(void)state;
	buf_init(&b, 1 << 20);
	arena_init(&a, 64 << 20);
	assert_int_equal(buf_fmt(&b,
			     "version: 1\nnetwork_policies: {a: {binaries: "
			     "[{path: /c}], endpoints: [\n"),
	    0);
	for (unsigned i = 0; i < 4000; i++)
		assert_int_equal(
		    buf_fmt(&b, "{host: h.x, port: 1%s},\n",
			i % 2 ? "" : ", protocol: rest, access: full"),
		    0);
	assert_int_equal(buf_fmt(&b, "]}}\n"), 0);
	assert_int_equal(policy_parse(buf_span(&b), &a, &p, &errors, &f), -1);
	assert_int_equal(f.code, FAULT_INVALID);
	assert_true(errors.count > 1000 && errors.count < 1000000);
	arena_release(&a);
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_file_is_refused_with_all_its_places),
		cmocka_unit_test(each_shape_is_taken_or_told_what_to_write),
		cmocka_unit_test(overlaps_are_counted_to_an_end),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
