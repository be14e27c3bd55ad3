/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In the place of sandbox/identity.c: an agent may be root. Nothing else of
 * the guest differs. What root without capabilities finds inside the agent's
 * namespaces, an agent that became root by a fault would find.
 */
#include "sandbox/inner.h"

int
identity_take(struct identity *who, const nacre_sandbox_v1_ConfirmRequest *q,
    struct fault *f)
{
	if (q->groups_count > SANDBOX_GROUPS)
		return fault_field(f, "groups", "are more than %d",
		    SANDBOX_GROUPS);
	who->uid = q->uid;
	who->gid = q->gid;
	who->groups_n = q->groups_count;
	for (size_t i = 0; i < who->groups_n; i++)
		who->groups[i] = q->groups[i];
	return 0;
}
