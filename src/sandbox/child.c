/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between fork and exec. Everything was prepared before; here are system
 * calls only, no allocation, no library state, and one fixed report over a
 * close-on-exec pipe when a step fails. The order is what makes it safe:
 * identity before capabilities, both before the first path of the agent's.
 */
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "sandbox/inner.h"

/* What rt_sigaction takes; musl's own struct differs. */
struct kernel_sigaction {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

static int
take_identity(const struct identity *who)
{
	long r = syscall(SYS_setgroups, who->groups_n, who->groups);

	if (r == 0)
		r = syscall(SYS_setresgid, who->gid, who->gid, who->gid);
	if (r == 0)
		r = syscall(SYS_setresuid, who->uid, who->uid, who->uid);
	return (int)r;
}

/* The bounding and ambient sets are empty since rights_reduce(). */
static int
drop_caps(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct none[2] = { { 0, 0, 0 } };

	return (int)syscall(SYS_capset, &head, none);
}

static int
reset_signals(void)
{
	struct kernel_sigaction normal = { .handler = SIG_DFL };
	unsigned long none = 0;

	if (syscall(SYS_rt_sigaction, SIGPIPE, &normal, NULL, sizeof(none)))
		return -1;
	return (int)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL,
	    sizeof(none));
}

static int
take_stdio(const struct child_plan *p)
{
	if (syscall(SYS_setsid) < 0)
		return -1;
	for (int i = 0; i < 3; i++)
		if (syscall(SYS_dup2, p->stdio[i], i) < 0)
			return -1;
	return p->tty ? (int)syscall(SYS_ioctl, 0, TIOCSCTTY, 0) : 0;
}

/* Under memory pressure the agent goes first; its runtime was exempt. */
static void
be_killable(void)
{
	int fd = (int)syscall(SYS_open, "/proc/self/oom_score_adj",
	    O_WRONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return;
	(void)syscall(SYS_write, fd, "0", 1);
	(void)syscall(SYS_close, fd);
}

int
child_confine(const struct child_plan *p, int32_t *stage)
{
	*stage = CHILD_SETUP;
	be_killable();
	if (take_stdio(p) != 0)
		return -1;
	(void)syscall(SYS_umask, 022);
	*stage = CHILD_IDENTITY;
	if (take_identity(p->who) != 0)
		return -1;
	*stage = CHILD_RIGHTS;
	if (drop_caps() != 0 || reset_signals() != 0)
		return -1;
	*stage = CHILD_WORKDIR;
	return (int)syscall(SYS_chdir, p->workdir);
}

static _Noreturn void
give_up(const struct child_plan *p, int32_t stage, int error)
{
	struct child_report r = { .error = error, .stage = stage };

	(void)syscall(SYS_write, p->report, &r, sizeof(r));
	for (;;)
		(void)syscall(SYS_exit_group, 127);
}

void
child_run(const struct child_plan *p)
{
	int32_t stage;
	int error = ENOENT;

	if (child_confine(p, &stage) != 0)
		give_up(p, stage, errno);
	for (size_t i = 0; i < p->files_n; i++) {
		(void)syscall(SYS_execve, p->files[i], p->argv, p->env);
		/* As execvp: go on past what is not there; remember what may
		 * not be run. */
		if (errno == EACCES)
			error = EACCES;
		else if (errno != ENOENT && errno != ENOTDIR)
			give_up(p, CHILD_EXEC, errno);
	}
	give_up(p, CHILD_EXEC, error);
}
