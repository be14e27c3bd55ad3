/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a tick: later, commit, held, after, graves, in this order. */

#include "../../lib/unit.h"
#include "base/base.h"
#include "loop/loop.h"

struct job {
	struct deferred deferred;
	char name;
	struct job *next_later;
	struct job *next_held;
	struct job *drops;
};

static struct fault fault;
static struct loop *loop;
static char trail[64];
static size_t trail_n;

static void
mark(char c)
{
	trail[trail_n++] = c;
	trail[trail_n] = '\0';
}

static void
run(struct deferred *d)
{
	struct job *j = CONTAINER_OF(d, struct job, deferred);

	mark(j->name);
	if (j->next_later)
		loop_later(loop, &j->next_later->deferred);
	if (j->next_held)
		loop_held(loop, &j->next_held->deferred);
	if (j->drops)
		loop_deferred_drop(loop, &j->drops->deferred);
}

static struct job
job(char name)
{
	return (struct job){ .deferred.run = run, .name = name };
}

static void
commit(void *owner)
{
	(void)owner;
	mark('|');
}

static void
release(void *p)
{
	mark(*(char *)p);
	if (*(char *)p == 'X')
		loop_bury(loop, (char *)p + 1, release);
}

static int
start(void **state)
{
	(void)state;
	trail_n = 0;
	trail[0] = '\0';
	loop = loop_new(&fault);
	loop_on_commit(loop, NULL, commit, NULL);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	loop_free(loop);
	return 0;
}

static void
tick(void)
{
	assert_int_equal(loop_tick(loop, -1, &fault), 0);
}

static void
answers_leave_after_the_commit(void **state)
{
	struct job a = job('a');
	struct job h = job('h');
	char graves[] = "XY";

	(void)state;
	a.next_held = &h;
	loop_later(loop, &a.deferred);
	loop_later(loop, &a.deferred);
	loop_bury(loop, graves, release);
	tick();
	assert_string_equal(trail, "a|hXY");
}

static void
what_a_row_asks_for_follows_the_answers(void **state)
{
	struct job a = job('a');
	struct job h = job('h');
	struct job w = job('w');

	(void)state;
	w.next_later = &a;
	loop_after(loop, &w.deferred);
	loop_held(loop, &h.deferred);
	tick();
	assert_string_equal(trail, "|hw");
	tick();
	assert_string_equal(trail, "|hwa|");
	loop_after(loop, &w.deferred);
	loop_deferred_drop(loop, &w.deferred);
	assert_int_equal(loop_tick(loop, 0, &fault), 0);
	assert_string_equal(trail, "|hwa||");
}

static void
what_later_queues_runs_in_the_next_tick(void **state)
{
	struct job a = job('a');
	struct job h = job('h');

	(void)state;
	a.next_later = &a;
	h.next_held = &h;
	loop_later(loop, &a.deferred);
	loop_held(loop, &h.deferred);
	tick();
	assert_string_equal(trail, "a|h");
	tick();
	assert_string_equal(trail, "a|ha|h");
	loop_deferred_drop(loop, &a.deferred);
	loop_deferred_drop(loop, &h.deferred);
	loop_deferred_drop(loop, &h.deferred);
	assert_int_equal(loop_tick(loop, 0, &fault), 0);
	assert_string_equal(trail, "a|ha|h|");
}

static void
a_job_can_drop_one_that_is_about_to_run(void **state)
{
	struct job a = job('a');
	struct job b = job('b');
	struct job c = job('c');
	struct job d = job('d');

	(void)state;
	a.drops = &c;
	c.drops = &a;
	b.next_later = &b;
	d.drops = &b;
	loop_later(loop, &a.deferred);
	loop_later(loop, &b.deferred);
	loop_later(loop, &c.deferred);
	loop_later(loop, &d.deferred);
	tick();
	assert_string_equal(trail, "abd|");
	assert_false(b.deferred.queued);
	loop_later(loop, &c.deferred);
	tick();
	assert_string_equal(trail, "abd|c|");
}

static void
many_graves_are_filled(void **state)
{
	char name = 'g';

	(void)state;
	for (int i = 0; i < 40; i++)
		loop_bury(loop, &name, release);
	tick();
	assert_int_equal(trail_n, 41);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(answers_leave_after_the_commit,
		    start, end),
		cmocka_unit_test_setup_teardown(
		    what_a_row_asks_for_follows_the_answers, start, end),
		cmocka_unit_test_setup_teardown(
		    what_later_queues_runs_in_the_next_tick, start, end),
		cmocka_unit_test_setup_teardown(
		    a_job_can_drop_one_that_is_about_to_run, start, end),
		cmocka_unit_test_setup_teardown(many_graves_are_filled, start,
		    end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
