/* SPDX-License-Identifier: Apache-2.0 */
/* A prepared jail: applying it, raw; what every process does first. */
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"
#include "confine/inner.h"

enum {
	KEEP_MAX = 64,
};

void
confine_program_free(struct confine_program *p)
{
	if (!p)
		return;
	fd_close(&p->ruleset);
	free(p->filter.filter);
	free(p);
}

int
confine_program_abi(const struct confine_program *p)
{
	return p->abi;
}

int
confine_apply(const struct confine_program *p, const char **step)
{
	*step = "die with the parent";
	if (p->parent && confine_die_with_parent(p->parent) != 0)
		return -1;
	*step = "harden";
	if (confine_harden() != 0)
		return -1;
	*step = "landlock";
	if (p->ruleset >= 0 && confine_landlock_apply(p->ruleset) != 0)
		return -1;
	*step = "seccomp";
	return (
	    int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p->filter);
}

int
confine_harden(void)
{
	static const struct rlimit none = { 0, 0 };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    setrlimit(RLIMIT_CORE, &none) != 0)
		return -1;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int
confine_die_with_parent(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		return -1;
	/* It may have ended before the prctl, and then nothing would come. */
	if (getppid() == parent)
		return 0;
	errno = ESRCH;
	return -1;
}

static int
close_between(unsigned from, unsigned to)
{
	return from > to ? 0 : (int)syscall(SYS_close_range, from, to, 0);
}

int
confine_close_except(const int *keep, size_t n)
{
	unsigned from = 0;

	if (n > KEEP_MAX) {
		errno = EINVAL;
		return -1;
	}
	/* The next kept one each time: no sorting, no memory. */
	for (;;) {
		unsigned next = ~0U;

		for (size_t i = 0; i < n; i++)
			if (keep[i] >= 0 && (unsigned)keep[i] >= from &&
			    (unsigned)keep[i] < next)
				next = (unsigned)keep[i];
		if (next == ~0U)
			return close_between(from, ~0U);
		if (next > 0 && close_between(from, next - 1) != 0)
			return -1;
		from = next + 1;
	}
}

int
confine_signals_reset(void)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t none;

	/* EINVAL for SIGKILL, SIGSTOP and the C library's own. */
	for (int sig = 1; sig < NSIG; sig++)
		(void)sigaction(sig, &plain, NULL);
	(void)sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL);
}
