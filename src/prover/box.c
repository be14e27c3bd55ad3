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

/* What all boxes of an endpoint begin and end with. */
struct frame {
	const struct policy_endpoint *endpoint;
	uint32_t host;
	uint32_t port;
	uint32_t scope;
	uint32_t plain;
	uint32_t strict;
	uint32_t program;
	uint32_t address;
	uint32_t use;
};

struct making {
	struct prover *p;
	enum act act;
	struct boxes *out;
	struct frame frame;
	const struct policy_entry *entry;
	uint32_t programs; /* of entry */
	const struct policy_range *range;
	uint32_t addresses; /* of range */
	const struct policy_box *origin;
};

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
box_literals(const struct prover *p, const struct box *b)
{
	return (const struct region_literal *)p->literals.items + b->literal;
}

/* --- sets of an endpoint */

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
		    !links_resolve(p->q.image, g->text, room, sizeof(room),
			&to) ||
		    span_equal(to, g->text))
			continue;
		to = arena_dup(p->s.arena, to);
		list[n++] = region_glob_literal(&p->s, to);
	}
	return p->s.spent ? REGION_ALL
			  : region_set_globs(&p->s, REGION_PROGRAM, list, n);
}

static void
frame_make(struct making *m, const struct policy_box *b)
{
	const struct policy_endpoint *e = b->endpoint;
	struct prover *p = m->p;

	if (m->entry != b->entry && !b->deny) {
		m->entry = b->entry;
		m->programs = programs_set(p, b->entry);
	}
	m->frame = (struct frame){ .endpoint = e,
		.host = region_set_host(&p->s, &e->host),
		.port = ports_set(p, &e->ports) };
	if (e->kind != POLICY_OPAQUE) {
		m->frame.scope = glob_set(p, REGION_PATH, &e->path);
		if (!b->deny && !e->encoded_slash)
			m->frame.plain = region_set_form(&p->s, REGION_PATH,
			    REGION_SET_PLAIN);
		if (!b->deny && m->act == ACT_CALL && e->strict_tools)
			m->frame.strict = region_set_form(&p->s, REGION_TOOL,
			    REGION_SET_STRICT);
	}
	if (b->deny)
		return;
	m->frame.program = m->programs;
	if (m->range != e->addresses.range) {
		m->range = e->addresses.range; /* most share one of two */
		m->addresses = region_set_ranges(&p->s, REGION_ADDRESS,
		    m->range, e->addresses.n);
	}
	m->frame.address = m->addresses;
	m->frame.use = region_set_uses(&p->s, &e->capabilities);
}

/* --- one box */

static struct box *
box_begin(struct making *m)
{
	struct box *b = region_pool_add(&m->p->s, &m->out->box);

	if (b)
		*b = (struct box){ .origin = m->origin,
			.literal = m->p->literals.n };
	return b;
}

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

static void
put_http(struct making *m, const struct policy_rule *rule)
{
	enum region_mode mode =
	    m->origin->deny ? REGION_SOME_IN : REGION_ALL_IN;

	put(m, REGION_PATH, glob_set(m->p, REGION_PATH, &rule->path));
	for (size_t i = 0; i < rule->query_n; i++)
		put_mode(m, REGION_QUERY,
		    region_set_of_globs(&m->p->s, REGION_QUERY,
			&rule->query[i].values),
		    region_key(&m->p->s, rule->query[i].key), mode);
}

static void
put_head(struct making *m)
{
	put(m, REGION_HOST, m->frame.host);
	put(m, REGION_PORT, m->frame.port);
	put(m, REGION_PATH, m->frame.scope);
	put(m, REGION_PATH, m->frame.plain);
}

/* What the box may begin with, for the index: the longest head of its paths. */
static void
keys_make(struct box *b, const struct policy_rule *rule)
{
	const struct policy_endpoint *e = b->origin->endpoint;

	if (e->host.kind != POLICY_HOST_NONE) {
		b->host_key.s = region_glob_head(&e->host.glob);
		b->host_key.whole = e->host.glob.literal;
	}
	if (e->kind == POLICY_OPAQUE)
		return;
	b->path_key.s = region_glob_head(&e->path);
	b->path_key.whole = e->path.literal;
	if (rule && region_glob_head(&rule->path).len > b->path_key.s.len) {
		b->path_key.s = region_glob_head(&rule->path);
		b->path_key.whole = rule->path.literal;
	}
}

static void
box_end(struct making *m, const struct policy_rule *rule)
{
	struct prover *p = m->p;
	struct box *b;

	put(m, REGION_PROGRAM, m->frame.program);
	put(m, REGION_ADDRESS, m->frame.address);
	put(m, REGION_USE, m->frame.use);
	if (p->s.spent)
		return;
	b = (struct box *)m->out->box.items + (m->out->box.n - 1);
	b->n = (uint16_t)(p->literals.n - b->literal);
	keys_make(b, rule);
}

/* --- rules */

static bool
has_method(const struct policy_rule *rule, const char *method)
{
	return rule->method.len == 0 || span_is(rule->method, method);
}

static void
put_method(struct making *m, struct span method)
{
	const struct span all[] = { method, SPAN_LIT("HEAD") };

	put(m, REGION_METHOD,
	    region_set_literals(&m->p->s, REGION_METHOD, all,
		span_is(method, "GET") ? 2 : 1));
}

static void
rest_make(struct making *m, const struct policy_rule *rule)
{
	bool get = m->act == ACT_UPGRADE || m->act == ACT_FRAME ||
	    m->act == ACT_STREAM;

	if (m->act != ACT_HTTP && !has_method(rule, get ? "GET" : "POST"))
		return;
	(void)box_begin(m);
	put_head(m);
	if (m->act == ACT_HTTP && rule->method.len > 0)
		put_method(m, rule->method);
	put_http(m, rule);
	box_end(m, rule);
}

static void
pair_make(struct making *m, const struct policy_rule *get,
    const struct policy_rule *text)
{
	(void)box_begin(m);
	put_head(m);
	put_http(m, get);
	if (text && text != get)
		put_http(m, text);
	box_end(m, get);
}

static void
websocket_make(struct making *m, const struct policy_rule *rule)
{
	const struct policy_rules *all = &m->frame.endpoint->allows;

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
	(void)box_begin(m);
	put_head(m);
	put(m, REGION_TOOL, m->frame.strict);
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
	(void)box_begin(m);
	put_head(m);
	if (m->act == ACT_CALL)
		put(m, REGION_TOOL, m->frame.strict);
	box_end(m, NULL);
}

static void
rule_make(struct making *m, const struct policy_rule *rule)
{
	switch (m->frame.endpoint->kind) {
	case POLICY_OPAQUE:
		break;
	case POLICY_REST:
		rest_make(m, rule);
		break;
	case POLICY_WEBSOCKET:
		websocket_make(m, rule);
		break;
	case POLICY_JSON_RPC:
		(void)box_begin(m);
		put_head(m);
		put(m, REGION_RPC, glob_set(m->p, REGION_RPC, &rule->rpc));
		box_end(m, NULL);
		break;
	case POLICY_MCP:
		if (m->act < ACT_STREAM)
			tool_make(m, rule);
		else if (!m->origin->deny &&
		    rule == m->frame.endpoint->allows.rule)
			whole_make(m); /* once */
		break;
	}
}

bool
boxes_of(struct prover *p, const struct policy_boxes *from, enum act act,
    struct boxes *out)
{
	struct making m = { .p = p, .act = act, .out = out };

	out->box = (struct region_pool){ .size = sizeof(struct box) };
	for (size_t i = 0; i < from->n && !p->s.spent; i++) {
		const struct policy_box *b = &from->box[i];

		if (!carries(b->endpoint->kind, act))
			continue;
		m.origin = b;
		if (m.frame.endpoint != b->endpoint)
			frame_make(&m, b);
		p->s.steps++;
		if (b->rule)
			rule_make(&m, b->rule);
		else
			whole_make(&m);
	}
	return !p->s.spent && index_make(p, out);
}
