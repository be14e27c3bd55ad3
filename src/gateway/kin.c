/* SPDX-License-Identifier: Apache-2.0 */
/* Places in a tree; kin.h has the contracts. */
#include <string.h>

#include "gateway/kin.h"
#include "gateway/settle.h"
#include "gateway/tree.h"

enum {
	ROW_ARENA = 4 << 20,
};

static bool
is_child(const struct store_lineage *l)
{
	return l->parent[0] != '\0';
}

/* A row without lineage is the mistake of an older gateway: a root. */
static int
lineage_of(struct gateway *g, const char *id, struct arena *a,
    struct store_lineage *l, struct fault *f)
{
	memset(l, 0, sizeof(*l));
	if (store_lineage_by_id(g->store, id, a, l, f) == 0)
		return 0;
	if (f->code != FAULT_NOT_FOUND)
		return -1;
	fault_clear(f);
	return 0;
}

static bool
is_first(const struct store_sandbox *row)
{
	return (row->state == STATE_RESERVED && row->launches == 0) ||
	    (row->state == STATE_STARTING && row->launches == 1);
}

static enum state
next_of_child(const struct store_lineage *l, const struct store_sandbox *row,
    enum state_event event, enum state next)
{
	/* A start that is undone leaves nothing. */
	if (event == EVENT_STOP && is_first(row))
		return STATE_DELETING;
	if (event == EVENT_EXIT)
		return STATE_STOPPING;
	if (l->kind == GRANT_AGENT && event == EVENT_GONE &&
	    row->state == STATE_STOPPING && row->has_exit)
		return STATE_OVER;
	return next;
}

int
kin_next(struct gateway *g, const struct store_sandbox *row,
    enum state_event event, enum state *next, struct fault *f)
{
	struct store_lineage l;
	struct arena a;
	int rc;

	/* A launch that fails and was the first leaves but its record. */
	if (*next == STATE_FAILED && row->state == STATE_STARTING &&
	    row->launches == 1)
		*next = STATE_DELETING;
	arena_init(&a, ROW_ARENA);
	rc = lineage_of(g, row->id, &a, &l, f);
	if (rc == 0 && is_child(&l))
		*next = next_of_child(&l, row, event, *next);
	arena_release(&a);
	return rc;
}

/* --- lineage */

static bool
is_at_rest(enum state s)
{
	return s == STATE_STOPPED || s == STATE_OVER || s == STATE_FAILED;
}

static void
follow(struct store_lineage *l, const struct store_sandbox *row)
{
	if (row->state == STATE_RUNNING || row->has_exit)
		l->began = true;
	if (row->state == STATE_OVER)
		l->ended_ms = clock_wall_ms();
	if (row->state == STATE_OVER)
		(void)text_fmt(l->why, sizeof(l->why),
		    "main process ended: exit code %d", (int)row->exit_code);
	else if (row->detail[0] != '\0')
		(void)text_copy(l->why, sizeof(l->why), span_str(row->detail));
	if (is_at_rest((enum state)row->state) ||
	    row->state == STATE_RESERVED || row->state == STATE_STARTING)
		l->cascade[0] = '\0';
}

int
kin_moved(struct gateway *g, const struct store_sandbox *row, enum state before,
    struct fault *f)
{
	struct store_lineage l;
	struct arena a;
	int rc;

	arena_init(&a, ROW_ARENA);
	rc = lineage_of(g, row->id, &a, &l, f);
	if (rc == 0 && l.id[0] != '\0') {
		follow(&l, row);
		rc = store_lineage_update(g->store, &l, f);
	}
	arena_release(&a);
	if (rc == 0 && is_at_rest((enum state)row->state) &&
	    !is_at_rest(before))
		kin_wake(g, row);
	return rc;
}

/* The newest grant gets back what a start that never was had taken. */
static int
give_back(struct gateway *g, struct store_lineage *l, struct arena *a,
    struct fault *f)
{
	struct grant_node node = { .life = GRANT_STOPPING,
		.is_counted = l->counted };
	struct tree t;

	if (store_request_free(g->store, l->id, f) < 0)
		return -1;
	if (!l->counted)
		return 0;
	if (tree_read(g, l->root, a, &t, f) < 0)
		return -1;
	if (t.t.grant == NULL)
		return 0;
	grant_give_back(&t.grant, &node);
	l->counted = false;
	return tree_keep_grant(g, &t, f);
}

static int
remove_lineage(struct gateway *g, struct store_lineage *l, struct arena *a,
    struct fault *f)
{
	if (!l->began && give_back(g, l, a, f) < 0)
		return -1;
	if (l->ended_ms == 0)
		l->ended_ms = clock_wall_ms();
	if (l->why[0] == '\0')
		(void)text_fmt(l->why, sizeof(l->why), "deleted");
	/* A root has no parent whose row would keep its request id. */
	if (store_request_forget(g->store, l->id, f) < 0 ||
	    (!is_child(l) && store_request_free(g->store, l->id, f) < 0))
		return -1;
	return store_lineage_update(g->store, l, f);
}

int
kin_removed(struct gateway *g, const struct store_sandbox *row, struct fault *f)
{
	struct store_lineage l;
	struct arena a;
	int rc;

	arena_init(&a, GATEWAY_TREE);
	rc = lineage_of(g, row->id, &a, &l, f);
	if (rc == 0 && l.id[0] != '\0')
		rc = remove_lineage(g, &l, &a, f);
	if (rc == 0 && l.id[0] != '\0' && !is_child(&l))
		tree_forget(g, l.id);
	if (l.cascade[0] != '\0')
		crash_at("during_cascade");
	arena_release(&a);
	if (rc == 0)
		kin_wake(g, row);
	return rc;
}

/* --- the cascade */

static bool
is_meant(const struct tree *t, uint32_t i, enum state_event event)
{
	return event == EVENT_DELETE || grant_is_live(t->t.node[i].life);
}

/* One cascade, while it is marked. */
struct mark {
	struct gateway *g;
	const struct tree *t;
	uint32_t top;
	enum state_event event;
	kin_move move;
};

static int
mark_one(const struct mark *m, uint32_t i, struct fault *f)
{
	const char *id = m->t->row[i].id;
	struct store_lineage l;
	struct store_sandbox row;
	struct arena a;
	int rc = 0;

	arena_init(&a, ROW_ARENA);
	if (store_sandbox_by_id(m->g->store, id, &a, &row, f) < 0 ||
	    (state_step((enum state)row.state, m->event).verdict ==
		    VERDICT_MOVE &&
		m->move(m->g, &row, m->event, f) < 0) ||
	    lineage_of(m->g, id, &a, &l, f) < 0)
		rc = -1;
	if (rc == 0 && l.id[0] != '\0') {
		(void)text_copy(l.cascade, sizeof(l.cascade),
		    span_str(m->t->row[m->top].id));
		rc = store_lineage_update(m->g->store, &l, f);
	}
	arena_release(&a);
	return rc;
}

static int
mark_top(const struct mark *m, struct fault *f)
{
	struct store_lineage l;
	struct arena a;
	int rc;

	arena_init(&a, ROW_ARENA);
	rc = lineage_of(m->g, m->t->row[m->top].id, &a, &l, f);
	if (rc == 0) {
		(void)text_copy(l.cascade, sizeof(l.cascade), span_str(l.id));
		rc = store_lineage_update(m->g->store, &l, f);
	}
	arena_release(&a);
	return rc;
}

static int
mark_below(const struct mark *m, struct fault *f)
{
	const struct grant_tree *t = &m->t->t;
	bool some = false;

	for (uint32_t i = 0; i < t->n; i++) {
		if (!grant_is_below(t, i, m->top) ||
		    !is_meant(m->t, i, m->event))
			continue;
		some = true;
		if (mark_one(m, i, f) < 0)
			return -1;
	}
	return some ? mark_top(m, f) : 0;
}

int
kin_cascade(struct gateway *g, const struct store_sandbox *top,
    enum state_event event, kin_move move, struct fault *f)
{
	struct store_lineage l;
	struct tree t;
	struct arena a;
	struct mark m = { .g = g,
		.t = &t,
		.event = event == EVENT_DELETE ? EVENT_DELETE : EVENT_STOP,
		.move = move };
	int rc;

	arena_init(&a, GATEWAY_TREE);
	rc = lineage_of(g, top->id, &a, &l, f);
	if (rc == 0 && l.id[0] != '\0')
		rc = tree_read(g, l.root, &a, &t, f);
	if (rc == 0 && l.id[0] != '\0') {
		m.top = tree_find(&t, top->id);
		if (m.top != GRANT_NOBODY)
			rc = mark_below(&m, f);
	}
	arena_release(&a);
	return rc;
}

static enum grant_cascade
how_of(const struct store_lineage *top)
{
	if (top->state == STATE_DELETING)
		return GRANT_CASCADE_DELETE;
	if (top->state == STATE_STOPPING)
		return GRANT_CASCADE_STOP;
	return GRANT_CASCADE_STOP_BELOW;
}

/* Is it node's turn in the cascade from top? */
static bool
is_turn(const struct tree *t, uint32_t node, uint32_t top, struct arena *a)
{
	uint32_t *now = arena_get(a, t->t.n * sizeof(*now));
	size_t n;

	if (now == NULL)
		return true;
	n = grant_cascade_next(&t->t, top, how_of(&t->row[top]), now, t->t.n);
	for (size_t i = 0; i < n; i++)
		if (now[i] == node)
			return true;
	return false;
}

bool
kin_holds(struct gateway *g, const struct store_sandbox *row, bool *gentle)
{
	struct store_lineage l;
	struct fault f = { 0 };
	struct tree t;
	struct arena a;
	bool holds = false;

	*gentle = false;
	if (row->state != STATE_STOPPING && row->state != STATE_DELETING)
		return false;
	arena_init(&a, GATEWAY_TREE);
	if (lineage_of(g, row->id, &a, &l, &f) == 0 && l.cascade[0] != '\0' &&
	    tree_read(g, l.root, &a, &t, &f) == 0) {
		uint32_t top = tree_find(&t, l.cascade);
		uint32_t node = tree_find(&t, row->id);

		*gentle = l.began;
		if (top != GRANT_NOBODY && node != GRANT_NOBODY)
			holds = !is_turn(&t, node, top, &a);
	}
	arena_release(&a);
	if (f.code != FAULT_NONE) {
		log_warn(&f, "cannot look at the tree of '%s'", row->name);
		settle_again(g);
	}
	return holds;
}

void
kin_wake(struct gateway *g, const struct store_sandbox *row)
{
	struct store_lineage l;
	struct fault f = { 0 };
	struct tree t;
	struct arena a;

	arena_init(&a, GATEWAY_TREE);
	if (lineage_of(g, row->id, &a, &l, &f) == 0 && l.id[0] != '\0' &&
	    tree_read(g, l.root, &a, &t, &f) == 0) {
		for (uint32_t i = 0; i < t.t.n; i++)
			if (t.row[i].cascade[0] != '\0')
				settle_later(g, t.row[i].id);
	}
	if (f.code != FAULT_NONE && f.code != FAULT_NOT_FOUND) {
		log_warn(&f, "cannot look at the tree of '%s'", row->name);
		settle_again(g);
	}
	arena_release(&a);
}
