/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions about a snapshot of a tree, and the order in which a part of it
 * is stopped. Rows refer to their parents by index and stand in any order.
 */
#include "grant/inner.h"

const char *
grant_life_name(enum grant_life l)
{
	static const char *const names[] = { "reserved", "starting", "running",
		"stopping", "stopped", "ended", "deleted" };

	return names[l];
}

bool
grant_is_live(enum grant_life l)
{
	return l <= GRANT_STOPPING;
}

/* Steps from node up to `above`, or GRANT_NOBODY when it is not there. */
static uint32_t
steps_up(const struct grant_tree *t, uint32_t node, uint32_t above)
{
	uint32_t steps = 0;

	while (node != above) {
		if (node >= t->n)
			return GRANT_NOBODY;
		/* Deeper than a tree can be: rows in a circle. */
		BUG_IF(++steps > GRANT_LEVELS);
		node = t->node[node].parent;
	}
	return steps;
}

bool
grant_is_below(const struct grant_tree *t, uint32_t node, uint32_t above)
{
	return node != above && above < t->n &&
	    steps_up(t, node, above) != GRANT_NOBODY;
}

uint32_t
grant_breadth_used(const struct grant_tree *t, uint32_t parent)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < t->n; i++)
		used += t->node[i].parent == parent &&
		    grant_is_live(t->node[i].life);
	return used;
}

uint32_t
grant_live_below(const struct grant_tree *t)
{
	uint32_t live = 0;

	for (uint32_t i = 1; i < t->n; i++)
		live += grant_is_live(t->node[i].life);
	return live;
}

uint32_t
grant_used(const struct grant_tree *t, enum grant_limit l)
{
	uint32_t most = 0;

	if (l == GRANT_TOTAL)
		return t->grant->used_total;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct grant_node *n = &t->node[i];
		uint32_t used =
		    l == GRANT_DEPTH ? n->depth : grant_breadth_used(t, i);

		if (grant_is_live(n->life) && used > most)
			most = used;
	}
	return most;
}

/* Steps down from `from` when the cascade has work on node, else NOBODY. */
static uint32_t
work_level(const struct grant_tree *t, uint32_t node, uint32_t from,
    enum grant_cascade how)
{
	enum grant_life life = t->node[node].life;
	bool has_work = how == GRANT_CASCADE_DELETE ? life != GRANT_DELETED
						    : life == GRANT_STOPPING;

	if (!has_work || (node == from && how == GRANT_CASCADE_STOP_BELOW))
		return GRANT_NOBODY;
	return steps_up(t, node, from);
}

size_t
grant_cascade_next(const struct grant_tree *t, uint32_t from,
    enum grant_cascade how, uint32_t *out, size_t max)
{
	uint32_t deepest = 0;
	size_t n = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t level = work_level(t, i, from, how);

		if (level == GRANT_NOBODY || level < deepest)
			continue;
		if (level > deepest)
			n = 0;
		deepest = level;
		if (n < max)
			out[n++] = i;
	}
	return n;
}
