/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of the test's own program as processes to look at: run from anywhere,
 * they say that they run and wait for the end of their input.
 */
#ifndef TESTS_SANDBOX_COPIES_H
#define TESTS_SANDBOX_COPIES_H

#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "sandbox/evidence.h"

/* How a copy of this program is told to wait for the end of its input. */
#define WAIT "--wait"
#define CAT  "/usr/bin/cat"

static struct loop *loop;
static struct eyes eyes;
static char folder[64];
static char self[LIMIT_PATH];
static bool is_done;

static void
tick(void)
{
	struct fault f = { 0 };

	assert_int_equal(loop_tick(loop, 1000, &f), 0);
}

/* A process that says it runs and waits; to: its input, which ends it. */
struct copy {
	pid_t pid;
	int to;
	char path[128];
};

static void
await(int from)
{
	char c;

	assert_int_equal(read(from, &c, 1), 1);
	(void)close(from);
}

/* fd < 0: run path; else what fd is open on. */
static struct copy
run(const char *path, int fd)
{
	struct copy c = { 0 };
	int in[2];
	int out[2];

	(void)text_copy(c.path, sizeof(c.path), span_str(path));
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (c.pid == 0) {
		static char wait[] = WAIT;
		bool is_copy =
		    fd >= 0 || strcmp(strrchr(path, '/'), "/cat") != 0;
		char *argv[] = { c.path, is_copy ? wait : NULL, NULL };
		char *env[] = { NULL };

		(void)dup2(in[0], 0);
		(void)dup2(out[1], 1);
		if (fd >= 0)
			(void)fexecve(fd, argv, env);
		else
			(void)execve(path, argv, env);
		_exit(127);
	}
	(void)close(in[0]);
	(void)close(out[1]);
	c.to = in[1];
	/* For cat, which says what it hears; the copies say it by themselves
	 * and hear it at their end. */
	assert_int_equal(write(c.to, "x", 1), 1);
	await(out[0]);
	return c;
}

static void
stop(struct copy *c)
{
	int status;

	(void)close(c->to);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	assert_int_equal(status, 0);
}

/* A copy in our folder. */
static void
copy_of(const char *from, const char *name, char path[128])
{
	struct fault f = { 0 };
	struct buf b;
	int fd;

	(void)text_fmt(path, 128, "%s/%s", folder, name);
	buf_init(&b, 256 << 20);
	assert_int_equal(file_read(AT_FDCWD, from, &b, &f), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, buf_ptr(&b), b.len, &f), 0);
	(void)close(fd);
	buf_release(&b);
}

static void
copy_self(const char *name, char path[128])
{
	copy_of(self, name, path);
}

static void
copies_open(void)
{
	struct fault f = { 0 };
	ssize_t n;

	loop = loop_new(&f);
	assert_non_null(loop);
	eyes.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	eyes.upper = -1;
	(void)text_copy(folder, sizeof(folder),
	    SPAN_LIT("/tmp/nacre-evidence.XXXXXX"));
	assert_non_null(mkdtemp(folder));
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	assert_true(n > 0);
	self[n] = '\0';
}

static void
copies_close(void)
{
	loop_free(loop);
	(void)close(eyes.proc);
	assert_int_equal(rmdir(folder), 0);
}

/* What a copy does: its status, or -1 when this is none. */
static int
copies_main(int argc, char **argv)
{
	char c;

	if (argc < 2 || strcmp(argv[1], WAIT) != 0)
		return -1;
	return write(1, "x", 1) == 1 && read(0, &c, 1) == 1 &&
		read(0, &c, 1) == 0
	    ? 0
	    : 1;
}

#endif
