/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look a second at the machines that run. Streams into a sandbox count as
 * use, and attach.c says when the last of them came or went.
 */
#include "gateway/idle.h"
#include "gateway/sandbox.h"
#include "gateway/tree.h"
#include "gateway/vm.h"

enum {
	LOOK_MS = 1000,
	ROW_ARENA = 1 << 20,
};

static void
look(struct gateway *g, struct vm *vm, const struct store_lineage *l)
{
	static const struct cause why = {
		.reason = "idle",
		.detail = "no command ran in it for its idle_seconds",
	};
	int64_t now = clock_mono_ms();
	const struct grant_idle idle = {
		.kind = (enum grant_kind)l->kind,
		.life = tree_life((enum state)l->state),
		.idle_seconds = l->idle_seconds,
		.busy = vm->attaches != NULL,
		.quiet_since_ms = vm->used_ms,
	};

	if (vm->attaches != NULL || vm->used_ms == 0)
		vm->used_ms = now;
	else if (grant_idle_wait_ms(&idle, now) == 0)
		sandbox_event(g, l->id, EVENT_STOP, &why);
}

static void
on_look(struct timer *t)
{
	struct gateway *g = CONTAINER_OF(t, struct gateway, idle);

	for (struct vm *vm = vm_first(g); vm != NULL; vm = vm_next(vm)) {
		struct store_lineage l;
		struct fault f = { 0 };
		struct arena a;

		if (vm->sandbox_id[0] == '\0' || vm->end != VM_ALIVE)
			continue;
		arena_init(&a, ROW_ARENA);
		if (store_lineage_by_id(g->store, vm->sandbox_id, &a, &l, &f) ==
			0 &&
		    l.kind == GRANT_TOOL && l.is_there &&
		    l.state == STATE_RUNNING)
			look(g, vm, &l);
		arena_release(&a);
	}
	loop_timer_set(g->loop, t, LOOK_MS);
}

void
idle_open(struct gateway *g)
{
	g->idle.fire = on_look;
	loop_timer_set(g->loop, &g->idle, LOOK_MS);
}

void
idle_close(struct gateway *g)
{
	loop_timer_clear(&g->idle);
}
