/* rooms: gateway */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line of starts: roots and children share the starts of the gateway,
 * trees take turns, and who finds no room is told BUSY and leaves nothing.
 */
#include "../lib/rig_ask.h"
#include "../lib/rig_program.h"
#include "../lib/unit.h"

enum {
	STARTS = 8,      /* at once */
	TREE_STARTS = 4, /* of them in a tree */
	WAITING = 32,    /* of a tree */
	TREES = 64,      /* in which somebody starts or waits */
	ROOTS = 48,      /* of them, for roots */
	PATIENCE_MS = 60000,
};

static struct rig r;
static unsigned names;

/* --- asking */

static void
must_be_busy(struct rig_answer *a, const char *what)
{
	rig_until(&r, &a->is_done, what);
	if (strcmp(a->word, "BUSY") != 0 || a->retry_ms == 0)
		fail_msg("%s: %s %s", what, a->word, a->text);
	rig_answer_release(a);
}

struct root {
	char id[LIMIT_ID + 1];
	char name[16];
};

static void
call_root(struct rig_answer *a, struct root *made)
{
	(void)text_fmt(made->name, sizeof(made->name), "r-%u", ++names);
	rig_call_root(&r, a, made->name);
}

static void
new_root(struct root *made)
{
	struct rig_answer a;

	call_root(&a, made);
	rig_must(&r, &a, "a root");
	rig_ask_get(&r, &a, made->name);
	(void)text_copy(made->id, sizeof(made->id), span_str(a.id));
	rig_answer_release(&a);
}

static void
new_roots(unsigned n)
{
	struct root one;

	for (unsigned i = 0; i < n; i++)
		new_root(&one);
}

static void
call_child(struct rig_answer *a, const char *parent)
{
	const struct rig_child c = { .parent = parent, .word = "1" };

	rig_call_child(&r, a, &c);
}

static void
new_children(const char *parent, unsigned n)
{
	struct rig_answer a;

	for (unsigned i = 0; i < n; i++) {
		call_child(&a, parent);
		rig_must(&r, &a, "a child");
	}
}

/* A root that runs, with a grant. */
static void
new_lead(char id[LIMIT_ID + 1])
{
	const struct rig_limits l = { { 3, 256, 1000 }, 86400 };
	struct rig_answer a;
	char name[16];

	(void)text_fmt(name, sizeof(name), "lead-%u", ++names);
	(void)text_copy(id, LIMIT_ID + 1,
	    span_str(rig_new_root(&r, name)->sandbox));
	rig_ask_grant(&r, &a, "create", id, &l);
	rig_must(&r, &a, "a grant");
}

/* --- looking */

static void
until_there_are(size_t n, const char *state)
{
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;
	size_t there;

	while ((there = rig_count(&r, "", state)) != n) {
		if (rig_real_ms() > end_ms)
			fail_msg("%zu are %s, not %zu", there, state, n);
		assert_true(rig_count(&r, "", "starting") <= STARTS);
		rig_tick(&r);
	}
}

static bool
is(const char *id, const char *state)
{
	struct rig_answer a;
	bool is_so;

	rig_ask_get(&r, &a, id);
	is_so = strcmp(a.state, state) == 0;
	rig_answer_release(&a);
	return is_so;
}

static void
until_is(const char *id, const char *state)
{
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;

	while (!is(id, state)) {
		if (rig_real_ms() > end_ms)
			fail_msg("%s is not %s", id, state);
		rig_tick(&r);
	}
}

/* One that starts below, or anywhere; its id. */
static bool
find_starting(const char *below, char id[LIMIT_ID + 1])
{
	static struct rig_row rows[RIG_ROWS];
	size_t n = rig_list(&r, below, rows);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(rows[i].state, "starting") != 0)
			continue;
		(void)text_copy(id, LIMIT_ID + 1, span_str(rows[i].id));
		return true;
	}
	return false;
}

static void
run(const char *id)
{
	rig_say_ready(rig_launched(&r, id));
	until_is(id, "running");
}

static bool
run_one(void)
{
	char id[LIMIT_ID + 1];

	if (!find_starting("", id))
		return false;
	run(id);
	return true;
}

static void
run_all(void)
{
	while (run_one() || rig_count(&r, "", "reserved") > 0)
		continue;
}

static void
delete_one(const char *id)
{
	struct rig_answer a;

	rig_call_delete(&r, &a, id);
	rig_must(&r, &a, "a delete");
}

static void
delete_all(void)
{
	static struct rig_row rows[RIG_ROWS];
	size_t n;

	while ((n = rig_list(&r, "", rows)) > 0)
		delete_one(rows[0].id);
	assert_int_equal(rig_guests(&r), 0);
}

/* --- the tests */

static void
roots_and_children_share_the_starts(void **state)
{
	char lead[LIMIT_ID + 1];
	char id[LIMIT_ID + 1];
	unsigned before;

	(void)state;
	new_lead(lead);
	before = r.spawned;
	new_roots(6);
	new_children(lead, 6);
	until_there_are(STARTS, "starting");
	assert_int_equal(rig_count(&r, "", "reserved"), 12 - STARTS);
	assert_int_equal(rig_count(&r, lead, "starting"), STARTS - 6);
	assert_int_equal(r.spawned - before, STARTS);
	assert_true(find_starting("", id));
	run(id);
	until_there_are(12 - STARTS - 1, "reserved");
	run_all();
	until_there_are(13, "running");
	assert_int_equal(r.spawned - before, 12);
	delete_all();
}

/* Who asks last is not behind all that wait in two long lines. */
static void
a_root_has_a_turn_of_its_own(void **state)
{
	char lead[2][LIMIT_ID + 1];
	char id[LIMIT_ID + 1];
	struct root root;
	int others = 0;

	(void)state;
	new_lead(lead[0]);
	new_lead(lead[1]);
	for (int i = 0; i < 2; i++)
		new_children(lead[i], TREE_STARTS + 10);
	until_there_are(STARTS, "starting");
	new_root(&root);
	assert_true(is(root.id, "reserved"));
	while (!is(root.id, "starting")) {
		assert_true(others < 3);
		assert_true(find_starting(lead[others++ % 2], id));
		run(id);
		until_there_are(STARTS, "starting");
	}
	delete_all();
}

static void
a_full_line_of_a_tree_is_busy(void **state)
{
	struct rig_answer a;
	char lead[LIMIT_ID + 1];
	char id[LIMIT_ID + 1];
	struct root root;

	(void)state;
	new_lead(lead);
	new_children(lead, TREE_STARTS);
	until_there_are(TREE_STARTS, "starting");
	new_children(lead, WAITING);
	call_child(&a, lead);
	must_be_busy(&a, "a child too many");
	assert_int_equal(rig_count(&r, lead, "reserved"), WAITING);
	/* Another tree's line is not. */
	new_root(&root);
	until_is(root.id, "starting");
	assert_true(find_starting(lead, id));
	run(id);
	until_there_are(WAITING - 1, "reserved");
	call_child(&a, lead);
	rig_must(&r, &a, "a child in its place");
	delete_all();
}

static void
a_full_line_of_trees_is_busy(void **state)
{
	struct rig_answer a;
	char leads[TREES - ROOTS + 1][LIMIT_ID + 1];
	const char *lead = leads[TREES - ROOTS];
	struct root stopped;
	struct root last;
	struct root none;
	unsigned before;

	(void)state;
	for (size_t i = 0; i < NELEM(leads); i++)
		new_lead(leads[i]);
	new_root(&stopped);
	run(stopped.id);
	rig_call_stop(&r, &a, stopped.id);
	rig_must(&r, &a, "a stop");
	before = r.spawned;
	new_roots(ROOTS - 1);
	new_root(&last);
	until_there_are(STARTS, "starting");
	for (int i = 0; i < 3; i++) {
		call_root(&a, &none);
		must_be_busy(&a, "a root too many");
	}
	rig_call_start(&r, &a, stopped.name);
	must_be_busy(&a, "a start too many");
	/* Who makes roots without end keeps no tree that runs from opening
	 * children. */
	for (size_t i = 0; i < TREES - ROOTS; i++)
		new_children(leads[i], 1);
	call_child(&a, lead);
	must_be_busy(&a, "a child of one tree too many");
	/* Nothing is left of those that were refused. */
	assert_true(is(stopped.id, "stopped"));
	assert_int_equal(rig_count(&r, "", "reserved"), TREES - STARTS);
	assert_int_equal(rig_count(&r, "", "running"), NELEM(leads));
	assert_int_equal(r.spawned - before, STARTS);
	/* One that waited goes, without a machine; its place is free. */
	delete_one(last.id);
	assert_int_equal(r.spawned - before, STARTS);
	call_child(&a, lead);
	rig_must(&r, &a, "a child in its place");
	delete_all();
}

/* More of them than the gateway looks at in one turn: 256. */
static void
the_last_of_many_is_started_again_after_a_kill(void **state)
{
	struct rig_answer a;
	char leads[9][LIMIT_ID + 1];
	char id[LIMIT_ID + 1];
	char last[LIMIT_ID + 1];
	size_t next = 0;

	(void)state;
	for (size_t i = 0; i < NELEM(leads); i++)
		new_lead(leads[i]);
	rig_call_root(&r, &a, "z-last");
	rig_must(&r, &a, "the last root");
	rig_ask_get(&r, &a, "z-last");
	(void)text_copy(last, sizeof(last), span_str(a.id));
	rig_answer_release(&a);
	(void)rig_launched(&r, last);
	for (size_t i = 0; i < NELEM(leads); i++)
		new_children(leads[i], WAITING);
	until_there_are(STARTS, "starting");
	assert_true(rig_count(&r, "", "reserved") > 256);
	rig_kill(&r);
	rig_lose(rig_guest_of(&r, last));
	rig_start(&r, NULL);
	run(last);
	/* And the others go on. */
	while (next < 3)
		if (find_starting(leads[next++], id))
			run(id);
	delete_all();
}

static void
who_waits_still_waits_after_a_kill(void **state)
{
	char lead[LIMIT_ID + 1];
	unsigned before;

	(void)state;
	new_lead(lead);
	before = r.spawned;
	new_roots(10);
	new_children(lead, 3);
	until_there_are(STARTS, "starting");
	rig_kill(&r);
	rig_start(&r, NULL);
	until_there_are(STARTS, "starting");
	assert_int_equal(rig_count(&r, "", "reserved"), 13 - STARTS);
	run_all();
	until_there_are(14, "running");
	assert_int_equal(r.spawned - before, 13);
	delete_all();
}

/* Its machine goes on until its turn has come, and ends as any other. */
static void
a_root_whose_program_ended_waits_with_its_machine(void **state)
{
	struct rig_guest *old;
	struct rig_answer a;
	struct root root;

	(void)state;
	new_root(&root);
	run(root.id);
	old = rig_guest_of(&r, root.id);
	rig_say_exit(old);
	until_is(root.id, "ended");
	new_roots(STARTS);
	until_there_are(STARTS, "starting");
	rig_call_start(&r, &a, root.name);
	rig_must(&r, &a, "a start");
	rig_ask_get(&r, &a, root.id);
	assert_string_equal(a.state, "reserved");
	assert_false(a.has_exit); /* that was of the launch before */
	rig_answer_release(&a);
	assert_ptr_equal(rig_guest_of(&r, root.id), old);
	assert_false(old->is_asked);
	r.holds = true;
	assert_true(run_one());
	rig_until(&r, &old->is_asked, "the question before its end");
	assert_ptr_equal(rig_guest_of(&r, root.id), old);
	r.holds = false;
	rig_release(old);
	run_all();
	assert_true(is(root.id, "running"));
	delete_all();
}

static void
a_root_that_waits_with_its_machine_stops_gently(void **state)
{
	struct rig_guest *old;
	struct rig_answer a;
	struct root root;

	(void)state;
	new_root(&root);
	run(root.id);
	old = rig_guest_of(&r, root.id);
	rig_say_exit(old);
	until_is(root.id, "ended");
	new_roots(STARTS);
	until_there_are(STARTS, "starting");
	rig_call_start(&r, &a, root.name);
	rig_must(&r, &a, "a start");
	r.holds = true;
	rig_call_stop(&r, &a, root.id);
	rig_until(&r, &old->is_asked, "the question before its end");
	assert_true(is(root.id, "stopping"));
	r.holds = false;
	rig_release(old);
	rig_must(&r, &a, "a stop");
	assert_true(is(root.id, "stopped"));
	delete_all();
}

/* What is stopped before it ran is kept for its user, unlike a child. */
static void
a_root_that_waits_is_stopped_and_started(void **state)
{
	struct rig_answer a;
	struct root root;
	unsigned before = r.spawned;

	(void)state;
	new_roots(STARTS);
	new_root(&root);
	assert_true(is(root.id, "reserved"));
	rig_call_stop(&r, &a, root.id);
	rig_must(&r, &a, "a stop");
	assert_true(is(root.id, "stopped"));
	run_all();
	assert_int_equal(r.spawned - before, STARTS);
	rig_call_start(&r, &a, root.name);
	rig_must(&r, &a, "a start");
	run_all();
	assert_true(is(root.id, "running"));
	delete_all();
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roots_and_children_share_the_starts),
		cmocka_unit_test(a_root_has_a_turn_of_its_own),
		cmocka_unit_test(a_full_line_of_a_tree_is_busy),
		cmocka_unit_test(a_full_line_of_trees_is_busy),
		cmocka_unit_test(
		    the_last_of_many_is_started_again_after_a_kill),
		cmocka_unit_test(who_waits_still_waits_after_a_kill),
		cmocka_unit_test(
		    a_root_whose_program_ended_waits_with_its_machine),
		cmocka_unit_test(
		    a_root_that_waits_with_its_machine_stops_gently),
		cmocka_unit_test(a_root_that_waits_is_stopped_and_started),
	};

	return rig_main(argc, argv, &r, tests, NELEM(tests));
}
