/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy as boxes for one act: products of sets, written as literals
 *
 *	host, port, scope path, %2F, rule path, method, RPC method, tool,
 *	query, program, address, use
 *
 * A request passes iff an allow box holds it and no deny box does. Denies have
 * neither programs, addresses nor uses. Which act an endpoint carries, and by
 * which rules, is the table of policy.h; a frame of a WebSocket is allowed by
 * a pair of rules of one endpoint, one for the upgrade and one for the frame.
 *
 * Which acts need a proof: a rest endpoint carries other acts only as requests
 * of its own, so the proof for HTTP is theirs too (act_matters()).
 */
#include <string.h>

#include "prover/inner.h"

#define CALL "tools/call"
#define TEXT "WEBSOCKET_TEXT"

bool
act_matters(enum policy_kind kind, enum act act)
{
	switch (kind) {
	case POLICY_OPAQUE:
		return act == ACT_OPAQUE;
	case POLICY_REST:
		return act == ACT_HTTP;
	case POLICY_WEBSOCKET:
		return act == ACT_UPGRADE || act == ACT_FRAME;
	case POLICY_JSON_RPC:
		return act == ACT_RPC;
	case POLICY_MCP:
		return act >= ACT_CALL;
	}
	return false;
}

static bool
carries(enum policy_kind kind, enum act act)
{
	return kind == POLICY_OPAQUE || act_matters(kind, act) ||
	    (kind == POLICY_REST && act != ACT_OPAQUE);
}

enum policy_act
act_public(enum act act)
{
	static const enum policy_act names[] = { POLICY_ACT_OPAQUE,
		POLICY_ACT_HTTP, POLICY_ACT_UPGRADE, POLICY_ACT_FRAME,
		POLICY_ACT_RPC, POLICY_ACT_MCP, POLICY_ACT_MCP,
		POLICY_ACT_STREAM, POLICY_ACT_ANSWER };

	return names[act];
}

const struct region_literal *
box_literal(const struct prover *p, const struct box *b, uint32_t i)
{
	const struct region_literal *all = p->literals.items;

	return i < b->common_n ? &all[b->common + i]
			       : &all[b->own + i - b->common_n];
}

int
box_open(struct prover *p, const struct region *r, const struct box *b,
    uint16_t *last)
{
	int open = 0;

	for (uint16_t i = 0; i < b->n; i++) {
		const struct region_literal *l = box_literal(p, b, i);

		if (region_inside(&p->s, r, l))
			continue;
		if (region_apart(&p->s, r, l))
			return -1;
		*last = i;
		open++;
	}
	return open;
}

enum region_found
box_enter(struct prover *p, struct region *r, const struct box *b)
{
	struct region both = *r;
	struct region_mark mark = region_mark(&p->s);
	enum region_found found = REGION_SOME;

	for (uint16_t i = 0; i < b->n && found == REGION_SOME; i++) {
		const struct region_literal *l = box_literal(p, b, i);

		if (!region_inside(&p->s, &both, l))
			found = region_add(&p->s, &both, l,
			    (enum region_mode)l->mode);
	}
	if (found == REGION_SOME)
		*r = both;
	else
		region_back(&p->s, mark);
	return found;
}

/* --- sets of an endpoint */

static void
put_mode(struct making *m, enum region_dim dim, uint32_t set, uint16_t key,
    enum region_mode mode)
{
	struct region_literal *l = region_pool_add(&m->p->s, &m->p->literals);

	if (l)
		*l = (struct region_literal){ set, key, (uint8_t)dim,
			(uint8_t)mode };
}

static void
put(struct making *m, enum region_dim dim, uint32_t set)
{
	if (set != REGION_ALL)
		put_mode(m, dim, set, 0, REGION_IN);
}

static uint32_t
ports_set(struct prover *p, const struct policy_ports *ports)
{
	struct policy_range *range =
	    region_take(&p->s, ports->n, sizeof(*range));

	if (!range)
		return REGION_ALL;
	for (size_t i = 0; i < ports->n; i++)
		range[i] = (struct policy_range){ { 0, ports->range[i].first },
			{ 0, ports->range[i].last } };
	return region_set_ranges(&p->s, REGION_PORT, range, ports->n);
}

static uint32_t
glob_set(struct prover *p, enum region_dim dim, const struct policy_glob *g)
{
	return region_set_globs(&p->s, dim, &g, 1);
}

/* An exact program stands for what it is a link to, too. */
static uint32_t
programs_set(struct prover *p, const struct policy_entry *entry)
{
	const struct policy_glob **list =
	    region_take(&p->s, entry->programs_n * 2, sizeof(const void *));
	char room[LIMIT_PATH];
	size_t n = 0;

	for (size_t i = 0; list && i < entry->programs_n; i++) {
		const struct policy_glob *g = &entry->programs[i].glob;
		struct span to;

		list[n++] = g;
		if (!g->literal || !p->q.image ||
		    !region_step(&p->s, g->text.len) ||
		    !links_resolve(p->q.image, g->text, room, sizeof(room),
			&to) ||
		    span_equal(to, g->text))
			continue;
		to = arena_dup(p->s.arena, to);
		p->s.spent = p->s.spent || !to.ptr;
		list[n++] = region_glob_literal(&p->s, to);
	}
	return p->s.spent ? REGION_ALL
			  : region_set_globs(&p->s, REGION_PROGRAM, list, n);
}

/* Once for all acts. */
static uint32_t
programs_once(struct making *m, const struct policy_entry *entry)
{
	uint32_t *known = &m->programs_of[entry - m->of->entries];

	if (*known == 0)
		*known = programs_set(m->p, entry) + 1;
	return *known - 1;
}

/* What all boxes of an endpoint say, once. */
static void
common_make(struct making *m, const struct policy_box *b)
{
	const struct policy_endpoint *e = b->endpoint;
	struct region_solver *s = &m->p->s;

	m->endpoint = e;
	m->common = m->p->literals.n;
	put(m, REGION_HOST, region_set_host(s, &e->host));
	put(m, REGION_PORT, ports_set(m->p, &e->ports));
	if (e->kind != POLICY_OPAQUE) {
		put(m, REGION_PATH, glob_set(m->p, REGION_PATH, &e->path));
		if (!b->deny && !e->encoded_slash)
			put(m, REGION_PATH,
			    region_set_form(s, REGION_PATH, REGION_SET_PLAIN));
		if (!b->deny && m->act == ACT_CALL && e->strict_tools)
			put(m, REGION_TOOL,
			    region_set_form(s, REGION_TOOL, REGION_SET_STRICT));
	}
	if (b->deny)
		return;
	if (m->entry != b->entry)
		m->programs = programs_once(m, b->entry);
	m->entry = b->entry;
	if (m->range != e->addresses.range) /* most share one of two */
		m->addresses = region_set_ranges(s, REGION_ADDRESS,
		    e->addresses.range, e->addresses.n);
	m->range = e->addresses.range;
	put(m, REGION_PROGRAM, m->programs);
	put(m, REGION_ADDRESS, m->addresses);
	put(m, REGION_USE, region_set_uses(s, &e->capabilities));
}

/* --- one box */

static void
box_begin(struct making *m)
{
	struct box *b = region_pool_add(&m->p->s, &m->out->box);

	if (b)
		*b = (struct box){ .origin = m->origin,
			.common = m->common,
			.common_n = (uint16_t)m->common_n,
			.own = m->p->literals.n };
}

static void
put_http(struct making *m, const struct policy_rule *rule)
{
	enum region_mode mode =
	    m->origin->deny ? REGION_SOME_IN : REGION_ALL_IN;

	put(m, REGION_PATH, glob_set(m->p, REGION_PATH, &rule->path));
	for (size_t i = 0; i < rule->query_n && !m->p->s.spent; i++)
		put_mode(m, REGION_QUERY,
		    region_set_of_globs(&m->p->s, REGION_QUERY,
			&rule->query[i].values),
		    region_key(&m->p->s, rule->query[i].key), mode);
}

static struct key
key_of(const struct policy_glob *g)
{
	struct span head = region_glob_head(g);

	return (struct key){ head.ptr, (uint32_t)head.len, g->literal };
}

static void
box_end(struct making *m, const struct policy_rule *rule)
{
	const struct policy_endpoint *e = m->endpoint;
	const struct region_literal *l = m->p->literals.items;
	struct box *b;

	if (m->p->s.spent)
		return;
	b = (struct box *)m->out->box.items + m->out->box.n - 1;
	b->n = (uint16_t)(b->common_n + m->p->literals.n - b->own);
	for (uint32_t i = b->own; i < m->p->literals.n; i++)
		b->hash = (b->hash ^ l[i].set ^ (uint32_t)l[i].key << 16) *
		    0x9e3779b1;
	if (e->host.kind != POLICY_HOST_NONE)
		b->host_key = key_of(&e->host.glob);
	if (e->kind != POLICY_OPAQUE)
		b->path_key = key_of(&e->path);
	if (rule && region_glob_head(&rule->path).len > b->path_key.n)
		b->path_key = key_of(&rule->path);
}

static bool
has_method(const struct policy_rule *rule, const char *method)
{
	return rule->method.len == 0 || span_is(rule->method, method);
}

static void
put_method(struct making *m, struct span method)
{
	const struct span all[] = { method, SPAN_LIT("HEAD") };

	if (!span_equal(m->method, method)) /* mostly that of before */
		m->methods = region_set_literals(&m->p->s, REGION_METHOD, all,
		    span_is(method, "GET") ? 2 : 1);
	m->method = method;
	put(m, REGION_METHOD, m->methods);
}

static void
rest_make(struct making *m, const struct policy_rule *rule)
{
	bool get = m->act == ACT_UPGRADE || m->act == ACT_FRAME ||
	    m->act == ACT_STREAM;

	if (m->act != ACT_HTTP && !has_method(rule, get ? "GET" : "POST"))
		return;
	box_begin(m);
	if (m->act == ACT_HTTP && rule->method.len > 0)
		put_method(m, rule->method);
	put_http(m, rule);
	box_end(m, rule);
}

static void
pair_make(struct making *m, const struct policy_rule *get,
    const struct policy_rule *text)
{
	box_begin(m);
	put_http(m, get);
	if (text && text != get)
		put_http(m, text);
	box_end(m, get);
}

static void
websocket_make(struct making *m, const struct policy_rule *rule)
{
	const struct policy_rules *all = &m->endpoint->allows;

	if (m->origin->deny) {
		if (has_method(rule, "GET") ||
		    (m->act == ACT_FRAME && has_method(rule, TEXT)))
			pair_make(m, rule, NULL);
		return;
	}
	if (!has_method(rule, "GET"))
		return;
	if (m->act == ACT_UPGRADE) {
		pair_make(m, rule, NULL);
		return;
	}
	for (size_t i = 0; i < all->n && !m->p->s.spent; i++)
		if (has_method(&all->rule[i], TEXT))
			pair_make(m, rule, &all->rule[i]);
}

static void
tool_make(struct making *m, const struct policy_rule *rule)
{
	if (m->act == ACT_CALL ? rule->tools == POLICY_TOOLS_NONE ||
		    !policy_glob_match(&rule->rpc, SPAN_LIT(CALL))
			       : rule->tools == POLICY_TOOLS_GLOB)
		return;
	box_begin(m);
	if (m->act == ACT_METHOD)
		put(m, REGION_RPC, glob_set(m->p, REGION_RPC, &rule->rpc));
	else if (rule->tools == POLICY_TOOLS_GLOB)
		put(m, REGION_TOOL,
		    region_set_of_globs(&m->p->s, REGION_TOOL, &rule->tool));
	box_end(m, NULL);
}

/* STREAM, ANSWER and audited endpoints: all on the path. */
static void
whole_make(struct making *m)
{
	box_begin(m);
	box_end(m, NULL);
}

static void
rule_make(struct making *m, const struct policy_rule *rule)
{
	switch (m->endpoint->kind) {
	case POLICY_OPAQUE:
		break;
	case POLICY_REST:
		rest_make(m, rule);
		break;
	case POLICY_WEBSOCKET:
		websocket_make(m, rule);
		break;
	case POLICY_JSON_RPC:
		box_begin(m);
		put(m, REGION_RPC, glob_set(m->p, REGION_RPC, &rule->rpc));
		box_end(m, NULL);
		break;
	case POLICY_MCP:
		if (m->act < ACT_STREAM)
			tool_make(m, rule);
		else if (!m->origin->deny && rule == m->endpoint->allows.rule)
			whole_make(m); /* once */
		break;
	}
}

struct making
making_of(struct prover *p, const struct policy *of, enum act act,
    struct boxes *out)
{
	size_t from = of == p->q.child ? 0 : p->q.child->entries_n;

	return (struct making){ .p = p,
		.of = of,
		.act = act,
		.out = out,
		.programs_of = p->programs + from };
}

bool
boxes_add(struct making *m, const struct policy_box *b)
{
	if (!carries(b->endpoint->kind, m->act))
		return true;
	m->origin = b;
	if (m->endpoint != b->endpoint) {
		common_make(m, b);
		m->common_n = m->p->literals.n - m->common;
	}
	m->p->s.steps += 2;
	if (b->rule)
		rule_make(m, b->rule);
	else
		whole_make(m);
	return !m->p->s.spent;
}

bool
boxes_of(struct prover *p, const struct policy *of, bool deny, enum act act,
    struct boxes *out)
{
	const struct policy_boxes *from = deny ? &of->denies : &of->allows;
	struct making m = making_of(p, of, act, out);

	out->box = (struct region_pool){ .size = sizeof(struct box) };
	if (!region_pool_reserve(&p->s, &out->box, from->n))
		return false;
	for (size_t i = 0; i < from->n; i++)
		if (!boxes_add(&m, &from->box[i]))
			return false;
	return index_make(p, out);
}
