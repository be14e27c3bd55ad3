/* rooms: gateway */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits under many creates at once, under retries, and under a gateway that
 * is killed at each point on the way of a create, of a child or a root: no slot
 * is lost, none is charged twice, and nothing is left of what never was.
 * NACRE_STORM_ROUNDS chooses how many kills at each point.
 */
#include <signal.h>

#include "../lib/rig_ask.h"
#include "../lib/rig_program.h"
#include "../lib/unit.h"

enum {
	STORM = 64,
	DOORS = 16, /* of them; a sandbox has a burst of 20 */
	PLACES = 5,
	ROUNDS = 100,
	CROWD = 24, /* then some are deleted */
	PATIENCE_MS = 60000,
};

static struct rig r;
static struct rig_answer answer[STORM];
static uint64_t seed = 20261129;

static uint32_t
chance(uint32_t n)
{
	return rig_chance(&seed, n);
}

static void
grant(const char *root, const char *act, int64_t depth, int64_t breadth,
    int64_t total)
{
	const struct rig_limits l = { { depth, breadth, total }, 86400 };
	struct rig_answer a;

	rig_ask_grant(&r, &a, act, root, &l);
	if (!a.is_yes)
		fail_msg("%s: %s %s", act, a.word, a.text);
	rig_answer_release(&a);
}

static uint32_t
used_total(const char *root)
{
	struct rig_grant g;

	rig_grant_of(&r, root, &g);
	return g.used_total;
}

static size_t
answered(void)
{
	size_t n = 0;

	for (size_t i = 0; i < STORM; i++)
		n += answer[i].is_done;
	return n;
}

static size_t
said(const char *word)
{
	size_t n = 0;

	for (size_t i = 0; i < STORM; i++)
		n += answer[i].is_done && strcmp(answer[i].word, word) == 0;
	return n;
}

static void
all_say(const char *word, size_t n)
{
	if (said(word) == n)
		return;
	for (size_t i = 0; i < STORM; i++)
		if (answer[i].is_done)
			printf("# %zu: %s %s\n", i, answer[i].word,
			    answer[i].text);
	fail_msg("%zu say %s, not %zu", said(word), word, n);
}

static void
until_answered(size_t n)
{
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;

	while (answered() < n) {
		if (rig_real_ms() > end_ms)
			fail_msg("%zu of %zu answers came", answered(), n);
		rig_tick(&r);
	}
}

static void
release_all(void)
{
	for (size_t i = 0; i < STORM; i++)
		rig_answer_release(&answer[i]);
}

/* By users, and as many as may through the root's door. */
static void
storm(struct rig_guest *root, const struct rig_child *c)
{
	for (size_t i = 0; i < STORM; i++) {
		struct rig_child one = *c;

		one.is_tool = c->request_id == NULL && i % 3 == 0;
		if (i % (STORM / DOORS) == 0 && c->request_id == NULL)
			rig_door_child(root, &answer[i], &one, RIG_PROGRAM);
		else
			rig_call_child(&r, &answer[i], &one);
	}
}

static void
say_ready_all(void)
{
	for (size_t i = 0; i < RIG_GUESTS; i++)
		if (r.guest[i].is_used && r.guest[i].is_open &&
		    !r.guest[i].is_ready)
			rig_say_ready(&r.guest[i]);
}

static void
delete_tree(const char *id)
{
	struct rig_answer a;

	rig_call_delete(&r, &a, id);
	rig_until(&r, &a.is_done, "a delete");
	if (!a.is_yes)
		fail_msg("%s %s", a.word, a.text);
	rig_answer_release(&a);
}

static void
of_many_creates_at_once_as_many_start_as_may(void **state)
{
	static struct rig_row rows[RIG_ROWS];

	(void)state;
	for (int i = 0; i < 5; i++) {
		struct rig_guest *root = rig_new_root(&r, "lead");
		struct rig_child c = { .parent = root->sandbox,
			.word = "1",
			.wait_ms = 45000 };
		unsigned before = r.spawned;
		char id[LIMIT_ID + 1];

		memcpy(id, root->sandbox, sizeof(id));
		grant(id, "create", 3, 64, PLACES);
		storm(root, &c);
		/* Those that may not are told while the others start. */
		until_answered(STORM - PLACES);
		all_say("LIMIT_REACHED total 5/5", STORM - PLACES);
		r.launches = true;
		while (answered() < STORM) {
			say_ready_all();
			rig_tick(&r);
		}
		r.launches = false;
		all_say("ok", PLACES);
		assert_int_equal(r.spawned - before, PLACES);
		assert_int_equal(used_total(id), PLACES);
		assert_int_equal(rig_list(&r, id, rows), PLACES);
		for (size_t n = 0; n < PLACES; n++)
			assert_string_equal(rows[n].state, "running");
		release_all();
		delete_tree(id);
	}
}

static void
a_storm_of_retries_starts_one(void **state)
{
	struct rig_guest *root = rig_new_root(&r, "lead");
	char id[LIMIT_ID + 1];
	struct rig_child c = { .parent = id,
		.word = "1",
		.request_id = "again",
		.wait_ms = 45000 };
	char child[LIMIT_ID + 1];
	static struct rig_row rows[RIG_ROWS];

	(void)state;
	memcpy(id, root->sandbox, sizeof(id));
	grant(id, "create", 3, 64, 100);
	storm(root, &c);
	until_answered(STORM - 1);
	all_say("IN_PROGRESS", STORM - 1);
	assert_int_equal(rig_list(&r, id, rows), 1);
	memcpy(child, rows[0].id, sizeof(child));
	for (size_t i = 0; i < STORM; i++)
		if (answer[i].is_done)
			assert_string_equal(answer[i].id, child);
	rig_say_ready(rig_launched(&r, child));
	until_answered(STORM);
	release_all();
	storm(root, &c);
	until_answered(STORM);
	all_say("ok", STORM);
	for (size_t i = 0; i < STORM; i++) {
		rig_answer_child(&answer[i]);
		assert_string_equal(answer[i].id, child);
	}
	release_all();
	assert_int_equal(rig_list(&r, id, rows), 1);
	assert_int_equal(used_total(id), 1);
	delete_tree(id);
}

static void
a_root_that_never_ran_leaves_its_request_id(void **state)
{
	const struct rig_child c = { .word = "1", .request_id = "root" };
	struct rig_answer a;
	char id[2][LIMIT_ID + 1];

	(void)state;
	for (int i = 0; i < 2; i++) {
		rig_call_child(&r, &a, &c);
		rig_until(&r, &a.is_done, "a root");
		assert_string_equal(a.word, "ok");
		rig_answer_child(&a);
		memcpy(id[i], a.id, sizeof(id[i]));
		rig_answer_release(&a);
		if (i == 0)
			rig_say_failed(rig_launched(&r, id[i]));
		do {
			rig_ask_get(&r, &a, id[0]);
			rig_answer_release(&a);
		} while (a.is_yes);
	}
	assert_string_not_equal(id[0], id[1]);
	delete_tree(id[1]);
}

/* --- kills */

enum by {
	AT_POINT,  /* of gateway/crash.c */
	AT_LAUNCH, /* the guest is launched and has said nothing */
	AT_READY,  /* it says that its agent runs */
};

struct kill {
	const char *where;
	enum by by;
	const char *point;
	bool stays; /* the next gateway is killed there too */
	bool never; /* the child never was */
};

static const struct kill kills[] = {
	{ "between reserve and commit", AT_POINT, "before_commit", true, true },
	{ "between commit and answer", AT_POINT, "after_reserve", true, false },
	{ "in its turn", AT_POINT, "after_leave", false, false },
	{ "between commit and start", AT_POINT, "after_row", false, false },
	{ "with its keeper", AT_POINT, "after_keeper", false, false },
	{ "between start and first instruction", AT_LAUNCH, NULL, false,
	    false },
	{ "between first instruction and answer", AT_READY, NULL, false,
	    false },
};

static struct {
	char root[LIMIT_ID + 1];
	uint32_t total;
	size_t there;
	unsigned requests;
} tree;

/* An agent that may have children of its own kind, or the root. */
static void
any_parent(char id[LIMIT_ID + 1])
{
	static struct rig_row rows[RIG_ROWS];
	size_t n = rig_list(&r, tree.root, rows);
	size_t at = chance((uint32_t)n + 1);

	assert_int_equal(n, tree.there);
	memcpy(id, tree.root, LIMIT_ID + 1);
	if (at < n && !rows[at].is_tool && rows[at].depth < 3)
		memcpy(id, rows[at].id, LIMIT_ID + 1);
}

/* Some of it goes, with all below; the total stays. */
static void
thin(void)
{
	static struct rig_row rows[RIG_ROWS];
	size_t n = rig_list(&r, tree.root, rows);

	while (n > CROWD / 2) {
		delete_tree(rows[chance((uint32_t)n)].id);
		n = rig_list(&r, tree.root, rows);
	}
	tree.there = n;
}

static struct rig_guest *
any_new(void)
{
	for (size_t i = 0; i < RIG_GUESTS; i++)
		if (r.guest[i].is_used && r.guest[i].is_open &&
		    !r.guest[i].is_ready)
			return &r.guest[i];
	return NULL;
}

static void
until_killed(const struct kill *k, const struct rig_answer *a)
{
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;
	struct rig_guest *g;

	while (!rig_is_dead(&r)) {
		if (rig_real_ms() > end_ms)
			fail_msg("not killed %s: %s", k->where, a->text);
		rig_tick(&r);
		g = k->by == AT_POINT ? NULL : any_new();
		if (g == NULL)
			continue;
		if (k->by == AT_READY) {
			rig_say_ready(g);
			for (uint32_t n = chance(3); n > 0; n--)
				rig_tick(&r);
		}
		rig_kill(&r);
	}
}

/* Again until it has an answer, as a client does. */
static void
settle(struct rig_child *c, bool fails, char id[LIMIT_ID + 1])
{
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;
	struct rig_answer a;
	bool failed = false;

	c->wait_ms = 0;
	for (;;) {
		struct rig_guest *g = any_new();

		if (g != NULL && fails && !failed) {
			rig_say_failed(g);
			failed = true;
		} else if (g != NULL) {
			rig_say_ready(g);
		}
		rig_call_child(&r, &a, c);
		rig_until(&r, &a.is_done, "a retry");
		if (a.is_yes) {
			rig_answer_child(&a);
			if (strcmp(a.state, "running") == 0)
				break;
		} else if (strcmp(a.word, "IN_PROGRESS") != 0) {
			fail_msg("%s %s", a.word, a.text);
		}
		rig_answer_release(&a);
		if (rig_real_ms() > end_ms)
			fail_msg("the child does not come to run");
		rig_tick(&r);
	}
	(void)text_copy(id, LIMIT_ID + 1, span_str(a.id));
	rig_answer_release(&a);
}

static void
round_of(const struct kill *k)
{
	char parent[LIMIT_ID + 1];
	char request[32];
	struct rig_child c = { .parent = parent,
		.word = "1",
		.request_id = request,
		.wait_ms = 45000,
		.is_tool = chance(3) == 0 };
	struct rig_answer a;
	char id[LIMIT_ID + 1];

	any_parent(parent);
	if (chance(4) == 0) {
		c.parent = NULL;
		c.is_tool = false;
	}
	(void)text_fmt(request, sizeof(request), "r-%u", ++tree.requests);
	rig_call_child(&r, &a, &c);
	until_killed(k, &a);
	rig_answer_release(&a);
	rig_start(&r, k->stays ? k->point : NULL);
	if (k->never)
		return;
	/* One that failed is asked for anew, and that is a reserve. */
	settle(&c, !k->stays && chance(4) == 0, id);
	if (c.parent == NULL) {
		delete_tree(id);
		return;
	}
	tree.there++;
	tree.total++;
}

static void
check(const char *where)
{
	static struct rig_row rows[RIG_ROWS];
	size_t n = rig_list(&r, tree.root, rows);

	if (n != tree.there || used_total(tree.root) != tree.total)
		fail_msg("%s: %zu are there and %u charged, not %zu and %u",
		    where, n, (unsigned)used_total(tree.root), tree.there,
		    (unsigned)tree.total);
	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].state, "running") != 0)
			fail_msg("%s: %s is %s", where, rows[i].full_name,
			    rows[i].state);
	/* The root has one too, and there is no other. */
	assert_int_equal(rig_list(&r, "", rows), n + 1);
	assert_int_equal(rig_guests(&r), n + 1);
}

static void
killed_at(const struct kill *k)
{
	size_t rounds = rig_number("NACRE_STORM_ROUNDS", ROUNDS);

	if (k->stays) {
		rig_kill(&r);
		rig_start(&r, k->point);
	} else if (k->by == AT_POINT) {
		rounds = (rounds + 4) / 5; /* each takes two gateways */
	}
	for (size_t i = 0; i < rounds; i++) {
		if (k->by == AT_POINT && !k->stays) {
			rig_kill(&r);
			rig_start(&r, k->point);
		}
		round_of(k);
		check(k->where);
		if (tree.there > CROWD)
			thin();
	}
	if (k->stays) {
		rig_kill(&r);
		rig_start(&r, NULL);
	}
}

static void
a_kill_on_the_way_of_a_create_loses_and_doubles_nothing(void **state)
{
	(void)state;
	memcpy(tree.root, rig_new_root(&r, "lead")->sandbox, sizeof(tree.root));
	grant(tree.root, "create", 3, 64, 4096);
	for (size_t i = 0; i < NELEM(kills); i++)
		killed_at(&kills[i]);
	delete_tree(tree.root);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_many_creates_at_once_as_many_start_as_may),
		cmocka_unit_test(a_storm_of_retries_starts_one),
		cmocka_unit_test(a_root_that_never_ran_leaves_its_request_id),
		cmocka_unit_test(
		    a_kill_on_the_way_of_a_create_loses_and_doubles_nothing),
	};

	return rig_main(argc, argv, &r, tests, NELEM(tests));
}
