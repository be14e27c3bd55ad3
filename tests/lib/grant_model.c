/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>

#include "grant_model.h"

static const char *say(struct model *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static const char *
say(struct model *m, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(m->answer, sizeof(m->answer), fmt, ap);
	va_end(ap);
	return m->answer;
}

static bool
is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/* --- numbers */

bool
model_is_live(const struct model *m, int box)
{
	const char *s = m->box[box].state;

	return is(s, "reserved") || is(s, "starting") || is(s, "running") ||
	    is(s, "stopping");
}

int
model_used_total(const struct model *m, int tree)
{
	int n = 0;

	for (int i = 0; i < m->boxes; i++)
		if (m->box[i].tree == tree && m->tree[tree].grant >= 0 &&
		    m->box[i].counted_in == m->tree[tree].grant)
			n++;
	return n;
}

int
model_used_breadth(const struct model *m, int box)
{
	int n = 0;

	for (int i = 0; i < m->boxes; i++)
		if (m->box[i].parent == box && model_is_live(m, i))
			n++;
	return n;
}

static int
count(const struct model *m, int tree, const char *state)
{
	int n = 0;

	for (int i = 0; i < m->boxes; i++)
		if ((tree < 0 || m->box[i].tree == tree) &&
		    is(m->box[i].state, state))
			n++;
	return n;
}

int
model_waiting(const struct model *m, int tree)
{
	return count(m, tree, "reserved");
}

int
model_starting(const struct model *m, int tree)
{
	return count(m, tree, "starting");
}

/* How far below `above`; 0 for itself, -1 when it is not there. */
static int
distance(const struct model *m, int box, int above)
{
	int n = 0;

	while (box >= 0 && box != above) {
		box = m->box[box].parent;
		n++;
	}
	return box == above ? n : -1;
}

static int
depth(const struct model *m, int box)
{
	return distance(m, box, m->tree[m->box[box].tree].root);
}

static bool
may_know(const struct model *m, const struct model_caller *c, int box)
{
	if (is(m->box[box].state, "deleted"))
		return false;
	if (c->box < 0)
		return c->is_admin || c->user == m->tree[m->box[box].tree].user;
	return distance(m, box, c->box) >= 0;
}

static const char *
grant_state(const struct model *m, int tree)
{
	const struct model_grant *g;

	if (m->tree[tree].grant < 0)
		return "none";
	g = &m->grant[m->tree[tree].grant];
	if (is(g->state, "live") &&
	    (m->wall >= g->expires || m->mono >= g->deadline))
		return "expired";
	return g->state;
}

static const struct model_grant *
grant_of(const struct model *m, int box)
{
	return &m->grant[m->tree[m->box[box].tree].grant];
}

static const char *
not_ready(struct model *m, int box)
{
	return say(m, "NOT_READY %s", m->box[box].state);
}

/* --- rates: the time at which a bucket would be full again, times its rate,
 * tells all there is to know (a call puts it off by 1000) */

struct line {
	int64_t *full_at;
	int64_t a_second;
	int64_t burst;
};

static int64_t
line_wait(const struct model *m, const struct line *l)
{
	int64_t over =
	    *l->full_at - m->mono * l->a_second - (l->burst - 1) * 1000;

	return over <= 0 ? 0 : (over + l->a_second - 1) / l->a_second;
}

static int64_t
pay(const struct model *m, const struct line *lines, int n)
{
	int64_t wait = 0;

	for (int i = 0; i < n; i++)
		if (line_wait(m, &lines[i]) > wait)
			wait = line_wait(m, &lines[i]);
	for (int i = 0; i < n && wait == 0; i++) {
		int64_t now = m->mono * lines[i].a_second;

		if (*lines[i].full_at < now)
			*lines[i].full_at = now;
		*lines[i].full_at += 1000;
	}
	return wait;
}

static const char *
limited(struct model *m, int64_t wait)
{
	return say(m, "RATE_LIMITED %lld", (long long)wait);
}

const char *
model_call(struct model *m, const struct model_caller *c)
{
	struct model_box *b = &m->box[c->box < 0 ? 0 : c->box];
	struct model_tree *t = &m->tree[b->tree];
	struct line host = { &m->user_rate[c->user], 50, 100 };
	struct line outside = { &b->rate_outside, 2, 2 };
	struct line inside[] = { { &b->rate, 10, 20 }, { &t->rate, 30, 60 },
		{ &m->user_rate[t->user], 50, 100 } };
	int64_t wait;

	if (c->box < 0) {
		wait = pay(m, &host, 1);
		return wait ? limited(m, wait) : say(m, "ok");
	}
	if (is(b->state, "deleted"))
		return say(m, "NOT_FOUND");
	if (t->grant < 0 || c->is_outside) {
		wait = pay(m, &outside, 1);
		if (wait)
			return limited(m, wait);
		return say(m, "NOT_ALLOWED %s",
		    t->grant < 0 ? "no_grant" : "program");
	}
	wait = pay(m, inside, 3);
	return wait ? limited(m, wait) : say(m, "ok");
}

/* --- what is there */

const char *
model_see(struct model *m, const struct model_caller *c, int box)
{
	return say(m, may_know(m, c, box) ? "ok" : "NOT_FOUND");
}

const char *
model_stop(struct model *m, const struct model_caller *c, int box)
{
	if (!may_know(m, c, box))
		return say(m, "NOT_FOUND");
	return say(m, c->box == box ? "NOT_ALLOWED self" : "ok");
}

/* NULL: it is one that this caller may use. */
static const char *
not_mine(struct model *m, const struct model_caller *c, int box)
{
	if (!may_know(m, c, box))
		return say(m, "NOT_FOUND");
	if (c->box < 0 || m->box[box].parent == c->box)
		return NULL;
	return say(m, "NOT_ALLOWED %s", c->box == box ? "self" : "scope");
}

const char *
model_exec(struct model *m, const struct model_caller *c, int box)
{
	const char *no = not_mine(m, c, box);

	if (no)
		return no;
	if (c->box >= 0 && !m->box[box].is_tool)
		return say(m, "NOT_ALLOWED kind");
	if (is(m->box[box].state, "running"))
		return say(m, "ok");
	if (is(m->box[box].state, "stopped") && m->box[box].is_tool)
		return say(m, "start");
	return not_ready(m, box);
}

const char *
model_file(struct model *m, const struct model_caller *c, int box)
{
	const char *no = not_mine(m, c, box);

	if (no)
		return no;
	return is(m->box[box].state, "running") ? say(m, "ok")
						: not_ready(m, box);
}

/* --- create and start */

static const char *
grant_refuses(struct model *m, int box)
{
	const char *state = grant_state(m, m->box[box].tree);

	if (is(state, "none"))
		return say(m, "NOT_ALLOWED no_grant");
	if (is(state, "expired"))
		return say(m, "GRANT_EXPIRED");
	return is(state, "live") ? NULL : say(m, "GRANT_REVOKED");
}

const char *
model_create(struct model *m, const struct model_caller *c, int parent,
    bool is_tool)
{
	const char *no;

	if (!may_know(m, c, parent))
		return say(m, "NOT_FOUND");
	if ((no = grant_refuses(m, parent)))
		return no;
	if (!is(m->box[parent].state, "running"))
		return not_ready(m, parent);
	if (m->box[parent].is_tool)
		return say(m, "NOT_ALLOWED leaf");
	if (!is_tool && depth(m, parent) + 1 > grant_of(m, parent)->max_depth)
		return say(m, "LIMIT_REACHED depth %d/%d", depth(m, parent),
		    grant_of(m, parent)->max_depth);
	return say(m, "ok");
}

static const char *
breadth_refuses(struct model *m, int parent)
{
	int used = model_used_breadth(m, parent);
	int max = grant_of(m, parent)->max_breadth;

	return used + 1 > max ? say(m, "LIMIT_REACHED breadth %d/%d", used, max)
			      : NULL;
}

const char *
model_reserve(struct model *m, const struct model_caller *c, int parent,
    bool is_tool, int name)
{
	const char *no = model_create(m, c, parent, is_tool);
	int tree = m->box[parent].tree;

	if (!is(no, "ok"))
		return no;
	if (model_waiting(m, tree) >= 32)
		return say(m, "BUSY");
	for (int i = 0; i < m->boxes && name > 0; i++)
		if (m->box[i].parent == parent && m->box[i].name == name &&
		    !is(m->box[i].state, "deleted"))
			return say(m, "ALREADY_EXISTS");
	if ((no = breadth_refuses(m, parent)))
		return no;
	if (model_used_total(m, tree) + 1 > grant_of(m, parent)->max_total)
		return say(m, "LIMIT_REACHED total %d/%d",
		    model_used_total(m, tree), grant_of(m, parent)->max_total);
	return say(m, "ok");
}

const char *
model_start(struct model *m, const struct model_caller *c, int box)
{
	const char *no = not_mine(m, c, box);
	int parent = m->box[box].parent;

	if (no)
		return no;
	if (!is(m->box[box].state, "stopped"))
		return not_ready(m, box);
	if (parent < 0)
		return say(m, "ok");
	if ((no = grant_refuses(m, box)))
		return no;
	return is(m->box[parent].state, "running") ? say(m, "ok")
						   : not_ready(m, parent);
}

const char *
model_restart(struct model *m, const struct model_caller *c, int box)
{
	const char *no = model_start(m, c, box);

	if (!is(no, "ok"))
		return no;
	if (model_waiting(m, m->box[box].tree) >= 32)
		return say(m, "BUSY");
	if (m->box[box].parent >= 0 &&
	    (no = breadth_refuses(m, m->box[box].parent)))
		return no;
	return say(m, "ok");
}

const char *
model_repeat(struct model *m, const struct model_caller *c, int parent,
    int request_id, int arguments)
{
	int who = c->box >= 0 ? c->box : -1 - c->user;

	for (int i = 0; i < m->firsts; i++) {
		const struct model_first *f = &m->first[i];

		if (f->parent != parent || f->caller != who ||
		    f->request_id != request_id)
			continue;
		if (f->arguments != arguments)
			return say(m, "INVALID_ARGUMENT request_id");
		if (!m->box[f->child].began)
			return say(m, "IN_PROGRESS %d", f->child);
		return say(m, "repeat %d", f->child);
	}
	return say(m, "ok");
}

const char *
model_act(struct model *m, const struct model_caller *c, const char *act,
    int box)
{
	const char *state = grant_state(m, m->box[box].tree);

	if (c->box >= 0 && !is(act, "get"))
		return say(m, "NOT_ALLOWED scope");
	if (c->box >= 0 &&
	    (m->box[c->box].tree != m->box[box].tree ||
		is(m->box[c->box].state, "deleted")))
		return say(m, "NOT_FOUND");
	if (c->box >= 0)
		return say(m,
		    is(state, "none") ? "NOT_ALLOWED no_grant" : "ok");
	if (!may_know(m, c, box))
		return say(m, "NOT_FOUND");
	if (!c->has_scope && !is(act, "get"))
		return say(m, "NOT_ALLOWED scope");
	if (m->box[box].parent >= 0)
		return say(m, "INVALID_ARGUMENT sandbox");
	if (is(act, "create"))
		return say(m, is(state, "live") ? "ALREADY_EXISTS" : "ok");
	if (is(state, "none"))
		return say(m, "NOT_FOUND");
	if (is(act, "update") && !is(state, "live"))
		return say(m,
		    is(state, "expired") ? "GRANT_EXPIRED" : "GRANT_REVOKED");
	return say(m, "ok");
}

/* --- effects */

int
model_new_tree(struct model *m, int user)
{
	int box = m->boxes++;

	m->tree[m->trees] = (struct model_tree){ box, user, -1, 0 };
	m->box[box] = (struct model_box){ .tree = m->trees++,
		.parent = -1,
		.state = "running",
		.began = true,
		.counted_in = -1 };
	return box;
}

int
model_add(struct model *m, int parent, bool is_tool, int name)
{
	int box = m->boxes++;
	int tree = m->box[parent].tree;

	m->box[box] = (struct model_box){ .tree = tree,
		.parent = parent,
		.is_tool = is_tool,
		.name = name,
		.state = "reserved",
		.counted_in = m->tree[tree].grant };
	return box;
}

void
model_remember(struct model *m, const struct model_caller *c, int parent,
    int request_id, int arguments, int child)
{
	m->first[m->firsts++] =
	    (struct model_first){ parent, c->box >= 0 ? c->box : -1 - c->user,
		    request_id, arguments, child };
}

void
model_set_grant(struct model *m, int tree, int max_depth, int max_breadth,
    int max_total, int64_t expires)
{
	int g = m->grants++;

	m->grant[g] = (struct model_grant){ max_depth, max_breadth, max_total,
		expires, m->mono + (expires - m->wall), "live" };
	m->tree[tree].grant = g;
	for (int i = 0; i < m->boxes; i++)
		if (m->box[i].tree == tree && m->box[i].parent >= 0 &&
		    model_is_live(m, i))
			m->box[i].counted_in = g;
}

/* It never ran: as if it had not been asked for. */
static void
undo(struct model *m, int box)
{
	m->box[box].state = "deleted";
	m->box[box].counted_in = -1;
	for (int i = 0; i < m->firsts; i++)
		if (m->first[i].child == box)
			m->first[i].request_id = -1;
}

void
model_started(struct model *m, int box, bool ran)
{
	if (!ran) {
		m->box[box].state = "stopped";
		if (!m->box[box].began && m->box[box].launches <= 1)
			undo(m, box);
		return;
	}
	m->box[box].state = "running";
	m->box[box].began = true;
}

/* A child that was not to run yet is undone, a root is kept for its user. */
static void
rest(struct model *m, int box)
{
	m->box[box].state = m->box[box].ends ? "ended" : "stopped";
	if (!m->box[box].began && m->box[box].parent >= 0)
		undo(m, box);
}

void
model_mark(struct model *m, int from, bool with_itself)
{
	for (int i = 0; i < m->boxes; i++) {
		if (distance(m, i, from) < (with_itself ? 0 : 1))
			continue;
		if (is(m->box[i].state, "reserved"))
			rest(m, i);
		else if (model_is_live(m, i))
			m->box[i].state = "stopping";
	}
}

static int
work(const struct model *m, int from, const char *how, int box)
{
	bool left = is(how, "delete") ? !is(m->box[box].state, "deleted")
				      : is(m->box[box].state, "stopping");

	if (!left || (box == from && is(how, "below")))
		return -1;
	return distance(m, box, from);
}

int
model_level(const struct model *m, int from, const char *how)
{
	int deepest = -1;

	for (int i = 0; i < m->boxes; i++)
		if (work(m, from, how, i) > deepest)
			deepest = work(m, from, how, i);
	return deepest;
}

bool
model_is_next(const struct model *m, int from, const char *how, int level,
    int box)
{
	return level >= 0 && work(m, from, how, box) == level;
}

void
model_stopped(struct model *m, int box, bool is_delete)
{
	if (!is_delete)
		rest(m, box);
	else if (m->box[box].began)
		m->box[box].state = "deleted";
	else
		undo(m, box);
}

void
model_sweep(struct model *m)
{
	for (int i = 0; i < m->boxes; i++) {
		if (!is(m->box[i].state, "reserved") || m->box[i].parent < 0 ||
		    is(grant_state(m, m->box[i].tree), "live"))
			continue;
		rest(m, i);
	}
	for (int t = 0; t < m->trees; t++)
		if (m->tree[t].grant >= 0)
			m->grant[m->tree[t].grant].state = grant_state(m, t);
}

void
model_restarted(struct model *m)
{
	for (int i = 0; i < m->boxes; i++)
		m->box[i].rate = m->box[i].rate_outside = 0;
	for (int t = 0; t < m->trees; t++) {
		m->tree[t].rate = 0;
		if (m->tree[t].grant >= 0)
			m->grant[m->tree[t].grant].deadline = m->mono +
			    (m->grant[m->tree[t].grant].expires - m->wall);
	}
	for (int u = 0; u < MODEL_USERS; u++)
		m->user_rate[u] = 0;
}
