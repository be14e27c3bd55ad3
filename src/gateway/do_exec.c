/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ExecSandbox and ExecSandboxInteractive: one command in a running sandbox,
 * its three streams apart, its exit last. The record has the command, cut,
 * and the names of what was added to its environment, never values or bytes.
 * A client that leaves takes the command with it.
 */
#include <string.h>

#include "gateway/do.h"
#include "gateway/note.h"
#include "gateway/open.h"
#include "gateway/pipe.h"
#include "gateway/plan.h"
#include "gateway/sandbox.h"
#include "wire/wire.h"

enum {
	CRASH_MS = 500, /* for the test that dies during an exec */
};

struct exec {
	const openshell_v1_ExecSandboxRequest *ask;
	bool interactive;
	struct vm *vm; /* between decide and answer, in the same tick */
	nacre_store_v1_Plan plan;
};

static const struct pair *
pairs_of(const openshell_v1_ExecSandboxRequest *ask)
{
	_Static_assert(sizeof(*ask->environment) == sizeof(struct pair),
	    "one form of pairs");
	return (const void *)ask->environment;
}

static void
note_command(struct call *c, const openshell_v1_ExecSandboxRequest *ask)
{
	struct note n;
	struct note names;

	note_init(&n);
	note_init(&names);
	for (pb_size_t i = 0; i < ask->command_count; i++)
		note_word(&n, span_str(ask->command[i]));
	for (pb_size_t i = 0; i < ask->environment_count; i++)
		note_name(&names, span_str(ask->environment[i].key));
	call_note(c, "%s", n.text);
	note_names(c, &names);
}

/* The kernel's numbers have 16 bits; 0 means that it is not known. */
static int
check_window(uint32_t cols, uint32_t rows, struct fault *f)
{
	if (cols <= UINT16_MAX && rows <= UINT16_MAX)
		return 0;
	return fault_field(f, cols > UINT16_MAX ? "cols" : "rows",
	    "a terminal has at most %u columns and rows", UINT16_MAX);
}

static int
decide(struct call *c, const openshell_v1_ExecSandboxRequest *ask,
    bool interactive, struct fault *f)
{
	struct exec *x = arena_get(&c->arena, sizeof(*x));
	struct store_sandbox row;

	BUG_IF(x == NULL);
	x->ask = ask;
	x->interactive = interactive;
	c->work = x;
	note_command(c, ask);
	if (ask->command_count == 0)
		return fault_field(f, "command", "command is required");
	if (check_command(ask->command, ask->command_count, LIMIT_EXEC_ARGS,
		"command", f) < 0 ||
	    check_environment(pairs_of(ask), ask->environment_count,
		"environment", f) < 0 ||
	    check_folder(ask->workdir, "workdir", f) < 0 ||
	    check_window(ask->cols, ask->rows, f) < 0 ||
	    open_either(c, ask->sandbox_id, &row, f) < 0 ||
	    open_running(c, &row, &x->vm, f) < 0)
		return -1;
	return sandbox_plan(&row, &c->arena, &x->plan, f);
}

int
do_exec_decide(struct call *c, struct fault *f)
{
	return decide(c, c->ask, false, f);
}

int
do_exec_interactive_decide(struct call *c, struct fault *f)
{
	const openshell_v1_ExecSandboxInput *first = c->ask;

	if (first->which_payload != openshell_v1_ExecSandboxInput_start_tag)
		return fault_field(f, "start", "the first message is start");
	return decide(c, &first->payload.start, true, f);
}

static int
from_client(struct pipe *p, struct span message, struct fault *f)
{
	openshell_v1_ExecSandboxInput m =
	    openshell_v1_ExecSandboxInput_init_zero;
	nacre_session_v1_AttachDown down =
	    nacre_session_v1_AttachDown_init_zero;
	struct arena a;
	int rc;

	arena_init(&a, 4 * LIMIT_MESSAGE);
	rc = WIRE_DECODE(openshell_v1_ExecSandboxInput, &m, message, &a, f);
	if (rc == 0 &&
	    m.which_payload == openshell_v1_ExecSandboxInput_input_tag) {
		rc = pipe_down_bytes(p, wire_span(m.payload.input), f);
	} else if (rc == 0 &&
	    m.which_payload == openshell_v1_ExecSandboxInput_resize_tag) {
		down.which_kind = nacre_session_v1_AttachDown_size_tag;
		down.kind.size.cols = m.payload.resize.cols;
		down.kind.size.rows = m.payload.resize.rows;
		rc = check_window(down.kind.size.cols, down.kind.size.rows, f);
		if (rc == 0)
			rc = pipe_down(p, &down, f);
	} else if (rc == 0) {
		rc = fault_field(f, "payload", "start comes once");
	}
	arena_release(&a);
	return rc;
}

static int
client_ended(struct pipe *p, struct fault *f)
{
	nacre_session_v1_AttachDown down =
	    nacre_session_v1_AttachDown_init_zero;

	down.which_kind = nacre_session_v1_AttachDown_in_end_tag;
	down.kind.in_end = true;
	return pipe_down(p, &down, f);
}

/* A unary request's half-close is not the end of its stdin: that is sent
 * after what the request brought. */
static int
client_ended_unary(struct pipe *p, struct fault *f)
{
	const struct exec *x = p->exec;

	if (pipe_down_bytes(p, wire_span(x->ask->input), f) < 0)
		return -1;
	return client_ended(p, f);
}

static int
from_sandbox(struct pipe *p, const nacre_session_v1_AttachUp *up,
    struct fault *f)
{
	openshell_v1_ExecSandboxEvent e =
	    openshell_v1_ExecSandboxEvent_init_zero;

	switch (up->which_kind) {
	case nacre_session_v1_AttachUp_out_tag:
		e.which_payload = openshell_v1_ExecSandboxEvent_out_tag;
		e.payload.out.data = up->kind.out;
		break;
	case nacre_session_v1_AttachUp_err_tag:
		e.which_payload = openshell_v1_ExecSandboxEvent_err_tag;
		e.payload.err.data = up->kind.err;
		break;
	case nacre_session_v1_AttachUp_exit_tag:
		e.which_payload = openshell_v1_ExecSandboxEvent_exit_tag;
		e.payload.exit.exit_code = up->kind.exit.code;
		e.payload.exit.reason = up->kind.exit.reason;
		pipe_finish(p);
		break;
	default:
		return 0;
	}
	return pipe_up(p, openshell_v1_ExecSandboxEvent_fields, &e, f);
}

static void
opened(struct pipe *p)
{
	crash_later(p->g, "during_exec", CRASH_MS);
}

static const struct pipe_ops interactive_ops = {
	.from_client = from_client,
	.client_ended = client_ended,
	.from_sandbox = from_sandbox,
	.opened = opened,
};

static const struct pipe_ops unary_ops = {
	.from_client = from_client,
	.client_ended = client_ended_unary,
	.from_sandbox = from_sandbox,
	.opened = opened,
};

void
do_exec_answer(struct call *c)
{
	struct exec *x = c->work;
	const openshell_v1_ExecSandboxRequest *ask = x->ask;
	nacre_session_v1_Open open = nacre_session_v1_Open_init_zero;
	nacre_session_v1_Command *command = &open.kind.exec.command;
	struct plan_env e = {
		.more = pairs_of(ask),
		.more_n = ask->environment_count,
		.tty = ask->tty,
	};
	struct fault f = { 0 };

	open.which_kind = nacre_session_v1_Open_exec_tag;
	open.kind.exec.has_command = true;
	open.kind.exec.timeout_ms = (uint64_t)ask->timeout_seconds * 1000;
	command->argv = ask->command;
	command->argv_count = ask->command_count;
	command->workdir = ask->workdir != NULL && *ask->workdir != '\0'
	    ? ask->workdir
	    : x->plan.workdir;
	command->tty = ask->tty;
	command->cols = ask->cols > 0 ? ask->cols : 80;
	command->rows = ask->rows > 0 ? ask->rows : 24;
	if (plan_env(&x->plan, &e, &c->arena, &f) < 0) {
		call_finish(c, &f);
		return;
	}
	command->env = e.env;
	command->env_count = e.n;
	pipe_start(c, x->vm, &open,
	    x->interactive ? &interactive_ops : &unary_ops, x);
}
