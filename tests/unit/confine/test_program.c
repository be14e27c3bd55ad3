/* SPDX-License-Identifier: Apache-2.0 */
/* What every process does to itself: harden, close, follow its parent. */
#include <sys/prctl.h>
#include <sys/resource.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "base/base.h"
#include "child.h"
#include "confine/confine.h"

enum {
	PATIENCE_MS = 10000
};

static int
harden(void *arg)
{
	struct rlimit core;

	(void)arg;
	if (confine_harden() != 0 || getrlimit(RLIMIT_CORE, &core) != 0)
		return 1;
	if (core.rlim_cur != 0 || core.rlim_max != 0)
		return 2;
	if (prctl(PR_GET_DUMPABLE) != 0)
		return 3;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 4;
}

static void
a_hardened_process_leaves_no_core(void **state)
{
	(void)state;
	assert_int_equal(in_child(harden, NULL), 0);
}

static int
keep_three(void *arg)
{
	int keep[] = { 200, -1, 2, 100 };

	(void)arg;
	for (int fd = 50; fd < 210; fd += 10)
		if (dup2(0, fd) != fd)
			return 1;
	if (confine_close_except(keep, NELEM(keep)) != 0)
		return 2;
	for (int fd = 0; fd < 300; fd++) {
		bool is_kept = fd == 2 || fd == 100 || fd == 200;

		if ((fcntl(fd, F_GETFD) >= 0) != is_kept)
			return 3;
	}
	if (confine_close_except(NULL, 0) != 0)
		return 4;
	return fcntl(2, F_GETFD) < 0 ? 0 : 5;
}

static void
only_listed_descriptors_stay_open(void **state)
{
	(void)state;
	assert_int_equal(in_child(keep_three, NULL), 0);
}

static void
nothing(int sig)
{
	(void)sig;
}

static int
reset_signals(void *arg)
{
	struct sigaction now;
	sigset_t mask;

	(void)arg;
	(void)signal(SIGUSR1, nothing);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigfillset(&mask);
	(void)sigprocmask(SIG_BLOCK, &mask, NULL);
	if (confine_signals_reset() != 0)
		return 1;
	if (sigaction(SIGUSR1, NULL, &now) != 0 || now.sa_handler != SIG_DFL)
		return 2;
	if (sigaction(SIGPIPE, NULL, &now) != 0 || now.sa_handler != SIG_DFL)
		return 3;
	if (sigprocmask(SIG_BLOCK, NULL, &mask) != 0)
		return 4;
	return sigismember(&mask, SIGUSR1) ? 5 : 0;
}

static void
signals_are_plain_again(void **state)
{
	(void)state;
	assert_int_equal(in_child(reset_signals, NULL), 0);
}

/* Starts a child that would live for ever, and ends once it is tied. */
static int
leave_an_orphan(void *arg)
{
	const int *pipe_to_test = arg;
	int ready[2];
	char c;
	pid_t self = getpid();

	if (pipe(ready) != 0)
		return 1;
	switch (fork()) {
	case -1:
		return 2;
	case 0:
		if (confine_die_with_parent(self) != 0)
			_exit(1);
		if (write(ready[1], "x", 1) != 1)
			_exit(2);
		for (;;)
			(void)pause();
	default:
		break;
	}
	(void)close(pipe_to_test[1]);
	return read(ready[0], &c, 1) == 1 ? 0 : 3;
}

static void
an_orphan_dies(void **state)
{
	int ends[2];
	struct pollfd end;
	char c;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(in_child(leave_an_orphan, ends), 0);
	(void)close(ends[1]);
	/* The orphan holds the other end as long as it lives. */
	end = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	assert_int_equal(poll(&end, 1, PATIENCE_MS), 1);
	assert_int_equal(read(ends[0], &c, 1), 0);
	(void)close(ends[0]);
}

static int
follow_a_stranger(void *arg)
{
	(void)arg;
	if (confine_die_with_parent(getpid()) == 0)
		return 1;
	return errno == ESRCH ? 0 : 2;
}

static void
a_parent_that_has_gone_is_noticed(void **state)
{
	(void)state;
	assert_int_equal(in_child(follow_a_stranger, NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hardened_process_leaves_no_core),
		cmocka_unit_test(only_listed_descriptors_stay_open),
		cmocka_unit_test(signals_are_plain_again),
		cmocka_unit_test(an_orphan_dies),
		cmocka_unit_test(a_parent_that_has_gone_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
