/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes whose policy is not inside the maximum of now, or not inside the
 * policy that was last written to their parent. After each change of one all
 * are judged anew, one after the other, in the background; nothing that runs
 * is touched. One row of the record each when one becomes stale.
 */
#ifndef GATEWAY_STALE_H
#define GATEWAY_STALE_H

#include "gateway/inner.h"

/* Begin, or begin again; also at the gateway's start, where a restart may
 * have cut one short. What is judged already is left alone. */
void stale_begin(struct gateway *g);
void stale_close(struct gateway *g);

#endif
