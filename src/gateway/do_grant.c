/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grants: set, told, changed and revoked by the user of a tree. Who may is
 * asked before anything else is read of it.
 */
#include <string.h>

#include "gateway/do.h"
#include "gateway/grants.h"
#include "gateway/programs.h"
#include "gateway/refuse.h"
#include "gateway/sandbox.h"
#include "gateway/which.h"
#include "wire/wire.h"

/* Both messages have one form of limits. */
#define ASK_OF(m)                                                          \
 (struct grants_ask)                                                       \
 {                                                                         \
  .has = { (m)->has_max_depth, (m)->has_max_breadth, (m)->has_max_total }, \
  .max = { (m)->max_depth, (m)->max_breadth, (m)->max_total },             \
  .expires = (m)->expires, .programs = (m)->programs,                      \
  .programs_n = (m)->programs_count                                        \
 }

static int
reply(struct call *c, const struct tree *t, struct fault *f)
{
	nacre_v1_GrantReply r = nacre_v1_GrantReply_init_zero;

	r.granted = t->t.grant != NULL;
	r.has_grant = r.granted;
	if (r.granted)
		grants_tell(t, &c->arena, &r.grant);
	return CALL_REPLY(c, nacre_v1_GrantReply, &r, f);
}

static int
may_act(struct call *c, const struct which *w, enum grant_act act,
    struct fault *f)
{
	struct grant_refusal r;

	if (grant_may_act(&w->ask, act, w->node, &r) < 0)
		return refuse(c, &r, f);
	return 0;
}

/* A sandbox learns nothing of a grant that it may not touch. */
static int
open_tree(struct call *c, const char *sandbox, enum grant_act act,
    struct which *w, struct fault *f)
{
	if ((c->caller.who & CALL_SANDBOX) && sandbox != NULL && *sandbox &&
	    act == GRANT_ACT_GET)
		return fault_field(f, "sandbox",
		    "sandbox is for callers on the host");
	if (c->caller.who & CALL_SANDBOX)
		sandbox = NULL;
	if (which_open(c, sandbox, "sandbox", w, f) < 0)
		return -1;
	if ((c->caller.who & CALL_SANDBOX) && act == GRANT_ACT_GET)
		return 0;
	/* To a user, no grant is an answer too. */
	return may_act(c, w, act == GRANT_ACT_GET ? GRANT_ACT_LIST : act, f);
}

static void
note(struct call *c, const struct tree *t)
{
	const struct grant *g = &t->grant;
	char when[32];

	time_format(g->expires_ms, when);
	call_note(c,
	    "grant %.*s, depth %u, breadth %u, total %u, expires %s, programs",
	    (int)g->id.len, (const char *)g->id.ptr,
	    (unsigned)g->max[GRANT_DEPTH], (unsigned)g->max[GRANT_BREADTH],
	    (unsigned)g->max[GRANT_TOTAL], when);
	for (size_t i = 0; i < g->programs_n; i++)
		call_note(c, " %.*s", (int)g->programs[i].path.len,
		    (const char *)g->programs[i].path.ptr);
}

static int
resolve(struct call *c, const struct which *w, struct grant_wish *wish,
    struct fault *f)
{
	struct store_sandbox root;

	if (store_sandbox_by_id(c->g->store, w->tree.row[0].id, &c->arena,
		&root, f) < 0)
		return -1;
	return programs_resolve(c->g, root.image_digest, &c->arena, wish, f);
}

int
do_grant_create(struct call *c, struct fault *f)
{
	const nacre_v1_CreateGrantRequest *m = c->ask;
	const struct grants_ask ask = ASK_OF(m);
	struct which *w = arena_get(&c->arena, sizeof(*w));
	struct grant_wish wish;

	BUG_IF(w == NULL);
	if (open_tree(c, m->sandbox, GRANT_ACT_CREATE, w, f) < 0 ||
	    grants_wish(&ask, &wish, f) < 0 ||
	    grant_wish_check_create(&wish, clock_wall_ms(), f) < 0 ||
	    resolve(c, w, &wish, f) < 0 ||
	    grants_make(c, &w->tree, &wish, f) < 0)
		return -1;
	note(c, &w->tree);
	return reply(c, &w->tree, f);
}

int
do_grant_get(struct call *c, struct fault *f)
{
	const nacre_v1_GetGrantRequest *m = c->ask;
	struct which *w = arena_get(&c->arena, sizeof(*w));

	BUG_IF(w == NULL);
	if (open_tree(c, m->sandbox, GRANT_ACT_GET, w, f) < 0)
		return -1;
	return reply(c, &w->tree, f);
}

int
do_grant_update(struct call *c, struct fault *f)
{
	const nacre_v1_UpdateGrantRequest *m = c->ask;
	const struct grants_ask ask = ASK_OF(m);
	struct which *w = arena_get(&c->arena, sizeof(*w));
	struct grant_wish wish;

	BUG_IF(w == NULL);
	if (open_tree(c, m->sandbox, GRANT_ACT_UPDATE, w, f) < 0 ||
	    grants_wish(&ask, &wish, f) < 0 ||
	    grant_wish_check_update(&wish, f) < 0 ||
	    resolve(c, w, &wish, f) < 0)
		return -1;
	grant_update(&w->tree.grant, &wish, tree_now());
	if (tree_keep_grant(c->g, &w->tree, f) < 0)
		return -1;
	note(c, &w->tree);
	return reply(c, &w->tree, f);
}

/* --- revoke */

/* Whoever waits for a start leaves; all that run go on, unless they are to
 * stop too: each child of the root with all below it. */
static int
stop_children(struct call *c, const struct which *w, bool all, struct fault *f)
{
	static const struct cause revoked = {
		.reason = "grant",
		.detail = "its grant was revoked while it waited",
	};
	static const struct cause ended = {
		.reason = "grant",
		.detail = "its grant was revoked",
	};
	const struct grant_tree *t = &w->tree.t;

	for (uint32_t i = 1; i < t->n; i++) {
		bool waits = t->node[i].life == GRANT_RESERVED;

		if (waits ||
		    (all && grant_is_live(t->node[i].life) &&
			t->node[i].parent == 0 &&
			t->node[i].life != GRANT_STOPPING)) {
			if (grants_stop(c->g, w->tree.row[i].id,
				waits ? &revoked : &ended, f) < 0)
				return -1;
		}
	}
	return 0;
}

int
do_grant_revoke(struct call *c, struct fault *f)
{
	const nacre_v1_RevokeGrantRequest *m = c->ask;
	struct which *w = arena_get(&c->arena, sizeof(*w));

	BUG_IF(w == NULL);
	if (open_tree(c, m->sandbox, GRANT_ACT_REVOKE, w, f) < 0)
		return -1;
	if (grants_end(c->g, &w->tree, GRANT_DEAD_REVOKED, f) < 0 ||
	    stop_children(c, w, m->stop_children, f) < 0)
		return -1;
	call_note(c, "grant %.*s%s", (int)w->tree.grant.id.len,
	    (const char *)w->tree.grant.id.ptr,
	    m->stop_children ? ", with all children" : "");
	return reply(c, &w->tree, f);
}

/* --- list */

struct places {
	struct arena *a;
	const char **root;
	uint64_t *place;
	size_t n;
};

static int
add(void *owner, uint64_t place, const struct store_grant *row, struct fault *f)
{
	struct places *p = owner;

	(void)f;
	p->root[p->n] = arena_str(p->a, span_str(row->root));
	p->place[p->n++] = place;
	return 0;
}

static int
tell_all(struct call *c, const struct places *p, size_t n,
    nacre_v1_ListGrantsReply *r, struct fault *f)
{
	for (size_t i = 0; i < n; i++) {
		struct tree *t = arena_get(&c->arena, sizeof(*t));

		if (t == NULL)
			return fault_set(f, FAULT_LIMIT, "the page is too big");
		if (tree_read(c->g, p->root[i], &c->arena, t, f) < 0)
			return -1;
		grants_tell(t, &c->arena, &r->grants[r->grants_count++]);
	}
	return 0;
}

static int
check_page(const struct call *c, struct store_grant_page *page, struct fault *f)
{
	const nacre_v1_ListGrantsRequest *m = c->ask;

	page->user = c->caller.who & CALL_ADMIN ? "" : c->caller.text;
	page->limit = call_page(m->limit, CALL_PAGE);
	if (m->cursor == NULL || *m->cursor == '\0')
		return 0;
	if (num_parse(span_str(m->cursor), INT64_MAX, &page->after))
		return 0;
	return fault_field(f, "cursor", "cursor is none of ours");
}

int
do_grant_list(struct call *c, struct fault *f)
{
	nacre_v1_ListGrantsReply r = nacre_v1_ListGrantsReply_init_zero;
	struct grant_refusal refusal;
	struct places p = { .a = &c->arena };
	struct store_grant_page page = { 0 };
	uint32_t limit;

	if (c->caller.who & CALL_SANDBOX) {
		(void)grant_refuse(&refusal, GRANT_NOT_ALLOWED,
		    "no sandbox may list grants");
		refusal.why = GRANT_WHY_SCOPE;
		(void)grant_hint(&refusal, "get_grant shows your own");
		return refuse(c, &refusal, f);
	}
	if (check_page(c, &page, f) < 0)
		return -1;
	limit = page.limit++; /* one more tells whether there are more */
	p.root = arena_get(&c->arena, (limit + 1) * sizeof(*p.root));
	p.place = arena_get(&c->arena, (limit + 1) * sizeof(*p.place));
	r.grants = arena_get(&c->arena, limit * sizeof(*r.grants));
	if (p.root == NULL || p.place == NULL || r.grants == NULL)
		return fault_set(f, FAULT_LIMIT, "the page is too big");
	if (store_grant_list(c->g->store, &page, add, &p, f) < 0 ||
	    tell_all(c, &p, p.n > limit ? limit : p.n, &r, f) < 0)
		return -1;
	if (p.n > limit)
		r.next_cursor = arena_fmt(&c->arena, "%llu",
		    (unsigned long long)p.place[limit - 1]);
	return CALL_REPLY(c, nacre_v1_ListGrantsReply, &r, f);
}
