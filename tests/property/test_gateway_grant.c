/* rooms: gateway */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a grant's end and change do to those that run and that wait, and what
 * is told of a tree afterwards.
 */
#include "../lib/rig_ask.h"
#include "../lib/rig_program.h"
#include "../lib/unit.h"
#include "proto/nacre_v1.pb.h"
#include "proto/openshell_v1.pb.h"
#include "wire/wire.h"

enum {
	TREE_STARTS = 4, /* at once in a tree */
	BURST = 18,      /* calls of a sandbox at once */
	LIFE_S = 60,     /* of a grant */
	PATIENCE_MS = 60000,
	HEX = 65, /* a policy's hash */
};

static struct rig r;
static unsigned names;

static void
act(const char *what, const char *root)
{
	const struct rig_limits l = { { 3, 64, 100 }, LIFE_S };
	struct rig_answer a;

	rig_ask_grant(&r, &a, what, root, &l);
	rig_must(&r, &a, what);
}

/* A root that runs, with a grant. */
static struct rig_guest *
new_lead(char id[LIMIT_ID + 1])
{
	struct rig_guest *g;
	char name[16];

	(void)text_fmt(name, sizeof(name), "lead-%u", ++names);
	g = rig_new_root(&r, name);
	(void)text_copy(id, LIMIT_ID + 1, span_str(g->sandbox));
	act("create", id);
	return g;
}

/* "": when it is not there. */
static void
until_is(const char *id, const char *state)
{
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;
	struct rig_answer a;

	for (;;) {
		rig_ask_get(&r, &a, id);
		rig_answer_release(&a);
		if (strcmp(a.state, state) == 0)
			return;
		if (rig_real_ms() > end_ms)
			fail_msg("%s is '%s', not '%s'", id, a.state, state);
		rig_tick(&r);
	}
}

static void
run(const char *id)
{
	rig_say_ready(rig_launched(&r, id));
	until_is(id, "running");
}

static void
end(const char *root)
{
	struct rig_answer a;

	rig_call_delete(&r, &a, root);
	rig_must(&r, &a, "a delete");
	assert_int_equal(rig_guests(&r), 0);
}

/* --- the tests */

/* Who waits below one that stops is taken along by it. */
static void
a_revoke_stops_children_with_all_that_wait_below(void **state)
{
	char lead[LIMIT_ID + 1];
	char kid[LIMIT_ID + 1];
	char id[LIMIT_ID + 1];
	struct rig_grant g;

	(void)state;
	new_lead(lead);
	rig_new_child(&r, lead, false, kid);
	run(kid);
	for (int i = 0; i < TREE_STARTS + 2; i++)
		rig_new_child(&r, kid, false, id);
	assert_int_equal(rig_count(&r, lead, "reserved"), 2);
	act("revoke with children", lead);
	rig_grant_of(&r, lead, &g);
	assert_string_equal(g.state, "revoked");
	until_is(kid, "stopped");
	assert_int_equal(rig_count(&r, lead, "stopped"), 1);
	until_is(lead, "running");
	end(lead);
}

/* It would run on where no limit, no cascade and no idle time sees it. */
static void
a_tool_that_tells_of_its_end_is_stopped(void **state)
{
	const struct rig_limits narrow = { { -1, 1, -1 }, 0 };
	struct rig_child c = { .word = "1", .is_tool = true };
	char lead[LIMIT_ID + 1];
	char tool[LIMIT_ID + 1];
	struct rig_guest *g;
	struct rig_answer a;

	(void)state;
	new_lead(lead);
	rig_ask_grant(&r, &a, "update", lead, &narrow);
	rig_must(&r, &a, "a narrow grant");
	rig_new_child(&r, lead, true, tool);
	run(tool);
	g = rig_guest_of(&r, tool);
	r.holds = true;
	rig_say_exit(g);
	rig_until(&r, &g->is_asked, "the question before its end");
	until_is(tool, "stopping");
	c.parent = lead;
	rig_call_child(&r, &a, &c);
	rig_until(&r, &a.is_done, "one too many");
	assert_string_equal(a.word, "LIMIT_REACHED breadth 1/1");
	rig_answer_release(&a);
	r.holds = false;
	rig_release(g);
	until_is(tool, "stopped");
	assert_int_equal(rig_guests(&r), 1);
	rig_new_child(&r, lead, true, tool);
	run(tool);
	rig_say_exit(rig_guest_of(&r, tool));
	rig_call_stop(&r, &a, lead);
	rig_must(&r, &a, "a stop");
	assert_int_equal(rig_guests(&r), 0);
	end(lead);
}

/* How many creates were under way when their grant was replaced by one that
 * does not list their program. */
static int
overtake(void)
{
	const struct rig_child c = { .word = "1" };
	static struct rig_answer a[BURST];
	char lead[LIMIT_ID + 1];
	struct rig_guest *g;
	int refused = 0;

	g = new_lead(lead);
	for (int i = 0; i < BURST; i++)
		rig_door_child(g, &a[i], &c, RIG_PROGRAM);
	rig_until(&r, &a[0].is_done, "the first");
	act("revoke with children", lead);
	act("create for others", lead);
	for (int i = 0; i < BURST; i++) {
		rig_until(&r, &a[i].is_done, "a create");
		refused += strcmp(a[i].word, "NOT_ALLOWED program") == 0;
		rig_answer_release(&a[i]);
	}
	assert_int_equal(rig_count(&r, lead, "reserved") +
		rig_count(&r, lead, "starting"),
	    0);
	end(lead);
	return refused;
}

/* They were asked for their program when they came, by the grant before. */
static void
a_create_under_way_is_asked_for_its_program_again(void **state)
{
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;

	(void)state;
	while (overtake() == 0)
		assert_true(rig_real_ms() < end_ms);
}

/* The clock ended it, and the gateway had no time to write that down. */
static void
who_waits_does_not_start_under_the_next_grant(void **state)
{
	char lead[LIMIT_ID + 1];
	char id[LIMIT_ID + 1];
	struct rig_grant g;

	(void)state;
	new_lead(lead);
	for (int i = 0; i < TREE_STARTS + 2; i++)
		rig_new_child(&r, lead, false, id);
	r.clock->wall_ms += LIFE_S * 1000;
	r.clock->mono_ms += LIFE_S * 1000;
	act("create", lead);
	until_is(id, "");
	assert_int_equal(rig_count(&r, lead, "starting"), TREE_STARTS);
	assert_int_equal(rig_count(&r, lead, "reserved"), 0);
	rig_grant_of(&r, lead, &g);
	assert_string_equal(g.state, "live");
	assert_int_equal(g.used_total, TREE_STARTS);
	end(lead);
}

static void
what_the_gateway_does_is_found_by_the_root(void **state)
{
	char lead[LIMIT_ID + 1];
	char kid[LIMIT_ID + 1];
	char leaf[LIMIT_ID + 1];
	struct rig_answer a;

	(void)state;
	new_lead(lead);
	rig_new_child(&r, lead, false, kid);
	run(kid);
	rig_new_child(&r, kid, false, leaf);
	run(leaf);
	rig_call_stop(&r, &a, kid);
	rig_must(&r, &a, "a stop");
	until_is(kid, "stopped");
	rig_pass(&r, LIFE_S * 1000, 0);
	rig_barrier(&r);
	rig_call_delete(&r, &a, lead);
	rig_must(&r, &a, "a delete");
	{
		const struct rig_wanted rows[] = {
			{ lead, leaf, "sandbox.ready", "" },
			{ lead, leaf, "sandbox.stop", "parent" },
			{ lead, leaf, "sandbox.stopped", "" },
			{ lead, kid, "sandbox.stopped", "" },
			{ lead, lead, "grant.expire", "" },
			{ lead, leaf, "sandbox.delete", "parent" },
			{ lead, kid, "sandbox.delete", "parent" },
			{ lead, leaf, "sandbox.deleted", "" },
			{ lead, kid, "sandbox.deleted", "" },
			{ lead, lead, "sandbox.deleted", "" },
		};

		for (size_t i = 0; i < NELEM(rows); i++)
			if (rig_rows(&r, &rows[i]) != 1)
				fail_msg("row %zu: %s", i, rows[i].verb);
	}
}

static void
a_revoke_tells_of_each_that_it_stops(void **state)
{
	struct rig_wanted w = { .verb = "sandbox.stop", .reason = "grant" };
	char lead[LIMIT_ID + 1];
	char id[2][LIMIT_ID + 1];

	(void)state;
	new_lead(lead);
	w.root = lead;
	for (int i = 0; i < 2; i++)
		rig_new_child(&r, lead, true, id[i]);
	run(id[0]);
	act("revoke with children", lead);
	for (int i = 0; i < 2; i++) {
		w.id = id[i];
		assert_int_equal(rig_rows(&r, &w), 1);
	}
	end(lead);
}

/* It would answer with what is gone, and start nothing, for good. */
static void
a_request_id_of_a_root_lives_as_long_as_it(void **state)
{
	const struct rig_child c = { .word = "1", .request_id = "daily" };
	char id[2][LIMIT_ID + 1];
	struct rig_answer a;

	(void)state;
	for (int i = 0; i < 2; i++) {
		for (int again = 0; again < 2; again++) {
			rig_call_child(&r, &a, &c);
			rig_until(&r, &a.is_done, "a root");
			assert_string_equal(a.word, "ok");
			rig_answer_child(&a);
			assert_true(again == 0 || strcmp(a.id, id[i]) == 0);
			memcpy(id[i], a.id, sizeof(id[i]));
			rig_answer_release(&a);
			run(id[i]);
		}
		end(id[i]);
	}
	assert_string_not_equal(id[0], id[1]);
}

static void
policy_hash_of(const char *id, char out[HEX])
{
	nacre_v1_ChildReply reply = nacre_v1_ChildReply_init_zero;
	struct fault f = { 0 };
	struct rig_answer a;
	struct arena arena;

	arena_init(&arena, 1 << 20);
	rig_ask_get(&r, &a, id);
	assert_int_equal(WIRE_DECODE(nacre_v1_ChildReply, &reply,
			     buf_span(&a.bytes), &arena, &f),
	    0);
	(void)text_copy(out, HEX, span_str(reply.sandbox.policy_hash));
	rig_answer_release(&a);
	arena_release(&arena);
}

static void
a_written_policy_is_the_one_that_is_told_of(void **state)
{
	openshell_v1_UpdateConfigRequest ask =
	    openshell_v1_UpdateConfigRequest_init_zero;
	openshell_v1_UpdateConfigResponse reply =
	    openshell_v1_UpdateConfigResponse_init_zero;
	char name[] = "written";
	char folder[] = "/bin";
	char *folders[] = { folder };
	char id[LIMIT_ID + 1];
	char hash[2][HEX];
	struct fault f = { 0 };
	struct rig_answer a;
	struct arena arena;

	(void)state;
	memcpy(id, rig_new_root(&r, name)->sandbox, sizeof(id));
	policy_hash_of(id, hash[0]);
	rig_call_stop(&r, &a, id);
	rig_must(&r, &a, "a stop");
	ask.name = name;
	ask.has_policy = true;
	ask.policy.version = 1;
	ask.policy.has_filesystem = true;
	ask.policy.filesystem.read_only = folders;
	ask.policy.filesystem.read_only_count = 1;
	rig_ask(&r, &a, "/openshell.v1.OpenShell/UpdateConfig",
	    openshell_v1_UpdateConfigRequest_fields, &ask);
	if (!a.is_yes)
		fail_msg("%s %s", a.word, a.text);
	arena_init(&arena, 1 << 20);
	assert_int_equal(WIRE_DECODE(openshell_v1_UpdateConfigResponse, &reply,
			     buf_span(&a.bytes), &arena, &f),
	    0);
	policy_hash_of(id, hash[1]);
	assert_string_equal(hash[1], reply.policy_hash);
	assert_string_not_equal(hash[0], hash[1]);
	rig_answer_release(&a);
	arena_release(&arena);
	end(id);
}

static void
is_refused(struct rig_answer *a, const char *word)
{
	rig_until(&r, &a->is_done, word);
	assert_string_equal(a->word, word);
	rig_answer_release(a);
}

/* The rig itself asks each refusal for the members of its code. */
static void
a_refusal_tells_what_stands_in_the_way(void **state)
{
	struct rig_guest *g = rig_new_root(&r, "twice");
	char id[LIMIT_ID + 1];
	struct rig_answer start;
	struct rig_answer a;

	(void)state;
	memcpy(id, g->sandbox, sizeof(id));
	rig_call_root(&r, &a, "twice");
	is_refused(&a, "ALREADY_EXISTS");
	r.holds = true;
	rig_call_stop(&r, &a, id);
	rig_until(&r, &g->is_asked, "the question before its end");
	rig_call_start(&r, &start, "twice");
	is_refused(&start, "NOT_READY stopping");
	r.holds = false;
	rig_release(g);
	rig_must(&r, &a, "a stop");
	end(id);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_revoke_stops_children_with_all_that_wait_below),
		cmocka_unit_test(a_tool_that_tells_of_its_end_is_stopped),
		cmocka_unit_test(
		    a_create_under_way_is_asked_for_its_program_again),
		cmocka_unit_test(who_waits_does_not_start_under_the_next_grant),
		cmocka_unit_test(what_the_gateway_does_is_found_by_the_root),
		cmocka_unit_test(a_revoke_tells_of_each_that_it_stops),
		cmocka_unit_test(a_request_id_of_a_root_lives_as_long_as_it),
		cmocka_unit_test(a_written_policy_is_the_one_that_is_told_of),
		cmocka_unit_test(a_refusal_tells_what_stands_in_the_way),
	};

	return rig_main(argc, argv, &r, tests, NELEM(tests));
}
