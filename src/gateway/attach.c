/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that the gateway asks a supervisor for. One is asked for by
 * Down.open and comes as an Attach call whose first message names it:
 *
 *   WAITING (no session yet) -> ASKED -> OPEN -> gone
 *
 * A supervisor keeps one Attach call open ahead, a spare without a name. The
 * next exec goes into it at once, is OPEN from the start, and saves the guest
 * a call while a user waits.
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/session.h"
#include "wire/wire.h"

enum {
	ATTACH_MS = 15000, /* to the supervisor's call */
	ATTACHES = 256,    /* of one machine */
};

enum attach_state {
	ATTACH_WAITING,
	ATTACH_ASKED,
	ATTACH_OPEN,
	ATTACH_GONE,
};

struct attach {
	struct gateway *g;
	struct vm *vm; /* good until ATTACH_GONE */
	enum attach_state state;
	char id[LIMIT_ID + 1];
	struct buf ask; /* the encoded Down.open, while it waits */
	struct rpc_call *call;
	const struct attach_events *events;
	void *owner;
	struct timer timer;
	struct attach *next;
	struct attach *prev;
};

/* A call of Attach; which stream it is, its first message says. */
struct arrival {
	struct gateway *g;
	struct vm *vm;
	struct rpc_call *call;
	struct attach *attach; /* NULL before that, and after the end */
	bool is_spare;
};

static void
free_attach(void *p)
{
	struct attach *a = p;

	buf_release(&a->ask);
	free(a);
}

static void
unlink_attach(struct attach *a)
{
	if (a->prev != NULL)
		a->prev->next = a->next;
	else
		a->vm->attaches = a->next;
	if (a->next != NULL)
		a->next->prev = a->prev;
	a->vm->used_ms = clock_mono_ms();
	loop_timer_clear(&a->timer);
}

/* The end, told once. The call may outlive it: its owner is gone by then. */
static void
end(struct attach *a, const struct fault *f)
{
	if (a->state == ATTACH_GONE)
		return;
	a->state = ATTACH_GONE;
	unlink_attach(a);
	a->events->closed(a, a->owner, f);
	if (a->call == NULL)
		loop_bury(a->g->loop, a, free_attach);
}

static void
on_timer(struct timer *t)
{
	struct attach *a = CONTAINER_OF(t, struct attach, timer);
	struct fault f = { 0 };

	fault_set(&f, FAULT_TIMEOUT,
	    a->state == ATTACH_WAITING ? "the sandbox has no session"
				       : "the sandbox did not answer");
	f.code = FAULT_LOST;
	end(a, &f);
}

static void
ask(struct attach *a)
{
	struct fault f = { 0 };

	if (session_send_bytes(a->vm, buf_span(&a->ask), &f) < 0) {
		end(a, &f);
		return;
	}
	a->state = ATTACH_ASKED;
	buf_release(&a->ask);
	buf_init(&a->ask, LIMIT_MESSAGE);
}

static bool
take_spare(struct attach *a, nacre_session_v1_Open *open)
{
	nacre_session_v1_AttachDown down =
	    nacre_session_v1_AttachDown_init_zero;
	struct arrival *r = a->vm->spare;
	struct fault f = { 0 };
	struct buf b;
	bool sent;

	if (r == NULL || open->which_kind != nacre_session_v1_Open_exec_tag)
		return false;
	down.which_kind = nacre_session_v1_AttachDown_open_tag;
	down.kind.open = *open;
	buf_init(&b, LIMIT_MESSAGE);
	sent = WIRE_ENCODE(nacre_session_v1_AttachDown, &down, &b, &f) == 0 &&
	    rpc_send(r->call, buf_span(&b), &f) == 0;
	buf_release(&b);
	if (!sent)
		return false;
	a->vm->spare = NULL;
	r->is_spare = false;
	r->attach = a;
	a->call = r->call;
	a->state = ATTACH_OPEN;
	return true;
}

void
attach_drop_spare(struct vm *vm)
{
	struct arrival *r = vm->spare;
	struct fault f = { 0 };

	if (r == NULL)
		return;
	vm->spare = NULL;
	r->is_spare = false;
	fault_set(&f, FAULT_CANCELLED, "open it again");
	rpc_finish(r->call, &f, span_of(NULL, 0));
}

static size_t
count(const struct vm *vm)
{
	size_t n = 0;

	for (const struct attach *a = vm->attaches; a != NULL; a = a->next)
		n++;
	return n;
}

struct attach *
attach_open(struct vm *vm, nacre_session_v1_Open *open,
    const struct attach_events *events, void *owner, struct fault *f)
{
	nacre_session_v1_Down down = nacre_session_v1_Down_init_zero;
	struct attach *a;

	if (vm == NULL || !vm->used || vm->end != VM_ALIVE) {
		fault_set(f, FAULT_LOST, "the sandbox has no machine");
		return NULL;
	}
	if (count(vm) >= ATTACHES) {
		fault_set(f, FAULT_BUSY, "over %d streams into one sandbox",
		    ATTACHES);
		return NULL;
	}
	a = must_alloc(sizeof(*a));
	uuid_make(a->id);
	buf_init(&a->ask, LIMIT_MESSAGE);
	open->attach_id = a->id;
	down.which_kind = nacre_session_v1_Down_open_tag;
	down.kind.open = *open;
	if (WIRE_ENCODE(nacre_session_v1_Down, &down, &a->ask, f) < 0) {
		free_attach(a);
		return NULL;
	}
	a->g = vm->g;
	a->vm = vm;
	a->events = events;
	a->owner = owner;
	a->timer.fire = on_timer;
	a->next = vm->attaches;
	if (vm->attaches != NULL)
		vm->attaches->prev = a;
	vm->attaches = a;
	if (vm->session != NULL && take_spare(a, open))
		return a;
	loop_timer_set(vm->g->loop, &a->timer, ATTACH_MS);
	if (vm->session != NULL &&
	    session_send_bytes(vm, buf_span(&a->ask), f) == 0)
		a->state = ATTACH_ASKED;
	return a;
}

void
attach_session_ready(struct vm *vm)
{
	struct attach *next;

	for (struct attach *a = vm->attaches; a != NULL; a = next) {
		next = a->next;
		if (a->state == ATTACH_WAITING)
			ask(a);
	}
}

static struct attach *
find(struct vm *vm, struct span name, struct fault *f)
{
	for (struct attach *a = vm->attaches; a != NULL; a = a->next)
		if (a->state == ATTACH_ASKED && span_is(name, a->id))
			return a;
	fault_set(f, FAULT_NOT_FOUND, "no such stream");
	return NULL;
}

static int
take_name(struct span message, char *name, size_t size, struct fault *f)
{
	nacre_session_v1_AttachUp up = nacre_session_v1_AttachUp_init_zero;
	struct arena arena;
	int rc;

	arena_init(&arena, 64 << 10);
	rc = WIRE_DECODE(nacre_session_v1_AttachUp, &up, message, &arena, f);
	if (rc == 0 &&
	    (up.which_kind != nacre_session_v1_AttachUp_attach_id_tag ||
		!text_copy(name, size, span_str(up.kind.attach_id))))
		rc = fault_set(f, FAULT_NOT_FOUND, "no such stream");
	arena_release(&arena);
	return rc;
}

static int
first_word(struct arrival *r, struct span s, struct fault *f)
{
	char name[LIMIT_ID + 1] = "";

	if (take_name(s, name, sizeof(name), f) < 0)
		return -1;
	if (*name != '\0') {
		r->attach = find(r->vm, span_str(name), f);
		return r->attach == NULL ? -1 : 0;
	}
	if (r->vm->spare != NULL)
		return fault_set(f, FAULT_EXISTS, "there is one ahead");
	r->vm->spare = r;
	r->is_spare = true;
	return 0;
}

static void
first_message(struct arrival *r, struct rpc_call *call, struct span s)
{
	struct fault f = { 0 };
	struct attach *a;

	rpc_consume(call, s.len);
	if (r->is_spare)
		fault_set(&f, FAULT_PROTOCOL, "nothing was asked");
	if (r->is_spare || first_word(r, s, &f) < 0) {
		rpc_finish(call, &f, span_of(NULL, 0));
		return;
	}
	a = r->attach;
	if (a == NULL)
		return;
	a->call = call;
	a->state = ATTACH_OPEN;
	loop_timer_clear(&a->timer);
	a->events->opened(a, a->owner);
}

static void
on_message(struct rpc_call *call, void *owner, struct span s)
{
	nacre_session_v1_AttachUp up = nacre_session_v1_AttachUp_init_zero;
	struct arrival *r = owner;
	struct attach *a = r->attach;
	struct fault f = { 0 };
	struct arena arena;

	if (a == NULL) {
		first_message(r, call, s);
		return;
	}
	if (a->state != ATTACH_OPEN) {
		rpc_consume(call, s.len);
		return;
	}
	arena_init(&arena, 4 * LIMIT_MESSAGE);
	if (WIRE_DECODE(nacre_session_v1_AttachUp, &up, s, &arena, &f) < 0) {
		rpc_consume(call, s.len);
		rpc_finish(call, &f, span_of(NULL, 0));
		end(a, &f);
	} else {
		a->events->message(a, a->owner, &up, s.len);
	}
	arena_release(&arena);
}

static void
on_half_closed(struct rpc_call *call, void *owner)
{
	(void)owner;
	rpc_finish(call, NULL, span_of(NULL, 0));
}

static void
on_writable(struct rpc_call *call, void *owner)
{
	struct arrival *r = owner;
	struct attach *a = r->attach;

	(void)call;
	if (a != NULL && a->state == ATTACH_OPEN && a->events->writable != NULL)
		a->events->writable(a, a->owner);
}

static void
on_closed(struct rpc_call *call, void *owner, const struct fault *f,
    struct span detail)
{
	struct arrival *r = owner;
	struct attach *a = r->attach;

	(void)call;
	(void)detail;
	if (r->is_spare)
		r->vm->spare = NULL;
	if (a != NULL) {
		a->call = NULL;
		if (a->state == ATTACH_GONE)
			loop_bury(a->g->loop, a, free_attach);
		else
			end(a, f);
	}
	loop_bury(r->g->loop, r, free);
}

static const struct rpc_call_events events = {
	.message = on_message,
	.half_closed = on_half_closed,
	.writable = on_writable,
	.closed = on_closed,
};

void
attach_accept(struct vm *vm, struct rpc_call *call)
{
	struct arrival *r = must_alloc(sizeof(*r));

	r->g = vm->g;
	r->vm = vm;
	r->call = call;
	rpc_call_accept(call, &events, r);
}

void
attach_session_lost(struct vm *vm)
{
	struct attach *next;
	struct fault f = { 0 };

	fault_set(&f, FAULT_LOST, "the session with the sandbox was lost");
	attach_drop_spare(vm);
	for (struct attach *a = vm->attaches; a != NULL; a = next) {
		next = a->next;
		if (a->state == ATTACH_ASKED)
			end(a, &f);
	}
}

void
attach_refused(struct vm *vm, const nacre_session_v1_Opened *o)
{
	struct fault f = { 0 };
	enum fault_code code = FAULT_NONE;

	if (o->code != NULL)
		code = fault_from_reason(o->code);
	fault_set(&f, code == FAULT_NONE ? FAULT_SYSTEM : code, "%.200s",
	    o->text == NULL ? "the sandbox refused" : o->text);
	for (struct attach *a = vm->attaches; a != NULL; a = a->next) {
		if (!span_is(span_str(o->attach_id), a->id))
			continue;
		if (a->call != NULL)
			rpc_finish(a->call, &f, span_of(NULL, 0));
		end(a, &f);
		return;
	}
}

struct rpc_call *
attach_call(const struct attach *a)
{
	return a->state == ATTACH_OPEN ? a->call : NULL;
}

void
attach_consume(struct attach *a, size_t n)
{
	if (a->call != NULL)
		rpc_consume(a->call, n);
}

static void
leave(struct attach *a, const struct fault *f)
{
	if (a->state == ATTACH_GONE)
		return;
	a->state = ATTACH_GONE;
	unlink_attach(a);
	if (a->call == NULL)
		loop_bury(a->g->loop, a, free_attach);
	else
		rpc_finish(a->call, f, span_of(NULL, 0));
}

void
attach_cancel(struct attach *a)
{
	struct fault f = { 0 };

	fault_set(&f, FAULT_CANCELLED, "the client has left");
	leave(a, &f);
}

void
attach_finish(struct attach *a)
{
	leave(a, NULL);
}

void
attach_close_all(struct vm *vm, const struct fault *f)
{
	struct fault lost = *f;

	if (lost.code == FAULT_NONE)
		fault_set(&lost, FAULT_LOST, "the sandbox has ended");
	lost.code = FAULT_LOST;
	attach_drop_spare(vm);
	while (vm->attaches != NULL)
		end(vm->attaches, &lost);
}
