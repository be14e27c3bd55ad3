/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway's side of a template: a child does the work, its answer comes
 * over a socketpair; done is called when the child has ended.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "machine/inner.h"

enum {
	JOB_MS = 300000, /* two boots on a very busy host */
};

static void
drop_fds(struct machine_job *j)
{
	for (size_t i = 0; i < j->fds_n; i++)
		fd_close(&j->fds[i]);
	j->fds_n = 0;
}

/* Take what has come; false when no more will. */
static bool
take(struct machine_job *j)
{
	uint8_t *at = buf_room(&j->text, 1024);
	size_t got = 0;
	size_t n = NELEM(j->fds) - j->fds_n;
	struct fault f = { 0 };

	if (!at ||
	    fd_receive(j->sock, at, 1024, &got, j->fds + j->fds_n, &n, &f) != 0)
		return false;
	j->fds_n += n;
	buf_grew(&j->text, got);
	return got > 0;
}

static void
ready(struct watch *w, unsigned events)
{
	struct machine_job *j = CONTAINER_OF(w, struct machine_job, watch);

	(void)events;
	if (!take(j))
		loop_unwatch(w);
}

static void
finish(struct machine_job *j, int status)
{
	struct machine_template t;
	struct fault f = { 0 };
	struct span line;
	size_t end;

	while (take(j))
		;
	loop_unwatch(&j->watch);
	loop_timer_clear(&j->timer);
	fd_close(&j->sock);
	line = buf_span(&j->text);
	end = span_find(line, '\n');
	if (end == line.len || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		(void)fault_set(&f, FAULT_START_FAILED, "%.*s",
		    line.len ? (int)line.len : 41,
		    line.len ? (const char *)line.ptr
			     : "the template process ended without a word");
	else if (machine_template_parse(span_of(line.ptr, end), j->fds,
		     j->fds_n, &t, &f) == 0)
		j->fds_n = 0;
	drop_fds(j);
	buf_release(&j->text);
	j->done(j, f.code == FAULT_NONE ? &t : NULL, &f);
}

static void
exited(struct child *c, int status)
{
	finish(CONTAINER_OF(c, struct machine_job, child), status);
}

static void
too_late(struct timer *t)
{
	struct machine_job *j = CONTAINER_OF(t, struct machine_job, timer);

	log_error("the template process takes too long: ended");
	(void)kill(j->child.pid, SIGKILL);
}

static int
spawn(const struct machine_paths *p, const struct machine_shape *s, int sock,
    pid_t *pid, struct fault *f)
{
	struct args a;
	struct machine_exec x = { .path = p->keeper,
		.in = -1,
		.out = -1,
		.err = -1,
		.keep = &sock,
		.keep_n = 1 };
	int r;

	args_init(&a, "nacre-keeper", "template");
	args_text(&a, "--cache", p->cache);
	args_text(&a, "--kernel", p->kernel);
	args_text(&a, "--initramfs", p->initramfs);
	args_text(&a, "--guest", p->guest);
	args_text(&a, "--vmm", p->vmm);
	args_text(&a, "--accelerator", machine_accel_name(s->accel));
	args_number(&a, "--memory", s->memory_mib);
	args_number(&a, "--cpus", s->vcpus);
	args_number(&a, "--answer-fd", sock);
	x.argv = a.argv;
	r = machine_exec(&x, pid, f);
	args_release(&a);
	return r;
}

int
machine_template_get(struct loop *l, struct machine_job *j,
    const struct machine_paths *p, const struct machine_shape *s,
    struct fault *f)
{
	with_fd theirs = -1;
	int ends[2];
	pid_t pid;

	BUG_IF(machine_job_runs(j) || !j->done);
	if (machine_shape_check(s, f) != 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return fault_sys(f, "cannot make a socketpair");
	j->loop = l;
	j->sock = ends[0];
	theirs = ends[1];
	j->fds_n = 0;
	j->child = (struct child){ .exited = exited };
	j->watch.ready = ready;
	j->timer.fire = too_late;
	buf_init(&j->text, ANSWER_BYTES);
	if (fd_nonblock(j->sock, f) != 0 || spawn(p, s, theirs, &pid, f) != 0) {
		fd_close(&j->sock);
		return -1;
	}
	if (loop_child(l, &j->child, pid, f) != 0 ||
	    loop_watch(l, &j->watch, j->sock, LOOP_IN, f) != 0) {
		machine_job_cancel(j);
		return -1;
	}
	loop_timer_set(l, &j->timer, JOB_MS);
	return 0;
}

bool
machine_job_runs(const struct machine_job *j)
{
	return j->child.pid != 0;
}

void
machine_job_cancel(struct machine_job *j)
{
	pid_t pid = j->child.pid;

	if (pid == 0)
		return;
	loop_child_forget(&j->child);
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	loop_unwatch(&j->watch);
	loop_timer_clear(&j->timer);
	drop_fds(j);
	fd_close(&j->sock);
	buf_release(&j->text);
}
