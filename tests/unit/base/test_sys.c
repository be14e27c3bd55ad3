/* SPDX-License-Identifier: Apache-2.0 */
/* A folder that is opened by a path with '..' beside renames elsewhere. */
#include <linux/openat2.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "base/base.h"

static char top[] = "/tmp/nacre-sys.XXXXXX";
static int folder = -1;
static atomic_bool over;

/* Any rename on the machine makes the kernel doubt every '..'. */
static void *
rename_on(void *unused)
{
	while (!atomic_load(&over)) {
		(void)renameat(folder, "a", folder, "b");
		(void)renameat(folder, "b", folder, "a");
	}
	return unused;
}

static void
a_rename_elsewhere_does_not_fail_an_open(void **state)
{
	pthread_t other;

	(void)state;
	assert_int_equal(pthread_create(&other, NULL, rename_on, NULL), 0);
	for (int i = 0; i < 20000; i++) {
		with_fd fd = fd_open_under(folder, "d/../d/../d/../d", O_PATH,
		    RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);

		if (fd < 0)
			fail_msg("round %d: errno %d", i, errno);
	}
	atomic_store(&over, true);
	assert_int_equal(pthread_join(other, NULL), 0);
}

static void
what_leads_out_is_refused(void **state)
{
	(void)state;
	assert_int_equal(fd_open_under(folder, "..", O_PATH, RESOLVE_BENEATH),
	    -1);
	assert_int_equal(errno, EXDEV);
	assert_int_equal(fd_open_under(folder, "none", O_PATH, RESOLVE_BENEATH),
	    -1);
	assert_int_equal(errno, ENOENT);
}

static int
set_up(void **state)
{
	(void)state;
	if (!mkdtemp(top))
		return -1;
	folder = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0 || mkdirat(folder, "a", 0700) != 0)
		return -1;
	return mkdirat(folder, "d", 0700);
}

static int
tear_down(void **state)
{
	(void)state;
	(void)unlinkat(folder, "a", AT_REMOVEDIR);
	(void)unlinkat(folder, "b", AT_REMOVEDIR);
	(void)unlinkat(folder, "d", AT_REMOVEDIR);
	fd_close(&folder);
	return rmdir(top);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rename_elsewhere_does_not_fail_an_open),
		cmocka_unit_test(what_leads_out_is_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
