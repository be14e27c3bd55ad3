/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fleet: templates (one a machine size), the clones that wait parked, and
 * the way from a row that starts to a machine that runs it.
 */
#ifndef GATEWAY_FLEET_H
#define GATEWAY_FLEET_H

#include "gateway/check.h"
#include "gateway/inner.h"
#include "machine/machine.h"

struct vm;

struct fleet_paths {
	char keeper[LIMIT_PATH]; /* the program */
	char kernel[LIMIT_PATH];
	char initramfs[LIMIT_PATH];
	char guest[LIMIT_PATH];
	char cache[LIMIT_PATH];
	char keepers[LIMIT_PATH]; /* their sockets */
	char images[LIMIT_PATH];
	char sandboxes[LIMIT_PATH];
};
void fleet_paths(const struct gateway *g, struct fleet_paths *p);

/* Folders, the default template, keepers of an earlier gateway. */
int fleet_open(struct gateway *g, struct fault *f) MUST_CHECK;
void fleet_close(struct gateway *g);

/* Is there memory on the host for one more? Else BUSY. */
int fleet_check_memory(const struct gateway *g, const struct resources *r,
    struct fault *f) MUST_CHECK;
/* In the transaction of a create or start: mark a parked clone for the row
 * (row->machine), when there is one. Writes nothing itself. */
void fleet_reserve(struct gateway *g, struct store_sandbox *row);
/* Its row was never committed: what was marked for it is free again. */
void fleet_give_back(struct gateway *g, const char *id);
/* A row that starts and has no machine: begin one. */
void fleet_launch(struct gateway *g, struct store_sandbox *row);
/* A row that starts and has one: take the next step. */
void fleet_continue(struct gateway *g, const struct store_sandbox *row,
    struct vm *vm);
/* A machine failed before its guest called in: a cold one instead? */
bool fleet_retry(struct gateway *g, struct store_sandbox *row,
    const struct vm *vm);
/* Something came or went: look at the parked clones. */
void fleet_changed(struct gateway *g);
/* A machine is in another phase, or gone. */
void fleet_phase(struct vm *vm);
void fleet_gone(struct vm *vm);
/* A keeper of an earlier gateway has said whose it is. */
void fleet_adopted(struct gateway *g, struct vm *vm);
/* Its first answer came, or did not come in time. */
void fleet_asked(struct gateway *g);
size_t fleet_parked(struct gateway *g);
/* What is known of the machines: any template, or NULL. */
const struct machine_template *fleet_facts(const struct gateway *g);

#endif
