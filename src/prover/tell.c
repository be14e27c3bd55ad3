/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said of an excess, once the second evaluator has agreed. The cause at
 * the parent is the endpoint that comes nearest to letting it pass, by
 *
 *	host and port < program < address < kind < rule < use
 *
 * and the hint says what that endpoint would take instead.
 */
#include <string.h>

#include "prover/inner.h"

enum {
	FUEL = 8 << 20,  /* comparisons of all replays, some 10 ms */
	FUEL_STEPS = 32, /* of them cost a step */
};

struct replay *
replay_of(struct prover *p, const struct policy *policy)
{
	struct replay *r = &p->replay;

	if (!r->row) {
		r->row = region_take(&p->s, REPLAY_ROW, sizeof(bool));
		r->fuel = r->row ? FUEL : 0;
	}
	r->p = policy;
	r->image = p->q.image;
	return r;
}

bool
replay_check(struct prover *p, bool agrees)
{
	struct prover_result *r = &p->result;
	enum policy_section section = r->section;
	bool whole = p->replay.fuel > 0;

	p->s.steps += (FUEL - p->replay.fuel) / FUEL_STEPS;
	if (whole && agrees)
		return true;
	BUG_IF(whole && p->q.paranoid);
	p->s.spent = true; /* of no use to go on */
	r->verdict = PROVER_WITHIN;
	if (whole)
		tell_unsupported(p, section, PROVER_DISAGREE,
		    span_str(prover_section_name(section)));
	else
		(void)tell(p, PROVER_OUT_OF_BUDGET, section);
	return false;
}

static bool
is_excess(struct prover *p, const struct prover_witness *w)
{
	return replay_network(replay_of(p, p->q.child), w) &&
	    !replay_network(replay_of(p, p->q.parent), w) && p->replay.fuel > 0;
}

/* --- causes */

static void
endpoint_say(const struct policy_entry *entry, const struct policy_endpoint *e,
    char *out, size_t size)
{
	char key[128];

	text_escape(entry->key, key, sizeof(key));
	(void)text_fmt(out, size, "network_policies.%s endpoint %u", key,
	    (unsigned)e->index);
}

/* "rule 1", "deny 0", "access full", "audit". */
static void
rule_say(const struct policy_box *b, char *out, size_t size)
{
	char all[PROVER_CAUSE];
	char head[PROVER_CAUSE];
	size_t n;

	policy_box_format(b, all, sizeof(all));
	endpoint_say(b->entry, b->endpoint, head, sizeof(head));
	n = strlen(head);
	(void)text_fmt(out, size, "%s",
	    strlen(all) > n ? all + n + 1 : "all of it");
}

/* What a rule is about: "/admin/[**]", "DELETE /x", a tool, a method. */
static void
pattern_say(const struct policy_box *b, char *out, size_t size)
{
	const struct policy_rule *rule = b->rule;
	char text[160] = "";
	bool rpc = b->endpoint->kind == POLICY_JSON_RPC ||
	    b->endpoint->kind == POLICY_MCP;
	struct span s = rule ? rule->path.text : b->endpoint->path.text;

	if (rpc && rule)
		s = rule->tools == POLICY_TOOLS_GLOB ? rule->tool.glob[0].text
						     : rule->rpc.text;
	text_escape(s, text, sizeof(text));
	(void)text_fmt(out, size, "%.*s%s%s", rule ? (int)rule->method.len : 0,
	    rule ? (const char *)rule->method.ptr : "",
	    rule && rule->method.len ? " " : "", text);
}

struct nearest {
	const struct policy_entry *entry;
	const struct policy_endpoint *endpoint;
	enum policy_reason reason;
};

static struct nearest
nearest_find(struct prover *p, const struct prover_witness *w)
{
	struct nearest best = { NULL, NULL, POLICY_NO_ENDPOINT };
	struct replay *r = replay_of(p, p->q.parent);
	const struct policy *parent = p->q.parent;

	for (size_t i = 0; i < parent->entries_n; i++)
		for (size_t k = 0; k < parent->entries[i].endpoints_n; k++) {
			const struct policy_entry *entry = &parent->entries[i];
			const struct policy_endpoint *e = &entry->endpoints[k];
			enum policy_reason reason =
			    replay_endpoint(r, entry, e, w);

			if (reason > best.reason)
				best = (struct nearest){ entry, e, reason };
		}
	return best;
}

/* What the nearest endpoint would take. */
static void
hint_nearest(struct prover_result *r, const struct nearest *at)
{
	static const char *const hints[] = {
		[POLICY_NO_ENDPOINT] =
		    "remove it, or narrow it to hosts and ports of the parent",
		[POLICY_NO_PROGRAM] =
		    "narrow binaries to those of the parent, as ",
		[POLICY_NO_ADDRESS] = "narrow allowed_ips to the parent's, or "
				      "write [public]",
		[POLICY_NO_KIND] = "write the parent's protocol, ",
		[POLICY_NO_RULE] = "narrow it to what the parent allows, as ",
		[POLICY_NO_CAPABILITY] = "leave out the credential or body "
					 "option that the parent does not have",
	};
	const struct policy_endpoint *e = at->endpoint;
	char text[200] = "";

	if (at->entry && at->reason == POLICY_NO_PROGRAM)
		text_escape(at->entry->programs[0].glob.text, text,
		    sizeof(text));
	if (e && at->reason == POLICY_NO_KIND)
		(void)text_fmt(text, sizeof(text), "%s",
		    policy_kind_name(e->kind));
	if (e && at->reason == POLICY_NO_RULE)
		pattern_say(
		    &(struct policy_box){ at->entry, e,
			e->audit || !e->allows.n ? NULL : e->allows.rule,
			false },
		    text, sizeof(text));
	(void)text_fmt(r->hint, sizeof(r->hint), "%s%s", hints[at->reason],
	    text);
}

static void
say_nearest(struct prover *p)
{
	struct prover_result *r = &p->result;
	struct nearest at = nearest_find(p, &r->witness);
	char text[PROVER_CAUSE / 2] = "";

	if (at.entry)
		endpoint_say(at.entry, at.endpoint, text, sizeof(text));
	(void)text_fmt(r->parent, sizeof(r->parent), "%s%s%s", text,
	    at.entry ? ": " : "", policy_reason_text(at.reason));
	hint_nearest(r, &at);
}

static void
say_denied(struct prover *p, const struct policy_box *deny)
{
	struct prover_result *r = &p->result;
	char text[PROVER_CAUSE / 2];
	char rule[48];
	char pattern[200];

	endpoint_say(deny->entry, deny->endpoint, text, sizeof(text));
	rule_say(deny, rule, sizeof(rule));
	pattern_say(deny, pattern, sizeof(pattern));
	(void)text_fmt(r->parent, sizeof(r->parent), "%s denies it (%s: %s)",
	    text, rule, pattern);
	(void)text_fmt(r->hint, sizeof(r->hint),
	    "add deny %s to the child, or narrow what it allows", pattern);
}

void
tell_network(struct prover *p)
{
	struct prover_result *out = &p->result;
	const struct policy_box *child = p->excess.child;
	char text[PROVER_CAUSE / 2];
	char rule[48];

	(void)tell(p, PROVER_EXCEEDS, POLICY_NETWORK);
	excess_witness(&p->excess, &out->witness);
	if (!replay_check(p, is_excess(p, &out->witness)))
		return;
	endpoint_say(child->entry, child->endpoint, text, sizeof(text));
	rule_say(child, rule, sizeof(rule));
	(void)text_fmt(out->child, sizeof(out->child), "%s allows it (%s)",
	    text, rule);
	if (p->excess.deny)
		say_denied(p, p->excess.deny);
	else
		say_nearest(p);
}
