/* SPDX-License-Identifier: Apache-2.0 */
/* What a user of an image configuration means in the image's own files. */
#include <string.h>

#include "../../lib/unit.h"
#include "image/inner.h"

static const char passwd[] =
    "root:x:0:0:root:/root:/bin/sh\n"
    "agent:x:1000:1001:An Agent,,,:/home/agent:/bin/sh\n"
    "nohome:x:7:8::relative:\n"
    "short:x:9\n"
    "letters:x:ten:0::/:\n"
    "minus:x:-1:0::/:\n"
    "over:x:4294967295:0::/:\n"
    "::0:0::/:\n"
    "+nis::0:0:::\n"
    "bell\007:x:5:5::/:\n"
    "1234:x:55:56::/odd:\n"
    "last:x:11:12::/last:/bin/sh";
static const char group[] = "root:x:0:\nstaff:x:50:agent\nbad\nlast:x:60:";

static const struct {
	const char *user;
	uint32_t uid;
	uint32_t gid;
	const char *home; /* NULL: refused */
} rows[] = {
	{ "", 0, 0, "/root" },
	{ "root", 0, 0, "/root" },
	{ "agent", 1000, 1001, "/home/agent" },
	{ "1000", 1000, 1001, "/home/agent" },
	{ "agent:staff", 1000, 50, "/home/agent" },
	{ "agent:7", 1000, 7, "/home/agent" },
	{ "1000:last", 1000, 60, "/home/agent" },
	{ "4242", 4242, 0, "/" },
	{ "4242:4243", 4242, 4243, "/" },
	{ ":staff", 0, 50, "/root" },
	{ "nohome", 7, 8, "/" },
	{ "1234", 55, 56, "/odd" },
	{ "last", 11, 12, "/last" },
	{ "nobody", 0, 0, NULL },
	{ "agent:nogroup", 0, 0, NULL },
	{ "short", 0, 0, NULL },
	{ "letters", 0, 0, NULL },
	{ "minus", 0, 0, NULL },
	{ "over", 0, 0, NULL },
	{ "-1", 0, 0, NULL },
	{ "4294967295", 0, 0, NULL },
	{ "99999999999", 0, 0, NULL },
};

static void
users_are_those_of_the_image(void **state)
{
	struct image_info info = { 0 };
	struct arena a;
	struct fault f;

	(void)state;
	arena_init(&a, 1 << 20);
	assert_int_equal(image_users_parse(SPAN_LIT(passwd), &a, &info.users,
			     &info.user_count, &f),
	    0);
	assert_int_equal(image_groups_parse(SPAN_LIT(group), &a, &info.groups,
			     &info.group_count, &f),
	    0);
	assert_int_equal(info.group_count, 3);
	for (size_t i = 0; i < NELEM(rows); i++) {
		struct image_account who;
		int r;

		memset(&f, 0, sizeof(f));
		r = image_user_resolve(&info, rows[i].user, &who, &f);
		if (!rows[i].home) {
			assert_int_equal(r, -1);
			assert_int_equal(f.code, FAULT_INVALID);
			assert_string_equal(f.field, "user");
			continue;
		}
		if (r != 0)
			fail_msg("'%s': %s", rows[i].user, f.text);
		assert_int_equal(who.uid, rows[i].uid);
		assert_int_equal(who.gid, rows[i].gid);
		assert_string_equal(who.home, rows[i].home);
	}
	arena_release(&a);
}

static void
an_image_without_users_has_numbers(void **state)
{
	struct image_info info = { 0 };
	struct image_account who;
	struct fault f;

	(void)state;
	assert_int_equal(image_user_resolve(&info, "", &who, &f), 0);
	assert_int_equal(who.uid, 0);
	assert_string_equal(who.home, "/");
	assert_int_equal(image_user_resolve(&info, "5:6", &who, &f), 0);
	assert_int_equal(who.gid, 6);
	assert_int_equal(image_user_resolve(&info, "root", &who, &f), -1);
}

static void
users_are_capped(void **state)
{
	struct image_info info = { 0 };
	struct arena a;
	struct buf text;
	struct fault f;

	(void)state;
	arena_init(&a, 4 << 20);
	buf_init(&text, 1 << 20);
	for (int i = 0; i < IMAGE_USERS + 100; i++)
		assert_int_equal(buf_fmt(&text, "u%d:x:%d:0::/:\n", i, i), 0);
	assert_int_equal(image_users_parse(buf_span(&text), &a, &info.users,
			     &info.user_count, &f),
	    0);
	assert_int_equal(info.user_count, IMAGE_USERS);
	buf_release(&text);
	arena_release(&a);
}

static const struct {
	const char *own; /* user of the image */
	const char *user;
	const char *group;
	uint32_t uid;
	uint32_t gid;
	const char *name;
} run_as[] = {
	{ "", "", "", 1000, 1001, "agent" },
	{ "root", "", "", 1000, 1001, "agent" },
	{ "last", "", "", 11, 12, "last" },
	{ "agent:staff", "", "", 1000, 50, "agent" },
	{ "last", "sandbox", "", 1000, 1001, "agent" },
	{ "last", "sandbox", "sandbox", 1000, 1001, "agent" },
	{ "", "11", "", 11, 12, "last" },
	{ "", "11", "60", 11, 60, "last" },
	{ "", "4242", "", 4242, 4242, "" },
	/* a number is the id, though a user is called so */
	{ "", "1234", "", 1234, 1234, "" },
	{ "", "55", "", 55, 56, "1234" },
};

static void
a_policy_runs_as_its_user_or_the_image_s(void **state)
{
	struct image_info info = { .config.user = "nobody" };
	struct image_account who;
	struct arena a;
	struct fault f = { 0 };

	(void)state;
	arena_init(&a, 1 << 20);
	assert_int_equal(image_users_parse(SPAN_LIT(passwd), &a, &info.users,
			     &info.user_count, &f),
	    0);
	assert_int_equal(image_groups_parse(SPAN_LIT(group), &a, &info.groups,
			     &info.group_count, &f),
	    0);
	assert_int_equal(image_run_as(&info, "", "", &who, &f), -1);
	assert_int_equal(f.code, FAULT_INVALID);
	for (size_t i = 0; i < NELEM(run_as); i++) {
		info.config.user = run_as[i].own;
		memset(&f, 0, sizeof(f));
		assert_int_equal(image_run_as(&info, run_as[i].user,
				     run_as[i].group, &who, &f),
		    0);
		assert_int_equal(who.uid, run_as[i].uid);
		assert_int_equal(who.gid, run_as[i].gid);
		assert_string_equal(who.name, run_as[i].name);
	}
	arena_release(&a);
}

static void
images_without_an_account_get_the_house_s(void **state)
{
	struct image_info info = { .config = { .user = "", .workdir = "" } };
	struct image_account who;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(image_run_as(&info, "", "", &who, &f), 0);
	assert_int_equal(who.uid, 1000);
	assert_int_equal(who.gid, 1000);
	assert_string_equal(who.name, "sandbox");
	assert_string_equal(image_workdir(&info, &who), "/sandbox");
	who.home = "/home/me";
	assert_string_equal(image_workdir(&info, &who), "/home/me");
	who.home = "/";
	assert_string_equal(image_workdir(&info, &who), "/sandbox");
	info.config.workdir = "/";
	assert_string_equal(image_workdir(&info, &who), "/sandbox");
	info.config.workdir = "/srv";
	assert_string_equal(image_workdir(&info, &who), "/srv");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_are_those_of_the_image),
		cmocka_unit_test(an_image_without_users_has_numbers),
		cmocka_unit_test(users_are_capped),
		cmocka_unit_test(a_policy_runs_as_its_user_or_the_image_s),
		cmocka_unit_test(images_without_an_account_get_the_house_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
