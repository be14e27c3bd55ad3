/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between clone and exec. The child has its cell and the code that it runs,
 * and none of our memory (cell.c). We do not wait for it (no CLONE_VFORK): as
 * the agent's uid it can be stopped by the agent, and must not stop us.
 *
 * So here are bare system calls only: no library function, no errno, no
 * canary (it lies in memory that is not there), nothing written but this
 * stack. The plan was made before and stays until the report pipe has closed.
 * The order is what makes it safe: identity before capabilities, then the
 * jail, which refuses both; all of it before the first path of the agent's.
 *
 * A spare (spare.c) stops there, an agent's process with the agent's jail but
 * not dumpable, and goes on when a byte comes; the plan has been written by
 * then.
 */
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "sandbox/inner.h"

/* No books and no canary outside this stack. */
#define BARE \
 __attribute__((no_sanitize("address", "undefined"), no_stack_protector))
#define AT(p) ((long)(intptr_t)(p))

/* What rt_sigaction takes; musl's own struct differs. */
struct kernel_sigaction {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

/* struct clone_args of linux/sched.h, which does not go with sched.h. */
enum {
	ARG_FLAGS = 0,
	ARG_EXIT_SIGNAL = 4,
	ARG_STACK = 5,
	ARG_STACK_SIZE = 6,
	ARG_CGROUP = 10,
	ARGS = 11,
	CLONE_INTO_CGROUP_SHIFT = 33,
};

/* The result as the kernel gives it: -errno. */
BARE static long
raw(long number, long a, long b, long c, long d)
{
	register long fourth __asm__("r10") = d;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
			 : "rcx", "r11", "memory");
	return r;
}

BARE static long
take_identity(const struct identity *who)
{
	long r = raw(SYS_setgroups, (long)who->groups_n, AT(who->groups), 0, 0);

	if (r == 0)
		r = raw(SYS_setresgid, who->gid, who->gid, who->gid, 0);
	if (r == 0)
		r = raw(SYS_setresuid, who->uid, who->uid, who->uid, 0);
	return r;
}

/* The bounding and ambient sets are empty since rights_reduce(). */
BARE static long
drop_caps(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	return raw(SYS_capset, AT(&head), AT(none), 0, 0);
}

BARE static long
reset_signals(void)
{
	struct kernel_sigaction normal = { .handler = SIG_DFL };
	unsigned long none = 0;
	long r = raw(SYS_rt_sigaction, SIGPIPE, AT(&normal), 0, sizeof(none));

	if (r != 0)
		return r;
	return raw(SYS_rt_sigprocmask, SIG_SETMASK, AT(&none), 0, sizeof(none));
}

BARE static long
take_stdio(const struct child_plan *p)
{
	long r = raw(SYS_setsid, 0, 0, 0, 0);

	for (int i = 0; r >= 0 && i < 3; i++)
		r = raw(SYS_dup2, p->stdio[i], i, 0, 0);
	if (r >= 0 && p->tty)
		r = raw(SYS_ioctl, 0, TIOCSCTTY, 0, 0);
	(void)raw(SYS_umask, 022, 0, 0, 0);
	return r < 0 ? r : 0;
}

BARE static _Noreturn void
leave(void)
{
	for (;;)
		(void)raw(SYS_exit_group, 127, 0, 0, 0);
}

BARE static _Noreturn void
give_up(const struct child_plan *p, int32_t stage, long error)
{
	struct child_report r = { .error = (int32_t)-error, .stage = stage };

	(void)raw(SYS_write, p->report, AT(&r), sizeof(r), 0);
	leave();
}

/* What other processes hold must end with them, not with a spare. */
BARE static void
close_others(const struct child_plan *p)
{
	long from = 3;

	for (int i = 0; i < CHILD_KEEPS; i++) {
		if (p->keep[i] > from)
			(void)raw(SYS_close_range, from, p->keep[i] - 1, 0, 0);
		if (p->keep[i] >= from)
			from = p->keep[i] + 1;
	}
	(void)raw(SYS_close_range, from, ~0U, 0, 0);
}

BARE int
child_confine(const struct child_plan *p, int32_t *stage)
{
	long r;

	*stage = CHILD_SETUP;
	r = take_stdio(p);
	if (r == 0 && p->waits)
		close_others(p);
	if (r != 0)
		return (int)r;
	*stage = CHILD_IDENTITY;
	r = take_identity(&p->who);
	if (r != 0)
		return (int)r;
	*stage = CHILD_RIGHTS;
	r = drop_caps();
	if (r == 0)
		r = reset_signals();
	if (r == 0 && p->jail)
		r = confine_agent_apply(p->jail);
	return (int)r;
}

/* Until the byte comes; the end of the pipe is the end of this process. */
BARE static void
wait_for_go(const struct child_plan *p)
{
	char byte;

	if (raw(SYS_read, p->go, AT(&byte), 1, 0) != 1)
		leave();
}

/* As execvp: go on past what is not there; remember what may not be run. */
BARE static _Noreturn void
child_run(const struct child_plan *p)
{
	int32_t stage;
	long error = -ENOENT;
	long r;

	r = child_confine(p, &stage);
	if (r != 0 && p->waits)
		leave();
	if (r != 0)
		give_up(p, stage, r);
	if (p->waits)
		wait_for_go(p);
	r = raw(SYS_chdir, AT(p->workdir), 0, 0, 0);
	if (r != 0)
		give_up(p, CHILD_WORKDIR, r);
	for (size_t i = 0; i < p->files_n; i++) {
		r = raw(SYS_execve, AT(p->files[i]), AT(p->argv), AT(p->env),
		    0);
		if (r == -EACCES)
			error = r;
		else if (r != -ENOENT && r != -ENOTDIR)
			give_up(p, CHILD_EXEC, r);
	}
	give_up(p, CHILD_EXEC, error);
}

pid_t
child_start(const struct cell *c, int cgroup)
{
	size_t size;
	const uint8_t *stack = cell_stack(c, &size);
	/* cppcheck-suppress variableScope ; the system call reads it */
	uint64_t args[ARGS] = {
		[ARG_EXIT_SIGNAL] = SIGCHLD,
		[ARG_STACK] = (uint64_t)(uintptr_t)stack,
		[ARG_STACK_SIZE] = size,
	};
	register const struct child_plan *plan __asm__("r12") = cell_plan(c);
	register void (*run)(const struct child_plan *) __asm__("r13") =
	    child_run;
	long r;

	if (cgroup >= 0) {
		args[ARG_FLAGS] |= (uint64_t)1 << CLONE_INTO_CGROUP_SHIFT;
		args[ARG_CGROUP] = (uint64_t)cgroup;
	}
	cell_lend(c, true);
	/* In the child the stack pointer is new and aligned; it never
	 * returns from the call. */
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%r12, %%rdi\n\t"
			 "call *%%r13\n\t"
			 "hlt\n"
			 "1:"
			 : "=a"(r)
			 : "a"((long)SYS_clone3), "D"(args), "S"(sizeof(args)),
			 "r"(plan), "r"(run)
			 : "rcx", "r11", "memory", "cc");
	cell_lend(c, false);
	if (r < 0)
		errno = (int)-r;
	return r < 0 ? -1 : (pid_t)r;
}
