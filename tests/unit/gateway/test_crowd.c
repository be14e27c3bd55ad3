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
		assert_true(crowd_has_room(&crowd));
		crowd_join(&crowd, &seats[i]);
	}
	assert_int_equal(closed, -1);
	return 0;
}

static void
the_one_that_is_new_longest_makes_room(void **state)
{
	(void)state;
	assert_true(crowd_has_room(&crowd));
	assert_int_equal(closed, 0);
	crowd_join(&crowd, &seats[MOST]);
	assert_true(crowd_has_room(&crowd));
	assert_int_equal(closed, 1);
}

static void
one_that_is_idle_stays_while_others_are_new(void **state)
{
	(void)state;
	crowd_rank(&seats[0], CROWD_IDLE);
	crowd_rank(&seats[1], CROWD_BUSY);
	assert_true(crowd_has_room(&crowd));
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
	assert_true(crowd_has_room(&crowd));
	assert_int_equal(closed, 0);
}

static void
those_that_are_served_all_stay(void **state)
{
	(void)state;
	for (int i = 0; i < MOST; i++)
		crowd_rank(&seats[i], CROWD_BUSY);
	assert_false(crowd_has_room(&crowd));
	assert_int_equal(closed, -1);
	crowd_rank(&seats[2], CROWD_IDLE);
	assert_true(crowd_has_room(&crowd));
	assert_int_equal(closed, 2);
}

static void
one_that_leaves_makes_room_once(void **state)
{
	(void)state;
	crowd_leave(&seats[1]);
	crowd_leave(&seats[1]);
	crowd_rank(&seats[1], CROWD_IDLE);
	assert_int_equal(crowd.n, MOST - 1);
	assert_true(crowd_has_room(&crowd));
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
		cmocka_unit_test_setup(the_one_that_is_new_longest_makes_room,
		    set_up),
		cmocka_unit_test_setup(
		    one_that_is_idle_stays_while_others_are_new, set_up),
		cmocka_unit_test_setup(then_the_one_that_is_idle_longest_goes,
		    set_up),
		cmocka_unit_test_setup(those_that_are_served_all_stay, set_up),
		cmocka_unit_test_setup(one_that_leaves_makes_room_once, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
