/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proofs on a loop: one slice a tick, in turn, the chain link by link; and
 * what is said of a result.
 */
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "gateway/judge.h"
#include "gateway/refusal.h"
#include "gateway/tree.h"
#include "policy/policy.h"
#include "wire/wire.h"

#define ALL "version: 1\nfilesystem_policy: {}\nlandlock: {}\nprocess: {}\n"
#define API(rules)                                                   \
 ALL "network_policies: {a: {endpoints: [{host: h.test, port: 443, " \
     "protocol: rest, rules: [" rules "]}], binaries: [{path: /a}]}}\n"
#define GET(path) "{allow: {method: GET, path: \"" path "\"}}"

static struct gateway gateway;
static struct arena arena;
static char order[256];

struct one {
	struct proof proof;
	const char *name;
	unsigned tick; /* when it was done */
};
static unsigned ticks;

static struct policy *
read_policy(const char *text)
{
	struct policy *p = arena_get(&arena, sizeof(*p));
	struct yaml_errors errors;
	struct fault f = { 0 };

	if (policy_read_yaml(span_str(text), 0, &arena, p, &errors, &f) != 0)
		fail_msg("%s", f.text);
	return p;
}

/* Keys are variables, denies are clauses: many slices. */
static struct policy *
hard_policy(void)
{
	unsigned seed = 7;
	struct buf b;
	struct policy *p;

	buf_init(&b, 256 << 10);
	assert_int_equal(buf_fmt(&b, "%s",
			     ALL
			     "network_policies:\n  a:\n    binaries: [{path: "
			     "/a}]\n    endpoints:\n    - host: h.test\n      "
			     "port: 443\n      protocol: rest\n      rules:\n"
			     "      - allow: {method: GET, path: /s, query: {"),
	    0);
	for (unsigned i = 0; i < 30; i++)
		assert_int_equal(buf_fmt(&b, "%sv%u: {any: [\"T\", \"F\"]}",
				     i ? ", " : "", i),
		    0);
	assert_int_equal(buf_fmt(&b, "}}\n      deny_rules:\n"), 0);
	for (unsigned i = 0; i < 140; i++) {
		unsigned at = i * 11 % 30;

		assert_int_equal(
		    buf_fmt(&b, "      - {method: GET, path: /s, query: {"), 0);
		for (unsigned k = 0; k < 3; k++) {
			seed = seed * 1103515245 + 12345;
			assert_int_equal(
			    buf_fmt(&b, "%sv%u: \"%c\"", k ? ", " : "",
				(at + k * 7 + (seed >> 16) % 3) % 30,
				"TF"[seed >> 20 & 1]),
			    0);
		}
		assert_int_equal(buf_fmt(&b, "}}\n"), 0);
	}
	assert_int_equal(buf_fmt(&b, "%c", 0), 0);
	p = read_policy((const char *)buf_ptr(&b));
	buf_release(&b);
	return p;
}

static void
on_done(struct proof *p)
{
	struct one *o = p->owner;
	size_t n = strlen(order);

	assert_false(p->queued);
	o->tick = ticks;
	(void)text_fmt(order + n, sizeof(order) - n, "%s ", o->name);
}

static const char *asker = "";

static void
begin(struct one *o, const char *name, const struct policy *child,
    const struct policy *parent, const struct policy *maximum)
{
	struct fault f = { 0 };

	memset(o, 0, sizeof(*o));
	o->name = name;
	o->proof.child = child;
	o->proof.above[PROOF_PARENT] = parent;
	o->proof.above[PROOF_MAXIMUM] = maximum;
	o->proof.arena = &arena;
	o->proof.done = on_done;
	o->proof.owner = o;
	(void)text_copy(o->proof.asker, PROOF_ASKER, span_str(asker));
	assert_int_equal(proof_begin(&gateway, &o->proof, &f), 0);
}

static unsigned
run(void)
{
	struct fault f = { 0 };

	for (ticks = 1; gateway.proofs != NULL && ticks < 100000; ticks++)
		assert_int_equal(loop_tick(gateway.loop, 0, &f), 0);
	assert_int_equal(gateway.proofs_n, 0);
	return ticks;
}

static int
setup(void **state)
{
	struct fault f = { 0 };

	(void)state;
	order[0] = '\0';
	asker = "";
	arena_init(&arena, 512 << 20);
	gateway.loop = loop_new(&f);
	return gateway.loop == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	(void)state;
	loop_free(gateway.loop);
	arena_release(&arena);
	memset(&gateway, 0, sizeof(gateway));
	return 0;
}

static void
the_first_link_that_fails_is_named(void **state)
{
	const struct policy *wide = read_policy(API(GET("/**")));
	const struct policy *mid = read_policy(API(GET("/v1/**")));
	const struct policy *thin = read_policy(API(GET("/v1/x")));
	const struct {
		const struct policy *child;
		const struct policy *parent;
		const struct policy *maximum;
		enum prover_verdict verdict;
		enum proof_link link;
	} rows[] = {
		{ thin, mid, wide, PROVER_WITHIN, PROOF_LINKS },
		{ thin, NULL, mid, PROVER_WITHIN, PROOF_LINKS },
		{ wide, mid, thin, PROVER_EXCEEDS, PROOF_PARENT },
		{ mid, wide, thin, PROVER_EXCEEDS, PROOF_MAXIMUM },
		{ mid, NULL, thin, PROVER_EXCEEDS, PROOF_MAXIMUM },
		{ mid, NULL, NULL, PROVER_WITHIN, PROOF_LINKS },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		struct one o;

		begin(&o, "a", rows[i].child, rows[i].parent, rows[i].maximum);
		assert_string_equal(order, "");
		(void)run();
		assert_string_equal(order, "a ");
		order[0] = '\0';
		assert_int_equal(o.proof.result.verdict, rows[i].verdict);
		assert_int_equal(o.proof.link, rows[i].link);
	}
}

static void
short_ones_do_not_wait_for_long_ones(void **state)
{
	const struct policy *easy = read_policy(API(GET("/v1/x")));
	const struct policy *hard = hard_policy();
	struct one a;
	struct one b;
	struct one c;

	(void)state;
	begin(&a, "long", hard, NULL, easy);
	begin(&b, "short", easy, easy, easy);
	begin(&c, "turn", easy, NULL, NULL);
	assert_true(run() > 6);
	assert_string_equal(order, "turn short long ");
	/* The same, alone: what else there was has changed nothing. */
	begin(&b, "alone", hard, NULL, easy);
	(void)run();
	assert_int_equal(b.proof.result.verdict, a.proof.result.verdict);
	assert_true(b.proof.steps == a.proof.steps && b.proof.steps > 0);
}

/* As a call: a turn first, then what it reads is held to its verdict. */
struct reader {
	struct proof proof;
	const struct policy *child;
	const struct policy *maximum;
};
static unsigned holding;
static unsigned holding_most;

static void
on_verdict(struct proof *p)
{
	(void)p;
	holding--;
}

static void
on_reader_turn(struct proof *p)
{
	struct reader *r = p->owner;
	struct fault f = { 0 };

	if (++holding > holding_most)
		holding_most = holding;
	memset(p, 0, sizeof(*p));
	p->child = r->child;
	p->above[PROOF_MAXIMUM] = r->maximum;
	p->arena = &arena;
	p->done = on_verdict;
	p->owner = r;
	p->has_turn = true;
	assert_int_equal(proof_begin(&gateway, p, &f), 0);
}

static void
no_more_than_have_a_turn_hold_memory(void **state)
{
	const struct policy *easy = read_policy(API(GET("/v1/x")));
	const struct policy *hard = hard_policy();
	static struct reader all[PROOF_ASKER_MOST];
	struct fault f = { 0 };

	(void)state;
	holding_most = 0;
	for (size_t i = 0; i < NELEM(all); i++) {
		memset(&all[i], 0, sizeof(all[i]));
		all[i].child = i < 2 ? hard : easy;
		all[i].maximum = easy;
		all[i].proof.done = on_reader_turn;
		all[i].proof.owner = &all[i];
		assert_int_equal(proof_begin(&gateway, &all[i].proof, &f), 0);
	}
	(void)run();
	assert_int_equal(holding, 0);
	assert_true(holding_most > 1);
	assert_true(holding_most <= PROOF_TURNS);
}

static void
a_dropped_one_is_never_told(void **state)
{
	const struct policy *easy = read_policy(API(GET("/v1/x")));
	const struct policy *hard = hard_policy();
	struct fault f = { 0 };
	struct one a;
	struct one b;

	(void)state;
	begin(&a, "gone", hard, NULL, easy);
	begin(&b, "stays", hard, NULL, easy);
	for (int i = 0; i < 3; i++)
		assert_int_equal(loop_tick(gateway.loop, 0, &f), 0);
	proof_drop(&a.proof);
	(void)run();
	assert_string_equal(order, "stays ");
	proof_drop(&a.proof);
	proof_drop(&b.proof);
}

static int
on_within(struct call *c, struct fault *f)
{
	(void)c;
	(void)f;
	return 0;
}

/* As a call that is judged, and whose client leaves in the middle of it. */
static void
what_was_proved_is_charged_when_the_client_leaves(void **state)
{
	struct judgement j = { .child = hard_policy(), .then = on_within };
	struct call c = { .g = &gateway };
	char folder[] = "/tmp/nacre-proof.XXXXXX";
	struct grant_worth before;
	struct fault f = { 0 };
	char path[64];

	(void)state;
	j.parent = read_policy(API(GET("/v1/x")));
	assert_non_null(mkdtemp(folder));
	(void)text_fmt(path, sizeof(path), "%s/db", folder);
	gateway.store = store_open(path, &f);
	assert_non_null(gateway.store);
	arena_init(&c.arena, 64 << 20);
	(void)text_copy(j.tree, sizeof(j.tree), SPAN_LIT("root"));
	(void)tree_number(&gateway, j.tree);
	assert_int_equal(judge(&c, &j, &f), 0);
	before = *tree_worth(&gateway, j.tree);
	for (int i = 0; i < 3; i++)
		assert_int_equal(loop_tick(gateway.loop, 0, &f), 0);
	assert_true(j.proof.queued);
	assert_true(j.proof.steps >= PROVER_TICK);
	c.left(&c);
	assert_null(gateway.proofs);
	assert_true(
	    tree_worth(&gateway, j.tree)->level < before.level - PROVER_TICK);
	tree_forget(&gateway, j.tree);
	arena_release(&c.arena);
	store_close(gateway.store);
	gateway.store = NULL;
	for (size_t i = 0; i < 3; i++) {
		static const char *const ends[] = { "", "-wal", "-shm" };

		(void)text_fmt(path, sizeof(path), "%s/db%s", folder, ends[i]);
		(void)unlink(path);
	}
	(void)rmdir(folder);
}

/* Of one, and then of many. */
static void
too_many_are_busy(void **state)
{
	static const char *const askers[] = { "a", "b", "c", "d", "e", "f", "g",
		"h", "i" };
	const struct policy *easy = read_policy(API(GET("/v1/x")));
	static struct one many[PROOF_MOST];
	struct fault f = { 0 };
	struct one more = { 0 };

	(void)state;
	for (size_t i = 0; i < PROOF_MOST; i++) {
		if (i % PROOF_ASKER_MOST == 0) {
			if (i > 0) {
				(void)text_copy(more.proof.asker, PROOF_ASKER,
				    span_str(asker));
				assert_int_equal(
				    proof_begin(&gateway, &more.proof, &f), -1);
				assert_int_equal(f.code, FAULT_BUSY);
			}
			asker = askers[i / PROOF_ASKER_MOST];
		}
		begin(&many[i], "", easy, NULL, easy);
	}
	(void)text_copy(more.proof.asker, PROOF_ASKER, span_str("other"));
	fault_clear(&f);
	assert_int_equal(proof_begin(&gateway, &more.proof, &f), -1);
	assert_int_equal(f.code, FAULT_BUSY);
	assert_false(more.proof.queued);
	(void)run();
}

/* As many ticks as two trees in turn take, and no more: whatever is in line. */
static void
who_asks_for_many_delays_another_by_a_slice_a_slice(void **state)
{
	const struct policy *easy = read_policy(API(GET("/v1/x")));
	const struct policy *hard = hard_policy();
	static struct one many[PROOF_ASKER_MOST];
	struct one one;
	unsigned alone;

	(void)state;
	asker = "quiet";
	begin(&one, "one", hard, NULL, easy);
	alone = run();
	assert_int_equal(one.tick + 1, alone);
	assert_true(alone > 3);
	asker = "loud";
	for (size_t i = 0; i < NELEM(many); i++)
		begin(&many[i], "", hard, NULL, easy);
	for (int i = 0; i < 7; i++) {
		struct fault f = { 0 };

		assert_int_equal(loop_tick(gateway.loop, 0, &f), 0);
	}
	asker = "quiet";
	begin(&one, "one", hard, NULL, easy);
	(void)run();
	assert_true(one.tick <= 2 * alone);
	assert_true(many[NELEM(many) - 1].tick > one.tick);
}

/* A turn for who has none, however long others wait for more. */
static void
turns_go_to_who_has_fewest(void **state)
{
	const struct policy *easy = read_policy(API(GET("/v1/x")));
	const struct policy *hard = hard_policy();
	static struct one loud[3][PROOF_TURNS];
	struct one late;

	(void)state;
	for (size_t i = 0; i < NELEM(loud); i++) {
		asker = (const char *const[]){ "a", "b", "c" }[i];
		for (size_t k = 0; k < PROOF_TURNS; k++)
			begin(&loud[i][k], asker, hard, NULL, easy);
	}
	asker = "late";
	begin(&late, "late", easy, easy, easy);
	(void)run();
	/* It had the first turn that came free. */
	assert_true(strncmp(order, "late ", 5) == 0 ||
	    strncmp(order + 2, "late ", 5) == 0);
}

static void
a_result_is_told_by_its_parts_and_in_a_line(void **state)
{
	const struct policy *wide = read_policy(API(GET("/v1/**")));
	const struct policy *thin = read_policy(API(GET("/v1/x")));
	nacre_v1_Counterexample x;
	char text[JUDGE_TEXT];
	struct one o;

	(void)state;
	begin(&o, "a", wide, NULL, thin);
	(void)run();
	x = judge_counterexample(&o.proof.result, &arena);
	assert_string_equal(x.section, "network");
	assert_string_equal(x.program, "/a");
	assert_string_equal(x.host, "h.test");
	assert_string_equal(x.method, "GET");
	assert_string_equal(x.path, "/v1/");
	assert_int_equal(x.port, 443);
	judge_format(&o.proof, text, sizeof(text));
	assert_non_null(strstr(text,
	    "exceeds the maximum: network: /a  GET "
	    "https://h.test/v1/"));
	assert_null(strchr(text, '\n'));
	assert_null(strstr(judge_hint(&o.proof, &arena), "parent"));
}

/* What a peer refuses to read helps nobody: parts go first, then words. */
static void
a_refusal_fits_into_its_header(void **state)
{
	static char long_text[REFUSAL_BYTES];
	struct call c = { 0 };
	nacre_v1_Refusal *more;
	struct buf b;

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	arena_init(&c.arena, 1 << 20);
	fault_set(&c.fault, FAULT_EXCEEDS_MAXIMUM, "exceeds");
	more = refusal_of(&c);
	more->has_counterexample = true;
	more->counterexample.witness = arena_str(&c.arena, SPAN_LIT("short"));
	for (int i = 0; i < 3; i++) {
		nacre_v1_Refusal r = nacre_v1_Refusal_init_zero;
		struct fault f = { 0 };

		if (i == 1)
			more->counterexample.path = long_text;
		if (i == 2)
			more->counterexample.witness = long_text;
		buf_init(&b, REFUSAL_BYTES);
		assert_int_equal(WIRE_DECODE(nacre_v1_Refusal, &r,
				     refusal_encode(&c, &b), &arena, &f),
		    0);
		assert_string_equal(r.code, "POLICY_EXCEEDS_MAXIMUM");
		assert_string_equal(r.message, "exceeds");
		assert_int_equal(r.has_counterexample, i < 2);
		if (i < 2)
			assert_string_equal(r.counterexample.witness, "short");
		assert_null(r.counterexample.path);
		buf_release(&b);
	}
	arena_release(&c.arena);
}

int
main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		EACH(the_first_link_that_fails_is_named),
		EACH(short_ones_do_not_wait_for_long_ones),
		EACH(no_more_than_have_a_turn_hold_memory),
		EACH(a_dropped_one_is_never_told),
		EACH(what_was_proved_is_charged_when_the_client_leaves),
		EACH(too_many_are_busy),
		EACH(who_asks_for_many_delays_another_by_a_slice_a_slice),
		EACH(turns_go_to_who_has_fewest),
		EACH(a_result_is_told_by_its_parts_and_in_a_line),
		EACH(a_refusal_fits_into_its_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
