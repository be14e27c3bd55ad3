/* SPDX-License-Identifier: Apache-2.0 */
#include "grant_pair.h"
#include "unit.h"

void
pair_init(struct pair *p)
{
	rows_init(&p->r);
	memset(&p->m, 0, sizeof(p->m));
	p->m.mono = p->r.now.mono_ms;
	p->m.wall = p->r.now.wall_ms;
	p->cascades = 0;
}

void
pair_release(struct pair *p)
{
	rows_release(&p->r);
}

int
pair_new_tree(struct pair *p, int user)
{
	int root = rows_new_tree(&p->r, user);

	assert_int_equal(root, model_new_tree(&p->m, user));
	return root;
}

/* --- both sides speak words */

static const char *
tell(struct pair *p, int rc, const char *yes, const struct grant_refusal *f)
{
	const char *name = rc == 0 ? yes : grant_code_name(f->code);
	char *to = p->answer;
	size_t size = sizeof(p->answer);

	p->seen[rc == 0 ? PAIR_YES : (int)f->code]++;
	if (rc < 0 && f->code == GRANT_LIMIT_REACHED)
		p->limits[f->limit]++;
	if (rc < 0 && f->code == GRANT_NOT_ALLOWED)
		(void)text_fmt(to, size, "%s %s", name, grant_why_name(f->why));
	else if (rc < 0 && f->code == GRANT_LIMIT_REACHED)
		(void)text_fmt(to, size, "%s %s %u/%u", name,
		    grant_limit_name(f->limit), f->used, f->max);
	else if (rc < 0 && f->code == GRANT_NOT_READY)
		(void)text_fmt(to, size, "%s %s", name, f->state);
	else if (rc < 0 && f->code == GRANT_INVALID_ARGUMENT)
		(void)text_fmt(to, size, "%s %s", name, f->field);
	else if (rc < 0 && f->code == GRANT_RATE_LIMITED)
		(void)text_fmt(to, size, "%s %lld", name,
		    (long long)f->retry_after_ms);
	else
		(void)text_fmt(to, size, "%s", name);
	return to;
}

/* What was asked has one answer; true when it is a yes. */
static bool
agree(const struct pair *p, const char *what, int box, const char *real,
    const char *model)
{
	if (strcmp(real, model) != 0)
		fail_msg("step %zu: %s of %d: %s, the model says %s", p->step,
		    what, box, real, model);
	return strcmp(real, "ok") == 0 || strcmp(real, "start") == 0;
}

void
pair_about(struct pair *p, struct pair_asker *a, int box)
{
	a->caller = (struct grant_caller){ .is_sandbox = a->c.box >= 0,
		.node = GRANT_NOBODY,
		.user = span_str(rows_users[a->c.user]),
		.is_admin = a->c.is_admin,
		.may_grant = a->c.has_scope };
	if (a->c.box >= 0 && p->r.tree_of[a->c.box] == p->r.tree_of[box])
		a->caller.node = p->r.index[a->c.box];
	a->ask = (struct grant_ask){ &rows_tree_of(&p->r, box)->t, &a->caller,
		p->r.now };
}

/* --- calls */

bool
pair_call(struct pair *p, struct pair_asker *a, int box)
{
	struct grant_evidence e = { 0 };
	struct grant_rates rates = { .user = &p->r.user[a->c.user] };
	struct grant_refusal f;
	int rc;

	pair_about(p, a, a->c.box >= 0 ? a->c.box : box);
	e.self.path =
	    a->c.is_outside ? SPAN_LIT("/bin/sh") : SPAN_LIT("/bin/pi");
	if (a->c.box >= 0) {
		struct rows_tree *t = rows_tree_of(&p->r, a->c.box);

		rates = (struct grant_rates){ &p->r.sandbox[a->c.box], &t->rate,
			&p->r.user[t->user], &p->r.outside[a->c.box] };
	}
	rc = grant_may_call(&a->ask, &e, &rates, &f);
	if (!agree(p, "call", a->c.box, tell(p, rc, "ok", &f),
		model_call(&p->m, &a->c)))
		return false;
	pair_about(p, a, box);
	return true;
}

static int
ledger_name(const struct pair_asker *a)
{
	return a->c.box >= 0 ? a->c.box : -1 - a->c.user;
}

/* True: the ledger lets it pass. */
static bool
pass_ledger(struct pair *p, const struct pair_asker *a,
    const struct pair_wanted *w)
{
	const uint8_t digest[DIGEST_SIZE] = { (uint8_t)w->arguments };
	const struct rows_first *known =
	    rows_find_first(&p->r, w->parent, ledger_name(a), w->request_id);
	struct grant_first first = { 0 };
	struct grant_refusal f;
	const char *said;
	bool is_repeat;
	int rc;

	if (known) {
		first = known->f;
		first.is_done = p->r.began[known->child];
	}
	rc = grant_may_repeat(&first, digest, &is_repeat, &f);
	said = tell(p, rc, "ok", &f);
	if (known && (rc == 0 ? is_repeat : f.code == GRANT_IN_PROGRESS))
		(void)text_fmt(p->answer, sizeof(p->answer), "%s %d",
		    rc < 0 ? "IN_PROGRESS" : "repeat", known->child);
	p->seen[PAIR_REPEATS] += rc == 0 && is_repeat;
	return agree(p, "request_id", w->parent, said,
	    model_repeat(&p->m, &a->c, w->parent, w->request_id, w->arguments));
}

static struct grant_child
child_of(const struct pair *p, const struct pair_wanted *w)
{
	return (struct grant_child){ .parent = p->r.index[w->parent],
		.kind = w->is_tool ? GRANT_TOOL : GRANT_AGENT };
}

bool
pair_create(struct pair *p, struct pair_asker *a, const struct pair_wanted *w)
{
	struct grant_child c = child_of(p, w);
	struct grant_refusal f;

	if (!agree(p, "parent", w->parent,
		tell(p, grant_may_see(&a->ask, c.parent, &f), "ok", &f),
		model_see(&p->m, &a->c, w->parent)) ||
	    (w->request_id && !pass_ledger(p, a, w)))
		return false;
	return agree(p, "create", w->parent,
	    tell(p, grant_may_create(&a->ask, &c, &f), "ok", &f),
	    model_create(&p->m, &a->c, w->parent, w->is_tool));
}

static void
insert(struct pair *p, const struct pair_asker *a, const struct pair_wanted *w,
    const struct grant_charge *charge)
{
	int box =
	    rows_add(&p->r, w->parent, charge, child_of(p, w).kind, w->name);

	assert_int_equal(box, model_add(&p->m, w->parent, w->is_tool, w->name));
	if (w->request_id == 0)
		return;
	p->r.first[p->r.firsts++] =
	    (struct rows_first){ .f = { .is_found = true,
				     .digest = { (uint8_t)w->arguments } },
		    .parent = w->parent,
		    .caller = ledger_name(a),
		    .request_id = w->request_id,
		    .child = box };
	model_remember(&p->m, &a->c, w->parent, w->request_id, w->arguments,
	    box);
}

void
pair_reserve(struct pair *p, struct pair_asker *a, const struct pair_wanted *w)
{
	struct grant_child c = child_of(p, w);
	struct grant_slot s = { &p->r.queue, rows_queue_tree(&p->r, w->parent),
		span_str(rows_names[w->name]) };
	struct grant_charge charge;
	struct grant_refusal f;
	int rc;

	pair_about(p, a, w->parent);
	rc = grant_may_reserve(&a->ask, &c, &s, &charge, &f);
	if (agree(p, "reserve", w->parent, tell(p, rc, "ok", &f),
		model_reserve(&p->m, &a->c, w->parent, w->is_tool, w->name)))
		insert(p, a, w, &charge);
}

static void
restart(struct pair *p, struct pair_asker *a, int box)
{
	struct grant_slot s = { &p->r.queue, rows_queue_tree(&p->r, box),
		{ 0 } };
	uint32_t i = p->r.index[box];
	struct grant_charge charge;
	struct grant_refusal f;

	if (!agree(p, "start", box,
		tell(p, grant_may_start(&a->ask, i, &f), "ok", &f),
		model_start(&p->m, &a->c, box)) ||
	    !agree(p, "restart", box,
		tell(p, grant_may_restart(&a->ask, i, &s, &charge, &f), "ok",
		    &f),
		model_restart(&p->m, &a->c, box)))
		return;
	rows_restart(&p->r, box, &charge);
	p->m.box[box].state = "reserved";
}

void
pair_start(struct pair *p, struct pair_asker *a, int box)
{
	pair_about(p, a, box);
	restart(p, a, box);
}

void
pair_use(struct pair *p, struct pair_asker *a, int box)
{
	uint32_t i = p->r.index[box];
	struct grant_refusal f;
	bool must_start;
	int rc;

	(void)agree(p, "see", box,
	    tell(p, grant_may_see(&a->ask, i, &f), "ok", &f),
	    model_see(&p->m, &a->c, box));
	(void)agree(p, "file", box,
	    tell(p, grant_may_get_file(&a->ask, i, &f), "ok", &f),
	    model_file(&p->m, &a->c, box));
	rc = grant_may_exec(&a->ask, i, &must_start, &f);
	if (agree(p, "exec", box, tell(p, rc, must_start ? "start" : "ok", &f),
		model_exec(&p->m, &a->c, box)) &&
	    must_start)
		restart(p, a, box);
}

/* --- starts */

/* What the queue gives must wait, and be within both bounds; when it gives
 * nothing, nothing may start. */
void
pair_next(struct pair *p)
{
	struct model *m = &p->m;
	int box = rows_next(&p->r);

	for (int i = 0; i < m->trees && box < 0; i++)
		if (model_waiting(m, i) > 0 && model_starting(m, i) < 4 &&
		    model_starting(m, -1) < 8)
			fail_msg("step %zu: tree %d could start", p->step, i);
	if (box < 0)
		return;
	assert_string_equal(m->box[box].state, "reserved");
	assert_true(model_starting(m, -1) < 8);
	assert_true(model_starting(m, m->box[box].tree) < 4);
	m->box[box].state = "starting";
}

void
pair_outcome(struct pair *p, int box, bool ran)
{
	rows_started(&p->r, box, ran);
	model_started(&p->m, box, ran);
}

/* --- stops */

/* One level of a cascade; false: it is over. */
static bool
next_level(struct pair *p, int from, enum grant_cascade how)
{
	static const char *const names[] = { "stop", "below", "delete" };
	static uint32_t out[ROWS_OF_TREE];
	struct rows_tree *t = rows_tree_of(&p->r, from);
	size_t n =
	    grant_cascade_next(&t->t, p->r.index[from], how, out, NELEM(out));
	int level = model_level(&p->m, from, names[how]);
	size_t want = 0;

	for (int i = 0; i < p->m.boxes; i++)
		want += model_is_next(&p->m, from, names[how], level, i);
	assert_int_equal(n, want);
	for (size_t i = 0; i < n; i++)
		assert_true(model_is_next(&p->m, from, names[how], level,
		    t->box[out[i]]));
	for (size_t i = 0; i < n; i++) {
		bool is_delete = how == GRANT_CASCADE_DELETE;

		rows_stopped(&p->r, t->box[out[i]], is_delete);
		model_stopped(&p->m, t->box[out[i]], is_delete);
	}
	return n > 0;
}

static void
begin_cascade(struct pair *p, int from, enum grant_cascade how)
{
	bool with_itself = how != GRANT_CASCADE_STOP_BELOW;

	rows_mark(&p->r, from, with_itself);
	model_mark(&p->m, from, with_itself);
	if (p->cascades < PAIR_CASCADES &&
	    grant_is_live(rows_node(&p->r, from)->life)) {
		p->cascade[p->cascades].from = from;
		p->cascade[p->cascades++].how = how;
		return;
	}
	while (next_level(p, from, how))
		continue;
}

void
pair_stop(struct pair *p, struct pair_asker *a, int box, enum grant_cascade how)
{
	struct grant_refusal f;
	int rc = grant_may_stop(&a->ask, p->r.index[box], &f);

	if (agree(p, "stop", box, tell(p, rc, "ok", &f),
		model_stop(&p->m, &a->c, box)))
		begin_cascade(p, box, how);
}

void
pair_end(struct pair *p, int box)
{
	const struct model_box *b = &p->m.box[box];

	if (strcmp(b->state, "running") != 0 || b->is_tool)
		return;
	/* A root's VM stays for its user. */
	if (b->parent < 0) {
		begin_cascade(p, box, GRANT_CASCADE_STOP_BELOW);
		return;
	}
	p->r.ends[box] = p->m.box[box].ends = true;
	begin_cascade(p, box, GRANT_CASCADE_STOP);
}

void
pair_level(struct pair *p, size_t i)
{
	if (!next_level(p, p->cascade[i].from, p->cascade[i].how))
		p->cascade[i] = p->cascade[--p->cascades];
}

/* --- grants, time */

void
pair_set_grant(struct pair *p, int tree, const struct grant_wish *w)
{
	rows_set_grant(&p->r, tree, w);
	model_set_grant(&p->m, tree, (int)w->max[GRANT_DEPTH],
	    (int)w->max[GRANT_BREADTH], (int)w->max[GRANT_TOTAL],
	    w->expires_ms);
}

static void
update(struct pair *p, int tree, const struct grant_wish *w)
{
	struct model_grant *g = &p->m.grant[p->m.tree[tree].grant];

	grant_update(&p->r.tree[tree]->grant, w, p->r.now);
	if (w->has[GRANT_DEPTH])
		g->max_depth = (int)w->max[GRANT_DEPTH];
	if (w->has[GRANT_BREADTH])
		g->max_breadth = (int)w->max[GRANT_BREADTH];
	if (w->has[GRANT_TOTAL])
		g->max_total = (int)w->max[GRANT_TOTAL];
	if (w->has_expiry) {
		g->expires = w->expires_ms;
		g->deadline = p->m.mono + (w->expires_ms - p->m.wall);
	}
}

static void
revoke(struct pair *p, int tree)
{
	struct model_grant *g = &p->m.grant[p->m.tree[tree].grant];

	grant_end(&p->r.tree[tree]->grant, GRANT_DEAD_REVOKED, p->r.now);
	if (strcmp(g->state, "live") == 0)
		g->state = "revoked";
}

static void
sweep(struct pair *p)
{
	rows_sweep(&p->r);
	model_sweep(&p->m);
}

void
pair_act(struct pair *p, struct pair_asker *a, enum grant_act act, int box,
    const struct grant_wish *w)
{
	static const char *const names[] = { "create", "get", "list", "update",
		"revoke" };
	struct grant_refusal f;
	int tree = p->m.box[box].tree;
	int rc;

	pair_about(p, a, box);
	rc = grant_may_act(&a->ask, act, p->r.index[box], &f);
	if (!agree(p, "grant", box, tell(p, rc, "ok", &f),
		model_act(&p->m, &a->c, names[act], box)))
		return;
	if (act == GRANT_ACT_CREATE)
		pair_set_grant(p, tree, w);
	if (act == GRANT_ACT_UPDATE)
		update(p, tree, w);
	if (act == GRANT_ACT_REVOKE)
		revoke(p, tree);
	sweep(p);
}

void
pair_pass_time(struct pair *p, int64_t ms, int64_t wall_jump_ms)
{
	p->r.now.mono_ms += ms;
	p->r.now.wall_ms += ms + wall_jump_ms;
	p->m.mono = p->r.now.mono_ms;
	p->m.wall = p->r.now.wall_ms;
	sweep(p);
}

void
pair_crash(struct pair *p)
{
	rows_crash(&p->r);
	model_restarted(&p->m);
}

void
pair_compare(struct pair *p, int tree, int box)
{
	const struct grant_tree *t = &p->r.tree[tree]->t;

	for (int i = 0; i < p->m.boxes; i++) {
		const char *life = grant_life_name(rows_node(&p->r, i)->life);

		if (strcmp(life, p->m.box[i].state) != 0)
			fail_msg("step %zu: %d is %s, the model says %s",
			    p->step, i, life, p->m.box[i].state);
	}
	if (t->grant)
		assert_int_equal(t->grant->used_total,
		    model_used_total(&p->m, tree));
	assert_int_equal(
	    grant_breadth_used(&rows_tree_of(&p->r, box)->t, p->r.index[box]),
	    model_used_breadth(&p->m, box));
}
