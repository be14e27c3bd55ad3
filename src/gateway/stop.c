/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end that was asked for: nothing new is begun, answers under way leave,
 * then the loop stops. Sandboxes go on under their keepers unless they are to
 * be stopped too, which is waited for, within bounds.
 */
#include "gateway/call.h"
#include "gateway/sandbox.h"
#include "gateway/vm.h"

enum {
	SANDBOXES_MS = 25000, /* a grace, and what ends a machine after it */
	ANSWERS_MS = 200,
};

static bool
is_machine_left(struct gateway *g)
{
	return g->stopping_all && vm_first(g) != NULL;
}

/* Twice: first the answers go, then the loop stops. */
static void
on_time(struct timer *t)
{
	struct gateway *g = CONTAINER_OF(t, struct gateway, stop_timer);
	struct fault f = { 0 };

	if (is_machine_left(g) && loop_now_ms(g->loop) < g->stop_by_ms) {
		loop_timer_set(g->loop, t, ANSWERS_MS);
		return;
	}
	if (g->answers_sent) {
		loop_stop(g->loop);
		return;
	}
	g->answers_sent = true;
	fault_set(&f, FAULT_LOST, "the gateway is stopping");
	call_end_all(g, &f);
	loop_timer_set(g->loop, t, ANSWERS_MS / 4);
}

static int
stop_row(void *owner, struct store_sandbox *row, struct fault *f)
{
	struct gateway *g = owner;
	struct store_sandbox fresh;
	enum state_verdict verdict;
	struct arena a;
	int rc;

	if (row->state != STATE_RUNNING && row->state != STATE_ENDED &&
	    row->state != STATE_STARTING && row->state != STATE_RESERVED)
		return 0;
	arena_init(&a, 4 << 20);
	rc = store_sandbox_by_id(g->store, row->id, &a, &fresh, f);
	if (rc == 0)
		rc = sandbox_move(g, &fresh, EVENT_STOP, NULL, &verdict, f);
	arena_release(&a);
	return rc;
}

void
stop_begin(struct gateway *g, bool sandboxes)
{
	const struct store_page all = { 0 };
	struct fault f = { 0 };

	if (g->stopping)
		return;
	g->stopping = true;
	g->stopping_all = sandboxes;
	g->stop_by_ms = loop_now_ms(g->loop) + SANDBOXES_MS;
	log_info("stopping%s", sandboxes ? ", with the sandboxes" : "");
	if (sandboxes &&
	    store_sandbox_list(g->store, &all, stop_row, g, &f) < 0)
		log_warn(&f, "cannot stop all sandboxes");
	/* Those that are nobody's end in any case. */
	for (struct vm *vm = vm_first(g); vm != NULL; vm = vm_next(vm)) {
		if (vm->sandbox_id[0] == '\0')
			vm_end(vm, false);
	}
	g->stop_timer.fire = on_time;
	loop_timer_set(g->loop, &g->stop_timer, 1);
}
