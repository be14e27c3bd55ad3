/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections of agents: asked for one by one, so that no more are on their
 * way than there is room for; what is not asked for waits in the sandbox, and
 * past its room an agent is told to come again.
 */
#include <stdlib.h>
#include <string.h>

#include "supervisor/inner.h"

/* --- who it is */
static void
take_program(struct door_caller *to, const nacre_sandbox_v1_Program *p)
{
	struct span sum = wire_span(p->sha256);

	to->program = arena_str(&to->arena, span_str(p->path));
	to->state = p->state;
	to->in_image = p->image;
	to->device = p->device;
	to->inode = p->inode;
	to->has_digest = sum.len == DIGEST_SIZE;
	if (to->has_digest)
		memcpy(to->digest, sum.ptr, DIGEST_SIZE);
	if (!to->program)
		to->program = "";
}

static void
take_caller(struct door_caller *to, const nacre_sandbox_v1_Caller *c)
{
	*to = (struct door_caller){ .pid = c->pid,
		.start_ticks = c->start_ticks,
		.is_cut = c->cut };
	arena_init(&to->arena, SUPERVISOR_ARENA);
	take_program(to, &c->program);
	to->ancestors = arena_get(&to->arena,
	    (c->ancestors_count + 1) * sizeof(*to->ancestors));
	for (size_t i = 0; to->ancestors && i < c->ancestors_count; i++) {
		const char *path =
		    arena_str(&to->arena, span_str(c->ancestors[i].path));

		if (path)
			to->ancestors[to->ancestors_n++] = path;
	}
}

static void
take_connection(struct door *d, struct span m)
{
	nacre_sandbox_v1_Connection k = nacre_sandbox_v1_Connection_init_zero;
	struct door_caller caller;
	struct fault f = { 0 };
	struct arena a;
	int fd = -1;

	arena_init(&a, SUPERVISOR_ARENA);
	if (WIRE_DECODE(nacre_sandbox_v1_Connection, &k, m, &a, &f) != 0 ||
	    box_take(&d->sv->box, k.tag, &fd, 1, &f) != 0) {
		log_warn(&f, "a connection to the door is lost");
	} else {
		take_caller(&caller, &k.caller);
		door_conn_start(d, fd, k.socket, &caller);
	}
	arena_release(&a);
}

/* --- as many as there is room for */
/*
 * Full: the one that has been idle longest leaves. One that has just come or
 * was just answered may have its next request on the way; it is looked at
 * again a little later.
 */
static void
make_room(struct door *d)
{
	int64_t now = loop_now_ms(d->sv->loop);
	struct door_conn *longest = NULL;

	for (size_t i = 0; i < DOOR_CONNECTIONS; i++) {
		struct door_conn *c = d->conns[i];

		if (c && door_conn_is_idle(c) &&
		    now - c->idle_since_ms >= DOOR_SPARE_MS &&
		    (!longest || c->idle_since_ms < longest->idle_since_ms))
			longest = c;
	}
	if (longest)
		door_conn_close(longest);
	else
		loop_timer_set(d->sv->loop, &d->crowded, DOOR_SPARE_MS / 4);
}

static void
still_crowded(struct timer *t)
{
	struct door *d = CONTAINER_OF(t, struct door, crowded);

	if (d->live == DOOR_CONNECTIONS)
		make_room(d);
}

static void
accepted(void *owner, const struct fault *f, struct span m)
{
	struct door *d = owner;

	d->asks--;
	/* The sandbox that stops, or its link that ends, is others' business. */
	if (f->code != FAULT_NONE)
		return;
	take_connection(d, m);
	if (d->live == DOOR_CONNECTIONS)
		make_room(d);
	door_ask(d);
}

void
door_ask(struct door *d)
{
	nacre_sandbox_v1_Empty e = nacre_sandbox_v1_Empty_init_zero;
	struct fault f = { 0 };

	while (d->asks < DOOR_ASKS && d->live + d->asks < DOOR_CONNECTIONS) {
		if (BOX_CALL(&d->sv->box, "Accept", Empty, &e, accepted, d,
			&f) != 0)
			return; /* the link is ending */
		d->asks++;
	}
}

void
door_open(struct door *d, struct supervisor *sv)
{
	d->sv = sv;
	d->crowded.fire = still_crowded;
	d->spare_due.fire = door_spare;
	door_ask(d);
}

/* --- who holds it now */
static bool
is_caller(const struct door_caller *c, const nacre_sandbox_v1_Program *p)
{
	return p->device == c->device && p->inode == c->inode &&
	    p->state == c->state && p->path && strcmp(p->path, c->program) == 0;
}

/* What could not be seen counts as another's; a connection without a holder is
 * on its way from one process to another. */
static bool
is_anothers(const struct door_caller *c, const nacre_sandbox_v1_HoldersReply *r)
{
	for (size_t i = 0; i < r->holders_count; i++)
		if (!is_caller(c, &r->holders[i].program))
			return true;
	return r->cut || r->holders_count == 0;
}

static void
holders_message(struct rpc_call *call, void *owner, struct span m)
{
	nacre_sandbox_v1_HoldersReply r =
	    nacre_sandbox_v1_HoldersReply_init_zero;
	struct door *d = owner;
	struct door_conn **at = &d->looking;
	struct fault f = { 0 };
	struct arena a;

	rpc_consume(call, m.len);
	arena_init(&a, SUPERVISOR_ARENA);
	if (WIRE_DECODE(nacre_sandbox_v1_HoldersReply, &r, m, &a, &f) != 0) {
		log_warn(&f, "holders of a connection are not understood");
		rpc_cancel(call);
	} else {
		while (*at && (*at)->socket != r.socket)
			at = &(*at)->next_looking;
	}
	if (f.code == FAULT_NONE && *at) {
		struct door_conn *c = *at;

		*at = c->next_looking;
		c->caller.is_shared = is_anothers(&c->caller, &r);
		door_conn_looked(c);
	}
	arena_release(&a);
}

static void
holders_closed(struct rpc_call *call, void *owner, const struct fault *f,
    struct span detail)
{
	struct door *d = owner;
	struct door_conn *c = d->looking;

	(void)call;
	(void)f;
	(void)detail;
	d->looks = NULL;
	d->looking = NULL;
	while (c) {
		struct door_conn *next = c->next_looking;

		c->caller.is_shared = true;
		door_conn_looked(c);
		c = next;
	}
}

static int
ask_holders(struct door *d, uint64_t socket, struct fault *f)
{
	static const struct rpc_call_events events = {
		.message = holders_message,
		.closed = holders_closed,
	};
	nacre_sandbox_v1_HoldersRequest q = { .socket = socket };
	struct buf b;
	int r = -1;

	if (!d->looks)
		d->looks = box_stream(&d->sv->box,
		    "/nacre.sandbox.v1.Sandbox/Holders", &events, d, f);
	buf_init(&b, LIMIT_MESSAGE);
	if (d->looks &&
	    WIRE_ENCODE(nacre_sandbox_v1_HoldersRequest, &q, &b, f) == 0)
		r = rpc_send(d->looks, buf_span(&b), f);
	buf_release(&b);
	return r;
}

void
door_look(struct door_conn *c)
{
	struct door *d = c->door;
	struct fault f = { 0 };

	c->is_looked_up = true;
	if (ask_holders(d, c->socket, &f) == 0) {
		c->next_looking = d->looking;
		d->looking = c;
		return;
	}
	log_warn(&f, "holders of a connection are not known");
	c->caller.is_shared = true;
	door_conn_looked(c);
}
