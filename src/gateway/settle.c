/* SPDX-License-Identifier: Apache-2.0 */
/*
 * It knows no history, so a restart, a failed commit and an ordinary stop take
 * the same path:
 *
 *   starting        no machine: launch        stopping   machine: end it
 *   running, ended  no machine: it is gone    deleting   machine: kill it,
 *   stopped, failed machine: end it                      else files, then row
 *
 * What of a tree comes first is kin.c's.
 */
#include <string.h>

#include "gateway/fleet.h"
#include "gateway/kin.h"
#include "gateway/line.h"
#include "gateway/sandbox.h"
#include "gateway/settle.h"
#include "gateway/trash.h"
#include "gateway/tree.h"
#include "gateway/vm.h"

enum {
	ROW_ARENA = 4 << 20,
	AGAIN_MS = 1000,
	SLICE_US = 5000, /* a tick */
};

static void
on_wake(struct deferred *d)
{
	(void)d; /* being run is all: the tick commits */
}

void
settle_wake(struct gateway *g)
{
	loop_later(g->loop, &g->wake);
}

void
settle_again(struct gateway *g)
{
	loop_timer_set(g->loop, &g->settle_again, AGAIN_MS);
}

void
settle_later(struct gateway *g, const char *id)
{
	settle_wake(g);
	loop_held(g->loop, &g->settle);
	for (size_t i = 0; i < g->pending_n; i++) {
		if (strcmp(g->pending[i], id) == 0)
			return;
	}
	if (g->pending_n == GATEWAY_PENDING) {
		g->pending_all = true;
		return;
	}
	(void)text_copy(g->pending[g->pending_n++], LIMIT_ID + 1, span_str(id));
}

void
settle_all(struct gateway *g)
{
	g->pending_all = true;
	settle_wake(g);
	loop_held(g->loop, &g->settle);
}

/* Files first: a row that is there again after a crash finds them gone. */
static void
finish_delete(struct gateway *g, struct store_sandbox *row)
{
	struct fault f = { 0 };

	if (trash_put(g, row->id, &f) < 0)
		log_warn(&f, "cannot remove the files of '%s'", row->name);
	sandbox_row_event(g, row, EVENT_GONE, NULL);
}

static void
settle_without_machine(struct gateway *g, struct store_sandbox *row)
{
	static const struct cause lost = {
		.reason = "machine_lost",
		.detail = "its machine ended while the gateway was away",
	};

	switch ((enum state)row->state) {
	case STATE_STARTING:
		fleet_launch(g, row);
		return;
	case STATE_RUNNING:
	case STATE_ENDED:
		sandbox_row_event(g, row, EVENT_GONE, &lost);
		return;
	case STATE_STOPPING:
		sandbox_row_event(g, row, EVENT_GONE, NULL);
		return;
	case STATE_DELETING:
		finish_delete(g, row);
		return;
	case STATE_RESERVED:
	case STATE_STOPPED:
	case STATE_FAILED:
	case STATE_OVER:
	case STATE_REMOVED:
		return;
	}
}

static void
settle_with_machine(struct gateway *g, const struct store_sandbox *row,
    struct vm *vm, bool gentle)
{
	switch ((enum state)row->state) {
	case STATE_STARTING:
		fleet_continue(g, row, vm);
		return;
	case STATE_STOPPING:
		crash_at("after_stop_row");
		vm_end(vm, true);
		return;
	case STATE_DELETING:
		vm_end(vm, gentle);
		return;
	case STATE_RESERVED:
	case STATE_STOPPED:
	case STATE_FAILED:
	case STATE_OVER:
		vm_end(vm, false);
		return;
	case STATE_RUNNING:
	case STATE_ENDED:
	case STATE_REMOVED:
		return;
	}
}

static void
settle(struct gateway *g, struct store_sandbox *row)
{
	struct vm *own = NULL;
	struct vm *vm;
	bool is_held = false;
	bool gentle;

	line_settle(g, row->id, (int)row->state);
	if (row->state == STATE_RESERVED)
		return; /* its turn may have come just now: the row is old */
	if (kin_holds(g, row, &gentle))
		return; /* leaves first; kin_wake() comes back to it */
	vm = vm_find(g, row->machine);
	if (vm != NULL && vm->asked > 0)
		return; /* its keeper is being asked whose it is */
	/* A machine of an earlier launch holds the disk until it is gone. */
	for (vm = vm_first(g); vm != NULL; vm = vm_next(vm)) {
		if (strcmp(vm->sandbox_id, row->id) != 0)
			continue;
		if (strcmp(vm->id, row->machine) == 0) {
			own = vm;
			continue;
		}
		/* Gently when its files are wanted again. */
		vm_end(vm, row->state == STATE_STARTING);
		is_held = true;
	}
	if (is_held)
		return;
	if (own != NULL)
		settle_with_machine(g, row, own, gentle);
	else
		settle_without_machine(g, row);
}

static void
settle_id(struct gateway *g, const char *id)
{
	struct store_sandbox row;
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, ROW_ARENA);
	if (store_sandbox_by_id(g->store, id, &a, &row, &f) == 0) {
		settle(g, &row);
	} else if (f.code == FAULT_NOT_FOUND) {
		fleet_give_back(g, id);
		line_settle(g, id, -1);
		tree_forget(g, id); /* of a root that never was */
	} else {
		log_warn(&f, "cannot read sandbox %s", id);
		settle_again(g);
	}
	arena_release(&a);
}

/* --- all of them, as many at once as fit */

struct noting {
	struct gateway *g;
	bool is_full; /* the rest comes when these have been settled */
};

static bool
is_noted(const struct sandbox_mark *m, const struct store_sandbox *row)
{
	if (!m->is_set || row->created_ms != m->created_ms)
		return m->is_set && row->created_ms < m->created_ms;
	return strcmp(row->name, m->name) <= 0;
}

/* Those that are at rest, with nothing that runs for them, are passed over. */
static int
note_id(void *owner, struct store_sandbox *row, struct fault *f)
{
	struct noting *n = owner;
	struct sandbox_mark *m = &n->g->noted;

	(void)f;
	if (n->is_full || is_noted(m, row) || row->state == STATE_STOPPED ||
	    row->state == STATE_FAILED || row->state == STATE_OVER)
		return 0;
	if (n->g->pending_n == GATEWAY_PENDING) {
		n->is_full = true;
		return 0;
	}
	settle_later(n->g, row->id);
	m->is_set = true;
	m->created_ms = row->created_ms;
	(void)text_copy(m->name, sizeof(m->name), span_str(row->name));
	return 0;
}

static void
note_machines(struct gateway *g)
{
	for (struct vm *vm = vm_first(g); vm != NULL; vm = vm_next(vm)) {
		if (vm->sandbox_id[0] != '\0')
			settle_later(g, vm->sandbox_id);
	}
}

static void
note_all(struct gateway *g)
{
	const struct store_page all = { 0 };
	struct noting n = { .g = g };
	struct fault f = { 0 };

	if (g->pending_all) {
		g->pending_all = false;
		g->noted.is_set = false;
		note_machines(g);
		line_look(g);
	}
	if (store_sandbox_list(g->store, &all, note_id, &n, &f) < 0) {
		log_warn(&f, "cannot list the sandboxes");
		settle_again(g);
	}
	if (!n.is_full)
		g->noted.is_set = false;
}

/*
 * A slice of the work a tick: starting a machine takes milliseconds, and all
 * others wait meanwhile. What is left is settled in the next ticks.
 */
static void
settle_pending(struct deferred *d)
{
	struct gateway *g = CONTAINER_OF(d, struct gateway, settle_now);
	char id[LIMIT_ID + 1];
	int64_t until_us = clock_mono_us() + SLICE_US;

	if ((g->pending_all || g->noted.is_set) && g->pending_n == 0)
		note_all(g);
	while (g->committed_n > 0 && clock_mono_us() < until_us) {
		memcpy(id, g->pending[0], sizeof(id));
		g->committed_n--;
		g->pending_n--;
		memmove(g->pending[0], g->pending[1],
		    g->pending_n * sizeof(g->pending[0]));
		settle_id(g, id);
	}
	if (g->pending_n > 0 || g->pending_all || g->noted.is_set) {
		loop_held(g->loop, &g->settle);
		settle_wake(g);
	}
}

/*
 * What is to be settled has been committed: it waited in the held list for a
 * commit behind it. The answers that did too leave first.
 */
static void
on_settle(struct deferred *d)
{
	struct gateway *g = CONTAINER_OF(d, struct gateway, settle);

	/* else call_commit() has set the timer */
	if (g->commit_fault.code == FAULT_NONE)
		loop_after(g->loop, &g->settle_now);
}

static void
on_again(struct timer *t)
{
	settle_all(CONTAINER_OF(t, struct gateway, settle_again));
}

void
settle_init(struct gateway *g)
{
	g->settle.run = on_settle;
	g->settle_now.run = settle_pending;
	g->wake.run = on_wake;
	g->settle_again.fire = on_again;
}
