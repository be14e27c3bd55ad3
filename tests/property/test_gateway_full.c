/* rooms: gateway */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gateway whose store takes no writes for a while, as on a full disk: what a
 * guest said meanwhile is heard when there is room again, what was refused is
 * not done, and a launch that was taken over ends in its time.
 */
#include <sys/resource.h>

#include <signal.h>

#include "../lib/rig_ask.h"
#include "../lib/rig_program.h"
#include "../lib/unit.h"

enum {
	PATIENCE_MS = 60000,
	LAUNCH_MS = 120000,
	STEP_MS = 500,
};

static struct rig r;

/* No file of the gateway takes a byte, or all do. */
static void
set_full(bool is_full)
{
	struct rlimit l = { is_full ? 0 : RLIM_INFINITY, RLIM_INFINITY };

	assert_int_equal(prlimit(r.gateway, RLIMIT_FSIZE, &l, NULL), 0);
}

static char state_now[160];

static bool
is(const char *id, const char *state)
{
	struct rig_answer a;

	rig_ask_get(&r, &a, id);
	(void)text_copy(state_now, sizeof(state_now),
	    span_str(a.is_yes ? a.state : a.word));
	rig_answer_release(&a);
	return strcmp(state_now, state) == 0;
}

/* Time goes on meanwhile: what failed is tried again. */
static void
until_is(const char *id, const char *state)
{
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;

	while (!is(id, state)) {
		if (rig_real_ms() > end_ms)
			fail_msg("%s is %s, not %s", id, state_now, state);
		rig_pass(&r, STEP_MS, 0);
		rig_tick(&r);
	}
}

/* A root that starts, with its guest. */
static struct rig_guest *
launch(const char *name, char id[LIMIT_ID + 1])
{
	struct rig_answer a;

	rig_call_root(&r, &a, name);
	rig_until(&r, &a.is_done, "a root");
	assert_true(a.is_yes);
	rig_answer_release(&a);
	rig_ask_get(&r, &a, name);
	(void)text_copy(id, LIMIT_ID + 1, span_str(a.id));
	rig_answer_release(&a);
	return rig_launched(&r, id);
}

static void
until_session_goes(const struct rig_guest *g)
{
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;

	while (g->is_open) {
		if (rig_real_ms() > end_ms)
			fail_msg("its session goes on");
		rig_tick(&r);
	}
}

static void
that_it_is_ready_is_heard_later(void **state)
{
	char id[LIMIT_ID + 1];
	struct rig_guest *g = launch("ready", id);

	(void)state;
	set_full(true);
	rig_say_ready(g);
	until_session_goes(g);
	assert_true(is(id, "starting"));
	set_full(false);
	until_is(id, "running");
}

static void
that_it_has_ended_is_heard_later(void **state)
{
	char id[LIMIT_ID + 1];
	struct rig_guest *g = launch("ended", id);

	(void)state;
	rig_say_ready(g);
	until_is(id, "running");
	set_full(true);
	rig_say_exit(g);
	until_session_goes(g);
	set_full(false);
	until_is(id, "ended");
}

static void
what_was_refused_is_not_done(void **state)
{
	struct rig_answer a;

	(void)state;
	set_full(true);
	rig_call_root(&r, &a, "refused");
	rig_until(&r, &a.is_done, "a root on a full disk");
	assert_false(a.is_yes);
	rig_answer_release(&a);
	set_full(false);
	rig_ask_get(&r, &a, "refused");
	assert_string_equal(a.word, "NOT_FOUND");
	rig_answer_release(&a);
}

static void
a_launch_that_was_taken_over_has_its_time(void **state)
{
	char id[LIMIT_ID + 1];

	(void)state;
	(void)launch("silent", id);
	rig_kill(&r);
	rig_start(&r, NULL);
	(void)rig_launched(&r, id);
	for (int ms = 0; ms < LAUNCH_MS / 2; ms += STEP_MS)
		rig_pass(&r, STEP_MS, 0);
	assert_true(is(id, "starting"));
	for (int ms = 0; ms < LAUNCH_MS; ms += STEP_MS)
		rig_pass(&r, STEP_MS, 0);
	until_is(id, "NOT_FOUND"); /* as one that never came up */
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(that_it_is_ready_is_heard_later),
		cmocka_unit_test(that_it_has_ended_is_heard_later),
		cmocka_unit_test(what_was_refused_is_not_done),
		cmocka_unit_test(a_launch_that_was_taken_over_has_its_time),
	};

	/* Or the limit ends the gateway; it inherits this. */
	(void)signal(SIGXFSZ, SIG_IGN);
	return rig_main(argc, argv, &r, tests, NELEM(tests));
}
