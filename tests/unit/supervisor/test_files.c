/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of files that a sandbox is confirmed with. */
#include <string.h>

#include "../../lib/unit.h"
#include "policy/policy.h"
#include "supervisor/inner.h"

static struct supervisor sv;
static nacre_session_v1_FileRule rules[4];
static nacre_sandbox_v1_ConfirmRequest request;

static int
start(void **state)
{
	(void)state;
	memset(&sv, 0, sizeof(sv));
	memset(rules, 0, sizeof(rules));
	arena_init(&sv.bundle_arena, 1 << 20);
	sv.bundle.files = rules;
	request = (nacre_sandbox_v1_ConfirmRequest)
	    nacre_sandbox_v1_ConfirmRequest_init_zero;
	return 0;
}

static int
end(void **state)
{
	(void)state;
	arena_release(&sv.bundle_arena);
	return 0;
}

static void
set_rule(char *path, bool write)
{
	rules[sv.bundle.files_count++] =
	    (nacre_session_v1_FileRule){ .path = path, .write = write };
}

static const nacre_sandbox_v1_FileRule *
make_and_find(const char *path)
{
	struct fault f = { 0 };

	assert_int_equal(files_rules(&sv, &request, &f), 0);
	for (size_t i = 0; i < request.files_count; i++)
		if (strcmp(request.files[i].path, path) == 0)
			return &request.files[i];
	return NULL;
}

static void
the_baseline_is_in_every_sandbox(void **state)
{
	const nacre_sandbox_v1_FileRule *r = make_and_find("/tmp");

	(void)state;
	assert_int_equal(request.files_count, POLICY_BASELINE);
	assert_non_null(r);
	assert_true(r->write && r->is_optional);
	r = make_and_find("/etc");
	assert_non_null(r);
	assert_true(!r->write && r->is_optional);
}

static void
a_policy_takes_nothing_from_the_baseline(void **state)
{
	char tmp[] = "/tmp";

	(void)state;
	set_rule(tmp, false);
	assert_true(make_and_find("/tmp")->write);
}

static void
best_effort_skips_what_is_to_read(void **state)
{
	char data[] = "/data";
	char store[] = "/store";

	(void)state;
	set_rule(data, false);
	set_rule(store, true);
	assert_false(make_and_find("/data")->is_optional);
	sv.bundle.best_effort = true;
	assert_true(make_and_find("/data")->is_optional);
	/* What is to write is made. */
	assert_false(make_and_find("/store")->is_optional);
	assert_true(make_and_find("/store")->write);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    the_baseline_is_in_every_sandbox, start, end),
		cmocka_unit_test_setup_teardown(
		    a_policy_takes_nothing_from_the_baseline, start, end),
		cmocka_unit_test_setup_teardown(
		    best_effort_skips_what_is_to_read, start, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
