/* SPDX-License-Identifier: Apache-2.0 */
/* What no part of the product enforces yet is refused by name. */
#include "policy/inner.h"

static int
refuse(struct policy_place at, const char *section, struct fault *f)
{
	(void)fault_field(f, section, "%s is not enforced yet: remove it",
	    section);
	f->code = FAULT_UNIMPLEMENTED;
	if (at.line > 0)
		return fault_prefix(f, "%u:%u", (unsigned)at.line,
		    (unsigned)at.column);
	return -1;
}

int
policy_enforced_today(const struct policy *p, struct fault *f)
{
	if (p->has_filesystem)
		return refuse(p->filesystem_place, "filesystem_policy", f);
	if (p->best_effort)
		return refuse(p->landlock_place, "landlock", f);
	if (p->entries_n > 0)
		return refuse(p->network_place, "network_policies", f);
	return 0;
}
