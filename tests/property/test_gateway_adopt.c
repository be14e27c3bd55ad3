/* rooms: gateway */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keepers that do not answer a new gateway: their machines may run, so what
 * belongs to them waits until they have answered or have ended.
 */
#include "../lib/rig_ask.h"
#include "../lib/rig_program.h"
#include "../lib/unit.h"

enum {
	STEP_MS = 500,
	ANSWER_MS = 10000, /* later than the gateway begins to serve */
	MOST_MS = 60000,   /* of its time: until it gives one up */
};

static struct rig r;

static bool
is(const char *id, const char *state)
{
	struct rig_answer a;
	bool same;

	rig_ask_get(&r, &a, id);
	same = strcmp(a.is_yes ? a.state : a.word, state) == 0;
	rig_answer_release(&a);
	return same;
}

/* Its parent may not have heard of its end yet. */
static bool
runs(pid_t pid)
{
	char path[64];
	char state = 'Z';
	FILE *stat;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	stat = fopen(path, "re");
	if (stat == NULL)
		return false;
	assert_int_equal(fscanf(stat, "%*d (%*[^)]) %c", &state), 1);
	(void)fclose(stat);
	return state != 'Z';
}

static void
pass(int64_t ms)
{
	for (int64_t at = 0; at < ms; at += STEP_MS) {
		rig_pass(&r, STEP_MS, 0);
		rig_tick(&r);
	}
}

/* It runs, and a new gateway has asked its keeper in vain. */
static struct rig_guest *
unanswered(const char *name, char id[LIMIT_ID + 1])
{
	struct rig_guest *g = rig_new_root(&r, name);

	(void)text_copy(id, LIMIT_ID + 1, span_str(g->sandbox));
	r.is_mute = true;
	rig_kill(&r);
	rig_start(&r, NULL);
	return g;
}

static void
one_that_answers_late_is_taken_over(void **state)
{
	char id[LIMIT_ID + 1];
	struct rig_guest *g = unanswered("late", id);
	pid_t pid = g->pid;
	struct rig_answer a;

	(void)state;
	assert_true(is(id, "running"));
	pass(ANSWER_MS);
	assert_true(is(id, "running"));
	r.is_mute = false;
	pass(ANSWER_MS);
	assert_true(is(id, "running"));
	assert_true(g->is_used && g->pid == pid);
	rig_call_delete(&r, &a, id);
	rig_until(&r, &a.is_done, "a delete");
	assert_true(a.is_yes);
	rig_answer_release(&a);
}

static void
one_that_never_answers_is_ended_before_its_row(void **state)
{
	char id[LIMIT_ID + 1];
	struct rig_guest *g = unanswered("mute", id);
	struct rig_answer a;
	int64_t waited_ms = 0;

	(void)state;
	rig_call_delete(&r, &a, id);
	pass(ANSWER_MS);
	assert_false(a.is_done);
	assert_true(is(id, "deleting"));
	assert_true(runs(g->pid));
	for (; !a.is_done && waited_ms < MOST_MS; waited_ms += STEP_MS)
		pass(STEP_MS);
	assert_false(runs(g->pid));
	rig_guest_end(g);
	r.is_mute = false;
	rig_until(&r, &a.is_done, "a delete");
	assert_true(a.is_yes);
	rig_answer_release(&a);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_answers_late_is_taken_over),
		cmocka_unit_test(
		    one_that_never_answers_is_ended_before_its_row),
	};

	return rig_main(argc, argv, &r, tests, NELEM(tests));
}
