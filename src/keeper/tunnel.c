/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control tunnel: bytes between the guest's CONNECT gateway.nacre:443 and
 * a Tunnel call of the gateway, TLS and gRPC for those two and opaque here.
 * The keeper adds one thing: the gateway's key pin, first in the guest's
 * stream, and sees to it that a guest cannot make the gateway shake hands
 * without end. Bytes are given back to their sender once the other side took them,
 * so neither can make the keeper grow.
 */
#include "keeper/inner.h"
#include "proto/nacre_keeper.pb.h"
#include "wire/wire.h"

enum {
	WAIT_MS = 30000, /* a guest's stream for a gateway */
	TUNNEL_BYTES = LIMIT_WINDOW_ACTIVE + LIMIT_MESSAGE,
};

static void
release(struct tunnel *t)
{
	loop_timer_clear(&t->wait);
	buf_release(&t->up);
	buf_release(&t->down);
	*t = (struct tunnel){ 0 };
}

/* Both ends are gone, or go now. */
static void
end(struct tunnel *t)
{
	struct fault f = { 0 };

	if (t->stream)
		rpc_stream_reset(t->stream, H2_CANCEL);
	if (t->call) {
		(void)fault_set(&f, FAULT_LOST, "the guest's stream ended");
		rpc_finish(t->call, &f, span_of(NULL, 0));
	}
	if (!t->stream && !t->call)
		release(t);
}

static int
send_bytes(struct rpc_call *c, bool opened, struct span s, struct fault *f)
{
	nacre_keeper_v1_Bytes m = nacre_keeper_v1_Bytes_init_zero;
	struct arena a;
	struct buf b;
	int r = -1;

	arena_init(&a, LIMIT_CHUNK + 4096);
	buf_init(&b, LIMIT_CHUNK + 64);
	m.opened = opened;
	if (s.len > 0)
		m.data = wire_bytes(&a, s);
	if (WIRE_ENCODE(nacre_keeper_v1_Bytes, &m, &b, f) == 0)
		r = rpc_send(c, buf_span(&b), f);
	buf_release(&b);
	arena_release(&a);
	return r;
}

static void
pump_up(struct tunnel *t)
{
	struct fault f = { 0 };

	while (t->is_paired && t->call && t->up.len > 0) {
		struct span s = buf_span(&t->up);

		if (s.len > LIMIT_CHUNK)
			s.len = LIMIT_CHUNK;
		if (send_bytes(t->call, false, s, &f) != 0)
			break;
		if (t->stream)
			rpc_stream_consume(t->stream, s.len);
		buf_eat(&t->up, s.len);
	}
	if (f.code != FAULT_NONE && f.code != FAULT_BUSY) {
		log_warn(&f, "tunnel");
		end(t);
	} else if (t->is_paired && t->call && t->up.len == 0 && t->up_ended) {
		rpc_finish(t->call, NULL, span_of(NULL, 0));
	}
}

static void
pump_down(struct tunnel *t)
{
	if (!t->is_paired || !t->stream)
		return;
	while (t->down.len > 0) {
		size_t n = rpc_stream_write(t->stream, buf_span(&t->down));

		if (n == 0)
			return;
		buf_eat(&t->down, n);
		if (t->call)
			rpc_consume(t->call, n);
	}
	if (t->down_ended)
		rpc_stream_end(t->stream);
}

/* A guest's stream and a gateway's call are there: join them. */
static void
pair(struct tunnel *t)
{
	struct rpc_call *c = t->call;
	struct fault f = { 0 };

	t->is_paired = true;
	loop_timer_clear(&t->wait);
	if (send_bytes(c, true, span_of(NULL, 0), &f) != 0 ||
	    rpc_stream_write(t->stream, span_of(t->k->pin, KEEPER_PIN)) !=
		KEEPER_PIN) {
		end(t);
		return;
	}
	pump_up(t);
}

/* Join all whose turn it is; the gateway pays nothing for the others. */
static void
pair_due(struct keeper *k)
{
	for (size_t i = 0; i < NELEM(k->tunnels); i++) {
		struct tunnel *t = &k->tunnels[i];

		if (!t->k || t->is_paired || !t->stream || !t->call)
			continue;
		if (!pace_take(&k->tunnel_pace, clock_mono_ms())) {
			loop_timer_set(k->loop, &k->tunnel_due,
			    pace_wait_ms(&k->tunnel_pace, clock_mono_ms()));
			return;
		}
		pair(t);
	}
}

static void
on_due(struct timer *t)
{
	pair_due(CONTAINER_OF(t, struct keeper, tunnel_due));
}

/* --- the guest's end */
static void
stream_bytes(struct rpc_stream *s, void *owner, struct span b)
{
	struct tunnel *t = owner;
	struct fault f = { 0 };

	(void)s;
	if (buf_add(&t->up, b.ptr, b.len, &f) != 0)
		end(t);
	else
		pump_up(t);
}

static void
stream_eof(struct rpc_stream *s, void *owner)
{
	struct tunnel *t = owner;

	(void)s;
	t->up_ended = true;
	pump_up(t);
}

static void
stream_writable(struct rpc_stream *s, void *owner)
{
	(void)s;
	pump_down(owner);
}

static void
stream_closed(struct rpc_stream *s, void *owner, uint32_t error)
{
	struct tunnel *t = owner;

	(void)s;
	t->stream = NULL;
	/* It did not wait: the call is there for the next one. */
	if (t->call && !t->is_paired) {
		buf_clear(&t->up);
		t->up_ended = false;
		return;
	}
	/* Ended well on both sides: what is left still goes to the gateway. */
	if (error == H2_NO_ERROR && t->up_ended && t->call)
		pump_up(t);
	else
		end(t);
}

static const struct rpc_stream_events stream_events = {
	.bytes = stream_bytes,
	.eof = stream_eof,
	.writable = stream_writable,
	.closed = stream_closed,
};

/* --- the gateway's end */
static void
call_message(struct rpc_call *c, void *owner, struct span message)
{
	struct tunnel *t = owner;
	nacre_keeper_v1_Bytes m = nacre_keeper_v1_Bytes_init_zero;
	struct fault f = { 0 };
	struct span data = { 0 };
	struct arena a;

	arena_init(&a, 2 * LIMIT_MESSAGE);
	if (WIRE_DECODE(nacre_keeper_v1_Bytes, &m, message, &a, &f) == 0)
		data = wire_span(m.data);
	if (f.code != FAULT_NONE ||
	    buf_add(&t->down, data.ptr, data.len, &f) != 0) {
		log_warn(&f, "tunnel");
		end(t);
	} else {
		rpc_consume(c, message.len - data.len);
		pump_down(t);
	}
	arena_release(&a);
}

static void
call_half_closed(struct rpc_call *c, void *owner)
{
	struct tunnel *t = owner;

	(void)c;
	t->down_ended = true;
	pump_down(t);
}

static void
call_writable(struct rpc_call *c, void *owner)
{
	(void)c;
	pump_up(owner);
}

static void
call_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct tunnel *t = owner;

	(void)c;
	(void)f;
	(void)detail;
	t->call = NULL;
	/* The guest had ended its side: let the rest reach it. */
	if (t->up_ended && t->stream && t->is_paired) {
		t->down_ended = true;
		pump_down(t);
		return;
	}
	end(t);
}

static const struct rpc_call_events call_events = {
	.message = call_message,
	.half_closed = call_half_closed,
	.writable = call_writable,
	.closed = call_closed,
};

static void
waited(struct timer *timer)
{
	end(CONTAINER_OF(timer, struct tunnel, wait));
}

static struct tunnel *
take_free(struct keeper *k)
{
	for (size_t i = 0; i < NELEM(k->tunnels); i++) {
		struct tunnel *t = &k->tunnels[i];

		if (t->k)
			continue;
		t->k = k;
		t->wait.fire = waited;
		buf_init(&t->up, TUNNEL_BYTES);
		buf_init(&t->down, TUNNEL_BYTES);
		return t;
	}
	return NULL;
}

/* Waiting for the other end, the oldest first. */
static struct tunnel *
waiting(struct keeper *k, bool has_call)
{
	for (size_t i = 0; i < NELEM(k->tunnels); i++) {
		struct tunnel *t = &k->tunnels[i];

		if (t->k && !t->is_paired &&
		    (has_call ? t->call && !t->stream : t->stream && !t->call))
			return t;
	}
	return NULL;
}

void
tunnels_init(struct keeper *k)
{
	pace_init(&k->tunnel_pace, KEEPER_TUNNEL_BURST, KEEPER_TUNNEL_MS,
	    clock_mono_ms());
	k->tunnel_due.fire = on_due;
}

void
tunnel_of_guest(struct keeper *k, struct rpc_stream *s)
{
	struct tunnel *t = waiting(k, true);

	if (!t)
		t = take_free(k);
	if (!t) {
		rpc_stream_refuse(s, 503, SPAN_LIT("{\"error\":\"busy\"}"));
		return;
	}
	t->stream = s;
	rpc_stream_accept(s, &stream_events, t);
	if (t->call)
		pair_due(k);
	else
		loop_timer_set(k->loop, &t->wait, WAIT_MS);
}

void
tunnel_of_gateway(struct keeper *k, struct rpc_call *c)
{
	struct tunnel *t = waiting(k, false);
	struct fault f = { 0 };

	if (!t)
		t = take_free(k);
	if (!t) {
		(void)fault_set(&f, FAULT_BUSY, "%d tunnels are open",
		    KEEPER_TUNNELS);
		rpc_finish(c, &f, span_of(NULL, 0));
		return;
	}
	rpc_call_accept(c, &call_events, t);
	t->call = c;
	loop_timer_clear(&t->wait);
	pair_due(k);
}
