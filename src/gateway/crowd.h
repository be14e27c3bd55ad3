/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that share a limit. When it is reached the next one takes the
 * place of one that does nothing: first of those from which no good request
 * has come, then of those between two requests; each time the longest one. So
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

/* Embedded in the connection. */
struct crowd_seat {
	/* Close the connection, which leaves the crowd before it returns. */
	void (*close)(struct crowd_seat *s);
	struct crowd *crowd; /* NULL: in none */
	enum crowd_rank rank;
	struct crowd_seat *next; /* of those of that rank, but CROWD_BUSY */
	struct crowd_seat *prev;
};

struct crowd {
	size_t n;
	size_t max;
	struct crowd_seat *first[CROWD_RANKS]; /* the longest there */
	struct crowd_seat *last[CROWD_RANKS];
};

/* As CROWD_NEW; past max too: ask crowd_has_room() before. */
void crowd_join(struct crowd *c, struct crowd_seat *s);
/* Nothing when it is in no crowd. */
void crowd_leave(struct crowd_seat *s);
/* It did something: it is the last of its rank from here on. */
void crowd_rank(struct crowd_seat *s, enum crowd_rank rank);
/* Is there room for one more, after one is closed if need be? */
bool crowd_has_room(struct crowd *c);

#endif
