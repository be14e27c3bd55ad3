/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call, whichever side opened it: messages in and out, credit, the end.
 *
 * Credit. The peer's window for a stream may be no more than half open, as
 * HTTP/2 returns it in steps of half a window. A message that is larger could
 * never arrive whole; so while such a one gathers, its bytes are given back
 * as they come (`early`), and are set off when the owner consumes it.
 */
#include <stdlib.h>

#include "rpc/inner.h"
#include "wire/wire.h"

#define GATHER (LIMIT_WINDOW_STREAM / 2)

static void later(struct deferred *d);
static void deadline(struct timer *t);

struct rpc_call *
call_new(struct rpc_link *l, int32_t stream)
{
	struct rpc_call *c = must_alloc(sizeof(*c));

	item_init(&c->item, l, stream, later);
	c->item.is_call = true;
	c->item.is_client = !l->is_server;
	c->deadline.fire = deadline;
	buf_init(&c->in, LIMIT_MESSAGE + LIMIT_WINDOW_ACTIVE);
	buf_init(&c->out, WIRE_FRAME_HEAD + LIMIT_MESSAGE);
	buf_init(&c->detail, LIMIT_HEADERS);
	return c;
}

static void
call_free(void *p)
{
	struct rpc_call *c = p;

	buf_release(&c->in);
	buf_release(&c->out);
	buf_release(&c->detail);
	free(c);
}

/* What http does not count as unread any more, or soon will not. */
static void
note_held(struct rpc_call *c)
{
	struct rpc_link *l = c->item.link;
	size_t now = c->in.len > c->early ? c->in.len : c->early;

	l->held = l->held - c->held + now;
	c->held = now;
}

static void
give_back(struct rpc_call *c, size_t n)
{
	size_t early = n < c->early ? n : c->early;

	c->early -= early;
	note_held(c);
	if (c->item.stream)
		h2_consume(c->item.link->h2, c->item.stream, n - early);
	link_wake(c->item.link);
}

/* The peer broke a rule of ours or of gRPC. */
static void
fail(struct rpc_call *c, const struct fault *f)
{
	if (!c->item.is_client) {
		server_refuse(c, f);
		return;
	}
	if (c->item.stream)
		h2_reset(c->item.link->h2, c->item.stream, H2_CANCEL);
	call_end(c, f);
}

static void
deliver(struct rpc_call *c, struct span message)
{
	give_back(c, WIRE_FRAME_HEAD);
	c->unread += message.len;
	if (c->events->message)
		c->events->message(c, c->owner, message);
	else
		rpc_consume(c, message.len);
}

/* Deliver what is whole; returns the bytes of it, or all after a failure. */
static size_t
deliver_whole(struct rpc_call *c, struct span bytes)
{
	struct fault f = { 0 };
	struct span message;
	size_t done = 0;
	size_t used = 0;
	int found = 1;

	while (!c->item.is_ended) {
		found = wire_frame_next(span_from(bytes, done), LIMIT_MESSAGE,
		    &message, &used, &f);
		if (found != 1)
			break;
		deliver(c, message);
		done += used;
	}
	if (found < 0)
		fail(c, &f);
	return c->item.is_ended ? bytes.len : done;
}

/* Bytes of `in` that the message at its front will have. */
static size_t
gathering(struct rpc_call *c)
{
	const uint8_t *p = buf_ptr(&c->in);

	if (c->in.len < WIRE_FRAME_HEAD)
		return 0;
	return WIRE_FRAME_HEAD +
	    ((size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 |
		p[4]);
}

static void
gather(struct rpc_call *c)
{
	struct fault f = { 0 };
	size_t n;

	if (c->item.link->held > c->item.link->unread_max) {
		(void)fault_set(&f, FAULT_LIMIT,
		    "unfinished messages of the connection are over %zu bytes",
		    c->item.link->unread_max);
		fail(c, &f);
		return;
	}
	/* Not while the owner holds earlier ones: it bounds what is sent. */
	if (gathering(c) <= GATHER || c->unread > 0)
		return;
	n = c->in.len - c->gathered;
	if (c->item.stream)
		h2_consume(c->item.link->h2, c->item.stream, n);
	c->gathered = c->in.len;
	c->early += n;
	note_held(c);
}

static void
deliver_gathered(struct rpc_call *c)
{
	size_t n;

	c->is_delivering = true;
	n = deliver_whole(c, buf_span(&c->in));
	c->is_delivering = false;
	if (n > 0)
		c->gathered = 0;
	buf_eat(&c->in, n);
	if (c->in.len == 0 && c->in.cap > RPC_KEPT)
		buf_release(&c->in);
}

void
call_data(struct rpc_call *c, struct span bytes)
{
	struct fault f = { 0 };
	/* after our own finish, or from a server that skips its headers */
	if (c->item.is_client ? !c->has_headers : c->has_finished) {
		h2_consume(c->item.link->h2, c->item.stream, bytes.len);
		return;
	}

	if (c->in.len == 0)
		bytes = span_from(bytes, deliver_whole(c, bytes));
	if (bytes.len == 0 || c->item.is_ended)
		return;
	if (buf_add(&c->in, bytes.ptr, bytes.len, &f) != 0) {
		fail(c, &f);
		return;
	}
	deliver_gathered(c);
	note_held(c);
	if (!c->item.is_ended && c->in.len > 0)
		gather(c);
}

static void
tell_half_closed(struct rpc_call *c)
{
	struct fault f = { 0 };

	if (c->has_finished)
		return;
	if (c->in.len > 0) {
		(void)fault_set(&f, FAULT_PROTOCOL, "a message was cut short");
		fail(c, &f);
		return;
	}

	if (c->events->half_closed)
		c->events->half_closed(c, c->owner);
}

void
call_peer_ended(struct rpc_call *c)
{
	struct fault f = { 0 };

	if (!c->item.is_client) {
		tell_half_closed(c);
		return;
	}
	(void)fault_set(&f, FAULT_PROTOCOL,
	    "the peer ended the call without a status");
	fail(c, &f);
}

void
rpc_call_accept(struct rpc_call *c, const struct rpc_call_events *events,
    void *owner)
{
	BUG_IF(c->item.is_client || c->events);
	c->events = events;
	c->owner = owner;
}

void
rpc_consume(struct rpc_call *c, size_t n)
{
	BUG_IF(n > c->unread);
	c->unread -= n;
	give_back(c, n);
	if (c->unread == 0 && c->in.len > 0 && !c->is_delivering &&
	    !c->item.is_ended)
		gather(c);
}

static size_t
queued(const struct rpc_call *c)
{
	return c->out.len +
	    (c->item.stream ? h2_queued(c->item.link->h2, c->item.stream) : 0);
}

size_t
rpc_room(const struct rpc_call *c)
{
	size_t n = queued(c);

	if (c->item.is_ended || c->has_finished || !c->item.stream ||
	    c->out.len > 0)
		return 0;
	return n < RPC_QUEUE ? RPC_QUEUE - n : 0;
}

/* Into http's queue as far as it goes, the rest behind it. */
static void
put(struct rpc_call *c, struct span s)
{
	struct fault f = { 0 };
	size_t n = 0;

	if (c->out.len == 0)
		n = h2_write(c->item.link->h2, c->item.stream, s);
	BUG_IF(buf_add(&c->out, s.ptr + n, s.len - n, &f) != 0);
	c->item.link->backlog += s.len - n;
}

static bool
is_full(const struct rpc_call *c)
{
	return c->out.len > 0 || queued(c) >= RPC_QUEUE ||
	    c->item.link->backlog >= LIMIT_UNREAD;
}

static void
want_writable(struct rpc_call *c)
{
	c->is_starved = true;
	h2_want_writable(c->item.link->h2, c->item.stream);
}

int
rpc_send(struct rpc_call *c, struct span message, struct fault *f)
{
	uint8_t head[WIRE_FRAME_HEAD];

	if (message.len > LIMIT_MESSAGE)
		return fault_set(f, FAULT_LIMIT,
		    "message of %zu bytes is over %d", message.len,
		    LIMIT_MESSAGE);
	if (c->item.is_ended || c->has_finished || !c->item.stream)
		return fault_set(f, FAULT_LOST, "the call has ended");
	if (is_full(c)) {
		want_writable(c);
		return fault_set(f, FAULT_BUSY, "the call's queue is full");
	}
	if (!c->item.is_client && server_answer(c, f) != 0)
		return -1;
	wire_frame_head(head, message.len);
	put(c, span_of(head, sizeof(head)));
	if (message.len > 0)
		put(c, message);
	/* A sender may also stop at what rpc_room() says. */
	if (queued(c) > RPC_QUEUE / 2)
		want_writable(c);
	link_wake(c->item.link);
	return 0;
}

void
call_end_sending(struct rpc_call *c)
{
	struct fault f = { 0 };

	c->ends_later = c->out.len > 0;
	if (c->ends_later || !c->item.stream)
		return;
	if (c->item.is_client)
		(void)!h2_end(c->item.link->h2, c->item.stream, NULL, 0, &f);
	else
		server_trailers(c);
	link_wake(c->item.link);
}

/* http has room: at least half of its queue is free. */
void
call_writable(struct rpc_call *c)
{
	struct rpc_link *l = c->item.link;

	if (c->out.len > 0) {
		size_t n = h2_write(l->h2, c->item.stream, buf_span(&c->out));

		buf_eat(&c->out, n);
		l->backlog -= n;
		if (c->out.len > 0)
			return;
		if (c->out.cap > RPC_KEPT)
			buf_release(&c->out);
	}
	if (c->ends_later)
		call_end_sending(c);
	if (!c->is_starved || c->has_finished || c->item.is_ended)
		return;
	if (is_full(c)) { /* of other calls' bytes: look again */
		want_writable(c);
		return;
	}
	c->is_starved = false;
	if (c->events && c->events->writable)
		c->events->writable(c, c->owner);
}

void
call_end(struct rpc_call *c, const struct fault *why)
{
	if (c->item.is_ended)
		return;
	c->status = *why;
	loop_timer_clear(&c->deadline);
	item_detach(&c->item);
	item_end(&c->item);
	link_wake(c->item.link);
}

void
call_lost(struct rpc_call *c, const struct fault *why)
{
	struct fault none = { 0 };

	call_end(c, !c->item.is_client && c->has_finished ? &none : why);
}

void
call_stream_closed(struct rpc_call *c, uint32_t error)
{
	struct fault f = { 0 };

	if (c->item.is_ended)
		return;
	status_from_reset(error, &f);
	if (!c->item.is_client && f.code != FAULT_LIMIT)
		f.code = FAULT_CANCELLED;
	call_lost(c, &f);
}

static void
deadline(struct timer *t)
{
	struct rpc_call *c = CONTAINER_OF(t, struct rpc_call, deadline);
	struct fault f = { 0 };

	(void)fault_set(&f, FAULT_TIMEOUT, "the call's time is over");
	fail(c, &f);
}

/* The end; a call that was refused at once has no owner to be told. */
static void
later(struct deferred *d)
{
	struct rpc_call *c = CONTAINER_OF(d, struct rpc_call, item.later);

	if (c->events && c->events->closed)
		c->events->closed(c, c->owner, &c->status,
		    buf_span(&c->detail));
	buf_clear(&c->in);
	c->early = 0;
	note_held(c);
	c->item.link->backlog -= c->out.len;
	item_bury(&c->item, call_free);
}

void
rpc_cancel(struct rpc_call *c)
{
	struct fault f = { 0 };

	(void)fault_set(&f, FAULT_CANCELLED, "the call was cancelled");
	if (c->item.is_ended)
		return;
	if (c->item.stream)
		h2_reset(c->item.link->h2, c->item.stream, H2_CANCEL);
	call_end(c, &f);
}

struct rpc_link *
rpc_call_link(const struct rpc_call *c)
{
	return c->item.link;
}
