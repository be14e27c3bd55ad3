/* SPDX-License-Identifier: Apache-2.0 */
/* Counts over a tree, and the levels in which a part of it is stopped. */
#include "../../lib/unit.h"
#include "base/base.h"
#include "grant/grant.h"

enum {
	NODES = 40,
};

/*
 *	0 -+- 3 -+- 1 --- 6
 *	   |     +- 5 (stopped) --- 7 (ended)
 *	   +- 2
 *	   +- 4 (deleted)
 */
static struct grant_node small[] = {
	{ .parent = GRANT_NOBODY, .life = GRANT_RUNNING },
	{ .parent = 3, .depth = 2, .life = GRANT_RUNNING },
	{ .parent = 0, .kind = GRANT_TOOL, .life = GRANT_STARTING },
	{ .parent = 0, .depth = 1, .life = GRANT_STOPPING },
	{ .parent = 0, .depth = 1, .life = GRANT_DELETED },
	{ .parent = 3, .depth = 2, .life = GRANT_STOPPED },
	{ .parent = 1, .depth = 2, .kind = GRANT_TOOL, .life = GRANT_RESERVED },
	{ .parent = 5, .depth = 3, .life = GRANT_ENDED },
};

static const struct grant_tree tree = { small, NELEM(small), { 0 }, NULL };

static void
only_live_children_count(void **state)
{
	(void)state;
	assert_int_equal(grant_breadth_used(&tree, 0), 2);
	assert_int_equal(grant_breadth_used(&tree, 3), 1);
	assert_int_equal(grant_breadth_used(&tree, 1), 1);
	assert_int_equal(grant_breadth_used(&tree, 5), 0);
	assert_int_equal(grant_breadth_used(&tree, 6), 0);
	assert_int_equal(grant_live_below(&tree), 4);
}

static void
below_is_not_beside_and_not_itself(void **state)
{
	(void)state;
	for (uint32_t i = 1; i < tree.n; i++)
		assert_true(grant_is_below(&tree, i, 0));
	assert_false(grant_is_below(&tree, 0, 0));
	assert_false(grant_is_below(&tree, 0, 3));
	assert_true(grant_is_below(&tree, 6, 3));
	assert_true(grant_is_below(&tree, 7, 3));
	assert_false(grant_is_below(&tree, 2, 3));
	assert_false(grant_is_below(&tree, 3, 1));
	assert_false(grant_is_below(&tree, 3, GRANT_NOBODY));
	assert_false(grant_is_below(&tree, GRANT_NOBODY, 0));
}

/* The levels as text: "6 1 3", a blank between nodes, '/' between levels. */
static void
expect_levels(struct grant_tree *t, struct grant_node *node, uint32_t from,
    enum grant_cascade how, const char *want)
{
	uint32_t out[NODES];
	char got[256] = "";
	size_t n;

	while ((n = grant_cascade_next(t, from, how, out, NODES)) > 0) {
		for (size_t i = 0; i < n; i++) {
			char one[16];

			(void)text_fmt(one, sizeof(one), "%u%c", out[i],
			    i + 1 < n ? ' ' : '/');
			(void)text_fmt(got + strlen(got),
			    sizeof(got) - strlen(got), "%s", one);
			node[out[i]].life = how == GRANT_CASCADE_DELETE
			    ? GRANT_DELETED
			    : GRANT_STOPPED;
		}
		assert_true(strlen(got) < sizeof(got) - 32);
	}
	assert_string_equal(got, want);
}

static void
mark(const struct grant_tree *t, struct grant_node *node, uint32_t from)
{
	for (uint32_t i = 0; i < t->n; i++)
		if ((i == from || grant_is_below(t, i, from)) &&
		    grant_is_live(node[i].life))
			node[i].life = GRANT_STOPPING;
}

static void
expect_small(uint32_t from, enum grant_cascade how, const char *want)
{
	struct grant_node copy[NELEM(small)];
	struct grant_tree t = { copy, NELEM(copy), { 0 }, NULL };

	memcpy(copy, small, sizeof(copy));
	mark(&t, copy, from);
	expect_levels(&t, copy, from, how, want);
}

static void
leaves_go_first_and_the_parent_last(void **state)
{
	(void)state;
	expect_small(0, GRANT_CASCADE_STOP, "6/1/2 3/0/");
	expect_small(0, GRANT_CASCADE_STOP_BELOW, "6/1/2 3/");
	expect_small(0, GRANT_CASCADE_DELETE, "6 7/1 5/2 3/0/");
	expect_small(3, GRANT_CASCADE_STOP, "6/1/3/");
	expect_small(3, GRANT_CASCADE_DELETE, "6 7/1 5/3/");
	expect_small(5, GRANT_CASCADE_STOP, "");
	expect_small(5, GRANT_CASCADE_DELETE, "7/5/");
	expect_small(4, GRANT_CASCADE_DELETE, "");
	expect_small(2, GRANT_CASCADE_STOP, "2/");
	expect_small(2, GRANT_CASCADE_STOP_BELOW, "");
}

/* As after a crash: whatever was stopped, the rest goes level by level. */
static void
a_cascade_goes_on_from_any_state(void **state)
{
	(void)state;
	for (unsigned done = 0; done < 1U << NELEM(small); done++) {
		struct grant_node copy[NELEM(small)];
		struct grant_tree t = { copy, NELEM(copy), { 0 }, NULL };
		uint32_t out[NODES];
		uint32_t last = GRANT_NOBODY;
		size_t n;

		memcpy(copy, small, sizeof(copy));
		for (size_t i = 0; i < NELEM(small); i++)
			if (done & 1U << i)
				copy[i].life = GRANT_STOPPED;
		mark(&t, copy, 0);
		while ((n = grant_cascade_next(&t, 0, GRANT_CASCADE_STOP, out,
			    1)) > 0) {
			for (uint32_t i = 0; i < t.n; i++)
				assert_false(grant_is_live(copy[i].life) &&
				    grant_is_below(&t, i, out[0]));
			assert_int_not_equal(out[0], last);
			last = out[0];
			copy[last].life = GRANT_STOPPED;
		}
		for (uint32_t i = 0; i < t.n; i++)
			assert_false(grant_is_live(copy[i].life));
	}
}

static void
forty_nodes_in_a_chain_and_a_fan(void **state)
{
	struct grant_node node[NODES] = { { .parent = GRANT_NOBODY,
	    .life = GRANT_RUNNING } };
	struct grant_tree t = { node, NODES, { 0 }, NULL };
	uint32_t out[NODES];
	size_t levels = 0;

	(void)state;
	for (uint32_t i = 1; i < NODES; i++)
		node[i] = (struct grant_node){ .parent = i < 16 ? i - 1 : 15,
			.depth = i < 16 ? i : 16,
			.life = GRANT_RUNNING };
	assert_int_equal(grant_cascade_next(&t, 0, GRANT_CASCADE_STOP, out, 5),
	    0);
	mark(&t, node, 0);
	assert_int_equal(grant_cascade_next(&t, 0, GRANT_CASCADE_STOP, out, 5),
	    5);
	for (size_t n; (n = grant_cascade_next(&t, 0, GRANT_CASCADE_STOP, out,
			    NODES)) > 0;
	     levels++) {
		assert_int_equal(n, levels == 0 ? 24 : 1);
		for (size_t i = 0; i < n; i++)
			node[out[i]].life = GRANT_STOPPED;
	}
	assert_int_equal(levels, 17);
}

static void
lives_have_names(void **state)
{
	(void)state;
	assert_string_equal(grant_life_name(GRANT_RESERVED), "reserved");
	assert_string_equal(grant_life_name(GRANT_DELETED), "deleted");
	assert_string_equal(grant_state_name(GRANT_LIVE), "live");
	assert_string_equal(grant_state_name(GRANT_DEAD_REPLACED), "replaced");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_live_children_count),
		cmocka_unit_test(below_is_not_beside_and_not_itself),
		cmocka_unit_test(leaves_go_first_and_the_parent_last),
		cmocka_unit_test(a_cascade_goes_on_from_any_state),
		cmocka_unit_test(forty_nodes_in_a_chain_and_a_fan),
		cmocka_unit_test(lives_have_names),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
