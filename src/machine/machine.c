/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One machine's life: started, WAITING (restored or booted), PARKED
 * (rehearsed), ASSIGNED (disks given, LAUNCH sent), ENDED. The driver does one
 * work at a time; wake frames (wire/PROTOCOL.md) go over the port until
 * LAUNCH, then the port is the owner's.
 *
 *    start -> [restore | boot: READY] -> WAITING -> REHEARSE: PARKED
 *          -> assign: attach disks -> LAUNCH -> ASSIGNED -> port
 *
 * Whatever goes wrong ends the VMM: a machine in doubt is of no use.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine/inner.h"

enum {
	START_MS = 120000,   /* a cold boot on a host that is very busy */
	REHEARSE_MS = 60000, /* under TCG, likewise */
	GRACE_MS = 2000,
	NO_DISK_BYTES = 1 << 20, /* empty: no file system is found on it */
};

static void
phase_is(struct machine *m, enum machine_phase p, const struct fault *why)
{
	static const struct fault none = { 0 };

	m->phase = p;
	m->events->phase(m, m->owner, p, why ? why : &none);
}

int64_t
machine_age_us(const struct machine *m)
{
	return m->started_us ? clock_mono_us() - m->started_us : 0;
}

static void
op_done(struct machine_op *op, const struct fault *f)
{
	static const struct fault none = { 0 };

	if (!op)
		return;
	op->queued = false;
	op->done(op, f ? f : &none);
}

void
machine_fail(struct machine *m, const struct fault *why)
{
	if (m->phase == MACHINE_ENDED)
		return;
	if (m->why.code == FAULT_NONE && !m->stopping)
		m->why = *why;
	loop_unwatch(&m->port); /* what a guest in doubt says is of no use */
	machine_stop(m, GRACE_MS);
}

static void
too_late(struct timer *t)
{
	struct machine *m = CONTAINER_OF(t, struct machine, deadline);
	struct fault f = { 0 };

	(void)fault_set(&f, FAULT_TIMEOUT,
	    m->phase == MACHINE_STARTING ? "the guest has not called in"
					 : "the rehearsal takes too long");
	machine_fail(m, &f);
}

static int
send_wake(struct machine *m, enum wire_wake_op op, struct fault *f)
{
	struct wire_wake w = { .op = op, .time_ns = clock_wall_ns() };
	uint8_t frame[WIRE_WAKE_SIZE];
	ssize_t n;

	random_bytes(w.seed, sizeof(w.seed));
	wire_wake_encode(&w, frame);
	secret_wipe(&w, sizeof(w));
	n = send(m->port_fd, frame, sizeof(frame), MSG_NOSIGNAL);
	secret_wipe(frame, sizeof(frame));
	if (n != (ssize_t)sizeof(frame))
		return fault_sys(f, "cannot wake the guest");
	return 0;
}

static void
begin_assign(struct machine *m)
{
	m->work = WORK_ASSIGN;
	m->times.swap_us = clock_mono_us();
	m->driver->attach_disks(m, fd_take(&m->assign_image),
	    fd_take(&m->assign_disk));
}

/* The guest waits for a wake frame: is there one for it? */
static void
at_rest(struct machine *m)
{
	loop_timer_clear(&m->deadline);
	if (m->assign_op && m->work == WORK_NONE)
		begin_assign(m);
}

static void
waiting(struct machine *m)
{
	struct fault f = { 0 };

	m->times.restored_us = machine_age_us(m);
	phase_is(m, MACHINE_WAITING, NULL);
	if (m->phase != MACHINE_WAITING || m->stopping)
		return;
	if (!m->config.park) {
		at_rest(m);
		return;
	}
	loop_timer_set(m->loop, &m->deadline, REHEARSE_MS);
	if (send_wake(m, WIRE_WAKE_REHEARSE, &f) != 0)
		machine_fail(m, &f);
}

static void
launch(struct machine *m)
{
	struct machine_op *op = m->assign_op;
	struct fault f = { 0 };

	m->assign_op = NULL;
	m->times.swap_us = clock_mono_us() - m->times.swap_us;
	if (send_wake(m, WIRE_WAKE_LAUNCH, &f) != 0) {
		op_done(op, &f);
		machine_fail(m, &f);
		return;
	}
	m->times.assigned_us = machine_age_us(m);
	loop_unwatch(&m->port);
	phase_is(m, MACHINE_ASSIGNED, NULL);
	m->events->port(m, m->owner, fd_take(&m->port_fd));
	op_done(op, NULL);
}

void
machine_driver_done(struct machine *m, const struct fault *f)
{
	enum machine_work work = m->work;
	struct machine_op *op = m->op;

	m->work = WORK_NONE;
	m->op = NULL;
	if (f) {
		op_done(op, f);
		machine_fail(m, f);
		return;
	}
	switch (work) {
	case WORK_NONE: /* the greeting of a cold boot */
		return;
	case WORK_RESTORE:
		waiting(m);
		return;
	case WORK_ASSIGN:
		launch(m);
		return;
	case WORK_RESUME:
		m->events->resumed(m, m->owner);
		op_done(op, NULL);
		return;
	case WORK_PAUSE:
	case WORK_SAVE:
		op_done(op, NULL);
		return;
	}
}

static void
woke(struct machine *m, const struct wire_woke *w)
{
	struct fault f = { 0 };

	if (w->op == WIRE_WOKE_READY && m->phase == MACHINE_STARTING &&
	    m->config.cold) {
		m->tsc = w->tsc;
		waiting(m);
	} else if (w->op == WIRE_WOKE_PARKED && m->phase == MACHINE_WAITING &&
	    m->config.park) {
		m->times.parked_us = machine_age_us(m);
		phase_is(m, MACHINE_PARKED, NULL);
		at_rest(m);
	} else {
		if (w->op == WIRE_WOKE_FAILED)
			(void)fault_set(&f, FAULT_START_FAILED,
			    "the guest failed at step %u: %s", w->stage,
			    strerror((int)(w->value & 0xfff)));
		else
			(void)fault_set(&f, FAULT_PROTOCOL,
			    "the guest said %u out of turn", (unsigned)w->op);
		machine_fail(m, &f);
	}
}

static void
port_ready(struct watch *w, unsigned events)
{
	struct machine *m = CONTAINER_OF(w, struct machine, port);
	struct wire_woke frame;
	struct fault f = { 0 };
	ssize_t n;

	(void)events;
	n = read(m->port_fd, m->woke + m->woke_n, sizeof(m->woke) - m->woke_n);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) { /* the VMM's end is told by the child */
		loop_unwatch(&m->port);
		return;
	}
	m->woke_n += (size_t)n;
	if (m->woke_n < sizeof(m->woke))
		return;
	m->woke_n = 0;
	if (wire_woke_decode(m->woke, &frame, &f) != 0)
		machine_fail(m, &f);
	else
		woke(m, &frame);
}

/* The VMM's last words, whole lines of them, printable. */
static void
last_words(struct machine *m, char *said, size_t size)
{
	uint8_t tail[180];
	size_t n = console_tail(&m->stderr_tail, tail, sizeof(tail));
	struct span s = span_of(tail, n);

	if (n == sizeof(tail) && span_find(s, '\n') + 1 < n)
		s = span_from(s, span_find(s, '\n') + 1);
	while (s.len > 0 && s.ptr[s.len - 1] == '\n')
		s.len--;
	for (size_t i = 0; i < n; i++)
		if (tail[i] == '\n')
			tail[i] = ' ';
	text_escape(s, said, size);
}

/* Why it ended, in the VMM's words if it had any. */
static void
explain_end(struct machine *m, int status)
{
	char said[190];

	if (m->killed || m->why.code != FAULT_NONE ||
	    (WIFEXITED(status) && (m->stopping || WEXITSTATUS(status) == 0)))
		return;
	last_words(m, said, sizeof(said));
	if (WIFSIGNALED(status))
		(void)fault_set(&m->why, FAULT_LOST,
		    "the VMM was ended by signal %d%s%s", WTERMSIG(status),
		    said[0] ? ": " : "", said);
	else
		(void)fault_set(&m->why, FAULT_LOST,
		    "the VMM ended with status %d%s%s", WEXITSTATUS(status),
		    said[0] ? ": " : "", said);
}

static void
exited(struct child *c, int status)
{
	struct machine *m = CONTAINER_OF(c, struct machine, child);
	struct fault f = { 0 };
	bool early = m->phase < MACHINE_ASSIGNED && !m->stopping;

	m->pid = 0;
	console_drain(&m->console);
	console_drain(&m->stderr_tail);
	explain_end(m, status);
	if (early && m->why.code == FAULT_NONE)
		(void)fault_set(&m->why, FAULT_START_FAILED,
		    "the guest ended before it was launched");
	loop_timer_clear(&m->deadline);
	loop_timer_clear(&m->grace);
	loop_unwatch(&m->port);
	fd_close(&m->port_fd);
	qmp_close(&m->qmp);
	f = m->why;
	if (f.code == FAULT_NONE)
		(void)fault_set(&f, FAULT_LOST, "the machine has ended");
	op_done(m->op, &f);
	op_done(m->assign_op, &f);
	m->op = m->assign_op = NULL;
	m->work = WORK_NONE;
	phase_is(m, MACHINE_ENDED, &m->why);
}

static void
grace_over(struct timer *t)
{
	struct machine *m = CONTAINER_OF(t, struct machine, grace);

	/* The child is not reaped before `exited`, so the pid is its own. */
	if (m->pid == 0)
		return;
	m->killed = true;
	(void)kill(m->pid, SIGKILL);
}

void
machine_stop(struct machine *m, int64_t grace_ms)
{
	if (m->pid == 0)
		return;
	if (!m->stopping) {
		m->stopping = true;
		m->driver->stop(m);
	}
	/* A second call may only shorten what is left. */
	if (!m->grace.armed || clock_mono_ms() + grace_ms < m->grace.at_ms)
		loop_timer_set(m->loop, &m->grace, grace_ms);
}

struct machine *
machine_new(struct loop *l, const struct machine_config *c,
    const struct machine_events *e, void *owner, struct fault *f)
{
	struct machine *m;

	if (machine_shape_check(&c->shape, f) != 0)
		return NULL;
	m = must_alloc(sizeof(*m));
	m->loop = l;
	m->driver = &machine_qemu;
	m->config = *c;
	m->events = e;
	m->owner = owner;
	m->phase = MACHINE_STARTING;
	m->child.exited = exited;
	m->deadline.fire = too_late;
	m->grace.fire = grace_over;
	m->port.ready = port_ready;
	m->port_fd = m->qmp.fd = m->console.fd = m->stderr_tail.fd = -1;
	m->assign_image = m->assign_disk = -1;
	return m;
}

/* The state goes to the VMM as a descriptor of its own, from its start. */
static int
begin_restore(struct machine *m, struct fault *f)
{
	int fd = memfd_reopen(m->config.state_fd, O_RDONLY, f);

	if (fd < 0)
		return -1;
	m->work = WORK_RESTORE;
	m->driver->restore(m, fd);
	return 0;
}

/* Disks that nothing reads stand in for those that come later. */
static int
fill_disks(struct machine *m, int *image, int *disk, struct fault *f)
{
	if (m->config.image_fd < 0) {
		*image = memfd_hollow(O_RDONLY, f);
		m->config.image_fd = *image;
	}
	if (m->config.disk_fd < 0) {
		*disk = memfd_hollow(O_RDWR, f);
		m->config.disk_fd = *disk;
	}
	return m->config.image_fd < 0 || m->config.disk_fd < 0 ? -1 : 0;
}

int
machine_start(struct machine *m, struct fault *f)
{
	int64_t limit_ms = m->config.deadline_ms;
	with_fd image = -1;
	with_fd disk = -1;

	if (fill_disks(m, &image, &disk, f) != 0)
		return -1;
	m->started_us = clock_mono_us();
	if (m->driver->start(m, f) != 0 ||
	    loop_child(m->loop, &m->child, m->pid, f) != 0 ||
	    fd_nonblock(m->port_fd, f) != 0 ||
	    loop_watch(m->loop, &m->port, m->port_fd, LOOP_IN, f) != 0 ||
	    (!m->config.cold && begin_restore(m, f) != 0))
		return fault_prefix(f, "cannot start a machine");
	loop_timer_set(m->loop, &m->deadline, limit_ms ? limit_ms : START_MS);
	phase_is(m, MACHINE_STARTING, NULL);
	return 0;
}

void
machine_free(struct machine *m)
{
	if (!m)
		return;
	if (m->pid) {
		(void)kill(m->pid, SIGKILL);
		loop_child_forget(&m->child);
		while (waitpid(m->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	loop_timer_clear(&m->deadline);
	loop_timer_clear(&m->grace);
	loop_unwatch(&m->port);
	fd_close(&m->port_fd);
	fd_close(&m->assign_image);
	fd_close(&m->assign_disk);
	m->driver->release(m);
	free(m);
}

static int
may_begin(struct machine *m, struct machine_op *op, struct fault *f)
{
	if (m->phase == MACHINE_ENDED || m->stopping)
		return fault_set(f, FAULT_LOST, "the machine has ended");
	if (m->work != WORK_NONE)
		return fault_set(f, FAULT_BUSY, "the machine is busy");
	BUG_IF(op->queued);
	op->queued = true;
	m->op = op;
	return 0;
}

int
machine_assign(struct machine *m, int image_fd, int disk_fd,
    struct machine_op *op, struct fault *f)
{
	with_fd image = image_fd;
	with_fd disk = disk_fd;

	if (m->phase == MACHINE_ENDED || m->stopping)
		return fault_set(f, FAULT_LOST, "the machine has ended");
	if (m->assigned)
		return fault_set(f, FAULT_EXISTS,
		    "the machine is assigned already");
	if (disk < 0)
		disk = memfd_new("nacre-no-disk", NO_DISK_BYTES, f);
	if (disk < 0)
		return -1;
	BUG_IF(op->queued);
	op->queued = true;
	m->assigned = true;
	m->assign_op = op;
	m->assign_image = fd_take(&image);
	m->assign_disk = fd_take(&disk);
	if (m->phase == MACHINE_PARKED ||
	    (m->phase == MACHINE_WAITING && !m->config.park))
		at_rest(m);
	return 0;
}

int
machine_pause(struct machine *m, bool pause, struct machine_op *op,
    struct fault *f)
{
	if (m->phase < MACHINE_ASSIGNED)
		return fault_set(f, FAULT_NOT_READY,
		    "the machine is not launched");
	if (may_begin(m, op, f) != 0)
		return -1;
	m->work = pause ? WORK_PAUSE : WORK_RESUME;
	m->driver->pause(m, pause);
	return 0;
}

int
machine_save(struct machine *m, int fd, struct machine_op *op, struct fault *f)
{
	int copy;

	if (m->phase != MACHINE_WAITING)
		return fault_set(f, FAULT_NOT_READY, "the guest does not wait");
	copy = memfd_reopen(fd, O_WRONLY, f);
	if (copy < 0)
		return -1;
	if (may_begin(m, op, f) != 0) {
		fd_close(&copy);
		return -1;
	}
	m->work = WORK_SAVE;
	m->driver->save(m, copy);
	return 0;
}

bool
machine_clock_is_tsc(const struct machine *m)
{
	return m->tsc;
}

void
machine_connected(struct machine *m)
{
	if (m->phase != MACHINE_ASSIGNED)
		return;
	m->times.connected_us = machine_age_us(m);
	phase_is(m, MACHINE_CONNECTED, NULL);
}

enum machine_phase
machine_phase(const struct machine *m)
{
	return m->phase;
}

void
machine_times(const struct machine *m, struct machine_stat *out)
{
	*out = m->times;
	out->phase = m->phase;
	out->pid = m->pid;
}

void
machine_stat(struct machine *m, struct machine_stat *out)
{
	machine_times(m, out);
	m->driver->stat(m, out);
}
