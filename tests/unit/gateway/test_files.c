/* SPDX-License-Identifier: Apache-2.0 */
/* From a policy's text to the files of a launch. */
#include <string.h>

#include "../../lib/unit.h"
#include "gateway/files.h"
#include "wire/wire.h"

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

static int
make(const char *policy, nacre_session_v1_Bundle *b, struct fault *f)
{
	nacre_store_v1_Plan plan = nacre_store_v1_Plan_init_zero;
	char workdir[] = "/home/agent";

	plan.policy = wire_bytes(&arena, span_str(policy));
	plan.workdir = arena_str(&arena, span_str(workdir));
	*b = (nacre_session_v1_Bundle)nacre_session_v1_Bundle_init_zero;
	return files_of(&plan, &arena, b, f);
}

static void
check(const nacre_session_v1_FileRule *r, const char *path, bool write)
{
	assert_string_equal(r->path, path);
	assert_int_equal(r->write, write);
}

static void
without_a_section_it_is_the_work_folder(void **state)
{
	nacre_session_v1_Bundle b;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(make("version: 1\n", &b, &f), 0);
	assert_int_equal(b.files_count, 1);
	check(&b.files[0], "/home/agent", true);
	assert_false(b.best_effort);
}

static void
a_section_is_copied_whole(void **state)
{
	nacre_session_v1_Bundle b;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(make("version: 1\n"
			      "filesystem_policy:\n"
			      "  include_workdir: true\n"
			      "  read_only: [/data, /tmp]\n"
			      "  read_write: [/store]\n"
			      "landlock:\n"
			      "  compatibility: best_effort\n",
			     &b, &f),
	    0);
	assert_int_equal(b.files_count, 4);
	check(&b.files[0], "/home/agent", true);
	check(&b.files[1], "/store", true);
	check(&b.files[2], "/data", false);
	check(&b.files[3], "/tmp", false);
	assert_true(b.best_effort);
}

static void
an_empty_section_opens_nothing(void **state)
{
	nacre_session_v1_Bundle b;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(make("version: 1\nfilesystem_policy: {}\n", &b, &f),
	    0);
	assert_int_equal(b.files_count, 0);
}

static void
what_is_no_policy_opens_nothing(void **state)
{
	nacre_session_v1_Bundle b;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(make("version: 2\n", &b, &f), -1);
	assert_int_equal(b.files_count, 0);
	assert_non_null(strstr(f.text, "policy"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_section_it_is_the_work_folder),
		cmocka_unit_test(a_section_is_copied_whole),
		cmocka_unit_test(an_empty_section_opens_nothing),
		cmocka_unit_test(what_is_no_policy_opens_nothing),
	};

	return cmocka_run_group_tests(tests, start, end);
}
