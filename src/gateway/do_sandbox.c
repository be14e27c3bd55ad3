/* SPDX-License-Identifier: Apache-2.0 */
/* Get, list, stop, start, delete: rows in, rows out. */
#include <string.h>

#include "gateway/check.h"
#include "gateway/do.h"
#include "gateway/fleet.h"
#include "gateway/line.h"
#include "gateway/obituary.h"
#include "gateway/object.h"
#include "gateway/open.h"
#include "gateway/refuse.h"
#include "gateway/restart.h"
#include "gateway/sandbox.h"
#include "gateway/vm.h"
#include "gateway/watch.h"
#include "wire/wire.h"

enum {
	LIST_MOST = 1000,
};

static int
reply_row(struct call *c, const struct store_sandbox *row, struct fault *f)
{
	openshell_v1_SandboxResponse reply =
	    openshell_v1_SandboxResponse_init_zero;

	reply.has_sandbox = true;
	if (object_of(row, &c->arena, &reply.sandbox, f) < 0 ||
	    object_tell_policy(row, &c->arena, &reply.sandbox, f) < 0)
		return -1;
	return CALL_REPLY(c, openshell_v1_SandboxResponse, &reply, f);
}

int
do_get(struct call *c, struct fault *f)
{
	const openshell_v1_GetSandboxRequest *ask = c->ask;
	struct store_sandbox row;

	if (check_workspace(ask->workspace, f) < 0)
		return -1;
	if (open_name(c, ask->name, &row, f) < 0) {
		if (f->code != FAULT_NOT_FOUND ||
		    !obituary_find(c->g, ask->name, &c->arena, &row))
			return -1;
		fault_clear(f);
	}
	return reply_row(c, &row, f);
}

struct list {
	struct call *c;
	openshell_v1_ListSandboxesResponse *reply;
	pb_size_t room;
};

static int
add(void *owner, struct store_sandbox *row, struct fault *f)
{
	struct list *l = owner;

	if (l->reply->sandboxes_count == l->room)
		return fault_set(f, FAULT_LIMIT, "the page is full");
	return object_of(row, &l->c->arena,
	    &l->reply->sandboxes[l->reply->sandboxes_count++], f);
}

static int
too_long(struct call *c, struct fault *f)
{
	if (f->code == FAULT_LIMIT)
		c->hint = "ask for a smaller limit";
	return -1;
}

int
do_list(struct call *c, struct fault *f)
{
	const openshell_v1_ListSandboxesRequest *ask = c->ask;
	openshell_v1_ListSandboxesResponse reply =
	    openshell_v1_ListSandboxesResponse_init_zero;
	struct span labels[CHECK_SELECTORS];
	struct store_page page = {
		.offset = ask->offset,
		.limit = call_page(ask->limit, LIST_MOST),
		.labels = labels,
	};
	struct list l = { .c = c, .reply = &reply };

	if (check_workspace(ask->workspace, f) < 0 ||
	    check_selector(ask->label_selector, labels, &page.labels_n, f) < 0)
		return -1;
	l.room = (pb_size_t)page.limit;
	reply.sandboxes =
	    arena_get(&c->arena, page.limit * sizeof(*reply.sandboxes));
	if (reply.sandboxes == NULL)
		return fault_set(f, FAULT_LIMIT, "the page is too long");
	if (store_sandbox_list(c->g->store, &page, add, &l, f) < 0)
		return too_long(c, f);
	if (CALL_REPLY(c, openshell_v1_ListSandboxesResponse, &reply, f) < 0)
		return too_long(c, f);
	return 0;
}

int
do_stop(struct call *c, struct fault *f)
{
	const openshell_v1_StopSandboxRequest *ask = c->ask;
	enum state_verdict verdict;
	struct store_sandbox row;

	if (check_workspace(ask->workspace, f) < 0 ||
	    open_name(c, ask->name, &row, f) < 0)
		return -1;
	if (sandbox_move(c->g, &row, EVENT_STOP, NULL, &verdict, f) < 0)
		return refuse_in_state(c, row.state, f);
	return reply_row(c, &row, f);
}

struct start {
	struct store_sandbox row;
	struct restart judged;
};

static int
start_turn(struct call *c, struct fault *f)
{
	struct start *s = c->work;

	return restart_judge(c, &s->judged, &s->row, f);
}

int
do_start_decide(struct call *c, struct fault *f)
{
	const openshell_v1_StartSandboxRequest *ask = c->ask;
	struct start *s = arena_get(&c->arena, sizeof(*s));

	BUG_IF(s == NULL);
	c->work = s;
	if (check_workspace(ask->workspace, f) < 0 ||
	    open_name(c, ask->name, &s->row, f) < 0)
		return -1;
	if (state_step((enum state)s->row.state, EVENT_START).verdict !=
	    VERDICT_MOVE)
		return 0;
	return judge_turn(c, &s->judged.judgement, start_turn, f);
}

int
do_start(struct call *c, struct fault *f)
{
	const openshell_v1_StartSandboxRequest *ask = c->ask;
	enum state_verdict verdict;
	struct start *s = c->work;
	struct store_sandbox row;

	if (open_name(c, ask->name, &row, f) < 0)
		return -1;
	const struct resources r = {
		.cpus = row.cpus,
		.memory_mib = row.memory_mib,
	};
	if (fleet_check_memory(c->g, &r, f) < 0) {
		c->hint = "stop another sandbox first";
		return -1;
	}
	if (state_step((enum state)row.state, EVENT_START).verdict ==
		VERDICT_MOVE &&
	    restart_take(c, row.id, f) < 0)
		return -1;
	if (sandbox_move(c->g, &row, EVENT_START, NULL, &verdict, f) < 0)
		return refuse_in_state(c, row.state, f);
	if (verdict == VERDICT_MOVE) {
		if (restart_mark(c, &s->judged, &row, f) < 0 ||
		    store_sandbox_update(c->g->store, &row, f) < 0 ||
		    line_begin(c->g, &row, f) < 0)
			return -1;
	}
	return reply_row(c, &row, f);
}

int
do_delete(struct call *c, struct fault *f)
{
	const openshell_v1_DeleteSandboxRequest *ask = c->ask;
	enum state_verdict verdict;
	struct store_sandbox row;

	if (ask->name != NULL)
		obituary_forget(c->g, ask->name);
	if (check_workspace(ask->workspace, f) < 0 ||
	    open_name(c, ask->name, &row, f) < 0)
		return -1;
	return sandbox_move(c->g, &row, EVENT_DELETE, NULL, &verdict, f);
}

/* The answer comes when it is gone, so that its name is free at once. */
void
do_delete_answer(struct call *c)
{
	watch_deleted(c);
}
