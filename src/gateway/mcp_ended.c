/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions that were deleted, in the store: their ids would prove themselves
 * again after a restart. The whole table is one value, written with the tick's
 * other writes; ids in it that have expired do no harm.
 */
#include <string.h>

#include "gateway/mcp.h"

#define SETTING "mcp.ended"

void
mcp_ended_read(struct gateway *g)
{
	struct mcp_ended *e = &g->mcp->ended;
	struct fault f = { 0 };
	struct span value;
	struct arena a;

	arena_init(&a, 2 * sizeof(*e));
	if (store_setting_get(g->store, SETTING, &a, &value, &f) == 0 &&
	    value.len == sizeof(*e))
		memcpy(e, value.ptr, sizeof(*e));
	else if (f.code != FAULT_NONE && f.code != FAULT_NOT_FOUND)
		log_warn(&f, "cannot read which sessions of MCP have ended");
	arena_release(&a);
}

void
mcp_ended_keep(struct gateway *g, const struct mcp_session *s)
{
	struct mcp_ended *e = &g->mcp->ended;
	struct fault f = { 0 };

	if (mcp_ended_has(e, s))
		return;
	mcp_ended_add(e, s);
	if (store_setting_put(g->store, SETTING, span_of(e, sizeof(*e)), &f) <
	    0)
		log_warn(&f, "a session of MCP is not kept as ended");
}
