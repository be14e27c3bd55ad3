/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that several operations share: finding the sandbox that is meant. */
#ifndef GATEWAY_OPEN_H
#define GATEWAY_OPEN_H

#include "gateway/call.h"
#include "gateway/state.h"

struct vm;

/* By name, a child's from its root down ("lead/worker"); notes id and name for
 * the record. */
int open_name(struct call *c, const char *name, struct store_sandbox *row,
    struct fault *f) MUST_CHECK;
int open_id(struct call *c, const char *id, struct store_sandbox *row,
    struct fault *f) MUST_CHECK;
/* By id, else by name: what a client has at hand. */
int open_either(struct call *c, const char *what, struct store_sandbox *row,
    struct fault *f) MUST_CHECK;
/* Commands and files: the sandbox must run. NOT_READY with a hint. */
int open_running(struct call *c, const struct store_sandbox *row,
    struct vm **vm, struct fault *f) MUST_CHECK;

#endif
