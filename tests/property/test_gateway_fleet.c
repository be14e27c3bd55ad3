/* rooms: gateway */
/* SPDX-License-Identifier: Apache-2.0 */
/* Templates that cannot be made and clones that do not start, for a time. */
#include "../lib/rig_ask.h"
#include "../lib/rig_program.h"
#include "../lib/unit.h"
#include "proto/openshell_v1.pb.h"
#include "wire/wire.h"

enum {
	STEP_MS = 1000, /* of the rig's time */
	HOUR_MS = 3600000,
	PATIENCE_MS = 60000,
};
#define CONFIG "memory_reserve_mib: 0\nmcp_port: off\n"

static struct rig r;

static int
open_rig(void **state)
{
	(void)state;
	rig_init(&r);
	rig_file(&r, "config",
	    CONFIG "accelerator: tcg\nparked: 1\nprewarm: true\n");
	return 0;
}

static int
close_rig(void **state)
{
	(void)state;
	rig_stop(&r);
	rig_clear(&r);
	return 0;
}

static void
pass(int64_t ms)
{
	for (; ms > 0; ms -= STEP_MS)
		rig_pass(&r, STEP_MS, 0);
}

static void
until_jobs(const char *what, unsigned n)
{
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;

	while (rig_jobs(&r, what) < n) {
		if (rig_real_ms() > end_ms)
			fail_msg("no %u of: %s", n, what);
		rig_tick(&r);
	}
	assert_int_equal(rig_jobs(&r, what), n);
}

/* In time that passes, at most so much. */
static void
until_parked(int64_t most_ms)
{
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;

	while (rig_guests(&r) == 0 && rig_real_ms() < end_ms) {
		if (most_ms > 0)
			rig_pass(&r, STEP_MS, 0);
		most_ms -= STEP_MS;
		rig_tick(&r);
	}
	if (rig_guests(&r) == 0)
		fail_msg("no clone is parked");
}

static void
clones_that_do_not_start_are_started_seldom(void **state)
{
	unsigned before;

	(void)state;
	rig_file(&r, "clones", "");
	rig_file(&r, "duds", "");
	rig_start(&r, NULL);
	until_jobs("template", 1);
	/* Each has its moment to end in. */
	for (int i = 0; i < 60; i++) {
		pass(STEP_MS);
		rig_tick(&r);
	}
	before = rig_jobs(&r, "clone");
	assert_in_range(before, 4, 12);
	assert_in_range(rig_jobs(&r, "template"), 2, 3);
	pass(HOUR_MS);
	assert_in_range(rig_jobs(&r, "clone"), before + 2, before + 20);
	/* Who asks waits for none of that. */
	before = rig_jobs(&r, "clone");
	(void)rig_new_root(&r, "now");
	assert_int_equal(rig_jobs(&r, "clone"), before + 1);
	rig_file(&r, "duds", NULL);
	for (int i = 0; i < 400 && rig_guests(&r) < 2; i++) {
		pass(STEP_MS);
		rig_tick(&r);
	}
	assert_int_equal(rig_guests(&r), 2);
}

/* Its keeper says so, and ends when it is asked to. */
static void
a_clone_that_ends_is_followed_by_a_cold_machine(void **state)
{
	(void)state;
	rig_file(&r, "config", CONFIG "accelerator: tcg\nparked: 0\n");
	rig_file(&r, "clones", "");
	rig_file(&r, "ends", "");
	rig_start(&r, NULL);
	(void)rig_new_root(&r, "now");
	assert_int_equal(rig_jobs(&r, "clone"), 1);
	assert_int_equal(r.spawned, 2);
}

static void
a_template_that_only_boots_cold_is_made_again(void **state)
{
	(void)state;
	rig_start(&r, NULL);
	until_jobs("template", 1);
	(void)rig_new_root(&r, "cold");
	rig_file(&r, "clones", "");
	pass(HOUR_MS / 10);
	assert_int_equal(rig_jobs(&r, "template"), 1);
	pass(HOUR_MS / 10);
	until_jobs("template", 2);
	for (int i = 0; i < 100 && rig_jobs(&r, "clone") == 0; i++) {
		pass(STEP_MS);
		rig_tick(&r);
	}
	assert_int_equal(rig_jobs(&r, "clone"), 1);
	pass(24 * HOUR_MS / 10);
	assert_int_equal(rig_jobs(&r, "template"), 2);
}

static void
one_that_cannot_be_made_is_tried_again_though_nobody_asks(void **state)
{
	(void)state;
	rig_file(&r, "clones", "");
	rig_file(&r, "none", "");
	rig_start(&r, NULL);
	until_jobs("template", 1);
	pass(HOUR_MS);
	assert_in_range(rig_jobs(&r, "template"), 4, 16);
	rig_file(&r, "none", NULL);
	until_parked(HOUR_MS / 5);
}

static void
new_root_of_64_mib(void)
{
	/* google.protobuf.Struct: limits: { memory: "64Mi" } */
	static const char limits[] = "\x0a\x1e\x0a\x06limits\x12\x14\x2a\x12"
				     "\x0a\x10\x0a\x06memory\x12\x06\x1a\x04"
				     "64Mi";
	static char name[] = "small";
	static char image[] = "tiny";
	static char program[] = RIG_PROGRAM;
	char *command[] = { program };
	openshell_v1_CreateSandboxRequest ask =
	    openshell_v1_CreateSandboxRequest_init_zero;
	struct rig_answer a;
	struct arena arena;

	arena_init(&arena, 4096);
	ask.name = name;
	ask.has_spec = ask.spec.has_template = true;
	ask.spec.template.image = image;
	ask.spec.template.resources =
	    wire_bytes(&arena, span_of(limits, sizeof(limits) - 1));
	ask.spec.command = command;
	ask.spec.command_count = 1;
	rig_ask(&r, &a, "/openshell.v1.OpenShell/CreateSandbox",
	    openshell_v1_CreateSandboxRequest_fields, &ask);
	if (!a.is_yes)
		fail_msg("no root: %s %s", a.word, a.text);
	rig_answer_release(&a);
	arena_release(&arena);
}

/* A try may last seconds, each time. */
static void
kvm_is_tried_once(void **state)
{
	(void)state;
	rig_file(&r, "config", CONFIG "prewarm: true\nparked: 0\n");
	rig_file(&r, "clones", "");
	rig_start(&r, NULL);
	until_jobs("template auto", 1);
	(void)rig_new_root(&r, "usual");
	new_root_of_64_mib();
	until_jobs("template tcg", 1);
	assert_int_equal(rig_jobs(&r, "template auto"), 1);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    clones_that_do_not_start_are_started_seldom, open_rig,
		    close_rig),
		cmocka_unit_test_setup_teardown(
		    a_clone_that_ends_is_followed_by_a_cold_machine, open_rig,
		    close_rig),
		cmocka_unit_test_setup_teardown(
		    a_template_that_only_boots_cold_is_made_again, open_rig,
		    close_rig),
		cmocka_unit_test_setup_teardown(
		    one_that_cannot_be_made_is_tried_again_though_nobody_asks,
		    open_rig, close_rig),
		cmocka_unit_test_setup_teardown(kvm_is_tried_once, open_rig,
		    close_rig),
	};

	return rig_main(argc, argv, NULL, tests, NELEM(tests));
}
