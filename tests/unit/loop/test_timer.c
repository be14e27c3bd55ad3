/* SPDX-License-Identifier: Apache-2.0 */
/* Timers: order, re-arming, clearing one another. */

#include "../../lib/unit.h"
#include "base/base.h"
#include "loop/loop.h"

struct bell {
	struct timer timer;
	char name;
	int rings;
	int64_t again_ms; /* re-arm with this, unless negative */
	struct bell *victim;
};

static struct fault fault;
static char trail[64];
static size_t trail_n;

static void
ring(struct timer *t)
{
	struct bell *b = CONTAINER_OF(t, struct bell, timer);

	b->rings++;
	trail[trail_n++] = b->name;
	trail[trail_n] = '\0';
	if (b->victim)
		loop_timer_clear(&b->victim->timer);
	if (b->again_ms >= 0)
		loop_timer_set(t->loop, t, b->again_ms);
}

static struct bell
bell(char name)
{
	return (struct bell){ .timer = { .fire = ring },
		.name = name,
		.again_ms = -1 };
}

static int
start(void **state)
{
	trail_n = 0;
	trail[0] = '\0';
	*state = loop_new(&fault);
	return *state ? 0 : -1;
}

static int
end(void **state)
{
	loop_free(*state);
	return 0;
}

static void
tick(struct loop *l, int wait_ms)
{
	assert_int_equal(loop_tick(l, wait_ms, &fault), 0);
}

static void
timers_fire_in_order_of_time(void **state)
{
	struct loop *l = *state;
	struct bell a = bell('a');
	struct bell b = bell('b');
	struct bell c = bell('c');
	int64_t begin_ms = clock_mono_ms();

	loop_timer_set(l, &a.timer, 30);
	loop_timer_set(l, &b.timer, 10);
	loop_timer_set(l, &c.timer, 20);
	while (!a.rings)
		tick(l, -1);
	assert_string_equal(trail, "bca");
	assert_true(clock_mono_ms() - begin_ms >= 30);
}

static void
a_timer_without_delay_waits_for_the_next_tick(void **state)
{
	struct loop *l = *state;
	struct bell a = bell('a');

	a.again_ms = 0;
	loop_timer_set(l, &a.timer, 0);
	tick(l, -1);
	assert_int_equal(a.rings, 1);
	tick(l, -1);
	assert_int_equal(a.rings, 2);
	loop_timer_clear(&a.timer);
	loop_timer_clear(&a.timer);
	tick(l, 0);
	assert_int_equal(a.rings, 2);
}

static void
a_due_timer_can_be_cleared_by_another(void **state)
{
	struct loop *l = *state;
	struct bell a = bell('a');
	struct bell b = bell('b');
	struct bell c = bell('c');

	a.victim = &b;
	loop_timer_set(l, &a.timer, -5);
	loop_timer_set(l, &b.timer, 0);
	loop_timer_set(l, &c.timer, 0);
	while (!c.rings)
		tick(l, -1);
	tick(l, 0);
	assert_string_equal(trail, "ac");
	assert_false(b.timer.armed);
}

static void
setting_again_moves_a_timer(void **state)
{
	struct loop *l = *state;
	struct bell a = bell('a');
	struct bell b = bell('b');

	loop_timer_set(l, &a.timer, 5);
	loop_timer_set(l, &b.timer, 15);
	loop_timer_set(l, &a.timer, 25);
	while (!a.rings)
		tick(l, -1);
	assert_string_equal(trail, "ba");
}

static void
an_idle_loop_does_not_wake(void **state)
{
	struct loop *l = *state;
	struct bell a = bell('a');
	struct bell far = bell('f');
	int64_t begin_ms;

	loop_timer_set(l, &far.timer, INT64_MAX);
	loop_timer_set(l, &a.timer, 1);
	while (!a.rings)
		tick(l, -1);
	begin_ms = clock_mono_ms();
	tick(l, 40);
	assert_true(clock_mono_ms() - begin_ms >= 39);
	assert_true(far.timer.armed);
	loop_timer_clear(&far.timer);
	begin_ms = clock_mono_ms();
	tick(l, 20);
	assert_true(clock_mono_ms() - begin_ms >= 19);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(timers_fire_in_order_of_time,
		    start, end),
		cmocka_unit_test_setup_teardown(
		    a_timer_without_delay_waits_for_the_next_tick, start, end),
		cmocka_unit_test_setup_teardown(
		    a_due_timer_can_be_cleared_by_another, start, end),
		cmocka_unit_test_setup_teardown(setting_again_moves_a_timer,
		    start, end),
		cmocka_unit_test_setup_teardown(an_idle_loop_does_not_wake,
		    start, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
