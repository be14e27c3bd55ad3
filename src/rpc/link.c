/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a link: opening over a descriptor or over bytes, being up,
 * pings, the end. A link that has failed does nothing more; its end runs from
 * the later list: items first, then the owner is told, then it is buried.
 */
#include <sys/socket.h>

#include <stdlib.h>

#include "rpc/inner.h"
#include "tls/tls.h"

static void end_later(struct deferred *d);
static void up_late(struct timer *t);
static void ping(struct timer *t);

static struct rpc_link *
link_new(struct loop *loop, const struct rpc_link_options *o)
{
	struct fault f = { 0 };
	struct rpc_link *l = must_alloc(sizeof(*l));

	BUG_IF(o->server && !o->handlers);
	l->loop = loop;
	l->fd = -1;
	l->tls = o->tls;
	l->handlers = o->handlers;
	l->events = o->events;
	l->owner = o->owner;
	l->is_server = o->server;
	l->takes_turns = o->takes_turns;
	l->ping_ms = o->ping_ms;
	l->watch.ready = pump_ready;
	l->watch.fd = -1;
	l->pump.run = pump_later;
	l->resume.run = pump_resume;
	l->end.run = end_later;
	l->up_timer.fire = up_late;
	l->ping_timer.fire = ping;
	buf_init(&l->in, 2 * LIMIT_WRITE);
	l->h2 =
	    h2_new(o->server ? H2_SERVER : H2_CLIENT, &link_h2_events, l, &f);
	BUG_IF(!l->h2);
	BUG_IF(o->unread_max > 0 && o->unread_max <= LIMIT_MESSAGE);
	l->unread_max = o->unread_max ? o->unread_max : LIMIT_UNREAD;
	h2_set_unread_max(l->h2, l->unread_max);
	if (o->streams_max > 0)
		h2_set_streams_max(l->h2, o->streams_max);
	loop_timer_set(loop, &l->up_timer, RPC_UP_MS);
	if (l->ping_ms > 0)
		loop_timer_set(loop, &l->ping_timer, l->ping_ms);
	link_wake(l);
	return l;
}

static void
link_free(void *p)
{
	struct rpc_link *l = p;

	loop_timer_clear(&l->up_timer);
	loop_timer_clear(&l->ping_timer);
	loop_deferred_drop(l->loop, &l->pump);
	loop_deferred_drop(l->loop, &l->resume);
	loop_deferred_drop(l->loop, &l->end);
	loop_unwatch(&l->watch);
	fd_close(&l->fd);
	h2_free(l->h2);
	tls_free(l->tls);
	buf_release(&l->in);
	free(l);
}

struct rpc_link *
rpc_link_open_fd(struct loop *loop, int fd, const struct rpc_link_options *o,
    struct fault *f)
{
	struct rpc_link *l = link_new(loop, o);
	socklen_t size = sizeof(int);
	int type;

	l->fd = fd;
	l->is_socket = getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
	if (fd_nonblock(fd, f) != 0 ||
	    loop_watch(loop, &l->watch, fd, LOOP_IN, f) != 0) {
		link_free(l);
		return NULL;
	}
	return l;
}

struct rpc_link *
rpc_link_open_bytes(struct loop *loop, const struct rpc_bytes *bytes,
    const struct rpc_link_options *o, struct fault *f)
{
	struct rpc_link *l = link_new(loop, o);

	(void)f; /* only memory can fail, and that aborts */
	BUG_IF(!bytes->write);
	l->bytes = *bytes;
	return l;
}

size_t
rpc_link_feed(struct rpc_link *l, struct span bytes)
{
	size_t n = pump_feed(l, bytes);

	pump_write(l);
	return n;
}

void
rpc_link_writable(struct rpc_link *l)
{
	link_wake(l);
}

void
rpc_link_eof(struct rpc_link *l)
{
	struct fault f = { 0 };

	(void)fault_set(&f, FAULT_LOST, "the peer closed the connection");
	link_fail(l, &f);
}

void
link_wake(struct rpc_link *l)
{
	if (!l->is_dead)
		loop_later(l->loop, &l->pump);
}

void
link_fail(struct rpc_link *l, const struct fault *why)
{
	if (l->is_dead)
		return;
	l->is_dead = true;
	l->why = *why;
	loop_unwatch(&l->watch);
	loop_timer_clear(&l->up_timer);
	loop_timer_clear(&l->ping_timer);
	loop_deferred_drop(l->loop, &l->pump);
	loop_later(l->loop, &l->end);
}

/* An item that already has its own end keeps it. */
static void
end_item(struct item *it, const struct fault *why)
{
	struct deferred *later = &it->later;

	if (!it->is_ended && it->is_call)
		call_lost(CONTAINER_OF(it, struct rpc_call, item), why);
	else if (!it->is_ended)
		stream_closed(CONTAINER_OF(it, struct rpc_stream, item),
		    H2_CONNECT_ERROR);
	later->run(later);
}

static void
end_later(struct deferred *d)
{
	struct rpc_link *l = CONTAINER_OF(d, struct rpc_link, end);
	struct fault lost = l->why;

	if (lost.code == FAULT_NONE)
		(void)fault_set(&lost, FAULT_LOST,
		    "the connection is finished");
	while (l->items)
		end_item(l->items, &lost);
	fd_close(&l->fd);
	if (l->bytes.close)
		l->bytes.close(l->bytes.owner);
	if (l->events && l->events->down)
		l->events->down(l, l->owner, &l->why);
	loop_bury(l->loop, l, link_free);
}

static void
up_late(struct timer *t)
{
	struct rpc_link *l = CONTAINER_OF(t, struct rpc_link, up_timer);
	struct fault f = { 0 };

	(void)fault_set(&f, FAULT_LOST, "the peer did not speak in %d ms",
	    (int)RPC_UP_MS);
	link_fail(l, &f);
}

static void
ping(struct timer *t)
{
	struct rpc_link *l = CONTAINER_OF(t, struct rpc_link, ping_timer);
	struct fault f = { 0 };

	if (l->pings - l->pongs >= RPC_PINGS_LOST) {
		(void)fault_set(&f, FAULT_LOST,
		    "the peer does not answer pings");
		link_fail(l, &f);
		return;
	}
	if (l->is_up) {
		h2_ping(l->h2, ++l->pings);
		link_wake(l);
	}
	loop_timer_set(l->loop, t, l->ping_ms);
}

void
rpc_link_shutdown(struct rpc_link *l)
{
	if (l->is_dead || l->is_shut)
		return;
	l->is_shut = true;
	h2_shutdown(l->h2);
	link_wake(l);
}

void
rpc_link_drop(struct rpc_link *l, const struct fault *why)
{
	struct fault f = { 0 };

	if (why && why->code != FAULT_NONE)
		f = *why;
	else
		(void)fault_set(&f, FAULT_LOST, "the connection was dropped");
	link_fail(l, &f);
}

void *
rpc_link_owner(struct rpc_link *l)
{
	return l->owner;
}

bool
rpc_link_is_up(const struct rpc_link *l)
{
	return l->is_up && !l->is_dead;
}

int
rpc_link_fd(const struct rpc_link *l)
{
	return l->fd;
}

bool
rpc_link_peer(const struct rpc_link *l, uid_t *uid, gid_t *gid, pid_t *pid)
{
	struct ucred cred;
	socklen_t size = sizeof(int);
	int domain;

	if (l->fd < 0 ||
	    getsockopt(l->fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 ||
	    domain != AF_UNIX)
		return false;
	size = sizeof(cred);
	if (getsockopt(l->fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) != 0 ||
	    cred.pid <= 0)
		return false;
	*uid = cred.uid;
	*gid = cred.gid;
	*pid = cred.pid;
	return true;
}
