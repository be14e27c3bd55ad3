/* SPDX-License-Identifier: Apache-2.0 */
/* Which token a reconnect may come with. */
#include "../../lib/unit.h"
#include "base/base.h"
#include "gateway/epoch.h"

static int
check(uint64_t given, uint64_t confirmed, uint64_t token, uint64_t asked)
{
	struct fault f = { 0 };

	return epoch_check(given, confirmed, token, asked, &f) == 0
	    ? FAULT_NONE
	    : (int)f.code;
}

static void
the_newest_token_is_good(void **state)
{
	(void)state;
	assert_int_equal(check(4, 0, 4, 5), FAULT_NONE);
	assert_int_equal(check(4, 4, 4, 5), FAULT_NONE);
}

static void
an_answer_that_was_lost_costs_no_session(void **state)
{
	(void)state;
	/* 4 was shown, 5 and 6 were given, and neither arrived */
	assert_int_equal(check(5, 4, 4, 6), FAULT_NONE);
	assert_int_equal(check(6, 4, 4, 7), FAULT_NONE);
	assert_int_equal(check(6, 4, 6, 7), FAULT_NONE);
}

static void
a_replaced_token_stays_dead(void **state)
{
	(void)state;
	assert_int_equal(check(5, 5, 4, 6), FAULT_UNAUTHENTICATED);
	assert_int_equal(check(6, 5, 4, 7), FAULT_UNAUTHENTICATED);
	assert_int_equal(check(6, 4, 5, 7), FAULT_UNAUTHENTICATED);
	assert_int_equal(check(1, 0, 0, 2), FAULT_UNAUTHENTICATED);
	assert_int_equal(check(5, 4, 7, 8), FAULT_UNAUTHENTICATED);
}

static void
a_reconnect_needs_a_higher_epoch(void **state)
{
	(void)state;
	assert_int_equal(check(5, 4, 4, 5), FAULT_UNAUTHENTICATED);
	assert_int_equal(check(5, 5, 5, 5), FAULT_UNAUTHENTICATED);
	assert_int_equal(check(5, 5, 5, 5 + EPOCH_STEP), FAULT_NONE);
	assert_int_equal(check(5, 5, 5, 6 + EPOCH_STEP), FAULT_INVALID);
	assert_int_equal(check(5, 5, 5, UINT64_MAX), FAULT_INVALID);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_token_is_good),
		cmocka_unit_test(an_answer_that_was_lost_costs_no_session),
		cmocka_unit_test(a_replaced_token_stays_dead),
		cmocka_unit_test(a_reconnect_needs_a_higher_epoch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
