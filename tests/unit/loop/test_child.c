/* SPDX-License-Identifier: Apache-2.0 */
/* Children are told of and reaped; signals reach their taker. */
#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "loop/loop.h"

struct ward {
	struct child child;
	int ends;
	int status;
};

static struct fault fault;

static void
ended(struct child *c, int status)
{
	struct ward *w = CONTAINER_OF(c, struct ward, child);

	w->ends++;
	w->status = status;
}

static pid_t
spawn(int code, int sig)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	if (sig)
		(void)raise(sig);
	_exit(code);
}

static void
run_until_end(struct loop *l, struct ward *w)
{
	while (!w->ends)
		assert_int_equal(loop_tick(l, 1000, &fault), 0);
}

static void
an_exit_code_is_told_and_the_child_reaped(void **state)
{
	struct loop *l = loop_new(&fault);
	struct ward w = { .child.exited = ended };
	pid_t pid = spawn(7, 0);

	(void)state;
	assert_int_equal(loop_child(l, &w.child, pid, &fault), 0);
	run_until_end(l, &w);
	assert_true(WIFEXITED(w.status));
	assert_int_equal(WEXITSTATUS(w.status), 7);
	assert_int_equal(w.child.pid, 0);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	loop_free(l);
}

static void
a_killed_child_is_told_as_killed(void **state)
{
	struct loop *l = loop_new(&fault);
	struct ward w = { .child.exited = ended };

	(void)state;
	assert_int_equal(loop_child(l, &w.child, spawn(0, SIGKILL), &fault), 0);
	run_until_end(l, &w);
	assert_true(WIFSIGNALED(w.status));
	assert_int_equal(WTERMSIG(w.status), SIGKILL);
	loop_free(l);
}

static void
a_child_reaped_by_others_has_no_status(void **state)
{
	struct loop *l = loop_new(&fault);
	struct ward w = { .child.exited = ended };
	pid_t pid = spawn(3, 0);

	(void)state;
	assert_int_equal(loop_child(l, &w.child, pid, &fault), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	run_until_end(l, &w);
	assert_int_equal(w.status, -1);
	loop_free(l);
}

static void
a_forgotten_child_is_not_told(void **state)
{
	struct loop *l = loop_new(&fault);
	struct ward w = { .child.exited = ended };
	pid_t pid = spawn(0, 0);

	(void)state;
	assert_int_equal(loop_child(l, &w.child, pid, &fault), 0);
	loop_child_forget(&w.child);
	loop_child_forget(&w.child);
	assert_int_equal(loop_tick(l, 20, &fault), 0);
	assert_int_equal(w.ends, 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(loop_child(l, &w.child, pid, &fault), -1);
	assert_int_equal(fault.sys, ESRCH);
	loop_free(l);
}

static int last_signal;

static void
take(void *owner, int sig)
{
	++*(int *)owner;
	last_signal = sig;
}

static void
signals_reach_their_taker(void **state)
{
	struct loop *l = loop_new(&fault);
	int users = 0;
	int hups = 0;

	(void)state;
	assert_int_equal(loop_signal(l, SIGUSR1, take, &users, &fault), 0);
	assert_int_equal(loop_signal(l, SIGHUP, take, &hups, &fault), 0);
	(void)raise(SIGUSR1);
	assert_int_equal(loop_tick(l, 1000, &fault), 0);
	assert_int_equal(users, 1);
	assert_int_equal(hups, 0);
	(void)raise(SIGHUP);
	(void)raise(SIGUSR1);
	assert_int_equal(loop_tick(l, 1000, &fault), 0);
	assert_int_equal(users, 2);
	assert_int_equal(hups, 1);
	loop_free(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exit_code_is_told_and_the_child_reaped),
		cmocka_unit_test(a_killed_child_is_told_as_killed),
		cmocka_unit_test(a_child_reaped_by_others_has_no_status),
		cmocka_unit_test(a_forgotten_child_is_not_told),
		cmocka_unit_test(signals_reach_their_taker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
