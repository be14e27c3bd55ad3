/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a child: its machine is its parent's in image, cpus and memory,
 * its environment begins with the image's alone.
 */
#include <string.h>

#include "gateway/child.h"
#include "gateway/object.h"
#include "gateway/plan.h"
#include "gateway/sandbox.h"
#include "wire/wire.h"

enum {
	OF_ID = 5, /* digits of the id in the name that others see */
};

/* "worker", and "worker-<5 of id>" for those who know no trees. */
static void
set_names(struct call *c, struct child_create *k)
{
	struct store_sandbox *row = &k->row;
	struct store_lineage *l = &k->lineage;

	uuid_make(row->id);
	(void)text_copy(l->id, sizeof(l->id), span_str(row->id));
	if (k->ask.has_name)
		(void)text_copy(l->name, sizeof(l->name), k->ask.name);
	else
		(void)text_fmt(l->name, sizeof(l->name), "%s-%.7s",
		    k->ask.kind == GRANT_TOOL ? "tool" : "agent", row->id + 9);
	for (char *s = l->name; *s != '\0' && !k->ask.has_name; s++)
		if (*s == '-' && s[1] == '-')
			*s = 'x';
	(void)text_fmt(row->name, sizeof(row->name), "%s-%.*s", l->name, OF_ID,
	    row->id);
	(void)text_copy(c->sandbox_id, sizeof(c->sandbox_id),
	    span_str(row->id));
	(void)text_copy(c->sandbox, sizeof(c->sandbox), span_str(row->name));
}

static void
set_lineage(struct call *c, struct child_create *k,
    const struct grant_charge *charge)
{
	const struct store_lineage *parent = k->parent.row;
	struct store_lineage *l = &k->lineage;

	(void)text_copy(l->parent, sizeof(l->parent), span_str(parent->id));
	(void)text_copy(l->root, sizeof(l->root), span_str(parent->root));
	(void)text_copy(l->grant, sizeof(l->grant), k->parent.tree.grant.id);
	(void)text_copy(l->user, sizeof(l->user), span_str(parent->user));
	l->depth = charge->depth;
	l->kind = k->ask.kind;
	l->counted = charge->total;
	l->created_ms = clock_wall_ms();
	if (k->ask.kind == GRANT_TOOL)
		l->idle_seconds = (uint32_t)k->ask.idle_seconds;
	hex_format(k->policy.hash, POLICY_HASH, l->policy_hash);
	if (!(c->caller.who & CALL_SANDBOX))
		return;
	l->program = arena_str(&c->arena, c->caller.evidence.self.path);
	hex_format(c->caller.evidence.self.sha256, DIGEST_SIZE, l->sha256);
}

/* As a create of a root would say it. */
static int
make_north(struct call *c, struct child_create *k,
    openshell_v1_CreateSandboxRequest *north, struct fault *f)
{
	const nacre_v1_CreateChildSandboxRequest *ask = c->ask;

	_Static_assert(sizeof(*ask->environment) ==
		sizeof(*north->spec.environment),
	    "one form of pairs");
	north->name = arena_str(&c->arena, span_str(k->row.name));
	north->has_spec = true;
	north->spec.has_template = true;
	north->spec.template.image =
	    arena_str(&c->arena, span_str(k->row.image));
	north->spec.command = ask->command;
	north->spec.command_count = ask->command_count;
	north->spec.environment = (void *)ask->environment;
	north->spec.environment_count = ask->environment_count;
	north->spec.has_policy = true;
	return policy_message(&k->policy, &c->arena, &north->spec.policy, f);
}

static int
encode_plan(struct call *c, struct child_create *k,
    const nacre_store_v1_Plan *plan, struct fault *f)
{
	struct buf b;
	int rc;

	buf_init(&b, LIMIT_MESSAGE);
	rc = WIRE_ENCODE(nacre_store_v1_Plan, plan, &b, f);
	if (rc == 0)
		k->row.plan = arena_dup(&c->arena, buf_span(&b));
	buf_release(&b);
	return rc;
}

static int
keep(struct call *c, struct child_create *k, struct fault *f)
{
	openshell_v1_CreateSandboxRequest north =
	    openshell_v1_CreateSandboxRequest_init_zero;
	nacre_store_v1_Plan plan = nacre_store_v1_Plan_init_zero;
	struct object_policy p = {
		.generation = 1,
		.maximum_generation = k->judgement.maximum.generation,
		.hash = k->lineage.policy_hash,
	};

	(void)boundary_mark(&k->above, true, &p);
	if (make_north(c, k, &north, f) < 0 ||
	    plan_make(&north.spec, &k->scene.info, &k->policy, &c->arena, &plan,
		f) < 0)
		return -1;
	/* It was proved to work there, whatever the home of its account is. */
	plan.workdir = arena_str(&c->arena, k->scene.image.workdir);
	if (plan.workdir == NULL)
		return fault_set(f, FAULT_LIMIT,
		    "the arguments take too much memory");
	if (encode_plan(c, k, &plan, f) < 0)
		return -1;
	return object_keep(&north, &p, &c->arena, &k->row.object,
	    &k->row.labels, f);
}

int
child_row(struct call *c, struct child_create *k,
    const struct grant_charge *charge, struct fault *f)
{
	const struct store_sandbox *parent = &k->parent_row;
	struct store_sandbox *row = &k->row;

	set_names(c, k);
	set_lineage(c, k, charge);
	(void)text_copy(row->image, sizeof(row->image),
	    span_str(parent->image));
	(void)text_copy(row->image_digest, sizeof(row->image_digest),
	    span_str(parent->image_digest));
	row->cpus = parent->cpus;
	row->memory_mib = parent->memory_mib;
	row->created_ms = k->lineage.created_ms;
	row->version = 1;
	row->state = STATE_RESERVED;
	return keep(c, k, f);
}
