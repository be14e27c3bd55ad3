/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a child needs to be started again, and to have its policy written: a
 * place under its parent, as when it was created.
 */
#ifndef GATEWAY_RESTART_H
#define GATEWAY_RESTART_H

#include "gateway/call.h"
#include "policy/policy.h"

/* The policy that one of the row must be within; false: it is a root. */
int restart_above(struct call *c, const char *id, struct policy *above,
    bool *is_child, struct fault *f) MUST_CHECK;
/* In the transaction of a start: running parent, live grant, breadth, a place
 * in the line. A root needs none of it. */
int restart_take(struct call *c, const char *id, struct fault *f) MUST_CHECK;

#endif
