/* rooms: gateway */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole gateway against the model of GRANTS.md that grant_model.h is: a
 * long random walk of creates, starts, stops, deletes and grant changes by
 * users and through the doors of guests, of guests that come up, fail, end
 * and die, of time that passes and jumps, and of kills of the gateway, also in
 * the middle of a call. Every answer is the model's; after each step every
 * state, and each tree's count, is. NACRE_WALK_SEED and NACRE_WALK_STEPS
 * choose another walk.
 */
#include <signal.h>

#include "../lib/rig_pair.h"
#include "../lib/rig_program.h"
#include "../lib/unit.h"

enum {
	STEPS = 10000,
	CROWD = 40,  /* live ones, of the 64 machines that a gateway holds */
	FAMILY = 70, /* undeleted ones of a tree: then some are deleted */
	REQUESTS = 10,
	ARGUMENTS = 3,
	ALL = 10, /* steps between two looks at all trees */
};

static struct rig_pair p;
static uint64_t seed;

static const char *const names[] = { NULL, "a", "bee", "c-3", "worker" };
static const char *const words[ARGUMENTS] = { "1", "22", "333" };

/* --- chance */

static uint32_t
chance(uint32_t n)
{
	return rig_chance(&seed, n);
}

static int
below(int n)
{
	return (int)chance((uint32_t)n);
}

static bool
is(int b, const char *state)
{
	return rig_pair_is(&p, b, state);
}

/* One that is there; else a root. */
static int
any_box(void)
{
	int tree = p.m.box[p.root[below(RIG_PAIR_TREES)]].tree;

	for (int tries = 0; tries < 30; tries++) {
		int b =
		    p.m.boxes - 1 - below(p.m.boxes < 400 ? p.m.boxes : 400);

		if (p.m.box[b].tree == tree &&
		    (!is(b, "deleted") || chance(40) == 0))
			return b;
	}
	return p.m.tree[tree].root;
}

static int
any_in_state(const char *state)
{
	int from = below(p.m.boxes);

	for (int i = 0; i < p.m.boxes; i++) {
		int b = (from + i) % p.m.boxes;

		if (is(b, state))
			return b;
	}
	return -1;
}

/* --- steps */

/* NULL: a user. Else somebody who can speak, mostly of the tree. */
static struct rig_guest *
any_speaker(int b, struct model_caller *c)
{
	struct rig_guest *g;
	int who = chance(3) == 0 ? any_box() : p.m.box[b].parent;

	*c = (struct model_caller){ .box = -1,
		.is_admin = true,
		.has_scope = true };
	if (chance(3) == 0)
		who = b;
	if (chance(2) == 0 || who < 0 || !is(who, "running"))
		return NULL;
	g = rig_guest_of(&p.r, p.box[who].id);
	if (g == NULL || !g->is_open)
		return NULL;
	*c = (struct model_caller){ .box = who, .is_outside = chance(10) == 0 };
	return g;
}

static const char *
program_of(const struct model_caller *c)
{
	return c->is_outside ? "/bin/sh" : RIG_PROGRAM;
}

/* A call with its rate; the model's refusal, or NULL. */
static const char *
admitted(const struct model_caller *c)
{
	const char *word = c->box < 0 ? "ok" : model_call(&p.m, c);

	return strcmp(word, "ok") == 0 ? NULL : word;
}

struct create {
	struct rig_child c;
	char request[16];
	int parent;
	int name;
	int request_id;
	int arguments;
};

static const char *
judge(const struct model_caller *c, const struct create *k)
{
	const char *word = admitted(c);

	if (word != NULL)
		return word;
	word = model_see(&p.m, c, k->parent);
	if (strcmp(word, "ok") != 0)
		return word;
	if (k->request_id > 0) {
		word = model_repeat(&p.m, c, k->parent, k->request_id,
		    k->arguments);
		if (strcmp(word, "ok") != 0)
			return word;
	}
	return model_reserve(&p.m, c, k->parent, k->c.is_tool, k->name);
}

static void
take_create(const struct model_caller *c, const struct create *k,
    const char *id)
{
	int b = rig_pair_add(&p, k->parent, k->c.is_tool, k->name, id);

	if (k->request_id > 0)
		model_remember(&p.m, c, k->parent, k->request_id, k->arguments,
		    b);
}

static void
make_create(struct create *k, int parent)
{
	int word = below(ARGUMENTS);

	*k = (struct create){ .parent = parent,
		.name = chance(3) ? 0 : below((int)NELEM(names)),
		.request_id = chance(2) ? 1 + below(REQUESTS) : 0 };
	if (chance(5))
		word = 0;
	k->c.is_tool = chance(3) == 0;
	k->c.parent = p.box[parent].id;
	k->c.name = names[k->name];
	k->c.word = words[word];
	k->arguments = (word * 2 + k->c.is_tool) * 10 + k->name;
	if (k->request_id > 0) {
		(void)text_fmt(k->request, sizeof(k->request), "r-%d",
		    k->request_id);
		k->c.request_id = k->request;
	}
}

static size_t
crowd(void)
{
	size_t n = 0;

	for (int b = 0; b < p.m.boxes; b++)
		n += model_is_live(&p.m, b);
	return n;
}

static void
step_create(int parent)
{
	struct model_caller c;
	struct rig_guest *g = any_speaker(parent, &c);
	struct rig_answer a;
	struct create k;
	char want[64];

	if (crowd() >= CROWD)
		return;
	p.what = "create below";
	make_create(&k, c.box >= 0 ? c.box : parent);
	(void)text_copy(want, sizeof(want), span_str(judge(&c, &k)));
	if (g != NULL)
		rig_door_child(g, &a, &k.c, program_of(&c));
	else
		rig_call_child(&p.r, &a, &k.c);
	rig_until(&p.r, &a.is_done, "a create");
	if (g == NULL && a.is_yes)
		rig_answer_child(&a);
	if (rig_pair_agree(&p, &a, want))
		take_create(&c, &k, a.id);
	rig_answer_release(&a);
}

enum cut {
	CUT_UNREAD, /* killed before it has read the call */
	CUT_BEFORE, /* before the commit */
	CUT_AFTER,  /* before the answer */
	CUT_ANSWERED,
	CUTS,
};

static void
restart(const char *crash)
{
	rig_kill(&p.r);
	model_restarted(&p.m);
	rig_start(&p.r, crash);
}

/* The one below that root that the model does not know; NULL: none. */
static const char *
stranger(int tree)
{
	static struct rig_row rows[RIG_ROWS];
	size_t n = rig_list(&p.r, p.box[p.m.tree[tree].root].id, rows);
	const char *id = NULL;

	for (size_t i = 0; i < n; i++) {
		if (rig_pair_find(&p, rows[i].id, tree) >= 0)
			continue;
		assert_null(id);
		id = rows[i].id;
	}
	return id;
}

/* The gateway is killed on the way of a user's create. */
static void
step_cut(int parent)
{
	static const char *const points[CUTS] = { NULL, "before_commit",
		"after_reserve", NULL };
	const struct model_caller c = { .box = -1, .is_admin = true };
	enum cut cut = (enum cut)chance(CUTS);
	struct rig_answer a;
	struct create k;
	char want[64];
	const char *id;

	p.what = "create and kill below";
	if (crowd() >= CROWD)
		return;
	make_create(&k, parent);
	if (points[cut] != NULL)
		restart(points[cut]);
	(void)text_copy(want, sizeof(want), span_str(judge(&c, &k)));
	if (cut == CUT_UNREAD)
		(void)kill(p.r.gateway, SIGSTOP);
	rig_call_child(&p.r, &a, &k.c);
	while (cut != CUT_UNREAD && !a.is_done && !rig_is_dead(&p.r))
		rig_tick(&p.r);
	if (a.is_done && a.is_yes)
		rig_answer_child(&a);
	if (a.is_done && !a.is_lost)
		(void)rig_pair_agree(&p, &a, want);
	restart(NULL);
	id = stranger(p.m.box[parent].tree);
	if ((id != NULL) !=
	    (strcmp(want, "ok") == 0 &&
		(cut == CUT_AFTER || cut == CUT_ANSWERED)))
		rig_pair_differ(&p, id != NULL ? id : "none", want, a.text);
	if (id != NULL)
		take_create(&c, &k, id);
	rig_answer_release(&a);
}

static void
step_outcome(void)
{
	int b = any_in_state("starting");
	struct rig_guest *g;
	bool ran = chance(5) > 0;

	p.what = "outcome";
	if (b < 0)
		return;
	p.about = b;
	g = rig_launched(&p.r, p.box[b].id);
	if (ran)
		rig_say_ready(g);
	else
		rig_say_failed(g);
	model_started(&p.m, b, ran);
}

static void
step_stop(int b)
{
	bool is_delete = chance(2);
	const char *tool = is_delete ? "delete_sandbox" : "stop_sandbox";
	struct model_caller c;
	struct rig_guest *g = any_speaker(b, &c);
	struct rig_answer a;
	const char *want;
	char text[80];

	p.what = tool;
	want = admitted(&c);
	if (want == NULL)
		want = model_stop(&p.m, &c, b);
	if (g != NULL) {
		(void)text_fmt(text, sizeof(text), "{\"id\":\"%s\"}",
		    p.box[b].id);
		rig_door(g, &a, tool, text, program_of(&c));
	} else if (is_delete) {
		rig_call_delete(&p.r, &a, p.box[b].id);
	} else {
		rig_call_stop(&p.r, &a, p.box[b].id);
	}
	rig_until(&p.r, &a.is_done, tool);
	if (rig_pair_agree(&p, &a, want))
		rig_pair_cascade(&p, b, is_delete ? "delete" : "stop");
	rig_answer_release(&a);
}

static void
step_start(int b)
{
	const struct model_caller c = { .box = -1, .is_admin = true };
	struct rig_answer a;
	const char *want;

	p.what = "start";
	if (!is(b, "stopped") || crowd() >= CROWD)
		return;
	want = model_restart(&p.m, &c, b);
	rig_call_start(&p.r, &a, p.box[b].full_name);
	rig_until(&p.r, &a.is_done, "a start");
	if (rig_pair_agree(&p, &a, want)) {
		p.m.box[b].state = "reserved";
		p.box[b].place = ++p.places;
	}
	rig_answer_release(&a);
}

/* The main process of an agent is over. A root's machine stays. */
static void
step_end(int b)
{
	p.what = "end";
	if (!is(b, "running") || p.m.box[b].is_tool || p.m.box[b].parent < 0)
		return;
	rig_say_exit(rig_launched(&p.r, p.box[b].id));
	p.m.box[b].ends = true;
	rig_pair_cascade(&p, b, "stop");
}

static void
step_lose(int b)
{
	struct rig_guest *g = rig_guest_of(&p.r, p.box[b].id);

	p.what = "loss";
	if (!is(b, "running") || g == NULL || chance(4) > 0)
		return;
	rig_lose(g);
	rig_pair_cascade(&p, b, "stop");
}

static void
step_grant(int b)
{
	static const char *const acts[] = { "create", "update", "create",
		"update", "create", "revoke" };
	const struct model_caller c = { .box = -1,
		.is_admin = true,
		.has_scope = true };
	const char *act = acts[chance(NELEM(acts))];
	struct rig_limits l = { { -1, -1, -1 }, 0 };
	struct rig_answer a;
	const char *want;

	p.what = act;
	if (strcmp(act, "revoke") == 0 && chance(3) > 0)
		return;
	if (strcmp(act, "revoke") != 0)
		rig_pair_limits(&seed, &l, strcmp(act, "create") == 0);
	if (l.max[0] < 0 && l.max[1] < 0 && l.max[2] < 0 && l.life_s == 0)
		l.max[2] = 9;
	want = model_act(&p.m, &c, act, b);
	rig_ask_grant(&p.r, &a, act, p.box[b].id, &l);
	if (rig_pair_agree(&p, &a, want))
		rig_pair_act(&p, act, p.m.box[b].tree, &l);
	rig_answer_release(&a);
}

/* Of grants a sandbox may do nothing, whosever it is. */
static void
step_reach(int b)
{
	static const char *const tools[] = { "revoke_grant", "create_grant",
		"update_grant", "list_grants", "get_sandbox" };
	const char *tool = tools[chance(NELEM(tools))];
	struct model_caller c;
	struct rig_guest *g = any_speaker(b, &c);
	struct rig_answer a;
	const char *want;
	char text[80];

	p.what = tool;
	if (g == NULL)
		return;
	want = admitted(&c);
	if (want == NULL)
		want = strcmp(tool, "get_sandbox") == 0 ? model_see(&p.m, &c, b)
							: "NOT_ALLOWED scope";
	(void)text_fmt(text, sizeof(text), "{\"%s\":\"%s\"}",
	    strcmp(tool, "get_sandbox") == 0 ? "id" : "sandbox", p.box[b].id);
	rig_door(g, &a, tool, strcmp(tool, "list_grants") == 0 ? "{}" : text,
	    program_of(&c));
	rig_until(&p.r, &a.is_done, tool);
	(void)rig_pair_agree(&p, &a, want);
	rig_answer_release(&a);
}

static void
step_crash(void)
{
	bool is_clean = chance(4) == 0;

	p.what = is_clean ? "restart" : "crash";
	if (is_clean)
		rig_stop(&p.r);
	else
		rig_kill(&p.r);
	p.m.wall = p.r.clock->wall_ms;
	p.m.mono = p.r.clock->mono_ms;
	model_sweep(&p.m);
	model_restarted(&p.m);
	rig_start(&p.r, NULL);
}

static void
pass(int64_t ms, int64_t jump)
{
	p.m.mono += ms;
	p.m.wall += ms + jump;
	rig_pass(&p.r, ms, jump);
	model_sweep(&p.m);
}

static void
pass_time(void)
{
	uint32_t how = chance(300);
	int64_t ms = how == 0 ? chance(60000) : chance(how < 20 ? 2000 : 60);
	int64_t jump = how == 1 ? -(int64_t)chance(40000000)
	    : how == 2          ? (int64_t)chance(100000)
				: 0;

	/* A guest that does not come up in time fails; none here is late. */
	if (ms > 2000)
		for (int b; (b = any_in_state("starting")) >= 0;) {
			rig_say_ready(rig_launched(&p.r, p.box[b].id));
			model_started(&p.m, b, true);
			rig_pair_compare(&p, -1);
		}
	pass(ms, jump);
	/* A clock that was set is seen within a second. */
	if (jump != 0)
		pass(1000, 0);
	rig_renew(&p.r);
}

static void
step_any(uint32_t at)
{
	int b = any_box();

	p.about = b;
	if (at < 400)
		step_create(b);
	else if (at < 600)
		step_outcome();
	else if (at < 680)
		step_stop(b);
	else if (at < 750)
		step_start(b);
	else if (at < 800)
		step_end(b);
	else if (at < 830)
		step_lose(b);
	else if (at < 930)
		step_grant(chance(4) ? p.root[below(RIG_PAIR_TREES)] : b);
	else if (at < 980)
		step_reach(b);
	else if (at < 990)
		step_cut(b);
	else
		step_crash();
}

static void
step_family(int tree)
{
	struct rig_answer a;
	int n = 0;

	for (int b = 0; b < p.m.boxes; b++)
		n += p.m.box[b].tree == tree && !is(b, "deleted");
	if (n > FAMILY) {
		p.what = "end of a family";
		rig_call_delete(&p.r, &a, p.box[p.m.tree[tree].root].id);
		rig_until(&p.r, &a.is_done, "a root's end");
		assert_true(a.is_yes);
		rig_answer_release(&a);
		rig_pair_cascade(&p, p.m.tree[tree].root, "delete");
	}
}

static void
a_long_walk_has_one_outcome(void **state)
{
	size_t steps = rig_number("NACRE_WALK_STEPS", STEPS);

	(void)state;
	seed = rig_number("NACRE_WALK_SEED", 20261129);
	printf("# seed %llu, %zu steps\n", (unsigned long long)seed, steps);
	p.what = "the beginning";
	rig_init(&p.r);
	rig_start(&p.r, NULL);
	p.m.wall = p.r.clock->wall_ms;
	p.m.mono = p.r.clock->mono_ms;
	for (int i = 0; i < RIG_PAIR_TREES; i++)
		p.root[i] = rig_pair_new_tree(&p);
	for (p.step = 0; p.step < steps; p.step++) {
		pass_time();
		step_any(chance(1000));
		rig_pair_compare(&p,
		    p.step % ALL == 0 ? -1 : p.m.box[p.about].tree);
		for (int i = 0; i < RIG_PAIR_TREES; i++) {
			step_family(p.m.box[p.root[i]].tree);
			if (is(p.root[i], "deleted"))
				p.root[i] = rig_pair_new_tree(&p);
		}
	}
	rig_pair_compare(&p, -1);
	printf("# %d sandboxes, %d grants, %u machines\n", p.m.boxes,
	    p.m.grants, p.r.spawned);
	rig_stop(&p.r);
	rig_clear(&p.r);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_walk_has_one_outcome),
	};

	return rig_main(argc, argv, NULL, tests, NELEM(tests));
}
