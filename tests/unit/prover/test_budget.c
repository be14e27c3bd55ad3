/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hard and large questions: they end within the steps and the memory they are
 * given, the same way each time, and a smaller budget never changes a verdict
 * but into OUT_OF_BUDGET.
 */
#include "../../lib/short.h"
#include "../../lib/unit.h"
#include "base/base.h"
#include "policy/policy.h"
#include "prover/prover.h"

enum {
	TEXT = 1 << 20,
	SLACK = 1500000, /* steps between two looks at the budget */
};

static struct arena policies;
static struct arena proofs;
static struct yaml_errors errors;
static uint64_t seed = 20260829;
static const struct prover_image *image; /* mostly none */

struct pair {
	struct buf line[2]; /* child, parent */
	struct policy policy[2];
};

static uint32_t
chance(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

static void
pair_init(struct pair *p)
{
	buf_init(&p->line[0], TEXT);
	buf_init(&p->line[1], TEXT);
}

#define ADD(b, ...) assert_int_equal(buf_fmt((b), __VA_ARGS__), 0)

static void
pair_read(struct pair *p)
{
	for (size_t i = 0; i < 2; i++) {
		struct fault f = { 0 };
		struct buf yaml;

		buf_init(&yaml, TEXT);
		if (short_policy(buf_span(&p->line[i]), SPAN_LIT(""), &yaml,
			&f) != 0 ||
		    policy_parse(buf_span(&yaml), &policies, &p->policy[i],
			&errors, &f) != 0)
			fail_msg("%s", f.text);
		buf_release(&yaml);
		buf_release(&p->line[i]);
	}
}

static struct prover_result
prove(const struct pair *p, uint64_t steps, uint64_t tick)
{
	struct prover_question q = { .child = &p->policy[0],
		.parent = &p->policy[1],
		.image = image,
		.steps = steps,
		.paranoid = true };
	struct prover_result r;
	struct prover *prover = prover_new(&q, &proofs);

	assert_non_null(prover);
	for (bool done = false; !done;) {
		uint64_t before = prover_steps(prover);

		done = prover_run(prover, tick, &r);
		assert_true(tick == UINT64_MAX ||
		    prover_steps(prover) - before <= tick + SLACK);
	}
	assert_true(proofs.used <= PROVER_ARENA + 4096);
	assert_true(r.steps <= (steps ? steps : PROVER_STEPS) + SLACK);
	arena_release(&proofs);
	return r;
}

static struct prover_result
judged(struct pair *p)
{
	struct prover_result all;
	struct prover_result again;

	pair_read(p);
	all = prove(p, 0, UINT64_MAX);
	again = prove(p, 0, PROVER_TICK);
	assert_int_equal(again.verdict, all.verdict);
	for (uint64_t steps = 1; steps < PROVER_STEPS / 8; steps *= 7) {
		struct prover_result less = prove(p, steps, UINT64_MAX);

		if (less.verdict != PROVER_OUT_OF_BUDGET)
			assert_int_equal(less.verdict, all.verdict);
	}
	arena_release(&policies);
	return all;
}

static enum prover_verdict
judge(struct pair *p)
{
	return judged(p).verdict;
}

static int
setup(void **state)
{
	(void)state;
	arena_init(&policies, 256 << 20);
	arena_init(&proofs, PROVER_ARENA + (64 << 10));
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	arena_release(&policies);
	arena_release(&proofs);
	return 0;
}

/* --- cases */

/* Keys are variables, the child's denies clauses: an excess is a solution. */
static enum prover_verdict
satisfy(unsigned variables, unsigned clauses)
{
	struct pair p;

	pair_init(&p);
	ADD(&p.line[0], "/a>h.b.test:1 R [GET /s {");
	for (unsigned i = 0; i < variables; i++)
		ADD(&p.line[0], "%sv%u=T|F", i ? "," : "", i);
	ADD(&p.line[0], "}] ![");
	for (unsigned i = 0; i < clauses; i++) {
		unsigned at = chance(variables);

		ADD(&p.line[0], "%sGET /s {", i ? "; " : "");
		for (unsigned k = 0; k < 3; k++)
			ADD(&p.line[0], "%sv%u=%c", k ? "," : "",
			    (at + k * 7 + chance(3)) % variables,
			    "TF"[chance(2)]);
		ADD(&p.line[0], "}");
	}
	ADD(&p.line[0], "]\n");
	ADD(&p.line[1], "/a>h.b.test:1 R [GET /z]\n");
	return judge(&p);
}

static void
queries_as_hard_as_satisfiability_end(void **state)
{
	(void)state;
	assert_int_equal(satisfy(24, 4), PROVER_EXCEEDS);
	assert_int_not_equal(satisfy(24, 60), PROVER_UNSUPPORTED);
	assert_int_not_equal(satisfy(24, 120), PROVER_UNSUPPORTED);
	assert_int_not_equal(satisfy(30, 140), PROVER_UNSUPPORTED);
}

/* A request that fulfils the rule has more pairs than a witness. */
static void
a_witness_of_many_pairs_is_not_told(void **state)
{
	(void)state;
	assert_int_equal(satisfy(PROVER_PAIRS, 1), PROVER_EXCEEDS);
	assert_int_equal(satisfy(PROVER_PAIRS + 1, 1), PROVER_OUT_OF_BUDGET);
}

static void
stars_without_end(struct buf *b, unsigned n)
{
	ADD(b, "/");
	for (unsigned i = 0; i < n; i++)
		ADD(b, "*%c", "ab"[chance(2)]);
	ADD(b, "*");
}

static void
globs_of_many_stars_end(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p);
	ADD(&p.line[0], "/a>h.b.test:1 R [GET ");
	stars_without_end(&p.line[0], 200);
	ADD(&p.line[0], "]\n");
	ADD(&p.line[1], "/a>h.b.test:1 R [");
	for (unsigned i = 0; i < 40; i++) {
		ADD(&p.line[1], "%sGET ", i ? "; " : "");
		stars_without_end(&p.line[1], 150);
	}
	ADD(&p.line[1], "]\n");
	assert_int_not_equal(judge(&p), PROVER_UNSUPPORTED);
}

static void
globs_as_long_as_they_may_be_end(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p);
	for (size_t i = 0; i < 2; i++) {
		ADD(&p.line[i], "/a>h.b.test:1 R [");
		for (unsigned k = 0; k < 8; k++) {
			ADD(&p.line[i], "%sGET ", k ? "; " : "");
			stars_without_end(&p.line[i], 2000);
		}
		ADD(&p.line[i], "]\n");
	}
	assert_int_not_equal(judge(&p), PROVER_UNSUPPORTED);
}

/* All ways to choose between wildcards in six places. */
static void
overlapping_wildcards_end(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p);
	ADD(&p.line[0], "/a>h.b.test:1 R [* /**]\n");
	ADD(&p.line[1], "/a>h.b.test:1 R [");
	for (unsigned i = 0; i < 64; i++) {
		ADD(&p.line[1], "%s%s /", i ? "; " : "", i % 3 ? "*" : "GET");
		for (unsigned k = 0; k < 6; k++)
			ADD(&p.line[1], "%s/", (i >> k & 1) ? "*a*" : "*b*");
		ADD(&p.line[1], "**");
	}
	ADD(&p.line[1], "]\n");
	assert_int_equal(judge(&p), PROVER_EXCEEDS);
}

static void
many_rules_are_decided(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p);
	for (size_t i = 0; i < 2; i++) {
		ADD(&p.line[i], "/a>h.b.test:1 R [");
		for (unsigned k = 0; k < 4000; k++)
			ADD(&p.line[i], "%sGET /r%u/%s", k ? "; " : "", k,
			    i ? "**" : "*");
		ADD(&p.line[i], "]\n");
	}
	assert_int_equal(judge(&p), PROVER_WITHIN);
}

static void
many_endpoints_are_decided(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p);
	for (size_t i = 0; i < 2; i++)
		for (unsigned k = 0; k < 900; k++)
			ADD(&p.line[i], "/a>%sh%u.b.test:1\n", i ? "**." : "*.",
			    i ? 899 - k : k);
	assert_int_equal(judge(&p), PROVER_WITHIN);
}

static void
many_denies_are_decided(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p);
	for (size_t i = 0; i < 2; i++) {
		ADD(&p.line[i], "/a>h.b.test:1 R [* **] ![");
		for (unsigned k = 0; k < 1500; k++)
			ADD(&p.line[i], "%s* /r%u/**", k ? "; " : "",
			    i ? k : 1499 - k);
		ADD(&p.line[i], "]\n");
	}
	assert_int_equal(judge(&p), PROVER_WITHIN);
}

static void
many_programs_are_decided(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p);
	for (size_t i = 0; i < 2; i++) {
		for (unsigned k = 0; k < 3000; k++)
			ADD(&p.line[i], "%s/usr/bin/p%u%s", k ? "," : "", k,
			    i ? "*" : "");
		ADD(&p.line[i], ">h.b.test:1\n");
	}
	assert_int_not_equal(judge(&p), PROVER_EXCEEDS);
}

/* Paths of so many bytes, each against as many globs with a hole for every
 * other one of them. */
static struct prover_result
long_paths(unsigned rules, unsigned bytes)
{
	struct pair p;

	pair_init(&p);
	ADD(&p.line[0], "/a>h.b.test:1 R [");
	for (unsigned i = 0; i < rules; i++) {
		ADD(&p.line[0], "%sGET /", i ? "; " : "");
		for (unsigned k = 5; k < bytes; k++)
			ADD(&p.line[0], "a");
		ADD(&p.line[0], "%03u", i);
	}
	ADD(&p.line[0], "] ![");
	for (unsigned i = 0; i < rules; i++) {
		ADD(&p.line[0], "* /");
		for (unsigned k = 7; k < bytes; k += 2)
			ADD(&p.line[0], "*a");
		ADD(&p.line[0], "x%03u; ", i);
	}
	ADD(&p.line[0], "* /*a*]\n");
	ADD(&p.line[1], "/a>other.b.test:1 R [GET /z]\n");
	return judged(&p);
}

/* A step is a dozen places of a glob, at the least. */
static void
places_of_globs_are_counted(void **state)
{
	struct prover_result r;

	(void)state;
	r = long_paths(1, 1000);
	assert_int_equal(r.verdict, PROVER_WITHIN);
	assert_true(r.steps > 1000 * 1000 / 4 / 12);
	assert_int_equal(long_paths(120, 1000).verdict, PROVER_OUT_OF_BUDGET);
	assert_int_equal(long_paths(30, 4000).verdict, PROVER_OUT_OF_BUDGET);
}

static void
queries_of_many_keys_end(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p);
	for (size_t i = 0; i < 2; i++) {
		ADD(&p.line[i], "/a>h.b.test:1 R [GET /%s {", i ? "s" : "*");
		for (unsigned k = 0; k < 12000; k++)
			ADD(&p.line[i], "%sk%u=1", k ? "," : "", k);
		ADD(&p.line[i], "}]\n");
	}
	assert_int_equal(judge(&p), PROVER_OUT_OF_BUDGET);
}

/* Each byte of a path is a step where links are followed, once for all acts. */
static void
long_programs_are_resolved_once(void **state)
{
	const struct prover_link links[] = { { SPAN_LIT("/b"),
	    SPAN_LIT("/a") } };
	const struct prover_image linked = { .links = links, .links_n = 1 };
	const uint64_t bytes = 2ull * 25 * 4000;
	struct prover_result r;
	struct pair p;

	(void)state;
	pair_init(&p);
	for (size_t i = 0; i < 2; i++) {
		for (unsigned k = 0; k < 25; k++) {
			ADD(&p.line[i], "%s", k ? "," : "");
			for (unsigned n = 0; n < 2000; n++)
				ADD(&p.line[i], "/a");
			ADD(&p.line[i], "%u", k);
		}
		ADD(&p.line[i], ">h.b.test:1 R [GET /a]\n");
		ADD(&p.line[i], "/a>w.b.test:1 W [GET /a]\n");
		ADD(&p.line[i], "/a>m.b.test:1 M [tools/list]\n");
	}
	image = &linked;
	r = judged(&p);
	image = NULL;
	assert_int_equal(r.verdict, PROVER_WITHIN);
	assert_true(r.steps > bytes && r.steps < 2 * bytes);
}

/* None of the child's many denies holds one of the parent's many. */
static void
denies_that_hold_nothing_end(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p);
	for (size_t i = 0; i < 2; i++) {
		ADD(&p.line[i], "/a>h.b.test:1 R [* **] ![");
		for (unsigned k = 0; k < 3000; k++)
			ADD(&p.line[i], "%s* **/r%u/%s", k ? "; " : "", k,
			    i ? "**" : "b");
		ADD(&p.line[i], "]\n");
	}
	assert_int_not_equal(judge(&p), PROVER_UNSUPPORTED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queries_as_hard_as_satisfiability_end),
		cmocka_unit_test(a_witness_of_many_pairs_is_not_told),
		cmocka_unit_test(globs_of_many_stars_end),
		cmocka_unit_test(globs_as_long_as_they_may_be_end),
		cmocka_unit_test(overlapping_wildcards_end),
		cmocka_unit_test(many_rules_are_decided),
		cmocka_unit_test(many_endpoints_are_decided),
		cmocka_unit_test(many_denies_are_decided),
		cmocka_unit_test(many_programs_are_decided),
		cmocka_unit_test(places_of_globs_are_counted),
		cmocka_unit_test(queries_of_many_keys_end),
		cmocka_unit_test(long_programs_are_resolved_once),
		cmocka_unit_test(denies_that_hold_nothing_end),
	};

	return cmocka_run_group_tests_name("budget", tests, setup, teardown);
}
