/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a connect that may go on to a connection in our hands: a doorway to
 * connect to, the accepted end whose source is the very socket, the digest of
 * the program, the call that takes it.
 */
#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/inner.h"

enum {
	BACKLOG = BROKER_JOINS
};

/* --- doorways */
static bool
is_at(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
	return a->sin_port == b->sin_port &&
	    a->sin_addr.s_addr == b->sin_addr.s_addr;
}

/* Name of one end, of either family; false for any other. */
static bool
name_of(int (*ask)(int, struct sockaddr *, socklen_t *), int fd,
    struct sockaddr_in *out)
{
	struct sockaddr_storage a = { 0 };
	const struct sockaddr_in6 *v6 = (const void *)&a;
	socklen_t n = sizeof(a);

	if (ask(fd, (struct sockaddr *)&a, &n) != 0)
		return false;
	if (a.ss_family == AF_INET) {
		memcpy(out, &a, sizeof(*out));
		return true;
	}
	if (a.ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		return false;
	*out = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = v6->sin6_port };
	memcpy(&out->sin_addr, &v6->sin6_addr.s6_addr[12], 4);
	return true;
}

/* Does this end come from the socket that the join waits for? */
static bool
is_pair(const struct join *j, const struct sockaddr_in *source)
{
	struct sockaddr_in name;

	return j->socket >= 0 && name_of(getsockname, j->socket, &name) &&
	    is_at(&name, source) && name_of(getpeername, j->socket, &name) &&
	    is_at(&name, &j->at);
}

static void
doorway_leave(struct join *j)
{
	struct doorway *d = j->doorway;

	j->doorway = NULL;
	if (!d || --d->joins > 0)
		return;
	loop_unwatch(&d->watch);
	/* A child that is on its way to its exec has a copy, which would listen
	 * on: the next doorway could not be bound. */
	(void)shutdown(d->fd, SHUT_RDWR);
	fd_close(&d->fd);
}

static void
joined(struct join *j, int end)
{
	struct stat st;

	loop_timer_clear(&j->timer);
	doorway_leave(j);
	j->end = end;
	if (fstat(j->socket, &st) == 0)
		j->inode = st.st_ino;
	/* The last close must be the agent's. */
	fd_close(&j->socket);
	j->is_ready = hasher_add(&j->broker->hasher, &j->hash);
}

static void
doorway_accept(struct doorway *d, int end, const struct sockaddr_in *source)
{
	for (size_t i = 0; i < BROKER_JOINS; i++) {
		struct join *j = d->broker->joins[i];

		if (j && j->doorway == d && is_pair(j, source)) {
			joined(j, end);
			return;
		}
	}
	/* Nobody whose call was judged. */
	fd_close(&end);
}

static void
doorway_ready(struct watch *w, unsigned events)
{
	struct doorway *d = CONTAINER_OF(w, struct doorway, watch);
	struct broker *b = d->broker;

	(void)events;
	/* More may come at once than ever ends: the rest waits for a tick. */
	for (int i = 0; i < BROKER_TURN && d->fd >= 0; i++) {
		struct sockaddr_in source = { 0 };
		socklen_t n = sizeof(source);
		int end = accept4(d->fd, (struct sockaddr *)&source, &n,
		    SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (end < 0)
			break;
		doorway_accept(d, end, &source);
	}
	join_settle(b);
}

static int
listen_at(const struct sockaddr_in *at, int *out)
{
	static const int on = 1;
	with_fd s =
	    socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (s < 0 ||
	    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    setsockopt(s, IPPROTO_IP, IP_FREEBIND, &on, sizeof(on)) != 0 ||
	    bind(s, (const struct sockaddr *)at, sizeof(*at)) != 0 ||
	    listen(s, BACKLOG) != 0)
		return errno;
	*out = fd_take(&s);
	return 0;
}

static int
doorway_enter(struct broker *b, const struct sockaddr_in *at,
    struct doorway **out)
{
	struct doorway *d = NULL;
	struct fault f = { 0 };
	int error;

	for (size_t i = 0; i < BROKER_DOORWAYS; i++) {
		struct doorway *o = &b->doorways[i];

		if (o->fd >= 0 && is_at(&o->at, at)) {
			*out = o;
			o->joins++;
			return 0;
		}
		if (o->fd < 0 && !d)
			d = o;
	}
	if (!d)
		return EAGAIN;
	error = listen_at(at, &d->fd);
	if (error != 0) {
		log_error("cannot listen for an agent: errno %d", error);
		return EAGAIN;
	}
	d->at = *at;
	if (loop_watch(b->sb->loop, &d->watch, d->fd, LOOP_IN, &f) != 0) {
		log_warn(&f, "cannot watch a doorway");
		fd_close(&d->fd);
		return EAGAIN;
	}
	d->joins = 1;
	*out = d;
	return 0;
}

/* --- joins */
void
join_drop(struct join *j)
{
	struct broker *b = j->broker;

	for (size_t i = 0; i < BROKER_JOINS; i++)
		if (b->joins[i] == j)
			b->joins[i] = NULL;
	loop_timer_clear(&j->timer);
	hasher_drop(&b->hasher, &j->hash);
	doorway_leave(j);
	fd_close(&j->socket);
	fd_close(&j->end);
	evidence_release(&j->evidence);
	free(j);
}

static void
timed_out(struct timer *t)
{
	join_drop(CONTAINER_OF(t, struct join, timer));
}

static void
hashed(struct hash_job *h)
{
	struct join *j = CONTAINER_OF(h, struct join, hash);

	j->is_ready = true;
	join_settle(j->broker);
}

int
join_open(struct broker *b, const struct sockaddr_in *at, int socket,
    struct evidence *e, struct join **out)
{
	struct doorway *d = NULL;
	size_t free_at = 0;
	struct join *j;
	int error = EAGAIN;

	while (free_at < BROKER_JOINS && b->joins[free_at])
		free_at++;
	if (free_at < BROKER_JOINS)
		error = doorway_enter(b, at, &d);
	if (error != 0) {
		fd_close(&socket);
		evidence_release(e);
		return error;
	}
	j = must_alloc(sizeof(*j));
	*j = (struct join){ .broker = b,
		.doorway = d,
		.at = *at,
		.socket = socket,
		.end = -1,
		.order = ++b->last_order,
		.evidence = *e,
		.hash = { .of = &j->evidence, .done = hashed },
		.timer = { .fire = timed_out } };
	b->joins[free_at] = j;
	loop_timer_set(b->sb->loop, &j->timer, BROKER_JOIN_MS);
	*out = j;
	return 0;
}

static struct join *
oldest_ready(const struct broker *b)
{
	struct join *first = NULL;

	for (size_t i = 0; i < BROKER_JOINS; i++) {
		struct join *j = b->joins[i];

		if (j && j->is_ready && (!first || j->order < first->order))
			first = j;
	}
	return first;
}

void
join_settle(struct broker *b)
{
	for (size_t i = 0; i < BROKER_ACCEPTS; i++) {
		struct join *j;

		if (!b->accepts[i])
			continue;
		j = oldest_ready(b);
		if (!j || broker_hand_over(b, j, b->accepts[i]) != 0)
			return;
		/* The answer has ended the call. */
		join_drop(j);
	}
}

void
join_init(struct broker *b)
{
	for (size_t i = 0; i < BROKER_DOORWAYS; i++)
		b->doorways[i] = (struct doorway){ .broker = b,
			.fd = -1,
			.watch = { .fd = -1, .ready = doorway_ready } };
}
