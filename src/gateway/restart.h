/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox needs to be started again: a place in the line and, of a
 * child, one under its parent, as when it was created.
 */
#ifndef GATEWAY_RESTART_H
#define GATEWAY_RESTART_H

#include "gateway/boundary.h"
#include "gateway/judge.h"

/* In the transaction of a start: a place in the line, and of a child running
 * parent, live grant, breadth. */
int restart_take(struct call *c, const char *id, struct fault *f) MUST_CHECK;

/* What a start was judged by, in the call's arena. */
struct restart {
	struct policy policy;
	struct boundary above;
	struct scene scene;
	struct judgement judgement;
};
/* From a decide, in its turn: prove the row again, for the maximum or its
 * parent's policy may have been narrowed. */
int restart_judge(struct call *c, struct restart *r,
    const struct store_sandbox *row, struct fault *f) MUST_CHECK;
/* In the effect: into the row, which is not written, what it was proved under.
 * BUSY when it is another question by now. */
int restart_mark(struct call *c, struct restart *r, struct store_sandbox *row,
    struct fault *f) MUST_CHECK;

#endif
