/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three programs an import runs (tar2sqfs, gzip, zstd): found along PATH,
 * started with fixed arguments, an empty environment and three descriptors.
 * They read what strangers wrote, so they must never outlive us.
 */
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/inner.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

static bool
find_program(const char *name, char *out)
{
	const char *path = getenv("PATH"); /* NOLINT(concurrency-mt-unsafe) */
	struct span rest = span_str(path && *path ? path : DEFAULT_PATH);

	while (rest.len > 0) {
		struct span dir = rest;

		dir.len = span_find(rest, ':');
		rest = span_from(rest, dir.len + 1);
		if (dir.len == 0 || dir.ptr[0] != '/')
			continue;
		if (text_fmt(out, LIMIT_PATH, "%.*s/%s", (int)dir.len,
			(const char *)dir.ptr, name) &&
		    access(out, X_OK) == 0)
			return true;
	}
	out[0] = '\0';
	return false;
}

int
image_tools_find(struct image_tools *t, struct fault *f)
{
	(void)find_program("gzip", t->gzip);
	(void)find_program("zstd", t->zstd);
	if (find_program("tar2sqfs", t->tar2sqfs))
		return 0;
	return fault_set(f, FAULT_SYSTEM,
	    "cannot find 'tar2sqfs': install squashfs-tools-ng");
}

/* execve() does not write to its strings, whatever its prototype says. */
static char *const *
unconst(const char *const *strings)
{
	char *const *same;

	memcpy(&same, &strings, sizeof(same));
	return same;
}

/* In the child: nothing but its three descriptors and a way to die. */
static _Noreturn void
become(const char *path, const char *const *args, const int fds[3],
    pid_t parent)
{
	static const char *const env[] = { "PATH=" DEFAULT_PATH, "LC_ALL=C",
		NULL };
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(126);
	for (int i = 0; i < 3; i++)
		if (dup2(fds[i], i) < 0)
			_exit(126);
	(void)execve(path, unconst(args), unconst(env));
	_exit(127);
}

int
image_child_start(struct image_child *c, const char *path,
    const char *const *args, int in, int out, struct fault *f)
{
	pid_t parent = getpid();
	int fds[3] = { in, out, -1 };

	c->what = args[0];
	c->complain = memfd_create("complaints", MFD_CLOEXEC);
	if (c->complain < 0)
		return fault_sys(f, "cannot make a memory file");
	fds[2] = c->complain;
	BUG_IF(in <= STDERR_FILENO || out <= STDERR_FILENO || fds[2] <= 2);
	c->pid = fork();
	if (c->pid == 0)
		become(path, args, fds, parent);
	if (c->pid > 0)
		return 0;
	c->pid = 0;
	fd_close(&c->complain);
	return fault_sys(f, "cannot start '%s'", c->what);
}

/* The last line of what the child said, made printable. */
static void
last_words(const struct image_child *c, char *out, size_t size)
{
	char text[512];
	off_t end = lseek(c->complain, 0, SEEK_END);
	off_t from = end > (off_t)sizeof(text) ? end - (off_t)sizeof(text) : 0;
	ssize_t n = pread(c->complain, text, sizeof(text), from);
	struct span s = span_of(text, n > 0 ? (size_t)n : 0);

	while (s.len > 0 && s.ptr[s.len - 1] == '\n')
		s.len--;
	for (size_t at = span_find(s, '\n'); at < s.len;
	     at = span_find(s, '\n'))
		s = span_from(s, at + 1);
	text_escape(s, out, size);
}

int
image_child_wait(struct image_child *c, enum fault_code code, struct fault *f)
{
	char said[160];
	int status = 0;
	pid_t got;

	do
		got = waitpid(c->pid, &status, 0);
	while (got < 0 && errno == EINTR);
	c->pid = 0;
	last_words(c, said, sizeof(said));
	fd_close(&c->complain);
	if (got < 0)
		return fault_sys(f, "cannot wait for '%s'", c->what);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) >= 126)
		return fault_set(f, FAULT_SYSTEM, "cannot run '%s'", c->what);
	if (WIFSIGNALED(status))
		return fault_set(f, FAULT_SYSTEM, "'%s' died of signal %d",
		    c->what, WTERMSIG(status));
	return fault_set(f, code, "'%s' failed: %s", c->what, said);
}

void
image_child_stop(struct image_child *c)
{
	pid_t got;

	if (c->pid <= 0)
		return;
	(void)kill(c->pid, SIGKILL);
	do
		got = waitpid(c->pid, NULL, 0);
	while (got < 0 && errno == EINTR);
	fd_close(&c->complain);
	c->pid = 0;
}
