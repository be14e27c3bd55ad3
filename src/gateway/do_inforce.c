/* SPDX-License-Identifier: Apache-2.0 */
/* The policy that is in force in a sandbox. */
#include "gateway/do.h"
#include "gateway/object.h"
#include "gateway/open.h"
#include "gateway/sandbox.h"
#include "proto/nacre_v1.pb.h"
#include "wire/wire.h"

/* A sandbox has no name but its own. */
static int
find(struct call *c, const char *which, struct store_sandbox *row,
    struct fault *f)
{
	struct fault ignored = { 0 };

	if (c->caller.who & CALL_SANDBOX) {
		if (which != NULL && *which != '\0')
			return fault_field(f, "id",
			    "a sandbox sees its own policy only");
		return open_id(c, c->caller.sandbox_id, row, f);
	}
	if (which != NULL && open_id(c, which, row, &ignored) == 0)
		return 0;
	return open_name(c, which, row, f);
}

int
do_in_force(struct call *c, struct fault *f)
{
	const nacre_v1_GetPolicyRequest *ask = c->ask;
	nacre_v1_PolicyInForce r = nacre_v1_PolicyInForce_init_zero;
	struct object_policy policy;
	struct store_sandbox row;
	nacre_store_v1_Plan plan;

	if (find(c, ask->id, &row, f) < 0 ||
	    sandbox_plan(&row, &c->arena, &plan, f) < 0 ||
	    object_policy(&row, &c->arena, &policy, f) < 0)
		return -1;
	r.policy = arena_str(&c->arena, wire_span(plan.policy));
	r.hash = arena_str(&c->arena, span_str(policy.hash));
	r.generation = policy.generation;
	if (r.policy == NULL || r.hash == NULL)
		return fault_set(f, FAULT_LIMIT, "the answer is too long");
	return CALL_REPLY(c, nacre_v1_PolicyInForce, &r, f);
}
