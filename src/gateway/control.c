/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said in a session: Hello and its answer, tokens, then reports of
 * the guest, each of which becomes an event of its sandbox. The answer to a
 * Hello leaves after its epoch is durable: so no epoch is given twice.
 */
#include <stdio.h>
#include <string.h>

#include "gateway/fleet.h"
#include "gateway/plan.h"
#include "gateway/sandbox.h"
#include "gateway/session_inner.h"
#include "gateway/watch.h"
#include "wire/wire.h"

enum {
	ARENA = 8 << 20,
	EPOCH_STEP = 1000, /* reconnects that a guest may have lost count of */
	/* Of its memory, for kernel, supervisor and page cache: so an agent
	 * that wants too much meets its own limit, not the machine's. */
	GUEST_KEEPS_MIB = 38,
	GUEST_KEEPS_PART = 32,
	PIDS_MAX = 2048,
};

#define SESSION "/nacre.session.v1.Session/"

static void
refuse(struct session *s, const struct fault *f)
{
	log_warn(f, "a session of sandbox %s is refused",
	    s->vm != NULL ? s->vm->sandbox_id : "(gone)");
	if (s->control != NULL)
		rpc_finish(s->control, f, span_of(NULL, 0));
}

/* ---- Hello ---- */

static int
check_hello(struct session *s, const nacre_session_v1_Hello *h,
    const struct store_sandbox *row, struct fault *f)
{
	if (h->protocol != 1)
		return fault_field(f, "protocol", "only protocol 1 is spoken");
	if (strcmp(row->machine, s->vm->id) != 0 ||
	    row->state == STATE_DELETING || row->state == STATE_FAILED)
		return fault_set(f, FAULT_NOT_READY, "the launch is over");
	if (!s->has_claims) {
		if (row->state != STATE_STARTING)
			return fault_set(f, FAULT_UNAUTHENTICATED,
			    "a reconnect needs a token");
		return 0;
	}
	if (strcmp(s->claims.launch, row->launch) != 0 ||
	    s->claims.epoch != row->epoch)
		return fault_set(f, FAULT_UNAUTHENTICATED,
		    "the token is superseded");
	if (h->epoch <= row->epoch)
		return fault_set(f, FAULT_UNAUTHENTICATED,
		    "a reconnect needs a higher epoch");
	/* A guest that names the last one could never come back. */
	if (h->epoch - row->epoch > EPOCH_STEP)
		return fault_set(f, FAULT_INVALID,
		    "the epoch is more than %d ahead", EPOCH_STEP);
	return 0;
}

static void
note_facts(struct session *s, const nacre_session_v1_Hello *h,
    nacre_store_v1_Facts *facts, struct arena *a)
{
	const struct machine_template *t = fleet_facts(s->g);

	facts->boot_id = h->boot_id;
	facts->supervisor_digest = h->supervisor_digest;
	facts->kernel_release = h->kernel_release;
	(void)text_copy(s->g->kernel_release, sizeof(s->g->kernel_release),
	    span_str(h->kernel_release));
	facts->from_parked = s->vm->from_parked;
	facts->cold = s->vm->cold;
	facts->assigned_us = (uint64_t)s->vm->assigned_us;
	if (s->vm->accepted_us > 0)
		facts->connected_us =
		    (uint64_t)(clock_mono_us() - s->vm->accepted_us);
	if (t != NULL)
		facts->accelerator =
		    arena_str(a, span_str(machine_accel_name(t->shape.accel)));
}

static int
set_command(const nacre_store_v1_Plan *plan, struct arena *a,
    nacre_session_v1_Bundle *b, struct fault *f)
{
	nacre_session_v1_Command *c = &b->agent;
	struct plan_env e = { .tty = plan->tty };

	b->has_agent = true;
	b->no_main = plan->argv_count == 0;
	c->argv = plan->argv;
	c->argv_count = plan->argv_count;
	c->workdir = plan->workdir;
	c->tty = plan->tty;
	c->cols = 80;
	c->rows = 24;
	if (plan_env(plan, &e, a, f) < 0)
		return -1;
	c->env = e.env;
	c->env_count = e.n;
	return 0;
}

static int
make_bundle(struct session *s, const struct store_sandbox *row, struct arena *a,
    nacre_session_v1_Bundle *b, struct fault *f)
{
	nacre_store_v1_Plan plan;

	if (sandbox_plan(row, a, &plan, f) < 0 ||
	    set_command(&plan, a, b, f) < 0 ||
	    session_tokens(s, a, &b->tokens, f) < 0)
		return -1;
	b->has_tokens = true;
	b->sandbox_id = s->vm->sandbox_id;
	b->name = arena_str(a, span_str(row->name));
	b->epoch = s->epoch;
	b->policy = plan.policy;
	b->generation = 1;
	b->pids_max = PIDS_MAX;
	b->memory_max = (uint64_t)(row->memory_mib - GUEST_KEEPS_MIB -
			    row->memory_mib / GUEST_KEEPS_PART)
	    << 20;
	b->time_ns = clock_wall_ns();
	b->uid = plan.uid;
	b->gid = plan.gid;
	b->user = plan.user;
	b->home = plan.home;
	b->groups = plan.groups;
	b->groups_count = plan.groups_count;
	return 0;
}

static int
make_answer(struct session *s, const struct store_sandbox *row, struct arena *a,
    struct fault *f)
{
	nacre_session_v1_Down down = nacre_session_v1_Down_init_zero;

	if (s->launches) {
		down.which_kind = nacre_session_v1_Down_bundle_tag;
		if (make_bundle(s, row, a, &down.kind.bundle, f) < 0)
			return -1;
	} else {
		down.which_kind = nacre_session_v1_Down_resume_tag;
		down.kind.resume.epoch = s->epoch;
		down.kind.resume.log_offset = s->vm->journal.end;
		down.kind.resume.has_tokens = true;
		if (session_tokens(s, a, &down.kind.resume.tokens, f) < 0)
			return -1;
	}
	return WIRE_ENCODE(nacre_session_v1_Down, &down, &s->first, f);
}

static int
open_journal(struct session *s, const struct store_sandbox *row,
    struct fault *f)
{
	if (s->vm->journal.is_open)
		return 0;
	return journal_open(s->g, &s->vm->journal, row->id, row->launches, f);
}

static int
greet(struct session *s, const nacre_session_v1_Hello *h, struct arena *a,
    struct fault *f)
{
	nacre_store_v1_Facts facts;
	struct store_sandbox row;

	if (store_sandbox_by_id(s->g->store, s->vm->sandbox_id, a, &row, f) < 0)
		return -1;
	if (check_hello(s, h, &row, f) < 0 || open_journal(s, &row, f) < 0 ||
	    sandbox_facts(&row, a, &facts, f) < 0)
		return -1;
	s->launches = !s->has_claims;
	s->epoch = s->launches ? row.epoch + 1 : h->epoch;
	(void)text_copy(s->launch, sizeof(s->launch), span_str(row.launch));
	row.epoch = s->epoch;
	if (s->launches)
		note_facts(s, h, &facts, a);
	if (make_answer(s, &row, a, f) < 0 ||
	    sandbox_set_facts(&row, a, &facts, f) < 0 ||
	    store_sandbox_update(s->g->store, &row, f) < 0)
		return -1;
	s->greeted = true;
	loop_held(s->g->loop, &s->held);
	sandbox_settle_later(s->g, row.id);
	/* It came up while this gateway was away: it is ready. */
	if (!s->launches && h->running && row.state == STATE_STARTING) {
		vm_ready(s->vm);
		sandbox_event(s->g, row.id, EVENT_READY, NULL);
	}
	return 0;
}

/* After the commit: the epoch is this session's for good. */
static void
on_held(struct deferred *d)
{
	struct session *s = CONTAINER_OF(d, struct session, held);
	struct session *before;
	struct fault f = s->g->commit_fault;

	if (s->vm == NULL || s->control == NULL)
		return;
	if (f.code != FAULT_NONE) {
		refuse(s, &f);
		return;
	}
	s->accepted = true;
	before = s->vm->session;
	s->vm->session = s;
	if (before != NULL && before->link != NULL) {
		fault_set(&f, FAULT_LOST, "a newer session took its place");
		rpc_link_drop(before->link, &f);
	}
	fault_clear(&f);
	if (rpc_send(s->control, buf_span(&s->first), &f) < 0)
		log_warn(&f, "cannot answer a session");
	buf_clear(&s->first);
	crash_at("after_session");
	attach_session_ready(s->vm);
}

/* ---- reports ---- */

static int
write_ready(struct session *s, const nacre_session_v1_Ready *r, struct arena *a,
    struct fault *f)
{
	nacre_store_v1_Facts facts;
	struct store_sandbox row;

	if (store_sandbox_by_id(s->g->store, s->vm->sandbox_id, a, &row, f) <
		0 ||
	    sandbox_facts(&row, a, &facts, f) < 0)
		return -1;
	_Static_assert(sizeof(nacre_store_v1_Probe) ==
		sizeof(nacre_session_v1_Probe),
	    "one form of probes");
	facts.main_pid = r->main_pid;
	facts.probes = (void *)r->probes;
	facts.probes_count = r->probes_count;
	facts.assigned_us = (uint64_t)s->vm->assigned_us;
	if (s->vm->accepted_us > 0)
		facts.ready_us =
		    (uint64_t)(clock_mono_us() - s->vm->accepted_us);
	if (sandbox_set_facts(&row, a, &facts, f) < 0)
		return -1;
	return store_sandbox_update(s->g->store, &row, f);
}

static void
on_ready(struct session *s, const nacre_session_v1_Ready *r, struct arena *a)
{
	struct fault f = { 0 };
	struct cause cause = { .reason = "not_confined" };
	char text[STORE_DETAIL];

	crash_at("after_first_instruction");
	for (pb_size_t i = 0; i < r->probes_count; i++) {
		if (r->probes[i].passed)
			continue;
		(void)snprintf(text, sizeof(text), "probe '%s' failed: %s",
		    r->probes[i].name == NULL ? "" : r->probes[i].name,
		    r->probes[i].detail == NULL ? "" : r->probes[i].detail);
		cause.detail = text;
		sandbox_event(s->g, s->vm->sandbox_id, EVENT_FAIL, &cause);
		return;
	}
	if (write_ready(s, r, a, &f) < 0)
		log_warn(&f, "cannot keep the facts of a launch");
	vm_ready(s->vm);
	sandbox_event(s->g, s->vm->sandbox_id, EVENT_READY, NULL);
}

static void
on_exit_report(struct session *s, const nacre_session_v1_Exit *e)
{
	const struct cause cause = {
		.reason = e->reason == NULL ? "" : e->reason,
		.detail = "the main process ended",
		.has_exit = true,
		.exit_code = e->code,
	};

	if (e->exec_id != NULL && *e->exec_id != '\0')
		return;
	vm_ready(s->vm);
	watch_logs(s->g, s->vm->sandbox_id);
	sandbox_event(s->g, s->vm->sandbox_id, EVENT_EXIT, &cause);
}

static void
on_failed(struct session *s, const nacre_session_v1_Failed *m)
{
	char text[STORE_DETAIL];
	const struct cause cause = {
		.reason = "start_failed",
		.detail = text,
	};

	(void)snprintf(text, sizeof(text), "%s: %s",
	    m->stage == NULL ? "launch" : m->stage,
	    m->reason == NULL ? "failed" : m->reason);
	sandbox_event(s->g, s->vm->sandbox_id, EVENT_FAIL, &cause);
}

static void
on_log(struct session *s, const nacre_session_v1_Log *l)
{
	const struct journal_record r = {
		.offset = l->offset,
		.time_ms = l->time_ms > 0 ? l->time_ms : clock_wall_ms(),
		.is_error = l->is_error,
		.data = wire_span(l->data),
	};
	struct fault f = { 0 };

	if (journal_append(s->g, &s->vm->journal, &r, &f) < 0) {
		/* Not acknowledged: the supervisor holds it back. */
		log_warn(&f, "cannot keep output of sandbox %s",
		    s->vm->sandbox_id);
		return;
	}
	loop_later(s->g->loop, &s->ack);
	watch_logs(s->g, s->vm->sandbox_id);
}

static void
on_ack(struct deferred *d)
{
	struct session *s = CONTAINER_OF(d, struct session, ack);
	nacre_session_v1_Down down = nacre_session_v1_Down_init_zero;
	struct fault f = { 0 };
	struct buf b;

	if (s->vm == NULL || s->control == NULL)
		return;
	down.which_kind = nacre_session_v1_Down_log_ack_tag;
	down.kind.log_ack.offset = s->vm->journal.end;
	buf_init(&b, 64);
	if (WIRE_ENCODE(nacre_session_v1_Down, &down, &b, &f) < 0 ||
	    rpc_send(s->control, buf_span(&b), &f) < 0)
		log_debug("a log was not acknowledged: %s", f.text);
	buf_release(&b);
}

static void
on_up(struct session *s, const nacre_session_v1_Up *up, struct arena *a)
{
	/* What a machine that is being ended says of its launch is no event of
	 * the sandbox, which may be in its next launch already. */
	if (s->vm->end != VM_ALIVE &&
	    (up->which_kind == nacre_session_v1_Up_ready_tag ||
		up->which_kind == nacre_session_v1_Up_exit_tag ||
		up->which_kind == nacre_session_v1_Up_failed_tag))
		return;
	switch (up->which_kind) {
	case nacre_session_v1_Up_ready_tag:
		on_ready(s, &up->kind.ready, a);
		return;
	case nacre_session_v1_Up_exit_tag:
		on_exit_report(s, &up->kind.exit);
		return;
	case nacre_session_v1_Up_log_tag:
		on_log(s, &up->kind.log);
		return;
	case nacre_session_v1_Up_failed_tag:
		on_failed(s, &up->kind.failed);
		return;
	case nacre_session_v1_Up_opened_tag:
		attach_refused(s->vm, &up->kind.opened);
		return;
	case nacre_session_v1_Up_stopped_tag:
		vm_processes_ended(s->vm);
		return;
	default:
		return; /* a newer supervisor's */
	}
}

/* ---- the calls ---- */

static void
control_message(struct rpc_call *c, void *owner, struct span message)
{
	nacre_session_v1_Up up = nacre_session_v1_Up_init_zero;
	struct session *s = owner;
	struct fault f = { 0 };
	struct arena a;

	rpc_consume(c, message.len);
	if (s->vm == NULL)
		return;
	arena_init(&a, ARENA);
	if (WIRE_DECODE(nacre_session_v1_Up, &up, message, &a, &f) < 0)
		refuse(s, &f);
	else if (s->greeted)
		on_up(s, &up, &a);
	else if (up.which_kind != nacre_session_v1_Up_hello_tag)
		fault_set(&f, FAULT_PROTOCOL, "Hello comes first");
	else
		(void)!greet(s, &up.kind.hello, &a, &f);
	if (f.code != FAULT_NONE && !s->greeted)
		refuse(s, &f);
	arena_release(&a);
}

static void
control_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct session *s = owner;

	(void)c;
	(void)f;
	(void)detail;
	s->control = NULL;
	session_lost(s);
	if (s->link != NULL)
		rpc_link_shutdown(s->link);
}

static void
control_half_closed(struct rpc_call *c, void *owner)
{
	(void)owner;
	rpc_finish(c, NULL, span_of(NULL, 0));
}

static const struct rpc_call_events control_events = {
	.message = control_message,
	.half_closed = control_half_closed,
	.closed = control_closed,
};

static void
refresh_message(struct rpc_call *c, void *owner, struct span message)
{
	nacre_session_v1_RefreshRequest ask =
	    nacre_session_v1_RefreshRequest_init_zero;
	nacre_session_v1_Tokens tokens = nacre_session_v1_Tokens_init_zero;
	struct session *s = owner;
	struct fault f = { 0 };
	struct arena a;
	struct buf b;

	rpc_consume(c, message.len);
	arena_init(&a, 64 << 10);
	buf_init(&b, 8 << 10);
	if (s->vm == NULL)
		fault_set(&f, FAULT_LOST, "the machine is gone");
	else if (WIRE_DECODE(nacre_session_v1_RefreshRequest, &ask, message, &a,
		     &f) == 0 &&
	    ask.epoch != s->epoch)
		fault_set(&f, FAULT_UNAUTHENTICATED,
		    "another epoch is current");
	if (f.code == FAULT_NONE && session_tokens(s, &a, &tokens, &f) == 0 &&
	    WIRE_ENCODE(nacre_session_v1_Tokens, &tokens, &b, &f) == 0)
		(void)!rpc_send(c, buf_span(&b), &f);
	rpc_finish(c, f.code == FAULT_NONE ? NULL : &f, span_of(NULL, 0));
	buf_release(&b);
	arena_release(&a);
}

static void
ignore_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	(void)c;
	(void)owner;
	(void)f;
	(void)detail;
}

static const struct rpc_call_events refresh_events = {
	.message = refresh_message,
	.closed = ignore_closed,
};

static int
serve(struct session *s, struct rpc_call *c, const struct rpc_request *r,
    struct fault *f)
{
	struct identity_claims claims;

	if (s->vm == NULL || s->vm->sandbox_id[0] == '\0')
		return fault_set(f, FAULT_NOT_READY, "nobody's machine");
	if (span_is(r->path, SESSION "Session")) {
		if (s->control != NULL)
			return fault_set(f, FAULT_EXISTS, "one session a link");
		if (r->authorization.len > 0 &&
		    session_authorise(s, r->authorization, &s->claims, f) < 0)
			return -1;
		s->has_claims = r->authorization.len > 0;
		s->control = c;
		rpc_call_accept(c, &control_events, s);
		return 0;
	}
	if (!s->accepted)
		return fault_set(f, FAULT_UNAUTHENTICATED, "no session yet");
	if (session_authorise(s, r->authorization, &claims, f) < 0)
		return -1;
	if (span_is(r->path, SESSION "Attach")) {
		attach_accept(s->vm, c);
		return 0;
	}
	if (span_is(r->path, SESSION "Refresh")) {
		rpc_call_accept(c, &refresh_events, s);
		return 0;
	}
	return fault_set(f, FAULT_UNIMPLEMENTED, "%.*s is not served",
	    (int)(r->path.len < 100 ? r->path.len : 100),
	    (const char *)r->path.ptr);
}

void
session_called(void *owner, struct rpc_link *link, struct rpc_call *c,
    const struct rpc_request *r)
{
	struct fault f = { 0 };

	(void)link;
	if (serve(owner, c, r, &f) < 0)
		rpc_finish(c, &f, span_of(NULL, 0));
}

void
session_lost(struct session *s)
{
	if (s->vm == NULL || s->vm->session != s)
		return;
	s->vm->session = NULL;
	attach_session_lost(s->vm);
}

void
session_init(struct session *s)
{
	s->held.run = on_held;
	s->ack.run = on_ack;
}

int
session_send_bytes(struct vm *vm, struct span down, struct fault *f)
{
	if (vm->session == NULL || vm->session->control == NULL)
		return fault_set(f, FAULT_LOST, "the sandbox has no session");
	return rpc_send(vm->session->control, down, f);
}

int
session_stop(struct vm *vm, uint32_t grace_ms, struct fault *f)
{
	nacre_session_v1_Down down = nacre_session_v1_Down_init_zero;
	struct buf b;
	int rc;

	down.which_kind = nacre_session_v1_Down_stop_tag;
	down.kind.stop.grace_ms = grace_ms;
	buf_init(&b, 64);
	rc = WIRE_ENCODE(nacre_session_v1_Down, &down, &b, f);
	if (rc == 0)
		rc = session_send_bytes(vm, buf_span(&b), f);
	buf_release(&b);
	return rc;
}
