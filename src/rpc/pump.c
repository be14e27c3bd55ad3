/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves bytes between a link's transport and its HTTP/2, through TLS when
 * there is some. At most RPC_TICK_BYTES each way in a tick, so one link
 * cannot hold up the loop. Reading waits while TLS must write first, or while
 * answers that no window bounds pile up.
 */
#include <sys/socket.h>

#include <errno.h>
#include <unistd.h>

#include "rpc/inner.h"
#include "tls/tls.h"

/* -1: the link has failed. 0: the transport takes nothing now. */
static ssize_t
transport_write(struct rpc_link *l, struct span s)
{
	struct fault f = { 0 };
	size_t n = s.len < LIMIT_WRITE ? s.len : LIMIT_WRITE;
	ssize_t k;

	if (l->fd < 0)
		return (
		    ssize_t)l->bytes.write(l->bytes.owner, span_of(s.ptr, n));
	do
		k = l->is_socket ? send(l->fd, s.ptr, n, MSG_NOSIGNAL)
				 : write(l->fd, s.ptr, n);
	while (k < 0 && errno == EINTR);
	if (k >= 0)
		return k;
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return 0;
	(void)fault_sys(&f, "the connection was lost");
	f.code = FAULT_LOST;
	link_fail(l, &f);
	return -1;
}

/* What to write next, and which engine it came from. */
static struct span
next_output(struct rpc_link *l)
{
	if (!l->tls)
		return h2_output(l->h2);
	while (tls_wire(l->tls).len == 0) {
		struct span plain = h2_output(l->h2);
		size_t n = plain.len ? tls_write(l->tls, plain) : 0;

		if (n == 0)
			break;
		h2_output_sent(l->h2, n);
		tls_flush(l->tls);
	}
	return tls_wire(l->tls);
}

static void
output_sent(struct rpc_link *l, size_t n)
{
	if (l->tls)
		tls_wire_sent(l->tls, n);
	else
		h2_output_sent(l->h2, n);
}

/* What is not read when a socket is closed resets it, and the peer may never see
 * why: it is read away, as far as a tick would have. */
static void
discard(const struct rpc_link *l)
{
	NOT_ZEROED uint8_t bytes[LIMIT_WRITE];
	size_t left = RPC_TICK_BYTES;
	ssize_t n = 1;

	while (l->is_socket && left > 0 && n > 0) {
		n = recv(l->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		left -= n > 0 && (size_t)n < left ? (size_t)n : left;
	}
}

static void
finish_if_done(struct rpc_link *l)
{
	struct fault f = { 0 };

	if (l->is_dead || !h2_is_done(l->h2))
		return;
	if (!h2_has_failed(l->h2, &f) && !l->is_shut)
		(void)fault_set(&f, FAULT_LOST,
		    "the peer finished the connection");
	if (l->tls && tls_is_ready(l->tls)) {
		tls_close(l->tls);
		if (tls_wire(l->tls).len > 0)
			(void)transport_write(l, tls_wire(l->tls));
	}
	discard(l);
	link_fail(l, &f);
}

static void
watch_again(struct rpc_link *l)
{
	if (l->fd >= 0 && loop_is_watched(&l->watch))
		loop_rewatch(&l->watch,
		    (l->is_paused ? 0U : LOOP_IN) |
			(l->writes_wait ? LOOP_OUT : 0U));
}

/* Reading had to wait and need not any more. */
static void
go_on_reading(struct rpc_link *l)
{
	if (!l->is_paused || h2_is_choked(l->h2))
		return;
	l->is_paused = false;
	if (l->in.len > 0) {
		size_t n = pump_feed(l, buf_span(&l->in));

		buf_eat(&l->in, n);
		link_wake(l);
	}
	/* Not here: the owner may be in the middle of feeding. */
	if (!l->is_dead && !l->is_paused && l->fd < 0 && l->bytes.resume)
		loop_later(l->loop, &l->resume);
}

void
pump_resume(struct deferred *d)
{
	struct rpc_link *l = CONTAINER_OF(d, struct rpc_link, resume);

	if (!l->is_dead && !l->is_paused)
		l->bytes.resume(l->bytes.owner);
}

void
pump_write(struct rpc_link *l)
{
	size_t left = RPC_TICK_BYTES;
	struct span s;

	if (l->is_dead || l->is_busy)
		return;
	l->is_busy = true;
	l->writes_wait = false;
	while (left > 0 && (s = next_output(l)).len > 0 && !l->is_dead) {
		ssize_t n = transport_write(l, s);

		if (n <= 0)
			break;
		output_sent(l, (size_t)n);
		left -= (size_t)n < left ? (size_t)n : left;
	}
	l->is_busy = false;
	if (l->is_dead)
		return;
	l->writes_wait = next_output(l).len > 0;
	if (l->writes_wait && left == 0 && l->fd < 0)
		link_wake(l); /* over budget: the rest in the next tick */
	finish_if_done(l);
	if (!l->is_dead) {
		go_on_reading(l);
		watch_again(l);
	}
}

void
pump_later(struct deferred *d)
{
	pump_write(CONTAINER_OF(d, struct rpc_link, pump));
}

static int
feed_h2(struct rpc_link *l, struct span plain)
{
	struct fault f = { 0 };

	if (h2_receive(l->h2, plain, &f) == 0)
		return 0;
	/* let the GOAWAY out, if it can go at once */
	l->is_busy = false;
	pump_write(l);
	if (!l->is_dead)
		discard(l);
	link_fail(l, &f);
	return -1;
}

static size_t
feed_tls(struct rpc_link *l, struct span bytes)
{
	struct fault f = { 0 };
	size_t done = 0;
	size_t n = 1;

	while (!l->is_dead && (n > 0 || tls_plain(l->tls).len > 0)) {
		struct span plain = tls_plain(l->tls);

		if (plain.len > 0) {
			if (feed_h2(l, plain) != 0)
				break;
			tls_plain_used(l->tls, plain.len);
			n = 1;
			continue;
		}
		if (done == bytes.len)
			break;
		if (tls_feed(l->tls, span_from(bytes, done), &n, &f) != 0) {
			l->is_busy = false;
			pump_write(l); /* the alert */
			link_fail(l, &f);
			break;
		}
		done += n;
	}
	if (!l->is_dead && tls_is_closed(l->tls)) {
		(void)fault_set(&f, FAULT_LOST,
		    "the peer closed the connection");
		link_fail(l, &f);
	}
	return done;
}

size_t
pump_feed(struct rpc_link *l, struct span bytes)
{
	size_t n = bytes.len;

	if (l->is_dead)
		return bytes.len;
	if (l->is_busy || h2_is_choked(l->h2)) {
		l->is_paused = true;
		return 0;
	}
	l->pongs = l->pings; /* what sends is alive */
	l->is_busy = true;
	if (l->tls)
		n = feed_tls(l, bytes);
	else
		(void)feed_h2(l, bytes);
	l->is_busy = false;
	if (l->is_dead)
		return bytes.len;
	if (n < bytes.len)
		l->is_paused = true;
	return n;
}

static void
lost_input(struct rpc_link *l, ssize_t got)
{
	struct fault f = { 0 };

	if (got == 0)
		(void)fault_set(&f, FAULT_LOST,
		    "the peer closed the connection");
	else
		(void)fault_sys(&f, "the connection was lost");
	f.code = FAULT_LOST;
	link_fail(l, &f);
}

/*
 * A read of a port gives one page at most: they are taken until there is no
 * more. What a socket gave short was all. *end: 0 or -1 (errno) when nothing
 * will come any more.
 */
static size_t
read_all(struct rpc_link *l, uint8_t *to, size_t size, ssize_t *end)
{
	size_t n = 0;

	*end = 1;
	while (n < size) {
		ssize_t got = read(l->fd, to + n, size - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			if (got == 0 ||
			    (errno != EAGAIN && errno != EWOULDBLOCK))
				*end = got;
			break;
		}
		n += (size_t)got;
		if (l->is_socket)
			break;
	}
	return n;
}

static size_t
read_most(const struct rpc_link *l)
{
	return l->takes_turns && !l->in_body ? RPC_TURN_BYTES : LIMIT_WRITE;
}

/* Is that all for now? */
static bool
is_enough(struct rpc_link *l, size_t got)
{
	bool is_short = got < read_most(l);

	l->in_body = !is_short && !l->has_asked;
	return is_short ||
	    (l->takes_turns && l->has_asked && loop_should_yield(l->loop));
}

static void
pump_read(struct rpc_link *l)
{
	struct fault f = { 0 };
	NOT_ZEROED uint8_t bytes[LIMIT_WRITE];
	size_t left = RPC_TICK_BYTES;
	bool is_over = false;

	while (!l->is_dead && !l->is_paused && left > 0 && !is_over) {
		ssize_t end;
		size_t got = read_all(l, bytes, read_most(l), &end);
		int error = errno;

		l->has_asked = false;
		if (got > 0) {
			size_t n = pump_feed(l, span_of(bytes, got));

			BUG_IF(buf_add(&l->in, bytes + n, got - n, &f) != 0);
			left -= got < left ? got : left;
		}
		is_over = end <= 0 || is_enough(l, got);
		errno = error;
		if (end <= 0 && !l->is_dead)
			lost_input(l, end);
	}
}

void
pump_ready(struct watch *w, unsigned events)
{
	struct rpc_link *l = CONTAINER_OF(w, struct rpc_link, watch);

	if (events & (LOOP_IN | LOOP_HUP)) {
		if (l->is_paused && (events & LOOP_HUP))
			lost_input(l, 0);
		else
			pump_read(l);
	}
	pump_write(l);
}
