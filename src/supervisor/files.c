/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files the agent may reach: the baseline of every sandbox and the
 * policy's own, in the words of Confirm. The baseline is never less: proofs
 * take it for equal on both sides (POLICY.md 2), so a policy that lists /tmp
 * to be read only must not have a child that may write it.
 */
#include "policy/policy.h"
#include "supervisor/inner.h"

int
files_rules(struct supervisor *sv, nacre_sandbox_v1_ConfirmRequest *q,
    struct fault *f)
{
	const nacre_session_v1_Bundle *b = &sv->bundle;
	size_t n = POLICY_BASELINE + b->files_count;
	struct arena *a = &sv->bundle_arena;
	nacre_sandbox_v1_FileRule *to = arena_get(a, n * sizeof(*to));

	if (!to)
		return fault_set(f, FAULT_LIMIT, "the policy is too big");
	q->files = to;
	q->files_count = (pb_size_t)n;
	for (size_t i = 0; i < POLICY_BASELINE; i++, to++) {
		to->path = arena_str(a, span_str(policy_baseline[i].path));
		to->write = policy_baseline[i].write;
		to->is_optional = true;
		if (!to->path)
			return fault_set(f, FAULT_LIMIT,
			    "the policy is too big");
	}
	for (size_t i = 0; i < b->files_count; i++, to++) {
		to->path = b->files[i].path;
		to->write = b->files[i].write;
		to->is_optional = b->best_effort && !to->write;
	}
	return 0;
}
