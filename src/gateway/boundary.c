/* SPDX-License-Identifier: Apache-2.0 */
/* What is in force; boundary.h has the contracts. */
#include "gateway/boundary.h"
#include "gateway/plan.h"
#include "gateway/sandbox.h"
#include "wire/wire.h"

static bool
has_machine(enum state s)
{
	return state_is_open(s) || s == STATE_STARTING || s == STATE_STOPPING;
}

int
boundary_read(const struct store_sandbox *row, struct arena *a,
    struct boundary *b, struct fault *f)
{
	struct object_policy p;
	nacre_store_v1_Facts facts;
	nacre_store_v1_Plan plan;

	*b = (struct boundary){ 0 };
	if (object_policy(row, a, &p, f) < 0 ||
	    sandbox_facts(row, a, &facts, f) < 0 ||
	    sandbox_plan(row, a, &plan, f) < 0)
		return -1;
	(void)text_copy(b->parent, sizeof(b->parent), span_str(row->id));
	b->written = b->generation = p.generation;
	b->text = wire_span(plan.policy);
	if (!has_machine((enum state)row->state) ||
	    facts.policy_generation == 0)
		return 0;
	if (state_is_open((enum state)row->state) && !facts.policy_confirmed)
		return fault_set(f, FAULT_BUSY,
		    "the policy of '%s' is on its way", row->name);
	b->in_force = true;
	b->generation = facts.policy_generation;
	b->text = wire_span(facts.policy);
	return 0;
}

int
boundary_of(const struct store_sandbox *row, struct arena *a,
    struct boundary *b, struct fault *f)
{
	if (boundary_read(row, a, b, f) < 0)
		return -1;
	return plan_policy_text(b->text, 0, a, &b->policy, f);
}

int
boundary_above(struct gateway *g, const char *id, struct arena *a,
    struct boundary *b, struct fault *f)
{
	struct store_lineage l;
	struct store_sandbox parent;

	*b = (struct boundary){ 0 };
	if (store_lineage_by_id(g->store, id, a, &l, f) < 0)
		return -1;
	if (l.parent[0] == '\0')
		return 0;
	if (store_sandbox_by_id(g->store, l.parent, a, &parent, f) < 0)
		return -1;
	return boundary_of(&parent, a, b, f);
}

int
boundary_again(struct gateway *g, struct boundary *b, struct arena *a,
    struct fault *f)
{
	struct store_sandbox parent;
	struct boundary now;

	if (b->parent[0] == '\0')
		return 0;
	if (store_sandbox_by_id(g->store, b->parent, a, &parent, f) < 0 ||
	    boundary_read(&parent, a, &now, f) < 0)
		return -1;
	b->written = now.written;
	if (now.generation == b->generation)
		return 0;
	return fault_set(f, FAULT_BUSY,
	    "the policy of '%s' changed while it was judged", parent.name);
}

bool
boundary_mark(const struct boundary *b, bool is_new, struct object_policy *p)
{
	bool is_newest = b->generation == b->written;

	if (b->parent[0] == '\0')
		return false;
	if (is_new || is_newest) {
		p->boundary_generation = b->generation;
		p->is_stale_boundary = false;
	}
	return !is_newest;
}
