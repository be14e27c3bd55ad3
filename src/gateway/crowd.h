/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that share a limit. When it is reached the next one takes the
 * place of one that does nothing. Those from which no good request has come
 * have a quarter of the places: past it the longest of them goes, of those whose
 * turn to be heard has come, if there are such. Else it is
 * one between two requests, the longest of whoever has most of those. So
 * whoever opens connections without end shuts out himself.
 */
#ifndef GATEWAY_CROWD_H
#define GATEWAY_CROWD_H

#include <stdbool.h>
#include <stddef.h>

enum crowd_rank {
	CROWD_NEW,  /* nothing good has come from it yet */
	CROWD_IDLE, /* it waits for its peer */
	CROWD_RANKS,
	CROWD_BUSY = CROWD_RANKS, /* its peer waits for it: it stays */
};

struct crowd;
struct crowd_owner;

/* Embedded in the connection. */
struct crowd_seat {
	/* Close the connection, which leaves the crowd before it returns. */
	void (*close)(struct crowd_seat *s);
	struct crowd *crowd; /* NULL: in none */
	enum crowd_rank rank;
	bool
	    is_unheard; /* it has sent what nobody has read: set by its owner */
	struct crowd_owner *owner; /* NULL: nobody knows */
	struct crowd_seat *next;   /* of those of that rank, but CROWD_BUSY */
	struct crowd_seat *prev;
};

struct crowd {
	size_t n;
	size_t max;
	struct crowd_seat *first[CROWD_RANKS]; /* the longest there */
	struct crowd_seat *last[CROWD_RANKS];
	size_t ranked[CROWD_RANKS];
	struct crowd_owner *owners; /* those that have a seat */
};

/* As CROWD_NEW; past max too: ask crowd_make_room() before. */
void crowd_join(struct crowd *c, struct crowd_seat *s);
/* Nothing when it is in no crowd. */
void crowd_leave(struct crowd_seat *s);
/* Who sits there, by a name that is copied; another one than before may. */
void crowd_own(struct crowd_seat *s, const char *name);
/* It did something: it is the last of its rank from here on. */
void crowd_rank(struct crowd_seat *s, enum crowd_rank rank);
/* Is there room for one more, or one that would make it? */
bool crowd_has_room(const struct crowd *c);
/* One more has come: one is closed if need be. False: all are busy. */
bool crowd_make_room(struct crowd *c);

#endif
