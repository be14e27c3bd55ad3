/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits for the end of the tick: the later list, what there may be time
 * for, the held answers, what follows them, the graves. A list is taken whole
 * before it runs, so what it queues again runs in the next tick and cannot
 * starve the descriptors.
 */
#include <stdlib.h>

#include "base/base.h"
#include "loop/inner.h"

enum {
	GRAVES_FIRST = 32,
};

static void
queue_add(struct queue *q, struct deferred *d)
{
	BUG_IF(!d->run);
	if (d->queued)
		return;
	d->queued = true;
	d->next = NULL;
	if (q->last)
		q->last->next = d;
	else
		q->first = d;
	q->last = d;
}

static bool
queue_drop(struct queue *q, struct deferred *d)
{
	struct deferred *before = NULL;
	struct deferred *at = q->first;

	while (at && at != d) {
		before = at;
		at = at->next;
	}
	if (!at)
		return false;
	if (before)
		before->next = d->next;
	else
		q->first = d->next;
	if (q->last == d)
		q->last = before;
	d->next = NULL;
	d->queued = false;
	return true;
}

static void
run_first(struct loop *l)
{
	struct deferred *d = l->running.first;

	(void)queue_drop(&l->running, d);
	d->run(d);
}

static void
queue_run(struct loop *l, struct queue *q)
{
	l->running = *q;
	*q = (struct queue){ 0 };
	while (l->running.first)
		run_first(l);
}

/* What was not run stays before what came meanwhile. */
static void
put_back(struct queue *q, struct queue *rest)
{
	if (!rest->first)
		return;
	rest->last->next = q->first;
	if (!q->first)
		q->last = rest->last;
	q->first = rest->first;
	*rest = (struct queue){ 0 };
}

void
loop_later(struct loop *l, struct deferred *d)
{
	queue_add(&l->later, d);
}

void
loop_spare(struct loop *l, struct deferred *d)
{
	queue_add(&l->spare, d);
}

void
loop_held(struct loop *l, struct deferred *d)
{
	queue_add(&l->held, d);
}

void
loop_after(struct loop *l, struct deferred *d)
{
	queue_add(&l->after, d);
}

void
loop_deferred_drop(struct loop *l, struct deferred *d)
{
	if (d->queued)
		BUG_IF(!queue_drop(&l->running, d) &&
		    !queue_drop(&l->later, d) && !queue_drop(&l->spare, d) &&
		    !queue_drop(&l->held, d) && !queue_drop(&l->after, d));
}

bool
loop_has_deferred(const struct loop *l)
{
	return l->later.first || l->spare.first || l->held.first ||
	    l->after.first;
}

void
loop_run_later(struct loop *l)
{
	queue_run(l, &l->later);
}

void
loop_run_spare(struct loop *l)
{
	l->running = l->spare;
	l->spare = (struct queue){ 0 };
	while (l->running.first) {
		run_first(l);
		if (loop_is_over(l))
			break;
	}
	put_back(&l->spare, &l->running);
}

void
loop_run_held(struct loop *l)
{
	queue_run(l, &l->held);
}

void
loop_run_after(struct loop *l)
{
	queue_run(l, &l->after);
}

void
loop_bury(struct loop *l, void *p, void (*release)(void *p))
{
	struct grave *grown;

	if (l->graves_n == l->graves_cap) {
		l->graves_cap =
		    l->graves_cap ? l->graves_cap * 2 : GRAVES_FIRST;
		grown = realloc(l->graves, l->graves_cap * sizeof(*grown));
		BUG_IF(!grown);
		l->graves = grown;
	}
	l->graves[l->graves_n++] = (struct grave){ p, release };
}

void
loop_fill_graves(struct loop *l)
{
	/* A release may bury what it held; the list may move meanwhile. */
	for (size_t i = 0; i < l->graves_n; i++) {
		struct grave g = l->graves[i];

		g.release(g.p);
	}
	l->graves_n = 0;
}
