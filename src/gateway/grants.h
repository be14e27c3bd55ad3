/* SPDX-License-Identifier: Apache-2.0 */
/* Grants of trees: made, told, ended; for calls and for the create of a root. */
#ifndef GATEWAY_GRANTS_H
#define GATEWAY_GRANTS_H

#include "gateway/call.h"
#include "gateway/sandbox.h"
#include "gateway/tree.h"
#include "proto/nacre_v1.pb.h"

/* What a message asks for: absent is not zero. */
struct grants_ask {
	bool has[GRANT_LIMITS];
	int64_t max[GRANT_LIMITS];
	const char *expires;
	char *const *programs;
	size_t programs_n;
};
int grants_wish(const struct grants_ask *ask, struct grant_wish *w,
    struct fault *f) MUST_CHECK;
/* Stop it in the open transaction, as it is by now: one above may have taken
 * it along. */
int grants_stop(struct gateway *g, const char *id, const struct cause *why,
    struct fault *f) MUST_CHECK;
/* The tree's grant is ended, and written; that the clock had ended it is put
 * on record. In the open transaction. */
int grants_end(struct gateway *g, struct tree *t, enum grant_state state,
    struct fault *f) MUST_CHECK;
/* A new grant for a tree without a live one, from a checked wish, in the open
 * transaction; the one before it is replaced, and whoever waits under it
 * leaves. t is read anew. */
int grants_make(struct call *c, struct tree *t, const struct grant_wish *w,
    struct fault *f) MUST_CHECK;
/* As clients see it; all of it in a. The tree has one. */
void grants_tell(const struct tree *t, struct arena *a, nacre_v1_Grant *out);

#endif
