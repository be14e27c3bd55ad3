/* SPDX-License-Identifier: Apache-2.0 */
/* How often a stranger may. */
#include "../../lib/unit.h"
#include "base/base.h"
#include "base/pace.h"

static void
a_burst_and_then_one_at_a_time(void **state)
{
	struct pace p;

	(void)state;
	pace_init(&p, 3, 100, 5000);
	for (int i = 0; i < 3; i++)
		assert_true(pace_take(&p, 5000));
	assert_false(pace_take(&p, 5000));
	assert_int_equal(pace_wait_ms(&p, 5030), 70);
	assert_false(pace_take(&p, 5099));
	assert_true(pace_take(&p, 5100));
	assert_false(pace_take(&p, 5150));
	assert_int_equal(pace_wait_ms(&p, 5150), 50);
	assert_true(pace_take(&p, 5200));
}

static void
rest_is_not_saved_beyond_the_burst(void **state)
{
	struct pace p;

	(void)state;
	pace_init(&p, 3, 100, 0);
	for (int i = 0; i < 3; i++)
		assert_true(pace_take(&p, 1000000));
	assert_false(pace_take(&p, 1000000));
	assert_int_equal(pace_wait_ms(&p, 1000000), 100);
}

static void
a_minute_of_asking_gets_no_more_than_is_stated(void **state)
{
	struct pace p;
	unsigned got = 0;

	(void)state;
	pace_init(&p, 10, 2000, 0);
	for (int64_t now = 0; now < 60000; now++)
		got += pace_take(&p, now);
	assert_int_equal(got, 10 + 29);
}

static void
chance_stays_within_a_quarter(void **state)
{
	bool low = false;
	bool high = false;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		int64_t ms = pace_jitter(1000);

		assert_in_range(ms, 750, 1250);
		low |= ms < 900;
		high |= ms > 1100;
	}
	assert_true(low && high);
	assert_int_equal(pace_jitter(0), 0);
}

static void
each_failure_doubles_the_wait(void **state)
{
	static const int64_t want[] = { 0, 300, 600, 1200, 2000, 2000 };

	(void)state;
	for (unsigned i = 0; i < NELEM(want); i++)
		assert_int_equal(pace_later(300, i, 2000), want[i]);
	assert_int_equal(pace_later(300, UINT32_MAX, 2000), 2000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_and_then_one_at_a_time),
		cmocka_unit_test(rest_is_not_saved_beyond_the_burst),
		cmocka_unit_test(
		    a_minute_of_asking_gets_no_more_than_is_stated),
		cmocka_unit_test(chance_stays_within_a_quarter),
		cmocka_unit_test(each_failure_doubles_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
