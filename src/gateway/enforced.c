/* SPDX-License-Identifier: Apache-2.0 */
/* One place says what is enforced; enforced.h has the contract. */
#include <string.h>

#include "gateway/enforced.h"

static void
put(openshell_v1_PolicyEnforcement *to, const char *section, bool enforced,
    const char *detail, struct arena *a)
{
	to->section = arena_str(a, span_str(section));
	to->enforced = enforced;
	to->detail = arena_str(a, span_str(detail));
}

static bool
skips(const struct _openshell_sandbox_v1_SandboxPolicy *m)
{
	return m != NULL && m->has_landlock &&
	    m->landlock.compatibility != NULL &&
	    strcmp(m->landlock.compatibility, "best_effort") == 0;
}

openshell_v1_PolicyEnforcement *
enforced_today(const nacre_store_v1_Plan *plan,
    const struct _openshell_sandbox_v1_SandboxPolicy *m, struct arena *a)
{
	openshell_v1_PolicyEnforcement *e =
	    arena_get(a, ENFORCED_SECTIONS * sizeof(*e));
	bool rules = m != NULL && m->network_policies_count > 0;
	char who[128];

	if (e == NULL)
		return NULL;
	(void)text_fmt(who, sizeof(who), "everything runs as uid %u, gid %u",
	    (unsigned)plan->uid, (unsigned)plan->gid);
	put(&e[0], "filesystem_policy", true,
	    "beside what it names, only the baseline of every sandbox is open",
	    a);
	put(&e[1], "landlock", true,
	    skips(m) ? "what the image lacks is skipped"
		     : "a path that the image lacks is a start that fails",
	    a);
	put(&e[2], "process", true, who, a);
	put(&e[3], "network_policies", false,
	    rules ? "there is no network at all, so every allow is unreachable"
		  : "there is no network at all, and the policy allows none",
	    a);
	return e;
}
