/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: base */
/*
 * Make a running process do one system call, as one would who had taken it
 * over from inside: inject PID NUMBER [A [B [C]]]. Prints what became of it:
 *
 *   killed by N     the process died of signal N
 *   returned N      the call was made
 *   no access 0     the process may not be traced by us
 */
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

static _Noreturn void
say(const char *what, long n)
{
	printf("%s %ld\n", what, n);
	exit(0);
}

static long
number(const char *text)
{
	uint64_t n = 0;

	if (text && !num_parse(span_str(text), INT32_MAX, &n))
		exit(2);
	return (long)n;
}

/* The next stop of pid, or its end. */
static int
next(pid_t pid)
{
	int status = 0;

	if (waitpid(pid, &status, __WALL) != pid)
		say("no access", 0);
	if (WIFSIGNALED(status))
		say("killed by", WTERMSIG(status));
	if (WIFEXITED(status))
		say("ended with", WEXITSTATUS(status));
	return status;
}

int
main(int argc, char **argv)
{
	struct user_regs_struct regs;
	struct user_regs_struct saved;
	pid_t pid;
	int status;

	if (argc < 3)
		return 2;
	pid = (pid_t)number(argv[1]);
	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD) != 0 ||
	    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) != 0)
		say("no access", 0);
	(void)next(pid);
	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) != 0)
		say("no access", 0);
	saved = regs;
	/* It waits in a call: the instruction before it is a syscall. */
	regs.rip -= 2;
	regs.rax = (unsigned long long)number(argv[2]);
	regs.orig_rax = ~0ULL;
	regs.rdi = (unsigned long long)number(argc > 3 ? argv[3] : NULL);
	regs.rsi = (unsigned long long)number(argc > 4 ? argv[4] : NULL);
	regs.rdx = (unsigned long long)number(argc > 5 ? argv[5] : NULL);
	if (ptrace(PTRACE_SETREGS, pid, NULL, &regs) != 0)
		say("no access", 0);
	/* Into the call, then out of it; other stops are passed by. */
	for (int calls = 0; calls < 2;) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) != 0)
			say("no access", 0);
		status = next(pid);
		calls += WSTOPSIG(status) == (SIGTRAP | 0x80);
	}
	(void)ptrace(PTRACE_GETREGS, pid, NULL, &regs);
	/* Killed by seccomp: the call is rolled back, the signal follows. */
	while (regs.rax == (unsigned long long)number(argv[2])) {
		(void)ptrace(PTRACE_CONT, pid, NULL, SIGSYS);
		(void)next(pid);
	}
	(void)ptrace(PTRACE_SETREGS, pid, NULL, &saved);
	(void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
	say("returned", (long)regs.rax);
}
