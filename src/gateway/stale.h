/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes whose policy is not inside the maximum of now. After each change
 * of it all are judged anew, one after the other, in the background; nothing
 * that runs is touched. One row of the record each when one becomes stale.
 */
#ifndef GATEWAY_STALE_H
#define GATEWAY_STALE_H

#include "gateway/inner.h"

/* Begin, or begin again; also at the gateway's start, where a restart may
 * have cut one short. What is judged already is left alone. */
void stale_begin(struct gateway *g);
void stale_close(struct gateway *g);

#endif
