/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record as the gateway keeps it: signed when it starts, when it stops
 * and every AUDIT_EVERY rows, pruned in slices, and told as messages.
 */
#ifndef GATEWAY_RECORD_H
#define GATEWAY_RECORD_H

#include "gateway/call.h"

struct _nacre_v1_AuditRow;
struct _nacre_v1_AuditCheckpoint;
struct _nacre_v1_AuditFilter;

/* Rows and checkpoints of the start and of the end, committed. */
int record_open(struct gateway *g, struct fault *f) MUST_CHECK;
void record_close(struct gateway *g);
/* Before and after the commit of a tick. */
void record_seal(struct gateway *g);
void record_committed(struct gateway *g);

/* The row of a call as it stands, in the open transaction. */
int record_call(struct call *c, struct fault *f) MUST_CHECK;
/* A row by the gateway about the sandbox in it: time, caller and the place in
 * the tree are filled in, the user is added to the detail. */
int record_own(struct gateway *g, const struct audit_row *told,
    struct fault *f) MUST_CHECK;

/* As messages, in the arena. LIMIT when that is spent. */
int record_row(const struct store_audit *row, struct arena *a,
    struct _nacre_v1_AuditRow *out, struct fault *f) MUST_CHECK;
int record_checkpoint(const struct store_checkpoint *c, struct arena *a,
    struct _nacre_v1_AuditCheckpoint *out, struct fault *f) MUST_CHECK;
/* What a client wants of it: fills in the filter's texts and times. *is_all:
 * it wants everything. */
int record_filter(struct gateway *g, const struct _nacre_v1_AuditFilter *ask,
    struct arena *a, struct store_audit_filter *out, bool *is_all,
    struct fault *f) MUST_CHECK;

/* do_follow.c: rows may have come. */
void follow_committed(struct gateway *g);

#endif
