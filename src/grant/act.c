/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grant itself: its states over time, and who may set, change and end it.
 * No sandbox may, and nobody learns of a tree that is not theirs.
 */
#include "grant/inner.h"

const char *
grant_state_name(enum grant_state s)
{
	static const char *const names[] = { "live", "revoked", "expired",
		"replaced" };

	return names[s];
}

enum grant_state
grant_state_at(const struct grant *g, struct grant_now now)
{
	if (g->state == GRANT_LIVE &&
	    (now.wall_ms >= g->expires_ms || now.mono_ms >= g->deadline_ms))
		return GRANT_DEAD_EXPIRED;
	return g->state;
}

void
grant_arm(struct grant *g, struct grant_now now)
{
	g->deadline_ms = now.mono_ms + (g->expires_ms - now.wall_ms);
}

static int
refuse_child(struct grant_refusal *r, const struct grant_tree *t)
{
	(void)grant_refuse(r, GRANT_INVALID_ARGUMENT,
	    "a grant belongs to the root of a tree, which is '%.*s'",
	    SHOWN(t->node[0].name));
	(void)text_fmt(r->field, sizeof(r->field), "sandbox");
	return grant_hint(r, "name '%.*s' instead", SHOWN(t->node[0].name));
}

static int
refuse_exists(struct grant_refusal *r, const struct grant_tree *t)
{
	(void)grant_refuse(r, GRANT_ALREADY_EXISTS, "'%.*s' has a live grant",
	    SHOWN(t->node[0].name));
	r->name = t->node[0].name;
	return grant_hint(r,
	    "change it with: nacre grant update %.*s, or revoke it first",
	    SHOWN(t->node[0].name));
}

static int
refuse_none(struct grant_refusal *r, const struct grant_tree *t)
{
	(void)grant_refuse(r, GRANT_NOT_FOUND, "'%.*s' has no grant",
	    SHOWN(t->node[0].name));
	return grant_hint(r, "set one with: nacre grant create %.*s",
	    SHOWN(t->node[0].name));
}

/* What is left for it, to a sandbox. */
static int
own_grant(const struct grant_ask *ask, struct grant_refusal *r)
{
	if (!grant_sees(ask, ask->caller->node))
		return grant_refuse_not_found(r);
	return ask->tree->grant ? 0 : grant_refuse_no_grant(r, ask->tree);
}

int
grant_may_act(const struct grant_ask *ask, enum grant_act act, uint32_t node,
    struct grant_refusal *r)
{
	const struct grant_tree *t = ask->tree;
	bool changes = act != GRANT_ACT_GET && act != GRANT_ACT_LIST;
	enum grant_state state;

	if (ask->caller->is_sandbox && act == GRANT_ACT_GET)
		return own_grant(ask, r);
	if (ask->caller->is_sandbox)
		return grant_refuse_why(r, GRANT_WHY_SCOPE,
		    "no sandbox may set or change a grant",
		    "ask the user; get_grant shows what is left");
	if (!grant_sees(ask, node))
		return grant_refuse_not_found(r);
	if (changes && !ask->caller->may_grant)
		return grant_refuse_why(r, GRANT_WHY_SCOPE,
		    "this token lacks the scope grant:write",
		    "ask the user to do it, or for a token made with "
		    "--scope grant:write");
	if (node != 0)
		return refuse_child(r, t);
	state = t->grant ? grant_state_at(t->grant, ask->now) : GRANT_LIVE;
	if (act == GRANT_ACT_CREATE)
		return t->grant && state == GRANT_LIVE ? refuse_exists(r, t)
						       : 0;
	if (!t->grant && act != GRANT_ACT_LIST)
		return refuse_none(r, t);
	if (act == GRANT_ACT_UPDATE && state != GRANT_LIVE)
		return grant_refuse_dead(r, t, state);
	return 0;
}

static void
copy_programs(struct grant *g, const struct grant_wish *w)
{
	g->programs_n = w->programs_n;
	for (size_t i = 0; i < w->programs_n; i++)
		g->programs[i] = w->programs[i];
}

void
grant_make(struct grant *g, const struct grant_wish *w, struct span id,
    struct span set_by, struct grant_now now, uint32_t live_below)
{
	*g = (struct grant){ .id = id,
		.set_by = set_by,
		.generation = 1,
		.used_total = live_below,
		.created_ms = now.wall_ms,
		.expires_ms = w->expires_ms,
		.state = GRANT_LIVE };
	for (int l = 0; l < GRANT_LIMITS; l++)
		g->max[l] = w->max[l];
	copy_programs(g, w);
	grant_arm(g, now);
}

void
grant_update(struct grant *g, const struct grant_wish *w, struct grant_now now)
{
	for (int l = 0; l < GRANT_LIMITS; l++)
		if (w->has[l])
			g->max[l] = w->max[l];
	if (w->has_expiry) {
		g->expires_ms = w->expires_ms;
		grant_arm(g, now);
	}
	if (w->programs_n > 0)
		copy_programs(g, w);
	g->generation++;
}

void
grant_end(struct grant *g, enum grant_state state, struct grant_now now)
{
	enum grant_state is = grant_state_at(g, now);

	if (is == GRANT_LIVE) {
		g->state = state;
		g->ended_ms =
		    state == GRANT_DEAD_EXPIRED ? g->expires_ms : now.wall_ms;
	} else if (state == GRANT_DEAD_REPLACED) {
		g->state = state;
		g->ended_ms = now.wall_ms;
	} else if (g->state == GRANT_LIVE) {
		/* It died by the clock before anybody wrote that down. */
		g->state = is;
		g->ended_ms = g->expires_ms;
	} else {
		return;
	}
	g->generation++;
}
