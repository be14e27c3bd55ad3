/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre sandbox attach: the main process, as if it ran here. What it said
 * last comes first; its exit code becomes ours, also when it ended before.
 * Ctrl-P Ctrl-Q leaves it running.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/input.h"
#include "proto/nacre_v1.pb.h"
#include "wire/wire.h"

enum {
	ATTACH_FAILED = 125
};

struct attach {
	struct client_stream stream;
	struct client client;
	struct cli_input input;
	struct arena arena; /* of one message */
	bool read_only;
	bool has_ended;
	bool unread; /* nobody reads what the process prints */
	int exit_code;
	uint64_t next; /* offset of the next byte */
	char reason[64];
};

static bool
take(struct cli_input *i, const uint8_t *bytes, size_t n)
{
	nacre_v1_AttachInput m = nacre_v1_AttachInput_init_zero;
	struct attach *x = CONTAINER_OF(i, struct attach, input);
	struct fault f = { 0 };
	int rc;

	m.which_kind = nacre_v1_AttachInput_input_tag;
	m.kind.input = wire_bytes(&x->arena, span_of(bytes, n));
	rc =
	    client_stream_send(&x->stream, nacre_v1_AttachInput_fields, &m, &f);
	arena_release(&x->arena);
	return rc == 0;
}

static void
resized(struct cli_input *i, const struct winsize *size)
{
	nacre_v1_AttachInput m = nacre_v1_AttachInput_init_zero;
	struct attach *x = CONTAINER_OF(i, struct attach, input);
	struct fault f = { 0 };

	m.which_kind = nacre_v1_AttachInput_size_tag;
	m.kind.size.cols = size->ws_col;
	m.kind.size.rows = size->ws_row;
	if (client_stream_send(&x->stream, nacre_v1_AttachInput_fields, &m,
		&f) != 0)
		log_warn(&f, "cannot tell the window's size");
}

static void
on_writable(struct client_stream *s)
{
	struct attach *x = s->owner;

	if (!x->read_only)
		cli_input_watch(&x->input);
}

/* --- out */
static void
begun(struct attach *x, const nacre_v1_AttachBegun *b)
{
	struct winsize size;

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
	cli_input_raw(&x->input);
	if (x->input.is_raw && cli_input_size(&size))
		resized(&x->input, &size);
	cli_input_watch(&x->input);
}

static bool
show(struct attach *x, const nacre_v1_AttachBytes *b, int to)
{
	struct span s = wire_span(b->data);

	if (b->offset > x->next)
		(void)fprintf(stderr, "nacre: %llu bytes are lost\n",
		    (unsigned long long)(b->offset - x->next));
	x->next = b->offset + s.len;
	if (fd_write_all(to, s.ptr, s.len, &x->stream.fault) == 0)
		return true;
	x->unread = x->stream.fault.sys == EPIPE;
	return false;
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
	if (client_stream_run(&x->stream, f) != 0 && !x->input.has_left)
		return -1;
	if (x->input.has_left || x->has_ended)
		return 0;
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
	cli_input_init(&x.input, &x.stream);
	x.input.take = take;
	x.input.resized = resized;
	x.input.has_keys = true;
	x.stream.client = &x.client;
	arena_init(&x.arena, 4 * LIMIT_MESSAGE);
	rc = run(&x, w.word[0], &f);
	cli_input_close(&x.input);
	client_close(&x.client);
	arena_release(&x.arena);
	if (x.unread)
		cli_end_by_pipe();
	if (rc != 0) {
		(void)cli_fail(&f, x.client.hint);
		return ATTACH_FAILED;
	}
	if (x.input.has_left)
		(void)fprintf(stderr, "\nnacre: detached\n");
	if (strcmp(x.reason, "oom") == 0)
		(void)fprintf(stderr, "nacre: out of memory (oom)\n");
	return x.exit_code;
}
