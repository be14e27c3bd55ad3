/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run mode: one machine and its life.
 *
 *   started -> socket made, VMM spawned, locked -> parked -> assigned -> ended
 *
 * It outlives the gateway once it is assigned; before, it ends with its last
 * connection. It ends when the VMM ends, and the VMM with it (PDEATHSIG).
 */
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "confine/confine.h"
#include "keeper/inner.h"

enum {
	LEAVE_MS = 2000, /* last answers, after the machine's end */
	LOST_GRACE_MS = 1000,
};

void
keeper_stop(struct keeper *k, int64_t grace_ms)
{
	machine_stop(k->machine, grace_ms);
}

static void
leave(struct keeper *k)
{
	loop_stop(k->loop);
}

static void
leave_now(struct timer *t)
{
	leave(CONTAINER_OF(t, struct keeper, leave));
}

/* --- the gateway's links */
static void
/* cppcheck-suppress constParameter ; a callback's type */
link_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	struct keeper *k = owner;

	(void)f;
	for (size_t i = 0; i < NELEM(k->links); i++)
		if (k->links[i] == l)
			k->links[i] = NULL;
	if (keeper_links(k) > 0)
		return;
	if (k->is_ended) {
		leave(k);
	} else if (!k->is_assigned) {
		log_info("the gateway left an unassigned machine");
		keeper_stop(k, LOST_GRACE_MS);
	}
}

size_t
keeper_links(const struct keeper *k)
{
	size_t n = 0;

	for (size_t i = 0; i < NELEM(k->links); i++)
		n += k->links[i] != NULL;
	return n;
}

static int
add_link(struct keeper *k, int fd, struct fault *f)
{
	static const struct rpc_link_events events = { .down = link_down };
	struct rpc_link_options o = { .server = true,
		.handlers = &k->handlers,
		.events = &events,
		.owner = k };

	for (size_t i = 0; i < NELEM(k->links); i++) {
		if (k->links[i])
			continue;
		k->links[i] = rpc_link_open_fd(k->loop, fd, &o, f);
		return k->links[i] ? 0 : -1;
	}
	fd_close(&fd);
	return fault_set(f, FAULT_BUSY, "too many gateways");
}

static void
accepts(struct watch *w, unsigned events)
{
	struct keeper *k = CONTAINER_OF(w, struct keeper, listener);
	struct fault f = { 0 };
	struct ucred peer;
	socklen_t n = sizeof(peer);
	with_fd fd = accept4(k->listen_fd, NULL, NULL, SOCK_CLOEXEC);

	(void)events;
	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) != 0 ||
	    peer.uid != getuid()) {
		log_error("a stranger's connection is refused");
		return;
	}
	if (add_link(k, fd_take(&fd), &f) != 0)
		log_warn(&f, "cannot serve");
}

/* --- the machine */
static void
phase(struct machine *m, void *owner, enum machine_phase p,
    const struct fault *why)
{
	struct keeper *k = owner;

	(void)m;
	log_info("machine is %s", machine_phase_name(p));
	if (p == MACHINE_ENDED) {
		k->is_ended = true;
		if (k->why.code == FAULT_NONE)
			k->why = *why;
		if (k->why.code != FAULT_NONE)
			log_warn(&k->why, "the machine failed");
		loop_later(k->loop, &k->ended);
	}
	serve_phase(k, p);
}

static void
port(struct machine *m, void *owner, int fd)
{
	(void)m;
	port_open(owner, fd);
}

static void
resumed(struct machine *m, void *owner)
{
	(void)m;
	port_tell_time(owner);
}

/* The machine is gone: say so to all who wait, then go. */
static void
ended(struct deferred *d)
{
	struct keeper *k = CONTAINER_OF(d, struct keeper, ended);

	serve_ended(k);
	loop_unwatch(&k->listener);
	(void)unlink(k->path);
	if (k->port)
		rpc_link_drop(k->port, &k->why);
	for (size_t i = 0; i < NELEM(k->links); i++)
		if (k->links[i])
			rpc_link_shutdown(k->links[i]);
	if (keeper_links(k) == 0)
		leave(k);
	else
		loop_timer_set(k->loop, &k->leave, LEAVE_MS);
}

static void
asked_to_end(void *owner, int sig)
{
	(void)sig;
	keeper_stop(owner, LOST_GRACE_MS);
}

/* --- setting up */
static int
open_folder(const char *path, int *fd, struct fault *f)
{
	*fd = -1;
	if (!path)
		return 0;
	*fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*fd < 0)
		return fault_sys(f, "cannot open '%s'", path);
	return 0;
}

static int
make_machine(struct keeper *k, struct fault *f)
{
	static const struct machine_events events = { phase, port, resumed };
	const struct machine_args *a = k->args;
	struct machine_config c = { .shape = a->shape,
		.vmm = a->paths.vmm,
		.vmm_version = a->vmm_version,
		.tsc_khz = (unsigned)a->tsc_khz,
		.cold = a->cold,
		.park = !a->no_park && a->scrap_image_fd >= 0,
		.kernel_fd = a->kernel_fd,
		.initramfs_fd = a->initramfs_fd,
		.memory_fd = a->memory_fd,
		.state_fd = a->state_fd,
		.image_fd = -1,
		.disk_fd = -1 };
	int r = -1;

	if (c.park) {
		c.image_fd = a->scrap_image_fd;
		c.disk_fd = machine_disk_in_memory(a->scrap_disk_fd, f);
		if (c.disk_fd < 0)
			return -1;
	}
	k->machine = machine_new(k->loop, &c, &events, k, f);
	if (k->machine)
		r = machine_start(k->machine, f);
	fd_close(&c.disk_fd);
	return r;
}

static int
listen_here(struct keeper *k, struct fault *f)
{
	const struct machine_args *a = k->args;

	if (!text_fmt(k->path, sizeof(k->path), "%s/%s.sock", a->dir, a->id))
		return fault_set(f, FAULT_INVALID, "the socket's path is long");
	if (dir_make(a->dir, 0700, f) != 0 ||
	    rpc_listen_unix(k->path, &k->listen_fd, f) != 0)
		return -1;
	k->listener.ready = accepts;
	if (loop_watch(k->loop, &k->listener, k->listen_fd, LOOP_IN, f) != 0)
		return -1;
	return a->link_fd >= 0 ? add_link(k, a->link_fd, f) : 0;
}

/* From here on no exec and no unix socket: an escape from the guest's
 * channel finds a process that can only talk to its gateway. */
static int
lock(struct fault *f)
{
	struct confine_program *jail = confine_keeper(f);
	const char *step = "";
	int r;

	if (!jail)
		return -1;
	r = confine_apply(jail, &step);
	if (r != 0)
		(void)fault_sys(f, "cannot lock the keeper (%s)", step);
	confine_program_free(jail);
	return r;
}

static void
close_given(const struct machine_args *a)
{
	int given[] = { a->memory_fd, a->state_fd, a->kernel_fd,
		a->initramfs_fd, a->scrap_image_fd, a->scrap_disk_fd };

	for (size_t i = 0; i < NELEM(given); i++)
		fd_close(&given[i]);
}

static int
check_args(const struct machine_args *a, struct fault *f)
{
	if (!a->dir || !a->id || !a->paths.vmm || !a->vmm_version ||
	    a->shape.accel == MACHINE_AUTO || a->tsc_khz == 0)
		return fault_set(f, FAULT_INVALID, "arguments are missing");
	if (a->cold ? a->kernel_fd < 0 || a->initramfs_fd < 0
		    : a->memory_fd < 0 || a->state_fd < 0)
		return fault_set(f, FAULT_INVALID, "descriptors are missing");
	return 0;
}

static int
set_up(struct keeper *k, struct fault *f)
{
	k->loop = loop_new(f);
	if (!k->loop || loop_signal(k->loop, SIGTERM, asked_to_end, k, f) != 0)
		return -1;
	serve_init(&k->handlers, k);
	tunnels_init(k);
	k->ended.run = ended;
	k->leave.fire = leave_now;
	if (open_folder(k->args->read_dir, &k->read_dir, f) != 0 ||
	    open_folder(k->args->disk_dir, &k->disk_dir, f) != 0 ||
	    listen_here(k, f) != 0 || make_machine(k, f) != 0)
		return -1;
	close_given(k->args);
	return lock(f);
}

int
keeper_run(const struct machine_args *a)
{
	static struct keeper k;
	struct fault f = { 0 };
	int code = 1;

	k.args = a;
	k.listen_fd = k.read_dir = k.disk_dir = -1;
	if (check_args(a, &f) != 0) {
		log_warn(&f, "cannot start");
		return 2;
	}
	if (confine_harden() != 0)
		(void)fault_sys(&f, "cannot harden");
	else if (set_up(&k, &f) == 0 && loop_run(k.loop, &f) == 0)
		code = k.why.code == FAULT_NONE ? 0 : 1;
	if (f.code != FAULT_NONE)
		log_warn(&f, "the keeper fails");
	if (k.listen_fd >= 0)
		(void)unlink(k.path);
	machine_free(k.machine);
	return code;
}
