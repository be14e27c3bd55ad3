/* SPDX-License-Identifier: Apache-2.0 */
/* Two queues, a count, and who has how many; crowd.h has the contracts. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "gateway/crowd.h"

/* Lives as long as it has a seat. */
struct crowd_owner {
	struct crowd_owner *next;
	size_t seats;
	size_t idle; /* of them */
	char name[];
};

static void
count_idle(struct crowd_seat *s, bool more)
{
	if (s->owner == NULL || s->rank != CROWD_IDLE)
		return;
	if (more)
		s->owner->idle++;
	else
		s->owner->idle--;
}

static void
queue_add(struct crowd_seat *s)
{
	struct crowd *c = s->crowd;

	if (s->rank == CROWD_BUSY)
		return;
	count_idle(s, true);
	c->ranked[s->rank]++;
	s->next = NULL;
	s->prev = c->last[s->rank];
	if (s->prev != NULL)
		s->prev->next = s;
	else
		c->first[s->rank] = s;
	c->last[s->rank] = s;
}

static void
queue_remove(struct crowd_seat *s)
{
	struct crowd *c = s->crowd;

	if (s->rank == CROWD_BUSY)
		return;
	count_idle(s, false);
	c->ranked[s->rank]--;
	if (s->prev != NULL)
		s->prev->next = s->next;
	else
		c->first[s->rank] = s->next;
	if (s->next != NULL)
		s->next->prev = s->prev;
	else
		c->last[s->rank] = s->prev;
}

static void
disown(struct crowd_seat *s)
{
	struct crowd_owner *o = s->owner;
	struct crowd_owner **at = &s->crowd->owners;

	if (o == NULL)
		return;
	count_idle(s, false);
	s->owner = NULL;
	if (--o->seats > 0)
		return;
	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	free(o);
}

static struct crowd_owner *
owner_of(struct crowd *c, const char *name)
{
	size_t n = strlen(name) + 1;
	struct crowd_owner *o = c->owners;

	while (o != NULL && strcmp(o->name, name) != 0)
		o = o->next;
	if (o != NULL)
		return o;
	o = must_alloc(sizeof(*o) + n);
	memcpy(o->name, name, n);
	o->next = c->owners;
	c->owners = o;
	return o;
}

void
crowd_own(struct crowd_seat *s, const char *name)
{
	if (s->crowd == NULL ||
	    (s->owner != NULL && strcmp(s->owner->name, name) == 0))
		return;
	disown(s);
	s->owner = owner_of(s->crowd, name);
	s->owner->seats++;
	count_idle(s, true);
}

void
crowd_join(struct crowd *c, struct crowd_seat *s)
{
	s->crowd = c;
	s->rank = CROWD_NEW;
	s->is_unheard = false;
	s->owner = NULL;
	c->n++;
	queue_add(s);
}

void
crowd_leave(struct crowd_seat *s)
{
	if (s->crowd == NULL)
		return;
	queue_remove(s);
	s->rank = CROWD_BUSY; /* it is in no queue */
	disown(s);
	s->crowd->n--;
	s->crowd = NULL;
}

void
crowd_rank(struct crowd_seat *s, enum crowd_rank rank)
{
	if (s->crowd == NULL)
		return;
	queue_remove(s);
	s->rank = rank;
	queue_add(s);
}

static size_t
idle_with(const struct crowd_seat *s)
{
	return s->owner != NULL ? s->owner->idle : 1;
}

/* The longest idle one of whoever has most of them; NULL: there is none. */
static struct crowd_seat *
idlest(const struct crowd *c)
{
	struct crowd_seat *most = c->first[CROWD_IDLE];

	for (struct crowd_seat *s = most; s != NULL; s = s->next)
		if (idle_with(s) > idle_with(most))
			most = s;
	return most;
}

/* Many may have come since the one that asks; it has its turn before. */
static struct crowd_seat *
longest_new(const struct crowd *c)
{
	struct crowd_seat *s = c->first[CROWD_NEW];

	while (s != NULL && s->is_unheard)
		s = s->next;
	return s != NULL ? s : c->first[CROWD_NEW];
}

static size_t
new_places(const struct crowd *c)
{
	return c->max < 4 ? 1 : c->max / 4;
}

bool
crowd_has_room(const struct crowd *c)
{
	return c->n < c->max || c->ranked[CROWD_NEW] > 0 ||
	    c->ranked[CROWD_IDLE] > 0;
}

bool
crowd_make_room(struct crowd *c)
{
	struct crowd_seat *s;

	if (c->n < c->max)
		return true;
	s = idlest(c);
	if (s == NULL || c->ranked[CROWD_NEW] >= new_places(c))
		s = longest_new(c);
	if (s != NULL)
		s->close(s);
	return c->n < c->max;
}
