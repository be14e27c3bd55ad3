/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the gateway: opens it, drives the loop until an answer
 * is there, turns refusals into faults with a hint, and prints progress.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/inner.h"
#include "proto/nacre_v1.pb.h"
#include "wire/wire.h"

enum {
	PROGRESS_FIRST_MS = 500,
	PROGRESS_NEXT_MS = 2000,
};

static void
on_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	struct client *cl = owner;

	(void)l;
	(void)f;
	cl->link = NULL;
	cl->down = true;
}

static const struct rpc_link_events link_events = { .down = on_down };

static void
on_progress(struct timer *t)
{
	struct client *cl = CONTAINER_OF(t, struct client, progress);
	double seconds =
	    (double)(loop_now_ms(cl->loop) - cl->since_ms) / 1000.0;

	if (cl->doing)
		(void)fprintf(stderr, "[%.1f s] %s\n", seconds, cl->doing);
	loop_timer_set(cl->loop, t, PROGRESS_NEXT_MS);
}

void
client_doing(struct client *cl, const char *what)
{
	cl->doing = what;
	cl->since_ms = clock_mono_ms();
	loop_timer_clear(&cl->progress);
	if (what && !cl->cli->quiet)
		loop_timer_set(cl->loop, &cl->progress, PROGRESS_FIRST_MS);
}

int
client_open(struct client *cl, struct cli *c, struct fault *f)
{
	struct rpc_link_options o = { .events = &link_events, .owner = cl };
	int fd = -1;

	*cl = (struct client){ .cli = c };
	cl->progress.fire = on_progress;
	cl->loop = loop_new(f);
	if (!cl->loop)
		return -1;
	if (rpc_connect_unix(c->socket, &fd, f) != 0) {
		fault_set(f, FAULT_NOT_READY,
		    "no gateway answers at '%s': start it with "
		    "'nacre gateway start'",
		    c->socket);
		return -1;
	}
	cl->link = rpc_link_open_fd(cl->loop, fd, &o, f);
	return cl->link ? 0 : -1;
}

void
client_close(struct client *cl)
{
	struct fault ignored = { 0 };
	struct fault why = { 0 };

	if (!cl->loop)
		return;
	loop_timer_clear(&cl->progress);
	if (cl->link) {
		(void)fault_set(&why, FAULT_CANCELLED, "command is over");
		rpc_link_drop(cl->link, &why);
		while (!cl->down && loop_tick(cl->loop, 0, &ignored) == 0)
			;
	}
	loop_free(cl->loop);
	cl->loop = NULL;
}

/* The lines of POLICY.md's example. */
static char *
excess_lines(struct cli *c, const nacre_v1_Counterexample *x, const char *above)
{
	return arena_fmt(&c->arena, "  %s\n  child:   %s\n  %s: %s\n",
	    cli_text(x->witness), cli_text(x->child), above,
	    cli_text(x->parent));
}

void
client_refusal(struct client *cl, struct fault *f, struct span detail)
{
	nacre_v1_Refusal r = nacre_v1_Refusal_init_zero;
	struct fault ignored = { 0 };
	enum fault_code code;

	cl->hint[0] = '\0';
	cl->excess = NULL;
	if (detail.len == 0 ||
	    WIRE_DECODE(nacre_v1_Refusal, &r, detail, &cl->cli->arena,
		&ignored) != 0)
		return;
	code = r.code ? fault_from_reason(r.code) : FAULT_NONE;
	if (code != FAULT_NONE)
		f->code = code;
	if (r.field)
		(void)text_copy(f->field, sizeof(f->field), span_str(r.field));
	if (r.hint)
		(void)text_copy(cl->hint, sizeof(cl->hint), span_str(r.hint));
	if (r.has_counterexample)
		cl->excess = excess_lines(cl->cli, &r.counterexample,
		    code == FAULT_EXCEEDS_PARENT ? "parent" : "maximum");
}

static void
stream_message(struct rpc_call *call, void *owner, struct span message)
{
	struct client_stream *s = owner;

	if (!s->stopped && !s->message(s, message)) {
		s->stopped = true;
		rpc_cancel(call);
	}
	rpc_consume(call, message.len);
}

static void
stream_writable(struct rpc_call *call, void *owner)
{
	struct client_stream *s = owner;

	(void)call;
	if (s->writable && !s->stopped)
		s->writable(s);
}

static void
stream_closed(struct rpc_call *call, void *owner, const struct fault *f,
    struct span detail)
{
	struct client_stream *s = owner;

	(void)call;
	s->call = NULL;
	s->ended = true;
	/* Of a call that we cancelled its end says only that. */
	if (s->stopped || !f)
		return;
	s->fault = *f;
	client_refusal(s->client, &s->fault, detail);
}

static const struct rpc_call_events stream_events = {
	.message = stream_message,
	.writable = stream_writable,
	.closed = stream_closed,
};

int
client_stream_open(struct client *cl, struct client_stream *s, const char *path,
    struct fault *f)
{
	s->client = cl;
	s->stopped = false;
	s->ended = false;
	fault_clear(&s->fault);
	if (!cl->link)
		return fault_set(f, FAULT_LOST, "the gateway is gone");
	s->call = rpc_call(cl->link, path, span_of(NULL, 0), -1, &stream_events,
	    s, f);
	return s->call ? 0 : -1;
}

int
client_stream_send(struct client_stream *s, const struct pb_msgdesc_s *fields,
    const void *message, struct fault *f)
{
	struct buf b;
	int rc;

	if (!s->call)
		return fault_set(f, FAULT_LOST, "the call has ended");
	buf_init(&b, LIMIT_MESSAGE);
	rc = wire_encode(fields, message, &b, f);
	if (rc == 0)
		rc = rpc_send(s->call, buf_span(&b), f);
	buf_release(&b);
	return rc;
}

int
client_stream_run(struct client_stream *s, struct fault *f)
{
	while (!s->ended)
		if (loop_tick(s->client->loop, -1, f) != 0)
			return -1;
	if (s->fault.code == FAULT_NONE)
		return 0;
	*f = s->fault;
	return -1;
}

struct unary {
	const struct pb_msgdesc_s *fields;
	void *answer;
	bool answered;
	struct fault fault;
};

static bool
unary_message(struct client_stream *s, struct span message)
{
	struct unary *u = s->owner;

	if (wire_decode(u->fields, u->answer, message, &s->client->cli->arena,
		&u->fault) != 0)
		return false;
	u->answered = true;
	return true;
}

int
client_unary(struct client *cl, const struct client_question *ask,
    const struct pb_msgdesc_s *answer_fields, void *answer, struct fault *f)
{
	struct unary u = { .fields = answer_fields, .answer = answer };
	struct client_stream s = { .message = unary_message, .owner = &u };

	if (client_stream_open(cl, &s, ask->path, f) != 0)
		return -1;
	if (client_stream_send(&s, ask->fields, ask->message, f) != 0)
		return -1;
	rpc_half_close(s.call);
	if (client_stream_run(&s, f) != 0)
		return -1;
	if (u.fault.code != FAULT_NONE) {
		*f = u.fault;
		return -1;
	}
	if (!u.answered)
		return fault_set(f, FAULT_PROTOCOL,
		    "the gateway gave no answer");
	return 0;
}

static int
fail(const struct fault *f, const char *lines, const char *hint)
{
	char safe[600];

	text_escape(span_str(f->text), safe, sizeof(safe));
	(void)fprintf(stderr, "nacre: %s\n", safe);
	if (lines)
		(void)fputs(lines, stderr);
	if (hint && *hint) {
		text_escape(span_str(hint), safe, sizeof(safe));
		(void)fprintf(stderr, "  hint: %s\n", safe);
	}
	return f->code == FAULT_NONE ? fault_exit(FAULT_SYSTEM)
				     : fault_exit(f->code);
}

int
cli_fail(const struct fault *f, const char *hint)
{
	return fail(f, NULL, hint);
}

int
client_fail(const struct client *cl, const struct fault *f)
{
	return fail(f, cl->excess, cl->hint);
}
