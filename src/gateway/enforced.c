/* SPDX-License-Identifier: Apache-2.0 */
/* One place says what is enforced; enforced.h has the contract. */
#include "gateway/enforced.h"

static void
put(openshell_v1_PolicyEnforcement *to, const char *section, bool enforced,
    const char *detail, struct arena *a)
{
	to->section = arena_str(a, span_str(section));
	to->enforced = enforced;
	to->detail = arena_str(a, span_str(detail));
}

openshell_v1_PolicyEnforcement *
enforced_today(const nacre_store_v1_Plan *plan, bool rules, struct arena *a)
{
	openshell_v1_PolicyEnforcement *e =
	    arena_get(a, ENFORCED_SECTIONS * sizeof(*e));
	char who[128];

	if (e == NULL)
		return NULL;
	(void)text_fmt(who, sizeof(who), "everything runs as uid %u, gid %u",
	    (unsigned)plan->uid, (unsigned)plan->gid);
	put(&e[0], "filesystem_policy", false,
	    "until the boundary around the agent is built, all of the sandbox "
	    "is open to it but for file modes",
	    a);
	put(&e[1], "landlock", false, "as filesystem_policy, which it is about",
	    a);
	put(&e[2], "process", true, who, a);
	put(&e[3], "network_policies", false,
	    rules ? "there is no network at all, so every allow is unreachable"
		  : "there is no network at all, and the policy allows none",
	    a);
	return e;
}
