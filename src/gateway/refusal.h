/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The object that goes with every refusal (nacre.v1.Refusal): code, message
 * and hint always, more where the code has more to say. One form for all
 * surfaces; a handler adds what it knows by refusal_of().
 */
#ifndef GATEWAY_REFUSAL_H
#define GATEWAY_REFUSAL_H

#include "gateway/call.h"
#include "proto/nacre_v1.pb.h"

enum {
	REFUSAL_BYTES = 4096, /* what rpc_finish() takes; peers take no more */
};

/* What c's refusal says beside code, message, hint and field: made when first
 * asked for, in the arena. NULL when that is spent: then it says no more. */
nacre_v1_Refusal *refusal_of(struct call *c);
/*
 * The object of c's fault, encoded into b. A counterexample whose parts make
 * it too long keeps its words; one that still is loses them.
 */
struct span refusal_encode(struct call *c, struct buf *b);
/* The same as one JSON object, appended to b. */
int refusal_json(struct call *c, struct buf *b, struct fault *f) MUST_CHECK;

#endif
