/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy that a sandbox's children must be within: the one in force in it.
 * While it has a machine that is what its launch was given and its guest has
 * confirmed; a policy written since holds from the next start, and so does
 * what it allows to children.
 */
#ifndef GATEWAY_BOUNDARY_H
#define GATEWAY_BOUNDARY_H

#include "gateway/inner.h"
#include "gateway/object.h"
#include "policy/policy.h"

struct boundary {
	char parent[LIMIT_ID + 1]; /* whose; empty: nothing is above */
	struct span text;          /* canonical, as policy in an arena */
	struct policy policy;
	uint32_t generation; /* of it */
	uint32_t written;    /* the parent's newest */
	bool in_force;       /* it has a machine that runs under it */
};

/* Of the row's children: text and generations, not the policy. BUSY when the
 * guest has yet to confirm it. */
int boundary_read(const struct store_sandbox *row, struct arena *a,
    struct boundary *b, struct fault *f) MUST_CHECK;
/* And the policy. */
int boundary_of(const struct store_sandbox *row, struct arena *a,
    struct boundary *b, struct fault *f) MUST_CHECK;
/* What is above the sandbox of that id. */
int boundary_above(struct gateway *g, const char *id, struct arena *a,
    struct boundary *b, struct fault *f) MUST_CHECK;
/* In the effect of what was judged under b: BUSY when another policy is in
 * force there by now. */
int boundary_again(struct gateway *g, struct boundary *b, struct arena *a,
    struct fault *f) MUST_CHECK;

/*
 * Into *p: its policy was proved within b. is_new: a policy that nothing was
 * ever judged by. True: the parent's newest policy is another one, and the
 * sweep must look (stale.h).
 */
bool boundary_mark(const struct boundary *b, bool is_new,
    struct object_policy *p);

#endif
