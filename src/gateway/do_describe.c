/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DescribeSandbox and SandboxConsole: what the row says, and what the keeper
 * answers when there is one. A keeper that does not answer leaves its part
 * out.
 */
#include <string.h>

#include "gateway/boundary.h"
#include "gateway/do.h"
#include "gateway/enforced.h"
#include "gateway/fleet.h"
#include "gateway/object.h"
#include "gateway/open.h"
#include "gateway/refuse.h"
#include "gateway/sandbox.h"
#include "gateway/vm.h"
#include "policy/policy.h"
#include "proto/nacre_v1.pb.h"
#include "proto/openshell_v1.pb.h"
#include "wire/wire.h"

enum {
	ASK_MS = 5000,
};

struct describe {
	struct call *call; /* NULL when the client has left */
	struct vm_ask *ask;
	struct store_sandbox row;
	nacre_store_v1_Facts facts;
	nacre_store_v1_Plan plan;
	struct store_lineage lineage;
	struct object_policy policy;
	bool console;
};

#define ENFORCED                                                           \
 "files, user and group; no network; no capability, own pid, mount, net, " \
 "ipc and uts namespaces"

int
do_describe_decide(struct call *c, struct fault *f)
{
	const nacre_v1_DescribeSandboxRequest *ask = c->ask;
	struct describe *d = arena_get(&c->arena, sizeof(*d));

	BUG_IF(d == NULL);
	c->work = d;
	if (open_name(c, ask->name, &d->row, f) < 0 ||
	    sandbox_plan(&d->row, &c->arena, &d->plan, f) < 0 ||
	    store_lineage_by_id(c->g->store, d->row.id, &c->arena, &d->lineage,
		f) < 0 ||
	    object_policy(&d->row, &c->arena, &d->policy, f) < 0)
		return -1;
	return sandbox_facts(&d->row, &c->arena, &d->facts, f);
}

static void
from_policy(struct describe *d, struct arena *a, nacre_v1_SandboxDetails *out)
{
	struct span text = wire_span(d->plan.policy);
	struct fault ignored = { 0 };
	struct boundary b;
	uint8_t digest[DIGEST_SIZE];
	char hex[DIGEST_HEX];

	digest_of(text, digest);
	hex_format(digest, sizeof(digest), hex);
	out->policy_hash = arena_str(a, span_str(hex));
	out->policy = arena_str(a, text);
	out->policy_generation = d->policy.generation;
	out->maximum_generation = d->policy.maximum_generation;
	out->stale_maximum = d->policy.is_stale;
	out->stale_boundary = d->policy.is_stale_boundary;
	if (boundary_read(&d->row, a, &b, &ignored) == 0 && b.in_force)
		out->generation_in_force = b.generation;
	out->enforced = arena_str(a, SPAN_LIT(ENFORCED));
	out->enforcement = enforced_today(&d->plan, d->policy.message, a);
	if (out->enforcement != NULL)
		out->enforcement_count = ENFORCED_SECTIONS;
}

static void
from_lineage(const struct store_lineage *l, struct arena *a,
    nacre_v1_SandboxDetails *out)
{
	out->parent = arena_str(a, span_str(l->parent));
	out->root = arena_str(a, span_str(l->root));
	out->has_depth = l->kind == GRANT_AGENT;
	out->depth = l->depth;
	out->kind = arena_str(a,
	    l->kind == GRANT_TOOL ? SPAN_LIT("tool") : SPAN_LIT("agent"));
}

static void
from_row(struct describe *d, struct arena *a, nacre_v1_SandboxDetails *out)
{
	const struct store_sandbox *row = &d->row;

	out->id = arena_str(a, span_str(row->id));
	out->name = arena_str(a, span_str(row->name));
	out->state = arena_str(a, span_str(state_name((enum state)row->state)));
	out->image = arena_str(a, span_str(row->image));
	out->image_digest = arena_str(a, span_str(row->image_digest));
	out->cpus = row->cpus;
	out->memory_mib = row->memory_mib;
	out->has_exit = row->has_exit;
	out->exit_code = row->exit_code;
	out->reason = arena_fmt(a, "%s%s%s", row->reason,
	    row->reason[0] != '\0' && row->detail[0] != '\0' ? ": " : "",
	    row->detail);
	out->created_ms = row->created_ms;
	out->started_ms = row->started_ms;
	out->launches = row->launches;
	out->command = d->plan.argv;
	out->command_count = d->plan.argv_count;
	out->user = d->plan.user;
	from_policy(d, a, out);
}

static void
from_facts(const struct gateway *g, struct describe *d, struct arena *a,
    nacre_v1_SandboxDetails *out)
{
	const nacre_store_v1_Facts *facts = &d->facts;
	const struct machine_template *t = fleet_facts(g);

	_Static_assert(sizeof(nacre_v1_Probe) == sizeof(nacre_store_v1_Probe),
	    "one form of probes");
	out->supervisor_digest = facts->supervisor_digest;
	out->boot_id = facts->boot_id;
	out->accelerator = facts->accelerator;
	out->from_parked = facts->from_parked;
	out->cold = facts->cold;
	out->assigned_us = facts->assigned_us;
	out->connected_us = facts->connected_us;
	out->ready_us = facts->ready_us;
	out->probes = (void *)facts->probes;
	out->probes_count = facts->probes_count;
	if (t != NULL)
		out->kernel_digest = arena_str(a, span_str(t->kernel_digest));
}

static void
reply(struct describe *d, nacre_keeper_v1_StatusReply *s)
{
	nacre_v1_SandboxDetails out = nacre_v1_SandboxDetails_init_zero;
	struct call *c = d->call;
	struct fault f = { 0 };

	from_row(d, &c->arena, &out);
	from_lineage(&d->lineage, &c->arena, &out);
	from_facts(c->g, d, &c->arena, &out);
	if (s != NULL) {
		out.keeper_pid = s->keeper_pid;
		out.vmm_pid = s->vmm_pid;
		out.private_bytes = s->private_bytes;
		out.code_bytes = s->code_bytes;
		out.accelerator = s->accelerator;
	}
	if (call_send(c, nacre_v1_SandboxDetails_fields, &out, &f) < 0)
		call_finish(c, &f);
	else
		call_finish(c, NULL);
}

static void
on_status(void *owner, struct span bytes, const struct fault *f)
{
	nacre_keeper_v1_StatusReply s = nacre_keeper_v1_StatusReply_init_zero;
	struct describe *d = owner;
	struct fault wrong = *f;

	d->ask = NULL;
	if (wrong.code == FAULT_NONE &&
	    WIRE_DECODE(nacre_keeper_v1_StatusReply, &s, bytes, &d->call->arena,
		&wrong) == 0) {
		reply(d, &s);
		return;
	}
	log_warn(&wrong, "a keeper does not say how it is");
	reply(d, NULL);
}

static void
on_console(void *owner, struct span bytes, const struct fault *f)
{
	nacre_keeper_v1_ConsoleReply got =
	    nacre_keeper_v1_ConsoleReply_init_zero;
	nacre_v1_ConsoleText out = nacre_v1_ConsoleText_init_zero;
	struct describe *d = owner;
	struct call *c = d->call;
	struct fault wrong = *f;

	d->ask = NULL;
	if (wrong.code == FAULT_NONE &&
	    WIRE_DECODE(nacre_keeper_v1_ConsoleReply, &got, bytes, &c->arena,
		&wrong) == 0) {
		out.text = got.text;
		out.dropped = got.dropped;
		(void)!call_send(c, nacre_v1_ConsoleText_fields, &out, &wrong);
	}
	call_finish(c, wrong.code == FAULT_NONE ? NULL : &wrong);
}

static void
on_gone(struct call *c)
{
	struct describe *d = c->work;

	if (d->ask != NULL)
		vm_ask_drop(d->ask);
	d->ask = NULL;
}

static const struct call_events events = {
	.gone = on_gone,
};

/* Both requests of the keeper are empty messages. */
static void
ask_keeper(struct call *c, struct vm *vm, const char *path, vm_answer done)
{
	struct describe *d = c->work;

	call_take(c, &events, d);
	d->ask = vm_ask(vm, path, span_of(NULL, 0), ASK_MS, done, d);
}

void
do_describe_answer(struct call *c)
{
	struct describe *d = c->work;
	struct vm *vm = vm_of(c->g, &d->row);

	d->call = c;
	if (vm == NULL || vm->link == NULL) {
		call_take(c, &events, d);
		reply(d, NULL);
		return;
	}
	ask_keeper(c, vm, "/nacre.keeper.v1.Keeper/Status", on_status);
}

void
do_console_answer(struct call *c)
{
	struct describe *d = c->work;
	struct vm *vm = vm_of(c->g, &d->row);
	struct fault f = { 0 };

	d->call = c;
	if (vm == NULL || vm->link == NULL) {
		c->hint = "start it first";
		fault_set(&f, FAULT_NOT_READY, "sandbox '%s' has no machine",
		    d->row.name);
		(void)refuse_in_state(c, d->row.state, &f);
		call_finish(c, &f);
		return;
	}
	ask_keeper(c, vm, "/nacre.keeper.v1.Keeper/Console", on_console);
}
