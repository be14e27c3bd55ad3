/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines: the table of them, starting a keeper, what it is asked to do, its
 * end. A machine counts as gone when its process is. Its link is vm_link.c's,
 * finding one again vm_adopt.c's.
 */
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/fleet.h"
#include "gateway/sandbox.h"
#include "gateway/session.h"
#include "gateway/settle.h"
#include "gateway/vm_inner.h"
#include "wire/wire.h"

enum {
	LAUNCH_MS = 120000,   /* from assignment to a session that is ready */
	GRACE_MS = 10000,     /* TERM to KILL of the sandbox's processes */
	ASKING_MS = 13000,    /* for the supervisor to say so */
	STOP_GRACE_MS = 1000, /* QMP quit to SIGKILL of the VMM */
	STOPPING_MS = 6000,   /* for the keeper to be gone */
};

struct vm *
vm_next(struct vm *vm)
{
	struct gateway *g = vm->g;

	for (vm++; vm < g->vms + LIMIT_VMS; vm++) {
		if (vm->used)
			return vm;
	}
	return NULL;
}

struct vm *
vm_first(struct gateway *g)
{
	g->vms[0].g = g;
	return g->vms[0].used ? &g->vms[0] : vm_next(&g->vms[0]);
}

struct vm *
vm_find(struct gateway *g, const char *id)
{
	for (struct vm *vm = vm_first(g); vm != NULL; vm = vm_next(vm)) {
		if (strcmp(vm->id, id) == 0)
			return vm;
	}
	return NULL;
}

struct vm *
vm_of(struct gateway *g, const struct store_sandbox *row)
{
	struct vm *vm =
	    row->machine[0] == '\0' ? NULL : vm_find(g, row->machine);

	return vm != NULL && strcmp(vm->sandbox_id, row->id) == 0 ? vm : NULL;
}

size_t
vm_count(const struct gateway *g)
{
	size_t n = 0;

	for (size_t i = 0; i < LIMIT_VMS; i++)
		n += g->vms[i].used;
	return n;
}

bool
vm_is_keeper(const struct gateway *g, pid_t pid)
{
	for (size_t i = 0; i < LIMIT_VMS; i++) {
		if (g->vms[i].used && g->vms[i].pid == pid)
			return true;
	}
	return false;
}

void
vm_kill(struct vm *vm)
{
	vm->end = VM_KILLED;
	loop_timer_clear(&vm->timer);
	loop_timer_clear(&vm->reopen);
	/* By pidfd: the number of an adopted one may be another's by now. */
	if (vm->child.pid > 0 && vm->child.watch.fd >= 0)
		(void)syscall(SYS_pidfd_send_signal, vm->child.watch.fd,
		    SIGKILL, NULL, 0);
	else if (vm->link != NULL)
		rpc_link_drop(vm->link, NULL);
}

void
vm_free_slot(void *p)
{
	struct vm *vm = p;

	memset(vm, 0, sizeof(*vm));
}

/* Its process is gone, or was never found: the slot empties. */
void
vm_gone(struct vm *vm)
{
	struct gateway *g = vm->g;

	if (!vm->used)
		return;
	vm->used = false;
	vm->is_leaving = true;
	loop_timer_clear(&vm->timer);
	loop_timer_clear(&vm->reopen);
	loop_deferred_drop(g->loop, &vm->told);
	attach_close_all(vm, &vm->why);
	session_close_all(vm);
	journal_close(&vm->journal);
	if (vm->link != NULL)
		rpc_link_drop(vm->link, &vm->why);
	if (vm->sandbox_id[0] != '\0')
		sandbox_machine_gone(g, vm, &vm->why);
	else if (vm->adopted)
		settle_all(g);
	fleet_gone(vm);
	if (vm->link == NULL)
		loop_bury(g->loop, vm, vm_free_slot);
}

static void
on_exited(struct child *c, int status)
{
	struct vm *vm = CONTAINER_OF(c, struct vm, child);

	(void)status;
	vm->has_failed |= vm->end == VM_ALIVE;
	if (vm->why.code == FAULT_NONE && vm->end == VM_ALIVE)
		fault_set(&vm->why, FAULT_LOST, "its keeper ended");
	vm_gone(vm);
}

static void
on_timer(struct timer *t)
{
	static const struct cause late = {
		.reason = "timeout",
		.detail = "the guest did not become ready in time",
	};
	struct vm *vm = CONTAINER_OF(t, struct vm, timer);

	switch (vm->end) {
	case VM_ALIVE:
		if (vm->sandbox_id[0] != '\0')
			sandbox_event(vm->g, vm->sandbox_id, EVENT_FAIL, &late);
		vm_end(vm, false);
		return;
	case VM_ASKING:
		vm_end(vm, false);
		return;
	case VM_STOPPING:
	case VM_KILLED:
		log_info("keeper %d does not end: it is killed", (int)vm->pid);
		vm_kill(vm);
		return;
	}
}

/* ---- beginning ---- */

struct vm *
vm_take_slot(struct gateway *g, struct fault *f)
{
	for (size_t i = 0; i < LIMIT_VMS; i++) {
		struct vm *vm = &g->vms[i];

		/* Not free before its memory is emptied for the last time. */
		if (vm->used || vm->is_leaving)
			continue;
		memset(vm, 0, sizeof(*vm));
		vm->g = g;
		vm->used = true;
		vm->child.exited = on_exited;
		vm->timer.fire = on_timer;
		vm->told.run = session_told;
		vm_link_init(vm);
		return vm;
	}
	fault_set(f, FAULT_BUSY, "all %d machines are in use", LIMIT_VMS);
	return NULL;
}

struct vm *
vm_spawn(struct gateway *g, const struct machine_template *t, bool cold,
    bool no_park, struct fault *f)
{
	struct machine_keeper k = {
		.template = t,
		.cold = cold,
		.no_park = no_park,
	};
	struct fleet_paths paths;
	struct vm *vm = vm_take_slot(g, f);
	int link = -1;

	if (vm == NULL)
		return NULL;
	uuid_make(vm->id);
	fleet_paths(g, &paths);
	k.program = paths.keeper;
	k.dir = paths.keepers;
	k.read_dir = paths.images;
	k.disk_dir = paths.sandboxes;
	k.id = vm->id;
	vm->shape = t->shape;
	vm->cold = cold;
	(void)text_copy(vm->template_key, sizeof(vm->template_key),
	    span_str(t->key));
	if (machine_keeper_spawn(&k, &vm->pid, &link, f) < 0) {
		memset(vm, 0, sizeof(*vm));
		vm->g = g;
		return NULL;
	}
	if (loop_child(g->loop, &vm->child, vm->pid, f) < 0) {
		/* Nobody would hear of its end: it ends here. */
		fd_close(&link);
		(void)kill(vm->pid, SIGKILL);
		(void)waitpid(vm->pid, NULL, 0);
		memset(vm, 0, sizeof(*vm));
		vm->g = g;
		return NULL;
	}
	if (vm_open_link(vm, link, f) < 0) {
		vm_kill(vm);
		return NULL;
	}
	return vm;
}

/* ---- use ---- */

static void
assign_done(void *owner, struct span reply, const struct fault *f)
{
	struct cause cause = { .reason = "start_failed", .detail = f->text };
	struct vm *vm = owner;

	(void)reply;
	if (!vm->used)
		return;
	if (f->code == FAULT_NONE) {
		if (vm->accepted_us > 0)
			vm->assigned_us = clock_mono_us() - vm->accepted_us;
		crash_at("after_restore");
		return;
	}
	if (vm->end != VM_ALIVE)
		return;
	log_warn(f, "machine %s cannot be given to a sandbox", vm->id);
	if (vm->why.code == FAULT_NONE)
		vm->why = *f;
	if (f->code != FAULT_LOST)
		sandbox_event(vm->g, vm->sandbox_id, EVENT_FAIL, &cause);
	vm_end(vm, false);
}

void
vm_assign(struct vm *vm, const char *image_path, const char *disk_path)
{
	nacre_keeper_v1_AssignRequest ask =
	    nacre_keeper_v1_AssignRequest_init_zero;
	struct arena a;

	if (vm->asked_assign || vm->assigned)
		return;
	vm->asked_assign = vm->assigned = true;
	arena_init(&a, 32 << 10);
	ask.sandbox_id = arena_str(&a, span_str(vm->sandbox_id));
	ask.image_path = arena_str(&a, span_str(image_path));
	ask.disk_path = arena_str(&a, span_str(disk_path));
	ask.gateway_pin = wire_bytes(&a,
	    span_of(vm->g->tunnel_key.pin, sizeof(vm->g->tunnel_key.pin)));
	vm_expect(vm);
	vm_errand(vm, KEEPER "Assign", nacre_keeper_v1_AssignRequest_fields,
	    &ask, -1, assign_done);
	arena_release(&a);
}

static void
stop_done(void *owner, struct span reply, const struct fault *f)
{
	struct vm *vm = owner;

	(void)reply;
	if (!vm->used || vm->end != VM_STOPPING || vm->link == NULL)
		return;
	/* It waits a moment for its last connection to close, then exits. */
	if (f->code == FAULT_NONE)
		rpc_link_drop(vm->link, NULL);
	else
		vm_kill(vm);
}

static void
stop_keeper(struct vm *vm, uint32_t grace_ms)
{
	nacre_keeper_v1_StopRequest ask = nacre_keeper_v1_StopRequest_init_zero;

	vm->end = VM_STOPPING;
	loop_timer_set(vm->g->loop, &vm->timer, STOPPING_MS);
	if (vm->asked_stop)
		return;
	vm->asked_stop = true;
	ask.grace_ms = grace_ms;
	vm_errand(vm, KEEPER "Stop", nacre_keeper_v1_StopRequest_fields, &ask,
	    -1, stop_done);
}

void
vm_end(struct vm *vm, bool graceful)
{
	struct fault f = { 0 };

	if (!vm->used || vm->end == VM_STOPPING || vm->end == VM_KILLED)
		return;
	if (graceful && vm->end == VM_ASKING)
		return;
	if (graceful && session_stop(vm, GRACE_MS, &f) == 0) {
		vm->end = VM_ASKING;
		loop_timer_set(vm->g->loop, &vm->timer, ASKING_MS);
		return;
	}
	stop_keeper(vm, graceful ? STOP_GRACE_MS : 0);
}

void
vm_expect(struct vm *vm)
{
	if (vm->end == VM_ALIVE)
		loop_timer_set(vm->g->loop, &vm->timer, LAUNCH_MS);
}

void
vm_ready(struct vm *vm)
{
	if (vm->end == VM_ALIVE)
		loop_timer_clear(&vm->timer);
	fleet_changed(vm->g);
}

void
vm_processes_ended(struct vm *vm)
{
	if (vm->end == VM_ASKING)
		stop_keeper(vm, STOP_GRACE_MS);
}

void
vm_forget_all(struct gateway *g)
{
	for (size_t i = 0; i < LIMIT_VMS; i++) {
		struct vm *vm = &g->vms[i];

		if (!vm->used)
			continue;
		loop_timer_clear(&vm->timer);
		loop_timer_clear(&vm->reopen);
		loop_deferred_drop(g->loop, &vm->told);
		loop_child_forget(&vm->child);
	}
}
