/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exec: one process of the agent. The request becomes a plan (child.h's
 * arrays, descriptors, candidate files), the fork runs it, and the answer
 * waits for the report pipe: end of file means that the program runs.
 */
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/inner.h"

#define PATH_DEFAULT \
 "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static const char *const stage_words[] = { "setup", "workdir", "identity",
	"rights", "exec" };

static struct exec *
exec_find(struct sandbox *sb, const char *id)
{
	for (size_t i = 0; i < SANDBOX_EXECS; i++)
		if (sb->execs[i].is_used && strcmp(sb->execs[i].id, id) == 0)
			return &sb->execs[i];
	return NULL;
}

static int
check_request(const nacre_sandbox_v1_ExecRequest *q, struct fault *f)
{
	size_t bytes = 0;

	if (!q->exec_id || q->exec_id[0] == '\0' ||
	    strlen(q->exec_id) > SANDBOX_ID)
		return fault_field(f, "exec_id", "is empty or too long");
	if (q->argv_count == 0 || q->argv_count > LIMIT_ARGS)
		return fault_field(f, "argv", "has %u entries, not 1..%d",
		    (unsigned)q->argv_count, LIMIT_ARGS);
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
	const char **files = arena_get(a, SANDBOX_PATHS * sizeof(*files));
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

static int
open_pipes(struct exec *e, int theirs[3], struct fault *f)
{
	for (int i = 0; i < 3; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) != 0)
			return fault_sys(f, "cannot open a pipe");
		theirs[i] = ends[i == 0 ? 0 : 1];
		e->ours[i] = ends[i == 0 ? 1 : 0];
		e->ours_n++;
		if (fd_nonblock(e->ours[i], f) != 0)
			return -1;
	}
	return 0;
}

static int
set_size(int pty, uint32_t cols, uint32_t rows)
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
	    set_size(e->pty, q->cols, q->rows) != 0)
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

void
exec_release(struct exec *e)
{
	for (size_t i = 0; i < e->ours_n; i++)
		fd_close(&e->ours[i]);
	if (loop_is_watched(&e->report)) {
		int fd = e->report.fd;

		loop_unwatch(&e->report);
		fd_close(&fd);
	}
	fd_close(&e->pty);
	loop_timer_clear(&e->timer);
	e->is_used = false;
}

/* TERM to the group first; after two seconds KILL. */
static void
timed_out(struct timer *t)
{
	struct exec *e = CONTAINER_OF(t, struct exec, timer);
	int sig = e->timed_out ? SIGKILL : SIGTERM;

	if (e->pid <= 0)
		return;
	(void)kill(-e->pid, sig);
	if (!e->timed_out)
		loop_timer_set(e->sb->loop, t, SANDBOX_KILL_MS);
	e->timed_out = true;
}

static void
answer(struct exec *e, uint64_t tag)
{
	nacre_sandbox_v1_ExecReply r = nacre_sandbox_v1_ExecReply_init_zero;
	char stage[16] = "";

	r.tag = tag;
	r.pid = e->first_pid;
	r.error = e->said.error;
	if (r.error && (size_t)e->said.stage < NELEM(stage_words))
		(void)text_copy(stage, sizeof(stage),
		    span_str(stage_words[e->said.stage]));
	r.stage = stage;
	e->is_told = true;
	if (e->call) {
		struct rpc_call *c = e->call;

		e->call = NULL;
		sandbox_answer(c, nacre_sandbox_v1_ExecReply_fields, &r);
	}
}

static void
runs_or_not(struct exec *e)
{
	struct sandbox *sb = e->sb;
	struct fault f = { 0 };
	uint64_t tag = 0;

	if (e->said_n == 0) {
		tag = ++sb->last_tag;
		if (bulk_pass(sb, tag, e->ours, e->ours_n, &f) != 0) {
			/* A process that nobody can reach must not stay. */
			if (e->pid > 0)
				(void)kill(-e->pid, SIGKILL);
			e->said = (struct child_report){ f.sys ? f.sys : EIO,
				CHILD_SETUP };
			e->said_n = sizeof(e->said);
		}
		e->ours_n = 0;
	}
	e->has_failed = e->said_n > 0;
	answer(e, tag);
	reap_settle(e);
}

static void
report_ready(struct watch *w, unsigned events)
{
	struct exec *e = CONTAINER_OF(w, struct exec, report);
	uint8_t *to = (uint8_t *)&e->said + e->said_n;
	ssize_t n = read(w->fd, to, sizeof(e->said) - e->said_n);
	int fd = w->fd;

	(void)events;
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0)
		e->said_n += (size_t)n;
	if (n > 0 && e->said_n < sizeof(e->said))
		return;
	loop_unwatch(w);
	fd_close(&fd);
	runs_or_not(e);
}

/* fork and its report; theirs are closed here in any case. */
static int
launch(struct exec *e, struct child_plan *p, struct fault *f)
{
	int report[2] = { -1, -1 };
	int r = -1;

	if (pipe2(report, O_CLOEXEC | O_NONBLOCK) != 0)
		(void)fault_sys(f, "cannot open a pipe");
	else {
		p->report = report[1];
		e->ooms = reap_ooms(e->sb);
		e->pid = confine_clone(0, e->sb->cgroup, NULL);
		if (e->pid == 0)
			child_run(p);
		if (e->pid < 0) {
			e->pid = 0;
			e->said = (struct child_report){ errno, CHILD_SETUP };
			(void)fault_sys(f, "cannot fork");
		} else {
			e->first_pid = e->pid;
			r = loop_watch(e->sb->loop, &e->report, report[0],
			    LOOP_IN, f);
			if (r == 0)
				report[0] = -1;
			else
				(void)kill(e->pid, SIGKILL);
		}
	}
	fd_close(&report[0]);
	fd_close(&report[1]);
	return r;
}

static int
start(struct exec *e, const nacre_sandbox_v1_ExecRequest *q, struct arena *a,
    struct fault *f)
{
	int theirs[3] = { -1, -1, -1 };
	struct child_plan p = { .who = &e->sb->who,
		.tty = q->tty,
		.workdir = q->workdir };
	char **argv = terminated(q->argv, q->argv_count, a);
	char **env = terminated(q->env, q->env_count, a);
	int r;

	if (!argv || !env)
		return fault_set(f, FAULT_LIMIT, "command is too large");
	p.argv = argv;
	p.env = env;
	r = find_files(&p, q, a, f);
	if (r == 0)
		r = q->tty ? open_terminal(e, q, theirs, f)
			   : open_pipes(e, theirs, f);
	memcpy(p.stdio, theirs, sizeof(theirs));
	if (r == 0)
		r = launch(e, &p, f);
	for (size_t i = 0; i < NELEM(theirs); i++)
		fd_close(&theirs[i]);
	if (r == 0 && q->timeout_ms > 0)
		loop_timer_set(e->sb->loop, &e->timer,
		    (int64_t)(q->timeout_ms < INT32_MAX ? q->timeout_ms
							: INT32_MAX));
	return r;
}

static struct exec *
exec_new(struct sandbox *sb, const char *id, struct fault *f)
{
	struct exec *e = NULL;

	if (exec_find(sb, id)) {
		(void)fault_set(f, FAULT_EXISTS, "'%s' runs already", id);
		return NULL;
	}
	for (size_t i = 0; i < SANDBOX_EXECS && !e; i++)
		if (!sb->execs[i].is_used)
			e = &sb->execs[i];
	if (!e) {
		(void)fault_set(f, FAULT_LIMIT,
		    "%d processes started by exec run already", SANDBOX_EXECS);
		return NULL;
	}
	*e = (struct exec){ .sb = sb,
		.is_used = true,
		.ours = { -1, -1, -1 },
		.pty = -1,
		.report = { .fd = -1, .ready = report_ready },
		.timer = { .fire = timed_out } };
	(void)text_copy(e->id, sizeof(e->id), span_str(id));
	return e;
}

void
exec_serve(struct serving *s, struct span m)
{
	nacre_sandbox_v1_ExecRequest q = nacre_sandbox_v1_ExecRequest_init_zero;
	struct fault f = { 0 };
	struct exec *e = NULL;
	struct arena a;

	arena_init(&a, SANDBOX_ARENA);
	if (WIRE_DECODE(nacre_sandbox_v1_ExecRequest, &q, m, &a, &f) == 0 &&
	    check_request(&q, &f) == 0)
		e = exec_new(s->sb, q.exec_id, &f);
	if (e && start(e, &q, &a, &f) == 0)
		e->call = s->call;
	else if (e) {
		/* Its pid, if any, is reaped as an orphan. */
		e->pid = 0;
		exec_release(e);
	}
	arena_release(&a);
	if (f.code != FAULT_NONE)
		sandbox_refuse(s->call, &f);
}

static void
finish_empty(struct serving *s, const struct fault *f)
{
	nacre_sandbox_v1_Empty empty = nacre_sandbox_v1_Empty_init_zero;

	if (f->code != FAULT_NONE)
		sandbox_refuse(s->call, f);
	else
		sandbox_answer(s->call, nacre_sandbox_v1_Empty_fields, &empty);
}

void
exec_signal_serve(struct serving *s, struct span m)
{
	nacre_sandbox_v1_SignalRequest q =
	    nacre_sandbox_v1_SignalRequest_init_zero;
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, SANDBOX_ARENA);
	if (WIRE_DECODE(nacre_sandbox_v1_SignalRequest, &q, m, &a, &f) == 0) {
		struct exec *e = exec_find(s->sb, q.exec_id ? q.exec_id : "");

		if (!e || e->pid <= 0)
			(void)fault_set(&f, FAULT_NOT_FOUND,
			    "there is no such process");
		else if (q.signal < 1 || q.signal > 64)
			(void)fault_field(&f, "signal", "%d is no signal",
			    (int)q.signal);
		else if (kill(q.group ? -e->pid : e->pid, q.signal) != 0)
			(void)fault_sys(&f, "cannot signal");
	}
	arena_release(&a);
	finish_empty(s, &f);
}

void
exec_resize_serve(struct serving *s, struct span m)
{
	nacre_sandbox_v1_ResizeRequest q =
	    nacre_sandbox_v1_ResizeRequest_init_zero;
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, SANDBOX_ARENA);
	if (WIRE_DECODE(nacre_sandbox_v1_ResizeRequest, &q, m, &a, &f) == 0) {
		struct exec *e = exec_find(s->sb, q.exec_id ? q.exec_id : "");

		if (!e || e->pty < 0)
			(void)fault_set(&f, FAULT_NOT_FOUND,
			    "there is no such terminal");
		else if (q.cols > 65535 || q.rows > 65535)
			(void)fault_field(&f, "cols", "or rows is over 65535");
		else if (set_size(e->pty, q.cols, q.rows) != 0)
			(void)fault_sys(&f, "cannot resize");
	}
	arena_release(&a);
	finish_empty(s, &f);
}
