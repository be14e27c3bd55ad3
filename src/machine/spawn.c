/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting programs: the VMM in its jail, keepers in their own session,
 * helpers that run to their end. Between fork and exec only raw calls.
 */
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "confine/confine.h"
#include "machine/inner.h"

enum {
	KEEP = 24,
	STEP_TEXT = 32,
};

/* What a child that could not exec says about itself. */
struct exec_failure {
	int sys;
	char step[STEP_TEXT];
};

static _Noreturn void
child_fails(int status, const char *step)
{
	struct exec_failure e = { .sys = errno };

	for (size_t i = 0; i + 1 < sizeof(e.step) && step[i]; i++)
		e.step[i] = step[i];
	(void)!write(status, &e, sizeof(e));
	_exit(127);
}

/* Put fd in the place of a standard descriptor; -1: /dev/null. */
static int
standard(int fd, int place, int null)
{
	return dup2(fd >= 0 ? fd : null, place) < 0 ? -1 : 0;
}

static _Noreturn void
child_runs(const struct machine_exec *x, const int *keep, size_t keep_n,
    int status, int null)
{
	static char *const env[] = { NULL };
	const char *step = "standard descriptors";

	if (standard(x->in, 0, null) != 0 || standard(x->out, 1, null) != 0 ||
	    (x->err >= 0 && dup2(x->err, 2) < 0))
		child_fails(status, step);
	for (size_t i = 0; i < x->keep_n; i++)
		if (x->keep[i] >= 0 && fcntl(x->keep[i], F_SETFD, 0) != 0)
			child_fails(status, "descriptors to keep");
	if (x->session && setsid() < 0)
		child_fails(status, "session");
	if (confine_signals_reset() != 0)
		child_fails(status, "signals");
	if (x->jail && confine_apply(x->jail, &step) != 0)
		child_fails(status, step);
	/* After the jail, whose ruleset is a descriptor. */
	if (confine_close_except(keep, keep_n) != 0)
		child_fails(status, "close");
	(void)execve(x->path, x->argv, env);
	child_fails(status, "exec");
}

/* The child's word, or its silence when exec closed the pipe. */
static int
await_exec(const struct machine_exec *x, int status, pid_t pid, struct fault *f)
{
	struct exec_failure e = { 0 };
	struct fault none = { 0 };

	if (fd_read_all(status, &e, sizeof(e), &none) != 0)
		return 0;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	e.step[sizeof(e.step) - 1] = '\0';
	errno = e.sys;
	return fault_sys(f, "cannot start '%s' (%s)", x->path, e.step);
}

int
machine_exec(const struct machine_exec *x, pid_t *pid, struct fault *f)
{
	with_fd null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int keep[KEEP + 4] = { 0, 1, 2 };
	int ends[2];
	int r;

	BUG_IF(x->keep_n > KEEP);
	if (null < 0)
		return fault_sys(f, "cannot open '/dev/null'");
	if (pipe2(ends, O_CLOEXEC) != 0)
		return fault_sys(f, "cannot make a pipe");
	keep[3] = ends[1];
	for (size_t i = 0; i < x->keep_n; i++)
		keep[4 + i] = x->keep[i];
	*pid = fork();
	if (*pid == 0)
		child_runs(x, keep, 4 + x->keep_n, ends[1], null);
	if (*pid < 0)
		(void)fault_sys(f, "cannot fork");
	fd_close(&ends[1]);
	r = *pid < 0 ? -1 : await_exec(x, ends[0], *pid, f);
	fd_close(&ends[0]);
	return r;
}

/* Read until the end or the deadline; false at the deadline. */
static bool
read_until(int fd, struct buf *b, int64_t end_ms)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = end_ms - clock_mono_ms();
		uint8_t spare[256];
		uint8_t *at = buf_room(b, sizeof(spare));
		ssize_t n;

		if (left <= 0 || poll(&p, 1, (int)left) == 0)
			return false;
		n = read(fd, at ? at : spare, sizeof(spare));
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return true;
		if (at)
			buf_grew(b, (size_t)n);
	}
}

static int
explain(const char *name, int status, const struct buf *said, struct fault *f)
{
	char shown[140];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	text_escape(buf_span(said), shown, sizeof(shown));
	if (WIFSIGNALED(status))
		return fault_set(f, FAULT_SYSTEM, "'%s' was ended by signal %d",
		    name, WTERMSIG(status));
	return fault_set(f, FAULT_SYSTEM, "'%s' failed: %s", name, shown);
}

/* Its output until it ends, or is ended; then how it ended. */
static int
follow(const char *name, pid_t pid, int from, struct buf *said,
    int64_t timeout_ms, struct fault *f)
{
	bool ended = read_until(from, said, clock_mono_ms() + timeout_ms);
	int status = 0;

	if (!ended)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!ended)
		return fault_set(f, FAULT_TIMEOUT, "'%s' takes too long", name);
	return explain(name, status, said, f);
}

int
machine_run(char *const argv[], int in, struct buf *out, int64_t timeout_ms,
    struct fault *f)
{
	struct buf said;
	struct machine_exec x = { .path = argv[0], .argv = argv, .in = in };
	int ends[2];
	pid_t pid = 0;
	int r;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return fault_sys(f, "cannot make a pipe");
	buf_init(&said, 4096);
	x.out = x.err = ends[1];
	r = machine_exec(&x, &pid, f);
	fd_close(&ends[1]);
	if (r == 0)
		r = follow(argv[0], pid, ends[0], &said, timeout_ms, f);
	if (r == 0 && out)
		r = buf_add(out, buf_ptr(&said), said.len, f);
	fd_close(&ends[0]);
	buf_release(&said);
	return r;
}

bool
machine_find_program(const char *name, char *out, size_t size)
{
	static const char *const folders[] = { "/usr/local/bin", "/usr/bin",
		"/bin", "/usr/sbin", "/sbin" };

	for (size_t i = 0; i < NELEM(folders); i++)
		if (text_fmt(out, size, "%s/%s", folders[i], name) &&
		    access(out, X_OK) == 0)
			return true;
	return false;
}
