/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which token a reconnect may come with. `given` is the epoch that was made
 * durable last; its tokens may never have arrived (the gateway or the tunnel
 * died before the answer). `confirmed` is the newest epoch that the guest has
 * shown to hold: by its token, or by saying so; 0 while there is none. Good
 * are those two and nothing before or between. Each reconnect moves `given`
 * up, and once it is confirmed all that came before it is dead.
 */
#ifndef GATEWAY_EPOCH_H
#define GATEWAY_EPOCH_H

#include <stdint.h>

#include "base/fault.h"

/* A guest that names the last number could never come back: so far it may be
 * ahead, for reconnects of which it has lost count. */
#define EPOCH_STEP 1000

/* 0, or UNAUTHENTICATED (token, epoch not higher) or INVALID (too high). */
int epoch_check(uint64_t given, uint64_t confirmed, uint64_t token,
    uint64_t asked, struct fault *f) MUST_CHECK;

#endif
