/* SPDX-License-Identifier: Apache-2.0 */
/* The policy that is in force in a sandbox. */
#include "gateway/boundary.h"
#include "gateway/do.h"
#include "gateway/open.h"
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
	char hex[2 * POLICY_HASH + 1];
	struct store_sandbox row;
	struct boundary b;

	if (find(c, ask->id, &row, f) < 0 ||
	    boundary_of(&row, &c->arena, &b, f) < 0)
		return -1;
	hex_format(b.policy.hash, POLICY_HASH, hex);
	r.policy = arena_str(&c->arena, b.text);
	r.hash = arena_str(&c->arena, span_str(hex));
	r.generation = b.generation;
	r.written_generation = b.written;
	if (r.policy == NULL || r.hash == NULL)
		return fault_set(f, FAULT_LIMIT, "the answer is too long");
	return CALL_REPLY(c, nacre_v1_PolicyInForce, &r, f);
}
