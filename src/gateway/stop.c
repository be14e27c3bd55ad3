/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end that was asked for: nothing new is begun, answers under way leave,
 * then the loop stops. Sandboxes go on under their keepers unless they are to
 * be stopped too. That is waited for while it goes on, however deep the trees
 * are: leaves end first, and each level may take its grace.
 */
#include "gateway/call.h"
#include "gateway/sandbox.h"
#include "gateway/vm.h"

enum {
	/* For a machine of those whose turn it is: more than its grace, and
	 * than what ends it after that. */
	MACHINE_MS = 25000,
	ANSWERS_MS = 200,
};

/* Is one left that may still end? Each that does buys time for the next. */
static bool
must_wait(struct gateway *g)
{
	size_t n = g->stopping_all ? vm_count(g) : 0;

	if (n < g->stop_machines)
		g->stop_by_ms = loop_now_ms(g->loop) + MACHINE_MS;
	g->stop_machines = n;
	if (n == 0)
		return false;
	if (loop_now_ms(g->loop) < g->stop_by_ms)
		return true;
	log_info("%zu machines do not end", n);
	return false;
}

/* Twice: first the answers go, then the loop stops. */
static void
on_time(struct timer *t)
{
	struct gateway *g = CONTAINER_OF(t, struct gateway, stop_timer);
	struct fault f = { 0 };

	if (!g->answers_sent && must_wait(g)) {
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

static bool
is_up(enum state s)
{
	return s == STATE_RUNNING || s == STATE_ENDED || s == STATE_STARTING ||
	    s == STATE_RESERVED;
}

static int
stop_row(void *owner, struct store_sandbox *row, struct fault *f)
{
	static const struct cause why = {
		.reason = "gateway",
		.detail = "the gateway was stopped with its sandboxes",
	};
	struct gateway *g = owner;
	struct store_sandbox fresh;
	struct arena a;
	int rc;

	if (!is_up((enum state)row->state))
		return 0;
	arena_init(&a, 4 << 20);
	rc = store_sandbox_by_id(g->store, row->id, &a, &fresh, f);
	/* One above it may have taken it along. */
	if (rc == 0 && is_up((enum state)fresh.state))
		rc = sandbox_move_own(g, &fresh, EVENT_STOP, &why, f);
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
	g->stop_by_ms = loop_now_ms(g->loop) + MACHINE_MS;
	g->stop_machines = vm_count(g);
	log_info("stopping%s", sandboxes ? ", with the sandboxes" : "");
	if (sandboxes &&
	    store_sandbox_list(g->store, &all, stop_row, g, &f) < 0)
		log_warn(&f, "cannot stop all sandboxes");
	/* Those that are nobody's end in any case. */
	for (struct vm *vm = vm_first(g); vm != NULL; vm = vm_next(vm)) {
		if (vm->sandbox_id[0] == '\0' && vm->asked == 0)
			vm_end(vm, false);
	}
	g->stop_timer.fire = on_time;
	loop_timer_set(g->loop, &g->stop_timer, 1);
}
