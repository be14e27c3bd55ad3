/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre sandbox exec: stdin, stdout and stderr apart, the command's own exit
 * code. Reading stops while the gateway does not take more; a failure of
 * nacre itself is 125.
 */
#include <sys/ioctl.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/inner.h"
#include "proto/openshell_v1.pb.h"
#include "wire/wire.h"

enum {
	EXEC_FAILED = 125
};

struct exec {
	struct client_stream stream;
	struct client client;
	struct watch in;
	struct deferred in_file; /* a plain file cannot be watched */
	struct arena arena;      /* of one message */
	bool tty;
	bool raw;
	bool in_ended;
	bool exited;
	bool unread; /* nobody reads what the command prints */
	int exit_code;
	char reason[64];
	struct termios saved;
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

static void
end_input(struct exec *x)
{
	if (x->in_ended)
		return;
	x->in_ended = true;
	loop_unwatch(&x->in);
	if (x->stream.call)
		rpc_half_close(x->stream.call);
}

/* Read once and send; false when input is over or must wait. */
static bool
pump_input(struct exec *x)
{
	openshell_v1_ExecSandboxInput m =
	    openshell_v1_ExecSandboxInput_init_zero;
	uint8_t chunk[LIMIT_CHUNK];
	struct fault f = { 0 };
	ssize_t n;

	if (x->in_ended || !x->stream.call)
		return false;
	if (rpc_room(x->stream.call) < LIMIT_CHUNK + 64) {
		loop_unwatch(&x->in);
		return false;
	}
	n = read(STDIN_FILENO, chunk, sizeof(chunk));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return false;
	if (n <= 0) {
		end_input(x);
		return false;
	}
	m.which_payload = openshell_v1_ExecSandboxInput_input_tag;
	m.payload.input = wire_bytes(&x->arena, span_of(chunk, (size_t)n));
	if (client_stream_send(&x->stream, openshell_v1_ExecSandboxInput_fields,
		&m, &f) != 0)
		end_input(x);
	arena_release(&x->arena);
	return !x->in_ended;
}

static void
on_input(struct watch *w, unsigned events)
{
	struct exec *x = CONTAINER_OF(w, struct exec, in);

	(void)events;
	(void)pump_input(x);
}

static void
on_input_file(struct deferred *d)
{
	struct exec *x = CONTAINER_OF(d, struct exec, in_file);

	if (pump_input(x))
		loop_later(x->client.loop, d);
}

/* Room again, or the start: watch stdin, or read it when it is a file. */
static void
watch_input(struct exec *x)
{
	struct fault f = { 0 };

	if (x->in_ended || loop_is_watched(&x->in))
		return;
	if (loop_watch(x->client.loop, &x->in, STDIN_FILENO, LOOP_IN, &f) != 0)
		loop_later(x->client.loop, &x->in_file);
}

static void
on_writable(struct client_stream *s)
{
	watch_input(s->owner);
}

static void
on_resize(void *owner, int sig)
{
	struct exec *x = owner;
	openshell_v1_ExecSandboxInput m =
	    openshell_v1_ExecSandboxInput_init_zero;
	struct winsize size;
	struct fault f = { 0 };

	(void)sig;
	if (!x->stream.call || ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0)
		return;
	m.which_payload = openshell_v1_ExecSandboxInput_resize_tag;
	m.payload.resize.cols = size.ws_col;
	m.payload.resize.rows = size.ws_row;
	if (client_stream_send(&x->stream, openshell_v1_ExecSandboxInput_fields,
		&m, &f) != 0)
		log_warn(&f, "cannot tell the window's size");
}

static void
terminal_raw(struct exec *x, openshell_v1_ExecSandboxRequest *ask)
{
	struct termios t;
	struct winsize size;
	struct fault f = { 0 };

	if (!x->tty || tcgetattr(STDIN_FILENO, &x->saved) != 0)
		return;
	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0) {
		ask->cols = size.ws_col;
		ask->rows = size.ws_row;
	}
	t = x->saved;
	cfmakeraw(&t);
	x->raw = tcsetattr(STDIN_FILENO, TCSANOW, &t) == 0;
	if (loop_signal(x->client.loop, SIGWINCH, on_resize, x, &f) != 0)
		log_warn(&f, "window changes are not followed");
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
	terminal_raw(x, &first.payload.start);
	if (client_stream_send(&x->stream, openshell_v1_ExecSandboxInput_fields,
		&first, f) != 0)
		return -1;
	watch_input(x);
	if (client_stream_run(&x->stream, f) != 0)
		return -1;
	if (x->stream.fault.code != FAULT_NONE && !x->exited) {
		*f = x->stream.fault;
		return -1;
	}
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

/* As the command itself would in a pipe of the caller's. */
static void
end_by_pipe(void)
{
	(void)signal(SIGPIPE, SIG_DFL);
	(void)raise(SIGPIPE);
}

int
cmd_exec(struct cli *c, char **argv)
{
	struct exec_options o = { 0 };
	const struct cli_option options[] = {
		{ "--workdir", CLI_TEXT, &o.workdir, 0 },
		{ "--timeout", CLI_NUMBER, &o.timeout, 31536000 },
		{ "--env", CLI_TEXTS, &o.env, 0 },
		{ "--tty", CLI_FLAG, &o.tty, 0 },
		{ "-t", CLI_FLAG, &o.tty, 0 },
	};
	struct cli_words w;
	struct exec x = { 0 };
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 1, "sandbox exec NAME -- CMD...", &f) != 0 ||
	    client_open(&x.client, c, &f) != 0) {
		(void)cli_fail(&f, NULL);
		return EXEC_FAILED;
	}
	x.in.fd = -1;
	x.in.ready = on_input;
	x.in_file.run = on_input_file;
	x.tty = o.tty;
	arena_init(&x.arena, 4 * LIMIT_MESSAGE);
	rc = run(&x, w.word[0], &o, &w, &f);
	if (x.raw)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &x.saved);
	loop_unwatch(&x.in);
	loop_deferred_drop(x.client.loop, &x.in_file);
	client_close(&x.client);
	arena_release(&x.arena);
	if (x.unread)
		end_by_pipe();
	if (rc != 0) {
		(void)cli_fail(&f, x.client.hint);
		return EXEC_FAILED;
	}
	say_reason(&x, w.command[0], &o);
	return x.exit_code;
}
