/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a sandbox for a call; open.h has the contracts. */
#include <string.h>

#include "gateway/open.h"
#include "gateway/refuse.h"
#include "gateway/vm.h"
#include "gateway/which.h"

static void
note(struct call *c, const struct store_sandbox *row)
{
	(void)text_copy(c->sandbox_id, sizeof(c->sandbox_id),
	    span_str(row->id));
	(void)text_copy(c->sandbox, sizeof(c->sandbox), span_str(row->name));
}

/* To a user who is no admin, what another one has is not there. */
static int
check_owner(struct call *c, const struct store_sandbox *row, struct fault *f)
{
	struct store_lineage l;

	if (!(c->caller.who & CALL_USER) || (c->caller.who & CALL_ADMIN))
		return 0;
	if (store_lineage_by_id(c->g->store, row->id, &c->arena, &l, f) < 0)
		return -1;
	if (strcmp(l.user, c->caller.text) == 0)
		return 0;
	return fault_set(f, FAULT_NOT_FOUND, "sandbox not found");
}

/* "lead/worker": from a root down. */
static int
open_place(struct call *c, const char *name, struct store_sandbox *row,
    struct fault *f)
{
	struct which *w = arena_get(&c->arena, sizeof(*w));

	if (w == NULL)
		return fault_set(f, FAULT_LIMIT, "the request is too large");
	if (which_open(c, name, "name", w, f) < 0 ||
	    which_row(c, w, row, f) < 0)
		return -1;
	note(c, row);
	return 0;
}

int
open_name(struct call *c, const char *name, struct store_sandbox *row,
    struct fault *f)
{
	if (name == NULL || *name == '\0')
		return fault_field(f, "name", "the sandbox's name is missing");
	if (strchr(name, '/') != NULL)
		return open_place(c, name, row, f);
	(void)text_copy(c->sandbox, sizeof(c->sandbox), span_str(name));
	if (store_sandbox_by_name(c->g->store, name, &c->arena, row, f) < 0 ||
	    check_owner(c, row, f) < 0) {
		if (f->code == FAULT_NOT_FOUND)
			c->hint = "'nacre sandbox list' shows them";
		return -1;
	}
	note(c, row);
	return 0;
}

int
open_id(struct call *c, const char *id, struct store_sandbox *row,
    struct fault *f)
{
	if (id == NULL || *id == '\0')
		return fault_field(f, "sandbox_id", "sandbox_id is missing");
	if (store_sandbox_by_id(c->g->store, id, &c->arena, row, f) < 0 ||
	    check_owner(c, row, f) < 0)
		return -1;
	note(c, row);
	return 0;
}

int
open_either(struct call *c, const char *what, struct store_sandbox *row,
    struct fault *f)
{
	struct fault by_id = { 0 };

	if (what == NULL || *what == '\0')
		return fault_field(f, "sandbox_id", "sandbox_id is missing");
	if (open_id(c, what, row, &by_id) == 0)
		return 0;
	if (by_id.code != FAULT_NOT_FOUND) {
		*f = by_id;
		return -1;
	}
	return open_name(c, what, row, f);
}

int
open_running(struct call *c, const struct store_sandbox *row, struct vm **vm,
    struct fault *f)
{
	*vm = vm_of(c->g, row);
	if (state_is_open((enum state)row->state) && *vm != NULL)
		return 0;
	if (row->state == STATE_RESERVED || row->state == STATE_STARTING)
		c->hint = "wait until it is ready";
	else
		c->hint = arena_fmt(&c->arena,
		    "start it with 'nacre sandbox start %s'", row->name);
	fault_set(f, FAULT_NOT_READY, "sandbox is not ready: '%s' is %s",
	    row->name, state_name((enum state)row->state));
	return refuse_in_state(c, row->state, f);
}
