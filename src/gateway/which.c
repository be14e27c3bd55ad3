/* SPDX-License-Identifier: Apache-2.0 */
/* Finding in trees; which.h has the contracts. */
#include <string.h>

#include "gateway/refuse.h"
#include "gateway/which.h"

static int
not_found(struct call *c, struct fault *f)
{
	fault_clear(f);
	c->hint = c->caller.who & CALL_SANDBOX
	    ? "call list_sandboxes for those that you can name"
	    : "'nacre sandbox list' shows them";
	return fault_set(f, FAULT_NOT_FOUND, "sandbox not found");
}

static void
set_caller(struct call *c, struct which *w)
{
	bool is_sandbox = c->caller.who & CALL_SANDBOX;

	w->caller = (struct grant_caller){
		.is_sandbox = is_sandbox,
		.node = is_sandbox ? tree_find(&w->tree, c->caller.sandbox_id)
				   : GRANT_NOBODY,
		.user = span_str(c->caller.text),
		.is_admin = c->caller.who & CALL_ADMIN,
		.may_grant = c->caller.may_grant,
	};
	w->ask = (struct grant_ask){
		.tree = &w->tree.t,
		.caller = &w->caller,
		.now = tree_now(),
	};
}

static uint32_t
find_child(const struct tree *t, uint32_t parent, struct span name)
{
	for (uint32_t i = 0; i < t->t.n; i++)
		if (t->t.node[i].parent == parent &&
		    span_equal(t->t.node[i].name, name))
			return i;
	return GRANT_NOBODY;
}

/* "worker/leaf" below a node; empty: the node itself. */
static uint32_t
walk(const struct tree *t, uint32_t node, struct span path)
{
	while (path.len > 0 && node != GRANT_NOBODY) {
		size_t n = span_find(path, '/');

		node = find_child(t, node, span_of(path.ptr, n));
		path = span_from(path, n + 1);
	}
	return node;
}

static uint32_t
find_full_name(const struct tree *t, struct span name)
{
	for (uint32_t i = 0; i < t->t.n; i++)
		if (span_is(name, t->row[i].full_name))
			return i;
	return GRANT_NOBODY;
}

static int
open_tree(struct call *c, const struct store_lineage *l, struct which *w,
    struct fault *f)
{
	if (tree_read(c->g, l->root, &c->arena, &w->tree, f) < 0)
		return -1;
	set_caller(c, w);
	return 0;
}

static int
open_for_user(struct call *c, const char *text, struct which *w,
    struct fault *f)
{
	struct span s = span_str(text);
	size_t n = span_find(s, '/');
	struct store_lineage l;
	char *first = arena_str(&c->arena, span_of(s.ptr, n));
	int rc;

	if (first == NULL)
		return fault_set(f, FAULT_LIMIT, "the name is too long");
	rc = identity_is_id(span_str(first))
	    ? store_lineage_by_id(c->g->store, first, &c->arena, &l, f)
	    : store_lineage_by_name(c->g->store, first, &c->arena, &l, f);
	if (rc < 0 || open_tree(c, &l, w, f) < 0)
		return -1;
	w->node =
	    walk(&w->tree, tree_find(&w->tree, l.id), span_from(s, n + 1));
	return 0;
}

static int
open_for_sandbox(struct call *c, const char *text, struct which *w,
    struct fault *f)
{
	struct store_lineage l;
	struct span s = span_str(text);

	if (store_lineage_by_id(c->g->store, c->caller.sandbox_id, &c->arena,
		&l, f) < 0 ||
	    open_tree(c, &l, w, f) < 0)
		return -1;
	if (identity_is_id(s))
		w->node = tree_find(&w->tree, text);
	else
		w->node = walk(&w->tree, w->caller.node, s);
	if (w->node == GRANT_NOBODY)
		w->node = find_full_name(&w->tree, s);
	return 0;
}

static int
finish(struct call *c, struct which *w, struct fault *f)
{
	struct grant_refusal r;

	if (w->node == GRANT_NOBODY)
		return not_found(c, f);
	if (grant_may_see(&w->ask, w->node, &r) < 0)
		return refuse(c, &r, f);
	w->row = &w->tree.row[w->node];
	(void)text_copy(c->sandbox_id, sizeof(c->sandbox_id),
	    span_str(w->row->id));
	(void)text_copy(c->sandbox, sizeof(c->sandbox),
	    span_str(w->row->full_name));
	return 0;
}

int
which_open(struct call *c, const char *text, const char *field, struct which *w,
    struct fault *f)
{
	bool is_sandbox = c->caller.who & CALL_SANDBOX;
	int rc;

	if (text == NULL)
		text = "";
	if (*text == '\0' && !is_sandbox)
		return fault_field(f, field, "%s must name a sandbox", field);
	rc = is_sandbox ? open_for_sandbox(c, text, w, f)
			: open_for_user(c, text, w, f);
	if (rc < 0)
		return f->code == FAULT_NOT_FOUND ? not_found(c, f) : -1;
	return finish(c, w, f);
}

int
which_again(struct call *c, struct which *w, struct fault *f)
{
	const char *id = w->row->id;

	if (tree_read(c->g, w->tree.row[0].id, &c->arena, &w->tree, f) < 0)
		return f->code == FAULT_NOT_FOUND ? not_found(c, f) : -1;
	set_caller(c, w);
	w->node = tree_find(&w->tree, id);
	return finish(c, w, f);
}

int
which_row(struct call *c, const struct which *w, struct store_sandbox *row,
    struct fault *f)
{
	return store_sandbox_by_id(c->g->store, w->row->id, &c->arena, row, f);
}
