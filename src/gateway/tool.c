/* SPDX-License-Identifier: Apache-2.0 */
/* The table of tool.h: a row a tool that methods.def names. */
#include <string.h>

#include "gateway/tool.h"
#include "proto/nacre_v1.pb.h"

#define TOLD(reply_, tell_) \
 .reply = nacre_v1_##reply_##_fields, .tell = tool_tell_##tell_

static const struct tool tools[] = {
	{ "get_grant", tool_ask_grant_which, TOLD(GrantReply, grant) },
	{ "get_policy", tool_ask_policy, TOLD(PolicyInForce, policy) },
	{ "check_policy", tool_ask_check, TOLD(Proof, proof) },
	{ "create_sandbox", tool_ask_create, TOLD(ChildReply, child) },
	{ "list_sandboxes", tool_ask_page, TOLD(ListChildrenReply, children) },
	{ "get_sandbox", tool_ask_which, TOLD(ChildReply, child) },
	{ "exec", tool_ask_exec, TOLD(ExecChildSandboxReply, exec) },
	{ "get_file", tool_ask_file, TOLD(GetChildFileReply, file) },
	{ "stop_sandbox", tool_ask_stop, TOLD(ChildReply, child) },
	{ "delete_sandbox", tool_ask_delete, TOLD(DeleteChildReply, deleted) },
	{ "list_grants", tool_ask_grants, TOLD(ListGrantsReply, grants) },
	{ "create_grant", tool_ask_grant_set, TOLD(GrantReply, grant) },
	{ "update_grant", tool_ask_grant_update, TOLD(GrantReply, grant) },
	{ "revoke_grant", tool_ask_grant_revoke, TOLD(GrantReply, grant) },
};

const struct tool *
tool_find(const char *name)
{
	for (size_t i = 0; i < NELEM(tools); i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}
