/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that are counted, not recorded one by one: those without an
 * identity, and those over their rate. Each peer has one row a minute for
 * each of both; how many there are costs nobody more than that.
 */
#ifndef GATEWAY_TALLY_H
#define GATEWAY_TALLY_H

#include "gateway/inner.h"

/* One more of that peer ("uid:1000", "sandbox:<id>", "127.0.0.1"), refused
 * with UNAUTHENTICATED or RATE_LIMITED. */
void tally_count(struct gateway *g, const char *peer, enum fault_code why);
/* Write what is counted, at the end of the gateway. */
void tally_close(struct gateway *g);

#endif
