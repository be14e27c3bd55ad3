/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a stopped child; restart.h has the contracts. */
#include "gateway/line.h"
#include "gateway/plan.h"
#include "gateway/refuse.h"
#include "gateway/restart.h"
#include "gateway/sandbox.h"
#include "gateway/which.h"
#include "wire/wire.h"

int
restart_above(struct call *c, const char *id, struct policy *above,
    bool *is_child, struct fault *f)
{
	struct store_lineage l;
	struct store_sandbox parent;
	nacre_store_v1_Plan plan;

	*is_child = false;
	if (store_lineage_by_id(c->g->store, id, &c->arena, &l, f) < 0)
		return -1;
	if (l.parent[0] == '\0')
		return 0;
	*is_child = true;
	if (store_sandbox_by_id(c->g->store, l.parent, &c->arena, &parent, f) <
		0 ||
	    sandbox_plan(&parent, &c->arena, &plan, f) < 0)
		return -1;
	return plan_policy_text(wire_span(plan.policy), 0, &c->arena, above, f);
}

/* The tree as the store has it, whoever asks: a sandbox was judged before. */
int
restart_take(struct call *c, const char *id, struct fault *f)
{
	struct which *w = arena_get(&c->arena, sizeof(*w));
	struct grant_slot slot = { .queue = line_queue(c->g) };
	struct grant_charge charge;
	struct grant_refusal r;
	struct store_lineage l;

	if (w == NULL)
		return fault_set(f, FAULT_LIMIT, "the call is too big");
	if (store_lineage_by_id(c->g->store, id, &c->arena, &l, f) < 0)
		return -1;
	if (l.parent[0] == '\0')
		return 0;
	w->row = &l;
	if (tree_read(c->g, l.root, &c->arena, &w->tree, f) < 0)
		return -1;
	if (which_again(c, w, f) < 0)
		return -1;
	slot.tree = w->tree.memory->number;
	if (grant_may_restart(&w->ask, w->node, &slot, &charge, &r) < 0 ||
	    line_join(c->g, id, slot.tree, &r) < 0)
		return refuse(c, &r, f);
	return 0;
}
