/* SPDX-License-Identifier: Apache-2.0 */
/* A grant as its user and its agents read it. */
#include "grant/inner.h"

static void
write_limit(const struct grant_tree *t, enum grant_limit l, struct json_out *o)
{
	uint32_t max = t->grant->max[l];
	uint32_t used = grant_used(t, l);

	json_out_key(o, grant_limit_name(l));
	json_out_object(o);
	json_out_key(o, "max");
	json_out_uint(o, max);
	json_out_key(o, "used");
	json_out_uint(o, used);
	/* Shrunk below what is in use: nothing is left. */
	json_out_key(o, "left");
	json_out_uint(o, used < max ? max - used : 0);
	json_out_end(o);
}

static void
write_time(const char *key, int64_t ms, struct json_out *o)
{
	char text[32];

	time_format(ms, text);
	json_out_key(o, key);
	json_out_text(o, text);
}

static void
write_program(const struct grant_program *p, struct json_out *o)
{
	json_out_object(o);
	json_out_key(o, "path");
	json_out_str(o, p->path);
	if (p->resolved.len > 0) {
		json_out_key(o, "resolved");
		json_out_str(o, p->resolved);
	}
	if (p->has_sha256) {
		char hex[DIGEST_HEX];

		hex_format(p->sha256, sizeof(p->sha256), hex);
		json_out_key(o, "sha256");
		json_out_text(o, hex);
	}
	json_out_key(o, "pinned");
	json_out_bool(o, p->is_pinned);
	json_out_end(o);
}

void
grant_write(const struct grant_tree *t, struct grant_now now,
    struct json_out *o)
{
	const struct grant *g = t->grant;
	enum grant_state state = grant_state_at(g, now);

	json_out_object(o);
	json_out_key(o, "id");
	json_out_str(o, g->id);
	json_out_key(o, "root");
	json_out_str(o, t->node[0].name);
	json_out_key(o, "user");
	json_out_str(o, t->user);
	json_out_key(o, "state");
	json_out_text(o, grant_state_name(state));
	for (int l = 0; l < GRANT_LIMITS; l++)
		write_limit(t, (enum grant_limit)l, o);
	write_time("expires_at", g->expires_ms, o);
	json_out_key(o, "programs");
	json_out_array(o);
	for (size_t i = 0; i < g->programs_n; i++)
		write_program(&g->programs[i], o);
	json_out_end(o);
	json_out_key(o, "set_by");
	json_out_str(o, g->set_by);
	write_time("set_at", g->created_ms, o);
	if (state == GRANT_DEAD_REVOKED || state == GRANT_DEAD_REPLACED)
		write_time("ended_at", g->ended_ms, o);
	json_out_end(o);
}
