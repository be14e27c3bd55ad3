/* SPDX-License-Identifier: Apache-2.0 */
/* Two queues and a count; crowd.h has the contracts. */
#include "base/base.h"
#include "gateway/crowd.h"

static void
queue_add(struct crowd_seat *s)
{
	struct crowd *c = s->crowd;

	if (s->rank == CROWD_BUSY)
		return;
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
	if (s->prev != NULL)
		s->prev->next = s->next;
	else
		c->first[s->rank] = s->next;
	if (s->next != NULL)
		s->next->prev = s->prev;
	else
		c->last[s->rank] = s->prev;
}

void
crowd_join(struct crowd *c, struct crowd_seat *s)
{
	s->crowd = c;
	s->rank = CROWD_NEW;
	c->n++;
	queue_add(s);
}

void
crowd_leave(struct crowd_seat *s)
{
	if (s->crowd == NULL)
		return;
	queue_remove(s);
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

bool
crowd_has_room(struct crowd *c)
{
	for (int i = 0; i < CROWD_RANKS && c->n >= c->max; i++)
		if (c->first[i] != NULL)
			c->first[i]->close(c->first[i]);
	return c->n < c->max;
}
