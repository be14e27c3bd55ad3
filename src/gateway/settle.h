/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settling: what a sandbox's row asks for once it is durable, against what is
 * there, and the next act towards it.
 */
#ifndef GATEWAY_SETTLE_H
#define GATEWAY_SETTLE_H

#include "gateway/inner.h"

/* Look at that sandbox after this tick's commit; soon, with many others. */
void settle_later(struct gateway *g, const char *id);
/* After a restart, or a commit that failed: look at all, some a tick. */
void settle_all(struct gateway *g);
/* The same in a second: the store failed. */
void settle_again(struct gateway *g);
/* Something was written: a tick must follow, which commits. */
void settle_wake(struct gateway *g);

void settle_init(struct gateway *g);

#endif
