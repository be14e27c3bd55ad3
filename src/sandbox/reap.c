/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends. As PID 1 this process inherits every orphan and reaps all; it is the
 * only one that reaps, so the pid of a process that is not reaped yet cannot
 * be another's. An end is told once, to the watcher, and kept until there is
 * one.
 */
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/inner.h"

static void
describe(const struct exec *e, nacre_sandbox_v1_Event *out, char reason[16])
{
	*out = (nacre_sandbox_v1_Event)nacre_sandbox_v1_Event_init_zero;
	reason[0] = '\0';
	out->reason = reason;
	if (WIFSIGNALED(e->status)) {
		out->signal = WTERMSIG(e->status);
		out->code = 128 + out->signal;
	} else {
		out->code = WEXITSTATUS(e->status);
	}
	if (e->timed_out) {
		out->code = 124;
		(void)text_copy(reason, 16, SPAN_LIT("timeout"));
	} else if (e->was_oom) {
		(void)text_copy(reason, 16, SPAN_LIT("oom"));
	}
}

void
reap_settle(struct exec *e)
{
	nacre_sandbox_v1_Event event;
	struct fault f = { 0 };
	char reason[16];
	struct buf b;

	if (!e->is_used || !e->is_told)
		return;
	if (!e->has_ended)
		return;
	if (e->has_failed) {
		exec_release(e);
		return;
	}
	if (!e->sb->watcher)
		return;
	describe(e, &event, reason);
	event.exec_id = e->id;
	buf_init(&b, 1024);
	if (wire_encode(nacre_sandbox_v1_Event_fields, &event, &b, &f) == 0 &&
	    rpc_send(e->sb->watcher, buf_span(&b), &f) == 0)
		exec_release(e);
	buf_release(&b);
}

void
reap_watch_serve(struct serving *s, struct span m)
{
	struct fault f = { 0 };

	(void)m;
	if (s->sb->watcher) {
		(void)fault_set(&f, FAULT_EXISTS, "there is a watcher");
		sandbox_refuse(s->call, &f);
		return;
	}
	s->sb->watcher = s->call;
	for (size_t i = 0; i < SANDBOX_EXECS; i++)
		reap_settle(&s->sb->execs[i]);
}

static void
ended(struct sandbox *sb, pid_t pid, int status)
{
	if (spare_ended(sb, pid))
		return;
	for (size_t i = 0; i < SANDBOX_EXECS; i++) {
		struct exec *e = &sb->execs[i];

		if (!e->is_used || e->pid != pid)
			continue;
		e->pid = 0;
		e->status = status;
		e->has_ended = true;
		e->was_oom = WIFSIGNALED(status) &&
		    WTERMSIG(status) == SIGKILL && leaf_ooms(e->leaf) > e->ooms;
		loop_timer_clear(&e->timer);
		exec_look(e);
		reap_settle(e);
		return;
	}
}

static void
all_gone(struct sandbox *sb)
{
	nacre_sandbox_v1_Empty empty = nacre_sandbox_v1_Empty_init_zero;
	struct rpc_call *c = sb->stopper;

	loop_timer_clear(&sb->grace);
	sb->state = SANDBOX_STOPPED;
	sb->stopper = NULL;
	if (c)
		sandbox_answer(c, nacre_sandbox_v1_Empty_fields, &empty);
}

static void
reap(void *owner, int sig)
{
	struct sandbox *sb = owner;
	int status;
	pid_t pid;

	(void)sig;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		ended(sb, pid, status);
	if (pid < 0 && errno == ECHILD && sb->state == SANDBOX_STOPPING)
		all_gone(sb);
}

/* The cgroup's kill also takes what would fork faster than it is killed. */
static void
grace_over(struct timer *t)
{
	struct sandbox *sb = CONTAINER_OF(t, struct sandbox, grace);
	with_fd fd = openat(sb->cgroup, "cgroup.kill", O_WRONLY | O_CLOEXEC);

	if ((fd < 0 || write(fd, "1", 1) != 1) && getpid() == 1)
		(void)kill(-1, SIGKILL);
}

void
reap_stop_serve(struct serving *s, struct span m)
{
	nacre_sandbox_v1_StopRequest q = nacre_sandbox_v1_StopRequest_init_zero;
	struct sandbox *sb = s->sb;
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, SANDBOX_ARENA);
	if (WIRE_DECODE(nacre_sandbox_v1_StopRequest, &q, m, &a, &f) != 0)
		sandbox_refuse(s->call, &f);
	arena_release(&a);
	if (f.code != FAULT_NONE)
		return;
	/* kill(-1) means this namespace, so it must be one of our own. */
	if (getpid() != 1) {
		(void)fault_set(&f, FAULT_NOT_READY, "there is no namespace");
		sandbox_refuse(s->call, &f);
		return;
	}
	sb->stopper = s->call;
	sb->state = SANDBOX_STOPPING;
	if (kill(-1, q.grace_ms ? SIGTERM : SIGKILL) != 0 && errno == ESRCH) {
		all_gone(sb);
		return;
	}
	/* A frozen or stopped process takes TERM only when it goes on. */
	(void)kill(-1, SIGCONT);
	loop_timer_set(sb->loop, &sb->grace, (int64_t)q.grace_ms);
}

int
reap_open(struct sandbox *sb, struct fault *f)
{
	sb->grace.fire = grace_over;
	return loop_signal(sb->loop, SIGCHLD, reap, sb, f);
}
