/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces: being born in new ones, and the loopback device of one. */
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "confine/confine.h"

/* struct clone_args of linux/sched.h, which does not go with sched.h: eleven
 * numbers, of which these matter here. */
enum {
	ARG_FLAGS = 0,
	ARG_PIDFD = 1,
	ARG_EXIT_SIGNAL = 4,
	ARG_CGROUP = 10,
	ARGS = 11,
	CLONE_INTO_CGROUP_SHIFT =
	    33, /* over 32 bits, so not in every sched.h */
};

pid_t
confine_clone(uint64_t namespaces, int cgroup_fd, int *pidfd)
{
	int fd = -1;
	uint64_t args
	    [ARGS] = { [ARG_FLAGS] = namespaces, [ARG_EXIT_SIGNAL] = SIGCHLD };
	pid_t pid;

	if (pidfd) {
		args[ARG_FLAGS] |= CLONE_PIDFD;
		args[ARG_PIDFD] = (uint64_t)(uintptr_t)&fd;
	}
	if (cgroup_fd >= 0) {
		args[ARG_FLAGS] |= (uint64_t)1 << CLONE_INTO_CGROUP_SHIFT;
		args[ARG_CGROUP] = (uint64_t)cgroup_fd;
	}
	pid = (pid_t)syscall(SYS_clone3, args, sizeof(args));
	if (pid > 0 && pidfd)
		*pidfd = fd;
	return pid;
}

int
confine_lo_up(void)
{
	with_fd fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq lo = { .ifr_name = "lo" };

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &lo) != 0)
		return -1;
	lo.ifr_flags = (short)(lo.ifr_flags | IFF_UP);
	return ioctl(fd, SIOCSIFFLAGS, &lo);
}
