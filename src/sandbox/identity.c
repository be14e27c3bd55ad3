/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who agents are: never root, never the runtime. Alone in its file, so that a
 * test can put another answer here and see what root would find.
 */
#include "sandbox/inner.h"

int
identity_take(struct identity *who, const nacre_sandbox_v1_ConfirmRequest *q,
    struct fault *f)
{
	if (q->uid == 0 || q->uid == UINT32_MAX || q->uid == SANDBOX_UID)
		return fault_field(f, "uid", "%u cannot be the agent's",
		    q->uid);
	if (q->gid == 0 || q->gid == UINT32_MAX)
		return fault_field(f, "gid", "%u cannot be the agent's",
		    q->gid);
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
