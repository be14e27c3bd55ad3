/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The link to a keeper: its Watch and Tunnel calls. A keeper whose link is
 * lost is killed, since nothing can be asked of it.
 */
#include "gateway/fleet.h"
#include "gateway/session.h"
#include "gateway/vm_inner.h"
#include "wire/wire.h"

enum {
	REOPEN_MS = 100, /* after a tunnel that failed; twice that each time */
	REOPEN_MOST_MS = 3200,
};

static void
note_fault(struct vm *vm, const char *text)
{
	if (vm->why.code == FAULT_NONE && text != NULL && *text != '\0')
		fault_set(&vm->why, FAULT_START_FAILED, "%.200s", text);
}

static void
on_phase(struct vm *vm, const nacre_keeper_v1_Event *e)
{
	vm->known = true;
	vm->phase = e->phase;
	if (e->phase == nacre_keeper_v1_Phase_PHASE_ENDED) {
		if (vm->end == VM_ALIVE) {
			vm->has_failed = true;
			note_fault(vm, e->fault);
		}
		vm_end(vm, false);
	} else {
		vm->reached = e->phase;
	}
	fleet_phase(vm);
}

static void
watch_message(struct rpc_call *c, void *owner, struct span s)
{
	nacre_keeper_v1_Event e = nacre_keeper_v1_Event_init_zero;
	struct fault f = { 0 };
	struct arena a;

	rpc_consume(c, s.len);
	arena_init(&a, 64 << 10);
	if (WIRE_DECODE(nacre_keeper_v1_Event, &e, s, &a, &f) < 0)
		log_warn(&f, "a keeper sent no event");
	else
		on_phase(owner, &e);
	arena_release(&a);
}

static void
watch_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	(void)c;
	(void)owner;
	(void)f;
	(void)detail; /* the link goes too, and that is acted on */
}

static const struct rpc_call_events watch_events = {
	.message = watch_message,
	.closed = watch_closed,
};

/* It is never given up: without a tunnel the machine is lost to its user. */
static void
reopen_later(struct vm *vm)
{
	if (vm->end != VM_ALIVE || vm->link == NULL)
		return;
	vm->tunnel_faults++;
	loop_timer_set(vm->g->loop, &vm->reopen,
	    pace_jitter(
		pace_later(REOPEN_MS, vm->tunnel_faults, REOPEN_MOST_MS)));
}

/* A guest is heard when it is known whose it is. */
void
vm_open_tunnel(struct vm *vm)
{
	struct fault f = { 0 };

	if (vm->end != VM_ALIVE || vm->has_waiting || vm->link == NULL ||
	    vm->asked > 0)
		return;
	loop_timer_clear(&vm->reopen);
	if (session_wait(vm, &f) == 0) {
		vm->has_waiting = true;
		return;
	}
	log_warn(&f, "cannot wait for a tunnel");
	reopen_later(vm);
}

static void
on_reopen(struct timer *t)
{
	vm_open_tunnel(CONTAINER_OF(t, struct vm, reopen));
}

static void
start_watch(struct vm *vm)
{
	const nacre_keeper_v1_WatchRequest ask =
	    nacre_keeper_v1_WatchRequest_init_zero;
	struct rpc_call *c;
	struct fault f = { 0 };
	struct buf b;

	buf_init(&b, 64);
	c = rpc_call(vm->link, KEEPER "Watch", span_of(NULL, 0), -1,
	    &watch_events, vm, &f);
	if (c == NULL ||
	    WIRE_ENCODE(nacre_keeper_v1_WatchRequest, &ask, &b, &f) < 0 ||
	    rpc_call_unary(c, buf_span(&b), &f) < 0)
		log_warn(&f, "cannot watch a keeper");
	buf_release(&b);
}

static void
link_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	struct vm *vm = owner;

	(void)l;
	vm->link = NULL;
	if (!vm->used) {
		loop_bury(vm->g->loop, vm, vm_free_slot);
		return;
	}
	vm->has_failed |= vm->end == VM_ALIVE;
	if (vm->end == VM_ALIVE && vm->why.code == FAULT_NONE)
		fault_set(&vm->why, FAULT_LOST, "its keeper was lost: %.150s",
		    f->text);
	if (vm->child.pid == 0)
		vm_gone(vm);
	else if (vm->end == VM_ALIVE || vm->end == VM_ASKING)
		vm_kill(vm);
}

static const struct rpc_link_events vm_link_events = {
	.down = link_down,
};

int
vm_open_link(struct vm *vm, int fd, struct fault *f)
{
	const struct rpc_link_options o = {
		.events = &vm_link_events,
		.owner = vm,
	};

	vm->link = rpc_link_open_fd(vm->g->loop, fd, &o, f);
	if (vm->link == NULL)
		return -1;
	start_watch(vm);
	vm_open_tunnel(vm);
	return 0;
}

void
vm_tunnel_taken(struct vm *vm, bool failed)
{
	vm->has_waiting = false;
	if (!failed) {
		vm->tunnel_faults = 0;
		vm_open_tunnel(vm);
		return;
	}
	reopen_later(vm);
}

void
vm_link_init(struct vm *vm)
{
	vm->reopen.fire = on_reopen;
}
