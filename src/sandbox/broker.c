/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting calls: what they ask, who asks, and the verdict. The number of a
 * thread, and of a descriptor in it, mean what they meant only while the call
 * still waits; so the kernel is asked for that after each look.
 */
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/inner.h"

enum {
	PIDFD_THREAD_FLAG = O_EXCL, /* linux/pidfd.h of 6.9 */
	/* SECCOMP_IOCTL_NOTIF_SET_FLAGS of 6.6: wake up on this processor */
	SYNC_WAKE_UP = 1,
};
#define NOTIF_SET_FLAGS SECCOMP_IOW(4, uint64_t)

enum goal {
	GOAL_KERNEL,  /* not the broker's business */
	GOAL_NOWHERE, /* it does not exist */
	GOAL_DOOR,
};

/* The C libraries differ in the type of ioctl()'s second argument. */
static long
ask_kernel(const struct broker *b, unsigned long request, void *arg)
{
	return syscall(SYS_ioctl, b->listener, request, arg);
}

static bool
still_waits(const struct broker *b, uint64_t id)
{
	return ask_kernel(b, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* --- what is asked */
static enum goal
goal_of_v4(uint32_t address, uint16_t port)
{
	if (address == BROKER_DOOR)
		return port == BROKER_DOOR_PORT ? GOAL_DOOR : GOAL_NOWHERE;
	/* 0.0.0.0 is this host. */
	return address >> 24 == 127 || address == 0 ? GOAL_KERNEL
						    : GOAL_NOWHERE;
}

/*
 * Where the n bytes at `a` lead; *at is filled for a doorway. What is no
 * address at all is left to the kernel, which says what is wrong with it.
 */
static enum goal
goal_of(const struct sockaddr_storage *a, size_t n, struct sockaddr_in *at)
{
	const struct sockaddr_in *v4 = (const void *)a;
	const struct sockaddr_in6 *v6 = (const void *)a;
	uint16_t port = ntohs(v4->sin_port); /* the same place in both */

	if (n < sizeof(a->ss_family))
		return GOAL_KERNEL;
	*at = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = v4->sin_port };
	switch (a->ss_family) {
	case AF_INET:
		at->sin_addr = v4->sin_addr;
		if (n < sizeof(*v4))
			return GOAL_KERNEL;
		return goal_of_v4(ntohl(v4->sin_addr.s_addr), port);
	case AF_INET6:
		if (n < offsetof(struct sockaddr_in6, sin6_scope_id) ||
		    IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) ||
		    IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr))
			return GOAL_KERNEL;
		if (!IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
			return GOAL_NOWHERE;
		memcpy(&at->sin_addr, &v6->sin6_addr.s6_addr[12], 4);
		return goal_of_v4(ntohl(at->sin_addr.s_addr), port);
	case AF_UNSPEC: /* take the connection apart */
	case AF_UNIX:
	case AF_NETLINK:
		return GOAL_KERNEL;
	default:
		return GOAL_NOWHERE;
	}
}

/* The address, copied once. False: it cannot be read, or is none. */
static bool
read_address(const struct seccomp_notif *n, struct sockaddr_storage *a,
    size_t *len)
{
	bool is_connect = n->data.nr == SYS_connect;
	int size = (int)n->data.args[is_connect ? 2 : 5];
	struct iovec to = { .iov_base = a };
	/* A struct iovec of the other process: no pointer of ours. */
	uint64_t from[2] = { n->data.args[is_connect ? 1 : 4] };

	if (size < 0 || (size_t)size > sizeof(*a))
		return false;
	*len = (size_t)size;
	to.iov_len = *len;
	from[1] = *len;
	return syscall(SYS_process_vm_readv, n->pid, &to, 1, from, 1, 0) ==
	    size;
}

/* --- whose socket */
static int
option_of(int socket, int option)
{
	int value = -1;
	socklen_t n = sizeof(value);

	if (getsockopt(socket, SOL_SOCKET, option, &value, &n) != 0)
		return -1;
	return value;
}

static bool
is_tcp(int socket)
{
	int domain = option_of(socket, SO_DOMAIN);

	return (domain == AF_INET || domain == AF_INET6) &&
	    option_of(socket, SO_PROTOCOL) == IPPROTO_TCP;
}

/* A socket that has been connected already: the kernel knows what to say. */
static bool
is_fresh(int socket)
{
	struct tcp_info info;
	socklen_t n = sizeof(info);

	return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 &&
	    info.tcpi_state == TCP_CLOSE;
}

/* *out is -1 before. */
static int
take_socket(pid_t tid, int fd, int *out)
{
	with_fd thread =
	    (int)syscall(SYS_pidfd_open, tid, (unsigned)PIDFD_THREAD_FLAG);

	if (thread >= 0)
		*out = (int)syscall(SYS_pidfd_getfd, thread, fd, 0);
	if (*out >= 0)
		return 0;
	/* All but this is a want of ours, not a fault of the call. */
	return errno == EBADF ? EBADF : EAGAIN;
}

/* Look at the call again in a tick. */
static int
hold(struct broker *b, const struct seccomp_notif *n, unsigned looks)
{
	for (size_t i = 0; i < BROKER_HELD; i++) {
		if (b->held[i].is_used)
			continue;
		b->held[i] = (struct held){ true, looks, *n };
		if (!b->look.armed)
			loop_timer_set(b->sb->loop, &b->look, BROKER_HOLD_MS);
		return -1;
	}
	return EAGAIN;
}

/* --- the verdict: 0 for "go on", an errno, or -1: none yet, or nobody waits
 * any more; looks: how many there were before this one */
static int
judge_door(struct broker *b, const struct seccomp_notif *n, unsigned looks,
    const struct sockaddr_in *at, struct join **join)
{
	struct evidence e;
	struct fault f = { 0 };
	with_fd socket = -1;
	int error = take_socket((pid_t)n->pid, (int)n->data.args[0], &socket);

	if (!still_waits(b, n->id))
		return -1;
	if (error != 0)
		return error;
	if (n->data.nr != SYS_connect || !is_tcp(socket))
		return EACCES;
	if (!is_fresh(socket))
		return 0;
	if (evidence_take(&b->eyes, (pid_t)n->pid, &e, &f) != 0) {
		evidence_release(&e);
		if (!still_waits(b, n->id))
			return -1;
		log_warn(&f, "no evidence of a connect");
		return EACCES;
	}
	if (!still_waits(b, n->id)) {
		evidence_release(&e);
		return -1;
	}
	if (!e.is_settled && looks < BROKER_LOOKS) {
		evidence_release(&e);
		return hold(b, n, looks + 1);
	}
	return join_open(b, at, fd_take(&socket), &e, join);
}

static int
judge(struct broker *b, const struct seccomp_notif *n, unsigned looks,
    struct join **join)
{
	struct sockaddr_storage a = { 0 };
	struct sockaddr_in at;
	size_t len = 0;
	bool is_read = read_address(n, &a, &len);

	if (!still_waits(b, n->id))
		return -1;
	if (!is_read)
		return 0;
	switch (goal_of(&a, len, &at)) {
	case GOAL_KERNEL:
		return 0;
	case GOAL_NOWHERE:
		return EACCES;
	case GOAL_DOOR:
		break;
	}
	return judge_door(b, n, looks, &at, join);
}

static void
answer(struct broker *b, uint64_t id, int error, struct join *join)
{
	struct seccomp_notif_resp r = { .id = id,
		.error = -error,
		.flags = error == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0 };

	/* Killed meanwhile: there will be no connection. */
	if (ask_kernel(b, SECCOMP_IOCTL_NOTIF_SEND, &r) != 0 && join)
		join_drop(join);
}

static void
settle(struct broker *b, const struct seccomp_notif *n, unsigned looks)
{
	struct join *join = NULL;
	int verdict = judge(b, n, looks, &join);

	if (verdict >= 0)
		answer(b, n->id, verdict, join);
}

static void
look_again(struct timer *t)
{
	struct broker *b = CONTAINER_OF(t, struct broker, look);

	for (size_t i = 0; i < BROKER_HELD; i++) {
		struct held h = b->held[i];

		b->held[i].is_used = false;
		if (h.is_used)
			settle(b, &h.call, h.looks);
	}
}

/* One call. False when none waits. */
static bool
take_one(struct broker *b)
{
	struct seccomp_notif n = { 0 };
	struct pollfd p = { .fd = b->listener, .events = POLLIN };

	/* To receive would wait for one. */
	if (poll(&p, 1, 0) != 1 || !(p.revents & POLLIN))
		return false;
	if (ask_kernel(b, SECCOMP_IOCTL_NOTIF_RECV, &n) != 0)
		return errno == ENOENT || errno == EINTR;
	settle(b, &n, 0);
	return true;
}

void
broker_turn(struct broker *b)
{
	for (int i = 0; i < BROKER_TURN; i++)
		if (!take_one(b))
			return;
}

static void
listener_ready(struct watch *w, unsigned events)
{
	struct broker *b = CONTAINER_OF(w, struct broker, watch);

	if (!(events & LOOP_HUP) || (events & LOOP_IN)) {
		broker_turn(b);
		return;
	}
	/* Nobody hears the agents any more: this is the end of them. */
	log_error("the broker's listener is gone");
	loop_stop(b->sb->loop);
}

int
broker_prepare(struct broker *b, const char *upper, const char *image,
    struct fault *f)
{
	b->eyes.upper = open(upper, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (b->eyes.upper < 0)
		return fault_sys(f, "cannot open '%s'", upper);
	b->eyes.image = open(image, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (b->eyes.image < 0)
		return fault_sys(f, "cannot open '%s'", image);
	return 0;
}

static int
check_sizes(struct fault *f)
{
	struct seccomp_notif_sizes s;

	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &s) != 0)
		return fault_sys(f, "the kernel has no waiting calls");
	if (s.seccomp_notif > sizeof(struct seccomp_notif) ||
	    s.seccomp_notif_resp > sizeof(struct seccomp_notif_resp))
		return fault_set(f, FAULT_UNIMPLEMENTED,
		    "the kernel's waiting calls are of another size");
	return 0;
}

int
broker_open(struct broker *b, struct sandbox *sb, struct fault *f)
{
	b->sb = sb;
	b->listener = -1;
	b->eyes.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (b->eyes.proc < 0)
		return fault_sys(f, "cannot open /proc");
	hasher_init(&b->hasher, sb->loop);
	lookups_init(&b->lookups, sb->loop, &b->eyes);
	join_init(b);
	if (lookups_skip_own(&b->lookups, f) != 0 || check_sizes(f) != 0)
		return -1;
	if (confine_notify(&b->listener) != 0)
		return fault_sys(f, "cannot make calls wait");
	/* Its argument is the value itself. */
	(void)syscall(SYS_ioctl, b->listener, NOTIF_SET_FLAGS, SYNC_WAKE_UP);
	b->watch.ready = listener_ready;
	b->look.fire = look_again;
	return loop_watch(sb->loop, &b->watch, b->listener, LOOP_IN, f);
}

void
broker_close(struct broker *b)
{
	if (!b->sb)
		return;
	for (size_t i = 0; i < BROKER_JOINS; i++)
		if (b->joins[i])
			join_drop(b->joins[i]);
	loop_timer_clear(&b->look);
	hasher_release(&b->hasher);
	lookups_release(&b->lookups);
	loop_unwatch(&b->watch);
	fd_close(&b->listener);
	fd_close(&b->eyes.proc);
	fd_close(&b->eyes.upper);
	fd_close(&b->eyes.image);
	b->sb = NULL;
}
