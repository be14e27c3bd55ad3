/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes: rows of the store that events move along the state table. The
 * store is the truth; a machine is what happens to be there.
 */
#ifndef GATEWAY_SANDBOX_H
#define GATEWAY_SANDBOX_H

#include "gateway/inner.h"
#include "gateway/state.h"
#include "proto/nacre_store.pb.h"

struct call;
struct vm;

/* Why an event happened, for the row and for the record. */
struct cause {
	const char *reason; /* one word: "timeout" */
	const char *detail; /* a sentence */
	bool has_exit;
	int32_t exit_code;
};

/* May there be one more, of a user or of an agent? LIMIT. */
int sandbox_may_add(struct call *c, struct fault *f) MUST_CHECK;
/*
 * Move the row by an event: written, watchers told after the commit, settled
 * after the commit. why may be NULL. *verdict says what the table said; a
 * REFUSE is a fault (NOT_READY), the others are not.
 */
int sandbox_move(struct gateway *g, struct store_sandbox *row,
    enum state_event event, const struct cause *why,
    enum state_verdict *verdict, struct fault *f) MUST_CHECK;
/* The same of what nobody asked for: with a row of the record by the gateway.
 * Another verdict than MOVE has no effect. */
int sandbox_move_own(struct gateway *g, struct store_sandbox *row,
    enum state_event event, const struct cause *why,
    struct fault *f) MUST_CHECK;
/* As sandbox_move() of the row of that id for something that happened to it,
 * with a row of the record by the gateway. Faults are logged; false: it could
 * not be written. */
bool sandbox_event(struct gateway *g, const char *id, enum state_event event,
    const struct cause *why);
/* The same, of a row that was just read; it is changed with what is kept. */
bool sandbox_row_event(struct gateway *g, struct store_sandbox *row,
    enum state_event event, const struct cause *why);
/* A machine that was given to a sandbox is gone, and why. */
void sandbox_machine_gone(struct gateway *g, const struct vm *vm,
    const struct fault *why);

/* Facts of the launch: read, change, write back. */
int sandbox_facts(const struct store_sandbox *row, struct arena *a,
    nacre_store_v1_Facts *out, struct fault *f) MUST_CHECK;
int sandbox_set_facts(struct store_sandbox *row, struct arena *a,
    const nacre_store_v1_Facts *facts, struct fault *f) MUST_CHECK;
int sandbox_plan(const struct store_sandbox *row, struct arena *a,
    nacre_store_v1_Plan *out, struct fault *f) MUST_CHECK;

#endif
