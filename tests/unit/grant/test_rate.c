/* SPDX-License-Identifier: Apache-2.0 */
/* Rates, proof time and idleness: what is told to wait is exact. */
#include "../../lib/unit.h"
#include "base/base.h"
#include "grant/grant.h"

static const struct {
	enum grant_rate rate;
	int64_t a_second;
	int64_t burst;
} table[] = {
	{ GRANT_RATE_SANDBOX, 10, 20 },
	{ GRANT_RATE_TREE, 30, 60 },
	{ GRANT_RATE_USER, 50, 100 },
	{ GRANT_RATE_OUTSIDE, 2, 2 },
};

static uint64_t seed = 20261129;

static uint32_t
chance(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

static int64_t
take(struct grant_bucket *b, int64_t now)
{
	return grant_bucket_take(&b, 1, now);
}

static void
a_burst_passes_then_the_rate(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(table); i++) {
		struct grant_bucket b;
		int64_t now = 1000;
		int64_t passed = 0;

		grant_bucket_init(&b, table[i].rate, now);
		for (int64_t n = 0; n < table[i].burst; n++)
			assert_int_equal(take(&b, now), 0);
		assert_int_not_equal(take(&b, now), 0);
		for (; now < 1000 + 10000; now++)
			passed += take(&b, now + 1) == 0;
		assert_int_equal(passed, 10 * table[i].a_second);
	}
}

/* Told to wait n: after n - 1 it is refused, after n it passes. */
static void
the_wait_is_exact(void **state)
{
	struct grant_bucket b;
	int64_t now = 0;
	int waits = 0;

	(void)state;
	for (size_t i = 0; i < NELEM(table); i++) {
		grant_bucket_init(&b, table[i].rate, now);
		for (int n = 0; n < 5000; n++) {
			struct grant_bucket copy;
			int64_t wait;

			now += chance(3) ? 0 : chance(200);
			wait = take(&b, now);
			if (wait == 0)
				continue;
			copy = b;
			assert_int_equal(take(&copy, now + wait - 1), 1);
			copy = b;
			assert_int_equal(take(&copy, now + wait), 0);
			waits++;
		}
	}
	assert_true(waits > 1000);
}

static void
a_call_takes_from_all_or_none(void **state)
{
	struct grant_bucket sandbox;
	struct grant_bucket tree;
	struct grant_bucket *all[] = { &sandbox, NULL, &tree };

	(void)state;
	grant_bucket_init(&sandbox, GRANT_RATE_SANDBOX, 0);
	grant_bucket_init(&tree, GRANT_RATE_TREE, 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(grant_bucket_take(all, 3, 0), 0);
	assert_int_equal(grant_bucket_take(all, 3, 0), 100);
	assert_int_equal(tree.level, 40000);
	assert_int_equal(sandbox.level, 0);
	for (int i = 0; i < 40; i++)
		assert_int_equal(take(&tree, 0), 0);
	/* The longest wait of them is told. */
	assert_int_equal(grant_bucket_take(all, 3, 0), 100);
	assert_int_equal(grant_bucket_take(all, 3, 90), 10);
}

static void
no_jump_of_time_gives_more_than_the_burst(void **state)
{
	struct grant_bucket b;

	(void)state;
	grant_bucket_init(&b, GRANT_RATE_OUTSIDE, 0);
	assert_int_equal(take(&b, 0), 0);
	assert_int_equal(take(&b, -5000), 0);
	assert_int_equal(take(&b, -5000), 500);
	assert_int_equal(take(&b, INT64_MAX / 2), 0);
	assert_int_equal(take(&b, INT64_MAX / 2), 0);
	assert_int_equal(take(&b, INT64_MAX / 2), 500);
}

static void
proofs_pay_for_what_they_took(void **state)
{
	const uint32_t a_ms = 30000;
	struct grant_worth w;
	struct grant_refusal r;

	(void)state;
	grant_worth_init(&w, a_ms, 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(grant_may_prove(&w, 0, &r), 0);
		grant_worth_spend(&w, 100UL * a_ms, 0);
	}
	assert_int_equal(grant_may_prove(&w, 0, &r), -1);
	assert_int_equal(r.code, GRANT_RATE_LIMITED);
	assert_int_equal(r.retry_after_ms, 1);
	/* 100 ms of work later: a second is owed. */
	assert_int_equal(grant_may_prove(&w, 1, &r), 0);
	grant_worth_spend(&w, 100UL * a_ms, 1);
	assert_int_equal(grant_may_prove(&w, 1, &r), -1);
	assert_int_equal(r.retry_after_ms, 1000);
	assert_int_equal(grant_may_prove(&w, 1000, &r), -1);
	assert_int_equal(r.retry_after_ms, 1);
	assert_int_equal(grant_may_prove(&w, 1001, &r), 0);
	/* Never more than 300 ms saved up. */
	assert_int_equal(grant_may_prove(&w, 1000000, &r), 0);
	grant_worth_spend(&w, 300UL * a_ms, 1000000);
	assert_int_equal(grant_may_prove(&w, 1000000, &r), -1);
}

static void
a_tool_that_nobody_uses_is_stopped(void **state)
{
	struct grant_idle i = { GRANT_TOOL, GRANT_RUNNING, 600, 0, 1000 };

	(void)state;
	assert_int_equal(grant_idle_wait_ms(&i, 1000), 600000);
	assert_int_equal(grant_idle_wait_ms(&i, 600999), 1);
	assert_int_equal(grant_idle_wait_ms(&i, 601000), 0);
	assert_int_equal(grant_idle_wait_ms(&i, 999999999), 0);
	i.busy = 1;
	assert_int_equal(grant_idle_wait_ms(&i, 999999999), -1);
	i.busy = 0;
	i.kind = GRANT_AGENT;
	assert_int_equal(grant_idle_wait_ms(&i, 999999999), -1);
	i.kind = GRANT_TOOL;
	for (int l = GRANT_RESERVED; l <= GRANT_DELETED; l++) {
		i.life = (enum grant_life)l;
		assert_int_equal(grant_idle_wait_ms(&i, 999999999),
		    l == GRANT_RUNNING ? 0 : -1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_passes_then_the_rate),
		cmocka_unit_test(the_wait_is_exact),
		cmocka_unit_test(a_call_takes_from_all_or_none),
		cmocka_unit_test(no_jump_of_time_gives_more_than_the_burst),
		cmocka_unit_test(proofs_pay_for_what_they_took),
		cmocka_unit_test(a_tool_that_nobody_uses_is_stopped),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
