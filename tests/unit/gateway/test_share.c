/* SPDX-License-Identifier: Apache-2.0 */
/* Who has how many of the places that all share. */
#include "../../lib/unit.h"
#include "gateway/share.h"

enum {
	MOST = 16
};

static size_t
fill(struct share *s, const char *tree)
{
	size_t n = 0;

	for (; share_has_room(s, tree); n++)
		share_take(s, tree);
	return n;
}

static void
empty(struct share *s, const char *tree, size_t n)
{
	while (n-- > 0)
		share_give(s, tree);
}

static void
a_tree_leaves_room_for_others(void **state)
{
	struct share s = { .max = MOST };

	(void)state;
	assert_int_equal(fill(&s, "a"), MOST / 4);
	assert_int_equal(fill(&s, "b"), MOST / 4);
	share_give(&s, "a");
	assert_int_equal(fill(&s, "b"), 0);
	assert_int_equal(fill(&s, "a"), 1);
	empty(&s, "a", MOST / 4);
	empty(&s, "b", MOST / 4);
	assert_int_equal(s.n, 0);
	assert_null(s.trees);
}

static void
all_of_them_leave_room_for_the_host(void **state)
{
	struct share s = { .max = MOST };
	static const char *const trees[] = { "a", "b", "c", "d" };

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(fill(&s, trees[i]), MOST / 4);
	assert_int_equal(fill(&s, "d"), 0);
	assert_int_equal(fill(&s, ""), MOST / 4);
	for (size_t i = 0; i < 3; i++)
		empty(&s, trees[i], MOST / 4);
	/* Who shares with nobody has all. */
	assert_int_equal(fill(&s, ""), MOST / 4 * 3);
	assert_int_equal(fill(&s, "d"), 0);
	empty(&s, "", MOST);
	assert_int_equal(s.n, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_leaves_room_for_others),
		cmocka_unit_test(all_of_them_leave_room_for_the_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
