/* rooms: gateway */
/* SPDX-License-Identifier: Apache-2.0 */
/* A call that does one thing after another is within one wait. */
#include "../lib/rig_ask.h"
#include "../lib/rig_program.h"
#include "../lib/unit.h"

enum {
	WAIT_MS = 45000,
	START_MS = 10000,
	SLACK_MS = 1000,
};

static struct rig r;

static bool
is_stopped(const char *id)
{
	struct rig_answer a;
	bool same;

	rig_ask_get(&r, &a, id);
	same = strcmp(a.state, "stopped") == 0;
	rig_answer_release(&a);
	return same;
}

/* A tool of that root, stopped. */
static void
stopped_tool(struct rig_guest *root, char id[LIMIT_ID + 1])
{
	struct rig_limits l = { .max = { 1, 1, 1 } };
	struct rig_child c = { .name = "t", .word = "", .is_tool = true };
	struct rig_answer a;

	rig_ask_grant(&r, &a, "create", root->sandbox, &l);
	assert_true(a.is_yes);
	rig_answer_release(&a);
	rig_door_child(root, &a, &c, RIG_PROGRAM);
	rig_until(&r, &a.is_done, "a tool");
	assert_true(a.is_yes);
	(void)text_copy(id, LIMIT_ID + 1, span_str(a.id));
	rig_answer_release(&a);
	rig_say_ready(rig_launched(&r, id));
	rig_barrier(&r);
	rig_call_stop(&r, &a, id);
	rig_must(&r, &a, "a stop");
	while (!is_stopped(id))
		rig_tick(&r);
}

static void
a_command_has_what_its_start_left(void **state)
{
	struct rig_guest *root = rig_new_root(&r, "root");
	struct rig_guest *g;
	struct rig_answer a;
	char id[LIMIT_ID + 1];
	char ask[128];

	(void)state;
	stopped_tool(root, id);
	(void)text_fmt(ask, sizeof(ask),
	    "{\"id\":\"%s\",\"argv\":[\"/bin/x\"]}", id);
	rig_door(root, &a, "exec", ask, RIG_PROGRAM);
	g = rig_launched(&r, id);
	rig_pass(&r, START_MS, 0);
	rig_say_ready(g);
	rig_until(&r, &a.is_done, "a command");
	if (g->exec_ms > WAIT_MS - START_MS ||
	    g->exec_ms < WAIT_MS - START_MS - SLACK_MS)
		fail_msg("it may take %llu ms: %s",
		    (unsigned long long)g->exec_ms, a.text);
	rig_answer_release(&a);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_has_what_its_start_left),
	};

	return rig_main(argc, argv, &r, tests, NELEM(tests));
}
