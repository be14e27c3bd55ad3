/* SPDX-License-Identifier: Apache-2.0 */
/* Starting again; restart.h has the contracts. */
#include "gateway/line.h"
#include "gateway/object.h"
#include "gateway/plan.h"
#include "gateway/refuse.h"
#include "gateway/restart.h"
#include "gateway/sandbox.h"
#include "gateway/which.h"
#include "wire/wire.h"

/* The tree as the store has it, whoever asks: a sandbox was judged before. */
static int
check_child(struct call *c, struct store_lineage *l, struct fault *f)
{
	struct which *w = arena_get(&c->arena, sizeof(*w));
	struct grant_slot slot = { .queue = line_queue(c->g) };
	struct grant_charge charge;
	struct grant_refusal r;

	if (w == NULL)
		return fault_set(f, FAULT_LIMIT, "the call is too big");
	w->row = l;
	if (tree_read(c->g, l->root, &c->arena, &w->tree, f) < 0 ||
	    which_again(c, w, f) < 0)
		return -1;
	slot.tree = w->tree.memory->number;
	if (grant_may_go_on(&w->ask, &c->caller.evidence, &r) < 0 ||
	    grant_may_restart(&w->ask, w->node, &slot, &charge, &r) < 0)
		return refuse(c, &r, f);
	return 0;
}

int
restart_take(struct call *c, const char *id, struct fault *f)
{
	struct grant_refusal r;
	struct store_lineage l;

	if (store_lineage_by_id(c->g->store, id, &c->arena, &l, f) < 0 ||
	    (l.parent[0] != '\0' && check_child(c, &l, f) < 0))
		return -1;
	if (line_join(c->g, id, tree_number(c->g, l.root), l.parent[0] == '\0',
		&r) < 0)
		return refuse(c, &r, f);
	return 0;
}

static int
judged(struct call *c, struct fault *f)
{
	(void)c;
	(void)f;
	return 0;
}

int
restart_judge(struct call *c, struct restart *r,
    const struct store_sandbox *row, struct fault *f)
{
	nacre_store_v1_Plan plan;

	r->judgement.child = &r->policy;
	r->judgement.scene = &r->scene;
	r->judgement.then = judged;
	if (sandbox_plan(row, &c->arena, &plan, f) < 0 ||
	    plan_policy_text(wire_span(plan.policy), 0, &c->arena, &r->policy,
		f) < 0 ||
	    boundary_above(c->g, row->id, &c->arena, &r->above, f) < 0 ||
	    scene_of_sandbox(c->g, row, &c->arena, &r->scene, f) < 0)
		return -1;
	if (r->above.parent[0] != '\0')
		r->judgement.parent = &r->above.policy;
	return judge(c, &r->judgement, f);
}

/* Policy writes and the end of machines may have come while it was judged. */
int
restart_mark(struct call *c, struct restart *r, struct store_sandbox *row,
    struct fault *f)
{
	struct object_policy p;
	nacre_store_v1_Plan plan;

	if (sandbox_plan(row, &c->arena, &plan, f) < 0 ||
	    object_policy(row, &c->arena, &p, f) < 0)
		return -1;
	if (!span_equal(wire_span(plan.policy), r->policy.text))
		return fault_set(f, FAULT_BUSY,
		    "sandbox '%s' was changed while it was judged", row->name);
	if (boundary_again(c->g, &r->above, &c->arena, f) < 0)
		return -1;
	p.maximum_generation = r->judgement.maximum.generation;
	p.is_stale = false;
	(void)boundary_mark(&r->above, false, &p);
	return object_mark(row, &p, &c->arena, f);
}
