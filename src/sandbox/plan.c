/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an Exec request to what the child needs: arrays that end in NULL, the
 * files that its PATH may mean, pipes or a terminal. All of it before the
 * clone, where memory may be had and faults may be told.
 */
#include <sys/ioctl.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/inner.h"

#define PATH_DEFAULT \
 "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

int
plan_check(const nacre_sandbox_v1_ExecRequest *q, struct fault *f)
{
	size_t bytes = 0;

	if (!q->exec_id || q->exec_id[0] == '\0' ||
	    strlen(q->exec_id) > SANDBOX_ID)
		return fault_field(f, "exec_id", "is empty or too long");
	if (q->argv_count == 0 || q->argv_count > LIMIT_EXEC_ARGS)
		return fault_field(f, "argv", "has %u entries, not 1..%d",
		    (unsigned)q->argv_count, LIMIT_EXEC_ARGS);
	if (q->argv[0][0] == '\0')
		return fault_field(f, "argv", "names no program");
	for (size_t i = 0; i < q->argv_count; i++)
		bytes += strlen(q->argv[i]) + 1;
	for (size_t i = 0; i < q->env_count; i++) {
		const char *equals = strchr(q->env[i], '=');

		if (!equals || equals == q->env[i])
			return fault_field(f, "env", "entry %zu has no name",
			    i);
		bytes += strlen(q->env[i]) + 1;
	}
	if (bytes > 2 * LIMIT_ARGS_BYTES)
		return fault_field(f, "argv", "and env take %zu bytes", bytes);
	if (!q->workdir || q->workdir[0] != '/' ||
	    strlen(q->workdir) >= LIMIT_PATH)
		return fault_field(f, "workdir", "is no absolute path");
	if (q->cols > UINT16_MAX || q->rows > UINT16_MAX)
		return fault_field(f, "cols", "or rows is over %u", UINT16_MAX);
	return 0;
}

static char **
terminated(char **list, size_t n, struct arena *a)
{
	char **out = arena_get(a, (n + 1) * sizeof(*out));

	for (size_t i = 0; out && i < n; i++)
		out[i] = list[i];
	return out;
}

/* The files that execvp would try, on the PATH that the agent will have. */
static int
find_files(struct child_plan *p, const nacre_sandbox_v1_ExecRequest *q,
    struct arena *a, struct fault *f)
{
	char **files = arena_get(a, SANDBOX_PATHS * sizeof(*files));
	struct span rest = span_str(PATH_DEFAULT);

	if (!files)
		return fault_set(f, FAULT_LIMIT, "command is too large");
	p->files = files;
	if (strchr(q->argv[0], '/')) {
		files[p->files_n++] = q->argv[0];
		return 0;
	}
	for (size_t i = 0; i < q->env_count; i++)
		if (strncmp(q->env[i], "PATH=", 5) == 0)
			rest = span_str(q->env[i] + 5);
	while (rest.len > 0 && p->files_n < SANDBOX_PATHS) {
		size_t n = span_find(rest, ':');

		files[p->files_n] = arena_fmt(a, "%.*s%s%s", (int)n,
		    (const char *)rest.ptr, n ? "/" : "./", q->argv[0]);
		if (!files[p->files_n++])
			return fault_set(f, FAULT_LIMIT,
			    "command is too large");
		rest = span_from(rest, n + 1);
	}
	return 0;
}

int
plan_pipes(int ours[3], int theirs[3], struct fault *f)
{
	for (int i = 0; i < 3; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) != 0)
			return fault_sys(f, "cannot open a pipe");
		theirs[i] = ends[i == 0 ? 0 : 1];
		ours[i] = ends[i == 0 ? 1 : 0];
		if (fd_nonblock(ours[i], f) != 0)
			return -1;
	}
	return 0;
}

void
plan_close(struct child_plan *p)
{
	for (size_t i = 0; i < NELEM(p->stdio); i++)
		fd_close(&p->stdio[i]);
}

int
plan_set_size(int pty, uint32_t cols, uint32_t rows)
{
	struct winsize w = { .ws_col = (unsigned short)(cols ? cols : 80),
		.ws_row = (unsigned short)(rows ? rows : 24) };

	return ioctl(pty, TIOCSWINSZ, &w);
}

static int
open_terminal(struct exec *e, const nacre_sandbox_v1_ExecRequest *q,
    int theirs[3], struct fault *f)
{
	int unlock = 0;
	int peer;

	e->pty = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (e->pty < 0)
		return fault_sys(f, "cannot open a terminal");
	if (ioctl(e->pty, TIOCSPTLCK, &unlock) != 0 ||
	    plan_set_size(e->pty, q->cols, q->rows) != 0)
		return fault_sys(f, "cannot prepare the terminal");
	peer = ioctl(e->pty, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (peer < 0)
		return fault_sys(f, "cannot open the terminal's other side");
	theirs[0] = peer;
	theirs[1] = fcntl(peer, F_DUPFD_CLOEXEC, 3);
	theirs[2] = fcntl(peer, F_DUPFD_CLOEXEC, 3);
	e->ours[0] = fcntl(e->pty, F_DUPFD_CLOEXEC, 3);
	if (theirs[1] < 0 || theirs[2] < 0 || e->ours[0] < 0 ||
	    fchown(peer, e->sb->who.uid, (gid_t)-1) != 0)
		return fault_sys(f, "cannot give the terminal away");
	e->ours_n = 1;
	return fd_nonblock(e->ours[0], f);
}

int
plan_make(struct exec *e, const nacre_sandbox_v1_ExecRequest *q,
    struct fault *f)
{
	struct child_plan *p = &e->plan;
	struct arena *a = &e->arena;
	char **argv = terminated(q->argv, q->argv_count, a);
	char **env = terminated(q->env, q->env_count, a);

	p->who = e->sb->who;
	p->jail = e->sb->jail;
	p->tty = q->tty;
	p->workdir = q->workdir;
	p->argv = argv;
	p->env = env;
	if (!argv || !env)
		return fault_set(f, FAULT_LIMIT, "command is too large");
	return find_files(p, q, a, f);
}

int
plan_stdio(struct exec *e, const nacre_sandbox_v1_ExecRequest *q,
    struct fault *f)
{
	if (q->tty)
		return open_terminal(e, q, e->plan.stdio, f);
	e->ours_n = NELEM(e->ours);
	return plan_pipes(e->ours, e->plan.stdio, f);
}
