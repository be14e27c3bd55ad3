/* SPDX-License-Identifier: Apache-2.0 */
/* Removal of trees, a part a call. */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "sandbox/inner.h"

static char folder[32];
static int parent = -1;
static bool cannot_move; /* as an image's folders */

/* Before the C library's. */
int
renameat(int from, const char *old, int to, const char *new)
{
	errno = EXDEV;
	return cannot_move ? -1
			   : (int)syscall(SYS_renameat, from, old, to, new);
}

static int
setup(void **state)
{
	(void)state;
	(void)text_copy(folder, sizeof(folder),
	    SPAN_LIT("/tmp/nacre-remove.XXXXXX"));
	if (!mkdtemp(folder))
		return -1;
	parent = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return parent < 0 ? -1 : 0;
}

/* All of it is gone again. */
static int
teardown(void **state)
{
	(void)state;
	fd_close(&parent);
	return rmdir(folder);
}

/* In `at`, folders within each other; the deepest holds a file. */
static void
make_chain(int at, unsigned depth)
{
	with_fd above = fcntl(at, F_DUPFD_CLOEXEC, 3);
	with_fd file = -1;

	for (unsigned i = 0; i < depth; i++) {
		int fd;

		assert_int_equal(mkdirat(above, "d", 0755), 0);
		fd = openat(above, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(fd >= 0);
		fd_close(&above);
		above = fd;
	}
	file = openat(above, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(file >= 0);
}

static int64_t
cpu_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The names that went, in calls of which none takes long. */
static unsigned
remove_all(const char *name)
{
	nacre_sandbox_v1_FileReply r = nacre_sandbox_v1_FileReply_init_zero;
	unsigned names = 0;

	do {
		int64_t began_ms = cpu_ms();

		r.more = false;
		assert_int_equal(remove_act(parent, name, true, &r), 0);
		assert_true(r.removed <= SANDBOX_REMOVE);
		assert_true(cpu_ms() - began_ms < 500);
		names += r.removed;
	} while (r.more);
	assert_int_equal(faccessat(parent, name, F_OK, 0), -1);
	return names;
}

static void
a_deep_tree_goes_in_small_parts(void **state)
{
	(void)state;
	make_chain(parent, 20000);
	assert_int_equal(remove_all("d"), 20001);
}

static void
a_wide_tree_goes(void **state)
{
	(void)state;
	assert_int_equal(mkdirat(parent, "top", 0755), 0);
	for (int i = 0; i < 40; i++) {
		char name[32];
		with_fd at = -1;

		(void)text_fmt(name, sizeof(name), "top/%d", i);
		assert_int_equal(mkdirat(parent, name, 0755), 0);
		at = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(at >= 0);
		make_chain(at, 30);
	}
	assert_int_equal(remove_all("top"), 1 + 40 * 32);
}

static void
what_cannot_be_moved_goes_too(void **state)
{
	(void)state;
	make_chain(parent, 700);
	cannot_move = true;
	assert_int_equal(remove_all("d"), 701);
	cannot_move = false;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_deep_tree_goes_in_small_parts,
		    setup, teardown),
		cmocka_unit_test_setup_teardown(a_wide_tree_goes, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_moved_goes_too,
		    setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
