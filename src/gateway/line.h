/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line of starts: who is reserved, a root too, waits here for its turn.
 * It is in memory alone and made again from the rows after a restart.
 */
#ifndef GATEWAY_LINE_H
#define GATEWAY_LINE_H

#include "gateway/inner.h"
#include "grant/grant.h"

const struct grant_queue *line_queue(struct gateway *g);
/* For the transaction that reserves, before or in it: it is settled after the
 * commit, and leaves if that was rolled back. -1 and BUSY: there is no room. */
int line_join(struct gateway *g, const char *id, uint64_t tree, bool is_root,
    struct grant_refusal *r) MUST_CHECK;
/* In the same transaction, the row being reserved and written: when nobody
 * else waits and a start is free it begins at once. */
int line_begin(struct gateway *g, struct store_sandbox *row,
    struct fault *f) MUST_CHECK;
/* After the commit: the row's state is so now; -1: there is no row. */
void line_settle(struct gateway *g, const char *id, int state);
/* All that have their turn are looked at, whatever became of them: a start that
 * nobody gives back is one less for good. */
void line_look(struct gateway *g);
/* Those that wait since before this gateway began. */
int line_open(struct gateway *g, struct fault *f) MUST_CHECK;
void line_close(struct gateway *g);

#endif
