/* SPDX-License-Identifier: Apache-2.0 */
/* Something done in a child, and how the child ended. */
#ifndef TESTS_CONFINE_CHILD_H
#define TESTS_CONFINE_CHILD_H

#include <sys/types.h>
#include <sys/wait.h>

#include <unistd.h>

#include "../../lib/unit.h"

/* run() returns an exit code 0..127; a signal comes back as 128 + signal. */
static inline int
in_child(int (*run)(void *arg), void *arg)
{
	static const int caught[] = { SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGSYS };
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		/* cmocka's would go on with the next test, in the jail. */
		for (size_t i = 0; i < NELEM(caught); i++)
			(void)signal(caught[i], SIG_DFL);
		_exit(run(arg));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
