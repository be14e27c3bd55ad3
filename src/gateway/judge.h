/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call's policy judged: child <= parent <= maximum, in the image at hand.
 * The call waits for the proof on the loop; what holds goes on, what does not
 * is a refusal with its counterexample. Both are noted for the record.
 */
#ifndef GATEWAY_JUDGE_H
#define GATEWAY_JUDGE_H

#include "gateway/call.h"
#include "gateway/maximum.h"
#include "gateway/proof.h"
#include "gateway/scene.h"

struct judgement {
	/* in; all of it lives as long as the call */
	const struct policy *child;  /* completed */
	const struct policy *parent; /* in effect above it; NULL: a root */
	struct scene *scene;         /* NULL: no image is known */
	/* The root of the tree whose time for proofs this takes, whatever the
	 * verdict; empty: that of the agent who calls, if one does. */
	char tree[LIMIT_ID + 1];
	bool reports; /* a verdict is an answer, no refusal */
	/* The call goes on with this, when it is within. */
	int (*then)(struct call *c, struct fault *f);
	/* out */
	struct maximum maximum; /* it was judged under */
	struct proof proof;
	unsigned tries;
};

/*
 * From a decide, as its last act: go on with prepare when it is c's turn, for
 * reading a policy and an image takes as long as a slice of a proof. j is
 * zeroed.
 */
int judge_turn(struct call *c, struct judgement *j,
    int (*prepare)(struct call *c, struct fault *f),
    struct fault *f) MUST_CHECK;
/*
 * From a decide, as its last act. It may be judged again when the maximum
 * changes meanwhile; the third time it is BUSY.
 */
int judge(struct call *c, struct judgement *j, struct fault *f) MUST_CHECK;
/* c's judgement, in `then`. */
struct judgement *judge_of(struct call *c);

/* A result in other words, in a. */
struct _nacre_v1_Counterexample judge_counterexample(
    const struct prover_result *r, struct arena *a);
/* What to do about an excess, which may be the result's own text. */
const char *judge_hint(const struct proof *p, struct arena *a);
/* "within", or all there is to say in one line. out of 4 KiB is enough. */
void judge_format(const struct proof *p, char *out, size_t size);

enum {
	JUDGE_TEXT = 4096, /* bytes of a counterexample in the record */
};

#endif
