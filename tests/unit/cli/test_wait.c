/* SPDX-License-Identifier: Apache-2.0 */
/* When a wait for a sandbox is over, and what it was. */
#include "../../lib/unit.h"
#include "cli/wait.h"

#define PHASE(name) openshell_v1_SandboxPhase_SANDBOX_PHASE_##name

/* The next status; true: the wait is over. */
static bool
tell(struct wait *w, openshell_v1_SandboxPhase phase, const int *exit_code)
{
	openshell_v1_SandboxStatus s = openshell_v1_SandboxStatus_init_zero;

	s.phase = phase;
	s.has_exit_code = exit_code != NULL;
	s.exit_code = exit_code ? *exit_code : 0;
	cli_wait_take(w, &s);
	return cli_wait_is_over(w);
}

static void
fails(const struct wait *w, enum fault_code code, const char *text)
{
	struct fault f = { 0 };

	assert_int_equal(cli_wait_result(w, &f), -1);
	assert_int_equal(f.code, code);
	assert_string_equal(f.text, text);
}

static void
succeeds(const struct wait *w)
{
	struct fault f = { 0 };

	assert_int_equal(cli_wait_result(w, &f), 0);
}

static void
a_stop_is_over_when_it_has_stopped(void **state)
{
	struct wait w = { .until = PHASE(STOPPED) };
	const int code = 7;

	(void)state;
	/* The exit code of a main process that ended long ago. */
	assert_false(tell(&w, PHASE(STOPPING), &code));
	assert_true(tell(&w, PHASE(STOPPED), &code));
	succeeds(&w);
}

static void
a_stop_tells_what_came_instead(void **state)
{
	struct wait w = { .until = PHASE(STOPPED) };

	(void)state;
	assert_false(tell(&w, PHASE(STOPPING), NULL));
	fails(&w, FAULT_CONFLICT, "sandbox was deleted before it had stopped");
	assert_false(tell(&w, PHASE(DELETING), NULL));
	fails(&w, FAULT_CONFLICT, "sandbox was deleted before it had stopped");
	assert_true(tell(&w, PHASE(STARTING), NULL));
	fails(&w, FAULT_CONFLICT,
	    "sandbox was started again before it had stopped");
}

static void
a_start_is_over_when_it_is_ready(void **state)
{
	struct wait w = { .until = PHASE(READY) };
	const int code = 0;

	(void)state;
	assert_false(tell(&w, PHASE(STARTING), NULL));
	assert_true(tell(&w, PHASE(READY), NULL));
	succeeds(&w);
	/* Also when its main process was quicker than we. */
	assert_true(tell(&w, PHASE(READY), &code));
	succeeds(&w);
}

static void
a_start_tells_what_came_instead(void **state)
{
	struct wait w = { .until = PHASE(READY) };

	(void)state;
	assert_false(tell(&w, PHASE(PROVISIONING), NULL));
	fails(&w, FAULT_START_FAILED,
	    "sandbox was deleted before it was ready");
	assert_false(tell(&w, PHASE(STOPPING), NULL));
	assert_true(tell(&w, PHASE(STOPPED), NULL));
	fails(&w, FAULT_START_FAILED,
	    "sandbox was stopped before it was ready");
	assert_false(tell(&w, PHASE(DELETING), NULL));
	assert_true(tell(&w, PHASE(ERROR), NULL));
	fails(&w, FAULT_START_FAILED, "sandbox failed: no reason was given");
}

static void
who_is_attached_waits_for_the_exit_code(void **state)
{
	struct wait w = { .attach = true, .until = PHASE(READY) };
	const int code = 9;

	(void)state;
	assert_false(tell(&w, PHASE(PROVISIONING), NULL));
	assert_false(tell(&w, PHASE(READY), NULL));
	fails(&w, FAULT_LOST,
	    "sandbox was deleted before its main process ended");
	assert_true(tell(&w, PHASE(STOPPED), NULL));
	fails(&w, FAULT_LOST,
	    "sandbox was stopped before its main process ended");
	assert_true(tell(&w, PHASE(ERROR), NULL));
	fails(&w, FAULT_LOST, "sandbox failed: no reason was given");
	assert_int_equal(fault_exit(FAULT_LOST), 125);
	assert_true(tell(&w, PHASE(READY), &code));
	succeeds(&w);
	assert_int_equal(w.exit_code, 9);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stop_is_over_when_it_has_stopped),
		cmocka_unit_test(a_stop_tells_what_came_instead),
		cmocka_unit_test(a_start_is_over_when_it_is_ready),
		cmocka_unit_test(a_start_tells_what_came_instead),
		cmocka_unit_test(who_is_attached_waits_for_the_exit_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
