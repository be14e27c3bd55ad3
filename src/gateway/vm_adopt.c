/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keepers of an earlier gateway, found again by their sockets. Which process
 * one is, and so which will be killed if it must, is what the kernel says of
 * the socket's other end, never what is said there.
 */
#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "gateway/fleet.h"
#include "gateway/vm_inner.h"
#include "wire/wire.h"

#ifndef SO_PEERPIDFD
# define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

enum {
	ADOPT_MS = 3000, /* for a keeper to say whose it is, each time */
	ASK_TIMES = 10,  /* then it is killed */
};

/* The number is still the peer's: it has not ended, where the kernel tells. */
static bool
is_alive(int fd)
{
	with_fd pidfd = -1;
	socklen_t n = sizeof(pidfd);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &n) < 0)
		return errno != ESRCH && errno != EINVAL;
	return syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0;
}

/*
 * Hold the process behind the socket before it has said anything: while it
 * lives its machine may run, whether it answers or not.
 */
static int
hold_peer(struct vm *vm, int fd, struct fault *f)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
		return fault_sys(f, "cannot tell who a keeper is");
	if (peer.uid != getuid() || peer.pid <= 1)
		return fault_set(f, FAULT_PROTOCOL,
		    "its socket is process %d's of user %u", (int)peer.pid,
		    (unsigned)peer.uid);
	if (loop_child(vm->g->loop, &vm->child, peer.pid, f) < 0)
		return -1;
	if (!is_alive(fd)) {
		loop_child_forget(&vm->child);
		return fault_set(f, FAULT_LOST, "the keeper has ended");
	}
	vm->pid = peer.pid;
	return 0;
}

static int
take_status(struct vm *vm, struct span reply, struct fault *f)
{
	nacre_keeper_v1_StatusReply s = nacre_keeper_v1_StatusReply_init_zero;
	struct arena a;
	int rc;

	arena_init(&a, 64 << 10);
	rc = WIRE_DECODE(nacre_keeper_v1_StatusReply, &s, reply, &a, f);
	if (rc == 0 && s.keeper_pid != vm->pid)
		rc = fault_set(f, FAULT_PROTOCOL, "process %d calls itself %d",
		    (int)vm->pid, (int)s.keeper_pid);
	if (rc == 0) {
		vm->phase = s.phase;
		vm->known = true;
		vm->assigned = s.sandbox_id != NULL && *s.sandbox_id != '\0';
		vm->cold = s.cold;
		(void)text_copy(vm->sandbox_id, sizeof(vm->sandbox_id),
		    span_str(s.sandbox_id));
		(void)text_copy(vm->template_key, sizeof(vm->template_key),
		    span_str(s.template_key));
	}
	arena_release(&a);
	return rc;
}

/* One that says what is not so is no keeper: it is left alone. */
static void
give_up(struct vm *vm, const struct fault *f)
{
	log_warn(f, "cannot take over keeper %s", vm->id);
	if (!vm->used)
		return;
	if (f->code == FAULT_PROTOCOL)
		loop_child_forget(&vm->child);
	vm_kill(vm);
}

static void ask(struct vm *vm);

/*
 * The gateway begins to serve after the first answer, or when that is late:
 * then what belongs to the machine waits until its keeper has answered or has
 * ended, for its disk is in use.
 */
static void
on_status(void *owner, struct span reply, const struct fault *why)
{
	struct vm *vm = owner;
	struct gateway *g = vm->g;
	struct fault f = *why;
	bool is_first = vm->asked++ == 1;

	if (f.code == FAULT_NONE && take_status(vm, reply, &f) == 0) {
		vm->asked = 0;
		vm_open_tunnel(vm);
		fleet_adopted(g, vm);
	} else if (f.code == FAULT_TIMEOUT && vm->asked <= ASK_TIMES) {
		log_warn(&f, "keeper %s does not answer yet", vm->id);
		ask(vm);
	} else {
		give_up(vm, &f);
	}
	if (is_first)
		fleet_asked(g);
}

static void
ask(struct vm *vm)
{
	const nacre_keeper_v1_StatusRequest m =
	    nacre_keeper_v1_StatusRequest_init_zero;

	vm_errand(vm, KEEPER "Status", nacre_keeper_v1_StatusRequest_fields, &m,
	    ADOPT_MS, on_status);
}

int
vm_adopt(struct gateway *g, const char *id, struct fault *f)
{
	struct fleet_paths paths;
	char path[LIMIT_PATH];
	struct vm *vm;
	int fd = -1;

	fleet_paths(g, &paths);
	if (!text_fmt(path, sizeof(path), "%s/%s.sock", paths.keepers, id))
		return fault_set(f, FAULT_SYSTEM, "the path is too long");
	if (rpc_connect_unix(path, &fd, f) < 0) {
		if (f->sys == ECONNREFUSED)
			(void)unlink(path); /* nobody is behind it */
		return -1;
	}
	vm = vm_take_slot(g, f);
	if (vm == NULL) {
		fd_close(&fd);
		return -1;
	}
	vm->adopted = true;
	vm->asked = 1;
	(void)text_copy(vm->id, sizeof(vm->id), span_str(id));
	if (hold_peer(vm, fd, f) < 0) {
		fd_close(&fd);
		vm_free_slot(vm);
		return -1;
	}
	if (vm_open_link(vm, fd, f) < 0) {
		loop_child_forget(&vm->child);
		vm_free_slot(vm);
		return -1;
	}
	g->adopting++;
	ask(vm);
	return 0;
}
