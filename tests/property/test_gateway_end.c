/* rooms: gateway */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a gateway that takes its sandboxes along: it waits while they end,
 * level by level, and leaves none of them.
 */
#include <signal.h>

#include "../lib/rig_ask.h"
#include "../lib/rig_program.h"
#include "../lib/unit.h"

enum {
	DEPTH = 4,       /* of the tree, below its root */
	STEP_MS = 1000,  /* of the rig's time */
	GRACE_MS = 9000, /* that each takes; 10 s may be */
	STARTS = 8,
	PATIENCE_MS = 60000,
};

static struct rig r;

static void
until_there_are(size_t n, const char *state)
{
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;
	size_t there;

	while ((there = rig_count(&r, "", state)) != n) {
		if (rig_real_ms() > end_ms)
			fail_msg("%zu are %s, not %zu", there, state, n);
		rig_tick(&r);
	}
}

/* A root that runs, with a grant. */
static void
new_lead(const char *name, char id[LIMIT_ID + 1])
{
	const struct rig_limits l = { { DEPTH, 64, 100 }, 86400 };
	struct rig_answer a;

	(void)text_copy(id, LIMIT_ID + 1,
	    span_str(rig_new_root(&r, name)->sandbox));
	rig_ask_grant(&r, &a, "create", id, &l);
	rig_must(&r, &a, "a grant");
}

static struct rig_guest *
asked(void)
{
	for (size_t i = 0; i < RIG_GUESTS; i++)
		if (r.guest[i].is_used && r.guest[i].is_asked)
			return &r.guest[i];
	return NULL;
}

/* The gateway sees the time when a signal wakes it. */
static void
pass_step(void)
{
	r.clock->mono_ms += STEP_MS;
	r.clock->wall_ms += STEP_MS;
	(void)kill(r.gateway, SIGTERM);
	rig_tick(&r);
}

/* Time passes only where the gateway has to wait for it. */
static size_t
end_slowly(void)
{
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;
	int64_t since_ms = 0;
	size_t ended = 0;

	while (!rig_is_dead(&r)) {
		struct rig_guest *g = asked();

		if (rig_real_ms() > end_ms)
			fail_msg("the gateway does not end");
		if (g == NULL && rig_guests(&r) > 0) {
			rig_tick(&r);
			since_ms = r.clock->mono_ms;
			continue;
		}
		pass_step();
		if (g == NULL || r.clock->mono_ms - since_ms < GRACE_MS)
			continue;
		rig_release(g);
		ended++;
	}
	return ended;
}

static void
each_level_of_a_deep_tree_has_its_grace(void **state)
{
	char id[DEPTH + 1][LIMIT_ID + 1];
	struct rig_answer a;

	(void)state;
	new_lead("deep", id[0]);
	for (size_t i = 0; i < DEPTH; i++) {
		rig_new_child(&r, id[i], false, id[i + 1]);
		rig_say_ready(rig_launched(&r, id[i + 1]));
		until_there_are(i + 2, "running");
	}
	r.holds = true;
	rig_call_end(&r, &a);
	rig_must(&r, &a, "the end");
	assert_int_equal(end_slowly(), DEPTH + 1);
	assert_int_equal(rig_guests(&r), 0);
	r.holds = false;
	rig_start(&r, NULL);
	assert_int_equal(rig_count(&r, "", "stopped"), DEPTH + 1);
	rig_call_delete(&r, &a, id[0]);
	rig_must(&r, &a, "a delete");
}

/* Those that start and that wait as well, wherever they stand. */
static void
none_is_left_whatever_it_does(void **state)
{
	char lead[LIMIT_ID + 1];
	char id[LIMIT_ID + 1];
	struct rig_answer a;
	char name[16];

	(void)state;
	new_lead("lead", lead);
	for (int i = 0; i < 5; i++)
		rig_new_child(&r, lead, false, id);
	new_lead("other", id);
	for (int i = 0; i < STARTS; i++) {
		(void)text_fmt(name, sizeof(name), "r-%d", i);
		rig_call_root(&r, &a, name);
		rig_must(&r, &a, "a root");
	}
	until_there_are(STARTS, "starting");
	assert_int_equal(rig_count(&r, "", "reserved"), 5);
	assert_int_equal(rig_count(&r, "", "running"), 2);
	rig_call_end(&r, &a);
	rig_must(&r, &a, "the end");
	rig_stop(&r);
	assert_int_equal(rig_guests(&r), 0);
	rig_start(&r, NULL);
	/* Its children had not begun: nothing is left of them. */
	assert_int_equal(rig_count(&r, "", "stopped"), 2 + STARTS);
	assert_int_equal(rig_count(&r, "", NULL), 2 + STARTS);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_level_of_a_deep_tree_has_its_grace),
		cmocka_unit_test(none_is_left_whatever_it_does),
	};

	return rig_main(argc, argv, &r, tests, NELEM(tests));
}
