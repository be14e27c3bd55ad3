/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre sandbox exec: stdin, stdout and stderr apart, the command's own exit
 * code. Reading stops while the gateway does not take more; a failure of
 * nacre itself is 125. nacre sandbox connect: the same, with a shell on a
 * terminal of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/input.h"
#include "proto/openshell_v1.pb.h"
#include "wire/wire.h"

enum {
	EXEC_FAILED = 125
};

struct exec {
	struct client_stream stream;
	struct client client;
	struct cli_input input;
	struct arena arena; /* of one message */
	bool exited;
	bool unread; /* nobody reads what the command prints */
	int exit_code;
	char reason[64];
};

static bool
on_message(struct client_stream *s, struct span message)
{
	struct exec *x = s->owner;
	openshell_v1_ExecSandboxEvent e =
	    openshell_v1_ExecSandboxEvent_init_zero;
	struct span out = { 0 };
	int to = STDOUT_FILENO;
	bool alive = true;

	if (WIRE_DECODE(openshell_v1_ExecSandboxEvent, &e, message, &x->arena,
		&s->fault) != 0)
		return false;
	if (e.which_payload == openshell_v1_ExecSandboxEvent_out_tag) {
		out = wire_span(e.payload.out.data);
	} else if (e.which_payload == openshell_v1_ExecSandboxEvent_err_tag) {
		out = wire_span(e.payload.err.data);
		to = STDERR_FILENO;
	} else if (e.which_payload == openshell_v1_ExecSandboxEvent_exit_tag) {
		x->exited = true;
		x->exit_code = e.payload.exit.exit_code;
		(void)text_copy(x->reason, sizeof(x->reason),
		    span_str(cli_text(e.payload.exit.reason)));
	}
	if (out.len)
		alive = fd_write_all(to, out.ptr, out.len, &s->fault) == 0;
	x->unread = !alive && s->fault.sys == EPIPE;
	arena_release(&x->arena);
	return alive;
}

static bool
take(struct cli_input *i, const uint8_t *bytes, size_t n)
{
	openshell_v1_ExecSandboxInput m =
	    openshell_v1_ExecSandboxInput_init_zero;
	struct exec *x = CONTAINER_OF(i, struct exec, input);
	struct fault f = { 0 };
	int rc;

	m.which_payload = openshell_v1_ExecSandboxInput_input_tag;
	m.payload.input = wire_bytes(&x->arena, span_of(bytes, n));
	rc = client_stream_send(&x->stream,
	    openshell_v1_ExecSandboxInput_fields, &m, &f);
	arena_release(&x->arena);
	return rc == 0;
}

static void
input_ended(struct cli_input *i)
{
	if (i->stream->call)
		rpc_half_close(i->stream->call);
}

static void
on_writable(struct client_stream *s)
{
	struct exec *x = s->owner;

	cli_input_watch(&x->input);
}

static void
resized(struct cli_input *i, const struct winsize *size)
{
	openshell_v1_ExecSandboxInput m =
	    openshell_v1_ExecSandboxInput_init_zero;
	struct exec *x = CONTAINER_OF(i, struct exec, input);
	struct fault f = { 0 };

	m.which_payload = openshell_v1_ExecSandboxInput_resize_tag;
	m.payload.resize.cols = size->ws_col;
	m.payload.resize.rows = size->ws_row;
	if (client_stream_send(&x->stream, openshell_v1_ExecSandboxInput_fields,
		&m, &f) != 0)
		log_warn(&f, "cannot tell the window's size");
}

struct exec_options {
	const char *workdir;
	uint64_t timeout;
	struct cli_list env;
	bool tty;
};

static int
fill_start(struct cli *c, const struct exec_options *o,
    const struct cli_words *w, openshell_v1_ExecSandboxRequest *ask,
    struct fault *f)
{
	if (!w->command || w->command_n == 0)
		return fault_field(f, "command",
		    "usage: nacre sandbox exec NAME -- CMD...");
	ask->command = w->command;
	ask->command_count = (pb_size_t)w->command_n;
	ask->workdir = arena_str(&c->arena, span_str(cli_text(o->workdir)));
	ask->timeout_seconds = (uint32_t)o->timeout;
	ask->tty = o->tty;
	ask->environment =
	    arena_get(&c->arena, (o->env.n + 1) * sizeof(*ask->environment));
	if (!ask->environment)
		return fault_set(f, FAULT_LIMIT, "too many '--env'");
	for (size_t i = 0; i < o->env.n; i++) {
		if (cli_pair(c, o->env.items[i], &ask->environment[i].key,
			&ask->environment[i].value, f) < 0)
			return -1;
	}
	ask->environment_count = (pb_size_t)o->env.n;
	return 0;
}

static int
run(struct exec *x, const char *name, const struct exec_options *o,
    const struct cli_words *w, struct fault *f)
{
	openshell_v1_ExecSandboxInput first =
	    openshell_v1_ExecSandboxInput_init_zero;
	struct cli *c = x->client.cli;
	struct winsize size;

	if (fill_start(c, o, w, &first.payload.start, f) != 0)
		return -1;
	first.which_payload = openshell_v1_ExecSandboxInput_start_tag;
	/* The gateway takes a name for an id: one round trip less. */
	first.payload.start.sandbox_id = arena_str(&c->arena, span_str(name));
	x->stream.message = on_message;
	x->stream.writable = on_writable;
	x->stream.owner = x;
	if (client_stream_open(&x->client, &x->stream,
		"/openshell.v1.OpenShell/ExecSandboxInteractive", f) != 0)
		return -1;
	if (o->tty && cli_input_size(&size)) {
		first.payload.start.cols = size.ws_col;
		first.payload.start.rows = size.ws_row;
	}
	if (o->tty)
		cli_input_raw(&x->input);
	if (client_stream_send(&x->stream, openshell_v1_ExecSandboxInput_fields,
		&first, f) != 0)
		return -1;
	cli_input_watch(&x->input);
	if (client_stream_run(&x->stream, f) != 0 && !x->input.has_left)
		return -1;
	if (x->input.has_left)
		return 0;
	if (!x->exited)
		return fault_set(f, FAULT_LOST,
		    "the gateway closed the command before it ended");
	return 0;
}

/* Why it ended, when that was not the command's own doing. */
static void
say_reason(const struct exec *x, const char *program,
    const struct exec_options *o)
{
	static const struct {
		const char *reason;
		const char *text;
	} rows[] = {
		{ "oom", "out of memory (oom)" },
		{ "not_found", "no such program" },
		{ "not_executable", "the program cannot be executed" },
		{ "workdir", "the working folder cannot be entered" },
		{ "failed", "the sandbox could not start the program" },
	};
	char safe[256];

	if (strcmp(x->reason, "timeout") == 0)
		(void)fprintf(stderr, "nacre: timeout after %llu s\n",
		    (unsigned long long)o->timeout);
	text_escape(span_str(program), safe, sizeof(safe));
	for (size_t i = 0; i < NELEM(rows); i++)
		if (strcmp(x->reason, rows[i].reason) == 0)
			(void)fprintf(stderr, "nacre: '%s': %s\n", safe,
			    rows[i].text);
}

/* Run it and say how it ended: the exit code of our own. */
static int
exec_command(struct exec *x, const struct cli_words *w,
    const struct exec_options *o)
{
	struct fault f = { 0 };
	int rc;

	x->stream.client = &x->client;
	cli_input_init(&x->input, &x->stream);
	x->input.take = take;
	x->input.ended = input_ended;
	x->input.resized = resized;
	arena_init(&x->arena, 4 * LIMIT_MESSAGE);
	rc = run(x, w->word[0], o, w, &f);
	cli_input_close(&x->input);
	client_close(&x->client);
	arena_release(&x->arena);
	if (x->unread)
		cli_end_by_pipe();
	if (rc != 0) {
		(void)cli_fail(&f, x->client.hint);
		return EXEC_FAILED;
	}
	say_reason(x, w->command[0], o);
	return x->exit_code;
}

int
cmd_exec(struct cli *c, char **argv)
{
	struct exec_options o = { 0 };
	bool has_input; /* stdin always goes; as other tools say it */
	const struct cli_option options[] = {
		{ "--workdir", CLI_TEXT, &o.workdir, 0 },
		{ "--timeout", CLI_NUMBER, &o.timeout, 31536000 },
		{ "--env", CLI_TEXTS, &o.env, 0 },
		{ "--tty", CLI_FLAG, &o.tty, 0 },
		{ "-t", CLI_FLAG, &o.tty, 0 },
		{ "-i", CLI_FLAG, &has_input, 0 },
		{ "-it", CLI_FLAG, &o.tty, 0 },
	};
	struct cli_words w;
	struct exec x = { 0 };
	struct fault f = { 0 };

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 1, "sandbox exec NAME -- CMD...", &f) != 0 ||
	    client_open(&x.client, c, &f) != 0) {
		(void)cli_fail(&f, NULL);
		return EXEC_FAILED;
	}
	return exec_command(&x, &w, &o);
}

int
cmd_connect(struct cli *c, char **argv)
{
	static char shell[] = "/bin/sh";
	static char flag[] = "-c";
	static char best[] =
	    "command -v bash >/dev/null && exec bash; exec \"${SHELL:-/bin/sh}\"";
	static char *words[] = { shell, flag, best, NULL };
	struct exec_options o = { .tty = true };
	struct cli_words w;
	struct exec x = { 0 };
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0 ||
	    cli_want(&w, 1, "sandbox connect NAME [-- SHELL...]", &f) != 0 ||
	    client_open(&x.client, c, &f) != 0) {
		(void)cli_fail(&f, NULL);
		return EXEC_FAILED;
	}
	if (!w.command || w.command_n == 0) {
		w.command = words;
		w.command_n = NELEM(words) - 1;
	}
	x.input.has_keys = true;
	rc = exec_command(&x, &w, &o);
	if (x.input.has_left)
		(void)fprintf(stderr, "\nnacre: left; the shell was ended\n");
	return rc;
}
