/* SPDX-License-Identifier: Apache-2.0 */
/* Every question of the judge, from tests/data/grant/judge. */
#include "../../lib/table.h"
#include "../../lib/unit.h"
#include "base/base.h"
#include "grant/grant.h"

enum {
	NODES = 9,
	HOUR_MS = 3600000,
};

static const struct grant_now now = { 1795953600000, 5000000 };

struct world {
	struct grant_node node[NODES];
	struct grant grant;
	struct grant_tree tree;
	struct grant_queue queue;
	struct grant_caller caller;
	struct span name;
	struct span asked;
	bool has_asked;
	struct span mods;
};

static const struct row {
	const char *name;
	uint32_t parent;
	uint32_t depth;
	enum grant_kind kind;
	enum grant_life life;
} rows[NODES] = {
	{ "lead", GRANT_NOBODY, 0, GRANT_AGENT, GRANT_RUNNING },
	{ "worker", 0, 1, GRANT_AGENT, GRANT_RUNNING },
	{ "leaf", 1, 2, GRANT_AGENT, GRANT_RUNNING },
	{ "shell", 1, 1, GRANT_TOOL, GRANT_RUNNING },
	{ "spare", 1, 2, GRANT_AGENT, GRANT_STOPPED },
	{ "tool", 0, 0, GRANT_TOOL, GRANT_RUNNING },
	{ "bench", 0, 0, GRANT_TOOL, GRANT_STOPPED },
	{ "old", 0, 1, GRANT_AGENT, GRANT_ENDED },
	{ "gone", 0, 1, GRANT_AGENT, GRANT_DELETED },
};

static void
world_init(struct world *w)
{
	*w = (struct world){ .grant = { .id = SPAN_LIT("g"),
				 .max = { 2, 9, 9 },
				 .used_total = 4,
				 .created_ms = now.wall_ms - HOUR_MS,
				 .expires_ms = now.wall_ms + HOUR_MS,
				 .programs_n = 1,
				 .programs = {
				     { .path = SPAN_LIT("/bin/pi") } } } };
	for (size_t i = 0; i < NODES; i++)
		w->node[i] = (struct grant_node){ .name =
						      span_str(rows[i].name),
			.parent = rows[i].parent,
			.depth = rows[i].depth,
			.kind = rows[i].kind,
			.life = rows[i].life,
			.is_counted = i > 0 && grant_is_live(rows[i].life) };
	w->tree = (struct grant_tree){ w->node, NODES, SPAN_LIT("uid:1000"),
		&w->grant };
	grant_arm(&w->grant, now);
	grant_queue_init(&w->queue);
}

static uint32_t
node_named(const struct world *w, struct span name)
{
	for (uint32_t i = 0; i < NODES; i++)
		if (span_equal(w->node[i].name, name))
			return i;
	return GRANT_NOBODY;
}

static void
set_caller(struct world *w, const char *who)
{
	struct grant_caller *c = &w->caller;

	*c = (struct grant_caller){ .user = SPAN_LIT("uid:1000") };
	if (strcmp(who, "user") == 0) {
		c->may_grant = true;
	} else if (strcmp(who, "other") == 0) {
		c->user = SPAN_LIT("uid:1001");
		c->may_grant = true;
	} else if (strcmp(who, "admin") == 0) {
		c->user = SPAN_LIT("uid:0");
		c->is_admin = c->may_grant = true;
	} else if (strcmp(who, "token") != 0) {
		c->is_sandbox = true;
		c->node = node_named(w, span_str(who));
		assert_true(c->node < NODES || strcmp(who, "stranger") == 0);
	}
}

static void
set_grant(struct world *w, struct span state)
{
	if (span_is(state, "none")) {
		w->tree.grant = NULL;
	} else if (span_is(state, "revoked")) {
		w->grant.state = GRANT_DEAD_REVOKED;
		w->grant.ended_ms = now.wall_ms - 1000;
	} else {
		assert_true(span_is(state, "expired"));
		w->grant.expires_ms = now.wall_ms;
	}
}

static void
fill_queue(struct world *w)
{
	struct grant_refusal r;

	for (uint64_t i = 1; i <= GRANT_QUEUE_WAITING; i++)
		assert_int_equal(grant_queue_join(&w->queue,
				     &(struct grant_ticket){ i, 1, 7 }, &r),
		    0);
}

static enum grant_life
life_named(struct span s)
{
	enum grant_life l = GRANT_RESERVED;

	while (!span_is(s, grant_life_name(l))) {
		assert_true(l < GRANT_DELETED);
		l++;
	}
	return l;
}

static void
set_number(uint32_t *to, struct span value)
{
	uint64_t n;

	assert_true(num_parse(value, 9999, &n));
	*to = (uint32_t)n;
}

/* One "key=value" of what is different. */
static void
set(struct world *w, struct span key, struct span value)
{
	if (span_is(key, "grant"))
		set_grant(w, value);
	else if (span_is(key, "depth"))
		set_number(&w->grant.max[GRANT_DEPTH], value);
	else if (span_is(key, "breadth"))
		set_number(&w->grant.max[GRANT_BREADTH], value);
	else if (span_is(key, "total"))
		set_number(&w->grant.max[GRANT_TOTAL], value);
	else if (span_is(key, "name"))
		w->name = value;
	else if (span_is(key, "queue"))
		fill_queue(w);
	else if (span_is(key, "ask"))
		w->asked = value;
	else if (node_named(w, key) < NODES)
		w->node[node_named(w, key)].life = life_named(value);
	else
		fail_msg("what is %.*s", (int)key.len, (const char *)key.ptr);
}

static void
set_all(struct world *w, struct span mods)
{
	while (mods.len > 0) {
		size_t end = span_find(mods, ' ');
		struct span one = span_of(mods.ptr, end);
		size_t is = span_find(one, '=');

		set(w, span_of(one.ptr, is), span_from(one, is + 1));
		mods = span_from(mods, end + 1);
	}
}

static int
ask_create(const struct world *w, const struct grant_ask *ask, struct span verb,
    uint32_t node, struct grant_refusal *r)
{
	const struct span has[] = { SPAN_LIT("aws"), SPAN_LIT("github") };
	struct grant_child c = { node,
		span_is(verb, "tool") ? GRANT_TOOL : GRANT_AGENT, &w->asked,
		w->asked.len > 0, has, NELEM(has) };
	struct grant_slot s = { &w->queue, 1, w->name };
	struct grant_charge charge;

	if (!span_is(verb, "reserve"))
		return grant_may_create(ask, &c, r);
	if (grant_may_reserve(ask, &c, &s, &charge, r) < 0)
		return -1;
	assert_int_equal(charge.parent, node);
	assert_int_equal(charge.depth, w->node[node].depth + 1);
	assert_true(charge.breadth && charge.total);
	return 0;
}

static int
ask_start(const struct world *w, const struct grant_ask *ask, struct span verb,
    uint32_t node, struct grant_refusal *r)
{
	struct grant_slot s = { &w->queue, 1, { 0 } };
	struct grant_charge charge;

	if (span_is(verb, "start"))
		return grant_may_start(ask, node, r);
	if (grant_may_restart(ask, node, &s, &charge, r) < 0)
		return -1;
	assert_false(charge.total);
	assert_int_equal(charge.breadth, node != 0);
	return 0;
}

static bool
act_named(struct span verb, enum grant_act *act)
{
	static const char *const names[] = { "create-grant", "get-grant",
		"list-grants", "update-grant", "revoke-grant" };

	for (size_t i = 0; i < NELEM(names); i++) {
		if (!span_is(verb, names[i]))
			continue;
		*act = (enum grant_act)i;
		return true;
	}
	return false;
}

static int
ask_one(const struct world *w, struct span verb, uint32_t node, bool *starts,
    struct grant_refusal *r)
{
	const struct grant_ask ask = { &w->tree, &w->caller, now };
	enum grant_act act;

	if (act_named(verb, &act))
		return grant_may_act(&ask, act, node, r);
	if (span_is(verb, "see"))
		return grant_may_see(&ask, node, r);
	if (span_is(verb, "stop"))
		return grant_may_stop(&ask, node, r);
	if (span_is(verb, "exec"))
		return grant_may_exec(&ask, node, starts, r);
	if (span_is(verb, "file"))
		return grant_may_get_file(&ask, node, r);
	if (span_is(verb, "policy"))
		return grant_may_write_policy(&ask, node, r);
	if (span_is(verb, "start") || span_is(verb, "restart"))
		return ask_start(w, &ask, verb, node, r);
	return ask_create(w, &ask, verb, node, r);
}

/* The answer as the table writes it. */
static void
tell(int rc, bool starts, const struct grant_refusal *r, char *out, size_t size)
{
	const char *name = grant_code_name(r->code);

	if (rc == 0)
		(void)text_fmt(out, size, "%s", starts ? "start" : "ok");
	else if (r->code == GRANT_NOT_ALLOWED)
		(void)text_fmt(out, size, "%s %s", name,
		    grant_why_name(r->why));
	else if (r->code == GRANT_LIMIT_REACHED)
		(void)text_fmt(out, size, "%s %s %u/%u", name,
		    grant_limit_name(r->limit), r->used, r->max);
	else if (r->code == GRANT_NOT_READY)
		(void)text_fmt(out, size, "%s %s", name, r->state);
	else if (r->code == GRANT_INVALID_ARGUMENT)
		(void)text_fmt(out, size, "%s %s", name, r->field);
	else if (r->code == GRANT_ALREADY_EXISTS)
		(void)text_fmt(out, size, "%s %.*s", name, (int)r->name.len,
		    (const char *)r->name.ptr);
	else
		(void)text_fmt(out, size, "%s", name);
}

static void
every_question_has_its_answer(void **state)
{
	struct table t;
	struct world w;
	size_t n = 0;

	(void)state;
	table_open(&t, "grant/judge");
	while (table_next(&t)) {
		struct span verb = span_str(t.cell[1]);
		size_t blank = span_find(verb, ' ');
		struct grant_refusal r = { 0 };
		bool starts = false;
		char got[128];
		int rc;

		if (t.cell[0][0] == '\0')
			continue;
		world_init(&w);
		set_caller(&w, t.cell[0]);
		set_all(&w, span_str(t.cell[2]));
		rc = ask_one(&w, span_of(verb.ptr, blank),
		    node_named(&w, span_from(verb, blank + 1)), &starts, &r);
		tell(rc, starts, &r, got, sizeof(got));
		if (strcmp(got, t.cell[3]) != 0)
			fail_msg("line %zu: %s", t.line, got);
		if (rc < 0 && (!r.message[0] || !r.hint[0]))
			fail_msg("line %zu: no message or no hint", t.line);
		n++;
	}
	assert_true(n > 180);
}

static void
a_hint_names_the_command_that_helps(void **state)
{
	struct world w;
	struct grant_ask ask = { &w.tree, &w.caller, now };
	struct grant_child c = { .parent = 2, .kind = GRANT_AGENT };
	struct grant_refusal r;

	(void)state;
	world_init(&w);
	set_caller(&w, "leaf");
	assert_int_equal(grant_may_create(&ask, &c, &r), -1);
	assert_string_equal(r.message, "the grant's depth is used up: 2 of 2");
	assert_string_equal(r.hint,
	    "open a tool child, or do the work here; only the user can raise "
	    "it: nacre grant update lead --max-depth N");
	assert_true(span_is(r.raised_by, "uid:1000"));
}

static void
a_dead_grant_says_when_it_died(void **state)
{
	struct world w;
	struct grant_ask ask = { &w.tree, &w.caller, now };
	struct grant_child c = { .parent = 0, .kind = GRANT_AGENT };
	struct grant_refusal r;

	(void)state;
	world_init(&w);
	set_caller(&w, "lead");
	set_grant(&w, SPAN_LIT("revoked"));
	assert_int_equal(grant_may_create(&ask, &c, &r), -1);
	assert_int_equal(r.at_ms, now.wall_ms - 1000);
	world_init(&w);
	set_caller(&w, "lead");
	set_grant(&w, SPAN_LIT("expired"));
	assert_int_equal(grant_may_create(&ask, &c, &r), -1);
	assert_int_equal(r.at_ms, now.wall_ms);
}

static void
a_grant_dies_by_either_clock_and_stays_dead(void **state)
{
	struct world w;
	struct grant *g = &w.grant;

	(void)state;
	world_init(&w);
	assert_int_equal(
	    grant_state_at(g,
		(struct grant_now){ g->expires_ms - 1, g->deadline_ms - 1 }),
	    GRANT_LIVE);
	assert_int_equal(
	    grant_state_at(g, (struct grant_now){ g->expires_ms, 0 }),
	    GRANT_DEAD_EXPIRED);
	/* The wall clock was set back by a day. */
	assert_int_equal(
	    grant_state_at(g,
		(struct grant_now){ g->expires_ms - 86400000, g->deadline_ms }),
	    GRANT_DEAD_EXPIRED);
	grant_end(g, GRANT_DEAD_EXPIRED,
	    (struct grant_now){ g->expires_ms, g->deadline_ms });
	assert_int_equal(grant_state_at(g, (struct grant_now){ 0, 0 }),
	    GRANT_DEAD_EXPIRED);
	assert_int_equal(g->ended_ms, g->expires_ms);
}

static void
a_dead_grant_keeps_how_it_died(void **state)
{
	struct world w;
	struct grant_now late = { now.wall_ms + 2 * HOUR_MS,
		now.mono_ms + 2 * HOUR_MS };
	uint64_t generation;

	(void)state;
	world_init(&w);
	grant_end(&w.grant, GRANT_DEAD_REVOKED, now);
	generation = w.grant.generation;
	grant_end(&w.grant, GRANT_DEAD_EXPIRED, late);
	grant_end(&w.grant, GRANT_DEAD_REVOKED, late);
	assert_int_equal(w.grant.state, GRANT_DEAD_REVOKED);
	assert_int_equal(w.grant.ended_ms, now.wall_ms);
	assert_int_equal(w.grant.generation, generation);
	grant_end(&w.grant, GRANT_DEAD_REPLACED, late);
	assert_int_equal(w.grant.state, GRANT_DEAD_REPLACED);

	world_init(&w);
	grant_end(&w.grant, GRANT_DEAD_REVOKED, late);
	assert_int_equal(w.grant.state, GRANT_DEAD_EXPIRED);
	assert_int_equal(w.grant.ended_ms, w.grant.expires_ms);
}

static void
an_update_changes_what_it_names(void **state)
{
	struct world w;
	struct grant_wish wish = { .has = { false, true, false },
		.max = { 0, 1, 0 } };
	struct fault f;

	(void)state;
	world_init(&w);
	grant_update(&w.grant, &wish, now);
	assert_int_equal(w.grant.max[GRANT_DEPTH], 2);
	assert_int_equal(w.grant.max[GRANT_BREADTH], 1);
	assert_int_equal(w.grant.max[GRANT_TOTAL], 9);
	assert_int_equal(w.grant.used_total, 4);
	assert_int_equal(w.grant.generation, 1);
	assert_true(span_is(w.grant.programs[0].path, "/bin/pi"));
	assert_int_equal(w.grant.expires_ms, now.wall_ms + HOUR_MS);

	wish = (struct grant_wish){ 0 };
	assert_int_equal(grant_wish_program(&wish, span_str("/bin/a"), &f), 0);
	assert_int_equal(grant_wish_program(&wish, span_str("/bin/b"), &f), 0);
	assert_int_equal(
	    grant_wish_expires(&wish, span_str("90s"), now.wall_ms, &f), 0);
	grant_update(&w.grant, &wish, now);
	assert_int_equal(w.grant.programs_n, 2);
	assert_int_equal(w.grant.deadline_ms, now.mono_ms + 90000);
	assert_int_equal(w.grant.generation, 2);
}

static void
what_failed_gives_back_to_the_grant_that_counted_it(void **state)
{
	struct world w;
	struct grant_charge charge = { 0, 1, true, true };

	(void)state;
	world_init(&w);
	grant_charge(&w.grant, &charge);
	assert_int_equal(w.grant.used_total, 5);
	w.node[1].life = GRANT_STARTING;
	grant_give_back(&w.grant, &w.node[1]);
	assert_int_equal(w.grant.used_total, 4);
	assert_int_equal(w.node[1].life, GRANT_DELETED);
	/* Started under a grant before this one. */
	w.node[2].life = GRANT_RESERVED;
	w.node[2].is_counted = false;
	grant_give_back(&w.grant, &w.node[2]);
	assert_int_equal(w.grant.used_total, 4);
}

static void
a_call_that_has_waited_is_asked_for_its_program_again(void **state)
{
	struct grant_evidence e = { .self.path = SPAN_LIT("/bin/pi") };
	struct grant_refusal r;
	struct world w;

	(void)state;
	world_init(&w);
	w.caller = (struct grant_caller){ .is_sandbox = true, .node = 1 };
	const struct grant_ask ask = { &w.tree, &w.caller, now };

	w.grant.programs[0].has_sha256 = true;
	assert_int_equal(grant_may_go_on(&ask, &e, &r), 0);
	w.grant.programs[0].path = SPAN_LIT("/bin/sh");
	assert_int_equal(grant_may_go_on(&ask, &e, &r), -1);
	assert_int_equal(r.why, GRANT_WHY_PROGRAM);
	w.tree.grant = NULL;
	assert_int_equal(grant_may_go_on(&ask, &e, &r), -1);
	assert_int_equal(r.why, GRANT_WHY_NO_GRANT);
	w.caller.is_sandbox = false;
	assert_int_equal(grant_may_go_on(&ask, &e, &r), 0);
}

static void
a_judgement_is_overtaken_three_times_at_most(void **state)
{
	struct grant_generations a = { SPAN_LIT("one"), 1, 2, 3 };
	struct grant_generations b = a;
	struct grant_refusal r;

	(void)state;
	assert_true(grant_is_same(&a, &b));
	b.grant_id = SPAN_LIT("two");
	assert_false(grant_is_same(&a, &b));
	b = a;
	b.grant++;
	assert_false(grant_is_same(&a, &b));
	b = a;
	b.parent_policy++;
	assert_false(grant_is_same(&a, &b));
	b = a;
	b.maximum++;
	assert_false(grant_is_same(&a, &b));
	assert_int_equal(grant_may_judge_again(2, &r), 0);
	assert_int_equal(grant_may_judge_again(3, &r), -1);
	assert_int_equal(r.code, GRANT_BUSY);
	assert_int_equal(r.retry_after_ms, 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_question_has_its_answer),
		cmocka_unit_test(a_hint_names_the_command_that_helps),
		cmocka_unit_test(a_dead_grant_says_when_it_died),
		cmocka_unit_test(a_grant_dies_by_either_clock_and_stays_dead),
		cmocka_unit_test(a_dead_grant_keeps_how_it_died),
		cmocka_unit_test(an_update_changes_what_it_names),
		cmocka_unit_test(
		    what_failed_gives_back_to_the_grant_that_counted_it),
		cmocka_unit_test(
		    a_call_that_has_waited_is_asked_for_its_program_again),
		cmocka_unit_test(a_judgement_is_overtaken_three_times_at_most),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
