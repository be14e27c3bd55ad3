/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox's place in its tree makes of its life: agents below the root
 * end with their main process, and whoever goes takes all below along, leaves
 * first. For sandbox.c, which moves rows.
 */
#ifndef GATEWAY_KIN_H
#define GATEWAY_KIN_H

#include "gateway/inner.h"
#include "gateway/state.h"

/* Where the row goes instead of `next`. */
int kin_next(struct gateway *g, const struct store_sandbox *row,
    enum state_event event, enum state *next, struct fault *f) MUST_CHECK;
/* The row was moved by the event from `before`: its lineage follows. */
int kin_moved(struct gateway *g, const struct store_sandbox *row,
    enum state before, struct fault *f) MUST_CHECK;
/* It is removed: what it took and did not use is given back. */
int kin_removed(struct gateway *g, const struct store_sandbox *row,
    struct fault *f) MUST_CHECK;

/*
 * The cascade. After `top` was moved: mark all below it, in the same
 * transaction, each by move (of one row, without this). It rests on states
 * alone, so a gateway that comes back goes on with it.
 */
typedef int (*kin_move)(struct gateway *g, struct store_sandbox *row,
    enum state_event event, struct fault *f);
int kin_cascade(struct gateway *g, const struct store_sandbox *top,
    enum state_event event, kin_move move, struct fault *f) MUST_CHECK;
/* Must the row wait for others below? *gentle: it is part of a cascade. */
bool kin_holds(struct gateway *g, const struct store_sandbox *row,
    bool *gentle);
/* It has come to rest: those that waited for it are settled again. */
void kin_wake(struct gateway *g, const struct store_sandbox *row);

#endif
