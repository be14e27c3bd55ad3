/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proofs on the gateway's loop. A chain child <= parent <= maximum is proved
 * link by link, in slices of so many steps: one slice a tick, in turn between
 * those who asked (a tree of sandboxes, a user), and then between the proofs of
 * each. Who asks for many delays another's by one slice for each of its own.
 * What a slice costs is counted and never timed, so that a verdict is the same
 * whatever else the gateway does.
 */
#ifndef GATEWAY_PROOF_H
#define GATEWAY_PROOF_H

#include "gateway/inner.h"
#include "prover/prover.h"

enum {
	PROOF_TURNS = 8, /* that hold memory at once: policies, a prover; */
	PROOF_ASKER_TURNS = 4, /* of one asker */
	PROOF_MOST = 256,      /* and with those that wait for a turn */
	PROOF_ASKER_MOST = 64, /* a tree may be asked for so much at once */
	PROOF_ASKER = LIMIT_ID + 16,
};

enum proof_link {
	PROOF_PARENT,
	PROOF_MAXIMUM,
	PROOF_LINKS,
};

/* Embedded in its owner; what it points to lives until it is done. */
struct proof {
	/* in */
	const struct policy *child;              /* completed */
	const struct policy *above[PROOF_LINKS]; /* NULL: no such link */
	const struct prover_image *image;
	struct arena *arena;
	void (*done)(struct proof *p); /* later, never from proof_begin() */
	void *owner;
	bool has_turn; /* its owner waited for one, and holds memory since */
	char asker[PROOF_ASKER]; /* whose turns it takes */
	/* out: WITHIN, or the first link that is not */
	struct prover_result result;
	enum proof_link link;
	uint64_t steps; /* of all links, so far */
	/* proof.c's own */
	struct gateway *g;
	struct prover *prover;
	struct proof *next;
	uint64_t served; /* when its asker was, last */
	bool queued;
};

/*
 * BUSY when too many wait, of all or of its asker. One without a link is a turn: done is told when it
 * comes, and may do as much as a slice does (read a policy). What it begins
 * then, with has_turn, goes on in that turn: no other one comes before.
 */
int proof_begin(struct gateway *g, struct proof *p, struct fault *f) MUST_CHECK;
/* It is not wanted any more; fine when it is done. */
void proof_drop(struct proof *p);
const char *proof_link_name(enum proof_link link); /* "maximum" */

#endif
