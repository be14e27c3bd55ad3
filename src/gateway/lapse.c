/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One timer, on the next deadline; and each second, since the wall clock may
 * be set at any time and tells nobody.
 */
#include "gateway/grants.h"
#include "gateway/lapse.h"
#include "gateway/sandbox.h"
#include "gateway/tree.h"

enum {
	LOOK_MS = 1000,
};

/* Whoever waits was promised nothing yet. */
static void
empty_line(struct gateway *g, const struct tree *t)
{
	static const struct cause why = {
		.reason = "grant",
		.detail = "its grant expired while it waited",
	};

	for (uint32_t i = 1; i < t->t.n; i++)
		if (t->t.node[i].life == GRANT_RESERVED)
			sandbox_event(g, t->row[i].id, EVENT_STOP, &why);
}

static int
write_down(struct gateway *g, const char *root, struct arena *a,
    struct fault *f)
{
	struct tree t;

	if (tree_read(g, root, a, &t, f) < 0)
		return -1;
	if (t.t.grant == NULL || t.grant.state != GRANT_LIVE ||
	    grant_state_at(&t.grant, tree_now()) == GRANT_LIVE)
		return 0;
	if (store_mark(g->store, f) < 0)
		return -1;
	if (grants_end(g, &t, GRANT_DEAD_EXPIRED, f) < 0) {
		store_back(g->store);
		return -1;
	}
	store_keep(g->store);
	log_info("the grant of '%s' expired", t.row[0].name);
	empty_line(g, &t);
	return 0;
}

static void
end(struct gateway *g, struct tree_memory *m)
{
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, GATEWAY_TREE);
	if (write_down(g, m->root, &a, &f) == 0 || f.code == FAULT_NOT_FOUND)
		m->is_over = true;
	else
		log_warn(&f, "cannot end the grant of %s", m->root);
	arena_release(&a);
}

/* 0: it is over. */
static int64_t
left_ms(const struct tree_memory *m, struct grant_now now)
{
	int64_t wall = m->expires_ms - now.wall_ms;
	int64_t mono = m->deadline_ms - now.mono_ms;
	int64_t left = wall < mono ? wall : mono;

	return left > 0 ? left : 0;
}

static void
on_look(struct timer *timer)
{
	struct gateway *g = CONTAINER_OF(timer, struct gateway, lapse);
	int64_t next = LOOK_MS;

	for (struct tree_memory *m = g->trees; m != NULL; m = m->next) {
		int64_t left = left_ms(m, tree_now());

		if (m->grant[0] == '\0' || m->is_over)
			continue;
		if (left == 0)
			end(g, m);
		else if (left < next)
			next = left;
	}
	loop_timer_set(g->loop, timer, next);
}

/* Reading a tree arms its grant. */
static int
arm(void *owner, uint64_t place, const struct store_grant *row, struct fault *f)
{
	struct arena a;
	struct tree t;
	int rc;

	(void)place;
	if (row->state != GRANT_LIVE)
		return 0;
	arena_init(&a, GATEWAY_TREE);
	rc = tree_read(owner, row->root, &a, &t, f);
	arena_release(&a);
	return rc;
}

int
lapse_open(struct gateway *g, struct fault *f)
{
	const struct store_grant_page all = { .user = "" };

	g->lapse.fire = on_look;
	loop_timer_set(g->loop, &g->lapse, 0);
	return store_grant_list(g->store, &all, arm, g, f);
}

void
lapse_changed(struct gateway *g)
{
	if (g->lapse.fire != NULL)
		loop_timer_set(g->loop, &g->lapse, 0);
}

void
lapse_close(struct gateway *g)
{
	loop_timer_clear(&g->lapse);
}
