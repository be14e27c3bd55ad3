/* SPDX-License-Identifier: Apache-2.0 */
/* Children in namespaces of their own, and the one device they have. */
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "base/base.h"
#include "child.h"
#include "confine/confine.h"

/* Root makes namespaces as it is; anybody else in one of users. */
static uint64_t
spaces(uint64_t wanted)
{
	return wanted | (geteuid() == 0 ? 0 : (uint64_t)CLONE_NEWUSER);
}

static bool
lo_is_up(void)
{
	struct ifreq lo = { .ifr_name = "lo" };
	with_fd fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &lo) == 0 &&
	    (lo.ifr_flags & IFF_UP);
}

static int
live_inside(void)
{
	if (getpid() != 1 || getppid() != 0)
		return 1;
	if (lo_is_up())
		return 2;
	if (confine_lo_up() != 0 || !lo_is_up())
		return 3;
	/* Its parent is outside, and seen as 0. */
	return confine_die_with_parent(0) == 0 ? 0 : 4;
}

static void
a_child_is_alone_in_its_namespaces(void **state)
{
	int pidfd = -1;
	int status;
	pid_t pid;

	(void)state;
	pid = confine_clone(spaces(CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS |
				CLONE_NEWIPC | CLONE_NEWUTS),
	    -1, &pidfd);
	if (pid == 0)
		_exit(live_inside());
	assert_true(pid > 0);
	assert_true(pidfd >= 0);
	assert_int_equal(fcntl(pidfd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	(void)close(pidfd);
}

static void
a_cgroup_that_is_none_is_an_error(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pid_t pid;

	(void)state;
	pid = confine_clone(0, fd, NULL);
	if (pid == 0)
		_exit(0);
	assert_int_equal(pid, -1);
	assert_int_equal(errno, EBADF);
	(void)close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_is_alone_in_its_namespaces),
		cmocka_unit_test(a_cgroup_that_is_none_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
