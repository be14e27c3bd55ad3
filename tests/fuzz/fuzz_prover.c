/* rooms: prover */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of policies are proved: the second evaluator never disagrees, a policy
 * is within itself, a proof in small ticks ends as one at once, and a witness
 * is one to the policies' own evaluator too. Input: 'Y' and two texts in YAML
 * with a NUL between, or bytes that choose pieces of two policies.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../lib/short.h"
#include "base/base.h"
#include "policy/policy.h"
#include "prover/prover.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

enum {
	STEPS = 200000,
	TEXT = 1 << 16,
};

static struct yaml_errors errors;

/* --- pieces */

struct bytes {
	const uint8_t *p;
	size_t n;
};

static unsigned
next(struct bytes *b, unsigned most)
{
	if (b->n == 0)
		return 0;
	b->n--;
	return *b->p++ % most;
}

static void
put(struct buf *to, const char *s)
{
	BUG_IF(buf_fmt(to, "%s", s) != 0);
}

/* A glob of up to 7 pieces, mostly valid. */
static void
put_glob(struct buf *to, struct bytes *b, const char *first,
    const char *const *piece, unsigned n)
{
	put(to, first);
	for (unsigned left = next(b, 8); left > 0; left--)
		put(to, piece[next(b, n)]);
}

static const char *const in_paths[] = { "a", "b", "*", "/", "/**", "/*", "ab",
	"%2F", "%20", ".", "/a" };
static const char *const in_words[] = { "a", "b", "*", "ab", "x" };
static const char *const hosts[] = { "a.b.test", "*.b.test", "**.b.test",
	"a*.b.test", "*a.b.test", "*.*.b.test", "a.*.b.test", "-", "10.0.0.1",
	"b.test", "[fd00::1]", "**.a.b.test", "*metadata.google.internal" };
static const char *const sets[] = { "", "", " ips=public", " ips=any",
	" ips=10.0.0.0/8", " ips=1.0.0.0/8,10.0.0.1", " ips=fd10::/16" };
static const char *const kinds[] = { "", " R", " R", " R", " W", " J", " M",
	" Ra", " Ma", " M loose", " M all", " Wa" };
static const char *const extras[] = { "", "", "", " enc", " ws", " body", " un",
	" bind=A", " bind=B", " sign=s", " max=9" };
static const char *const methods[] = { "GET", "HEAD", "POST", "*", "PUT" };
static const char *const frames[] = { "GET", "WEBSOCKET_TEXT", "*" };
static const char *const calls[] = { "tools/call", "tools/*", "ping", "*",
	"tools/call tool=", "tools/list" };

static void
put_rule(struct buf *to, struct bytes *b, char kind)
{
	const char *call;

	switch (kind) {
	case 'J':
		put_glob(to, b, "a", in_words, NELEM(in_words));
		return;
	case 'M':
		call = calls[next(b, NELEM(calls))];
		put(to, call);
		if (strchr(call, '='))
			put_glob(to, b, "a", in_words, NELEM(in_words));
		return;
	default:
		break;
	}
	put(to,
	    kind == 'W' ? frames[next(b, NELEM(frames))]
			: methods[next(b, NELEM(methods))]);
	put_glob(to, b, " /", in_paths, NELEM(in_paths));
	if (next(b, 4) != 1)
		return;
	put_glob(to, b, " {k=a", in_words, NELEM(in_words));
	if (next(b, 2))
		put_glob(to, b, ",m=b", in_words, NELEM(in_words));
	put(to, "}");
}

static void
put_rules(struct buf *to, struct bytes *b, char kind, const char *open)
{
	put(to, open);
	for (unsigned left = next(b, 3); left > 0; left--) {
		put_rule(to, b, kind);
		put(to, "; ");
	}
	put_rule(to, b, kind);
	put(to, "]");
}

static void
put_line(struct buf *to, struct bytes *b)
{
	const char *kind;

	put_glob(to, b, "/a", in_paths, 7);
	put(to, ">");
	put(to, hosts[next(b, NELEM(hosts))]);
	put(to, next(b, 2) ? ":1,2" : ":1");
	put(to, sets[next(b, NELEM(sets))]);
	kind = kinds[next(b, NELEM(kinds))];
	put(to, kind);
	put(to, extras[next(b, NELEM(extras))]);
	if (*kind == '\0') {
		put(to, "\n");
		return;
	}
	if (next(b, 4) == 1)
		put_glob(to, b, " path=/", in_paths, NELEM(in_paths));
	put_rules(to, b, kind[1], " [");
	if (next(b, 2))
		put_rules(to, b, kind[1], " ![");
	put(to, "\n");
}

static bool
make_policy(struct bytes *b, struct arena *a, struct policy *p)
{
	struct fault f = { 0 };
	struct buf lines;
	struct buf yaml;
	bool ok;

	buf_init(&lines, TEXT);
	buf_init(&yaml, TEXT);
	for (unsigned left = 1 + next(b, 4); left > 0; left--)
		put_line(&lines, b);
	ok = short_policy(buf_span(&lines), SPAN_LIT(""), &yaml, &f) == 0 &&
	    policy_parse(buf_span(&yaml), a, p, &errors, &f) == 0;
	buf_release(&lines);
	buf_release(&yaml);
	return ok;
}

static bool
read_pair(struct bytes *b, struct arena *a, struct policy *pair)
{
	struct span text = span_of(b->p + 1, b->n - 1);
	size_t at = span_find(text, 0);
	struct fault f = { 0 };

	return policy_parse(span_of(text.ptr, at), a, &pair[0], &errors, &f) ==
	    0 &&
	    policy_parse(span_from(text, at + 1), a, &pair[1], &errors, &f) ==
	    0;
}

/* --- proofs */

static struct prover_result
prove(const struct policy *child, const struct policy *parent, uint64_t tick,
    struct arena *a)
{
	struct prover_question q = { .child = child,
		.parent = parent,
		.steps = STEPS,
		.paranoid = true };
	struct prover_result r;
	struct prover *p = prover_new(&q, a);

	BUG_IF(!p);
	while (!prover_run(p, tick, &r))
		continue;
	BUG_IF(a->used > PROVER_ARENA + 4096);
	return r;
}

static void
witness_check(const struct policy *child, const struct policy *parent,
    const struct prover_result *r)
{
	const struct prover_witness *w = &r->witness;
	char text[4096];
	struct policy_request ask = { .programs = &w->program,
		.programs_n = 1,
		.host = w->host,
		.port = w->port,
		.address = w->address,
		.act = w->act,
		.method = w->method,
		.path = w->path,
		.query = w->query,
		.query_n = w->query_n,
		.tool = w->tool,
		.use = w->use,
		.use_of = w->use_of };

	prover_result_format(r, text, sizeof(text));
	BUG_IF(text[0] == '\0' || r->hint[0] == '\0');
	if (r->section != POLICY_NETWORK)
		return;
	BUG_IF(!policy_decide(child, &ask).allowed);
	BUG_IF(policy_decide(parent, &ask).allowed);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct bytes b = { p, n };
	struct policy pair[2];
	struct arena policies;
	struct arena proofs;
	bool ok;

	if (n == 0)
		return 0;
	arena_init(&policies, 64 << 20);
	arena_init(&proofs, PROVER_ARENA + (64 << 10));
	if (*p == 'Y')
		ok = read_pair(&b, &policies, pair);
	else
		ok = make_policy(&b, &policies, &pair[0]) &&
		    make_policy(&b, &policies, &pair[1]);
	if (ok) {
		struct prover_result at_once =
		    prove(&pair[0], &pair[1], UINT64_MAX, &proofs);
		struct prover_result ticks;

		if (at_once.verdict == PROVER_EXCEEDS)
			witness_check(&pair[0], &pair[1], &at_once);
		arena_release(&proofs);
		ticks = prove(&pair[0], &pair[1], 97, &proofs);
		BUG_IF(ticks.verdict != at_once.verdict ||
		    strcmp(ticks.child, at_once.child) != 0 ||
		    strcmp(ticks.parent, at_once.parent) != 0);
		arena_release(&proofs);
		ticks = prove(&pair[0], &pair[0], UINT64_MAX, &proofs);
		BUG_IF(ticks.verdict == PROVER_EXCEEDS ||
		    ticks.verdict == PROVER_UNSUPPORTED);
	}
	arena_release(&proofs);
	arena_release(&policies);
	return 0;
}
