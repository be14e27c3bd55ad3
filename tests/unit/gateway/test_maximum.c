/* SPDX-License-Identifier: Apache-2.0 */
/* The maximum in a real store, and what a sandbox's object keeps of it. */
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "gateway/enforced.h"
#include "gateway/maximum.h"
#include "gateway/object.h"
#include "wire/wire.h"

#define ALL                                                       \
 "version: 1\nfilesystem_policy: {}\nlandlock: {}\nprocess: {}\n" \
 "network_policies: {}\n"

static struct gateway gateway;
static struct arena arena;
static char folder[64];
static char path[96];

static void
reopen(void)
{
	struct fault f = { 0 };

	if (gateway.store != NULL) {
		assert_int_equal(store_commit(gateway.store, &f), 0);
		store_close(gateway.store);
	}
	gateway.store = store_open(path, &f);
	if (gateway.store == NULL)
		fail_msg("%s", f.text);
}

static int
setup(void **state)
{
	(void)state;
	arena_init(&arena, 64 << 20);
	(void)text_fmt(folder, sizeof(folder), "/tmp/nacre-maximum.XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	(void)text_fmt(path, sizeof(path), "%s/db", folder);
	reopen();
	return 0;
}

static int
teardown(void **state)
{
	char wal[128];

	(void)state;
	store_close(gateway.store);
	gateway.store = NULL;
	(void)text_fmt(wal, sizeof(wal), "%s-wal", path);
	(void)unlink(wal);
	(void)unlink(path);
	(void)rmdir(folder);
	arena_release(&arena);
	return 0;
}

static void
write_maximum(const char *text, uint64_t generation)
{
	struct maximum m = { .set_by = "uid:7" };
	struct fault f = { 0 };

	m.is_set = text != NULL;
	if (text != NULL)
		assert_int_equal(
		    maximum_parse(span_str(text), &arena, &m.policy, &f), 0);
	assert_int_equal(maximum_write(&gateway, &arena, &m, &f), 0);
	assert_int_equal(m.generation, generation);
}

static void
each_set_is_a_generation_that_lasts(void **state)
{
	uint64_t generation = 9;
	struct fault f = { 0 };
	struct maximum m;

	(void)state;
	assert_int_equal(maximum_read(&gateway, &arena, &m, &f), 0);
	assert_false(m.is_set);
	assert_int_equal(m.generation, 0);
	write_maximum(ALL, 1);
	reopen();
	assert_int_equal(maximum_read(&gateway, &arena, &m, &f), 0);
	assert_true(m.is_set && m.policy.has_network);
	assert_int_equal(m.generation, 1);
	assert_string_equal(m.set_by, "uid:7");
	write_maximum(NULL, 2);
	reopen();
	assert_int_equal(maximum_read(&gateway, &arena, &m, &f), 0);
	assert_false(m.is_set);
	assert_int_equal(maximum_generation(&gateway, &generation, &f), 0);
	assert_int_equal(generation, 2);
}

static void
a_maximum_has_all_four_sections(void **state)
{
	static const char *const lacks[] = {
		"version: 1\n",
		"version: 1\nfilesystem_policy: {}\nlandlock: {}\nprocess: {}\n",
		"version: 1\nlandlock: {}\nprocess: {}\nnetwork_policies: {}\n",
		"nope: 1\n",
		"",
	};
	struct policy p;

	(void)state;
	for (size_t i = 0; i < NELEM(lacks); i++) {
		struct fault f = { 0 };

		assert_int_equal(
		    maximum_parse(span_str(lacks[i]), &arena, &p, &f), -1);
		assert_int_equal(f.code, FAULT_POLICY_INVALID);
		assert_true(f.field[0] != '\0');
	}
}

/* Damage must not read as "no maximum". */
static void
a_maximum_that_cannot_be_read_lets_nothing_pass(void **state)
{
	nacre_store_v1_Maximum kept = nacre_store_v1_Maximum_init_zero;
	struct fault f = { 0 };
	struct maximum m;
	struct buf b;

	(void)state;
	kept.generation = 1;
	kept.policy = wire_bytes(&arena, SPAN_LIT("version: 1\n"));
	buf_init(&b, 4096);
	assert_int_equal(WIRE_ENCODE(nacre_store_v1_Maximum, &kept, &b, &f), 0);
	assert_int_equal(store_setting_put(gateway.store, "policy.maximum",
			     buf_span(&b), &f),
	    0);
	buf_release(&b);
	assert_int_equal(maximum_read(&gateway, &arena, &m, &f), -1);
	assert_int_equal(f.code, FAULT_SYSTEM);
}

static void
an_object_keeps_what_its_policy_is(void **state)
{
	openshell_v1_CreateSandboxRequest ask =
	    openshell_v1_CreateSandboxRequest_init_zero;
	struct object_policy p = { .generation = 1,
		.maximum_generation = 4,
		.hash = "ab" };
	struct store_sandbox row = { .name = "a" };
	openshell_v1_Sandbox out;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(
	    object_keep(&ask, &p, &arena, &row.object, &row.labels, &f), 0);
	memset(&p, 0, sizeof(p));
	assert_int_equal(object_policy(&row, &arena, &p, &f), 0);
	assert_int_equal(p.maximum_generation, 4);
	assert_false(p.is_stale);
	p.generation = 2;
	p.is_stale = true;
	assert_int_equal(object_mark(&row, &p, &arena, &f), 0);
	assert_int_equal(object_of(&row, &arena, &out, &f), 0);
	assert_int_equal(out.status.current_policy_version, 2);
	assert_true(out.status.stale_maximum);
	assert_string_equal(out.status.policy_hash, "ab");
}

static void
what_is_enforced_is_said_section_by_section(void **state)
{
	const nacre_store_v1_Plan plan = { .uid = 77, .gid = 78 };
	openshell_sandbox_v1_SandboxPolicy m = { .network_policies_count = 1 };
	const openshell_v1_PolicyEnforcement *e =
	    enforced_today(&plan, &m, &arena);
	bool user = false;
	bool network = false;

	(void)state;
	for (size_t i = 0; i < ENFORCED_SECTIONS; i++) {
		assert_true(e[i].section[0] != '\0' && e[i].detail[0] != '\0');
		if (strcmp(e[i].section, "process") == 0)
			user = e[i].enforced && strstr(e[i].detail, "uid 77");
		if (strcmp(e[i].section, "network_policies") == 0)
			network = !e[i].enforced &&
			    strstr(e[i].detail, "every allow is unreachable");
	}
	assert_true(user && network);
	e = enforced_today(&plan, NULL, &arena);
	assert_null(strstr(e[ENFORCED_SECTIONS - 1].detail, "unreachable"));
}

int
main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		EACH(each_set_is_a_generation_that_lasts),
		EACH(a_maximum_has_all_four_sections),
		EACH(a_maximum_that_cannot_be_read_lets_nothing_pass),
		EACH(an_object_keeps_what_its_policy_is),
		EACH(what_is_enforced_is_said_section_by_section),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
