/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: mcp http loop json */
/*
 * The MCP room behind real HTTP/1.1, with the tools that the official
 * conformance suite wants of a server, beside those of the product, which here
 * know of no sandbox. Prints its port; ends when its input ends.
 *
 *	test_wait {"ms": N}    answers after so long, for cancels and streams
 */
#include <sys/socket.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "http/http.h"
#include "json/json.h"
#include "loop/loop.h"
#include "mcp/mcp.h"
#include "mcp_fixture.h"

enum {
	CONNECTIONS = 128,
	STEP_MS = 120,
	OUT = 8 << 20,
};

struct conn {
	int fd; /* -1: the slot is free */
	bool busy;
	bool closes;
	bool finished; /* the last answer is in out */
	unsigned step;
	struct watch watch;
	struct timer tick; /* of the reply */
	struct timer tool; /* of what it waits for */
	struct h1 *h1;
	struct buf in;
	struct buf out;
	struct buf piece;
	struct arena arena;
	struct mcp_head head;
	struct mcp_request request;
	struct mcp_decision decision;
	struct mcp_reply reply;
};

static struct fixture {
	struct loop *loop;
	struct watch listener;
	struct watch input;
	struct mcp_server server;
	struct arena arena;
	struct mcp_ended ended;
	struct mcp_key key;
	struct conn conns[CONNECTIONS];
} fixture;

static void conn_go_on(struct conn *c);

static _Noreturn void
die(const struct fault *f, const char *what)
{
	(void)fprintf(stderr, "mcp_fixture: %s: %s\n", what, f->text);
	exit(1);
}

static void
conn_close(struct conn *c)
{
	loop_unwatch(&c->watch);
	loop_timer_clear(&c->tick);
	loop_timer_clear(&c->tool);
	fd_close(&c->fd);
	h1_free(c->h1);
	c->h1 = NULL;
	buf_release(&c->in);
	buf_release(&c->out);
	buf_release(&c->piece);
	arena_release(&c->arena);
	c->busy = false;
}

/* False when the connection is gone. */
static bool
conn_flush(struct conn *c)
{
	while (c->out.len > 0) {
		ssize_t n = send(c->fd, buf_ptr(&c->out), c->out.len,
		    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n <= 0)
			break;
		buf_eat(&c->out, (size_t)n);
	}
	if (c->out.len == 0 && c->finished) {
		conn_close(c);
		return false;
	}
	loop_rewatch(&c->watch, c->out.len > 0 ? LOOP_IN | LOOP_OUT : LOOP_IN);
	return true;
}

static void
answer_put(struct conn *c, const struct mcp_answer *a)
{
	char more[512] = "";
	struct fault f = { 0 };
	size_t len = 0;
	struct h1_reply r = {
		.status = a->status,
		.type = a->type,
		.body = a->body,
		.streams = a->stream,
		.closes = a->close || c->closes,
		.is_head = span_is(c->request.head->method, "HEAD"),
		.more = more,
	};

	for (size_t i = 0; i < a->nheaders; i++) {
		(void)text_fmt(more + len, sizeof(more) - len, "%s: %.*s\r\n",
		    a->headers[i].name, (int)a->headers[i].value.len,
		    (const char *)a->headers[i].value.ptr);
		len = strlen(more);
	}
	c->closes = r.closes;
	if (h1_reply(&c->out, &r, &f) != 0)
		die(&f, "reply");
}

static void
request_over(struct conn *c)
{
	loop_timer_clear(&c->tick);
	loop_timer_clear(&c->tool);
	arena_release(&c->arena);
	c->busy = false;
	c->finished = c->closes;
	h1_next(c->h1);
}

static void
reply_due(struct conn *c)
{
	int64_t due = mcp_reply_due(&c->reply);
	int64_t now = loop_now_ms(fixture.loop);

	if (due >= 0)
		loop_timer_set(fixture.loop, &c->tick,
		    due > now ? due - now : 0);
}

/* Send what the reply says; c->piece holds its bytes. */
static void
reply_send(struct conn *c, unsigned send, const struct mcp_answer *head)
{
	bool streaming = c->reply.streaming;
	struct fault f = { 0 };

	if (send & MCP_SEND_HEAD)
		answer_put(c, head);
	if ((send & MCP_SEND_BODY) &&
	    h1_chunk(&c->out, buf_span(&c->piece), &f) != 0)
		die(&f, "chunk");
	buf_clear(&c->piece);
	if ((send & MCP_SEND_END) && streaming && h1_end(&c->out, &f) != 0)
		die(&f, "end");
	if (send & MCP_SEND_END)
		request_over(c);
	else
		reply_due(c);
}

static void
reply_tick(struct timer *t)
{
	struct conn *c = CONTAINER_OF(t, struct conn, tick);
	struct mcp_answer head;
	unsigned send = mcp_reply_tick(&c->reply, loop_now_ms(fixture.loop),
	    &head, &c->piece);

	reply_send(c, send, &head);
	(void)conn_flush(c);
}

static void
call_over(struct conn *c, struct mcp_call *call, bool cancelled)
{
	struct buf message;
	struct mcp_answer head;
	struct span text = SPAN_LIT("");
	unsigned send;

	buf_init(&message, OUT);
	if (!cancelled) {
		fixture_answer(call, &c->arena, &message);
		text = arena_dup(&c->arena, buf_span(&message));
	}
	buf_release(&message);
	send = mcp_reply_over(&c->reply, call, text, &head, &c->piece);
	if (send != 0)
		reply_send(c, send, &head);
}

/* The first call that is still to come, of a batch. */
static void
call_next(struct conn *c)
{
	while (c->busy) {
		struct mcp_call *call = c->decision.calls;
		int64_t wait_ms;

		while (call->over)
			call++;
		wait_ms = fixture_wait_ms(call);
		if (wait_ms > 0 && !c->decision.is_batch) {
			loop_timer_set(fixture.loop, &c->tool, wait_ms);
			return;
		}
		call_over(c, call, false);
	}
}

static void
tool_step(struct timer *t)
{
	struct conn *c = CONTAINER_OF(t, struct conn, tool);
	struct mcp_call *call = &c->decision.calls[0];
	struct mcp_progress p = { .done = c->step * 50, .total = 100 };
	struct mcp_answer head;
	unsigned send = 0;

	if (fixture_tells(call) && c->step < 3) {
		send = mcp_reply_progress(&c->reply, loop_now_ms(fixture.loop),
		    &p, &head, &c->piece);
		if (send != 0)
			reply_send(c, send, &head);
		c->step++;
		loop_timer_set(fixture.loop, &c->tool, STEP_MS);
	} else {
		call_over(c, call, false);
	}
	conn_go_on(c);
}

/* Calls of the asker's session, of that id or (NULL) all. */
static void
calls_stop(const struct mcp_decision *asker, const struct mcp_id *id)
{
	for (size_t i = 0; i < CONNECTIONS; i++) {
		struct conn *c = &fixture.conns[i];

		for (size_t k = 0; c->busy && k < c->decision.ncalls; k++) {
			struct mcp_call *call = &c->decision.calls[k];

			if (&c->decision == asker || !c->decision.in_session ||
			    !mcp_session_equal(&c->decision.session,
				&asker->session) ||
			    (id && !mcp_id_equal(&call->id, id)))
				continue;
			call_over(c, call, true);
			(void)conn_flush(c);
		}
	}
}

static void
request_run(struct conn *c)
{
	struct mcp_decision *d = &c->decision;

	c->request.body = h1_body(c->h1);
	mcp_decide(&c->request, &c->arena, d);
	for (size_t i = 0; i < d->ncancels; i++)
		calls_stop(d, &d->cancels[i]);
	if (d->ends_session) {
		calls_stop(d, NULL);
		mcp_ended_add(&fixture.ended, &d->session);
	}
	if (d->next == MCP_ANSWER) {
		answer_put(c, &d->answer);
		request_over(c);
		return;
	}
	c->busy = true;
	c->step = 0;
	mcp_reply_begin(&c->reply, d, loop_now_ms(fixture.loop));
	reply_due(c);
	call_next(c);
}

static bool
field_get(const void *at, const char *name, size_t nth, struct span *value)
{
	const struct h1_request *r = at;

	for (size_t i = 0; i < r->fields_n; i++)
		if (h1_is_word(r->fields[i].name, name) && nth-- == 0) {
			*value = r->fields[i].value;
			return true;
		}
	return false;
}

/* True when the head alone is answered. */
static bool
head_take(struct conn *c)
{
	const struct h1_request *r = h1_request(c->h1);
	struct mcp_answer a;
	struct fault f = { 0 };

	c->closes = c->closes || r->closes;
	c->head = (struct mcp_head){
		.method = r->method,
		.target = r->path,
		.host = r->host,
		.length = r->is_chunked ? -1 : (int64_t)r->length,
		.header = field_get,
		.at = r,
	};
	c->request = (struct mcp_request){
		.server = &fixture.server,
		.head = &c->head,
		.side = MCP_HOST,
		.principal = SPAN_LIT("uid:0"),
		.now_s = clock_wall_ms() / 1000,
	};
	random_bytes(c->request.random, MCP_RANDOM);
	if (!mcp_front(&c->request, &c->arena, &a)) {
		if (r->expects_continue && h1_go_on(&c->out, &f) != 0)
			die(&f, "continue");
		return false;
	}
	c->closes = true; /* the body, if any, is not read */
	answer_put(c, &a);
	return true;
}

/* False: nothing more can be done with what has come. */
static bool
input_step(struct conn *c)
{
	struct mcp_answer failed = { .close = true };
	size_t used = 0;
	enum h1_progress p = h1_feed(c->h1, buf_span(&c->in), &used);

	buf_eat(&c->in, used);
	switch (p) {
	case H1_HEAD:
		c->finished = head_take(c);
		return true;
	case H1_DONE:
		request_run(c);
		return true;
	case H1_FAILED:
		failed.status = h1_status(c->h1);
		if (failed.status == 413)
			mcp_too_large(&failed);
		c->closes = true;
		c->finished = true;
		c->request.head = &c->head;
		if (failed.status != 0)
			answer_put(c, &failed);
		return false;
	case H1_MORE:
	default:
		return false;
	}
}

static void
conn_go_on(struct conn *c)
{
	while (!c->busy && !c->finished && input_step(c))
		;
	if (c->fd >= 0)
		(void)conn_flush(c);
}

static void
conn_ready(struct watch *w, unsigned events)
{
	struct conn *c = CONTAINER_OF(w, struct conn, watch);
	uint8_t bytes[16384];
	struct fault f = { 0 };
	ssize_t n;

	if ((events & LOOP_OUT) && !conn_flush(c))
		return;
	if (!(events & (LOOP_IN | LOOP_HUP)))
		return;
	/* A peer that is gone cancels what it asked for (in the second era that
	 * is how one cancels; in the first nobody would read the answer). */
	n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (n <= 0) {
		conn_close(c);
		return;
	}
	if (buf_add(&c->in, bytes, (size_t)n, &f) != 0) {
		conn_close(c);
		return;
	}
	conn_go_on(c);
}

static void
conn_accept(struct watch *w, unsigned events)
{
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct fault f = { 0 };

	(void)events;
	for (size_t i = 0; fd >= 0 && i < CONNECTIONS; i++) {
		struct conn *c = &fixture.conns[i];

		if (c->fd >= 0)
			continue;
		*c = (struct conn){
			.fd = fd,
			.watch = { .fd = -1, .ready = conn_ready },
			.tick = { .fire = reply_tick },
			.tool = { .fire = tool_step },
			.h1 = h1_new(MCP_BODY),
		};
		buf_init(&c->in, 4 << 20);
		buf_init(&c->out, OUT);
		buf_init(&c->piece, OUT);
		arena_init(&c->arena, 4 * MCP_ARENA);
		if (loop_watch(fixture.loop, &c->watch, fd, LOOP_IN, &f) != 0)
			die(&f, "watch");
		return;
	}
	fd_close(&fd);
}

static void
input_ready(struct watch *w, unsigned events)
{
	char byte;

	(void)events;
	if (read(w->fd, &byte, 1) <= 0)
		loop_stop(fixture.loop);
}

static int
listen_local(void)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    listen(fd, CONNECTIONS) != 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) != 0) {
		perror("mcp_fixture: listen");
		exit(1);
	}
	printf("%d\n", ntohs(at.sin_port));
	(void)fflush(stdout);
	return fd;
}

int
main(int argc, char **argv)
{
	struct fault f = { 0 };
	uint8_t secret[MCP_KEY];
	bool product = argc > 1 && strcmp(argv[1], "product") == 0;

	random_bytes(secret, sizeof(secret));
	mcp_key_set(&fixture.key, secret);
	fixture.server = (struct mcp_server){
		.key = &fixture.key,
		.ended = &fixture.ended,
	};
	if (!product)
		fixture.server.extra = fixture_tools(&fixture.server.nextra);
	arena_init(&fixture.arena, 1 << 20);
	if (mcp_server_ready(&fixture.server, &fixture.arena, &f) != 0)
		die(&f, "tools");
	for (size_t i = 0; i < CONNECTIONS; i++)
		fixture.conns[i].fd = -1;
	fixture.loop = loop_new(&f);
	if (!fixture.loop)
		die(&f, "loop");
	fixture.listener.ready = conn_accept;
	fixture.input.ready = input_ready;
	if (loop_watch(fixture.loop, &fixture.listener, listen_local(), LOOP_IN,
		&f) != 0 ||
	    loop_watch(fixture.loop, &fixture.input, 0, LOOP_IN, &f) != 0 ||
	    loop_run(fixture.loop, &f) != 0)
		die(&f, "run");
	for (size_t i = 0; i < CONNECTIONS; i++)
		if (fixture.conns[i].fd >= 0)
			conn_close(&fixture.conns[i]);
	loop_free(fixture.loop);
	arena_release(&fixture.arena);
	return 0;
}
