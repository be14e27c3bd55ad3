/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that wait for a sandbox of a tree: creates until it runs, has failed,
 * or their time is up (who leaves before takes the start along); stops and
 * deletes until it has come to rest.
 */
#ifndef GATEWAY_AWAIT_H
#define GATEWAY_AWAIT_H

#include "gateway/call.h"

/* An answer: take c over for the sandbox of c->sandbox_id. A wait counts from
 * when the call began, so that all that it does is within one. */
void await_start(struct call *c, int64_t wait_ms);
/* The same, and go on with run when it runs; then c is run's. */
void await_running(struct call *c, void (*run)(struct call *c));
/* call->undo of a create whose client left before it had an answer. */
void await_undo(struct call *c);
/* Until it is at rest or gone; then the message leaves, or, where that is
 * NULL, what is said of it then. Who leaves changes nothing. */
struct pb_msgdesc_s;
void await_rest(struct call *c, const struct pb_msgdesc_s *fields,
    const void *message);
/* Its row was changed or removed in this tick. */
void await_changed(struct gateway *g, const char *id);
/* What is said of a sandbox, there or gone; its texts are in the arena. */
struct _nacre_v1_Child;
void await_tell(const struct store_lineage *l, struct arena *a,
    struct _nacre_v1_Child *out);
int await_describe(struct call *c, const char *id, struct _nacre_v1_Child *out,
    struct fault *f) MUST_CHECK;

#endif
