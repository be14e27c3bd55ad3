/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a sandbox: the table is total, and says what it should. */
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "gateway/state.h"

static enum state
after(enum state s, enum state_event e)
{
	return state_step(s, e).next;
}

static void
every_cell_is_filled(void **state)
{
	(void)state;
	for (int e = 0; e < EVENT_COUNT; e++) {
		for (int s = 0; s < STATE_COUNT; s++) {
			struct state_cell c =
			    state_step((enum state)s, (enum state_event)e);

			if (c.verdict == VERDICT_MOVE)
				assert_int_not_equal(c.next, s);
			else
				assert_int_equal(c.next, s);
			assert_in_range(c.next, 0, STATE_REMOVED);
		}
	}
}

static void
delete_always_leads_to_the_end(void **state)
{
	(void)state;
	for (int s = 0; s < STATE_COUNT; s++) {
		enum state d = after((enum state)s, EVENT_DELETE);

		assert_int_equal(d, STATE_DELETING);
		for (int e = 0; e < EVENT_COUNT; e++) {
			if (e != EVENT_GONE)
				assert_int_equal(after(d, (enum state_event)e),
				    STATE_DELETING);
		}
		assert_int_equal(after(d, EVENT_GONE), STATE_REMOVED);
	}
}

static void
only_a_start_brings_it_back(void **state)
{
	const enum state ends[] = { STATE_STOPPED, STATE_FAILED };

	(void)state;
	for (size_t i = 0; i < NELEM(ends); i++) {
		for (int e = 0; e < EVENT_COUNT; e++) {
			enum state to = after(ends[i], (enum state_event)e);

			if (e == EVENT_START)
				assert_int_equal(to, STATE_RESERVED);
			else
				assert_false(state_is_open(to));
		}
	}
}

static void
a_reserved_one_waits_for_its_turn(void **state)
{
	(void)state;
	for (int e = 0; e < EVENT_COUNT; e++) {
		enum state to = after(STATE_RESERVED, (enum state_event)e);

		if (e == EVENT_TURN)
			assert_int_equal(to, STATE_STARTING);
		else if (e == EVENT_STOP)
			assert_int_equal(to, STATE_STOPPING);
		else if (e == EVENT_DELETE)
			assert_int_equal(to, STATE_DELETING);
		else
			assert_int_equal(to, STATE_RESERVED);
	}
}

static void
what_is_over_is_only_deleted(void **state)
{
	(void)state;
	for (int e = 0; e < EVENT_COUNT; e++)
		assert_int_equal(after(STATE_OVER, (enum state_event)e),
		    e == EVENT_DELETE ? STATE_DELETING : STATE_OVER);
	assert_int_equal(state_step(STATE_OVER, EVENT_START).verdict,
	    VERDICT_REFUSE);
	assert_string_equal(state_name(STATE_OVER), "ended");
}

static void
an_ordinary_life(void **state)
{
	enum state s = STATE_STOPPED;

	(void)state;
	s = after(s, EVENT_START);
	assert_string_equal(state_name(s), "reserved");
	s = after(s, EVENT_TURN);
	s = after(s, EVENT_READY);
	assert_string_equal(state_name(s), "running");
	s = after(s, EVENT_EXIT);
	assert_string_equal(state_name(s), "ended");
	assert_true(state_is_open(s));
	s = after(s, EVENT_STOP);
	assert_string_equal(state_name(s), "stopping");
	s = after(s, EVENT_GONE);
	assert_string_equal(state_name(s), "stopped");
}

static void
late_events_are_ignored(void **state)
{
	(void)state;
	assert_int_equal(state_step(STATE_STOPPED, EVENT_READY).verdict,
	    VERDICT_IGNORE);
	assert_int_equal(state_step(STATE_STOPPING, EVENT_FAIL).verdict,
	    VERDICT_IGNORE);
	assert_int_equal(state_step(STATE_ENDED, EVENT_READY).verdict,
	    VERDICT_IGNORE);
	assert_int_equal(state_step(STATE_STOPPING, EVENT_START).verdict,
	    VERDICT_REFUSE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cell_is_filled),
		cmocka_unit_test(delete_always_leads_to_the_end),
		cmocka_unit_test(only_a_start_brings_it_back),
		cmocka_unit_test(a_reserved_one_waits_for_its_turn),
		cmocka_unit_test(what_is_over_is_only_deleted),
		cmocka_unit_test(an_ordinary_life),
		cmocka_unit_test(late_events_are_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
