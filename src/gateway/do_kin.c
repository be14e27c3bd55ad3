/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes as members of a tree: told, listed, stopped, deleted. */
#include <string.h>

#include "gateway/await.h"
#include "gateway/do.h"
#include "gateway/refuse.h"
#include "gateway/sandbox.h"
#include "gateway/watch.h"
#include "gateway/which.h"
#include "proto/nacre_v1.pb.h"
#include "wire/wire.h"

static struct which *
make(struct call *c)
{
	struct which *w = arena_get(&c->arena, sizeof(*w));

	BUG_IF(w == NULL);
	c->work = w;
	return w;
}

int
do_child_get(struct call *c, struct fault *f)
{
	const nacre_v1_GetChildRequest *ask = c->ask;
	nacre_v1_ChildReply r = nacre_v1_ChildReply_init_zero;
	struct which *w = make(c);

	if (which_open(c, ask->id, "id", w, f) < 0)
		return -1;
	r.has_sandbox = true;
	await_tell(w->row, &c->arena, &r.sandbox);
	return CALL_REPLY(c, nacre_v1_ChildReply, &r, f);
}

/* --- list */

static int
read_cursor(const nacre_v1_ListChildrenRequest *ask, const struct tree *t,
    uint32_t *from, struct fault *f)
{
	*from = 0;
	if (ask->cursor == NULL || *ask->cursor == '\0')
		return 0;
	*from = tree_find(t, ask->cursor);
	if (*from != GRANT_NOBODY) {
		(*from)++;
		return 0;
	}
	return fault_field(f, "cursor", "cursor is none of ours, or too old");
}

static bool
is_listed(const struct which *w, uint32_t i, bool all)
{
	return all ? grant_is_below(&w->tree.t, i, w->node)
		   : w->tree.t.node[i].parent == w->node;
}

/* --- all trees of a user */

struct all {
	char (*ids)[LIMIT_ID + 1];
	size_t n;
};

static int
take_id(void *owner, struct store_sandbox *row, struct fault *f)
{
	struct all *all = owner;

	(void)f;
	if (all->n < GATEWAY_SANDBOXES)
		(void)text_copy(all->ids[all->n++], LIMIT_ID + 1,
		    span_str(row->id));
	return 0;
}

static bool
is_own(const struct call *c, const nacre_v1_Child *one)
{
	return (c->caller.who & CALL_ADMIN) ||
	    (one->user != NULL && strcmp(one->user, c->caller.text) == 0);
}

/* Oldest first, roots among them; the cursor is the last id of a page. */
static int
list_all(struct call *c, const nacre_v1_ListChildrenRequest *ask,
    uint32_t limit, struct fault *f)
{
	nacre_v1_ListChildrenReply r = nacre_v1_ListChildrenReply_init_zero;
	const struct store_page page = { 0 };
	struct all all = { 0 };
	bool found = ask->cursor == NULL || *ask->cursor == '\0';

	all.ids = arena_get(&c->arena, GATEWAY_SANDBOXES * sizeof(*all.ids));
	r.sandboxes = arena_get(&c->arena, limit * sizeof(*r.sandboxes));
	if (all.ids == NULL || r.sandboxes == NULL)
		return fault_set(f, FAULT_LIMIT, "the page is too big");
	if (store_sandbox_list(c->g->store, &page, take_id, &all, f) < 0)
		return -1;
	for (size_t i = 0; i < all.n; i++) {
		nacre_v1_Child one;

		if (!found) {
			found = strcmp(all.ids[i], ask->cursor) == 0;
			continue;
		}
		if (await_describe(c, all.ids[i], &one, f) < 0)
			return -1;
		if (!is_own(c, &one))
			continue;
		if (r.sandboxes_count == limit) {
			r.next_cursor = r.sandboxes[limit - 1].id;
			break;
		}
		r.sandboxes[r.sandboxes_count++] = one;
	}
	if (!found)
		return fault_field(f, "cursor",
		    "cursor is none of ours, or too old");
	return CALL_REPLY(c, nacre_v1_ListChildrenReply, &r, f);
}

int
do_child_list(struct call *c, struct fault *f)
{
	const nacre_v1_ListChildrenRequest *ask = c->ask;
	nacre_v1_ListChildrenReply r = nacre_v1_ListChildrenReply_init_zero;
	struct which *w = make(c);
	uint32_t limit = call_page(ask->limit, CALL_PAGE);
	uint32_t from;

	if (!(c->caller.who & CALL_SANDBOX) &&
	    (ask->parent == NULL || *ask->parent == '\0'))
		return list_all(c, ask, limit, f);
	if (which_open(c, ask->parent, "parent", w, f) < 0 ||
	    read_cursor(ask, &w->tree, &from, f) < 0)
		return -1;
	r.sandboxes = arena_get(&c->arena, limit * sizeof(*r.sandboxes));
	if (r.sandboxes == NULL)
		return fault_set(f, FAULT_LIMIT, "the page is too big");
	for (uint32_t i = from; i < w->tree.t.n; i++) {
		if (!is_listed(w, i, ask->descendants))
			continue;
		if (r.sandboxes_count == limit) {
			r.next_cursor = r.sandboxes[limit - 1].id;
			break;
		}
		await_tell(&w->tree.row[i], &c->arena,
		    &r.sandboxes[r.sandboxes_count++]);
	}
	return CALL_REPLY(c, nacre_v1_ListChildrenReply, &r, f);
}

/* --- stop and delete */

static int
move(struct call *c, const char *which, enum state_event event, struct fault *f)
{
	struct which *w = make(c);
	struct store_sandbox row;
	struct grant_refusal r;
	enum state_verdict verdict;

	if (which_open(c, which, "id", w, f) < 0)
		return -1;
	if (grant_may_stop(&w->ask, w->node, &r) < 0)
		return refuse(c, &r, f);
	if (which_row(c, w, &row, f) < 0)
		return -1;
	if (sandbox_move(c->g, &row, event, NULL, &verdict, f) < 0)
		return refuse_in_state(c, row.state, f);
	return 0;
}

int
do_child_stop(struct call *c, struct fault *f)
{
	const nacre_v1_StopChildRequest *ask = c->ask;

	return move(c, ask->id, EVENT_STOP, f);
}

void
do_child_stop_answer(struct call *c)
{
	await_rest(c, NULL, NULL);
}

/* Ids, children first: the order in which they go. */
static int
list_deleted(struct call *c, struct fault *f)
{
	nacre_v1_DeleteChildReply *r = arena_get(&c->arena, sizeof(*r));
	const struct which *w = c->work;
	const struct grant_tree *t = &w->tree.t;

	c->work = r;
	if (r == NULL ||
	    (r->deleted = arena_get(&c->arena, t->n * sizeof(*r->deleted))) ==
		NULL)
		return fault_set(f, FAULT_LIMIT, "the tree is too big");
	for (uint32_t level = GRANT_LEVELS; level-- > 0;)
		for (uint32_t i = 0; i < t->n; i++) {
			uint32_t depth =
			    t->node[i].depth + (t->node[i].kind == GRANT_TOOL);

			if (depth == level &&
			    (i == w->node || grant_is_below(t, i, w->node)))
				r->deleted[r->deleted_count++] = arena_str(
				    &c->arena, span_str(w->tree.row[i].id));
		}
	return 0;
}

int
do_child_delete(struct call *c, struct fault *f)
{
	const nacre_v1_DeleteChildRequest *ask = c->ask;

	if (move(c, ask->id, EVENT_DELETE, f) < 0)
		return -1;
	return list_deleted(c, f);
}

void
do_child_delete_answer(struct call *c)
{
	await_rest(c, nacre_v1_DeleteChildReply_fields, c->work);
}

/* --- lineage */

struct rows {
	struct call *c;
	nacre_v1_GetLineageReply r;
	uint32_t limit;
};

static void
tell(const struct store_lineage *l, struct arena *a, nacre_v1_LineageRow *out)
{
	out->id = arena_str(a, span_str(l->id));
	out->name = arena_str(a, span_str(l->name));
	out->parent = arena_str(a, span_str(l->parent));
	out->root = arena_str(a, span_str(l->root));
	out->has_depth = l->kind == GRANT_AGENT;
	out->depth = l->depth;
	out->kind = arena_str(a,
	    l->kind == GRANT_TOOL ? SPAN_LIT("tool") : SPAN_LIT("agent"));
	out->grant = arena_str(a, span_str(l->grant));
	out->user = arena_str(a, span_str(l->user));
	out->program = arena_str(a, span_str(l->program));
	out->sha256 = arena_str(a, span_str(l->sha256));
	out->policy_hash = arena_str(a, span_str(l->policy_hash));
	out->created_ms = l->created_ms;
	out->ended_ms = l->ended_ms;
	out->why = arena_str(a, span_str(l->why));
}

/* One row more than a page tells that there are more. */
static int
add(void *owner, const struct store_lineage *row, struct fault *f)
{
	struct rows *to = owner;

	(void)f;
	if (to->r.rows_count == to->limit)
		to->r.next_cursor = to->r.rows[to->limit - 1].id;
	else
		tell(row, &to->c->arena, &to->r.rows[to->r.rows_count++]);
	return 0;
}

/* The last id of the page before; it may be deleted, but is of this tree. */
static int
check_cursor(struct call *c, const char *cursor, const char *root,
    struct fault *f)
{
	struct store_lineage l;

	if (*cursor == '\0')
		return 0;
	if (store_lineage_by_id(c->g->store, cursor, &c->arena, &l, f) < 0 &&
	    f->code != FAULT_NOT_FOUND)
		return -1;
	if (f->code == FAULT_NONE && strcmp(l.root, root) == 0)
		return 0;
	return fault_field(f, "cursor", "cursor is none of this tree");
}

/* By id: also of what is deleted, for its rows stay. */
static int
find_by_id(struct call *c, const char *id, struct store_lineage *l,
    struct fault *f)
{
	if (store_lineage_by_id(c->g->store, id, &c->arena, l, f) < 0)
		return -1;
	if ((c->caller.who & CALL_ADMIN) ||
	    strcmp(l->user, c->caller.text) == 0)
		return 0;
	return fault_set(f, FAULT_NOT_FOUND, "sandbox not found");
}

/* By name, then by that of a root that is deleted. */
static int
find_by_name(struct call *c, const char *name, struct store_lineage *l,
    bool *is_deleted, struct fault *f)
{
	const char *user = c->caller.who & CALL_ADMIN ? "" : c->caller.text;
	struct which *w = make(c);
	struct fault ignored = { 0 };

	if (which_open(c, name, "id", w, f) == 0) {
		*l = *w->row;
		return 0;
	}
	if (f->code != FAULT_NOT_FOUND ||
	    store_lineage_gone(c->g->store, name, user, &c->arena, l,
		&ignored) < 0)
		return -1;
	fault_clear(f);
	c->hint = NULL;
	*is_deleted = true;
	return 0;
}

int
do_lineage(struct call *c, struct fault *f)
{
	const nacre_v1_GetLineageRequest *ask = c->ask;
	struct rows to = { .c = c, .limit = call_page(ask->limit, CALL_PAGE) };
	struct store_tree_page page = { .after = ask->cursor,
		.limit = to.limit + 1 };
	struct store_lineage l;
	int rc;

	if (page.after == NULL)
		page.after = "";
	to.r.rows = arena_get(&c->arena, to.limit * sizeof(*to.r.rows));
	if (to.r.rows == NULL)
		return fault_set(f, FAULT_LIMIT, "the page is too big");
	if (ask->id != NULL && identity_is_id(span_str(ask->id)))
		rc = find_by_id(c, ask->id, &l, f);
	else
		rc = find_by_name(c, ask->id, &l, &to.r.is_deleted, f);
	page.root = l.root;
	if (rc < 0 || check_cursor(c, page.after, l.root, f) < 0 ||
	    store_lineage_tree(c->g->store, &page, add, &to, f) < 0)
		return -1;
	return CALL_REPLY(c, nacre_v1_GetLineageReply, &to.r, f);
}
