/* rooms: grant */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge against a model of GRANTS.md that is too simple to be wrong: long
 * random walks of calls, starts, stops, grant changes, crashes and jumps of
 * time over several trees. Every answer, and after each step every state and
 * the counters, are equal on both sides (tests/lib/grant_pair.h).
 */
#include "../lib/grant_pair.h"
#include "../lib/unit.h"

enum {
	STEPS = 20000,
	SHORT_WALKS = 40,
	SHORT_STEPS = 500,
	PACE_STEPS = 200,
	TREES = 3, /* at one time */
	REQUESTS = 12,
};

enum tempo {
	EVEN,
	STORM, /* many creates below one root in little time */
	SLOW,
};

static struct pair p;
static int root[TREES];
static enum tempo tempo;
static int storm_root;
static uint64_t seed;

static uint32_t
chance(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

static int
below(int n)
{
	return (int)chance((uint32_t)n);
}

static bool
is_deleted(int box)
{
	return strcmp(p.m.box[box].state, "deleted") == 0;
}

/* Mostly young boxes of the trees that are there, and few deleted ones. */
static int
any_box(void)
{
	int box = 0;

	if (tempo == STORM && chance(2))
		return storm_root;
	for (int tries = 0; tries < 6; tries++) {
		int young = p.m.boxes - 1 - below(40);

		if (chance(4) == 0)
			return root[below(TREES)];
		box = young >= 0 && chance(4) ? young : below(p.m.boxes);
		if (!is_deleted(box))
			break;
	}
	return box;
}

/* Whom a box belongs to, its parent, and now and then anybody. */
static struct pair_asker
any_asker(int box)
{
	struct pair_asker a = { .c = { .box = -1, .has_scope = true } };
	uint32_t who = chance(8);

	a.c.user = p.m.tree[p.m.box[box].tree].user;
	if (who == 0) {
		a.c.user = below(MODEL_USERS);
		a.c.has_scope = chance(2);
	} else if (who == 1) {
		a.c.user = 2;
		a.c.is_admin = true;
	} else if (who == 2) {
		a.c.box = any_box();
		a.c.is_outside = chance(4) == 0;
	} else if (who > 4) {
		a.c.box = p.m.box[box].parent;
	}
	return a;
}

static struct grant_wish
any_wish(bool is_whole)
{
	static const uint32_t sizes[3][GRANT_LIMITS] = { { 2, 3, 6 },
		{ 4, 8, 40 }, { 16, 256, 4096 } };
	const uint32_t *most = sizes[chance(3)];
	struct grant_wish w = { .programs_n = 1 };

	for (int l = 0; l < GRANT_LIMITS; l++) {
		w.has[l] = is_whole || chance(2);
		w.max[l] = chance(most[l] + 1);
	}
	w.has_expiry = is_whole || chance(4) == 0;
	w.expires_ms = p.r.now.wall_ms + 1 + chance(chance(4) ? 600000 : 3000);
	w.programs[0] = (struct grant_program){ .path = SPAN_LIT("/bin/pi"),
		.has_sha256 = true };
	return w;
}

static void
step_grant(int box)
{
	static const enum grant_act acts[] = { GRANT_ACT_CREATE, GRANT_ACT_GET,
		GRANT_ACT_UPDATE, GRANT_ACT_CREATE, GRANT_ACT_UPDATE,
		GRANT_ACT_REVOKE };
	struct pair_asker a = any_asker(box);
	enum grant_act act = acts[chance(NELEM(acts))];
	struct grant_wish w = any_wish(act == GRANT_ACT_CREATE);

	if (act != GRANT_ACT_REVOKE || chance(3) == 0)
		pair_act(&p, &a, act, box, &w);
}

static void
step_create(int parent)
{
	struct pair_asker a = any_asker(parent);
	struct pair_wanted w = {
		.parent = a.c.box >= 0 ? a.c.box : parent,
		.name = chance(3) ? 0 : below((int)NELEM(rows_names)),
		.request_id = chance(2) ? 1 + below(REQUESTS) : 0,
		.arguments = chance(8) ? 0 : 1,
		.is_tool = chance(3) == 0,
	};

	if (!pair_call(&p, &a, w.parent) || !pair_create(&p, &a, &w))
		return;
	/* Something else is committed while the proof runs. */
	if (chance(6) == 0)
		step_grant(p.m.tree[p.m.box[w.parent].tree].root);
	pair_reserve(&p, &a, &w);
}

static void
step_use(int box)
{
	struct pair_asker a = any_asker(box);

	if (pair_call(&p, &a, box))
		pair_use(&p, &a, box);
}

static void
step_start(int box)
{
	struct pair_asker a = any_asker(box);

	pair_start(&p, &a, box);
}

static void
step_outcome(void)
{
	int from = below(p.m.boxes);
	bool ran = chance(4) > 0;

	for (int i = 0; i < p.m.boxes; i++) {
		int box = (from + i) % p.m.boxes;

		if (strcmp(p.m.box[box].state, "starting") != 0)
			continue;
		pair_outcome(&p, box, ran);
		return;
	}
}

static void
step_stop(int box)
{
	struct pair_asker a = any_asker(box);

	/* A whole tree goes once in a while only. */
	if ((p.m.box[box].parent >= 0 || chance(12) == 0) &&
	    pair_call(&p, &a, box))
		pair_stop(&p, &a, box, (enum grant_cascade)chance(3));
}

static void
step_level(void)
{
	if (p.cascades > 0)
		pair_level(&p, chance((uint32_t)p.cascades));
}

static void
pass_time(void)
{
	static const uint32_t slowness[] = { 40, 4, 1000 };
	uint32_t how = chance(tempo == STORM ? 2000 : 400);
	int64_t ms = how == 0 ? chance(400000)
			      : chance(how < 20 ? 2000 : slowness[tempo]);
	int64_t jump = how == 1 ? -(int64_t)chance(3600000)
	    : how == 2          ? (int64_t)chance(100000)
				: 0;

	pair_pass_time(&p, ms, jump);
}

static void
next_tempo(void)
{
	struct grant_wish w = any_wish(true);

	tempo = (enum tempo)chance(3);
	storm_root = root[below(TREES)];
	if (tempo != STORM)
		return;
	w.max[GRANT_BREADTH] = 64;
	w.max[GRANT_TOTAL] = 200;
	w.expires_ms = p.r.now.wall_ms + 100000;
	pair_set_grant(&p, p.m.box[storm_root].tree, &w);
}

static void
step_any(size_t what)
{
	switch (what) {
	case 0:
		step_create(any_box());
		break;
	case 1:
		step_use(any_box());
		break;
	case 2:
		step_start(any_box());
		break;
	case 3:
		pair_next(&p);
		break;
	case 4:
		step_outcome();
		break;
	case 5:
		step_stop(any_box());
		break;
	case 6:
		pair_end(&p, any_box());
		break;
	case 7:
		step_level();
		break;
	case 8:
		step_grant(chance(4) ? root[below(TREES)] : any_box());
		break;
	default:
		pair_crash(&p);
	}
}

static void
step(void)
{
	/* Of a thousand: create, use, start, next, outcome, stop, end, level,
	 * grant; the rest are crashes. */
	static const uint32_t share[][9] = {
		{ 340, 100, 60, 140, 120, 50, 20, 80, 85 },
		{ 800, 60, 40, 40, 20, 9, 1, 10, 18 },
		{ 220, 80, 100, 140, 140, 60, 40, 130, 85 },
	};
	uint32_t what = chance(1000);
	size_t i = 0;

	while (i < NELEM(share[0]) && what >= share[tempo][i])
		what -= share[tempo][i++];
	step_any(i);
}

static void
walk(uint64_t from_seed, size_t steps)
{
	seed = from_seed;
	pair_init(&p);
	for (int i = 0; i < TREES; i++)
		root[i] = pair_new_tree(&p, below(2));
	for (p.step = 0; p.step < steps; p.step++) {
		if (p.step % PACE_STEPS == 0)
			next_tempo();
		pass_time();
		step();
		for (int i = 0; i < TREES; i++) {
			if (is_deleted(root[i]))
				root[i] = pair_new_tree(&p, below(2));
			pair_compare(&p, p.m.box[root[i]].tree, any_box());
		}
	}
	pair_release(&p);
}

static void
a_long_walk_has_one_outcome(void **state)
{
	(void)state;
	walk(20261129, STEPS);
	assert_true(p.m.boxes > 500);
	assert_true(p.m.grants > 50);
}

static void
many_short_walks_have_one_outcome(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= SHORT_WALKS; i++)
		walk(i * 0x9e3779b97f4a7c15, SHORT_STEPS);
}

/* A walk that never comes somewhere shows nothing about it. */
static void
every_answer_was_met(void **state)
{
	static const int never[] = { GRANT_POLICY_EXCEEDS_PARENT,
		GRANT_POLICY_EXCEEDS_MAXIMUM, GRANT_POLICY_UNSUPPORTED,
		GRANT_POLICY_INVALID, GRANT_START_FAILED };

	(void)state;
	for (int i = 0; i < PAIR_KINDS; i++) {
		bool is_met = true;

		for (size_t n = 0; n < NELEM(never); n++)
			is_met = is_met && i != never[n];
		if (is_met && p.seen[i] < 50)
			fail_msg("kind %d came %zu times", i, p.seen[i]);
	}
	for (int l = 0; l < GRANT_LIMITS; l++)
		assert_true(p.limits[l] > 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_walk_has_one_outcome),
		cmocka_unit_test(many_short_walks_have_one_outcome),
		cmocka_unit_test(every_answer_was_met),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
