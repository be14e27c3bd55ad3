/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSONTestSuite: y_ is taken, n_ is refused, implementation.txt says the rest.
 * Runs the cases kept in tests/data/json/cases, and, when JSON_SUITE names a
 * folder that tests/tools/json-suite.sh has filled, all of the suite.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "json/json.h"

#define FOLDER TEST_DATA "/json"

enum {
	SUITE_CASES = 318,
	FILE_MAX = 1 << 20,
};

static void
file_load(const char *folder, const char *name, struct buf *b)
{
	char path[512];
	struct fault f = { 0 };

	buf_init(b, FILE_MAX);
	assert_true(text_fmt(path, sizeof(path), "%s/%s", folder, name));
	if (file_read(AT_FDCWD, path, b, &f) != 0)
		fail_msg("%s", f.text);
}

static bool
has_line(struct span text, const char *verdict, const char *name)
{
	char line[256];

	assert_true(text_fmt(line, sizeof(line), "%s %s\n", verdict, name));
	while (text.len > 0) {
		if (span_starts(text, line))
			return true;
		text = span_from(text, span_find(text, '\n') + 1);
	}
	return false;
}

static bool
expect_taken(struct span verdicts, const char *name)
{
	if (has_line(verdicts, "accept", name))
		return true;
	if (has_line(verdicts, "refuse", name))
		return false;
	if (strncmp(name, "y_", 2) != 0 && strncmp(name, "n_", 2) != 0)
		fail_msg("no verdict on %s", name);
	return name[0] == 'y';
}

static void
case_run(const char *folder, const char *name, struct span verdicts)
{
	const struct json_value *root;
	struct fault f = { 0 };
	struct arena a;
	struct buf b;
	bool taken;

	file_load(folder, name, &b);
	arena_init(&a, FILE_MAX);
	taken = json_parse(buf_span(&b), &a, &root, &f) == 0;
	if (taken != expect_taken(verdicts, name))
		fail_msg("%s is %s: %s", name, taken ? "taken" : "refused",
		    f.text);
	assert_true(taken || strstr(f.text, " at byte "));
	arena_release(&a);
	buf_release(&b);
}

static int
folder_run(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	struct buf verdicts;
	int n = 0;

	assert_non_null(dir);
	file_load(FOLDER, "implementation.txt", &verdicts);
	while ((entry = readdir(dir))) {
		if (!strstr(entry->d_name, ".json"))
			continue;
		case_run(folder, entry->d_name, buf_span(&verdicts));
		n++;
	}
	(void)closedir(dir);
	buf_release(&verdicts);
	return n;
}

static void
cases_that_are_not_utf8_are_refused(void **state)
{
	(void)state;
	assert_int_equal(folder_run(FOLDER "/cases"), 25);
}

static void
every_case_of_the_suite_has_its_verdict(void **state)
{
	(void)state;
	assert_int_equal(folder_run(getenv("JSON_SUITE")), SUITE_CASES);
}

int
main(void)
{
	const struct CMUnitTest kept[] = {
		cmocka_unit_test(cases_that_are_not_utf8_are_refused),
	};
	const struct CMUnitTest all[] = {
		cmocka_unit_test(cases_that_are_not_utf8_are_refused),
		cmocka_unit_test(every_case_of_the_suite_has_its_verdict),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return getenv("JSON_SUITE") ? cmocka_run_group_tests(all, NULL, NULL)
				    : cmocka_run_group_tests(kept, NULL, NULL);
}
