/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge. One function a question; each reads from top to bottom in the
 * order of GRANTS.md 2, and the first thing that is wrong is the answer.
 * Nothing is changed here but rates.
 */
#include "grant/inner.h"

static const struct grant_node *
node_of(const struct grant_ask *ask, uint32_t node)
{
	BUG_IF(node >= ask->tree->n);
	return &ask->tree->node[node];
}

bool
grant_sees(const struct grant_ask *ask, uint32_t node)
{
	const struct grant_tree *t = ask->tree;
	const struct grant_caller *c = ask->caller;

	if (node >= t->n || t->node[node].life == GRANT_DELETED)
		return false;
	if (!c->is_sandbox)
		return c->is_admin || span_equal(c->user, t->user);
	return c->node < t->n &&
	    (node == c->node || grant_is_below(t, node, c->node));
}

int
grant_is_usable(const struct grant_ask *ask, struct grant_refusal *r)
{
	const struct grant *g = ask->tree->grant;
	enum grant_state state;

	if (!g)
		return grant_refuse_no_grant(r, ask->tree);
	state = grant_state_at(g, ask->now);
	return state == GRANT_LIVE ? 0 : grant_refuse_dead(r, ask->tree, state);
}

/* --- a call */

static int
pay(struct grant_bucket *const *b, size_t n, int64_t mono_ms,
    struct grant_refusal *r)
{
	int64_t wait = grant_bucket_take(b, n, mono_ms);

	if (wait == 0)
		return 0;
	return grant_refuse_retry(r, GRANT_RATE_LIMITED, wait,
	    "too many calls");
}

static int
refuse_program(struct grant_refusal *r, const struct grant *g,
    const struct grant_evidence *e, enum grant_match m)
{
	(void)grant_refuse(r, GRANT_NOT_ALLOWED, "%s: '%.*s'",
	    grant_match_text(m), SHOWN(e->self.path));
	r->why = GRANT_WHY_PROGRAM;
	r->program = e->self.path;
	return grant_hint(r,
	    "only %zu program%s may call, '%.*s'%s; call from there, or ask "
	    "the user to list this one",
	    g->programs_n, g->programs_n == 1 ? "" : "s",
	    SHOWN(g->programs[0].path), g->programs_n == 1 ? "" : " first");
}

/* By the newest grant, live or not. */
static enum grant_match
match(const struct grant *g, const struct grant_evidence *e)
{
	return g ? grant_program_match(g->programs, g->programs_n, e)
		 : GRANT_MATCH_PATH;
}

int
grant_may_call(const struct grant_ask *ask, const struct grant_evidence *e,
    const struct grant_rates *rates, struct grant_refusal *r)
{
	static const struct grant_evidence nothing = {
		.self.flags = GRANT_EXE_UNREADABLE
	};
	struct grant_bucket *const inside[] = { rates->sandbox, rates->tree,
		rates->user };
	const struct grant *g = ask->tree->grant;
	int64_t now = ask->now.mono_ms;
	enum grant_match m;

	if (!ask->caller->is_sandbox)
		return pay(&rates->user, 1, now, r);
	if (!grant_sees(ask, ask->caller->node))
		return grant_refuse_not_found(r);
	if (!e)
		e = &nothing;
	m = match(g, e);
	if (m == GRANT_MATCH)
		return pay(inside, NELEM(inside), now, r);
	if (pay(&rates->outside, 1, now, r) < 0)
		return -1;
	return g ? refuse_program(r, g, e, m)
		 : grant_refuse_no_grant(r, ask->tree);
}

int
grant_may_go_on(const struct grant_ask *ask, const struct grant_evidence *e,
    struct grant_refusal *r)
{
	const struct grant *g = ask->tree->grant;
	enum grant_match m;

	if (!ask->caller->is_sandbox)
		return 0;
	m = match(g, e);
	if (m == GRANT_MATCH)
		return 0;
	return g ? refuse_program(r, g, e, m)
		 : grant_refuse_no_grant(r, ask->tree);
}

/* --- what is there already */

/* A sandbox names one of its own children: nothing else will do. */
static int
own_child(const struct grant_ask *ask, uint32_t node, struct grant_refusal *r)
{
	if (!grant_sees(ask, node))
		return grant_refuse_not_found(r);
	if (!ask->caller->is_sandbox)
		return 0;
	if (node == ask->caller->node)
		return grant_refuse_why(r, GRANT_WHY_SELF,
		    "a sandbox cannot ask this of itself",
		    "name a child; here, just do it");
	if (node_of(ask, node)->parent != ask->caller->node)
		return grant_refuse_why(r, GRANT_WHY_SCOPE,
		    "only its own parent may ask this of a sandbox",
		    "let the sandbox between do it");
	return 0;
}

int
grant_may_see(const struct grant_ask *ask, uint32_t node,
    struct grant_refusal *r)
{
	return grant_sees(ask, node) ? 0 : grant_refuse_not_found(r);
}

int
grant_may_stop(const struct grant_ask *ask, uint32_t node,
    struct grant_refusal *r)
{
	if (!grant_sees(ask, node))
		return grant_refuse_not_found(r);
	if (ask->caller->is_sandbox && node == ask->caller->node)
		return grant_refuse_why(r, GRANT_WHY_SELF,
		    "a sandbox cannot stop or delete itself",
		    "end your main process instead");
	return 0;
}

int
grant_may_exec(const struct grant_ask *ask, uint32_t node, bool *must_start,
    struct grant_refusal *r)
{
	const struct grant_node *n;

	*must_start = false;
	if (own_child(ask, node, r) < 0)
		return -1;
	n = node_of(ask, node);
	if (ask->caller->is_sandbox && n->kind != GRANT_TOOL)
		return grant_refuse_why(r, GRANT_WHY_KIND,
		    "an agent child runs its own command only",
		    "create a child of kind tool to run commands in");
	if (n->life == GRANT_RUNNING)
		return 0;
	if (n->life != GRANT_STOPPED || n->kind != GRANT_TOOL)
		return grant_refuse_not_ready(r, n);
	*must_start = true;
	return 0;
}

int
grant_may_get_file(const struct grant_ask *ask, uint32_t node,
    struct grant_refusal *r)
{
	if (own_child(ask, node, r) < 0)
		return -1;
	if (node_of(ask, node)->life != GRANT_RUNNING)
		return grant_refuse_not_ready(r, node_of(ask, node));
	return 0;
}

int
grant_may_write_policy(const struct grant_ask *ask, uint32_t node,
    struct grant_refusal *r)
{
	if (!grant_sees(ask, node))
		return grant_refuse_not_found(r);
	if (ask->caller->is_sandbox)
		return grant_refuse_why(r, GRANT_WHY_SCOPE,
		    "only a user writes the policy of a sandbox",
		    "propose it for yourself at http://policy.local");
	return 0;
}

/* --- create and start */

static bool
is_among(struct span name, const struct span *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (span_equal(name, list[i]))
			return true;
	return false;
}

static int
check_providers(const struct grant_child *c, struct grant_refusal *r)
{
	for (size_t i = 0; i < c->providers_n; i++) {
		if (is_among(c->providers[i], c->parent_has, c->parent_has_n))
			continue;
		(void)grant_refuse(r, GRANT_NOT_ALLOWED,
		    "the parent has no provider '%.*s'",
		    SHOWN(c->providers[i]));
		r->why = GRANT_WHY_SCOPE;
		(void)text_fmt(r->field, sizeof(r->field), "providers[%zu]", i);
		return grant_hint(r,
		    "leave it out; a child has at most its parent's providers");
	}
	return 0;
}

int
grant_may_create(const struct grant_ask *ask, const struct grant_child *c,
    struct grant_refusal *r)
{
	const struct grant_node *p;
	const struct grant *g = ask->tree->grant;

	if (!grant_sees(ask, c->parent))
		return grant_refuse_not_found(r);
	if (ask->caller->is_sandbox && c->parent != ask->caller->node)
		return grant_refuse_why(r, GRANT_WHY_SCOPE,
		    "a sandbox creates children of its own only",
		    "let the sandbox between do it");
	if (grant_is_usable(ask, r) < 0)
		return -1;
	p = node_of(ask, c->parent);
	if (p->life != GRANT_RUNNING)
		return grant_refuse_not_ready(r, p);
	if (p->kind == GRANT_TOOL)
		return grant_refuse_why(r, GRANT_WHY_LEAF,
		    "a tool child has no children",
		    "return to the agent that opened it and let it create");
	if (c->kind == GRANT_AGENT && p->depth >= g->max[GRANT_DEPTH])
		return grant_refuse_limit(r, ask->tree, GRANT_DEPTH, p->depth);
	return check_providers(c, r);
}

int
grant_may_start(const struct grant_ask *ask, uint32_t node,
    struct grant_refusal *r)
{
	const struct grant_node *n;

	if (own_child(ask, node, r) < 0)
		return -1;
	n = node_of(ask, node);
	if (n->life != GRANT_STOPPED)
		return grant_refuse_not_ready(r, n);
	if (node == 0)
		return 0;
	if (grant_is_usable(ask, r) < 0)
		return -1;
	if (node_of(ask, n->parent)->life != GRANT_RUNNING)
		return grant_refuse_not_ready(r, node_of(ask, n->parent));
	return 0;
}

/* The newest grant has a live one's breadth for the parent. */
static int
check_breadth(const struct grant_ask *ask, uint32_t parent,
    struct grant_refusal *r)
{
	uint32_t used = grant_breadth_used(ask->tree, parent);

	if (used >= ask->tree->grant->max[GRANT_BREADTH])
		return grant_refuse_limit(r, ask->tree, GRANT_BREADTH, used);
	return 0;
}

static int
check_queue(const struct grant_queue *q, uint64_t tree, struct grant_refusal *r)
{
	if (!q || !grant_queue_is_full(q, tree))
		return 0;
	return grant_refuse_queue_full(r);
}

static int
check_name(const struct grant_ask *ask, uint32_t parent, struct span name,
    struct grant_refusal *r)
{
	const struct grant_tree *t = ask->tree;

	for (uint32_t i = 0; i < t->n && name.len > 0; i++) {
		const struct grant_node *n = &t->node[i];

		if (n->parent != parent || n->life == GRANT_DELETED ||
		    !span_equal(n->name, name))
			continue;
		(void)grant_refuse(r, GRANT_ALREADY_EXISTS,
		    "a child '%.*s' exists and is %s", SHOWN(name),
		    grant_life_name(n->life));
		r->name = n->name;
		return grant_hint(r,
		    "take another name, or delete that child first");
	}
	return 0;
}

int
grant_may_reserve(const struct grant_ask *ask, const struct grant_child *c,
    const struct grant_slot *s, struct grant_charge *charge,
    struct grant_refusal *r)
{
	const struct grant *g = ask->tree->grant;
	const struct grant_node *p;

	if (grant_may_create(ask, c, r) < 0 ||
	    check_queue(s->queue, s->tree, r) < 0 ||
	    check_name(ask, c->parent, s->name, r) < 0 ||
	    check_breadth(ask, c->parent, r) < 0)
		return -1;
	if (g->used_total >= g->max[GRANT_TOTAL])
		return grant_refuse_limit(r, ask->tree, GRANT_TOTAL,
		    g->used_total);
	p = node_of(ask, c->parent);
	*charge = (struct grant_charge){ .parent = c->parent,
		.depth = p->depth + (c->kind == GRANT_AGENT),
		.breadth = true,
		.total = true };
	return 0;
}

int
grant_may_restart(const struct grant_ask *ask, uint32_t node,
    const struct grant_slot *s, struct grant_charge *charge,
    struct grant_refusal *r)
{
	const struct grant_node *n;

	if (grant_may_start(ask, node, r) < 0 ||
	    check_queue(s->queue, s->tree, r) < 0)
		return -1;
	n = node_of(ask, node);
	if (node != 0 && check_breadth(ask, n->parent, r) < 0)
		return -1;
	*charge = (struct grant_charge){ .parent = n->parent,
		.depth = n->depth,
		.breadth = node != 0,
		.total = false };
	return 0;
}

void
grant_charge(struct grant *g, const struct grant_charge *c)
{
	g->used_total += c->total;
}

void
grant_give_back(struct grant *g, struct grant_node *n)
{
	BUG_IF(!grant_is_live(n->life));
	BUG_IF(n->is_counted && g->used_total == 0);
	g->used_total -= n->is_counted;
	n->is_counted = false;
	n->life = GRANT_DELETED;
}

bool
grant_is_same(const struct grant_generations *a,
    const struct grant_generations *b)
{
	return span_equal(a->grant_id, b->grant_id) && a->grant == b->grant &&
	    a->parent_policy == b->parent_policy && a->maximum == b->maximum;
}

int
grant_may_judge_again(unsigned judged, struct grant_refusal *r)
{
	if (judged < GRANT_RETRIES)
		return 0;
	return grant_refuse_retry(r, GRANT_BUSY, AGAIN_MS,
	    "the grant or a policy changed while this was judged");
}
