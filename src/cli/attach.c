/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre sandbox attach: the main process, as if it ran here. What it said
 * last comes first; its exit code becomes ours, also when it ended before.
 * Ctrl-P Ctrl-Q leaves it running.
 */
#include <sys/ioctl.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/inner.h"
#include "proto/nacre_v1.pb.h"
#include "wire/wire.h"

enum {
	ATTACH_FAILED = 125,
	KEY_FIRST = 0x10, /* Ctrl-P */
	KEY_SECOND = 0x11 /* Ctrl-Q */
};

struct attach {
	struct client_stream stream;
	struct client client;
	struct watch in;
	struct deferred in_file; /* a plain file cannot be watched */
	struct arena arena;      /* of one message */
	bool read_only;
	bool is_tty;
	bool is_raw;
	bool in_ended;
	bool has_first; /* of the two keys */
	bool has_left;
	bool has_ended;
	int exit_code;
	uint64_t next; /* offset of the next byte */
	char reason[64];
	struct termios saved;
};

static void
pump_size(struct attach *x)
{
	nacre_v1_AttachInput m = nacre_v1_AttachInput_init_zero;
	struct winsize size;
	struct fault f = { 0 };

	if (!x->stream.call || !x->is_tty ||
	    ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0)
		return;
	m.which_kind = nacre_v1_AttachInput_size_tag;
	m.kind.size.cols = size.ws_col;
	m.kind.size.rows = size.ws_row;
	if (client_stream_send(&x->stream, nacre_v1_AttachInput_fields, &m,
		&f) != 0)
		log_warn(&f, "cannot tell the window's size");
}

static void
on_resize(void *owner, int sig)
{
	(void)sig;
	pump_size(owner);
}

/* --- in */

/* Take the keys out; true when they are complete. */
static bool
take_keys(struct attach *x, uint8_t *bytes, size_t *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++) {
		bool is_first = bytes[i] == KEY_FIRST && !x->has_first;

		if (x->has_first && bytes[i] == KEY_SECOND)
			return true;
		/* One Ctrl-P waits for what follows; two are one. */
		x->has_first = is_first;
		if (!is_first)
			bytes[kept++] = bytes[i];
	}
	*n = kept;
	return false;
}

static bool
pump_input(struct attach *x)
{
	nacre_v1_AttachInput m = nacre_v1_AttachInput_init_zero;
	uint8_t bytes[LIMIT_CHUNK];
	struct fault f = { 0 };
	size_t n;
	ssize_t got;

	if (x->in_ended || !x->stream.call)
		return false;
	if (rpc_room(x->stream.call) < LIMIT_CHUNK + 64) {
		loop_unwatch(&x->in);
		return false;
	}
	got = read(STDIN_FILENO, bytes, sizeof(bytes));
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return false;
	n = got > 0 ? (size_t)got : 0;
	if (got <= 0 || (x->is_raw && take_keys(x, bytes, &n))) {
		x->in_ended = true;
		x->has_left = got > 0;
		loop_unwatch(&x->in);
		if (x->has_left)
			rpc_cancel(x->stream.call);
		return false;
	}
	if (n == 0)
		return true;
	m.which_kind = nacre_v1_AttachInput_input_tag;
	m.kind.input = wire_bytes(&x->arena, span_of(bytes, n));
	x->in_ended = client_stream_send(&x->stream,
			  nacre_v1_AttachInput_fields, &m, &f) != 0;
	arena_release(&x->arena);
	return !x->in_ended;
}

static void
on_input(struct watch *w, unsigned events)
{
	(void)events;
	(void)pump_input(CONTAINER_OF(w, struct attach, in));
}

static void
on_input_file(struct deferred *d)
{
	struct attach *x = CONTAINER_OF(d, struct attach, in_file);

	if (pump_input(x))
		loop_later(x->client.loop, d);
}

static void
watch_input(struct attach *x)
{
	struct fault f = { 0 };

	if (x->read_only || x->in_ended || loop_is_watched(&x->in))
		return;
	if (loop_watch(x->client.loop, &x->in, STDIN_FILENO, LOOP_IN, &f) != 0)
		loop_later(x->client.loop, &x->in_file);
}

static void
on_writable(struct client_stream *s)
{
	watch_input(s->owner);
}

/* --- out */
static void
begun(struct attach *x, const nacre_v1_AttachBegun *b)
{
	struct termios t;
	struct fault f = { 0 };

	x->next = b->offset;
	if (b->offset > 0)
		(void)fprintf(stderr,
		    "nacre: %llu bytes before these are left out\n",
		    (unsigned long long)b->offset);
	if (!b->has_input) {
		/* Nothing of ours goes there: leave stdin to others. */
		x->read_only = true;
		return;
	}
	x->is_tty = tcgetattr(STDIN_FILENO, &x->saved) == 0;
	if (x->is_tty) {
		t = x->saved;
		cfmakeraw(&t);
		x->is_raw = tcsetattr(STDIN_FILENO, TCSANOW, &t) == 0;
		if (loop_signal(x->client.loop, SIGWINCH, on_resize, x, &f) !=
		    0)
			log_warn(&f, "window changes are not followed");
		pump_size(x);
	}
	watch_input(x);
}

static bool
show(struct attach *x, const nacre_v1_AttachBytes *b, int to)
{
	struct span s = wire_span(b->data);

	if (b->offset > x->next)
		(void)fprintf(stderr, "nacre: %llu bytes are lost\n",
		    (unsigned long long)(b->offset - x->next));
	x->next = b->offset + s.len;
	return fd_write_all(to, s.ptr, s.len, &x->stream.fault) == 0;
}

static bool
on_message(struct client_stream *s, struct span message)
{
	nacre_v1_AttachOutput m = nacre_v1_AttachOutput_init_zero;
	struct attach *x = s->owner;
	bool alive = true;

	if (WIRE_DECODE(nacre_v1_AttachOutput, &m, message, &x->arena,
		&s->fault) != 0)
		return false;
	if (m.which_kind == nacre_v1_AttachOutput_begun_tag) {
		begun(x, &m.kind.begun);
	} else if (m.which_kind == nacre_v1_AttachOutput_out_tag) {
		alive = show(x, &m.kind.out, STDOUT_FILENO);
	} else if (m.which_kind == nacre_v1_AttachOutput_err_tag) {
		alive = show(x, &m.kind.err, STDERR_FILENO);
	} else if (m.which_kind == nacre_v1_AttachOutput_end_tag) {
		x->has_ended = true;
		x->exit_code = m.kind.end.exit_code;
		(void)text_copy(x->reason, sizeof(x->reason),
		    span_str(cli_text(m.kind.end.reason)));
	}
	arena_release(&x->arena);
	return alive;
}

static int
run(struct attach *x, const char *name, struct fault *f)
{
	nacre_v1_AttachInput first = nacre_v1_AttachInput_init_zero;
	struct cli *c = x->client.cli;

	first.which_kind = nacre_v1_AttachInput_start_tag;
	first.kind.start.sandbox = arena_str(&c->arena, span_str(name));
	first.kind.start.read_only = x->read_only;
	x->stream.message = on_message;
	x->stream.writable = on_writable;
	x->stream.owner = x;
	if (client_stream_open(&x->client, &x->stream,
		"/nacre.v1.Nacre/AttachSandbox", f) != 0 ||
	    client_stream_send(&x->stream, nacre_v1_AttachInput_fields, &first,
		f) != 0)
		return -1;
	if (client_stream_run(&x->stream, f) != 0 && !x->has_left)
		return -1;
	if (x->has_left || x->has_ended)
		return 0;
	if (x->stream.fault.code != FAULT_NONE) {
		*f = x->stream.fault;
		return -1;
	}
	return fault_set(f, FAULT_LOST,
	    "the gateway closed the stream before the process ended");
}

int
cmd_attach(struct cli *c, char **argv)
{
	struct attach x = { 0 };
	const struct cli_option options[] = {
		{ "--read-only", CLI_FLAG, &x.read_only, 0 },
	};
	struct cli_words w;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 1, "sandbox attach NAME [--read-only]", &f) != 0 ||
	    client_open(&x.client, c, &f) != 0) {
		(void)cli_fail(&f, NULL);
		return ATTACH_FAILED;
	}
	x.in.fd = -1;
	x.in.ready = on_input;
	x.in_file.run = on_input_file;
	arena_init(&x.arena, 4 * LIMIT_MESSAGE);
	rc = run(&x, w.word[0], &f);
	if (x.is_raw)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &x.saved);
	loop_unwatch(&x.in);
	loop_deferred_drop(x.client.loop, &x.in_file);
	client_close(&x.client);
	arena_release(&x.arena);
	if (rc != 0) {
		(void)cli_fail(&f, x.client.hint);
		return ATTACH_FAILED;
	}
	if (x.has_left)
		(void)fprintf(stderr, "\nnacre: detached\n");
	if (strcmp(x.reason, "oom") == 0)
		(void)fprintf(stderr, "nacre: out of memory (oom)\n");
	return x.exit_code;
}
