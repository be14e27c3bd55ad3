/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sandbox a call is about, with its tree and who asks. A user names any
 * by id, by name or by path ("lead/worker"); a sandbox names what is below it,
 * a child by its own name. What a caller may not see is not found.
 */
#ifndef GATEWAY_WHICH_H
#define GATEWAY_WHICH_H

#include "gateway/call.h"
#include "gateway/tree.h"

struct which {
	struct tree tree;
	struct grant_caller caller;
	struct grant_ask ask;
	uint32_t node;
	const struct store_lineage *row; /* of node */
};

/* text NULL or empty: the calling sandbox itself; INVALID from a user. */
int which_open(struct call *c, const char *text, const char *field,
    struct which *w, struct fault *f) MUST_CHECK;
/* The same sandbox again, as its tree is now. */
int which_again(struct call *c, struct which *w, struct fault *f) MUST_CHECK;
/* Its row of sandboxes. */
int which_row(struct call *c, const struct which *w, struct store_sandbox *row,
    struct fault *f) MUST_CHECK;

#endif
