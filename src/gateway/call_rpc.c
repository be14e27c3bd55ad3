/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC's face of the calls: one message asks (or the first of many), messages
 * answer, a status ends it, with the refusal's object beside.
 */
#include "gateway/face.h"
#include "gateway/refusal.h"
#include "wire/wire.h"

/*
 * A stream whose sender did not wait for its answer. Nothing is given back
 * to the sender until it is used, so its window bounds what is kept.
 */
static void
keep_early(struct call *c, struct span s)
{
	struct early *e = arena_get(&c->arena, sizeof(*e));

	if (e != NULL)
		e->message = arena_dup(&c->arena, s);
	if (e == NULL || (e->message.ptr == NULL && s.len > 0)) {
		if (c->fault.code == FAULT_NONE)
			fault_set(&c->fault, FAULT_LIMIT,
			    "too much was sent before the answer");
		return;
	}
	*c->early_end = e;
	c->early_end = &e->next;
}

static void
on_message(struct rpc_call *rpc, void *owner, struct span s)
{
	struct call *c = owner;

	if (c->phase == CALL_STREAM && c->events->message != NULL) {
		c->events->message(c, s);
		return;
	}
	if (c->has_ask && (c->method->kind & CALL_FIRST)) {
		keep_early(c, s);
		return;
	}
	rpc_consume(rpc, s.len);
	if (c->phase != CALL_READ)
		return;
	if (c->has_ask) {
		fault_set(&c->fault, FAULT_INVALID,
		    "one request is one message");
	} else {
		c->raw = arena_dup(&c->arena, s);
		c->has_ask = true;
		if (c->raw.ptr == NULL && s.len > 0)
			fault_set(&c->fault, FAULT_LIMIT,
			    "the request is too large");
	}
	call_step(c);
}

static void
on_half_closed(struct rpc_call *rpc, void *owner)
{
	struct call *c = owner;

	(void)rpc;
	c->half_closed = true;
	if (c->phase == CALL_STREAM) {
		if (c->events->half_closed != NULL)
			c->events->half_closed(c);
		return;
	}
	if (c->phase == CALL_READ)
		call_step(c);
}

static void
on_writable(struct rpc_call *rpc, void *owner)
{
	struct call *c = owner;

	(void)rpc;
	if (c->phase == CALL_STREAM && c->events->writable != NULL)
		c->events->writable(c);
}

static void
on_closed(struct rpc_call *rpc, void *owner, const struct fault *f,
    struct span detail)
{
	(void)rpc;
	(void)f;
	(void)detail;
	call_left(owner);
}

static const struct rpc_call_events events = {
	.message = on_message,
	.half_closed = on_half_closed,
	.writable = on_writable,
	.closed = on_closed,
};

static int
decode(struct call *c, struct fault *f)
{
	return wire_decode(c->method->fields, c->ask, c->raw, &c->arena, f);
}

static int
write(struct call *c, const struct pb_msgdesc_s *fields, const void *message,
    struct fault *f)
{
	buf_clear(&c->answer);
	if (wire_encode(fields, message, &c->answer, f) < 0)
		return fault_prefix(f, "the answer is too long");
	return 0;
}

static int
send(struct call *c, struct fault *f)
{
	return rpc_send(c->rpc, buf_span(&c->answer), f);
}

static void
finish(struct call *c)
{
	struct buf detail;

	if (c->fault.code == FAULT_NONE) {
		rpc_finish(c->rpc, NULL, span_of(NULL, 0));
		return;
	}
	buf_init(&detail, REFUSAL_BYTES);
	rpc_finish(c->rpc, &c->fault, refusal_encode(c, &detail));
	buf_release(&detail);
}

/* A client of the socket opens as many as it likes and sends nothing: what it
 * may take leaves room for those who call tools. */
static const struct call_face face = {
	.most = GATEWAY_CALLS / 4 * 3,
	.decode = decode,
	.write = write,
	.send = send,
	.finish = finish,
};

void
call_open(struct gateway *g, struct rpc_call *rpc, struct span path,
    const struct caller *caller)
{
	const struct method *m = method_find(path);
	struct call *c = call_make(g, &face, NULL,
	    m != NULL ? m : method_unserved(), caller);

	c->rpc = rpc;
	rpc_call_accept(rpc, &events, c);
	if (m == NULL) {
		call_note(c, "%.*s", (int)(path.len < 128 ? path.len : 128),
		    (const char *)path.ptr);
		if (c->phase == CALL_READ)
			c->phase = CALL_IDENTIFY;
	}
	call_step(c);
}
