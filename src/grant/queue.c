/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts that wait. Each tree has a line of its own; a start is given to the
 * first line, from the one whose turn it is, that has somebody waiting and
 * fewer than its starts under way. Then the turn passes on, so a tree with a
 * long line delays another's by one start at a time.
 */
#include <string.h>

#include "grant/inner.h"

void
grant_queue_init(struct grant_queue *q)
{
	*q = (struct grant_queue){ 0 };
}

/* The place of a tree; tree 0 finds a free one. Else GRANT_QUEUE_TREES. */
static size_t
find(const struct grant_queue *q, uint64_t tree)
{
	size_t i = 0;

	while (i < GRANT_QUEUE_TREES && q->tree[i].tree != tree)
		i++;
	return i;
}

static bool
has_room(const struct grant_queue *q, uint64_t tree, bool is_root)
{
	size_t i = find(q, tree);

	if (i < GRANT_QUEUE_TREES)
		return q->tree[i].waiting_n < GRANT_QUEUE_WAITING;
	if (is_root && q->roots == GRANT_QUEUE_ROOTS)
		return false;
	return find(q, 0) < GRANT_QUEUE_TREES;
}

bool
grant_queue_is_full(const struct grant_queue *q, uint64_t tree)
{
	return !has_room(q, tree, false);
}

int
grant_queue_join(struct grant_queue *q, const struct grant_ticket *t,
    struct grant_refusal *r)
{
	size_t i = find(q, t->tree);
	struct grant_queue_tree *line;

	BUG_IF(t->tree == 0 || t->start == 0);
	if (!has_room(q, t->tree, t->parent == 0))
		return grant_refuse_queue_full(r);
	if (i == GRANT_QUEUE_TREES) {
		i = find(q, 0);
		q->tree[i].has_root = t->parent == 0;
		q->roots += q->tree[i].has_root;
	}
	line = &q->tree[i];
	line->tree = t->tree;
	line->waiting[line->waiting_n++] = *t;
	return 0;
}

static void
forget_if_empty(struct grant_queue *q, struct grant_queue_tree *line)
{
	if (line->waiting_n > 0 || line->starts > 0)
		return;
	q->roots -= line->has_root;
	line->has_root = false;
	line->tree = 0;
}

static void
take(struct grant_queue *q, struct grant_queue_tree *line, size_t at,
    struct grant_ticket *t)
{
	*t = line->waiting[at];
	line->waiting_n--;
	memmove(&line->waiting[at], &line->waiting[at + 1],
	    (line->waiting_n - at) * sizeof(line->waiting[0]));
	forget_if_empty(q, line);
}

bool
grant_queue_next(struct grant_queue *q, struct grant_ticket *t)
{
	if (q->starts == GRANT_QUEUE_STARTS)
		return false;
	for (uint32_t n = 0; n < GRANT_QUEUE_TREES; n++) {
		uint32_t i = (q->turn + n) % GRANT_QUEUE_TREES;
		struct grant_queue_tree *line = &q->tree[i];

		if (line->waiting_n == 0 ||
		    line->starts == GRANT_QUEUE_TREE_STARTS)
			continue;
		line->starts++;
		q->starts++;
		q->turn = (i + 1) % GRANT_QUEUE_TREES;
		take(q, line, 0, t);
		return true;
	}
	return false;
}

void
grant_queue_done(struct grant_queue *q, uint64_t tree)
{
	size_t i = find(q, tree);

	BUG_IF(tree == 0 || i == GRANT_QUEUE_TREES || q->tree[i].starts == 0);
	q->tree[i].starts--;
	q->starts--;
	forget_if_empty(q, &q->tree[i]);
}

enum whom {
	START,
	PARENT,
	NOT_ROOT,
};

static bool
is_meant(const struct grant_ticket *t, enum whom whom, uint64_t number)
{
	switch (whom) {
	case START:
		return t->start == number;
	case PARENT:
		return t->parent == number;
	case NOT_ROOT:
		return t->parent != 0;
	}
	return false;
}

static bool
leave(struct grant_queue *q, uint64_t tree, enum whom whom, uint64_t number,
    struct grant_ticket *t)
{
	size_t i = tree ? find(q, tree) : GRANT_QUEUE_TREES;

	if (i == GRANT_QUEUE_TREES)
		return false;
	for (uint32_t at = 0; at < q->tree[i].waiting_n; at++) {
		if (!is_meant(&q->tree[i].waiting[at], whom, number))
			continue;
		take(q, &q->tree[i], at, t);
		return true;
	}
	return false;
}

bool
grant_queue_leave(struct grant_queue *q, uint64_t tree, uint64_t start)
{
	struct grant_ticket t;

	return leave(q, tree, START, start, &t);
}

bool
grant_queue_leave_parent(struct grant_queue *q, uint64_t tree, uint64_t parent,
    struct grant_ticket *t)
{
	return parent != 0 && leave(q, tree, PARENT, parent, t);
}

bool
grant_queue_leave_tree(struct grant_queue *q, uint64_t tree,
    struct grant_ticket *t)
{
	return leave(q, tree, NOT_ROOT, 0, t);
}
