/* SPDX-License-Identifier: Apache-2.0 */
/* What the grant room refuses, as the refusal of a call. */
#ifndef GATEWAY_REFUSE_H
#define GATEWAY_REFUSE_H

#include "gateway/call.h"

/* Always -1: *f, c's hint and c's refusal say what r does. */
int refuse(struct call *c, const struct grant_refusal *r, struct fault *f);

#endif
