/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Execs: a run and its Attach call. One call is opened ahead, a spare without
 * a name, and the next exec comes in it; so a user who waits does not wait for
 * a call to be made. It is opened while nobody waits: after an exec has been
 * told. So is the call to the sandbox.
 */
#include <string.h>

#include "supervisor/inner.h"

enum {
	SPARE_BUSY_MS = 20,   /* the next one, while this exec runs */
	SPARE_LOST_MS = 1000, /* when it was closed unused */
};

static void spare_later(struct supervisor *sv, int64_t ms);
static void spare_asked(struct run *r, const nacre_session_v1_Open *o);

static void
forget(struct run *r)
{
	struct supervisor *sv = r->sv;

	for (size_t i = 0; i < NELEM(sv->runs); i++)
		if (sv->runs[i] == r)
			sv->runs[i] = NULL;
	loop_bury(sv->loop, r, run_free);
}

/* False when the stream has no room: `writable` calls again. */
static bool
tell_exit(struct run *r)
{
	nacre_session_v1_AttachUp up = nacre_session_v1_AttachUp_init_zero;
	struct fault f = { 0 };

	up.which_kind = nacre_session_v1_AttachUp_exit_tag;
	up.kind.exit.exec_id = r->id;
	up.kind.exit.code = r->code;
	up.kind.exit.signal = r->signal;
	up.kind.exit.reason = r->reason;
	if (attach_send(r->call, &up, &f) != 0)
		return f.code != FAULT_BUSY;
	rpc_half_close(r->call);
	return true;
}

static void
exec_ended(struct run *r)
{
	if (!r->call)
		forget(r);
	else if (tell_exit(r))
		r->is_told = true;
}

static void
exec_message(struct rpc_call *c, void *owner, struct span m)
{
	struct run *r = owner;
	nacre_session_v1_AttachDown d = nacre_session_v1_AttachDown_init_zero;
	struct fault f = { 0 };
	struct span in = { 0 };
	struct arena a;

	arena_init(&a, SUPERVISOR_ARENA);
	if (WIRE_DECODE(nacre_session_v1_AttachDown, &d, m, &a, &f) != 0)
		log_warn(&f, "stream of '%s'", r->id);
	if (d.which_kind == nacre_session_v1_AttachDown_in_tag)
		in = wire_span(d.kind.in);
	if (in.len)
		run_input(r, in, m.len);
	else
		rpc_consume(c, m.len);
	if (d.which_kind == nacre_session_v1_AttachDown_open_tag)
		spare_asked(r, &d.kind.open);
	else if (d.which_kind == nacre_session_v1_AttachDown_in_end_tag)
		run_input_end(r);
	else if (d.which_kind == nacre_session_v1_AttachDown_size_tag)
		run_resize(r, d.kind.size.cols, d.kind.size.rows);
	else if (d.which_kind == nacre_session_v1_AttachDown_signal_tag)
		run_signal(r, d.kind.signal);
	arena_release(&a);
}

/* The gateway's half-close is the end of the input, as in_end is. */
static void
exec_half_closed(struct rpc_call *c, void *owner)
{
	(void)c;
	run_input_end(owner);
}

static void
exec_writable(struct rpc_call *c, void *owner)
{
	struct run *r = owner;

	(void)c;
	if (r->is_done && !r->is_told)
		r->is_told = tell_exit(r);
	else
		run_pump(r);
}

static void
exec_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct run *r = owner;

	struct supervisor *sv = r->sv;

	(void)c;
	(void)detail;
	r->call = NULL;
	if (r == sv->spare) {
		sv->spare = NULL;
		forget(r);
		spare_later(sv, SPARE_LOST_MS);
		return;
	}
	spare_later(sv, 0);
	if (r->is_done)
		forget(r);
	else
		/* A lost gateway leaves the process be; a caller that has gone
		 * takes it along. */
		run_detach(r, f->code != FAULT_LOST);
}

static const struct rpc_call_events exec_events = {
	.message = exec_message,
	.half_closed = exec_half_closed,
	.writable = exec_writable,
	.closed = exec_closed,
};

static int
start(struct run *r, const nacre_session_v1_Exec *e, struct fault *f)
{
	struct supervisor *sv = r->sv;
	size_t at = 0;

	if (!e->has_command)
		return fault_field(f, "command", "is missing");
	while (at < NELEM(sv->runs) && sv->runs[at])
		at++;
	if (at == NELEM(sv->runs))
		return fault_set(f, FAULT_LIMIT, "%zu execs run already",
		    NELEM(sv->runs));
	if (run_start(r, &e->command, e->timeout_ms, f) != 0)
		return -1;
	sv->runs[at] = r;
	return 0;
}

int
exec_open(struct supervisor *sv, const char *id, const nacre_session_v1_Exec *e,
    struct fault *f)
{
	struct run *r = run_new(sv, id);

	r->ended = exec_ended;
	spare_later(sv, SPARE_BUSY_MS);
	if (start(r, e, f) != 0) {
		run_free(r);
		return -1;
	}
	r->call = attach_call(sv, id, &exec_events, r, f);
	if (!r->call) {
		run_detach(r, true);
		return -1;
	}
	return 0;
}

/* --- the spare */
static void
open_spare(struct timer *t)
{
	struct supervisor *sv = CONTAINER_OF(t, struct supervisor, spare_due);
	struct fault f = { 0 };
	struct run *r;

	if (sv->phase != PHASE_RUNNING)
		return;
	box_spare(&sv->box);
	if (sv->spare || !sv->session.is_open)
		return;
	r = run_new(sv, "");
	r->ended = exec_ended;
	r->call = attach_call(sv, "", &exec_events, r, &f);
	if (r->call)
		sv->spare = r;
	else
		run_free(r);
}

static void
spare_later(struct supervisor *sv, int64_t ms)
{
	sv->spare_due.fire = open_spare;
	if (!sv->spare && sv->phase == PHASE_RUNNING)
		loop_timer_set(sv->loop, &sv->spare_due, ms);
}

/* The session tells it; the gateway then ends the call. */
static void
refuse(struct supervisor *sv, char *attach_id, struct fault *f)
{
	nacre_session_v1_Up up = nacre_session_v1_Up_init_zero;
	struct fault lost = { 0 };
	char code[32];

	(void)text_copy(code, sizeof(code), span_str(fault_reason(f->code)));
	up.which_kind = nacre_session_v1_Up_opened_tag;
	up.kind.opened.attach_id = attach_id;
	up.kind.opened.code = code;
	up.kind.opened.text = f->text;
	if (session_send(&sv->session, &up, &lost) != 0)
		log_warn(&lost, "cannot refuse a stream");
}

static void
spare_asked(struct run *r, const nacre_session_v1_Open *o)
{
	struct supervisor *sv = r->sv;
	struct fault f = { 0 };

	if (r != sv->spare)
		return;
	sv->spare = NULL;
	spare_later(sv, SPARE_BUSY_MS);
	if (attach_check(sv, o, &f) == 0) {
		(void)text_copy(r->id, sizeof(r->id), span_str(o->attach_id));
		if (o->which_kind != nacre_session_v1_Open_exec_tag)
			(void)fault_set(&f, FAULT_UNIMPLEMENTED,
			    "only an exec comes here");
		else if (start(r, &o->kind.exec, &f) == 0)
			return;
	}
	r->is_done = true;
	r->is_told = true;
	refuse(sv, o->attach_id, &f);
}
