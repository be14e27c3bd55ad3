/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox as tools show it: the rows of its shape in fields.def. */
#include <string.h>

#include "mcp/inner.h"

static void
text_member(struct json_out *o, const char *key, const char *text)
{
	if (!text)
		return;
	json_out_key(o, key);
	json_out_text(o, text);
}

static void
time_member(struct json_out *o, const char *key, int64_t ms)
{
	char text[32];

	if (ms < 0)
		return;
	time_format(ms, text);
	text_member(o, key, text);
}

static const char *
hint_of(const char *state)
{
	static const struct {
		const char *state;
		const char *hint;
	} rows[] = {
		{ "reserved",
		    "It waits for its turn: call get_sandbox again in a "
		    "second." },
		{ "starting",
		    "It goes on starting: call get_sandbox again in a second, "
		    "until state is running." },
	};

	for (size_t i = 0; i < NELEM(rows); i++)
		if (strcmp(state, rows[i].state) == 0)
			return rows[i].hint;
	return NULL;
}

void
mcp_sandbox_write(struct json_out *o, const struct mcp_sandbox *s)
{
	json_out_object(o);
	text_member(o, "id", s->id);
	text_member(o, "name", s->name);
	text_member(o, "kind", s->kind);
	text_member(o, "state", s->state);
	text_member(o, "parent", s->parent);
	text_member(o, "root", s->root);
	if (s->depth >= 0) {
		json_out_key(o, "depth");
		json_out_int(o, s->depth);
	}
	text_member(o, "policy_hash", s->policy_hash);
	time_member(o, "created_at", s->created_ms);
	time_member(o, "ended_at", s->ended_ms);
	if (s->has_exit) {
		json_out_key(o, "exit_code");
		json_out_int(o, s->exit_code);
	}
	text_member(o, "reason", s->reason);
	text_member(o, "hint", hint_of(s->state));
	json_out_end(o);
}
