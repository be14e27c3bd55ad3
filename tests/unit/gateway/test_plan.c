/* SPDX-License-Identifier: Apache-2.0 */
/* Whose environment an agent has. */
#include "../../lib/unit.h"
#include "gateway/plan.h"

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

/* What programs see of an image's environment and of a caller's own. */
static struct plan_env
environment_of(const char *const *image, struct pair *more, size_t n)
{
	openshell_v1_SandboxSpec spec = openshell_v1_SandboxSpec_init_zero;
	nacre_store_v1_Plan plan = nacre_store_v1_Plan_init_zero;
	struct image_info info = { .config = { .env = image, .user = "" } };
	struct plan_env e = { .more = more, .more_n = n };
	struct fault f = { 0 };
	struct policy p;

	info.config.workdir = "";
	assert_int_equal(plan_policy(NULL, 0, &arena, &p, &f), 0);
	assert_int_equal(plan_make(&spec, &info, &p, &arena, &plan, &f), 0);
	assert_int_equal(plan_env(&plan, &e, &arena, &f), 0);
	return e;
}

static bool
has(const struct plan_env *e, const char *entry)
{
	for (pb_size_t i = 0; i < e->n; i++)
		if (strcmp(e->env[i], entry) == 0)
			return true;
	return false;
}

static void
an_image_names_no_library_that_all_programs_load(void **state)
{
	static const char *const image[] = { "LD_PRELOAD=/a.so",
		"LD_LIBRARY_PATH=/lib/own", "LD_AUDIT=/b.so", "OLD_ONE=kept",
		"LD=kept", "OPENSHELL_SANDBOX=0", "NACRE_ID=7", NULL };
	struct plan_env e;

	(void)state;
	e = environment_of(image, NULL, 0);
	for (pb_size_t i = 0; i < e.n; i++)
		assert_int_not_equal(strncmp(e.env[i], "LD_", 3), 0);
	assert_true(has(&e, "OLD_ONE=kept"));
	assert_true(has(&e, "LD=kept"));
	assert_true(has(&e, "OPENSHELL_SANDBOX=1"));
	assert_false(has(&e, "NACRE_ID=7"));
}

static void
a_caller_may_name_one_for_what_it_runs(void **state)
{
	static const char *const image[] = { "LD_PRELOAD=/a.so", NULL };
	static char key[] = "LD_PRELOAD";
	static char value[] = "/mine.so";
	struct pair own = { .key = key, .value = value };
	struct plan_env e;

	(void)state;
	e = environment_of(image, &own, 1);
	assert_true(has(&e, "LD_PRELOAD=/mine.so"));
}

#define QUERY(value)                                                          \
 "{\"version\": 1, \"network_policies\": {\"a\": {\"binaries\": [{\"path\": " \
 "\"/c\"}], \"endpoints\": [{\"host\": \"x.y\", \"port\": 1, "                \
 "\"protocol\": \"rest\", \"rules\": [{\"allow\": {\"query\": {\"k\": " value \
 "}}}]}]}}}"

static void
json_is_read_as_json(void **state)
{
	struct policy p;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(
	    plan_policy_asked(SPAN_LIT(" \n" QUERY("5")), 0, &arena, &p, &f),
	    -1);
	assert_int_equal(f.code, FAULT_POLICY_INVALID);
	fault_clear(&f);
	assert_int_equal(
	    plan_policy_asked(SPAN_LIT(QUERY("\"5\"")), 0, &arena, &p, &f), 0);
	assert_int_equal(
	    plan_policy_asked(SPAN_LIT("# {\n" QUERY("5")), 0, &arena, &p, &f),
	    0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    an_image_names_no_library_that_all_programs_load, start,
		    end),
		cmocka_unit_test_setup_teardown(
		    a_caller_may_name_one_for_what_it_runs, start, end),
		cmocka_unit_test_setup_teardown(json_is_read_as_json, start,
		    end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
