/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ExecChildSandbox: a command in a tool child of the calling sandbox, its
 * output in one answer, cut at a cap. A stopped tool is started first, which
 * is judged like any start.
 */
#include <string.h>

#include "gateway/await.h"
#include "gateway/do.h"
#include "gateway/judge.h"
#include "gateway/line.h"
#include "gateway/plan.h"
#include "gateway/refuse.h"
#include "gateway/restart.h"
#include "gateway/sandbox.h"
#include "gateway/session.h"
#include "gateway/vm.h"
#include "gateway/which.h"
#include "proto/nacre_v1.pb.h"
#include "wire/wire.h"

enum {
	OUTPUT = 480 << 10,         /* of each of two streams, in one message */
	TIMEOUT_MS = GRANT_WAIT_MS, /* with what a start takes */
	INPUT = 512 << 10,
};

struct tool_exec {
	struct which w;
	bool must_start;
	struct restart judged;
	struct store_sandbox row;
	nacre_store_v1_Plan plan;
	/* while it runs */
	struct call *call;
	struct attach *attach;
	struct span left; /* of the input */
	bool input_ended;
	struct buf out;
	struct buf err;
	bool truncated;
	bool is_done;
};

static int
check(const nacre_v1_ExecChildSandboxRequest *ask, struct fault *f)
{
	if (ask->argv_count == 0)
		return fault_field(f, "argv", "argv must name a program");
	if (check_command(ask->argv, ask->argv_count, LIMIT_ARGS, "argv", f) <
	    0)
		return -1;
	if (ask->has_timeout_ms &&
	    (ask->timeout_ms < 1 || ask->timeout_ms > TIMEOUT_MS))
		return fault_field(f, "timeout_ms",
		    "timeout_ms must be 1 to %d", TIMEOUT_MS);
	if (wire_span(ask->input).len > INPUT)
		return fault_field(f, "stdin", "stdin is over %d bytes", INPUT);
	return 0;
}

static void
note(struct call *c, const nacre_v1_ExecChildSandboxRequest *ask)
{
	char text[AUDIT_ARGV] = "";
	size_t at = 0;

	for (pb_size_t i = 0; i < ask->argv_count; i++) {
		char one[AUDIT_ARGV];

		text_escape(span_str(ask->argv[i]), one, sizeof(one));
		if (!text_fmt(text + at, sizeof(text) - at, "%s%s",
			i > 0 ? " " : "", one))
			break;
		at = strlen(text);
	}
	call_note(c, "%s", text);
}

static int
start_turn(struct call *c, struct fault *f)
{
	struct tool_exec *x = c->work;

	return restart_judge(c, &x->judged, &x->row, f);
}

int
do_child_exec_decide(struct call *c, struct fault *f)
{
	const nacre_v1_ExecChildSandboxRequest *ask = c->ask;
	struct tool_exec *x = arena_get(&c->arena, sizeof(*x));
	struct grant_refusal r;

	BUG_IF(x == NULL);
	c->work = x;
	note(c, ask);
	if (which_open(c, ask->id, "id", &x->w, f) < 0 || check(ask, f) < 0)
		return -1;
	if (grant_may_exec(&x->w.ask, x->w.node, &x->must_start, &r) < 0)
		return refuse(c, &r, f);
	if (which_row(c, &x->w, &x->row, f) < 0 ||
	    sandbox_plan(&x->row, &c->arena, &x->plan, f) < 0)
		return -1;
	if (!x->must_start)
		return 0;
	if (grant_may_start(&x->w.ask, x->w.node, &r) < 0)
		return refuse(c, &r, f);
	return judge_turn(c, &x->judged.judgement, start_turn, f);
}

int
do_child_exec(struct call *c, struct fault *f)
{
	struct tool_exec *x = c->work;
	enum state_verdict verdict;
	struct store_sandbox row;

	if (!x->must_start)
		return 0;
	if (store_sandbox_by_id(c->g->store, x->row.id, &c->arena, &row, f) < 0)
		return -1;
	if (row.state == STATE_STOPPED || row.state == STATE_FAILED) {
		if (restart_take(c, row.id, f) < 0 ||
		    restart_mark(c, &x->judged, &row, f) < 0)
			return -1;
		call_note(c, "; started first");
	}
	if (sandbox_move(c->g, &row, EVENT_START, NULL, &verdict, f) < 0)
		return refuse_in_state(c, row.state, f);
	return verdict == VERDICT_MOVE ? line_begin(c->g, &row, f) : 0;
}

/* --- the stream */

static void
end(struct tool_exec *x, const struct fault *f)
{
	struct call *c = x->call;

	x->is_done = true;
	if (x->attach != NULL)
		attach_finish(x->attach);
	x->attach = NULL;
	buf_release(&x->out);
	buf_release(&x->err);
	if (c != NULL)
		call_finish(c, f);
}

static void
pump(struct tool_exec *x)
{
	struct rpc_call *to = attach_call(x->attach);
	struct fault f = { 0 };
	struct buf b;

	buf_init(&b, LIMIT_MESSAGE);
	while (to != NULL && !x->input_ended) {
		nacre_session_v1_AttachDown m =
		    nacre_session_v1_AttachDown_init_zero;
		struct span piece = x->left;
		struct arena a;
		int rc;

		if (piece.len > LIMIT_CHUNK)
			piece.len = LIMIT_CHUNK;
		arena_init(&a, 2 * LIMIT_CHUNK);
		m.which_kind = piece.len > 0
		    ? nacre_session_v1_AttachDown_in_tag
		    : nacre_session_v1_AttachDown_in_end_tag;
		if (piece.len > 0)
			m.kind.in = wire_bytes(&a, piece);
		else
			m.kind.in_end = true;
		buf_clear(&b);
		rc = WIRE_ENCODE(nacre_session_v1_AttachDown, &m, &b, &f);
		if (rc == 0)
			rc = rpc_send(to, buf_span(&b), &f);
		arena_release(&a);
		if (rc < 0)
			break; /* no room: on_writable() goes on */
		x->input_ended = piece.len == 0;
		x->left = span_from(x->left, piece.len);
	}
	buf_release(&b);
}

static void
on_opened(struct attach *a, void *owner)
{
	(void)a;
	pump(owner);
}

static void
on_writable(struct attach *a, void *owner)
{
	(void)a;
	pump(owner);
}

static void
keep(struct tool_exec *x, struct buf *b, struct span s)
{
	struct fault ignored = { 0 };
	size_t room = buf_left(b);

	if (s.len > room) {
		s.len = room;
		x->truncated = true;
	}
	if (s.len > 0 && buf_add(b, s.ptr, s.len, &ignored) < 0)
		x->truncated = true;
}

static void
reply(struct tool_exec *x, const nacre_session_v1_Exit *e)
{
	nacre_v1_ExecChildSandboxReply r =
	    nacre_v1_ExecChildSandboxReply_init_zero;
	struct call *c = x->call;
	struct fault f = { 0 };

	r.exit_code = e->code;
	r.reason = e->reason;
	r.timed_out = e->reason != NULL && strcmp(e->reason, "timeout") == 0;
	r.truncated = x->truncated;
	r.out = wire_bytes(&c->arena, buf_span(&x->out));
	r.err = wire_bytes(&c->arena, buf_span(&x->err));
	if (call_send(c, nacre_v1_ExecChildSandboxReply_fields, &r, &f) < 0)
		end(x, &f);
	else
		end(x, NULL);
}

static void
on_message(struct attach *a, void *owner, const nacre_session_v1_AttachUp *up,
    size_t size)
{
	struct tool_exec *x = owner;

	attach_consume(a, size);
	if (x->is_done || x->call == NULL)
		return;
	if (up->which_kind == nacre_session_v1_AttachUp_out_tag)
		keep(x, &x->out, wire_span(up->kind.out));
	else if (up->which_kind == nacre_session_v1_AttachUp_err_tag)
		keep(x, &x->err, wire_span(up->kind.err));
	else if (up->which_kind == nacre_session_v1_AttachUp_exit_tag)
		reply(x, &up->kind.exit);
}

static void
on_closed(struct attach *a, void *owner, const struct fault *f)
{
	struct tool_exec *x = owner;
	struct fault lost = *f;

	(void)a;
	if (x->is_done)
		return;
	x->attach = NULL;
	if (lost.code == FAULT_NONE)
		fault_set(&lost, FAULT_LOST,
		    "the sandbox closed the stream before its end");
	end(x, &lost);
}

static const struct attach_events attach_events = {
	.opened = on_opened,
	.message = on_message,
	.writable = on_writable,
	.closed = on_closed,
};

/* The client left, and takes the command along. */
static void
on_gone(struct call *c)
{
	struct tool_exec *x = c->work;

	x->call = NULL;
	x->is_done = true;
	if (x->attach != NULL)
		attach_cancel(x->attach);
	x->attach = NULL;
	buf_release(&x->out);
	buf_release(&x->err);
}

static const struct call_events events = {
	.gone = on_gone,
};

static struct attach *
open_stream(struct call *c, struct tool_exec *x, struct vm *vm, struct fault *f)
{
	const nacre_v1_ExecChildSandboxRequest *ask = c->ask;
	nacre_session_v1_Open open = nacre_session_v1_Open_init_zero;
	nacre_session_v1_Command *command = &open.kind.exec.command;
	struct plan_env e = { 0 };
	int64_t left_ms = call_left_of_ms(c, TIMEOUT_MS);

	if (ask->has_timeout_ms && ask->timeout_ms < left_ms)
		left_ms = ask->timeout_ms;
	if (plan_env(&x->plan, &e, &c->arena, f) < 0)
		return NULL;
	open.which_kind = nacre_session_v1_Open_exec_tag;
	open.kind.exec.has_command = true;
	/* Where its start took all, it ends at once: 0 would be no end. */
	open.kind.exec.timeout_ms = left_ms > 0 ? (uint64_t)left_ms : 1;
	command->argv = ask->argv;
	command->argv_count = ask->argv_count;
	command->workdir = x->plan.workdir;
	command->env = e.env;
	command->env_count = e.n;
	return attach_open(vm, &open, &attach_events, x, f);
}

/* It runs now. */
static void
run(struct call *c)
{
	struct tool_exec *x = c->waits_for;
	struct fault f = { 0 };
	struct store_sandbox row;

	c->work = x;
	x->call = c;
	x->left = wire_span(
	    ((const nacre_v1_ExecChildSandboxRequest *)c->ask)->input);
	buf_init(&x->out, OUTPUT);
	buf_init(&x->err, OUTPUT);
	if (store_sandbox_by_id(c->g->store, x->row.id, &c->arena, &row, &f) ==
	    0)
		x->attach = open_stream(c, x, vm_of(c->g, &row), &f);
	call_take(c, &events, x);
	if (x->attach == NULL)
		end(x, &f);
	else if (attach_call(x->attach) != NULL)
		pump(x);
}

void
do_child_exec_answer(struct call *c)
{
	struct tool_exec *x = c->work;

	c->waits_for = x;
	if (x->must_start)
		await_running(c, run);
	else
		run(c);
}
