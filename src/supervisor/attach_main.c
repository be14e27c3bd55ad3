/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is for the main process: one stream holds its input, its terminal's
 * size and its signals, until it leaves or the process has ended. The output
 * needs none: all of it is in the log. Who leaves takes nothing along.
 */
#include "supervisor/inner.h"

static void
main_message(struct rpc_call *c, void *owner, struct span m)
{
	struct run *r = owner;
	nacre_session_v1_AttachDown d = nacre_session_v1_AttachDown_init_zero;
	struct fault f = { 0 };
	struct span in = { 0 };
	struct arena a;

	arena_init(&a, SUPERVISOR_ARENA);
	if (WIRE_DECODE(nacre_session_v1_AttachDown, &d, m, &a, &f) != 0)
		log_warn(&f, "stream of the main process");
	if (d.which_kind == nacre_session_v1_AttachDown_in_tag)
		in = wire_span(d.kind.in);
	if (in.len && r->call == c)
		run_input(r, in, m.len);
	else
		rpc_consume(c, m.len);
	if (d.which_kind == nacre_session_v1_AttachDown_size_tag)
		run_resize(r, d.kind.size.cols, d.kind.size.rows);
	else if (d.which_kind == nacre_session_v1_AttachDown_signal_tag)
		run_signal(r, d.kind.signal);
	arena_release(&a);
}

static void
main_half_closed(struct rpc_call *c, void *owner)
{
	(void)owner;
	rpc_half_close(c);
}

static void
/* cppcheck-suppress constParameter ; a callback's type */
main_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct run *r = owner;

	(void)f;
	(void)detail;
	if (r->call != c)
		return;
	r->call = NULL;
	r->in_owed = 0;
}

void
attach_main_ended(struct supervisor *sv)
{
	struct rpc_call *c = sv->main->call;

	sv->main->call = NULL;
	if (c)
		rpc_half_close(c);
}

int
attach_main(struct supervisor *sv, const char *id, struct fault *f)
{
	static const struct rpc_call_events events = {
		.message = main_message,
		.half_closed = main_half_closed,
		.closed = main_closed,
	};

	if (!sv->main)
		return fault_set(f, FAULT_NOT_READY,
		    "there is no main process");
	if (sv->main->has_exited)
		return fault_set(f, FAULT_NOT_READY,
		    "the main process has ended");
	if (sv->main->call)
		return fault_set(f, FAULT_EXISTS,
		    "another client holds the input of the main process");
	sv->main->call = attach_call(sv, id, &events, sv->main, f);
	return sv->main->call ? 0 : -1;
}
