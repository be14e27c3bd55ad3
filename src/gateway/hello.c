/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hello and its answer. The answer leaves after its epoch is durable, so no
 * epoch is given twice; and an epoch that was given counts as taken only when
 * the guest says so or comes with its token, so none is lost with an answer.
 */
#include <string.h>

#include "gateway/epoch.h"
#include "gateway/files.h"
#include "gateway/fleet.h"
#include "gateway/object.h"
#include "gateway/plan.h"
#include "gateway/sandbox.h"
#include "gateway/session_inner.h"
#include "gateway/settle.h"
#include "wire/wire.h"

enum {
	/* Of its memory, for kernel, supervisor and page cache: so an agent
	 * that wants too much meets its own limit, not the machine's. */
	GUEST_KEEPS_MIB = 38,
	GUEST_KEEPS_PART = 32,
	PIDS_MAX = 2048,
};

static int
check_hello(struct session *s, const nacre_session_v1_Hello *h,
    const struct store_sandbox *row, uint64_t confirmed, struct fault *f)
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
	if (strcmp(s->claims.launch, row->launch) != 0)
		return fault_set(f, FAULT_UNAUTHENTICATED,
		    "the token is superseded");
	return epoch_check(row->epoch, confirmed, s->claims.epoch, h->epoch, f);
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
    nacre_session_v1_Bundle *b, nacre_store_v1_Facts *facts, struct fault *f)
{
	nacre_store_v1_Plan plan;
	struct object_policy policy;

	if (sandbox_plan(row, a, &plan, f) < 0 ||
	    object_policy(row, a, &policy, f) < 0 ||
	    set_command(&plan, a, b, f) < 0 || files_of(&plan, a, b, f) < 0 ||
	    session_tokens(s, a, &b->tokens, f) < 0)
		return -1;
	b->has_tokens = true;
	b->sandbox_id = s->vm->sandbox_id;
	b->name = arena_str(a, span_str(row->name));
	b->epoch = s->epoch;
	b->policy = plan.policy;
	b->generation = policy.generation;
	facts->policy = plan.policy;
	facts->policy_generation = policy.generation;
	facts->policy_confirmed = false;
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
    nacre_store_v1_Facts *facts, struct fault *f)
{
	nacre_session_v1_Down down = nacre_session_v1_Down_init_zero;

	if (s->launches) {
		down.which_kind = nacre_session_v1_Down_bundle_tag;
		if (make_bundle(s, row, a, &down.kind.bundle, facts, f) < 0)
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

int
session_greet(struct session *s, const nacre_session_v1_Hello *h,
    struct arena *a, struct fault *f)
{
	nacre_store_v1_Facts facts;
	struct store_sandbox row;

	if (store_sandbox_by_id(s->g->store, s->vm->sandbox_id, a, &row, f) < 0)
		return -1;
	if (sandbox_facts(&row, a, &facts, f) < 0 ||
	    check_hello(s, h, &row, facts.confirmed_epoch, f) < 0 ||
	    open_journal(s, &row, f) < 0)
		return -1;
	s->launches = !s->has_claims;
	s->epoch = s->launches ? row.epoch + 1 : h->epoch;
	(void)text_copy(s->launch, sizeof(s->launch), span_str(row.launch));
	row.epoch = s->epoch;
	facts.confirmed_epoch = s->launches ? 0 : s->claims.epoch;
	if (s->launches)
		note_facts(s, h, &facts, a);
	else /* it holds tokens, which came with the policy */
		facts.policy_confirmed = true;
	if (make_answer(s, &row, a, &facts, f) < 0 ||
	    sandbox_set_facts(&row, a, &facts, f) < 0 ||
	    store_sandbox_update(s->g->store, &row, f) < 0)
		return -1;
	s->greeted = true;
	loop_held(s->g->loop, &s->held);
	settle_later(s->g, row.id);
	/* It came up while this gateway was away: it is ready. */
	if (!s->launches && h->running && row.state == STATE_STARTING) {
		vm_ready(s->vm);
		sandbox_event(s->g, row.id, EVENT_READY, NULL);
	}
	return 0;
}

void
session_greeted(struct session *s)
{
	struct session *before;
	struct fault f = s->g->commit_fault;

	if (s->vm == NULL || s->control == NULL)
		return;
	if (f.code != FAULT_NONE) {
		session_refuse(s, &f);
		return;
	}
	if (!s->launches)
		crash_at("before_resume");
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
