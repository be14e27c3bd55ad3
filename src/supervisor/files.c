/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files the agent may reach: the baseline of every sandbox and the
 * policy's own, in the words of Confirm. A policy that names a path of the
 * baseline to be read only is obeyed.
 */
#include <string.h>

#include "policy/policy.h"
#include "supervisor/inner.h"

static bool
is_read_only(const nacre_session_v1_Bundle *b, const char *path)
{
	bool is = false;

	for (size_t i = 0; i < b->files_count; i++) {
		if (!b->files[i].path || strcmp(b->files[i].path, path) != 0)
			continue;
		if (b->files[i].write)
			return false;
		is = true;
	}
	return is;
}

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
		to->write = policy_baseline[i].write &&
		    !is_read_only(b, policy_baseline[i].path);
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
