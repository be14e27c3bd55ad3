/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process in the sandbox, from its start to its told end. Bytes flow
 * between its descriptors and a sink: the Attach call of an exec, the log ring
 * of the main process, or nowhere when the Attach was lost. A sink without
 * room stops the reading, and the pipe stops the process.
 */
#include <sys/ioctl.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/inner.h"

enum {
	DRAIN_MS = 500,       /* for output after the end, from other holders */
	WASTE_MAX = 64 << 20, /* output of a lost exec that is read away */
	INPUT_MAX = 1 << 20,  /* more than a stream's window */
	TURN_BYTES = 256 << 10, /* one outlet in one tick */
	PIPE_BYTES = 256 << 10  /* of an input that brings much */
};

static void settle(struct run *r);

/* --- the sink */
static size_t
sink_room(struct run *r)
{
	if (r->is_main)
		return mainlog_room(&r->sv->log, r->sv->session.is_open);
	if (r->is_lost || !r->call)
		return LIMIT_CHUNK;
	return attach_has_room(r->call) ? LIMIT_CHUNK : 0;
}

static void
sink_put(struct run *r, pb_bytes_array_t *bytes, bool is_error)
{
	nacre_session_v1_AttachUp up = nacre_session_v1_AttachUp_init_zero;
	struct span s = wire_span(bytes);
	struct fault f = { 0 };

	if (r->is_main) {
		mainlog_add(&r->sv->log, s, is_error, clock_wall_ms());
		launch_push_log(r->sv);
		return;
	}
	if (r->is_lost || !r->call) {
		r->wasted += s.len;
		return;
	}
	if (is_error) {
		up.which_kind = nacre_session_v1_AttachUp_err_tag;
		up.kind.err = bytes;
	} else {
		up.which_kind = nacre_session_v1_AttachUp_out_tag;
		up.kind.out = bytes;
	}
	if (attach_send(r->call, &up, &f) != 0)
		log_warn(&f, "output of '%s' is lost", r->id);
}

/* --- out of the process */
static void
outlet_close(struct run_outlet *o)
{
	loop_unwatch(&o->watch);
	fd_close(&o->fd);
	o->owed = 0;
}

/* Not watching, because a hang-up would be told again and again. */
static void
outlet_want(struct run_outlet *o)
{
	struct fault f = { 0 };

	if (o->fd < 0)
		return;
	if (sink_room(o->run) == 0)
		loop_unwatch(&o->watch);
	else if (!loop_is_watched(&o->watch) &&
	    loop_watch(o->run->sv->loop, &o->watch, o->fd, LOOP_IN, &f) != 0)
		log_warn(&f, "cannot watch output of '%s'", o->run->id);
}

static void
outlet_read(struct run_outlet *o)
{
	/* As a message has its bytes, so that they are not copied into it. */
	static union {
		pb_bytes_array_t array;
		uint8_t room[PB_BYTES_ARRAY_T_ALLOCSIZE(LIMIT_CHUNK)];
	} chunk;
	struct run *r = o->run;
	size_t turn = 0;

	while (o->fd >= 0 && turn < TURN_BYTES) {
		size_t room = sink_room(r);
		ssize_t n;

		if (room == 0)
			break;
		n = read(o->fd, chunk.array.bytes,
		    room < LIMIT_CHUNK ? room : LIMIT_CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			/* EIO: the terminal's other side is closed. */
			outlet_close(o);
			break;
		}
		o->owed -= o->owed < (size_t)n ? o->owed : (size_t)n;
		turn += (size_t)n;
		chunk.array.size = (pb_size_t)n;
		sink_put(r, &chunk.array, o->is_error);
		if (r->wasted > WASTE_MAX)
			outlet_close(o);
	}
	outlet_want(o);
}

static void
outlet_ready(struct watch *w, unsigned events)
{
	struct run_outlet *o = CONTAINER_OF(w, struct run_outlet, watch);

	(void)events;
	outlet_read(o);
	settle(o->run);
}

void
run_pump(struct run *r)
{
	for (size_t i = 0; i < NELEM(r->out); i++)
		outlet_want(&r->out[i]);
	settle(r);
}

/* --- into the process */
static void
inlet_close(struct run *r)
{
	loop_unwatch(&r->in);
	fd_close(&r->in_fd);
}

static void
inlet_give_back(struct run *r)
{
	if (r->in_owed && r->call)
		rpc_consume(r->call, r->in_owed);
	r->in_owed = 0;
}

static void
inlet_write(struct run *r)
{
	struct fault f = { 0 };

	while (r->in_held.len > 0 && r->in_fd >= 0) {
		ssize_t n =
		    write(r->in_fd, buf_ptr(&r->in_held), r->in_held.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			inlet_close(r);
		else
			buf_eat(&r->in_held, (size_t)n);
	}
	if (r->in_fd < 0 && r->is_started)
		buf_clear(&r->in_held);
	if (r->in_held.len == 0) {
		loop_unwatch(&r->in);
		inlet_give_back(r);
		if (r->in_ends && r->in_fd >= 0)
			inlet_close(r);
	} else if (r->in_fd >= 0 && !loop_is_watched(&r->in) &&
	    loop_watch(r->sv->loop, &r->in, r->in_fd, LOOP_OUT, &f) != 0) {
		log_warn(&f, "cannot watch input of '%s'", r->id);
	}
}

static void
inlet_ready(struct watch *w, unsigned events)
{
	(void)events;
	inlet_write(CONTAINER_OF(w, struct run, in));
}

static void
inlet_turn(struct deferred *d)
{
	inlet_write(CONTAINER_OF(d, struct run, in_turn));
}

void
run_input(struct run *r, struct span s, size_t owed)
{
	struct fault f = { 0 };

	if (r->is_done)
		s.len = 0;
	if (s.len && !r->in_ends && buf_add(&r->in_held, s.ptr, s.len, &f) != 0)
		log_warn(&f, "input of '%s' is lost", r->id);
	r->in_owed += owed;
	if (r->in_held.len > LIMIT_CHUNK && !r->in_is_wide && r->in_fd >= 0) {
		r->in_is_wide = true;
		(void)fcntl(r->in_fd, F_SETPIPE_SZ, PIPE_BYTES);
	}
	/* With what else comes in this tick. */
	if (r->is_done)
		inlet_give_back(r);
	else if (r->is_started)
		loop_later(r->sv->loop, &r->in_turn);
}

void
run_input_end(struct run *r)
{
	r->in_ends = true;
	if (!r->is_started)
		return;
	/* A terminal has no end of input but the character for it. */
	if (r->is_tty && buf_left(&r->in_held) > 0) {
		static const uint8_t eot = 4;

		r->in_ends = false;
		run_input(r, span_of(&eot, 1), 0);
		return;
	}
	inlet_write(r);
}

void
run_resize(struct run *r, uint32_t cols, uint32_t rows)
{
	/* 0: not known; what was known stays. */
	if (cols > UINT16_MAX || rows > UINT16_MAX)
		return;
	if (cols > 0)
		r->size.ws_col = (uint16_t)cols;
	if (rows > 0)
		r->size.ws_row = (uint16_t)rows;
	if (r->is_tty && r->out[0].fd >= 0)
		(void)ioctl(r->out[0].fd, TIOCSWINSZ, &r->size);
}

/* --- the end */
static void
exit_as(struct run *r, int32_t code, const char *reason)
{
	r->has_exited = true;
	r->code = code;
	(void)text_copy(r->reason, sizeof(r->reason), span_str(reason));
}

/* The end is told when all output is out: the pipes have closed, or some
 * background process holds them and the time is over. */
static void
settle(struct run *r)
{
	if (!r->has_exited || r->is_done || r->is_starting)
		return;
	for (size_t i = 0; i < NELEM(r->out); i++)
		if (r->out[i].fd >= 0 && (!r->drain_over || r->out[i].owed))
			return;
	loop_timer_clear(&r->drain);
	for (size_t i = 0; i < NELEM(r->out); i++)
		outlet_close(&r->out[i]);
	/* What it did not take nobody will: the sender must not wait. */
	inlet_close(r);
	buf_clear(&r->in_held);
	inlet_give_back(r);
	r->is_done = true;
	r->ended(r);
}

static void
drain_over(struct timer *t)
{
	struct run *r = CONTAINER_OF(t, struct run, drain);

	r->drain_over = true;
	settle(r);
}

/* Mostly all that it wrote is there, and its end: no need to watch. */
static void
begin_drain(struct run *r)
{
	bool is_open = false;

	for (size_t i = 0; i < NELEM(r->out); i++) {
		int n = 0;

		if (r->out[i].fd >= 0)
			outlet_read(&r->out[i]);
		is_open = is_open || r->out[i].fd >= 0;
		if (r->out[i].fd >= 0 && ioctl(r->out[i].fd, FIONREAD, &n) == 0)
			r->out[i].owed = n > 0 ? (size_t)n : 0;
	}
	if (is_open)
		loop_timer_set(r->sv->loop, &r->drain, DRAIN_MS);
	settle(r);
}

void
run_event(struct run *r, const nacre_sandbox_v1_Event *e)
{
	if (r->has_exited)
		return;
	exit_as(r, e->code, e->reason ? e->reason : "");
	r->signal = e->signal;
	if (r->is_started)
		begin_drain(r);
}

/* --- the start */
static void
take_descriptors(struct run *r, const int *fds, size_t n)
{
	if (n == 1) {
		r->in_fd = fcntl(fds[0], F_DUPFD_CLOEXEC, 3);
		r->out[0].fd = fds[0];
		(void)ioctl(fds[0], TIOCSWINSZ, &r->size);
	} else {
		r->in_fd = fds[0];
		r->out[0].fd = fds[1];
		r->out[1].fd = fds[2];
	}
	r->is_started = true;
	if (r->in_ends)
		run_input_end(r);
	else if (r->in_held.len)
		inlet_write(r);
	if (!r->has_exited)
		run_pump(r);
}

static void
start_failed(struct run *r, const nacre_sandbox_v1_ExecReply *reply)
{
	bool is_missing = reply->error == ENOENT || reply->error == ENOTDIR;
	const char *stage = reply->stage ? reply->stage : "";

	r->failed_errno = reply->error;
	if (strcmp(stage, "workdir") == 0)
		exit_as(r, 125, "workdir");
	else if (strcmp(stage, "exec") != 0)
		exit_as(r, 125, "failed");
	else if (is_missing)
		exit_as(r, 127, "not_found");
	else
		exit_as(r, 126, "not_executable");
}

static int
started(struct run *r, const struct fault *why, struct span m, struct fault *f)
{
	nacre_sandbox_v1_ExecReply reply = nacre_sandbox_v1_ExecReply_init_zero;
	int fds[3];
	size_t n = r->is_tty ? 1 : 3;
	struct arena a;
	int got = -1;

	if (why->code != FAULT_NONE) {
		*f = *why;
		return -1;
	}
	arena_init(&a, SUPERVISOR_ARENA);
	if (WIRE_DECODE(nacre_sandbox_v1_ExecReply, &reply, m, &a, f) == 0) {
		r->pid = reply.pid;
		got = 0;
		if (reply.error)
			start_failed(r, &reply);
		else
			got = box_take(&r->sv->box, reply.tag, fds, n, f);
	}
	arena_release(&a);
	if (got == 0 && !reply.error)
		take_descriptors(r, fds, n);
	return got;
}

static void
exec_done(void *owner, const struct fault *why, struct span m)
{
	struct run *r = owner;
	struct fault f = { 0 };

	r->is_starting = false;
	if (started(r, why, m, &f) != 0) {
		log_warn(&f, "cannot start '%s'", r->id);
		r->why = f;
		exit_as(r, 125, "failed");
	}
	if (r->begun)
		r->begun(r);
	if (r->has_exited && r->is_started)
		begin_drain(r);
	else if (r->ends_early && r->is_started)
		run_detach(r, true);
	settle(r);
}

int
run_start(struct run *r, const nacre_session_v1_Command *c, uint64_t timeout_ms,
    struct fault *f)
{
	static char slash[] = "/";
	nacre_sandbox_v1_ExecRequest q = nacre_sandbox_v1_ExecRequest_init_zero;

	q.exec_id = r->id;
	q.argv = c->argv;
	q.argv_count = c->argv_count;
	q.env = c->env;
	q.env_count = c->env_count;
	q.workdir = c->workdir && c->workdir[0] ? c->workdir : slash;
	q.tty = c->tty;
	q.cols = c->cols;
	q.rows = c->rows;
	q.timeout_ms = timeout_ms;
	q.at_once = r->is_main;
	r->is_tty = c->tty;
	r->size = (struct winsize){ .ws_col = 80, .ws_row = 24 };
	run_resize(r, c->cols, c->rows);
	r->is_starting = true;
	if (BOX_CALL(&r->sv->box, "Exec", ExecRequest, &q, exec_done, r, f) ==
	    0)
		return 0;
	r->is_starting = false;
	return -1;
}

static void
signalled(void *owner, const struct fault *f, struct span reply)
{
	(void)owner;
	(void)reply;
	if (f->code != FAULT_NONE && f->code != FAULT_NOT_FOUND)
		log_warn(f, "cannot signal");
}

void
run_signal(struct run *r, int32_t signal)
{
	nacre_sandbox_v1_SignalRequest q =
	    nacre_sandbox_v1_SignalRequest_init_zero;
	struct fault f = { 0 };

	q.exec_id = r->id;
	q.signal = signal;
	q.group = true;
	if (BOX_CALL(&r->sv->box, "Signal", SignalRequest, &q, signalled, NULL,
		&f) != 0)
		log_warn(&f, "cannot signal '%s'", r->id);
}

static void
end_now(struct timer *t)
{
	struct run *r = CONTAINER_OF(t, struct run, kill);

	if (!r->has_exited)
		run_signal(r, 9);
}

void
run_detach(struct run *r, bool end_it)
{
	r->call = NULL;
	r->is_lost = true;
	r->in_ends = true;
	if (!r->is_started) {
		r->ends_early = end_it;
		/* The agent may have stopped it before its exec, when it hears
		 * nothing but KILL. */
		if (end_it && r->is_starting && !r->has_exited)
			run_signal(r, 9);
		return;
	}
	inlet_write(r);
	if (end_it && !r->has_exited) {
		run_signal(r, 15);
		r->kill.fire = end_now;
		loop_timer_set(r->sv->loop, &r->kill, 2000);
	}
	run_pump(r);
}

struct run *
run_new(struct supervisor *sv, const char *id)
{
	struct run *r = must_alloc(sizeof(*r));

	r->sv = sv;
	r->in_fd = -1;
	r->in.fd = -1;
	r->in.ready = inlet_ready;
	r->in_turn.run = inlet_turn;
	buf_init(&r->in_held, INPUT_MAX);
	r->drain.fire = drain_over;
	for (size_t i = 0; i < NELEM(r->out); i++) {
		r->out[i].run = r;
		r->out[i].fd = -1;
		r->out[i].is_error = i == 1;
		r->out[i].watch.fd = -1;
		r->out[i].watch.ready = outlet_ready;
	}
	(void)text_copy(r->id, sizeof(r->id), span_str(id));
	return r;
}

void
run_free(void *p)
{
	struct run *r = p;

	loop_timer_clear(&r->drain);
	loop_timer_clear(&r->kill);
	loop_deferred_drop(r->sv->loop, &r->in_turn);
	for (size_t i = 0; i < NELEM(r->out); i++)
		outlet_close(&r->out[i]);
	inlet_close(r);
	buf_release(&r->in_held);
	free(r);
}
