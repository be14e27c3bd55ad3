/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two halves. Moving: an event, the table, the row, one transaction with its
 * row of the record. Settling, after the commit: what a row asks for against
 * what is there, and the next act towards it. Settling knows no history, so
 * a restart, a failed commit and an ordinary stop take the same path:
 *
 *   starting        no machine: launch        stopping   machine: end it
 *   running, ended  no machine: it is gone    deleting   machine: kill it,
 *   stopped, failed machine: end it                      else files, then row
 *
 * What a tree makes of both is kin.c's: whoever goes takes all below along.
 */
#include <string.h>

#include "audit/audit.h"
#include "gateway/await.h"
#include "gateway/fleet.h"
#include "gateway/kin.h"
#include "gateway/line.h"
#include "gateway/object.h"
#include "gateway/sandbox.h"
#include "gateway/trash.h"
#include "gateway/tree.h"
#include "gateway/vm.h"
#include "gateway/watch.h"
#include "wire/wire.h"

enum {
	ROW_ARENA = 4 << 20,
	AGAIN_MS = 1000,
	SLICE_US = 5000, /* of settling, a tick */
};

static void
on_wake(struct deferred *d)
{
	(void)d; /* being run is all: the tick commits */
}

static void
wake(struct gateway *g)
{
	loop_later(g->loop, &g->wake);
}

static void
clear_why(struct store_sandbox *row)
{
	row->reason[0] = '\0';
	row->detail[0] = '\0';
}

static void
begin_launch(struct store_sandbox *row)
{
	row->launches++;
	row->epoch = 0;
	row->machine[0] = '\0';
	row->started_ms = clock_wall_ms();
	row->facts = span_of(NULL, 0);
	uuid_make(row->launch);
}

static void
apply(struct store_sandbox *row, enum state next, const struct cause *why)
{
	/* Why it was to end stays when it has ended. */
	if (why != NULL || (next != STATE_OVER && next != STATE_STOPPED))
		clear_why(row);
	if (why != NULL) {
		/* A guest's words, cut anywhere: a row must stay UTF-8. */
		text_escape(span_str(why->reason), row->reason,
		    sizeof(row->reason));
		text_escape(span_str(why->detail), row->detail,
		    sizeof(row->detail));
		if (why->has_exit) {
			row->has_exit = true;
			row->exit_code = why->exit_code;
		}
	}
	if (next == STATE_RESERVED) {
		row->has_exit = false;
		row->exit_code = 0;
	}
	if (next == STATE_STARTING)
		begin_launch(row);
	if (next == STATE_DELETING)
		row->deleted_ms = clock_wall_ms();
	if (next == STATE_STOPPED)
		row->machine[0] = '\0';
	row->state = next;
}

static int
remove_row(struct gateway *g, struct store_sandbox *row, struct fault *f)
{
	crash_at("before_delete_row");
	if (kin_removed(g, row, f) < 0 ||
	    store_sandbox_remove(g->store, row->id, f) < 0)
		return -1;
	watch_removed(g, row);
	await_changed(g, row->id);
	row->state = STATE_REMOVED;
	wake(g);
	return 0;
}

/* This row alone. */
static int
move(struct gateway *g, struct store_sandbox *row, enum state_event event,
    const struct cause *why, enum state_verdict *verdict, struct fault *f)
{
	struct state_cell cell = state_step((enum state)row->state, event);
	enum state before = (enum state)row->state;

	*verdict = cell.verdict;
	if (cell.verdict == VERDICT_REFUSE)
		return fault_set(f, FAULT_NOT_READY, "sandbox '%s' is %s",
		    row->name, state_name((enum state)row->state));
	if (cell.verdict != VERDICT_MOVE)
		return 0;
	if (cell.next == STATE_REMOVED)
		return remove_row(g, row, f);
	if (kin_next(g, row, event, &cell.next, f) < 0)
		return -1;
	apply(row, cell.next, why);
	if (store_sandbox_update(g->store, row, f) < 0 ||
	    kin_moved(g, row, before, f) < 0)
		return -1;
	watch_changed(g, row->id);
	await_changed(g, row->id);
	sandbox_settle_later(g, row->id);
	return 0;
}

/* One below: it goes because another goes. */
static int
move_below(struct gateway *g, struct store_sandbox *row, enum state_event event,
    struct fault *f)
{
	static const struct cause why = {
		.reason = "parent",
		.detail = "its parent has stopped",
	};
	enum state_verdict verdict;
	bool is_undone =
	    row->state == STATE_RESERVED || row->state == STATE_STARTING;

	return move(g, row, event, is_undone ? &why : NULL, &verdict, f);
}

int
sandbox_move(struct gateway *g, struct store_sandbox *row,
    enum state_event event, const struct cause *why,
    enum state_verdict *verdict, struct fault *f)
{
	if (move(g, row, event, why, verdict, f) < 0)
		return -1;
	if (*verdict != VERDICT_MOVE || row->state == STATE_STARTING ||
	    row->state == STATE_RUNNING || row->state == STATE_RESERVED ||
	    row->state == STATE_REMOVED)
		return 0;
	return kin_cascade(g, row, event, move_below, f);
}

static const char *
verb_of(enum state_event event, uint32_t state)
{
	if (event == EVENT_STOP)
		return "sandbox.stop";
	if (event == EVENT_READY)
		return "sandbox.ready";
	if (event == EVENT_EXIT)
		return "sandbox.exit";
	if (event == EVENT_FAIL || state == STATE_STARTING)
		return "sandbox.failed";
	if (state == STATE_STOPPING)
		return "sandbox.stopped";
	if (state == STATE_DELETING)
		return "sandbox.deleted";
	return "sandbox.lost";
}

static int
record_event(struct gateway *g, const struct store_sandbox *row,
    enum state_event event, const struct cause *why, struct fault *f)
{
	bool is_failure = event == EVENT_FAIL ||
	    (event == EVENT_GONE && row->state != STATE_STOPPING &&
		row->state != STATE_DELETING);
	char detail[STORE_DETAIL + 32] = "";

	if (why != NULL && why->has_exit)
		(void)text_fmt(detail, sizeof(detail), "exit code %d %s",
		    (int)why->exit_code, why->reason);
	else if (why != NULL)
		(void)text_fmt(detail, sizeof(detail), "%s", why->detail);
	const struct audit_row out = {
		.time_ms = clock_wall_ms(),
		.caller = "gateway",
		.verb = verb_of(event, row->state),
		.sandbox_id = row->id,
		.sandbox = row->name,
		.verdict = is_failure ? AUDIT_FAILED : AUDIT_OK,
		.reason = why == NULL ? "" : why->reason,
		.detail = detail,
	};

	return audit_append(g->store, &out, f);
}

/* In one mark: the row and its record, or neither. */
static int
move_and_record(struct gateway *g, struct store_sandbox *row,
    enum state_event event, const struct cause *why, struct fault *f)
{
	struct state_cell cell = state_step((enum state)row->state, event);
	const struct store_sandbox before = *row;
	enum state_verdict verdict;

	if (cell.verdict != VERDICT_MOVE)
		return 0;
	if (store_mark(g->store, f) < 0)
		return -1;
	if (sandbox_move(g, row, event, why, &verdict, f) < 0 ||
	    record_event(g, &before, event, why, f) < 0) {
		store_back(g->store);
		return -1;
	}
	store_keep(g->store);
	return 0;
}

static void
try_again(struct gateway *g)
{
	g->pending_all = true;
	loop_timer_set(g->loop, &g->settle_again, AGAIN_MS);
}

static void
event_of_row(struct gateway *g, struct store_sandbox *row,
    enum state_event event, const struct cause *why)
{
	struct fault f = { 0 };

	wake(g);
	if (move_and_record(g, row, event, why, &f) == 0)
		return;
	log_warn(&f, "cannot keep what happened to sandbox '%s'", row->name);
	try_again(g);
}

void
sandbox_event(struct gateway *g, const char *id, enum state_event event,
    const struct cause *why)
{
	struct store_sandbox row;
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, ROW_ARENA);
	if (store_sandbox_by_id(g->store, id, &a, &row, &f) == 0)
		event_of_row(g, &row, event, why);
	else if (f.code != FAULT_NOT_FOUND)
		log_warn(&f, "cannot read sandbox %s", id);
	arena_release(&a);
}

void
sandbox_settle_later(struct gateway *g, const char *id)
{
	wake(g);
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
sandbox_settle_all(struct gateway *g)
{
	g->pending_all = true;
	wake(g);
	loop_held(g->loop, &g->settle);
}

/* Files first: a row that is there again after a crash finds them gone. */
static void
finish_delete(struct gateway *g, struct store_sandbox *row)
{
	struct fault f = { 0 };

	if (trash_put(g, row->id, &f) < 0)
		log_warn(&f, "cannot remove the files of '%s'", row->name);
	event_of_row(g, row, EVENT_GONE, NULL);
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
		event_of_row(g, row, EVENT_GONE, &lost);
		return;
	case STATE_STOPPING:
		event_of_row(g, row, EVENT_GONE, NULL);
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
	if (vm != NULL && vm->adopted && !vm->known)
		return; /* its keeper is being asked who it is */
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
		try_again(g);
	}
	arena_release(&a);
}

/* Those that are at rest, with nothing that runs for them, are passed over. */
static int
note_id(void *owner, struct store_sandbox *row, struct fault *f)
{
	struct gateway *g = owner;

	(void)f;
	if (row->state != STATE_STOPPED && row->state != STATE_FAILED &&
	    row->state != STATE_OVER)
		sandbox_settle_later(g, row->id);
	return 0;
}

static void
note_all(struct gateway *g)
{
	const struct store_page all = { 0 };
	struct fault f = { 0 };

	g->pending_all = false;
	for (struct vm *vm = vm_first(g); vm != NULL; vm = vm_next(vm)) {
		if (vm->sandbox_id[0] != '\0')
			sandbox_settle_later(g, vm->sandbox_id);
	}
	if (store_sandbox_list(g->store, &all, note_id, g, &f) < 0) {
		log_warn(&f, "cannot list the sandboxes");
		try_again(g);
	}
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

	if (g->pending_all && g->pending_n == 0)
		note_all(g);
	while (g->committed_n > 0 && clock_mono_us() < until_us) {
		memcpy(id, g->pending[0], sizeof(id));
		g->committed_n--;
		g->pending_n--;
		memmove(g->pending[0], g->pending[1],
		    g->pending_n * sizeof(g->pending[0]));
		settle_id(g, id);
	}
	if (g->pending_n > 0 || g->pending_all) {
		loop_held(g->loop, &g->settle);
		wake(g);
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
	sandbox_settle_all(CONTAINER_OF(t, struct gateway, settle_again));
}

void
sandbox_machine_gone(struct gateway *g, const struct vm *vm,
    const struct fault *why)
{
	const struct cause cause = {
		.reason = "machine_lost",
		.detail =
		    why->code == FAULT_NONE ? "its machine ended" : why->text,
	};
	struct store_sandbox row;
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, ROW_ARENA);
	if (store_sandbox_by_id(g->store, vm->sandbox_id, &a, &row, &f) < 0) {
		arena_release(&a);
		return;
	}
	if (strcmp(row.machine, vm->id) != 0 || row.state == STATE_DELETING) {
		sandbox_settle_later(g, row.id); /* it waited for this */
	} else if (row.state == STATE_STARTING && fleet_retry(g, &row, vm)) {
		log_warn(why, "sandbox '%s' is booted cold instead", row.name);
	} else {
		event_of_row(g, &row, EVENT_GONE,
		    row.state == STATE_STOPPING ? NULL : &cause);
	}
	arena_release(&a);
}

int
sandbox_facts(const struct store_sandbox *row, struct arena *a,
    nacre_store_v1_Facts *out, struct fault *f)
{
	memset(out, 0, sizeof(*out));
	return WIRE_DECODE(nacre_store_v1_Facts, out, row->facts, a, f);
}

int
sandbox_set_facts(struct store_sandbox *row, struct arena *a,
    const nacre_store_v1_Facts *facts, struct fault *f)
{
	struct buf b;
	int rc;

	buf_init(&b, LIMIT_MESSAGE);
	rc = WIRE_ENCODE(nacre_store_v1_Facts, facts, &b, f);
	if (rc == 0)
		row->facts = arena_dup(a, buf_span(&b));
	buf_release(&b);
	return rc;
}

int
sandbox_plan(const struct store_sandbox *row, struct arena *a,
    nacre_store_v1_Plan *out, struct fault *f)
{
	memset(out, 0, sizeof(*out));
	return WIRE_DECODE(nacre_store_v1_Plan, out, row->plan, a, f);
}

void
sandbox_init(struct gateway *g)
{
	g->settle.run = on_settle;
	g->settle_now.run = settle_pending;
	g->wake.run = on_wake;
	g->settle_again.fire = on_again;
}
