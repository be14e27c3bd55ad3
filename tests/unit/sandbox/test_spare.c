/* SPDX-License-Identifier: Apache-2.0 */
/* The child that is made ahead: what it has, what it runs, what if it dies. */
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "sandbox/inner.h"

static struct sandbox *sb;
static char shell[] = "/bin/sh";
static char dash_c[] = "-c";
static char script[256];
static char *argv[] = { shell, dash_c, script, NULL };
static char *files[] = { shell };
static char path[] = "PATH=/usr/bin:/bin";
static char *env[] = { path, NULL };

static void
tick(void)
{
	struct fault f = { 0 };

	assert_int_equal(loop_tick(sb->loop, 1000, &f), 0);
}

static int
setup(void **state)
{
	struct fault f = { 0 };

	(void)state;
	sb = must_alloc(sizeof(*sb));
	(void)signal(SIGPIPE, SIG_IGN);
	sb->loop = loop_new(&f);
	sb->cgroup = -1;
	sb->keeps_memory = true;
	sb->state = SANDBOX_READY;
	sb->who = (struct identity){ .uid = 1000, .gid = 1000 };
	spare_init(sb);
	return sb->loop && reap_open(sb, &f) == 0 ? 0 : -1;
}

static int
teardown(void **state)
{
	(void)state;
	spare_drop(sb);
	sb->state = SANDBOX_STOPPED;
	if (sb->execs[0].is_used)
		exec_release(&sb->execs[0]);
	while (waitpid(-1, NULL, 0) > 0)
		;
	loop_free(sb->loop);
	free(sb);
	return 0;
}

static void
park(void)
{
	spare_later(sb, 0);
	while (sb->spare.pid == 0)
		tick();
}

static struct exec *
want(const char *command)
{
	struct exec *e = &sb->execs[0];

	*e = (struct exec){ .sb = sb,
		.is_used = true,
		.ours = { -1, -1, -1 },
		.pty = -1,
		.report_fd = -1,
		.report = { .fd = -1 },
		.plan = { .who = sb->who,
		    .stdio = { -1, -1, -1 },
		    .workdir = "/tmp",
		    .argv = argv,
		    .env = env,
		    .files = files,
		    .files_n = 1 } };
	(void)text_copy(script, sizeof(script), span_str(command));
	return e;
}

static size_t
output(int fd, char *out, size_t size)
{
	size_t n = 0;
	ssize_t got;

	(void)fcntl(fd, F_SETFL, 0);
	while ((got = read(fd, out + n, size - 1 - n)) > 0)
		n += (size_t)got;
	out[n] = '\0';
	return n;
}

static void
it_becomes_what_the_plan_says(void **state)
{
	char out[256];
	struct exec *e = want("id -u; pwd; echo $PATH; echo $$");
	char wanted[64];
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	park();
	pid = sb->spare.pid;
	assert_true(spare_use(e));
	assert_int_equal(e->pid, pid);
	assert_int_equal(sb->spare.pid, 0);
	(void)output(e->ours[1], out, sizeof(out));
	(void)text_fmt(wanted, sizeof(wanted),
	    "1000\n/tmp\n/usr/bin:/bin\n%d\n", (int)pid);
	assert_string_equal(out, wanted);
	while (!e->has_ended)
		tick();
	assert_int_equal(e->status, 0);
}

/* Used before it has run at all: nothing of what it starts with is lost. */
static void
it_may_be_used_at_once(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	for (int i = 0; i < 50; i++) {
		char out[64];
		struct exec *e = want("echo here");

		park();
		assert_true(spare_use(e));
		(void)output(e->ours[1], out, sizeof(out));
		assert_string_equal(out, "here\n");
		while (!e->has_ended)
			tick();
		exec_release(e);
		loop_timer_clear(&sb->spare.refill);
	}
}

static void
a_dead_one_is_not_used(void **state)
{
	struct exec *e = want("true");
	siginfo_t info;

	(void)state;
	park();
	assert_int_equal(kill(sb->spare.pid, SIGKILL), 0);
	/* Dead, and nobody has told us. */
	assert_int_equal(
	    waitid(P_PID, (id_t)sb->spare.pid, &info, WEXITED | WNOWAIT), 0);
	assert_false(spare_use(e));
	assert_int_equal(sb->spare.pid, 0);
	assert_int_equal(e->plan.stdio[0], -1); /* as it was */
	assert_false(e->plan.waits);
	park();
	assert_int_not_equal(sb->spare.pid, 0);
}

/* It is in the agent's reach, so the agent may have done that. */
static void
a_stopped_one_goes_on(void **state)
{
	struct exec *e = want("true");
	siginfo_t info;

	(void)state;
	if (geteuid() != 0)
		skip();
	park();
	assert_int_equal(kill(sb->spare.pid, SIGSTOP), 0);
	assert_int_equal(
	    waitid(P_PID, (id_t)sb->spare.pid, &info, WSTOPPED | WNOWAIT), 0);
	assert_true(spare_use(e));
	while (!e->has_ended)
		tick();
	assert_int_equal(e->status, 0);
}

/* One line of its status, once it says so. */
static void
expect_status(pid_t pid, const char *line)
{
	char file[64];
	bool is_there = false;

	(void)text_fmt(file, sizeof(file), "/proc/%d/status", (int)pid);
	while (!is_there) {
		struct fault f = { 0 };
		struct buf b;

		buf_init(&b, 1 << 16);
		assert_int_equal(file_read(AT_FDCWD, file, &b, &f), 0);
		assert_int_equal(buf_add(&b, "", 1, &f), 0);
		is_there = strstr((char *)buf_ptr(&b), line) != NULL;
		assert_null(strstr((char *)buf_ptr(&b), "State:\tZ"));
		buf_release(&b);
	}
}

static void
it_waits_with_all_taken_from_it(void **state)
{
	struct exec *e = want("true");
	char file[64];
	struct stat st;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), 0);
	park();
	assert_int_equal(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
	expect_status(sb->spare.pid, "\nUid:\t1000\t1000\t1000\t1000\n");
	expect_status(sb->spare.pid, "\nCapPrm:\t0000000000000000\n");
	expect_status(sb->spare.pid, "\nCapEff:\t0000000000000000\n");
	/* Root's, as of a process that is not dumpable. */
	(void)text_fmt(file, sizeof(file), "/proc/%d/fd", (int)sb->spare.pid);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_uid, 0);
	assert_true(spare_use(e));
	while (!e->has_ended)
		tick();
	assert_int_equal(e->status, 0);
}

static void
one_that_dies_is_replaced(void **state)
{
	pid_t first;

	(void)state;
	park();
	first = sb->spare.pid;
	assert_int_equal(kill(first, SIGKILL), 0);
	while (sb->spare.pid == first)
		tick();
	while (sb->spare.pid == 0)
		tick();
	assert_int_not_equal(sb->spare.pid, first);
}

static void
what_does_not_suit_is_left_alone(void **state)
{
	static char big[70000];
	char *large[] = { big, NULL };
	struct exec *e = want("true");
	pid_t pid;

	(void)state;
	park();
	pid = sb->spare.pid;
	memset(big, 'x', sizeof(big) - 1);
	big[1] = '=';
	e->plan.env = large;
	assert_false(spare_use(e));
	e->plan.env = env;
	e->plan.tty = true;
	assert_false(spare_use(e));
	assert_int_equal(sb->spare.pid, pid);
	assert_int_equal(kill(pid, 0), 0);
}

static void
it_holds_no_descriptor_of_ours(void **state)
{
	int ends[2];
	char byte;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	park();
	(void)close(ends[1]);
	/* Ends once it, too, has closed the other side. */
	assert_int_equal(read(ends[0], &byte, 1), 0);
	(void)close(ends[0]);
}

static void
it_has_no_memory_of_ours(void **state)
{
	struct fault f = { 0 };
	char file[64];
	struct buf b;

	(void)state;
	if (geteuid() != 0)
		skip();
	park();
	(void)text_fmt(file, sizeof(file), "/proc/%d/maps", (int)sb->spare.pid);
	buf_init(&b, 1 << 20);
	assert_int_equal(file_read(AT_FDCWD, file, &b, &f), 0);
	assert_int_equal(buf_add(&b, "", 1, &f), 0);
	assert_non_null(strstr((char *)buf_ptr(&b), "rw-s"));
	assert_null(strstr((char *)buf_ptr(&b), "rw-p"));
	buf_release(&b);
}

/* The agent's limit is as it was, to the process. */
static void
a_full_agent_does_not_get_it(void **state)
{
	char folder[] = "/tmp/nacre-spare.XXXXXX";
	struct exec *e = want("true");
	char text[16] = "";

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_non_null(mkdtemp(folder));
	sb->pids_max = 4;
	(void)text_fmt(script, sizeof(script), "%s/limit", folder);
	sb->pids_limit = open(script, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	(void)unlink(script);
	(void)text_fmt(script, sizeof(script), "%s/now", folder);
	sb->pids_now = open(script, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	(void)unlink(script);
	(void)rmdir(folder);
	park();
	assert_int_equal(pread(sb->pids_limit, text, sizeof(text), 0), 1);
	assert_string_equal(text, "5");
	assert_int_equal(pwrite(sb->pids_now, "5\n", 2, 0), 2);
	assert_false(spare_use(e));
	assert_int_equal(pwrite(sb->pids_now, "4\n", 2, 0), 2);
	assert_true(spare_use(e));
	assert_int_equal(pread(sb->pids_limit, text, sizeof(text), 0), 1);
	assert_string_equal(text, "4");
	while (!e->has_ended)
		tick();
	fd_close(&sb->pids_limit);
	fd_close(&sb->pids_now);
	sb->pids_max = 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* glibc reads this one before main. */
int
main(int argc, char **args)
{
	(void)argc;
	if (!getenv("GLIBC_TUNABLES")) {
		(void)setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
		(void)execv("/proc/self/exe", args);
		return 1;
	}
	const struct CMUnitTest tests[] = {
		TEST(it_becomes_what_the_plan_says),
		TEST(it_may_be_used_at_once),
		TEST(a_dead_one_is_not_used),
		TEST(a_stopped_one_goes_on),
		TEST(it_waits_with_all_taken_from_it),
		TEST(one_that_dies_is_replaced),
		TEST(what_does_not_suit_is_left_alone),
		TEST(it_holds_no_descriptor_of_ours),
		TEST(it_has_no_memory_of_ours),
		TEST(a_full_agent_does_not_get_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
