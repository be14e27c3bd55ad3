/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving: an event, the table, the row, one transaction with its row of the
 * record. What follows after the commit is settle.c's; what a tree makes of
 * it is kin.c's: whoever goes takes all below along.
 */
#include <string.h>

#include "gateway/await.h"
#include "gateway/fleet.h"
#include "gateway/image_gone.h"
#include "gateway/kin.h"
#include "gateway/object.h"
#include "gateway/record.h"
#include "gateway/refuse.h"
#include "gateway/sandbox.h"
#include "gateway/settle.h"
#include "gateway/vm.h"
#include "gateway/watch.h"
#include "wire/wire.h"

enum {
	ROW_ARENA = 4 << 20,
};

int
sandbox_may_add(struct call *c, struct fault *f)
{
	uint32_t n;

	if (store_sandbox_total(c->g->store, &n, f) < 0)
		return -1;
	if (n < GATEWAY_SANDBOXES)
		return 0;
	return refuse_full(c, "sandboxes", n, GATEWAY_SANDBOXES, f);
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
	image_gone_unused(g, row->image, row->image_digest);
	watch_removed(g, row);
	await_changed(g, row->id);
	row->state = STATE_REMOVED;
	settle_wake(g);
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
	settle_later(g, row->id);
	return 0;
}

static const char *
verb_of(enum state_event event, uint32_t state)
{
	if (event == EVENT_STOP)
		return "sandbox.stop";
	if (event == EVENT_DELETE)
		return "sandbox.delete";
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
		.verb = verb_of(event, row->state),
		.sandbox_id = row->id,
		.sandbox = row->name,
		.verdict = is_failure ? AUDIT_FAILED : AUDIT_OK,
		.reason = why == NULL ? "" : why->reason,
		.detail = detail,
	};

	return record_own(g, &out, f);
}

/* One below: it goes because another goes. */
static int
move_below(struct gateway *g, struct store_sandbox *row, enum state_event event,
    struct fault *f)
{
	const struct cause why = {
		.reason = "parent",
		.detail = event == EVENT_DELETE ? "its parent was deleted"
						: "its parent has stopped",
	};
	const struct store_sandbox before = *row;
	enum state_verdict verdict;
	bool is_undone =
	    row->state == STATE_RESERVED || row->state == STATE_STARTING;

	if (move(g, row, event, is_undone ? &why : NULL, &verdict, f) < 0)
		return -1;
	return record_event(g, &before, event, &why, f);
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

int
sandbox_move_own(struct gateway *g, struct store_sandbox *row,
    enum state_event event, const struct cause *why, struct fault *f)
{
	struct state_cell cell = state_step((enum state)row->state, event);
	const struct store_sandbox before = *row;
	enum state_verdict verdict;

	if (cell.verdict != VERDICT_MOVE)
		return 0;
	if (sandbox_move(g, row, event, why, &verdict, f) < 0)
		return -1;
	return record_event(g, &before, event, why, f);
}

/* In one mark: the row and its record, or neither. */
static int
move_and_record(struct gateway *g, struct store_sandbox *row,
    enum state_event event, const struct cause *why, struct fault *f)
{
	if (state_step((enum state)row->state, event).verdict != VERDICT_MOVE)
		return 0;
	if (store_mark(g->store, f) < 0)
		return -1;
	if (sandbox_move_own(g, row, event, why, f) < 0) {
		store_back(g->store);
		return -1;
	}
	store_keep(g->store);
	return 0;
}

bool
sandbox_row_event(struct gateway *g, struct store_sandbox *row,
    enum state_event event, const struct cause *why)
{
	struct fault f = { 0 };

	settle_wake(g);
	if (move_and_record(g, row, event, why, &f) == 0)
		return true;
	log_warn(&f, "cannot keep what happened to sandbox '%s'", row->name);
	settle_again(g);
	return false;
}

bool
sandbox_event(struct gateway *g, const char *id, enum state_event event,
    const struct cause *why)
{
	struct store_sandbox row;
	struct fault f = { 0 };
	struct arena a;
	bool is_kept = true;

	arena_init(&a, ROW_ARENA);
	if (store_sandbox_by_id(g->store, id, &a, &row, &f) == 0) {
		is_kept = sandbox_row_event(g, &row, event, why);
	} else if (f.code != FAULT_NOT_FOUND) {
		log_warn(&f, "cannot read sandbox %s", id);
		settle_again(g);
		is_kept = false;
	}
	arena_release(&a);
	return is_kept;
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
		if (f.code != FAULT_NOT_FOUND) {
			log_warn(&f, "cannot read sandbox %s", vm->sandbox_id);
			settle_again(g);
		}
		arena_release(&a);
		return;
	}
	if (strcmp(row.machine, vm->id) != 0 || row.state == STATE_DELETING) {
		settle_later(g, row.id); /* it waited for this */
	} else if (row.state == STATE_STARTING && fleet_retry(g, &row, vm)) {
		log_warn(why, "sandbox '%s' is booted cold instead", row.name);
	} else {
		sandbox_row_event(g, &row, EVENT_GONE,
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
