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

#include "gateway/face.h"
#include "gateway/record.h"
#include "gateway/refusal.h"
#include "gateway/tally.h"
#include "wire/wire.h"

enum {
	PAGE = 100, /* rows, where nobody said */
};

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
	if (c->face->decode(c, &c->fault) < 0)
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

static void
say_why(struct call *c, const char *why)
{
	nacre_v1_Refusal *r = refusal_of(c);

	if (r != NULL)
		r->why = arena_str(&c->arena, span_str(why));
}

static enum call_result
refuse_caller(struct call *c)
{
	say_why(c, "scope");
	if (c->method->who == CALL_ADMIN)
		c->hint = "ask an admin of this gateway: root, or the user "
			  "who runs it";
	else if (c->caller.who & CALL_SANDBOX)
		c->hint = "only the user of this sandbox may, on the host";
	fault_set(&c->fault, FAULT_REFUSED, "%s is not for this caller",
	    c->method->verb);
	return refuse(c);
}

/* What a face asks for a call is paid before anything is refused: each
 * refusal is a row of the record. */
static enum call_result
phase_authorise(struct call *c)
{
	if (c->face->admit != NULL && c->face->admit(c, &c->fault) < 0)
		return refuse(c);
	if (!(c->method->who & c->caller.who))
		return refuse_caller(c);
	if (c->caller.scopes != NULL &&
	    !scope_has(c->caller.scopes, c->method->scope)) {
		say_why(c, "scope");
		c->hint = "ask your user for a token that has it";
		fault_set(&c->fault, FAULT_REFUSED,
		    "the token has not the scope '%s'", c->method->scope);
		return refuse(c);
	}
	if (c->is_unlisted)
		return refuse_caller(c);
	if (c->ask_fault.code == FAULT_NONE)
		return CALL_NEXT;
	c->fault = c->ask_fault;
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
	call_step(c);
}

/* The effect's writes and their row of the record are one: both or none. */
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
	if (record_call(c, &c->fault) < 0) {
		store_back(c->g->store);
		return refuse(c);
	}
	store_keep(c->g->store);
	return CALL_NEXT;
}

/* Refusals, and effects that write nothing, get their row here; the others
 * have it already. A user's read of what is not there is no refusal; an agent
 * that reaches for another's sandbox is told no more. */
static enum call_result
phase_audit(struct call *c)
{
	struct fault f = { 0 };
	bool is_refused = c->fault.code != FAULT_NONE;
	bool reads = c->method->kind & CALL_READS;

	if (!is_refused && (reads || c->method->effect != NULL))
		return CALL_NEXT;
	if (reads && c->fault.code == FAULT_NOT_FOUND &&
	    !(c->caller.who & CALL_SANDBOX))
		return CALL_NEXT;
	if (c->fault.code == FAULT_UNAUTHENTICATED ||
	    c->fault.code == FAULT_RATE_LIMITED) {
		tally_count(c->g, c->caller.text, c->fault.code);
		return CALL_NEXT;
	}
	if (is_refused)
		call_note(c, "%s%s", c->detail.len > 0 ? ": " : "",
		    c->fault.text);
	if (record_call(c, &f) < 0) {
		log_warn(&f, "cannot record a call of %s", c->method->verb);
		if (!is_refused)
			c->fault = f;
	}
	return CALL_NEXT;
}

static void
finish(struct call *c)
{
	c->phase = CALL_DONE;
	if (c->is_left) {
		loop_bury(c->g->loop, c, free_call);
		return;
	}
	if (c->fault.code != FAULT_NONE &&
	    fault_kind(c->fault.code) == FAULT_KIND_SYSTEM)
		log_warn(&c->fault, "%s of %s failed", c->method->verb,
		    c->caller.text);
	c->face->finish(c);
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
	if (c->fault.code != FAULT_NONE || c->is_left) {
		if (c->fault.code == FAULT_NONE && c->undo != NULL)
			c->undo(c);
		finish(c);
		return;
	}
	if (c->method->answer != NULL) {
		c->method->answer(c);
		return;
	}
	if (c->face->send(c, &c->fault) < 0)
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

void
call_step(struct call *c)
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
	if (c->face->freed != NULL)
		c->face->freed(c);
	buf_release(&c->answer);
	buf_release(&c->detail);
	arena_release(&c->arena);
}

struct call *
call_make(struct gateway *g, const struct call_face *face, void *client,
    const struct method *m, const struct caller *caller)
{
	struct arena arena;
	struct call *c = arena_home(&arena, sizeof(*c), m->arena);

	c->arena = arena;
	c->g = g;
	c->face = face;
	c->client = client;
	c->begun_ms = loop_now_ms(g->loop);
	c->method = m;
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
	if (g->calls_n > face->most) {
		fault_set(&c->fault, FAULT_BUSY, "over %zu calls at once",
		    face->most);
		c->phase = CALL_AUDIT;
	}
	return c;
}

void
call_left(struct call *c)
{
	c->is_left = true;
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

uint32_t
call_page(uint32_t asked, uint32_t most)
{
	if (asked == 0)
		return PAGE;
	return asked < most ? asked : most;
}

int64_t
call_left_of_ms(const struct call *c, int64_t wait_ms)
{
	int64_t spent_ms = loop_now_ms(c->g->loop) - c->begun_ms;

	return spent_ms < wait_ms ? wait_ms - spent_ms : 0;
}

void
call_progress(struct call *c, const struct call_progress *p)
{
	if (!c->is_left && c->face->progress != NULL)
		c->face->progress(c, p);
}

int
call_reply(struct call *c, const struct pb_msgdesc_s *fields,
    const void *message, struct fault *f)
{
	return c->face->write(c, fields, message, f);
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
	if (c->is_left)
		return fault_set(f, FAULT_LOST, "the client has left");
	if (call_reply(c, fields, message, f) < 0)
		return -1;
	return c->face->send(c, f);
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
	NOT_ZEROED char text[AUDIT_DETAIL];
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
		if (!c->is_left)
			c->events->gone(c);
		call_finish(c, f);
	}
}

bool
call_is_pending(void *owner)
{
	const struct gateway *g = owner;

	return store_is_dirty(g->store);
}

void
call_commit(void *owner)
{
	struct gateway *g = owner;

	fault_clear(&g->commit_fault);
	record_seal(g);
	g->committed_n = g->pending_n;
	if (store_commit(g->store, &g->commit_fault) < 0) {
		log_warn(&g->commit_fault, "cannot keep what was done");
		g->pending_all = true;
		loop_timer_set(g->loop, &g->settle_again, 1000);
	}
	record_committed(g);
}
