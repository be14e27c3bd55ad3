/* SPDX-License-Identifier: Apache-2.0 */
/* What children are judged against, from rows as the store keeps them. */
#include <string.h>

#include "../../lib/unit.h"
#include "gateway/boundary.h"
#include "gateway/sandbox.h"
#include "proto/nacre_store.pb.h"
#include "wire/wire.h"

#define NARROW                                                  \
 "version: 1\nfilesystem_policy:\n  read_only: [/home/agent]\n" \
 "landlock: {}\nprocess: {}\nnetwork_policies: {}\n"
#define WIDE                                                    \
 "version: 1\nfilesystem_policy:\n  read_only: [/home, /srv]\n" \
 "landlock: {}\nprocess: {}\nnetwork_policies: {}\n"

static struct arena arena;

static int
setup(void **state)
{
	(void)state;
	arena_init(&arena, 64 << 20);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

/* A sandbox whose launch was given `given` as `generation`, with `written` as
 * its newest policy. */
static struct store_sandbox
make(enum state state, const char *written, uint32_t newest, const char *given,
    uint32_t generation)
{
	openshell_v1_CreateSandboxRequest ask =
	    openshell_v1_CreateSandboxRequest_init_zero;
	const struct object_policy p = { .generation = newest, .hash = "ab" };
	nacre_store_v1_Plan plan = nacre_store_v1_Plan_init_zero;
	nacre_store_v1_Facts facts = nacre_store_v1_Facts_init_zero;
	struct store_sandbox row = { .id = "one", .name = "one" };
	struct fault f = { 0 };
	struct buf b;

	row.state = state;
	assert_int_equal(
	    object_keep(&ask, &p, &arena, &row.object, &row.labels, &f), 0);
	plan.policy = wire_bytes(&arena, span_str(written));
	buf_init(&b, 1 << 20);
	assert_int_equal(WIRE_ENCODE(nacre_store_v1_Plan, &plan, &b, &f), 0);
	row.plan = arena_dup(&arena, buf_span(&b));
	buf_release(&b);
	if (given == NULL)
		return row;
	facts.policy = wire_bytes(&arena, span_str(given));
	facts.policy_generation = generation;
	facts.policy_confirmed = true;
	assert_int_equal(sandbox_set_facts(&row, &arena, &facts, &f), 0);
	return row;
}

static void
what_runs_is_the_boundary_and_not_what_was_written(void **state)
{
	static const enum state live[] = { STATE_STARTING, STATE_RUNNING,
		STATE_ENDED, STATE_STOPPING };

	(void)state;
	for (size_t i = 0; i < NELEM(live); i++) {
		struct store_sandbox row = make(live[i], WIDE, 2, NARROW, 1);
		struct boundary b;
		struct fault f = { 0 };

		assert_int_equal(boundary_of(&row, &arena, &b, &f), 0);
		assert_true(b.in_force);
		assert_int_equal(b.generation, 1);
		assert_int_equal(b.written, 2);
		assert_int_equal(b.policy.read_only.n, 1);
		assert_string_equal(b.parent, "one");
	}
}

static void
without_a_machine_it_is_what_was_written(void **state)
{
	static const enum state down[] = { STATE_STOPPED, STATE_FAILED,
		STATE_RESERVED, STATE_OVER };

	(void)state;
	for (size_t i = 0; i < NELEM(down); i++) {
		struct store_sandbox row = make(down[i], WIDE, 2, NARROW, 1);
		struct boundary b;
		struct fault f = { 0 };

		assert_int_equal(boundary_of(&row, &arena, &b, &f), 0);
		assert_false(b.in_force);
		assert_int_equal(b.generation, 2);
		assert_int_equal(b.policy.read_only.n, 2);
	}
}

/* A launch that has yet to be given its policy will be given the newest. */
static void
a_launch_without_its_policy_has_none_in_force(void **state)
{
	struct store_sandbox row = make(STATE_STARTING, WIDE, 3, NULL, 0);
	struct boundary b;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(boundary_read(&row, &arena, &b, &f), 0);
	assert_false(b.in_force);
	assert_int_equal(b.generation, 3);
}

static void
what_no_guest_has_confirmed_proves_nothing(void **state)
{
	struct store_sandbox row = make(STATE_RUNNING, NARROW, 1, NARROW, 1);
	nacre_store_v1_Facts facts;
	struct boundary b;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(sandbox_facts(&row, &arena, &facts, &f), 0);
	facts.policy_confirmed = false;
	assert_int_equal(sandbox_set_facts(&row, &arena, &facts, &f), 0);
	assert_int_equal(boundary_read(&row, &arena, &b, &f), -1);
	assert_int_equal(f.code, FAULT_BUSY);
}

static void
proved_by_what_is_newest_leaves_nothing_to_look_at(void **state)
{
	const struct boundary b = { .parent = "p",
		.generation = 4,
		.written = 4 };
	struct object_policy p = { .is_stale_boundary = true };

	(void)state;
	assert_false(boundary_mark(&b, false, &p));
	assert_int_equal(p.boundary_generation, 4);
	assert_false(p.is_stale_boundary);
}

/* A start proves what is in force; what was found out about the policy that
 * is to come still holds. */
static void
a_start_under_an_older_policy_stays_stale(void **state)
{
	const struct boundary b = { .parent = "p",
		.generation = 4,
		.written = 5 };
	struct object_policy p = { .boundary_generation = 5,
		.is_stale_boundary = true };

	(void)state;
	assert_true(boundary_mark(&b, false, &p));
	assert_int_equal(p.boundary_generation, 5);
	assert_true(p.is_stale_boundary);
	/* Another policy of its own is another question. */
	assert_true(boundary_mark(&b, true, &p));
	assert_int_equal(p.boundary_generation, 4);
	assert_false(p.is_stale_boundary);
}

static void
nothing_is_above_a_root(void **state)
{
	const struct boundary b = { .generation = 0 };
	struct object_policy p = { .boundary_generation = 7 };

	(void)state;
	assert_false(boundary_mark(&b, true, &p));
	assert_int_equal(p.boundary_generation, 7);
}

int
main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		EACH(what_runs_is_the_boundary_and_not_what_was_written),
		EACH(without_a_machine_it_is_what_was_written),
		EACH(a_launch_without_its_policy_has_none_in_force),
		EACH(what_no_guest_has_confirmed_proves_nothing),
		EACH(proved_by_what_is_newest_leaves_nothing_to_look_at),
		EACH(a_start_under_an_older_policy_stays_stale),
		EACH(nothing_is_above_a_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
