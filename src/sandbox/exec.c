/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exec: one process of the agent. The request becomes a plan (plan.c), the
 * child runs it (child.c), and the answer waits for the report pipe: end of
 * file means that the program runs.
 */
#include <sys/ioctl.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/inner.h"

enum {
	LOOK_MS = 10,       /* longer than most commands take */
	START_MS = 30000,   /* until exec: longer than a freeze can be */
	SPARE_BUSY_MS = 20, /* the next spare, while this one runs */
	SPARE_IDLE_MS = 2   /* and when it has ended and been told */
};

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

static void
close_report(struct exec *e)
{
	loop_unwatch(&e->report);
	loop_timer_clear(&e->look);
	fd_close(&e->report_fd);
}

/* The child has what it needs, or is not there. */
static void
forget_request(struct exec *e)
{
	arena_release(&e->arena);
	plan_close(&e->plan);
}

/* Not before the child has left its cell. */
void
exec_release(struct exec *e)
{
	forget_request(e);
	close_report(e);
	for (size_t i = 0; i < e->ours_n; i++)
		fd_close(&e->ours[i]);
	fd_close(&e->pty);
	loop_timer_clear(&e->timer);
	leaf_give(e->leaf);
	e->leaf = NULL;
	spare_give_cell(e->sb, &e->cell);
	spare_later(e->sb, SPARE_IDLE_MS);
	e->is_used = false;
}

/* The group is not there before the child has made it. */
static int
send_signal(const struct exec *e, bool group, int sig)
{
	if (group && kill(-e->pid, sig) == 0)
		return 0;
	return !group || errno == ESRCH ? kill(e->pid, sig) : -1;
}

/* TERM to the group first; after two seconds KILL. */
static void
timed_out(struct timer *t)
{
	struct exec *e = CONTAINER_OF(t, struct exec, timer);
	int sig = e->timed_out ? SIGKILL : SIGTERM;

	if (e->pid <= 0)
		return;
	(void)send_signal(e, true, sig);
	if (!e->timed_out)
		loop_timer_set(e->sb->loop, t, SANDBOX_KILL_MS);
	e->timed_out = true;
}

static void
say(struct rpc_call *c, const struct ledger_answer *a)
{
	nacre_sandbox_v1_ExecReply r = nacre_sandbox_v1_ExecReply_init_zero;
	char stage[16] = "";

	r.tag = a->tag;
	r.pid = a->pid;
	r.error = a->error;
	if (r.error && (size_t)a->stage < NELEM(stage_words))
		(void)text_copy(stage, sizeof(stage),
		    span_str(stage_words[a->stage]));
	r.stage = stage;
	sandbox_answer(c, nacre_sandbox_v1_ExecReply_fields, &r);
}

static void
answer(struct exec *e, uint64_t tag)
{
	const struct ledger_answer a = {
		.tag = tag,
		.pid = e->first_pid,
		.error = e->has_failed ? e->said.error : 0,
		.stage = e->said.stage,
	};
	struct rpc_call *c = e->call;

	e->is_told = true;
	e->call = NULL;
	ledger_answer(&e->sb->ledger, e->id, &a);
	if (c)
		say(c, &a);
}

static void
runs_or_not(struct exec *e)
{
	struct sandbox *sb = e->sb;
	struct fault f = { 0 };
	uint64_t tag = 0;

	if (!e->has_failed) {
		tag = ++sb->last_tag;
		if (bulk_pass(sb, tag, e->ours, e->ours_n, &f) != 0) {
			/* A process that nobody can reach must not stay. */
			if (e->pid > 0)
				(void)kill(-e->pid, SIGKILL);
			e->said = (struct child_report){ f.sys ? f.sys : EIO,
				CHILD_SETUP };
			e->has_failed = true;
		}
		e->ours_n = 0;
	}
	answer(e, tag);
	if (e->has_failed)
		e->id[0] = '\0'; /* the slot stays until it is reaped */
	reap_settle(e);
}

/* The agent can stop a child before its exec, and so keep its place for good:
 * it has a while. Its end is told as any other's. */
static void
look_later(struct exec *e)
{
	bool is_late = clock_mono_ms() - e->began_ms > START_MS;

	if (is_late && e->pid > 0)
		(void)send_signal(e, true, SIGKILL);
	loop_timer_set(e->sb->loop, &e->look, is_late ? START_MS : LOOK_MS);
}

/*
 * Has it come to run? The pipe is empty while the child is on its way, at its
 * end when exec closed it, and holds a report when a step failed.
 */
void
exec_look(struct exec *e)
{
	ssize_t n;

	if (e->is_told || e->report_fd < 0)
		return;
	n = read(e->report_fd, &e->said, sizeof(e->said));
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		look_later(e);
		return;
	}
	e->has_failed = n > 0;
	close_report(e);
	runs_or_not(e);
}

static void
report_ready(struct watch *w, unsigned events)
{
	(void)events;
	exec_look(CONTAINER_OF(w, struct exec, report));
}

static void
look_again(struct timer *t)
{
	exec_look(CONTAINER_OF(t, struct exec, look));
}

/*
 * A watched pipe would wake us between the child's exec and its first
 * instruction; most commands are over before that would be of use. So the
 * pipe is looked at when the child ends or, at the latest, a moment later.
 */
static void
watch_report(struct exec *e, bool tell_at_once)
{
	struct fault ignored = { 0 };
	bool is_watched = tell_at_once &&
	    loop_watch(e->sb->loop, &e->report, e->report_fd, LOOP_IN,
		&ignored) == 0;

	e->first_pid = e->pid;
	e->began_ms = clock_mono_ms();
	loop_timer_set(e->sb->loop, &e->look, is_watched ? START_MS : LOOK_MS);
}

static int
launch(struct exec *e, const nacre_sandbox_v1_ExecRequest *q, struct fault *f)
{
	int report[2];

	if (plan_stdio(e, q, f) != 0 || leaf_take(e->sb, &e->leaf, f) != 0)
		return -1;
	if (pipe2(report, O_CLOEXEC | O_NONBLOCK) != 0)
		return fault_sys(f, "cannot open a pipe");
	e->report_fd = report[0];
	e->plan.report = report[1];
	e->ooms = leaf_ooms(e->leaf);
	if (cell_open(&e->cell, cell_need(&e->plan), f) == 0) {
		BUG_IF(!cell_fill(&e->cell, &e->plan));
		e->pid = child_start(&e->cell, leaf_fd(e->leaf));
		if (e->pid < 0) {
			e->pid = 0;
			(void)fault_sys(f, "cannot make a process");
		}
	}
	fd_close(&report[1]);
	return e->pid == 0 ? -1 : 0;
}

static int
start(struct exec *e, const nacre_sandbox_v1_ExecRequest *q, struct fault *f)
{
	int r = plan_make(e, q, f);

	if (r == 0 && !spare_use(e))
		r = launch(e, q, f);
	forget_request(e);
	if (r == 0)
		watch_report(e, q->at_once);
	spare_later(e->sb, SPARE_BUSY_MS);
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
		(void)fault_set(f, FAULT_LIMIT, "%d processes run already",
		    SANDBOX_EXECS);
		return NULL;
	}
	*e = (struct exec){ .sb = sb,
		.is_used = true,
		.ours = { -1, -1, -1 },
		.pty = -1,
		.report_fd = -1,
		.report = { .fd = -1, .ready = report_ready },
		.look = { .fire = look_again },
		.plan = { .stdio = { -1, -1, -1 } },
		.timer = { .fire = timed_out } };
	(void)text_copy(e->id, sizeof(e->id), span_str(id));
	return e;
}

/* New to the ledger? Else it is answered, or refused with *f. */
static bool
is_new(struct serving *s, const char *id, struct span m, struct fault *f)
{
	const struct ledger_row *row;

	switch (ledger_enter(&s->sb->ledger, id, m, &row)) {
	case LEDGER_NEW:
		return true;
	case LEDGER_AGAIN:
		say(s->call, &row->answer);
		break;
	case LEDGER_SOON:
		(void)fault_set(f, FAULT_BUSY, "'%s' is being started", id);
		break;
	case LEDGER_OTHER:
		(void)fault_set(f, FAULT_EXISTS, "'%s' is another command's",
		    id);
		break;
	}
	return false;
}

static void
fail(struct serving *s, const char *id, const struct fault *f)
{
	ledger_strike(&s->sb->ledger, id);
	sandbox_refuse(s->call, f);
}

void
exec_serve(struct serving *s, struct span m)
{
	nacre_sandbox_v1_ExecRequest q = nacre_sandbox_v1_ExecRequest_init_zero;
	struct fault f = { 0 };
	struct exec *e = NULL;
	struct arena a;
	char id[SANDBOX_ID + 1] = "";

	arena_init(&a, SANDBOX_ARENA);
	if (WIRE_DECODE(nacre_sandbox_v1_ExecRequest, &q, m, &a, &f) == 0 &&
	    plan_check(&q, &f) == 0) {
		(void)text_copy(id, sizeof(id), span_str(q.exec_id));
		if (!is_new(s, id, m, &f)) {
			arena_release(&a);
			if (f.code != FAULT_NONE)
				sandbox_refuse(s->call, &f);
			return;
		}
		e = exec_new(s->sb, id, &f);
	}
	if (!e) {
		arena_release(&a);
		fail(s, id, &f);
		return;
	}
	e->arena = a;
	if (start(e, &q, &f) == 0) {
		e->call = s->call;
		return;
	}
	exec_release(e);
	fail(s, id, &f);
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
		else if (send_signal(e, q.group, q.signal) != 0)
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
		else if (plan_set_size(e->pty, q.cols, q.rows) != 0)
			(void)fault_sys(&f, "cannot resize");
	}
	arena_release(&a);
	finish_empty(s, &f);
}
