/* SPDX-License-Identifier: Apache-2.0 */
/* Judging for a call; judge.h has the contracts. */
#include <string.h>

#include "gateway/judge.h"
#include "gateway/refusal.h"
#include "gateway/refuse.h"
#include "gateway/tree.h"

enum {
	TRIES = 3,
	RETRY_MS = 1000,
};

static int start(struct call *c, struct judgement *j, struct fault *f);

struct judgement *
judge_of(struct call *c)
{
	return c->waits_for;
}

/* --- in words */

static char *
plain(struct span s, struct arena *a)
{
	size_t size = 4 * s.len + 1; /* all of it escaped */
	char *to;

	if (s.len == 0 || s.len > JUDGE_TEXT)
		return NULL;
	to = arena_get(a, size);
	if (to != NULL)
		text_escape(s, to, size);
	return to;
}

static void
put_query(nacre_v1_Counterexample *x, const struct prover_witness *w,
    struct arena *a)
{
	if (w->query_n == 0)
		return;
	x->query = arena_get(a, w->query_n * sizeof(*x->query));
	for (size_t i = 0; x->query != NULL && i < w->query_n; i++) {
		x->query[i].key = plain(w->query[i].key, a);
		x->query[i].value = plain(w->query[i].value, a);
		x->query_count++;
	}
}

static void
put_request(nacre_v1_Counterexample *x, const struct prover_witness *w,
    struct arena *a)
{
	char address[POLICY_ADDRESS];

	policy_address_format(w->address, address);
	x->program = plain(w->program, a);
	x->host = plain(w->host, a);
	x->port = w->port;
	x->address = arena_str(a, span_str(address));
	x->act = arena_str(a, span_str(prover_act_name(w->act)));
	x->method = plain(w->method, a);
	x->path = plain(w->path, a);
	x->tool = plain(w->tool, a);
	put_query(x, w, a);
}

nacre_v1_Counterexample
judge_counterexample(const struct prover_result *r, struct arena *a)
{
	nacre_v1_Counterexample x = nacre_v1_Counterexample_init_zero;
	char line[2 * PROVER_CAUSE];

	prover_witness_format(r, line, sizeof(line));
	x.section = arena_str(a, span_str(prover_section_name(r->section)));
	x.witness = arena_str(a, span_str(line));
	x.child = arena_str(a, span_str(r->child));
	x.parent = arena_str(a, span_str(r->parent));
	if (r->section == POLICY_NETWORK)
		put_request(&x, &r->witness, a);
	if (r->section == POLICY_FILESYSTEM) {
		x.file = plain(r->witness.file, a);
		x.access = arena_str(a,
		    r->witness.write ? SPAN_LIT("write") : SPAN_LIT("read"));
	}
	return x;
}

/* The prover speaks of a parent; whose maximum it was is told that. */
const char *
judge_hint(const struct proof *p, struct arena *a)
{
	const char *text = p->result.hint;
	const char *at = strstr(text, "the parent");

	if (p->link == PROOF_PARENT || at == NULL)
		return text;
	return arena_fmt(a, "%.*sthe maximum%s", (int)(at - text), text,
	    at + strlen("the parent"));
}

void
judge_format(const struct proof *p, char *out, size_t size)
{
	const struct prover_result *r = &p->result;
	const char *link = proof_link_name(p->link);
	const char *section = prover_section_name(r->section);
	char line[2 * PROVER_CAUSE];

	if (r->verdict == PROVER_WITHIN) {
		(void)text_fmt(out, size, "within");
	} else if (r->verdict == PROVER_EXCEEDS) {
		prover_witness_format(r, line, sizeof(line));
		(void)text_fmt(out, size,
		    "exceeds the %s: %s: %s; child: %s; %s: %s", link, section,
		    line, r->child, link, r->parent);
	} else {
		(void)text_fmt(out, size, "%s in the %s: %s%s%s",
		    prover_verdict_name(r->verdict), link, section,
		    r->place[0] != '\0' ? ": " : "", r->place);
	}
}

/* --- for the record */

static void
note_hash(struct call *c, const char *what, const struct policy *p)
{
	char hex[2 * POLICY_HASH + 1];

	hex_format(p->hash, POLICY_HASH, hex);
	call_note(c, "%s%s sha256:%s", c->detail.len > 0 ? ", " : "", what,
	    hex);
}

static void
note(struct call *c, const struct judgement *j)
{
	char text[JUDGE_TEXT];

	note_hash(c, "policy", j->child);
	if (j->parent != NULL)
		note_hash(c, "parent", j->parent);
	if (j->maximum.is_set) {
		note_hash(c, "maximum", &j->maximum.policy);
		call_note(c, " generation %llu",
		    (unsigned long long)j->maximum.generation);
	}
	if (j->parent == NULL && !j->maximum.is_set)
		return;
	judge_format(&j->proof, text, sizeof(text));
	call_note(c, ", verdict %s", text);
}

/* --- the verdict */

static int
refuse_excess(struct call *c, struct judgement *j, struct fault *f)
{
	const struct prover_result *r = &j->proof.result;
	bool is_parent = j->proof.link == PROOF_PARENT;
	nacre_v1_Refusal *more = refusal_of(c);

	if (more != NULL) {
		more->has_counterexample = true;
		more->counterexample = judge_counterexample(r, &c->arena);
	}
	c->hint = judge_hint(&j->proof, &c->arena);
	return fault_set(f,
	    is_parent ? FAULT_EXCEEDS_PARENT : FAULT_EXCEEDS_MAXIMUM,
	    "exceeds the %s: %s", proof_link_name(j->proof.link),
	    prover_section_name(r->section));
}

static const char *
advice(const struct prover_result *r)
{
	if (r->verdict == PROVER_OUT_OF_BUDGET)
		return "say it with fewer or plainer rules";
	return "write it so that it can be compared with what is above it";
}

static int
refuse_unproved(struct call *c, struct judgement *j, struct fault *f)
{
	const struct prover_result *r = &j->proof.result;
	const char *what = r->verdict == PROVER_UNSUPPORTED
	    ? prover_code_name(r->code)
	    : prover_verdict_name(r->verdict);
	nacre_v1_Refusal *more = refusal_of(c);

	if (more != NULL) {
		more->what = arena_str(&c->arena, span_str(what));
		more->place = arena_str(&c->arena, span_str(r->place));
	}
	c->hint = advice(r);
	return fault_set(f, FAULT_POLICY_UNSUPPORTED,
	    "not proved to be within the %s: %s: %s%s%s",
	    proof_link_name(j->proof.link), prover_section_name(r->section),
	    what, r->place[0] != '\0' ? " " : "", r->place);
}

static int
verdict(struct call *c, struct judgement *j, struct fault *f)
{
	note(c, j);
	if (j->reports || j->proof.result.verdict == PROVER_WITHIN)
		return j->then(c, f);
	if (j->proof.result.verdict == PROVER_EXCEEDS)
		return refuse_excess(c, j, f);
	return refuse_unproved(c, j, f);
}

/* --- the wait */

static void
on_done(struct proof *p)
{
	call_resume(p->owner);
}

/* Its tree's time for proofs; the root may be gone by now. */
static void
spend(struct call *c, const struct judgement *j)
{
	struct grant_worth *worth = tree_worth(c->g, j->tree);

	if (worth != NULL)
		grant_worth_spend(worth, j->proof.steps, clock_mono_ms());
}

/* What was proved until then was proved. */
static void
on_left(struct call *c)
{
	spend(c, judge_of(c));
	proof_drop(&judge_of(c)->proof);
}

/* Judged; but was it against the maximum of now? */
static int
judged(struct call *c, struct fault *f)
{
	struct judgement *j = judge_of(c);
	uint64_t now = 0;

	spend(c, j);
	if (maximum_generation(c->g, &now, f) < 0)
		return -1;
	if (now == j->maximum.generation)
		return verdict(c, j, f);
	if (j->tries < TRIES)
		return start(c, j, f);
	if (refusal_of(c) != NULL)
		refusal_of(c)->retry_after_ms = RETRY_MS;
	return fault_set(f, FAULT_BUSY,
	    "the maximum changes faster than it can be judged");
}

/* Empty: none. */
static void
name_tree(struct call *c, char tree[LIMIT_ID + 1])
{
	struct store_lineage l;
	struct fault ignored = { 0 };

	if ((c->caller.who & CALL_SANDBOX) &&
	    store_lineage_by_id(c->g->store, c->caller.sandbox_id, &c->arena,
		&l, &ignored) == 0)
		(void)text_copy(tree, LIMIT_ID + 1, span_str(l.root));
}

/* An agent's tree, as one; a user by itself. */
static void
name_asker(struct call *c, char asker[PROOF_ASKER])
{
	char tree[LIMIT_ID + 1] = "";

	name_tree(c, tree);
	(void)text_copy(asker, PROOF_ASKER,
	    span_str(*tree == '\0' ? c->caller.text : tree));
}

static int
wait_for(struct call *c, struct judgement *j,
    int (*then)(struct call *c, struct fault *f), struct fault *f)
{
	name_asker(c, j->proof.asker);
	j->proof.done = on_done;
	j->proof.owner = c;
	if (proof_begin(c->g, &j->proof, f) < 0) {
		if (refusal_of(c) != NULL)
			refusal_of(c)->retry_after_ms = RETRY_MS;
		return -1;
	}
	call_wait(c, then, on_left, j);
	return 0;
}

int
judge_turn(struct call *c, struct judgement *j,
    int (*prepare)(struct call *c, struct fault *f), struct fault *f)
{
	return wait_for(c, j, prepare, f);
}

static int
start(struct call *c, struct judgement *j, struct fault *f)
{
	struct proof *p = &j->proof;

	j->tries++;
	if (maximum_read(c->g, &c->arena, &j->maximum, f) < 0)
		return -1;
	memset(p, 0, sizeof(*p));
	p->has_turn = true;
	p->child = j->child;
	p->above[PROOF_PARENT] = j->parent;
	p->above[PROOF_MAXIMUM] = j->maximum.is_set ? &j->maximum.policy : NULL;
	p->image = j->scene == NULL ? NULL : &j->scene->image;
	p->arena = &c->arena;
	p->result.verdict = PROVER_WITHIN;
	c->waits_for = j;
	if (j->parent == NULL && !j->maximum.is_set)
		return verdict(c, j, f);
	return wait_for(c, j, judged, f);
}

int
judge(struct call *c, struct judgement *j, struct fault *f)
{
	struct grant_worth *worth;
	struct grant_refusal r;

	j->tries = 0;
	if (*j->tree == '\0')
		name_tree(c, j->tree);
	worth = tree_worth(c->g, j->tree);
	if (worth != NULL && grant_may_prove(worth, clock_mono_ms(), &r) < 0)
		return refuse(c, &r, f);
	return start(c, j, f);
}
