/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a grant; grants.h has the contracts. */
#include <string.h>

#include "gateway/grants.h"
#include "gateway/record.h"

enum {
	ROW_ARENA = 4 << 20, /* the largest row */
};

int
grants_wish(const struct grants_ask *ask, struct grant_wish *w, struct fault *f)
{
	*w = (struct grant_wish){ 0 };
	for (int l = 0; l < GRANT_LIMITS; l++)
		if (ask->has[l] &&
		    grant_wish_limit(w, (enum grant_limit)l, ask->max[l], f) <
			0)
			return -1;
	if (ask->expires != NULL &&
	    grant_wish_expires(w, span_str(ask->expires), clock_wall_ms(), f) <
		0)
		return -1;
	for (size_t i = 0; i < ask->programs_n; i++)
		if (grant_wish_program(w, span_str(ask->programs[i]), f) < 0)
			return -1;
	return 0;
}

/* Exactly the live descendants count under the new one. */
static int
count_anew(struct gateway *g, const struct tree *t, struct fault *f)
{
	for (uint32_t i = 1; i < t->t.n; i++) {
		struct store_lineage row = t->row[i];

		row.counted = grant_is_live(t->t.node[i].life);
		if (row.counted != t->row[i].counted &&
		    store_lineage_update(g->store, &row, f) < 0)
			return -1;
	}
	return 0;
}

int
grants_stop(struct gateway *g, const char *id, const struct cause *why,
    struct fault *f)
{
	struct store_sandbox row;
	struct arena a; /* there may be many, and large ones */
	int rc;

	arena_init(&a, ROW_ARENA);
	rc = store_sandbox_by_id(g->store, id, &a, &row, f);
	if (rc == 0)
		rc = sandbox_move_own(g, &row, EVENT_STOP, why, f);
	arena_release(&a);
	return rc;
}

int
grants_end(struct gateway *g, struct tree *t, enum grant_state state,
    struct fault *f)
{
	bool expires = t->grant.state == GRANT_LIVE &&
	    grant_state_at(&t->grant, tree_now()) == GRANT_DEAD_EXPIRED;
	char text[LIMIT_ID + 16];
	const struct audit_row row = {
		.verb = "grant.expire",
		.sandbox_id = t->row[0].id,
		.sandbox = t->row[0].name,
		.verdict = AUDIT_OK,
		.reason = "",
		.detail = text,
	};

	(void)text_fmt(text, sizeof(text), "grant %.*s", (int)t->grant.id.len,
	    (const char *)t->grant.id.ptr);
	grant_end(&t->grant, state, tree_now());
	if (tree_keep_grant(g, t, f) < 0)
		return -1;
	return expires ? record_own(g, &row, f) : 0;
}

/* Who waits was let in by the one before, which the clock may have ended
 * before anybody wrote that down. */
static int
end_last(struct call *c, struct tree *t, struct fault *f)
{
	static const struct cause why = {
		.reason = "grant",
		.detail = "its grant expired while it waited",
	};
	bool some = false;

	for (uint32_t i = 1; i < t->t.n; i++) {
		if (t->t.node[i].life != GRANT_RESERVED)
			continue;
		if (grants_stop(c->g, t->row[i].id, &why, f) < 0)
			return -1;
		some = true;
	}
	if (some && tree_read(c->g, t->row[0].id, &c->arena, t, f) < 0)
		return -1;
	return grants_end(c->g, t, GRANT_DEAD_REPLACED, f);
}

int
grants_make(struct call *c, struct tree *t, const struct grant_wish *w,
    struct fault *f)
{
	struct grant_now now = tree_now();
	char *id = arena_get(&c->arena, LIMIT_ID + 1);
	struct grant made;

	if (id == NULL)
		return fault_set(f, FAULT_LIMIT, "the call is too big");
	uuid_make(id);
	if (t->t.grant != NULL && end_last(c, t, f) < 0)
		return -1;
	grant_make(&made, w, span_str(id), span_str(c->caller.text), now,
	    grant_live_below(&t->t));
	if (count_anew(c->g, t, f) < 0)
		return -1;
	return tree_add_grant(c->g, t, &made, f);
}

static void
tell_limit(const struct tree *t, enum grant_limit l, nacre_v1_GrantLimit *out)
{
	out->max = t->grant.max[l];
	out->used = grant_used(&t->t, l);
	out->left = out->used < out->max ? out->max - out->used : 0;
}

static void
tell_programs(const struct grant *g, struct arena *a, nacre_v1_Grant *out)
{
	out->programs = arena_get(a, g->programs_n * sizeof(*out->programs));
	for (size_t i = 0; out->programs != NULL && i < g->programs_n; i++) {
		const struct grant_program *p = &g->programs[i];

		out->programs[i].path = arena_str(a, p->path);
		out->programs[i].resolved = arena_str(a, p->resolved);
		out->programs[i].pinned = p->is_pinned;
		if (p->has_sha256) {
			char hex[DIGEST_HEX];

			hex_format(p->sha256, sizeof(p->sha256), hex);
			out->programs[i].sha256 = arena_str(a, span_str(hex));
		}
		out->programs_count++;
	}
}

void
grants_tell(const struct tree *t, struct arena *a, nacre_v1_Grant *out)
{
	const struct grant *g = &t->grant;
	enum grant_state state = grant_state_at(g, tree_now());

	*out = (nacre_v1_Grant)nacre_v1_Grant_init_zero;
	out->id = arena_str(a, g->id);
	out->root = arena_str(a, span_str(t->row[0].id));
	out->root_name = arena_str(a, span_str(t->row[0].name));
	out->user = arena_str(a, span_str(t->row[0].user));
	out->state = arena_str(a, span_str(grant_state_name(state)));
	out->has_depth = out->has_breadth = out->has_total = true;
	tell_limit(t, GRANT_DEPTH, &out->depth);
	tell_limit(t, GRANT_BREADTH, &out->breadth);
	tell_limit(t, GRANT_TOTAL, &out->total);
	out->expires_ms = g->expires_ms;
	tell_programs(g, a, out);
	out->set_by = arena_str(a, g->set_by);
	out->set_ms = g->created_ms;
	out->ended_ms = g->ended_ms;
	out->generation = g->generation;
}
