/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launch path on scrap disks, so that a parked clone has its code
 * translated and its caches warm. It is the launch itself, in a process and a
 * mount namespace of its own, against a partner process that plays keeper and
 * gateway (partner.c). Keys, tokens and processes of it end with it; what it
 * leaves is only faster.
 */
#include <sys/socket.h>

#include <signal.h>
#include <unistd.h>

#include "supervisor/inner.h"

enum {
	LIMIT_S = 60
};

/* Limits that the rehearsal set must not outlast it. */
static int
reset_cgroup(struct fault *f)
{
	static const char *const files[] = {
		"/sys/fs/cgroup/agent/pids.max",
		"/sys/fs/cgroup/agent/memory.max",
	};

	for (size_t i = 0; i < NELEM(files); i++)
		if (boot_write(files[i], "max", f) != 0)
			return -1;
	return 0;
}

int
rehearse_run(struct supervisor *sv, struct fault *f)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		ends) != 0)
		return fault_sys(f, "cannot make a port");
	(void)alarm(LIMIT_S);
	pid = fork();
	if (pid < 0)
		return fault_sys(f, "cannot fork");
	if (pid == 0) {
		fd_close(&ends[0]);
		(void)alarm(LIMIT_S);
		_exit(partner_run(ends[1]));
	}
	fd_close(&ends[1]);
	sv->is_rehearsal = true;
	return launch_run(sv, ends[0], f);
}

void
rehearse_end(struct supervisor *sv)
{
	struct fault f = { 0 };
	bool is_good = sv->phase == PHASE_STOPPED && !sv->disks.root &&
	    !sv->disks.upper && !sv->disks.image;

	if (reset_cgroup(&f) != 0) {
		log_warn(&f, "rehearsal");
		is_good = false;
	}
	_exit(is_good ? 0 : 1);
}
