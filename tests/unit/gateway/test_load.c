/* SPDX-License-Identifier: Apache-2.0 */
/* What answers that wait may hold, of a place and of all. */
#include "../../lib/unit.h"
#include "gateway/load.h"

enum {
	MIB = 1 << 20
};

static void
a_large_answer_waits_only_below_the_limits(void **state)
{
	struct load all = { .max = 3 * MIB };
	struct load one = { .max = 2 * MIB, .of = &all };
	struct load other = { .max = 2 * MIB, .of = &all };
	size_t mine = 0;
	size_t others = 0;

	(void)state;
	assert_true(load_has_room(&one, 2 * MIB));
	assert_false(load_has_room(&one, 2 * MIB + 1));
	load_set(&one, &mine, 2 * MIB);
	assert_false(load_has_room(&one, MIB));
	assert_true(load_has_room(&other, MIB));
	assert_false(load_has_room(&other, MIB + 1));
	load_set(&other, &others, MIB);
	assert_int_equal(all.bytes, 3 * MIB);
	load_set(&one, &mine, MIB / 2);
	assert_int_equal(mine, MIB / 2);
	assert_true(load_has_room(&one, MIB));
	load_set(&one, &mine, 0);
	load_set(&other, &others, 0);
	assert_int_equal(all.bytes, 0);
}

static void
a_small_one_always_does(void **state)
{
	struct load l = { .max = MIB };
	size_t mine = 0;

	(void)state;
	load_set(&l, &mine, 2 * MIB);
	assert_true(load_has_room(&l, LOAD_SMALL));
	assert_false(load_has_room(&l, LOAD_SMALL + 1));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_large_answer_waits_only_below_the_limits),
		cmocka_unit_test(a_small_one_always_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
