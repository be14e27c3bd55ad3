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
	ADOPT_MS = 3000, /* for a keeper to say whose it is */
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

/* Hear of the end of the process behind the link; named: what it calls itself. */
static int
hold_peer(struct vm *vm, pid_t named, struct fault *f)
{
	uid_t uid = 0;
	gid_t gid = 0;
	pid_t pid = 0;

	if (vm->link == NULL || !rpc_link_peer(vm->link, &uid, &gid, &pid))
		return fault_set(f, FAULT_LOST, "the keeper is gone");
	if (uid != getuid() || pid <= 1 || pid != named)
		return fault_set(f, FAULT_PROTOCOL,
		    "process %d of user %u calls itself %d", (int)pid,
		    (unsigned)uid, (int)named);
	if (loop_child(vm->g->loop, &vm->child, pid, f) < 0)
		return -1;
	if (!is_alive(rpc_link_fd(vm->link))) {
		loop_child_forget(&vm->child);
		return fault_set(f, FAULT_LOST, "the keeper has ended");
	}
	vm->pid = pid;
	return 0;
}

static void
adopted_status(void *owner, struct span reply, const struct fault *why)
{
	nacre_keeper_v1_StatusReply s = nacre_keeper_v1_StatusReply_init_zero;
	struct vm *vm = owner;
	struct fault f = *why;
	struct arena a;

	arena_init(&a, 64 << 10);
	if (f.code == FAULT_NONE &&
	    WIRE_DECODE(nacre_keeper_v1_StatusReply, &s, reply, &a, &f) == 0 &&
	    hold_peer(vm, s.keeper_pid, &f) == 0) {
		vm->phase = s.phase;
		vm->known = true;
		vm->assigned = s.sandbox_id != NULL && *s.sandbox_id != '\0';
		vm->cold = s.cold;
		(void)text_copy(vm->sandbox_id, sizeof(vm->sandbox_id),
		    span_str(s.sandbox_id));
		(void)text_copy(vm->template_key, sizeof(vm->template_key),
		    span_str(s.template_key));
	} else {
		log_warn(&f, "cannot take over keeper %s", vm->id);
		if (vm->link != NULL)
			rpc_link_drop(vm->link, &f);
	}
	arena_release(&a);
	fleet_adopted(vm->g, vm);
}

int
vm_adopt(struct gateway *g, const char *id, struct fault *f)
{
	const nacre_keeper_v1_StatusRequest ask =
	    nacre_keeper_v1_StatusRequest_init_zero;
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
	(void)text_copy(vm->id, sizeof(vm->id), span_str(id));
	if (vm_open_link(vm, fd, f) < 0) {
		memset(vm, 0, sizeof(*vm));
		return -1;
	}
	g->adopting++;
	vm_errand(vm, KEEPER "Status", nacre_keeper_v1_StatusRequest_fields,
	    &ask, ADOPT_MS, adopted_status);
	return 0;
}
