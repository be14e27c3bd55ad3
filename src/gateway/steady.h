/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time by which this gateway judges what it has signed: the host's clock
 * as it was when a gateway first began after the host's start, and from there
 * on one that nobody sets. A gateway that comes back goes on with it, so a host
 * clock that is set ahead ends no life and one that is set back lengthens none.
 */
#ifndef GATEWAY_STEADY_H
#define GATEWAY_STEADY_H

#include "gateway/inner.h"

/* From the store, or kept there from now on; what was written is committed. */
int steady_open(struct gateway *g, struct fault *f) MUST_CHECK;
/* Seconds since the epoch, as it says. */
int64_t steady_now_s(const struct gateway *g);

#endif
