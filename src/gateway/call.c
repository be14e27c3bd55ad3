/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk of a call, from its first byte to its answer:
 *
 *   READ -> DECODE -> IDENTIFY -> AUTHORISE -> DECIDE -> EFFECT -> AUDIT
 *                 \___________\___________\________\_______\______^
 *                                refused                          |
 *   commit of the tick -> ANSWER [-> STREAM] -> DONE  <-----------'
 *
 * Effects of the system (processes, machines) start in ANSWER or in what
 * sandbox.c does after the commit: whatever runs is already in the record.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/call.h"
#include "gateway/refusal.h"
#include "wire/wire.h"

struct early {
	struct early *next;
	struct span message;
};

static void step(struct call *c);
static void free_call(void *p);

static enum call_result
refuse(struct call *c)
{
	BUG_IF(c->fault.code == FAULT_NONE);
	return CALL_FAULT;
}

static enum call_result
phase_read(struct call *c)
{
	if (!c->has_ask && c->half_closed) {
		fault_set(&c->fault, FAULT_INVALID, "the request is missing");
		return refuse(c);
	}
	if (c->fault.code != FAULT_NONE)
		return refuse(c);
	if (!c->has_ask)
		return CALL_WAIT;
	if (!(c->method->kind & CALL_FIRST) && !c->half_closed)
		return CALL_WAIT;
	return CALL_NEXT;
}

static enum call_result
phase_decode(struct call *c)
{
	if (c->method->fields == NULL)
		return CALL_NEXT;
	c->ask = arena_get(&c->arena, c->method->ask_size);
	BUG_IF(c->ask == NULL);
	if (wire_decode(c->method->fields, c->ask, c->raw, &c->arena,
		&c->fault) < 0)
		return refuse(c);
	return CALL_NEXT;
}

/* The door has said who it is (server.c); nothing the caller sent counts. */
static enum call_result
phase_identify(struct call *c)
{
	if (c->caller.who != 0)
		return CALL_NEXT;
	fault_set(&c->fault, FAULT_UNAUTHENTICATED,
	    "the caller is not a user of this gateway");
	return refuse(c);
}

static enum call_result
phase_authorise(struct call *c)
{
	if (c->method->who & c->caller.who)
		return CALL_NEXT;
	if (c->method->who == CALL_ADMIN)
		c->hint = "ask an admin of this gateway: root, or the user "
			  "who runs it";
	fault_set(&c->fault, FAULT_REFUSED, "%s is not for this caller",
	    c->method->verb);
	return refuse(c);
}

static enum call_result
phase_decide(struct call *c)
{
	int (*decide)(struct call * c, struct fault * f) = c->method->decide;

	if (c->then != NULL)
		decide = c->then;
	c->then = NULL;
	if (c->g->stopping) {
		fault_set(&c->fault, FAULT_BUSY, "the gateway is stopping");
		return refuse(c);
	}
	if (decide != NULL && decide(c, &c->fault) < 0)
		return refuse(c);
	return c->then != NULL ? CALL_WAIT : CALL_NEXT;
}

void
call_wait(struct call *c, int (*then)(struct call *c, struct fault *f),
    void (*left)(struct call *c), void *waits_for)
{
	c->then = then;
	c->left = left;
	c->waits_for = waits_for;
}

void
call_resume(struct call *c)
{
	BUG_IF(c->phase != CALL_DECIDE || c->then == NULL);
	step(c);
}

/* The effect's writes and their row of the record are one: both or none. */
static int
record(struct call *c, struct fault *f)
{
	const struct audit_row row = {
		.time_ms = clock_wall_ms(),
		.caller = c->caller.text,
		.program = c->caller.program,
		.verb = c->method->verb,
		.sandbox_id = c->sandbox_id,
		.sandbox = c->sandbox,
		.verdict = audit_verdict_of(&c->fault),
		.reason = c->fault.code == FAULT_NONE
		    ? ""
		    : fault_reason(c->fault.code),
		.detail = (const char *)buf_ptr(&c->detail),
	};

	return audit_append(c->g->store, &row, f);
}

static enum call_result
phase_effect(struct call *c)
{
	bool writes = !(c->method->kind & CALL_READS);

	if (c->method->effect == NULL)
		return CALL_NEXT;
	if (writes && store_mark(c->g->store, &c->fault) < 0)
		return refuse(c);
	if (c->method->effect(c, &c->fault) < 0) {
		if (writes)
			store_back(c->g->store);
		return refuse(c);
	}
	if (!writes)
		return CALL_NEXT;
	if (record(c, &c->fault) < 0) {
		store_back(c->g->store);
		return refuse(c);
	}
	store_keep(c->g->store);
	return CALL_NEXT;
}

/* Refusals, and effects that write nothing, get their row here; the others
 * have it already. A read of what is not there is no refusal. */
static enum call_result
phase_audit(struct call *c)
{
	struct fault f = { 0 };
	bool is_refused = c->fault.code != FAULT_NONE;
	bool reads = c->method->kind & CALL_READS;

	if (!is_refused && (reads || c->method->effect != NULL))
		return CALL_NEXT;
	if (reads && c->fault.code == FAULT_NOT_FOUND)
		return CALL_NEXT;
	if (is_refused)
		call_note(c, "%s%s", c->detail.len > 0 ? ": " : "",
		    c->fault.text);
	if (record(c, &f) < 0) {
		log_warn(&f, "cannot record a call of %s", c->method->verb);
		if (!is_refused)
			c->fault = f;
	}
	return CALL_NEXT;
}

static void
finish(struct call *c)
{
	struct buf detail;

	c->phase = CALL_DONE;
	if (c->rpc == NULL) {
		loop_bury(c->g->loop, c, free_call);
		return;
	}
	if (c->fault.code == FAULT_NONE) {
		rpc_finish(c->rpc, NULL, span_of(NULL, 0));
		return;
	}
	if (fault_kind(c->fault.code) == FAULT_KIND_SYSTEM)
		log_warn(&c->fault, "%s of %s failed", c->method->verb,
		    c->caller.text);
	buf_init(&detail, REFUSAL_BYTES);
	rpc_finish(c->rpc, &c->fault, refusal_encode(c, &detail));
	buf_release(&detail);
}

/* After the commit. */
static void
answer(struct deferred *d)
{
	struct call *c = CONTAINER_OF(d, struct call, held);

	c->queued = false;
	if (c->fault.code == FAULT_NONE &&
	    c->g->commit_fault.code != FAULT_NONE)
		c->fault = c->g->commit_fault;
	if (c->fault.code != FAULT_NONE || c->rpc == NULL) {
		finish(c);
		return;
	}
	if (c->method->answer != NULL) {
		c->method->answer(c);
		return;
	}
	if (rpc_send(c->rpc, buf_span(&c->answer), &c->fault) < 0)
		log_warn(&c->fault, "cannot answer a call of %s",
		    c->method->verb);
	finish(c);
}

static enum call_result
phase_answer(struct call *c)
{
	c->queued = true;
	loop_held(c->g->loop, &c->held);
	return CALL_WAIT;
}

static enum call_result
one_phase(struct call *c)
{
	switch (c->phase) {
	case CALL_READ:
		return phase_read(c);
	case CALL_DECODE:
		return phase_decode(c);
	case CALL_IDENTIFY:
		return phase_identify(c);
	case CALL_AUTHORISE:
		return phase_authorise(c);
	case CALL_DECIDE:
		return phase_decide(c);
	case CALL_EFFECT:
		return phase_effect(c);
	case CALL_AUDIT:
		return phase_audit(c);
	case CALL_ANSWER:
		return phase_answer(c);
	case CALL_STREAM:
	case CALL_DONE:
		break;
	}
	return CALL_WAIT;
}

static void
step(struct call *c)
{
	for (;;) {
		enum call_result r = one_phase(c);

		if (r == CALL_WAIT)
			return;
		if (r == CALL_FAULT)
			c->phase = CALL_AUDIT;
		else
			c->phase++;
	}
}

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
	step(c);
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
		step(c);
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
	struct call *c = owner;

	(void)rpc;
	(void)f;
	(void)detail;
	c->rpc = NULL;
	if (c->queued)
		return; /* its row is being committed; answer() frees it */
	if (c->phase == CALL_STREAM)
		c->events->gone(c);
	if (c->then != NULL)
		c->left(c);
	c->phase = CALL_DONE;
	loop_bury(c->g->loop, c, free_call);
}

static void
free_call(void *p)
{
	struct call *c = p;
	struct gateway *g = c->g;

	if (c->prev != NULL)
		c->prev->next = c->next;
	else
		g->calls = c->next;
	if (c->next != NULL)
		c->next->prev = c->prev;
	g->calls_n--;
	buf_release(&c->answer);
	buf_release(&c->detail);
	arena_release(&c->arena);
	free(c);
}

static const struct rpc_call_events events = {
	.message = on_message,
	.half_closed = on_half_closed,
	.writable = on_writable,
	.closed = on_closed,
};

void
call_open(struct gateway *g, struct rpc_call *rpc, struct span path,
    const struct caller *caller)
{
	struct call *c = must_alloc(sizeof(*c));

	c->g = g;
	c->rpc = rpc;
	c->method = method_find(path);
	c->caller = *caller;
	c->held.run = answer;
	c->early_end = &c->early;
	buf_init(&c->answer, LIMIT_MESSAGE);
	buf_init(&c->detail, AUDIT_DETAIL);
	c->next = g->calls;
	if (g->calls != NULL)
		g->calls->prev = c;
	g->calls = c;
	g->calls_n++;
	rpc_call_accept(rpc, &events, c);
	if (c->method == NULL) {
		c->method = method_unserved();
		arena_init(&c->arena, c->method->arena);
		call_note(c, "%.*s", (int)(path.len < 128 ? path.len : 128),
		    (const char *)path.ptr);
		c->phase = CALL_IDENTIFY;
	} else {
		arena_init(&c->arena, c->method->arena);
	}
	if (g->calls_n > GATEWAY_CALLS) {
		fault_set(&c->fault, FAULT_BUSY, "over %d calls at once",
		    GATEWAY_CALLS);
		c->phase = CALL_AUDIT;
	}
	step(c);
}

int
call_reply(struct call *c, const struct pb_msgdesc_s *fields,
    const void *message, struct fault *f)
{
	buf_clear(&c->answer);
	if (wire_encode(fields, message, &c->answer, f) < 0)
		return fault_prefix(f, "the answer is too long");
	return 0;
}

void
call_take(struct call *c, const struct call_events *ev, void *work)
{
	const struct early *e = c->early;

	c->phase = CALL_STREAM;
	c->events = ev;
	c->work = work;
	if (ev == NULL)
		return;
	c->early = NULL;
	for (; e != NULL && c->phase == CALL_STREAM; e = e->next)
		ev->message(c, e->message);
	if (c->half_closed && c->phase == CALL_STREAM &&
	    ev->half_closed != NULL)
		ev->half_closed(c);
}

int
call_send(struct call *c, const struct pb_msgdesc_s *fields,
    const void *message, struct fault *f)
{
	if (c->rpc == NULL)
		return fault_set(f, FAULT_LOST, "the client has left");
	if (call_reply(c, fields, message, f) < 0)
		return -1;
	return rpc_send(c->rpc, buf_span(&c->answer), f);
}

void
call_finish(struct call *c, const struct fault *f)
{
	if (c->phase == CALL_DONE)
		return;
	if (f != NULL)
		c->fault = *f;
	finish(c);
}

void
call_note(struct call *c, const char *fmt, ...)
{
	char text[AUDIT_DETAIL];
	struct fault ignored = { 0 };
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	n = strlen(text);
	if (n + 1 > buf_left(&c->detail))
		n = buf_left(&c->detail) > 0 ? buf_left(&c->detail) - 1 : 0;
	/* A NUL stays behind the text: it is read as a C string. */
	if (n == 0 || buf_add(&c->detail, text, n, &ignored) < 0)
		return;
	if (buf_room(&c->detail, 1) != NULL)
		*buf_room(&c->detail, 1) = 0;
}

void
call_end_all(struct gateway *g, const struct fault *f)
{
	for (struct call *c = g->calls; c != NULL; c = c->next) {
		if (c->phase != CALL_STREAM)
			continue;
		if (c->rpc != NULL)
			c->events->gone(c);
		call_finish(c, f);
	}
}

void
call_commit(void *owner)
{
	struct gateway *g = owner;

	fault_clear(&g->commit_fault);
	if (store_commit(g->store, &g->commit_fault) < 0) {
		log_warn(&g->commit_fault, "cannot keep what was done");
		g->pending_all = true;
		loop_timer_set(g->loop, &g->settle_again, 1000);
	}
}
