/* SPDX-License-Identifier: Apache-2.0 */
#include "grant_rows.h"

const char *const rows_users[ROWS_USERS] = { "uid:1000", "uid:1001", "uid:0",
	"uid:1002" };
const char *const rows_names[6] = { "", "a", "b", "c", "d", "e" };

struct rows_tree *
rows_tree_of(struct rows *r, int box)
{
	return r->tree[r->tree_of[box]];
}

struct grant_node *
rows_node(struct rows *r, int box)
{
	return &rows_tree_of(r, box)->node[r->index[box]];
}

uint64_t
rows_queue_tree(const struct rows *r, int box)
{
	return (uint64_t)r->tree_of[box] + 1;
}

static uint64_t
ticket_of(int box)
{
	return (uint64_t)box + 1;
}

static void
fill_rates(struct rows *r)
{
	int64_t now = r->now.mono_ms;

	for (int i = 0; i < r->boxes; i++) {
		grant_bucket_init(&r->sandbox[i], GRANT_RATE_SANDBOX, now);
		grant_bucket_init(&r->outside[i], GRANT_RATE_OUTSIDE, now);
	}
	for (int i = 0; i < r->trees; i++)
		grant_bucket_init(&r->tree[i]->rate, GRANT_RATE_TREE, now);
	for (int i = 0; i < ROWS_USERS; i++)
		grant_bucket_init(&r->user[i], GRANT_RATE_USER, now);
}

void
rows_init(struct rows *r)
{
	memset(r, 0, sizeof(*r));
	r->now = (struct grant_now){ 1795953600000, 1000000 };
	grant_queue_init(&r->queue);
	fill_rates(r);
}

void
rows_release(struct rows *r)
{
	for (int i = 0; i < r->trees; i++)
		free(r->tree[i]);
	r->trees = 0;
}

static int
insert(struct rows *r, int tree, const struct grant_node *n)
{
	struct rows_tree *t = r->tree[tree];
	int box = r->boxes++;

	BUG_IF(t->t.n == ROWS_OF_TREE || box >= ROWS_BOXES);
	r->tree_of[box] = tree;
	r->index[box] = t->t.n;
	t->box[t->t.n] = box;
	t->node[t->t.n++] = *n;
	grant_bucket_init(&r->sandbox[box], GRANT_RATE_SANDBOX, r->now.mono_ms);
	grant_bucket_init(&r->outside[box], GRANT_RATE_OUTSIDE, r->now.mono_ms);
	return box;
}

int
rows_new_tree(struct rows *r, int user)
{
	const struct grant_node root = { .parent = GRANT_NOBODY,
		.life = GRANT_RUNNING };
	struct rows_tree *t = must_alloc(sizeof(*t));
	int box;

	BUG_IF(r->trees == ROWS_TREES);
	r->tree[r->trees] = t;
	t->user = user;
	t->t =
	    (struct grant_tree){ t->node, 0, span_str(rows_users[user]), NULL };
	grant_bucket_init(&t->rate, GRANT_RATE_TREE, r->now.mono_ms);
	box = insert(r, r->trees++, &root);
	r->began[box] = true;
	return box;
}

static void
join_queue(struct rows *r, int box)
{
	struct rows_tree *t = rows_tree_of(r, box);
	uint32_t parent = rows_node(r, box)->parent;
	struct grant_refusal refusal;
	struct grant_ticket ticket = { ticket_of(box), rows_queue_tree(r, box),
		parent == GRANT_NOBODY ? 0 : ticket_of(t->box[parent]) };

	BUG_IF(grant_queue_join(&r->queue, &ticket, &refusal) < 0);
}

int
rows_add(struct rows *r, int parent, const struct grant_charge *c,
    enum grant_kind kind, int name)
{
	int tree = r->tree_of[parent];
	const struct grant_node n = { .name = span_str(rows_names[name]),
		.parent = c->parent,
		.depth = c->depth,
		.kind = kind,
		.life = GRANT_RESERVED,
		.is_counted = true };
	int box = insert(r, tree, &n);

	grant_charge(&r->tree[tree]->grant, c);
	join_queue(r, box);
	return box;
}

void
rows_restart(struct rows *r, int box, const struct grant_charge *c)
{
	grant_charge(&rows_tree_of(r, box)->grant, c);
	rows_node(r, box)->life = GRANT_RESERVED;
	join_queue(r, box);
}

struct rows_first *
rows_find_first(struct rows *r, int parent, int caller, int request_id)
{
	for (size_t i = 0; i < r->firsts; i++) {
		struct rows_first *f = &r->first[i];

		if (f->f.is_found && f->parent == parent &&
		    f->caller == caller && f->request_id == request_id)
			return f;
	}
	return NULL;
}

/* A start that never came to its first instruction. */
static void
undo(struct rows *r, int box)
{
	if (r->began[box]) {
		rows_node(r, box)->life = GRANT_STOPPED;
		return;
	}
	grant_give_back(&rows_tree_of(r, box)->grant, rows_node(r, box));
	for (size_t i = 0; i < r->firsts; i++)
		if (r->first[i].child == box)
			r->first[i].f.is_found = false;
}

int
rows_next(struct rows *r)
{
	struct grant_ticket t;
	int box;

	if (!grant_queue_next(&r->queue, &t))
		return -1;
	box = (int)t.start - 1;
	BUG_IF(rows_node(r, box)->life != GRANT_RESERVED);
	rows_node(r, box)->life = GRANT_STARTING;
	return box;
}

void
rows_started(struct rows *r, int box, bool ran)
{
	grant_queue_done(&r->queue, rows_queue_tree(r, box));
	if (!ran) {
		undo(r, box);
		return;
	}
	rows_node(r, box)->life = GRANT_RUNNING;
	r->began[box] = true;
}

static void
mark_one(struct rows *r, int box)
{
	struct grant_node *n = rows_node(r, box);

	if (!grant_is_live(n->life))
		return;
	if (n->life == GRANT_STARTING)
		grant_queue_done(&r->queue, rows_queue_tree(r, box));
	n->life = GRANT_STOPPING;
}

void
rows_mark(struct rows *r, int from, bool with_itself)
{
	struct rows_tree *t = rows_tree_of(r, from);
	uint64_t tree = rows_queue_tree(r, from);
	uint32_t top = r->index[from];
	struct grant_ticket ticket;

	if (with_itself && grant_queue_leave(&r->queue, tree, ticket_of(from)))
		undo(r, from);
	for (uint32_t i = 0; i < t->t.n; i++) {
		if (i != top && !grant_is_below(&t->t, i, top))
			continue;
		while (grant_queue_leave_parent(&r->queue, tree,
		    ticket_of(t->box[i]), &ticket))
			undo(r, (int)ticket.start - 1);
	}
	for (uint32_t i = 0; i < t->t.n; i++)
		if (i == top ? with_itself : grant_is_below(&t->t, i, top))
			mark_one(r, t->box[i]);
}

void
rows_stopped(struct rows *r, int box, bool is_delete)
{
	struct grant_node *n = rows_node(r, box);

	if (!r->began[box])
		undo(r, box);
	else if (is_delete)
		n->life = GRANT_DELETED;
	else
		n->life = r->ends[box] ? GRANT_ENDED : GRANT_STOPPED;
}

void
rows_set_grant(struct rows *r, int tree, const struct grant_wish *w)
{
	struct rows_tree *t = r->tree[tree];

	if (t->t.grant)
		grant_end(&t->grant, GRANT_DEAD_REPLACED, r->now);
	grant_make(&t->grant, w, SPAN_LIT("g"), t->t.user, r->now,
	    grant_live_below(&t->t));
	t->t.grant = &t->grant;
	for (uint32_t i = 1; i < t->t.n; i++)
		t->node[i].is_counted = grant_is_live(t->node[i].life);
}

void
rows_sweep(struct rows *r)
{
	struct grant_ticket ticket;

	for (int i = 0; i < r->trees; i++) {
		struct rows_tree *t = r->tree[i];

		if (!t->t.grant ||
		    grant_state_at(&t->grant, r->now) == GRANT_LIVE)
			continue;
		grant_end(&t->grant, GRANT_DEAD_EXPIRED, r->now);
		while (
		    grant_queue_leave_tree(&r->queue, (uint64_t)i + 1, &ticket))
			undo(r, (int)ticket.start - 1);
	}
}

void
rows_crash(struct rows *r)
{
	struct grant_ticket ticket;

	grant_queue_init(&r->queue);
	fill_rates(r);
	for (int i = 0; i < r->trees; i++)
		if (r->tree[i]->t.grant)
			grant_arm(&r->tree[i]->grant, r->now);
	/* Starts whose end nobody knows go on counting. */
	for (int i = 0; i < r->boxes; i++) {
		if (rows_node(r, i)->life != GRANT_STARTING)
			continue;
		join_queue(r, i);
		BUG_IF(!grant_queue_next(&r->queue, &ticket));
	}
	for (int i = 0; i < r->boxes; i++)
		if (rows_node(r, i)->life == GRANT_RESERVED)
			join_queue(r, i);
}
