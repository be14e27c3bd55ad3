/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of the guest, each of which becomes an event of its sandbox. What
 * a guest repeats costs it a comparison, not the gateway a commit.
 */
#include <stdio.h>
#include <string.h>

#include "gateway/sandbox.h"
#include "gateway/session_inner.h"
#include "gateway/watch.h"
#include "wire/wire.h"

/* Nothing more is heard from this session; the guest begins another. */
static void
lose(struct session *s, const struct fault *why)
{
	log_warn(why, "a session of sandbox %s ends", s->vm->sandbox_id);
	s->is_lost = true;
	if (s->link != NULL)
		rpc_link_drop(s->link, why);
}

/*
 * Said for the first time? What is repeated, as every reconnect does, has no
 * effect and no commit. Who contradicts itself loses its session.
 */
static bool
is_new(struct session *s, struct vm_word *w, struct span message)
{
	uint8_t digest[DIGEST_SIZE];
	struct fault f = { 0 };

	digest_of(message, digest);
	if (!w->is_said) {
		w->is_said = w->is_fresh = true;
		memcpy(w->digest, digest, sizeof(digest));
		return true;
	}
	if (memcmp(w->digest, digest, sizeof(digest)) == 0)
		return false;
	fault_set(&f, FAULT_PROTOCOL, "the guest contradicts itself");
	lose(s, &f);
	return false;
}

static void
keep(struct session *s, bool is_kept)
{
	s->vm->is_unkept = s->vm->is_unkept || !is_kept;
	loop_held(s->g->loop, &s->vm->told);
}

/* The guest repeats its words in the next session. */
static void
say_again(struct vm *vm)
{
	struct fault f = { 0 };

	if (vm->ready.is_fresh)
		vm_expect(vm);
	vm->ready.is_said = vm->ready.is_said && !vm->ready.is_fresh;
	vm->exit.is_said = vm->exit.is_said && !vm->exit.is_fresh;
	fault_set(&f, FAULT_LOST, "what the guest said could not be kept");
	if (vm->session != NULL)
		lose(vm->session, &f);
}

void
session_told(struct deferred *told)
{
	struct vm *vm = CONTAINER_OF(told, struct vm, told);

	if (vm->is_unkept || vm->g->commit_fault.code != FAULT_NONE)
		say_again(vm);
	vm->is_unkept = vm->ready.is_fresh = vm->exit.is_fresh = false;
}

/* Tokens of the epochs before this one are dead from here on. */
static void
on_taken(struct session *s, uint64_t epoch, struct arena *a)
{
	nacre_store_v1_Facts facts;
	struct store_sandbox row;
	struct fault f = { 0 };

	if (s->taken || s->launches || epoch != s->epoch)
		return;
	s->taken = true;
	if (store_sandbox_by_id(s->g->store, s->vm->sandbox_id, a, &row, &f) <
		0 ||
	    sandbox_facts(&row, a, &facts, &f) < 0) {
		log_warn(&f, "cannot confirm an epoch");
		return;
	}
	if (row.epoch != s->epoch)
		return; /* a newer session has come meanwhile */
	facts.confirmed_epoch = epoch;
	if (sandbox_set_facts(&row, a, &facts, &f) < 0 ||
	    store_sandbox_update(s->g->store, &row, &f) < 0)
		log_warn(&f, "cannot confirm an epoch");
}

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
	if (r->generation != facts.policy_generation)
		return fault_set(f, FAULT_PROTOCOL,
		    "the guest runs under policy generation %llu, not %u",
		    (unsigned long long)r->generation,
		    (unsigned)facts.policy_generation);
	facts.policy_confirmed = true;
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
	if (write_ready(s, r, a, &f) < 0) {
		log_warn(&f, "cannot keep the facts of a launch");
		if (f.code == FAULT_PROTOCOL) {
			cause.detail = f.text;
			sandbox_event(s->g, s->vm->sandbox_id, EVENT_FAIL,
			    &cause);
			return;
		}
	}
	vm_ready(s->vm);
	keep(s,
	    sandbox_event(s->g, s->vm->sandbox_id, EVENT_READY, NULL) &&
		f.code == FAULT_NONE);
}

/* True when that cannot be told, too: the event will not be kept either. */
static bool
has_main(struct session *s, struct arena *a)
{
	nacre_store_v1_Plan plan;
	struct store_sandbox row;
	struct fault f = { 0 };

	return store_sandbox_by_id(s->g->store, s->vm->sandbox_id, a, &row,
		   &f) < 0 ||
	    sandbox_plan(&row, a, &plan, &f) < 0 || plan.argv_count > 0;
}

/* Who tells of the end of what was never begun is no guest of ours. */
static void
stop_liar(struct session *s)
{
	static const struct cause why = {
		.reason = "protocol",
		.detail = "its guest told of the end of a main process, and "
			  "it has none",
	};

	log_info("sandbox %s is stopped: %s", s->vm->sandbox_id, why.detail);
	keep(s, sandbox_event(s->g, s->vm->sandbox_id, EVENT_STOP, &why));
}

static void
on_exit_report(struct session *s, const nacre_session_v1_Exit *e,
    struct arena *a)
{
	const struct cause cause = {
		.reason = e->reason == NULL ? "" : e->reason,
		.detail = "the main process ended",
		.has_exit = true,
		.exit_code = e->code,
	};

	if (e->exec_id != NULL && *e->exec_id != '\0')
		return;
	if (!has_main(s, a)) {
		stop_liar(s);
		return;
	}
	vm_ready(s->vm);
	watch_logs(s->g, s->vm->sandbox_id);
	keep(s, sandbox_event(s->g, s->vm->sandbox_id, EVENT_EXIT, &cause));
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
		/* The supervisor holds it, and sends it from there in its next
		 * session; what follows it now would leave a hole. */
		lose(s, &f);
		return;
	}
	loop_later(s->g->loop, &s->ack);
	watch_logs(s->g, s->vm->sandbox_id);
}

void
session_acknowledge(struct session *s)
{
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

void
session_report(struct session *s, const nacre_session_v1_Up *up,
    struct span message, struct arena *a)
{
	if (s->is_lost)
		return;
	/* What a machine that is being ended says of its launch is no event of
	 * the sandbox, which may be in its next launch already. */
	if (s->vm->end != VM_ALIVE &&
	    (up->which_kind == nacre_session_v1_Up_ready_tag ||
		up->which_kind == nacre_session_v1_Up_exit_tag ||
		up->which_kind == nacre_session_v1_Up_failed_tag))
		return;
	switch (up->which_kind) {
	case nacre_session_v1_Up_ready_tag:
		if (is_new(s, &s->vm->ready, message))
			on_ready(s, &up->kind.ready, a);
		return;
	case nacre_session_v1_Up_exit_tag:
		if (is_new(s, &s->vm->exit, message))
			on_exit_report(s, &up->kind.exit, a);
		return;
	case nacre_session_v1_Up_taken_tag:
		on_taken(s, up->kind.taken.epoch, a);
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
