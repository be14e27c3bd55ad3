/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AttachSandbox: the main process of a sandbox, for as many clients as want
 * to see it. Output comes out of the journal, which has it whether anybody
 * looks or not; so a late client sees the last of it and the end, one that is
 * slow loses what has been overwritten, and neither holds the process up.
 * Input needs the sandbox: a stream that the supervisor gives to one client
 * at a time. A client that leaves takes nothing along.
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/do.h"
#include "gateway/journal.h"
#include "gateway/open.h"
#include "gateway/refuse.h"
#include "gateway/sandbox.h"
#include "gateway/session.h"
#include "gateway/signal.h"
#include "gateway/view.h"
#include "proto/nacre_v1.pb.h"
#include "wire/wire.h"

enum {
	REPLAY = 1 << 20,
	QUEUE = 2 * LIMIT_MESSAGE,
};

struct view {
	struct gateway *g;
	struct call *call;
	char id[LIMIT_ID + 1];
	uint64_t launch;
	uint64_t from; /* offsets below it are not told */
	bool tty;
	bool is_begun;
	struct journal_reader reader;
	struct attach *input; /* NULL: not held */
	bool is_open;         /* bytes can go there */
	struct buf down;      /* frames: 4 bytes of length, an AttachDown */
	size_t owed;          /* to the client, when `down` is empty */
	struct deferred held;
	struct view *next;
	struct view *prev;
};

/* What decide found, for the answer in the same tick. */
struct found {
	struct vm *vm; /* NULL: read only */
	uint64_t launch;
	bool tty;
	const nacre_v1_AttachStart *start;
};

static void
free_view(void *p)
{
	struct view *v = p;

	journal_reader_release(&v->reader);
	buf_release(&v->down);
	free(v);
}

static void
forget(struct view *v)
{
	struct attach *input = v->input;

	v->input = NULL;
	if (input != NULL)
		attach_cancel(input);
	if (v->prev != NULL)
		v->prev->next = v->next;
	else
		v->g->views = v->next;
	if (v->next != NULL)
		v->next->prev = v->prev;
	loop_deferred_drop(v->g->loop, &v->held);
	v->call = NULL;
	loop_bury(v->g->loop, v, free_view);
}

static void
end(struct view *v, const struct fault *f)
{
	struct call *c = v->call;

	if (c == NULL)
		return;
	forget(v);
	call_finish(c, f);
}

static bool
has_room(const struct view *v)
{
	return v->call->rpc != NULL && rpc_room(v->call->rpc) > 0;
}

/* ---- out ---- */

static size_t
send_bytes(void *owner, const struct journal_record *rec)
{
	nacre_v1_AttachOutput m = nacre_v1_AttachOutput_init_zero;
	struct view *v = owner;
	struct journal_record r = *rec;
	nacre_v1_AttachBytes *b = &m.kind.out;
	struct fault f = { 0 };
	struct arena a;
	size_t n = r.data.len < LIMIT_CHUNK ? r.data.len : LIMIT_CHUNK;
	int rc;

	if (r.launch != v->launch || r.offset + r.data.len <= v->from)
		return r.data.len;
	if (r.offset < v->from)
		return (size_t)(v->from - r.offset);
	if (!has_room(v))
		return 0;
	arena_init(&a, 2 * LIMIT_CHUNK);
	m.which_kind = r.is_error ? nacre_v1_AttachOutput_err_tag
				  : nacre_v1_AttachOutput_out_tag;
	b->offset = r.offset;
	b->data = wire_bytes(&a, span_of(r.data.ptr, n));
	rc = call_send(v->call, nacre_v1_AttachOutput_fields, &m, &f);
	arena_release(&a);
	return rc == 0 ? n : 0;
}

/* The end is in the row, for whoever comes when. */
static void
tell_end(struct view *v, const struct store_sandbox *row)
{
	nacre_v1_AttachOutput m = nacre_v1_AttachOutput_init_zero;
	char reason[STORE_REASON + 1];
	struct fault f = { 0 };

	if (!row->has_exit) {
		fault_set(&f, FAULT_LOST, "the sandbox is %s",
		    state_name((enum state)row->state));
		end(v, &f);
		return;
	}
	(void)text_copy(reason, sizeof(reason), span_str(row->reason));
	m.which_kind = nacre_v1_AttachOutput_end_tag;
	m.kind.end.exit_code = row->exit_code;
	m.kind.end.reason = reason;
	if (call_send(v->call, nacre_v1_AttachOutput_fields, &m, &f) < 0)
		end(v, &f);
	else
		end(v, NULL);
}

static bool
is_over(const struct view *v, const struct store_sandbox *row)
{
	if (row->state == STATE_RESERVED)
		return row->launches >= v->launch;
	return row->launches != v->launch ||
	    (row->state != STATE_RUNNING && row->state != STATE_STARTING &&
		row->state != STATE_STOPPING);
}

static void
pump(struct view *v)
{
	struct store_sandbox row;
	struct fault f = { 0 };
	struct arena a;
	int rc;

	if (!v->is_begun || !has_room(v))
		return;
	/* The row first: what it says of the end came after the output. */
	arena_init(&a, 4 * LIMIT_MESSAGE);
	rc = store_sandbox_by_id(v->g->store, v->id, &a, &row, &f);
	if (rc == 0)
		rc = journal_bytes(v->g, &v->reader, send_bytes, v, &f);
	if (rc < 0) {
		if (f.code == FAULT_NOT_FOUND)
			fault_set(&f, FAULT_LOST, "the sandbox is deleted");
		end(v, &f);
	} else if (has_room(v) && is_over(v, &row)) {
		tell_end(v, &row);
	}
	arena_release(&a);
}

static void
on_held(struct deferred *d)
{
	struct view *v = CONTAINER_OF(d, struct view, held);

	if (v->call != NULL)
		pump(v);
}

void
view_due(struct gateway *g, const char *id)
{
	for (struct view *v = g->views; v != NULL; v = v->next) {
		if (strcmp(v->id, id) == 0)
			loop_held(g->loop, &v->held);
	}
}

static void
begin(struct view *v)
{
	nacre_v1_AttachOutput m = nacre_v1_AttachOutput_init_zero;
	struct fault f = { 0 };

	v->is_begun = true;
	m.which_kind = nacre_v1_AttachOutput_begun_tag;
	m.kind.begun.tty = v->tty;
	m.kind.begun.has_input = v->is_open && v->tty;
	m.kind.begun.offset = v->from;
	if (call_send(v->call, nacre_v1_AttachOutput_fields, &m, &f) < 0)
		end(v, &f);
	else
		pump(v);
}

/* ---- in ---- */

static void
pump_down(struct view *v)
{
	struct rpc_call *to = v->input == NULL ? NULL : attach_call(v->input);

	while (v->is_open && to != NULL && v->down.len > 0) {
		struct span s = buf_span(&v->down);
		struct fault f = { 0 };
		uint32_t n;

		memcpy(&n, s.ptr, sizeof(n));
		if (rpc_send(to, span_of(s.ptr + 4, n), &f) < 0)
			return;
		buf_eat(&v->down, 4 + (size_t)n);
	}
	if (v->down.len == 0 && v->owed > 0 && v->call->rpc != NULL) {
		size_t n = v->owed;

		v->owed = 0;
		rpc_consume(v->call->rpc, n);
	}
}

static int
queue(struct view *v, const nacre_session_v1_AttachDown *m, struct fault *f)
{
	struct buf one;
	uint32_t n;
	int rc;

	if (v->input == NULL)
		return fault_set(f, FAULT_REFUSED,
		    "this client does not hold the input");
	buf_init(&one, LIMIT_MESSAGE);
	rc = WIRE_ENCODE(nacre_session_v1_AttachDown, m, &one, f);
	n = (uint32_t)one.len;
	if (rc == 0)
		rc = buf_add(&v->down, &n, sizeof(n), f);
	if (rc == 0)
		rc = buf_add(&v->down, buf_ptr(&one), one.len, f);
	buf_release(&one);
	return rc;
}

static int
queue_input(struct view *v, struct span s, struct fault *f)
{
	while (s.len > 0) {
		nacre_session_v1_AttachDown m =
		    nacre_session_v1_AttachDown_init_zero;
		size_t n = s.len < LIMIT_CHUNK ? s.len : LIMIT_CHUNK;
		struct arena a;
		int rc;

		arena_init(&a, 2 * LIMIT_CHUNK);
		m.which_kind = nacre_session_v1_AttachDown_in_tag;
		m.kind.in = wire_bytes(&a, span_of(s.ptr, n));
		rc = queue(v, &m, f);
		arena_release(&a);
		if (rc < 0)
			return -1;
		s = span_from(s, n);
	}
	return 0;
}

static int
queue_size(struct view *v, const nacre_v1_TerminalSize *size, struct fault *f)
{
	nacre_session_v1_AttachDown m = nacre_session_v1_AttachDown_init_zero;

	if (size->cols > UINT16_MAX || size->rows > UINT16_MAX)
		return fault_field(f, "size",
		    "a terminal has at most %u columns and rows", UINT16_MAX);
	m.which_kind = nacre_session_v1_AttachDown_size_tag;
	m.kind.size.cols = size->cols;
	m.kind.size.rows = size->rows;
	return queue(v, &m, f);
}

static int
queue_signal(struct view *v, const char *name, struct fault *f)
{
	nacre_session_v1_AttachDown m = nacre_session_v1_AttachDown_init_zero;

	m.which_kind = nacre_session_v1_AttachDown_signal_tag;
	m.kind.signal = signal_find(name, f);
	return m.kind.signal < 0 ? -1 : queue(v, &m, f);
}

static void
on_message(struct call *c, struct span s)
{
	nacre_v1_AttachInput m = nacre_v1_AttachInput_init_zero;
	struct view *v = c->work;
	struct fault f = { 0 };
	struct arena a;
	int rc;

	v->owed += s.len;
	arena_init(&a, 4 * LIMIT_MESSAGE);
	rc = WIRE_DECODE(nacre_v1_AttachInput, &m, s, &a, &f);
	if (rc == 0 && m.which_kind == nacre_v1_AttachInput_input_tag)
		rc = queue_input(v, wire_span(m.kind.input), &f);
	else if (rc == 0 && m.which_kind == nacre_v1_AttachInput_size_tag)
		rc = queue_size(v, &m.kind.size, &f);
	else if (rc == 0 && m.which_kind == nacre_v1_AttachInput_signal_tag)
		rc = queue_signal(v, m.kind.signal, &f);
	else if (rc == 0)
		rc = fault_field(&f, "start", "start comes once");
	arena_release(&a);
	if (rc < 0)
		end(v, &f);
	else
		pump_down(v);
}

static void
on_writable(struct call *c)
{
	pump(c->work);
}

static void
on_gone(struct call *c)
{
	forget(c->work);
}

static const struct call_events call_events = {
	.message = on_message,
	.writable = on_writable,
	.gone = on_gone,
};

static void
input_opened(struct attach *a, void *owner)
{
	struct view *v = owner;

	(void)a;
	v->is_open = true;
	pump_down(v);
	begin(v);
}

static void
input_message(struct attach *a, void *owner,
    const nacre_session_v1_AttachUp *up, size_t size)
{
	(void)owner;
	(void)up;
	attach_consume(a, size);
}

static void
input_writable(struct attach *a, void *owner)
{
	(void)a;
	pump_down(owner);
}

/* Refused, or over: the process has ended, which its row will say. */
static void
input_closed(struct attach *a, void *owner, const struct fault *f)
{
	struct view *v = owner;
	bool was_open = v->is_open;

	(void)a;
	v->input = NULL;
	v->is_open = false;
	buf_clear(&v->down);
	if (!was_open)
		end(v, f);
	else
		loop_held(v->g->loop, &v->held);
}

static const struct attach_events input_events = {
	.opened = input_opened,
	.message = input_message,
	.writable = input_writable,
	.closed = input_closed,
};

/* ---- the call ---- */

int
do_attach_decide(struct call *c, struct fault *f)
{
	const nacre_v1_AttachInput *first = c->ask;
	const nacre_v1_AttachStart *start = &first->kind.start;
	struct found *k = arena_get(&c->arena, sizeof(*k));
	nacre_store_v1_Plan plan;
	struct store_sandbox row;

	BUG_IF(k == NULL);
	c->work = k;
	if (first->which_kind != nacre_v1_AttachInput_start_tag)
		return fault_field(f, "start", "the first message is start");
	if (start->has_size &&
	    (start->size.cols > UINT16_MAX || start->size.rows > UINT16_MAX))
		return fault_field(f, "size",
		    "a terminal has at most %u columns and rows", UINT16_MAX);
	if (open_name(c, start->sandbox, &row, f) < 0 ||
	    sandbox_plan(&row, &c->arena, &plan, f) < 0)
		return -1;
	if (plan.argv_count == 0) {
		fault_set(f, FAULT_NOT_READY, "'%s' has no main process",
		    row.name);
		return refuse_in_state(c, row.state, f);
	}
	call_note(c, "%s", start->read_only ? "read only" : "");
	k->start = start;
	k->launch = row.launches + (row.state == STATE_RESERVED);
	k->tty = plan.tty;
	/* After its end there is nothing to hold. */
	if (start->read_only || row.has_exit || row.state != STATE_RUNNING)
		return 0;
	return open_running(c, &row, &k->vm, f);
}

struct measure {
	uint64_t launch;
	uint64_t end;
};

static size_t
measure_record(void *owner, const struct journal_record *rec)
{
	struct measure *m = owner;

	if (rec->launch == m->launch)
		m->end = rec->offset + rec->data.len;
	return rec->data.len;
}

/* Where the last MiB begins. */
static int
find_start(struct view *v, struct fault *f)
{
	struct measure m = { .launch = v->launch };
	struct journal_reader r;
	int rc;

	journal_reader_init(&r, v->id);
	rc = journal_bytes(v->g, &r, measure_record, &m, f);
	journal_reader_release(&r);
	v->from = m.end > REPLAY ? m.end - REPLAY : 0;
	return rc;
}

static struct view *
make(struct call *c, const struct found *k)
{
	struct view *v = must_alloc(sizeof(*v));

	v->g = c->g;
	v->call = c;
	v->launch = k->launch;
	v->tty = k->tty;
	(void)text_copy(v->id, sizeof(v->id), span_str(c->sandbox_id));
	journal_reader_init(&v->reader, v->id);
	buf_init(&v->down, QUEUE);
	v->held.run = on_held;
	v->next = c->g->views;
	if (v->next != NULL)
		v->next->prev = v;
	c->g->views = v;
	return v;
}

void
do_attach_answer(struct call *c)
{
	const struct found *k = c->work;
	nacre_session_v1_Open open = nacre_session_v1_Open_init_zero;
	struct view *v = make(c, k);
	struct fault f = { 0 };

	open.which_kind = nacre_session_v1_Open_main_tag;
	if (find_start(v, &f) == 0 && k->vm != NULL)
		v->input = attach_open(k->vm, &open, &input_events, v, &f);
	if (v->input != NULL && k->start->has_size && k->tty)
		(void)!queue_size(v, &k->start->size, &f);
	if (f.code != FAULT_NONE) {
		call_take(c, NULL, v);
		end(v, &f);
		return;
	}
	call_take(c, &call_events, v);
	/* What came early may have ended it. */
	if (v->call != NULL && k->vm == NULL)
		begin(v);
}
