/* SPDX-License-Identifier: Apache-2.0 */
/* Which programs may call: tests/data/grant/match, and what a call costs. */
#include "../../lib/table.h"
#include "../../lib/unit.h"
#include "base/base.h"
#include "grant/grant.h"

static const char *const words[] = { "ok", "memfd", "deleted", "changed",
	"unreadable", "shared", "path", "content" };

static void
grant_init(struct grant *g)
{
	*g = (struct grant){ .expires_ms = INT64_MAX,
		.deadline_ms = INT64_MAX,
		.programs_n = 2,
		.programs = { { .path = SPAN_LIT("/usr/bin/node"),
				  .resolved = SPAN_LIT("/usr/bin/node-22"),
				  .has_sha256 = true,
				  .sha256 = { 1 } },
		    { .path = SPAN_LIT("/opt/pi"),
			.is_pinned = true,
			.has_sha256 = true,
			.sha256 = { 2 } } } };
}

/* "PATH DIGEST FLAG", all in one cell. */
static struct grant_executable
executable(const char *cell)
{
	struct grant_executable e = { 0 };
	struct span all = span_str(cell);
	size_t end = span_find(all, ' ');
	struct span rest = span_from(all, end + 1);

	e.path = span_of(all.ptr, end);
	assert_true(rest.len > 0);
	e.sha256[0] = (uint8_t)(rest.ptr[0] - '0');
	for (size_t i = 1; i <= 4; i++)
		if (span_is(span_from(rest, 2), words[i]))
			e.flags = 1U << (i - 1);
	assert_true(rest.len == 1 || e.flags != 0);
	return e;
}

static void
programs_match_byte_for_byte(void **state)
{
	struct grant g;
	struct table t;

	(void)state;
	grant_init(&g);
	table_open(&t, "grant/match");
	while (table_next(&t)) {
		struct grant_executable other = { 0 };
		struct grant_evidence e = { .self = executable(t.cell[0]) };
		enum grant_match m;

		if (t.cell[1][0] != '\0') {
			other = executable(t.cell[1]);
			e.holders = &other;
			e.holders_n = 1;
		}
		m = grant_program_match(g.programs, g.programs_n, &e);
		if (strcmp(words[m], t.cell[2]) != 0)
			fail_msg("line %zu: %s", t.line, words[m]);
	}
}

static void
a_program_without_a_digest_matches_nothing(void **state)
{
	struct grant_program p = { .path = SPAN_LIT("/bin/a") };
	struct grant_evidence e = { .self = { .path = SPAN_LIT("/bin/a") } };

	(void)state;
	assert_int_equal(grant_program_match(&p, 1, &e), GRANT_MATCH_CONTENT);
}

static void
nothing_resolved_matches_no_empty_path(void **state)
{
	struct grant_program p = { .path = SPAN_LIT("/bin/a"),
		.has_sha256 = true };
	struct grant_evidence e = { 0 };

	(void)state;
	assert_int_equal(grant_program_match(&p, 1, &e), GRANT_MATCH_PATH);
}

struct caller {
	struct grant_node node;
	struct grant grant;
	struct grant_tree tree;
	struct grant_caller who;
	struct grant_bucket sandbox;
	struct grant_bucket of_tree;
	struct grant_bucket user;
	struct grant_bucket outside;
	struct grant_rates rates;
	struct grant_ask ask;
};

static void
caller_init(struct caller *c, bool is_sandbox)
{
	*c = (struct caller){ .node = { .name = SPAN_LIT("lead"),
				  .parent = GRANT_NOBODY,
				  .life = GRANT_RUNNING },
		.who = { .is_sandbox = is_sandbox },
		.rates = { &c->sandbox, &c->of_tree, &c->user, &c->outside } };
	grant_init(&c->grant);
	c->tree = (struct grant_tree){ &c->node, 1, { 0 }, &c->grant };
	grant_bucket_init(&c->sandbox, GRANT_RATE_SANDBOX, 0);
	grant_bucket_init(&c->of_tree, GRANT_RATE_TREE, 0);
	grant_bucket_init(&c->user, GRANT_RATE_USER, 0);
	grant_bucket_init(&c->outside, GRANT_RATE_OUTSIDE, 0);
	c->ask = (struct grant_ask){ &c->tree, &c->who, { 0, 0 } };
}

static void
programs_outside_never_take_from_the_granted_one(void **state)
{
	struct grant_evidence sh = { .self = executable("/bin/sh 3") };
	struct grant_evidence pi = { .self = executable("/opt/pi 2") };
	struct grant_refusal r;
	struct caller c;

	(void)state;
	caller_init(&c, true);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(grant_may_call(&c.ask, &sh, &c.rates, &r), -1);
		assert_int_equal(r.code, GRANT_NOT_ALLOWED);
		assert_int_equal(r.why, GRANT_WHY_PROGRAM);
		assert_true(span_is(r.program, "/bin/sh"));
	}
	assert_int_equal(grant_may_call(&c.ask, &sh, &c.rates, &r), -1);
	assert_int_equal(r.code, GRANT_RATE_LIMITED);
	assert_int_equal(r.retry_after_ms, 500);
	for (int i = 0; i < 20; i++)
		assert_int_equal(grant_may_call(&c.ask, &pi, &c.rates, &r), 0);
	assert_int_equal(grant_may_call(&c.ask, &pi, &c.rates, &r), -1);
	assert_int_equal(r.code, GRANT_RATE_LIMITED);
	assert_int_equal(r.retry_after_ms, 100);
}

static void
without_a_grant_nothing_is_called(void **state)
{
	struct grant_evidence pi = { .self = executable("/opt/pi 2") };
	struct grant_refusal r;
	struct caller c;

	(void)state;
	caller_init(&c, true);
	c.tree.grant = NULL;
	assert_int_equal(grant_may_call(&c.ask, &pi, &c.rates, &r), -1);
	assert_int_equal(r.why, GRANT_WHY_NO_GRANT);
	assert_int_equal(c.sandbox.level, 20000);
	assert_int_equal(c.outside.level, 1000);
}

static void
the_programs_of_a_dead_grant_still_call(void **state)
{
	struct grant_evidence pi = { .self = executable("/opt/pi 2") };
	struct grant_refusal r;
	struct caller c;

	(void)state;
	caller_init(&c, true);
	c.grant.state = GRANT_DEAD_REVOKED;
	assert_int_equal(grant_may_call(&c.ask, &pi, &c.rates, &r), 0);
	assert_int_equal(grant_may_call(&c.ask, NULL, &c.rates, &r), -1);
	assert_int_equal(r.why, GRANT_WHY_PROGRAM);
}

static void
host_callers_are_asked_for_no_program(void **state)
{
	struct grant_refusal r;
	struct caller c;

	(void)state;
	caller_init(&c, false);
	for (int i = 0; i < 100; i++)
		assert_int_equal(grant_may_call(&c.ask, NULL, &c.rates, &r), 0);
	assert_int_equal(grant_may_call(&c.ask, NULL, &c.rates, &r), -1);
	assert_int_equal(r.code, GRANT_RATE_LIMITED);
	assert_int_equal(r.retry_after_ms, 20);
	assert_int_equal(c.sandbox.level, 20000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_match_byte_for_byte),
		cmocka_unit_test(a_program_without_a_digest_matches_nothing),
		cmocka_unit_test(nothing_resolved_matches_no_empty_path),
		cmocka_unit_test(
		    programs_outside_never_take_from_the_granted_one),
		cmocka_unit_test(without_a_grant_nothing_is_called),
		cmocka_unit_test(the_programs_of_a_dead_grant_still_call),
		cmocka_unit_test(host_callers_are_asked_for_no_program),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
