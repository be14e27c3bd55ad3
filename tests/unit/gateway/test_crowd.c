/* SPDX-License-Identifier: Apache-2.0 */
/* Who makes room for whom when a limit on connections is reached. */
#include "../../lib/unit.h"
#include "gateway/crowd.h"

enum {
	MOST = 4
};

static struct crowd crowd;
static struct crowd_seat seats[MOST + 1];
static int closed; /* index of the last one that was, -1: none */

static void
close_it(struct crowd_seat *s)
{
	closed = (int)(s - seats);
	crowd_leave(s);
}

/* All but the last seat join, in order. */
static int
set_up(void **state)
{
	(void)state;
	memset(&crowd, 0, sizeof(crowd));
	memset(seats, 0, sizeof(seats));
	crowd.max = MOST;
	closed = -1;
	for (int i = 0; i <= MOST; i++)
		seats[i].close = close_it;
	for (int i = 0; i < MOST; i++) {
		assert_true(crowd_make_room(&crowd));
		crowd_join(&crowd, &seats[i]);
	}
	assert_int_equal(closed, -1);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	for (int i = 0; i <= MOST; i++)
		crowd_leave(&seats[i]);
	return 0;
}

static void
the_one_that_is_new_longest_makes_room(void **state)
{
	(void)state;
	assert_true(crowd_make_room(&crowd));
	assert_int_equal(closed, 0);
	crowd_join(&crowd, &seats[MOST]);
	assert_true(crowd_make_room(&crowd));
	assert_int_equal(closed, 1);
}

static void
one_that_was_not_heard_yet_stays_before_those_that_were(void **state)
{
	(void)state;
	seats[0].is_unheard = seats[1].is_unheard = true;
	assert_true(crowd_make_room(&crowd));
	assert_int_equal(closed, 2);
	crowd_join(&crowd, &seats[MOST]);
	seats[3].is_unheard = seats[MOST].is_unheard = true;
	assert_true(crowd_make_room(&crowd));
	assert_int_equal(closed, 0);
}

static void
one_that_is_idle_stays_while_others_are_new(void **state)
{
	(void)state;
	crowd_rank(&seats[0], CROWD_IDLE);
	crowd_rank(&seats[1], CROWD_BUSY);
	assert_true(crowd_make_room(&crowd));
	assert_int_equal(closed, 2);
}

static void
then_the_one_that_is_idle_longest_goes(void **state)
{
	(void)state;
	crowd_rank(&seats[3], CROWD_IDLE);
	crowd_rank(&seats[0], CROWD_IDLE);
	crowd_rank(&seats[1], CROWD_BUSY);
	crowd_rank(&seats[2], CROWD_BUSY);
	crowd_rank(&seats[3], CROWD_IDLE); /* it did something since */
	assert_true(crowd_make_room(&crowd));
	assert_int_equal(closed, 0);
}

/* One that has just come is not the next one's place at once. */
static void
new_ones_have_a_quarter_of_the_places(void **state)
{
	(void)state;
	for (int i = 0; i < MOST; i++)
		crowd_rank(&seats[i], CROWD_IDLE);
	assert_true(crowd_has_room(&crowd));
	assert_int_equal(closed, -1); /* it only asked */
	assert_true(crowd_make_room(&crowd));
	assert_int_equal(closed, 0);
	crowd_join(&crowd, &seats[MOST]);
	assert_true(crowd_make_room(&crowd));
	assert_int_equal(closed, MOST); /* one of four */
}

static void
those_that_are_served_all_stay(void **state)
{
	(void)state;
	for (int i = 0; i < MOST; i++)
		crowd_rank(&seats[i], CROWD_BUSY);
	assert_false(crowd_has_room(&crowd));
	assert_false(crowd_make_room(&crowd));
	assert_int_equal(closed, -1);
	crowd_rank(&seats[2], CROWD_IDLE);
	assert_true(crowd_make_room(&crowd));
	assert_int_equal(closed, 2);
}

/* Three of one token, and the longest of all is another's. */
static void
whoever_has_most_idle_ones_makes_room(void **state)
{
	(void)state;
	for (int i = 0; i < MOST; i++) {
		crowd_own(&seats[i], i == 0 ? "token:a" : "token:b");
		crowd_rank(&seats[i], CROWD_IDLE);
	}
	assert_true(crowd_make_room(&crowd));
	assert_int_equal(closed, 1);
	crowd_join(&crowd, &seats[MOST]);
	crowd_own(&seats[MOST], "token:c");
	crowd_rank(&seats[MOST], CROWD_IDLE);
	assert_true(crowd_make_room(&crowd));
	assert_int_equal(closed, 2);
}

static void
those_that_are_served_do_not_count(void **state)
{
	(void)state;
	for (int i = 0; i < MOST; i++) {
		crowd_own(&seats[i], i < 3 ? "token:a" : "token:b");
		crowd_rank(&seats[i], CROWD_IDLE);
	}
	crowd_rank(&seats[0], CROWD_BUSY);
	crowd_rank(&seats[1], CROWD_BUSY);
	crowd_rank(&seats[2], CROWD_IDLE);
	assert_true(crowd_make_room(&crowd)); /* one each: the longest */
	assert_int_equal(closed, 3);
	crowd_rank(&seats[1], CROWD_IDLE);
	crowd_leave(&seats[0]);
	crowd_leave(&seats[2]);
	crowd_leave(&seats[1]);
	assert_null(crowd.owners);
}

static void
a_connection_may_change_hands(void **state)
{
	(void)state;
	for (int i = 0; i < MOST; i++) {
		crowd_own(&seats[i], "token:a");
		crowd_rank(&seats[i], CROWD_IDLE);
	}
	for (int i = 1; i < MOST; i++)
		crowd_own(&seats[i], "token:b");
	crowd_own(&seats[1], "token:b");
	assert_true(crowd_make_room(&crowd));
	assert_int_equal(closed, 1);
	for (int i = 0; i < MOST; i++)
		crowd_leave(&seats[i]);
	assert_null(crowd.owners);
	crowd_own(&seats[0], "token:a"); /* it is in none: nothing */
	assert_null(seats[0].owner);
}

static void
one_that_leaves_makes_room_once(void **state)
{
	(void)state;
	crowd_leave(&seats[1]);
	crowd_leave(&seats[1]);
	crowd_rank(&seats[1], CROWD_IDLE);
	assert_int_equal(crowd.n, MOST - 1);
	assert_true(crowd_make_room(&crowd));
	assert_int_equal(closed, -1);
	for (int i = 0; i < MOST; i++)
		crowd_leave(&seats[i]);
	assert_int_equal(crowd.n, 0);
	assert_null(crowd.first[CROWD_NEW]);
	assert_null(crowd.last[CROWD_IDLE]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    one_that_was_not_heard_yet_stays_before_those_that_were,
		    set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    the_one_that_is_new_longest_makes_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    one_that_is_idle_stays_while_others_are_new, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(
		    then_the_one_that_is_idle_longest_goes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    new_ones_have_a_quarter_of_the_places, set_up, tear_down),
		cmocka_unit_test_setup_teardown(those_that_are_served_all_stay,
		    set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    whoever_has_most_idle_ones_makes_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    those_that_are_served_do_not_count, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_connection_may_change_hands,
		    set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_that_leaves_makes_room_once,
		    set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
