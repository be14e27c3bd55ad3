/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files section of a sandbox's policy as its guest takes it: the work
 * folder written out, nothing else resolved. The baseline of every sandbox is
 * the guest's own, and links are followed there, in the image.
 */
#include <string.h>

#include "gateway/files.h"
#include "policy/policy.h"
#include "wire/wire.h"

enum {
	READING = 64 << 20, /* at most, for one policy while it is read */
};

static int
copy(const struct policy *p, const nacre_store_v1_Plan *plan, struct arena *a,
    nacre_session_v1_Bundle *b, struct fault *f)
{
	size_t n = p->read_only.n + p->read_write.n + 1;
	nacre_session_v1_FileRule *to = arena_get(a, n * sizeof(*to));

	if (to == NULL)
		return fault_set(f, FAULT_LIMIT, "the policy is too big");
	b->files = to;
	if (p->include_workdir)
		*to++ = (nacre_session_v1_FileRule){ .path = plan->workdir,
			.write = true };
	for (size_t i = 0; i < p->read_write.n; i++)
		*to++ = (nacre_session_v1_FileRule){
			.path = arena_str(a, p->read_write.file[i].path),
			.write = true,
		};
	for (size_t i = 0; i < p->read_only.n; i++)
		*to++ = (nacre_session_v1_FileRule){
			.path = arena_str(a, p->read_only.file[i].path),
		};
	b->files_count = (pb_size_t)(to - b->files);
	b->best_effort = p->best_effort;
	for (pb_size_t i = 0; i < b->files_count; i++)
		if (b->files[i].path == NULL)
			return fault_set(f, FAULT_LIMIT,
			    "the policy is too big");
	return 0;
}

int
files_of(const nacre_store_v1_Plan *plan, struct arena *a,
    nacre_session_v1_Bundle *b, struct fault *f)
{
	struct yaml_errors *errors;
	struct policy p = { 0 };
	struct arena reading;
	int r = -1;

	arena_init(&reading, READING);
	errors = arena_get(&reading, sizeof(*errors));
	if (errors == NULL)
		(void)fault_set(f, FAULT_LIMIT, "the policy is too big");
	else if (policy_read_yaml(wire_span(plan->policy), POLICY_READ_PROVIDER,
		     &reading, &p, errors, f) == 0)
		r = copy(&p, plan, a, b, f);
	arena_release(&reading);
	return r == 0 ? 0 : fault_prefix(f, "policy");
}
