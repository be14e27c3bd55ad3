/* rooms: gateway */
/* SPDX-License-Identifier: Apache-2.0 */
/* Grants that expire, by a clock that is set as nobody would. */
#include "../lib/rig_ask.h"
#include "../lib/rig_program.h"
#include "../lib/unit.h"
#include "proto/nacre_v1.pb.h"
#include "store/store.h"

enum {
	HOUR_MS = 3600000,
	STARTS = 4, /* at once in a tree */
	PATIENCE_MS = 60000,
};

static struct rig r;

static void
grant(const char *root, int64_t life_s)
{
	const struct rig_limits l = { { 3, 64, 100 }, life_s };
	struct rig_answer a;

	rig_ask_grant(&r, &a, "create", root, &l);
	if (!a.is_yes)
		fail_msg("%s %s", a.word, a.text);
	rig_answer_release(&a);
}

static void
create(const char *root, const char *want)
{
	const struct rig_child c = { .parent = root, .word = "1" };
	struct rig_answer a;

	rig_call_child(&r, &a, &c);
	rig_until(&r, &a.is_done, "a create");
	assert_string_equal(a.word, want);
	rig_answer_release(&a);
}

static void
is_expired(const char *root)
{
	struct rig_grant g;

	rig_grant_of(&r, root, &g);
	assert_string_equal(g.state, "expired");
	create(root, "GRANT_EXPIRED");
}

static void
until_there_are(const char *root, size_t n)
{
	static struct rig_row rows[RIG_ROWS];
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;
	size_t there;

	while ((there = rig_list(&r, root, rows)) != n)
		if (rig_real_ms() > end_ms)
			fail_msg("%zu are there", there);
}

static void
who_waits_leaves_when_the_grant_expires(void **state)
{
	const char *root = rig_new_root(&r, "lead")->sandbox;
	struct rig_grant g;

	(void)state;
	grant(root, 60);
	for (int i = 0; i < STARTS + 2; i++)
		create(root, "ok");
	rig_grant_of(&r, root, &g);
	assert_int_equal(g.used_total, STARTS + 2);
	rig_pass(&r, 60000, 0);
	until_there_are(root, STARTS);
	rig_grant_of(&r, root, &g);
	assert_int_equal(g.used_total, STARTS);
	is_expired(root);
}

static void
a_clock_set_back_brings_no_grant_to_life(void **state)
{
	const char *root = rig_new_root(&r, "by-time")->sandbox;

	(void)state;
	grant(root, 60);
	rig_pass(&r, 0, -HOUR_MS / 2);
	create(root, "ok");
	rig_pass(&r, 60000, 0);
	is_expired(root);
	rig_kill(&r);
	rig_start(&r, NULL);
	is_expired(root);
}

static void
a_clock_set_forward_and_back_brings_no_grant_to_life(void **state)
{
	const char *root = rig_new_root(&r, "by-wall")->sandbox;

	(void)state;
	grant(root, 600);
	rig_pass(&r, 0, HOUR_MS / 4);
	rig_pass(&r, 1000, 0);
	rig_pass(&r, 0, -HOUR_MS / 4);
	is_expired(root);
	rig_kill(&r);
	rig_start(&r, NULL);
	is_expired(root);
}

/* Its tokens are good for an hour, of a clock that nobody sets. */
static void
a_clock_that_is_set_ends_no_session(void **state)
{
	struct rig_guest *root = rig_new_root(&r, "jumps");
	static const int hours[] = { 24, -48, 24 };

	(void)state;
	grant(root->sandbox, 30 * 24 * 3600);
	for (size_t i = 0; i < NELEM(hours); i++) {
		const struct rig_child c = { .word = "1" };
		struct rig_answer a;

		rig_pass(&r, 0, (int64_t)hours[i] * HOUR_MS);
		rig_door_child(root, &a, &c, RIG_PROGRAM);
		rig_until(&r, &a.is_done, "a create at the door");
		assert_string_equal(a.word, "ok");
		rig_answer_release(&a);
		rig_renew(&r);
	}
}

/* A gateway that comes back has only what the tokens say. */
static void
a_guest_comes_back_whatever_the_clock_is_set_to(void **state)
{
	static const int hours[] = { -2, 5, -48, 100 };
	struct rig_guest *root = rig_new_root(&r, "back");
	const struct rig_child c = { .word = "1" };
	struct rig_answer a;

	(void)state;
	for (size_t i = 0; i < NELEM(hours); i++) {
		rig_pass(&r, 0, (int64_t)hours[i] * HOUR_MS);
		rig_kill(&r);
		rig_start(&r, NULL);
		assert_ptr_equal(rig_launched(&r, root->sandbox), root);
		rig_door_child(root, &a, &c, RIG_PROGRAM);
		rig_until(&r, &a.is_done, "a call at the door");
		assert_string_equal(a.word, "NOT_ALLOWED no_grant");
		rig_answer_release(&a);
	}
}

/* The host's clock says that no time has passed. */
static void
a_life_that_is_over_stays_over(void **state)
{
	struct rig_guest *root = rig_new_root(&r, "late");
	char id[LIMIT_ID + 1];
	struct rig_answer a;

	(void)state;
	memcpy(id, root->sandbox, sizeof(id));
	rig_kill(&r);
	rig_pass(&r, HOUR_MS + 31000, -(HOUR_MS + 31000));
	rig_start(&r, NULL);
	rig_until(&r, &root->is_refused, "a refusal");
	assert_false(root->is_open);
	rig_call_delete(&r, &a, id);
	rig_until(&r, &a.is_done, "a delete");
	assert_string_equal(a.word, "ok");
	rig_answer_release(&a);
}

static void
a_deadline_runs_before_anybody_asks(void **state)
{
	const char *root = rig_new_root(&r, "unasked")->sandbox;

	(void)state;
	grant(root, 60);
	rig_kill(&r);
	rig_start(&r, NULL);
	rig_pass(&r, 0, -HOUR_MS / 2);
	rig_pass(&r, 60000, 0);
	is_expired(root);
}

static void
new_token(const char *want)
{
	nacre_v1_CreateTokenRequest ask = nacre_v1_CreateTokenRequest_init_zero;
	char name[] = "ci";
	char expires[] = "60s";
	static unsigned n;
	struct rig_answer a;

	ask.name = n++ == 0 ? name : NULL;
	ask.expires = expires;
	rig_ask(&r, &a, "/nacre.v1.Nacre/CreateToken",
	    nacre_v1_CreateTokenRequest_fields, &ask);
	assert_memory_equal(a.word, want, strlen(want));
	rig_answer_release(&a);
}

static void
expired_tokens_make_room(void **state)
{
	(void)state;
	for (int i = 0; i < STORE_TOKENS; i++)
		new_token("ok");
	new_token("LIMIT_REACHED tokens 64/64");
	rig_pass(&r, 60000, 0);
	for (int i = 0; i < STORE_TOKENS; i++)
		new_token("ok");
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_leaves_when_the_grant_expires),
		cmocka_unit_test(a_clock_set_back_brings_no_grant_to_life),
		cmocka_unit_test(
		    a_clock_set_forward_and_back_brings_no_grant_to_life),
		cmocka_unit_test(a_clock_that_is_set_ends_no_session),
		cmocka_unit_test(
		    a_guest_comes_back_whatever_the_clock_is_set_to),
		cmocka_unit_test(a_life_that_is_over_stays_over),
		cmocka_unit_test(a_deadline_runs_before_anybody_asks),
		cmocka_unit_test(expired_tokens_make_room),
	};

	return rig_main(argc, argv, &r, tests, NELEM(tests));
}
