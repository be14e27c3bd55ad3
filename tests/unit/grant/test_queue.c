/* SPDX-License-Identifier: Apache-2.0 */
/* Who starts next, and who waits no longer. */
#include "../../lib/unit.h"
#include "base/base.h"
#include "grant/grant.h"

static struct grant_queue q;

static int
start(void **state)
{
	(void)state;
	grant_queue_init(&q);
	return 0;
}

static void
join(uint64_t tree, uint64_t number, uint64_t parent)
{
	struct grant_refusal r;

	assert_int_equal(grant_queue_join(&q,
			     &(struct grant_ticket){ number, tree, parent },
			     &r),
	    0);
}

static void
expect_next(uint64_t tree, uint64_t number)
{
	struct grant_ticket t;

	assert_true(grant_queue_next(&q, &t));
	assert_int_equal(t.tree, tree);
	assert_int_equal(t.start, number);
}

static void
expect_none(void)
{
	struct grant_ticket t;

	assert_false(grant_queue_next(&q, &t));
}

static void
four_of_a_tree_start_in_order(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 6; i++)
		join(7, i, 1);
	for (uint64_t i = 1; i <= 4; i++)
		expect_next(7, i);
	expect_none();
	grant_queue_done(&q, 7);
	expect_next(7, 5);
	expect_none();
	grant_queue_done(&q, 7);
	expect_next(7, 6);
	expect_none();
}

static void
eight_start_in_all_and_trees_take_turns(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 9; i++)
		join(1, 100 + i, 1);
	join(2, 201, 1);
	join(2, 202, 1);
	join(3, 301, 1);
	for (uint64_t i = 302; i <= 304; i++)
		join(3, i, 1);
	expect_next(1, 101);
	expect_next(2, 201);
	expect_next(3, 301);
	expect_next(1, 102);
	expect_next(2, 202);
	expect_next(3, 302);
	expect_next(1, 103);
	expect_next(3, 303);
	expect_none();
	grant_queue_done(&q, 3);
	expect_next(1, 104);
	expect_none();
	grant_queue_done(&q, 2);
	expect_next(3, 304);
	grant_queue_done(&q, 2);
	/* Room, but the tree that waits has its four. */
	expect_none();
	grant_queue_done(&q, 1);
	expect_next(1, 105);
}

/* Whatever one tree asks for, another's next start waits for one of its. */
static void
a_thousand_of_one_tree_delay_anothers_by_one(void **state)
{
	struct grant_ticket t;
	struct grant_refusal r;
	uint64_t asked = 0;
	size_t busy = 0;

	(void)state;
	for (uint64_t turn = 0; turn < 100; turn++) {
		for (int i = 0; i < 10; i++) {
			t = (struct grant_ticket){ ++asked, 1, 1 };
			busy += grant_queue_join(&q, &t, &r) < 0;
		}
		join(2, 5000 + turn, 1);
		while (grant_queue_next(&q, &t) && t.tree != 2)
			;
		assert_int_equal(t.tree, 2);
		assert_int_equal(t.start, 5000 + turn);
		assert_true(q.starts <= GRANT_QUEUE_TREE_STARTS + 1);
		grant_queue_done(&q, 2);
		if (turn >= 4)
			grant_queue_done(&q, 1);
	}
	assert_true(busy > 800);
}

static void
thirty_two_wait_and_more_are_busy(void **state)
{
	struct grant_ticket t = { 99, 7, 1 };
	struct grant_refusal r;

	(void)state;
	for (uint64_t i = 1; i <= 32; i++) {
		assert_false(grant_queue_is_full(&q, 7));
		join(7, i, 1);
	}
	assert_true(grant_queue_is_full(&q, 7));
	assert_int_equal(grant_queue_join(&q, &t, &r), -1);
	assert_int_equal(r.code, GRANT_BUSY);
	assert_true(r.retry_after_ms > 0);
	assert_false(grant_queue_is_full(&q, 8));
	expect_next(7, 1);
	assert_false(grant_queue_is_full(&q, 7));
	join(7, 33, 1);
	assert_true(grant_queue_is_full(&q, 7));
}

static void
a_dead_grant_leaves_only_the_root(void **state)
{
	struct grant_ticket t;

	(void)state;
	join(7, 1, 0);
	join(7, 2, 10);
	join(8, 3, 20);
	join(7, 4, 11);
	assert_true(grant_queue_leave_tree(&q, 7, &t));
	assert_int_equal(t.start, 2);
	assert_true(grant_queue_leave_tree(&q, 7, &t));
	assert_int_equal(t.start, 4);
	assert_false(grant_queue_leave_tree(&q, 7, &t));
	expect_next(7, 1);
	expect_next(8, 3);
	expect_none();
}

static void
a_stopped_parent_takes_its_own_out(void **state)
{
	struct grant_ticket t;

	(void)state;
	join(7, 1, 10);
	join(7, 2, 11);
	join(7, 3, 10);
	assert_true(grant_queue_leave_parent(&q, 7, 10, &t));
	assert_int_equal(t.start, 1);
	assert_true(grant_queue_leave_parent(&q, 7, 10, &t));
	assert_int_equal(t.start, 3);
	assert_false(grant_queue_leave_parent(&q, 7, 10, &t));
	assert_false(grant_queue_leave_parent(&q, 7, 0, &t));
	expect_next(7, 2);
	expect_none();
}

static void
one_that_is_cancelled_leaves(void **state)
{
	(void)state;
	join(7, 1, 10);
	join(7, 2, 10);
	join(7, 3, 10);
	assert_true(grant_queue_leave(&q, 7, 2));
	assert_false(grant_queue_leave(&q, 7, 2));
	assert_false(grant_queue_leave(&q, 9, 1));
	expect_next(7, 1);
	/* It has started: it waits no more. */
	assert_false(grant_queue_leave(&q, 7, 1));
	expect_next(7, 3);
	expect_none();
}

static void
lines_stay_apart(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= GRANT_QUEUE_WAITING; i++)
		join(7, i, 10);
	join(8, 100, 20);
	assert_true(grant_queue_leave(&q, 7, 16));
	for (uint64_t i = 1; i <= 4; i++) {
		expect_next(7, i);
		if (i == 1)
			expect_next(8, 100);
	}
	for (uint64_t i = 5; i <= GRANT_QUEUE_WAITING; i++) {
		if (i == 16)
			continue;
		grant_queue_done(&q, 7);
		expect_next(7, i);
	}
	expect_none();
}

static void
roots_leave_places_for_children(void **state)
{
	struct grant_refusal r;
	struct grant_ticket t = { 1000, 1000, 0 };

	(void)state;
	for (uint64_t i = 1; i <= GRANT_QUEUE_ROOTS; i++)
		join(i, i, 0);
	assert_int_equal(grant_queue_join(&q, &t, &r), -1);
	assert_int_equal(r.code, GRANT_BUSY);
	assert_false(grant_queue_is_full(&q, 1000));
	/* A child of one of them, and of trees that run. */
	join(1, 2000, 1);
	for (uint64_t i = GRANT_QUEUE_ROOTS + 1; i <= GRANT_QUEUE_TREES; i++)
		join(i, i, 1);
	assert_true(grant_queue_is_full(&q, 1000));
	/* A tree stays a root's until nothing of it starts or waits. */
	expect_next(1, 1);
	grant_queue_done(&q, 1);
	assert_true(
	    grant_queue_leave(&q, GRANT_QUEUE_TREES, GRANT_QUEUE_TREES));
	assert_int_equal(grant_queue_join(&q, &t, &r), -1);
	assert_true(grant_queue_leave(&q, 1, 2000));
	assert_int_equal(grant_queue_join(&q, &t, &r), 0);
}

static void
places_of_trees_are_given_back(void **state)
{
	struct grant_refusal r;
	struct grant_ticket t = { 1, 1000, 1 };

	(void)state;
	for (uint64_t i = 1; i <= GRANT_QUEUE_TREES; i++)
		join(i, i, 1);
	assert_true(grant_queue_is_full(&q, 1000));
	assert_int_equal(grant_queue_join(&q, &t, &r), -1);
	assert_int_equal(r.code, GRANT_BUSY);
	assert_true(grant_queue_leave(&q, 5, 5));
	assert_int_equal(grant_queue_join(&q, &t, &r), 0);
	for (uint64_t i = 1; i <= GRANT_QUEUE_TREES; i++) {
		assert_true(grant_queue_next(&q, &t));
		grant_queue_done(&q, t.tree);
	}
	expect_none();
	for (uint64_t i = 1; i <= GRANT_QUEUE_TREES; i++)
		join(2000 + i, i, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(four_of_a_tree_start_in_order, start),
		cmocka_unit_test_setup(
		    a_thousand_of_one_tree_delay_anothers_by_one, start),
		cmocka_unit_test_setup(eight_start_in_all_and_trees_take_turns,
		    start),
		cmocka_unit_test_setup(thirty_two_wait_and_more_are_busy,
		    start),
		cmocka_unit_test_setup(a_dead_grant_leaves_only_the_root,
		    start),
		cmocka_unit_test_setup(a_stopped_parent_takes_its_own_out,
		    start),
		cmocka_unit_test_setup(one_that_is_cancelled_leaves, start),
		cmocka_unit_test_setup(lines_stay_apart, start),
		cmocka_unit_test_setup(roots_leave_places_for_children, start),
		cmocka_unit_test_setup(places_of_trees_are_given_back, start),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
