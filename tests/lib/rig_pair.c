/* SPDX-License-Identifier: Apache-2.0 */
#include "rig_pair.h"
#include "unit.h"

enum {
	PATIENCE_MS = 60000,
};

bool
rig_pair_is(const struct rig_pair *p, int b, const char *state)
{
	return strcmp(p->m.box[b].state, state) == 0;
}

/* --- what both say */

void
rig_pair_differ(const struct rig_pair *p, const char *real, const char *model,
    const char *more)
{
	fail_msg("step %zu: %s of %d: the gateway says %s, the model %s\n%s",
	    p->step, p->what, p->about, real, model, more);
}

/* True when it is a yes. The model's numbers of boxes are ids over there. */
bool
rig_pair_agree(const struct rig_pair *p, const struct rig_answer *a,
    const char *model)
{
	char want[64];
	bool is_yes;
	int other = -1;

	(void)text_copy(want, sizeof(want), span_str(model));
	if (sscanf(want, "IN_PROGRESS %d", &other) == 1)
		(void)text_copy(want, sizeof(want), SPAN_LIT("IN_PROGRESS"));
	if (sscanf(want, "repeat %d", &other) == 1)
		(void)text_copy(want, sizeof(want), SPAN_LIT("ok"));
	if (a->is_lost || strcmp(a->word, want) != 0)
		rig_pair_differ(p, a->is_lost ? "nothing" : a->word, model,
		    a->text);
	if (other >= 0 && strcmp(a->id, p->box[other].id) != 0)
		rig_pair_differ(p, a->id, p->box[other].id,
		    "another sandbox is meant");
	is_yes = a->is_yes && other < 0;
	return is_yes;
}

/* --- comparing all of a tree */

static bool
may_begin(const struct rig_pair *p, int b)
{
	int tree = p->m.box[b].tree;

	if (!rig_pair_is(p, b, "reserved") ||
	    model_starting(&p->m, tree) >= 4 || model_starting(&p->m, -1) >= 8)
		return false;
	for (int i = 0; i < p->m.boxes; i++)
		if (p->m.box[i].tree == tree && rig_pair_is(p, i, "reserved") &&
		    p->box[i].place > 0 && p->box[i].place < p->box[b].place)
			return false;
	return true;
}

static bool
is_state_same(struct rig_pair *p, const char *state, int b)
{
	if (strcmp(state, "failed") == 0)
		state = "stopped";
	if (strcmp(state, "deleting") == 0)
		state = "stopping";
	/* Which tree is next is the gateway's to choose, within the rules. */
	if (strcmp(state, "starting") == 0 && may_begin(p, b)) {
		p->m.box[b].state = "starting";
		p->m.box[b].launches++;
		p->box[b].place = 0;
	}
	return strcmp(state, p->m.box[b].state) == 0;
}

static bool
is_same(struct rig_pair *p, const struct rig_row *row, int b, char *why,
    size_t size)
{
	(void)text_copy(p->box[b].full_name, sizeof(p->box[b].full_name),
	    span_str(row->full_name));
	if (is_state_same(p, row->state, b) &&
	    row->is_tool == p->m.box[b].is_tool &&
	    strcmp(row->parent, p->box[p->m.box[b].parent].id) == 0)
		return true;
	(void)text_fmt(why, size, "%d (%s) is %s, the model says %s", b,
	    row->full_name, row->state, p->m.box[b].state);
	return false;
}

int
rig_pair_find(const struct rig_pair *p, const char *id, int tree)
{
	for (int b = p->m.boxes - 1; b >= 0; b--)
		if (p->m.box[b].tree == tree && strcmp(p->box[b].id, id) == 0)
			return b;
	return -1;
}

static bool
is_count_same(struct rig_pair *p, int tree, char *why, size_t size)
{
	struct rig_grant g;

	rig_grant_of(&p->r, p->box[p->m.tree[tree].root].id, &g);
	if (rig_pair_is(p, p->m.tree[tree].root, "deleted"))
		return !g.is_there;
	if (!g.is_there != (p->m.tree[tree].grant < 0)) {
		(void)text_fmt(why, size, "tree %d: a grant or none", tree);
		return false;
	}
	if (!g.is_there)
		return true;
	if ((int)g.used_total == model_used_total(&p->m, tree) &&
	    strcmp(g.state, p->m.grant[p->m.tree[tree].grant].state) == 0)
		return true;
	(void)text_fmt(why, size,
	    "tree %d: grant %s, total %u; the model says %s, %d", tree, g.state,
	    (unsigned)g.used_total, p->m.grant[p->m.tree[tree].grant].state,
	    model_used_total(&p->m, tree));
	return false;
}

static bool
is_root_same(struct rig_pair *p, int b, char *why, size_t size)
{
	struct rig_answer a;
	bool same;

	rig_ask_get(&p->r, &a, p->box[b].id);
	same = rig_pair_is(p, b, "deleted")
	    ? !a.is_yes
	    : a.is_yes && is_state_same(p, a.state, b);
	if (!same)
		(void)text_fmt(why, size, "root %d is %s %s, the model says %s",
		    b, a.word, a.state, p->m.box[b].state);
	rig_answer_release(&a);
	return same;
}

static bool
is_tree_same(struct rig_pair *p, int tree, char *why, size_t size)
{
	static struct rig_row rows[RIG_ROWS];
	size_t n = rig_list(&p->r, p->box[p->m.tree[tree].root].id, rows);
	size_t want = 0;

	for (size_t i = 0; i < n; i++) {
		int b = rig_pair_find(p, rows[i].id, tree);

		if (b < 0) {
			(void)text_fmt(why, size, "%s is none of the model's",
			    rows[i].full_name);
			return false;
		}
		if (!is_same(p, &rows[i], b, why, size))
			return false;
	}
	for (int b = 0; b < p->m.boxes; b++)
		want += p->m.box[b].tree == tree && p->m.box[b].parent >= 0 &&
		    !rig_pair_is(p, b, "deleted");
	if (n != want) {
		(void)text_fmt(why, size, "tree %d: %zu, the model says %zu",
		    tree, n, want);
		return false;
	}
	return is_root_same(p, p->m.tree[tree].root, why, size) &&
	    is_count_same(p, tree, why, size);
}

/* Whoever may start does. */
static bool
is_idle(const struct rig_pair *p, char *why, size_t size)
{
	for (int i = 0; i < RIG_PAIR_TREES; i++) {
		int tree = p->m.box[p->root[i]].tree;

		if (model_waiting(&p->m, tree) == 0 ||
		    model_starting(&p->m, tree) >= 4 ||
		    model_starting(&p->m, -1) >= 8)
			continue;
		(void)text_fmt(why, size, "tree %d could start one", tree);
		return false;
	}
	return true;
}

void
rig_pair_compare(struct rig_pair *p, int only)
{
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;
	char why[256] = "";
	bool same = false;

	while (!same) {
		same = true;
		for (int i = 0; i < RIG_PAIR_TREES; i++) {
			int tree = p->m.box[p->root[i]].tree;

			/* Where some wait, a place may have become free. */
			if ((only < 0 || only == tree ||
				model_waiting(&p->m, tree) > 0) &&
			    !is_tree_same(p, tree, why, sizeof(why)))
				same = false;
		}
		same = same && is_idle(p, why, sizeof(why));
		if (!same && rig_real_ms() > end_ms)
			fail_msg("step %zu: after %s of %d: %s", p->step,
			    p->what, p->about, why);
	}
}

/* --- effects on the model */

static void
levels(struct rig_pair *p, int from, const char *how)
{
	int level;

	while ((level = model_level(&p->m, from, how)) >= 0)
		for (int b = 0; b < p->m.boxes; b++)
			if (model_is_next(&p->m, from, how, level, b))
				model_stopped(&p->m, b,
				    strcmp(how, "delete") == 0);
}

void
rig_pair_cascade(struct rig_pair *p, int from, const char *how)
{
	model_mark(&p->m, from, strcmp(how, "below") != 0);
	levels(p, from, how);
}

int
rig_pair_new_tree(struct rig_pair *p)
{
	int b = model_new_tree(&p->m, 0);
	struct rig_answer a;
	char name[32];

	(void)text_fmt(name, sizeof(name), "root-%u", ++p->roots);
	rig_call_root(&p->r, &a, name);
	rig_until(&p->r, &a.is_done, "a root");
	if (!a.is_yes)
		fail_msg("no root: %s %s", a.word, a.text);
	rig_answer_release(&a);
	rig_ask_get(&p->r, &a, name);
	(void)text_copy(p->box[b].id, sizeof(p->box[b].id), span_str(a.id));
	rig_answer_release(&a);
	(void)text_copy(p->box[b].full_name, sizeof(p->box[b].full_name),
	    span_str(name));
	p->m.box[b].state = "reserved";
	p->m.box[b].began = false;
	p->box[b].place = ++p->places;
	return b;
}

int
rig_pair_add(struct rig_pair *p, int parent, bool is_tool, int name,
    const char *id)
{
	int b = model_add(&p->m, parent, is_tool, name);

	(void)text_copy(p->box[b].id, sizeof(p->box[b].id), span_str(id));
	p->box[b].place = ++p->places;
	return b;
}

static void
take_limits(struct rig_pair *p, const struct rig_limits *l,
    struct model_grant *g)
{
	if (l->max[0] >= 0)
		g->max_depth = (int)l->max[0];
	if (l->max[1] >= 0)
		g->max_breadth = (int)l->max[1];
	if (l->max[2] >= 0)
		g->max_total = (int)l->max[2];
	if (l->life_s > 0) {
		g->expires = p->m.wall + l->life_s * 1000;
		g->deadline = p->m.mono + l->life_s * 1000;
	}
}

void
rig_pair_act(struct rig_pair *p, const char *act, int tree,
    const struct rig_limits *l)
{
	if (strcmp(act, "create") == 0)
		model_set_grant(&p->m, tree, (int)l->max[0], (int)l->max[1],
		    (int)l->max[2], p->m.wall + l->life_s * 1000);
	else if (strcmp(act, "update") == 0)
		take_limits(p, l, &p->m.grant[p->m.tree[tree].grant]);
	else if (strcmp(p->m.grant[p->m.tree[tree].grant].state, "live") == 0)
		p->m.grant[p->m.tree[tree].grant].state = "revoked";
	model_sweep(&p->m);
}

void
rig_pair_limits(uint64_t *seed, struct rig_limits *l, bool is_whole)
{
	static const uint32_t most[3][3] = { { 2, 3, 6 }, { 4, 8, 40 },
		{ 16, 40, 400 } };
	const uint32_t *w = most[rig_chance(seed, 3)];

	for (int i = 0; i < 3; i++)
		l->max[i] = is_whole || rig_chance(seed, 2)
		    ? (int64_t)rig_chance(seed, w[i] + 1)
		    : -1;
	l->life_s = is_whole || rig_chance(seed, 3) == 0
	    ? 1 + rig_chance(seed, rig_chance(seed, 4) ? 400 : 5)
	    : 0;
}
