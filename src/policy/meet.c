/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether two globs have a string in common. Positions only go forward, so
 * the pairs of positions that a common string can lead to are found row by
 * row; a FORK looks three rows ahead, hence four rows in a ring.
 */
#include <string.h>

#include "policy/inner.h"

enum {
	COLUMNS = POLICY_PATTERN + 4,
	ROWS = 4,
	CELL = 12, /* comparisons that the work at one pair is worth */
};

struct table {
	const struct policy_glob *a; /* rows */
	const struct policy_glob *b; /* columns */
	bool row[ROWS][COLUMNS];
};

static uint16_t
step_of(const struct policy_glob *g, uint32_t i)
{
	return i < g->n ? g->steps[i] : UINT16_MAX;
}

static bool
is_hole(uint16_t step)
{
	return step == POLICY_STEP_STAR || step == POLICY_STEP_ANY;
}

/* A hole takes the byte. */
static bool
takes(uint16_t hole, uint16_t c, uint8_t separator)
{
	if (c >= POLICY_STEP_STAR)
		return false;
	return hole == POLICY_STEP_ANY ||
	    (hole == POLICY_STEP_STAR && c != separator);
}

/* From the pair (i, j) to all that follow it. */
static void
spread(struct table *t, uint32_t i, uint32_t j)
{
	uint16_t x = step_of(t->a, i);
	uint16_t y = step_of(t->b, j);
	bool *here = t->row[i % ROWS];
	bool *below = t->row[(i + 1) % ROWS];

	if (is_hole(x) || x == POLICY_STEP_FORK)
		below[j] = true;
	if (x == POLICY_STEP_FORK)
		t->row[(i + 3) % ROWS][j] = true;
	if (is_hole(y) || y == POLICY_STEP_FORK)
		here[j + 1] = true;
	if (y == POLICY_STEP_FORK)
		here[j + 3] = true;
	if (x < POLICY_STEP_STAR && x == y)
		below[j + 1] = true;
	if (takes(x, y, t->a->separator))
		here[j + 1] = true;
	if (takes(y, x, t->b->separator))
		below[j] = true;
}

/* The bytes that both begin, or end, with are not the same. */
static bool
differ_outside(const struct policy_glob *a, const struct policy_glob *b,
    bool at_end, uint64_t *steps)
{
	for (uint32_t i = 0; i < a->n && i < b->n; i++) {
		uint16_t x = a->steps[at_end ? a->n - 1 - i : i];
		uint16_t y = b->steps[at_end ? b->n - 1 - i : i];

		++*steps;
		if (x >= POLICY_STEP_STAR || y >= POLICY_STEP_STAR)
			return false;
		if (x != y)
			return true;
	}
	return false;
}

static bool
walk(const struct policy_glob *a, const struct policy_glob *b)
{
	struct table t = { .a = a, .b = b };
	bool met = false;

	t.row[0][0] = true;
	for (uint32_t i = 0; i <= a->n; i++) {
		for (uint32_t j = 0; j <= b->n; j++)
			if (t.row[i % ROWS][j])
				spread(&t, i, j);
		met = t.row[i % ROWS][b->n];
		memset(t.row[i % ROWS], 0, sizeof(t.row[0]));
	}
	return met;
}

bool
policy_globs_meet(const struct policy_glob *a, const struct policy_glob *b,
    uint64_t *steps)
{
	if (a->everything || b->everything)
		return true;
	if (a->literal && b->literal)
		return span_equal(a->text, b->text);
	if (differ_outside(a, b, true, steps) ||
	    differ_outside(a, b, false, steps))
		return false;
	*steps += (uint64_t)CELL * (a->n + 1) * (b->n + 1);
	if (a->literal)
		return policy_glob_match(b, a->text);
	if (b->literal)
		return policy_glob_match(a, b->text);
	return walk(a, b);
}
