/* SPDX-License-Identifier: Apache-2.0 */
/* What the grant room refuses, as the refusal of a call. */
#ifndef GATEWAY_REFUSE_H
#define GATEWAY_REFUSE_H

#include "gateway/call.h"
#include "gateway/state.h"

/* Always -1: *f, c's hint and c's refusal say what r does. */
int refuse(struct call *c, const struct grant_refusal *r, struct fault *f);
/* LIMIT of the gateway itself, which nobody raises. Always -1. */
int refuse_full(struct call *c, const char *limit, size_t used, size_t max,
    struct fault *f);
/* *f was said of a row in that state: a NOT_READY tells it. Always -1. */
int refuse_in_state(struct call *c, uint32_t state, const struct fault *f);
/* *f was said of that name: an ALREADY_EXISTS tells it. Always -1. */
int refuse_taken(struct call *c, const char *name, const struct fault *f);

#endif
