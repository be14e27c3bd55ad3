/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a session: the keeper's Tunnel call, TLS and gRPC inside it.
 * What is said in it is control.c's.
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/session_inner.h"
#include "wire/wire.h"

enum {
	IN_MOST = 2 * LIMIT_MESSAGE,
};

static void
free_session(void *p)
{
	struct session *s = p;

	buf_release(&s->in);
	buf_release(&s->first);
	free(s);
}

/* Both halves are gone: so is the session. */
static void
check_end(struct session *s)
{
	if (s->tunnel != NULL || s->link != NULL)
		return;
	loop_deferred_drop(s->g->loop, &s->held);
	loop_deferred_drop(s->g->loop, &s->ack);
	if (s->vm != NULL) {
		if (s->prev != NULL)
			s->prev->next = s->next;
		else
			s->vm->sessions = s->next;
		if (s->next != NULL)
			s->next->prev = s->prev;
		s->vm = NULL;
	}
	loop_bury(s->g->loop, s, free_session);
}

/* ---- bytes out: link to tunnel ---- */

/* nacre.keeper.v1.Bytes { data = 2 }, without a copy through a message. */
static bool
send_chunk(struct session *s, struct span bytes)
{
	uint8_t frame[LIMIT_CHUNK + 8];
	size_t at = 0;
	uint32_t n = (uint32_t)bytes.len;
	struct fault f = { 0 };

	frame[at++] = 0x12; /* field 2, length-delimited */
	while (n >= 0x80) {
		frame[at++] = (uint8_t)(n | 0x80);
		n >>= 7;
	}
	frame[at++] = (uint8_t)n;
	memcpy(frame + at, bytes.ptr, bytes.len);
	return rpc_send(s->tunnel, span_of(frame, at + bytes.len), &f) == 0;
}

static size_t
bytes_write(void *owner, struct span bytes)
{
	struct session *s = owner;
	size_t taken = 0;

	while (
	    taken < bytes.len && s->tunnel != NULL && rpc_room(s->tunnel) > 0) {
		struct span rest = span_from(bytes, taken);

		if (rest.len > LIMIT_CHUNK)
			rest.len = LIMIT_CHUNK;
		if (!send_chunk(s, rest))
			break;
		taken += rest.len;
	}
	return taken;
}

/* ---- bytes in: tunnel to link ---- */

static void
pump_in(struct session *s)
{
	while (s->link != NULL && s->in.len > 0) {
		size_t n = rpc_link_feed(s->link, buf_span(&s->in));

		if (n == 0)
			return;
		buf_eat(&s->in, n);
	}
	if (s->in.len == 0 && s->owed > 0 && s->tunnel != NULL) {
		rpc_consume(s->tunnel, s->owed);
		s->owed = 0;
	}
	if (s->in.len == 0 && s->ended && s->link != NULL)
		rpc_link_eof(s->link);
}

static void
bytes_resume(void *owner)
{
	pump_in(owner);
}

static void
bytes_close(void *owner)
{
	struct session *s = owner;

	if (s->tunnel != NULL)
		rpc_cancel(s->tunnel);
}

static void
link_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	struct session *s = owner;

	(void)l;
	s->link = NULL;
	log_debug("a session of machine %s ended: %s",
	    s->vm != NULL ? s->vm->id : "(gone)", f->text);
	session_lost(s);
	if (s->tunnel != NULL)
		rpc_cancel(s->tunnel);
	check_end(s);
}

static const struct rpc_link_events link_events = {
	.down = link_down,
};

static int
open_link(struct session *s, struct fault *f)
{
	const struct rpc_bytes bytes = {
		.write = bytes_write,
		.resume = bytes_resume,
		.close = bytes_close,
		.owner = s,
	};
	struct rpc_link_options o = {
		.server = true,
		.handlers = &s->handlers,
		.events = &link_events,
		.owner = s,
		/* A guest may be hostile: 64 of them must fit. */
		.unread_max = 4 << 20,
	};
	uint8_t entropy[TLS_ENTROPY];

	random_bytes(entropy, sizeof(entropy));
	o.tls = tls_server_new(&s->g->tunnel_key, entropy, f);
	secret_wipe(entropy, sizeof(entropy));
	if (o.tls == NULL)
		return -1;
	s->handlers.open = session_called;
	s->handlers.owner = s;
	s->link = rpc_link_open_bytes(s->g->loop, &bytes, &o, f);
	return s->link == NULL ? -1 : 0;
}

/* ---- the Tunnel call ---- */

static void
tunnel_opened(struct session *s)
{
	struct fault f = { 0 };

	s->opened = true;
	if (s->vm != NULL)
		vm_tunnel_taken(s->vm, false);
	if (open_link(s, &f) == 0)
		return;
	log_warn(&f, "cannot serve a session");
	if (s->tunnel != NULL)
		rpc_cancel(s->tunnel);
}

static void
tunnel_message(struct rpc_call *c, void *owner, struct span message)
{
	nacre_keeper_v1_Bytes m = nacre_keeper_v1_Bytes_init_zero;
	struct session *s = owner;
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, 2 * LIMIT_MESSAGE);
	s->owed += message.len;
	if (WIRE_DECODE(nacre_keeper_v1_Bytes, &m, message, &a, &f) == 0) {
		struct span data = wire_span(m.data);

		if (m.opened && !s->opened)
			tunnel_opened(s);
		if (data.len > 0 && buf_add(&s->in, data.ptr, data.len, &f) < 0)
			fault_prefix(&f, "too much came at once");
	}
	arena_release(&a);
	if (f.code != FAULT_NONE) {
		log_warn(&f, "a tunnel broke");
		rpc_cancel(c);
		return;
	}
	pump_in(s);
}

static void
tunnel_half_closed(struct rpc_call *c, void *owner)
{
	struct session *s = owner;

	(void)c;
	s->ended = true;
	pump_in(s);
}

static void
tunnel_writable(struct rpc_call *c, void *owner)
{
	struct session *s = owner;

	(void)c;
	if (s->link != NULL)
		rpc_link_writable(s->link);
}

static void
tunnel_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct session *s = owner;

	(void)c;
	(void)detail;
	s->tunnel = NULL;
	if (!s->opened && s->vm != NULL)
		vm_tunnel_taken(s->vm, true);
	if (s->link != NULL)
		rpc_link_drop(s->link, f);
	check_end(s);
}

static const struct rpc_call_events tunnel_events = {
	.message = tunnel_message,
	.half_closed = tunnel_half_closed,
	.writable = tunnel_writable,
	.closed = tunnel_closed,
};

int
session_wait(struct vm *vm, struct fault *f)
{
	struct session *s = must_alloc(sizeof(*s));

	s->g = vm->g;
	s->vm = vm;
	buf_init(&s->in, IN_MOST);
	buf_init(&s->first, LIMIT_MESSAGE);
	session_init(s);
	s->tunnel = rpc_call(vm->link, "/nacre.keeper.v1.Keeper/Tunnel",
	    span_of(NULL, 0), -1, &tunnel_events, s, f);
	if (s->tunnel == NULL) {
		free_session(s);
		return -1;
	}
	s->next = vm->sessions;
	if (vm->sessions != NULL)
		vm->sessions->prev = s;
	vm->sessions = s;
	return 0;
}

/* The slot of the machine is given back: no session may look at it again. */
void
session_close_all(struct vm *vm)
{
	struct session *next;
	struct fault f = { 0 };

	fault_set(&f, FAULT_LOST, "the machine is gone");
	for (struct session *s = vm->sessions; s != NULL; s = next) {
		next = s->next;
		s->vm = NULL;
		s->next = s->prev = NULL;
		if (s->link != NULL)
			rpc_link_drop(s->link, &f);
		if (s->tunnel != NULL)
			rpc_cancel(s->tunnel);
	}
	vm->sessions = vm->session = NULL;
}
