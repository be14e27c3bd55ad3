/* SPDX-License-Identifier: Apache-2.0 */
/* Which cgroup an exec gets; plain folders stand in for cgroups. */
#include <sys/stat.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "sandbox/inner.h"

static char folder[] = "/tmp/nacre-leaf.XXXXXX";
static struct sandbox *sb;

static void
write_file(unsigned leaf, const char *file, const char *text)
{
	struct fault f = { 0 };
	char path[64];
	with_fd fd = -1;

	(void)text_fmt(path, sizeof(path), "%u/%s", leaf, file);
	fd = openat(sb->cgroup, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
	    0600);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text), &f), 0);
}

static void
populate(unsigned leaf, bool is_populated)
{
	write_file(leaf, "cgroup.events",
	    is_populated ? "populated 1\nfrozen 0\n"
			 : "populated 0\nfrozen 0\n");
}

static int
setup(void **state)
{
	(void)state;
	(void)memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
	sb = must_alloc(sizeof(*sb));
	if (!mkdtemp(folder))
		return -1;
	sb->cgroup = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (unsigned i = 0; i < SANDBOX_LEAVES; i++) {
		char name[16];

		(void)text_fmt(name, sizeof(name), "%u", i);
		(void)mkdirat(sb->cgroup, name, 0755);
		populate(i, false);
		write_file(i, "memory.oom.group", "0");
		write_file(i, "memory.events", "low 0\noom 3\noom_kill 7\n");
	}
	return 0;
}

static int
teardown(void **state)
{
	static const char *const files[] = { "cgroup.events",
		"memory.oom.group", "memory.events" };

	(void)state;
	for (unsigned i = 0; i < SANDBOX_LEAVES; i++) {
		char path[64];

		for (size_t k = 0; k < NELEM(files); k++) {
			(void)text_fmt(path, sizeof(path), "%u/%s", i,
			    files[k]);
			(void)unlinkat(sb->cgroup, path, 0);
		}
		(void)text_fmt(path, sizeof(path), "%u", i);
		(void)unlinkat(sb->cgroup, path, AT_REMOVEDIR);
		if (sb->leaves[i].is_open)
			fd_close(&sb->leaves[i].fd);
	}
	fd_close(&sb->cgroup);
	free(sb);
	return rmdir(folder);
}

static size_t
take(void)
{
	struct fault f = { 0 };
	struct leaf *l;

	assert_int_equal(leaf_take(sb, &l, &f), 0);
	assert_non_null(l);
	assert_true(leaf_fd(l) >= 0);
	return (size_t)(l - sb->leaves);
}

static void
an_empty_leaf_is_used_again(void **state)
{
	char text[4] = "";
	with_fd fd = -1;

	(void)state;
	assert_int_equal(take(), 0);
	assert_int_equal(take(), 1);
	leaf_give(&sb->leaves[0]);
	assert_int_equal(take(), 0);
	assert_int_equal(leaf_ooms(&sb->leaves[0]), 7);
	fd = openat(leaf_fd(&sb->leaves[0]), "memory.oom.group", O_RDONLY);
	assert_int_equal(read(fd, text, sizeof(text)), 1);
	assert_string_equal(text, "1");
}

static void
what_was_left_behind_keeps_its_leaf(void **state)
{
	(void)state;
	assert_int_equal(take(), 0);
	populate(0, true);
	leaf_give(&sb->leaves[0]);
	assert_int_equal(take(), 1);
	populate(0, false);
	assert_int_equal(take(), 0);
}

static void
when_all_are_full_an_exec_shares(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SANDBOX_LEAVES; i++)
		populate(i, true);
	assert_int_equal(take(), 0);
	assert_int_equal(take(), 1);
	populate(9, false);
	assert_int_equal(take(), 9);
}

static void
without_cgroups_there_is_none(void **state)
{
	struct fault f = { 0 };
	struct leaf *l = sb->leaves;
	int fd = sb->cgroup;

	(void)state;
	sb->cgroup = -1;
	assert_int_equal(leaf_take(sb, &l, &f), 0);
	assert_null(l);
	assert_int_equal(leaf_fd(l), -1);
	assert_int_equal(leaf_ooms(l), 0);
	leaf_give(l);
	sb->cgroup = fd;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_empty_leaf_is_used_again),
		TEST(what_was_left_behind_keeps_its_leaf),
		TEST(when_all_are_full_an_exec_shares),
		TEST(without_cgroups_there_is_none),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
