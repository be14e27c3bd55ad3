/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 on a descriptor, of the gateway's socket or 127.0.0.1, when a client
 * does not begin with HTTP/2. One request at a time; a client that leaves while
 * it waits is seen, since that cancels.
 *
 *   READING -> SERVING -> READING ... -> CLOSING
 */
#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/mcp.h"
#include "http/http.h"

enum {
	HEAD_MS = 10000, /* to send a head */
	READ = 16384,
};

enum phase {
	READING,
	SERVING,
	CLOSING, /* what is in out, then ours is shut, then theirs */
};

struct mcp_conn {
	struct gateway *g;
	struct crowd_seat seat;
	bool by_token; /* each request says who */
	struct mcp_who who;
	enum phase phase;
	int fd;
	bool is_gone;
	bool closes;    /* no request follows */
	bool is_deaf;   /* bytes wait behind the request that is served */
	bool in_chunks; /* what streams */
	bool shut;
	struct watch watch;
	struct timer timer;
	struct deferred more;
	struct h1 *h1;
	struct buf in;
	struct buf out;
	size_t load; /* of it, as told to others */
	struct mcp_head head;
	struct exchange *exchange;
	struct mcp_conn *next;
	struct mcp_conn *prev;
};

static void conn_step(struct mcp_conn *c);

static void
conn_free(void *p)
{
	struct mcp_conn *c = p;

	h1_free(c->h1);
	buf_release(&c->in);
	buf_release(&c->out);
	free(c);
}

static void
conn_close(struct mcp_conn *c)
{
	struct exchange *x = c->exchange;

	if (c->is_gone)
		return;
	c->is_gone = true;
	c->exchange = NULL;
	if (x != NULL)
		mcp_left(x);
	loop_unwatch(&c->watch);
	loop_timer_clear(&c->timer);
	loop_deferred_drop(c->g->loop, &c->more);
	fd_close(&c->fd);
	if (c->prev != NULL)
		c->prev->next = c->next;
	else
		c->g->mcp->conns = c->next;
	if (c->next != NULL)
		c->next->prev = c->prev;
	crowd_leave(&c->seat);
	load_set(&c->g->mcp->to_host, &c->load, 0);
	loop_bury(c->g->loop, c, conn_free);
}

static void
set_timer(struct mcp_conn *c, int64_t ms)
{
	loop_timer_set(c->g->loop, &c->timer, ms);
}

/* No request is read while the answer before it waits to be taken. */
static bool
is_choked(const struct mcp_conn *c)
{
	return c->phase == READING && c->out.len > 0;
}

/* Requests that came behind one another have their turns first. */
static bool
is_full(const struct mcp_conn *c)
{
	return c->phase == READING && c->in.len > READ;
}

static void
want(struct mcp_conn *c)
{
	unsigned events = c->out.len > 0 ? LOOP_OUT : 0;

	if (c->is_gone)
		return;
	if (!c->is_deaf && !is_choked(c) && !is_full(c))
		events |= LOOP_IN;
	if (c->is_deaf && c->phase == SERVING)
		events |= LOOP_FIN;
	loop_rewatch(&c->watch, events);
}

/* --- out */

/* The answer is taken: on with what came behind its request. */
static void
drained(struct mcp_conn *c)
{
	set_timer(c, h1_is_amid(c->h1) ? MCP_BODY_MS : MCP_IDLE_MS);
	if (c->in.len > 0)
		loop_spare(c->g->loop, &c->more);
}

/* An empty buffer keeps nothing large. */
static void
count_out(struct mcp_conn *c)
{
	if (c->out.len == 0 && c->out.cap > READ)
		buf_release(&c->out);
	load_set(&c->g->mcp->to_host, &c->load, c->out.len);
}

static void
flush(struct mcp_conn *c)
{
	while (!c->is_gone && c->out.len > 0) {
		ssize_t n = send(c->fd, buf_ptr(&c->out), c->out.len,
		    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			/* Also for one that cannot begin to leave. */
			if (!c->timer.armed)
				set_timer(c, MCP_WRITE_MS);
			break;
		}
		if (n <= 0) {
			conn_close(c);
			return;
		}
		buf_eat(&c->out, (size_t)n);
		if (c->out.len > 0 || c->phase == CLOSING)
			set_timer(c, MCP_WRITE_MS);
	}
	if (c->is_gone)
		return;
	count_out(c);
	if (c->phase == SERVING && c->out.len == 0)
		loop_timer_clear(&c->timer);
	if (c->phase == READING && c->out.len == 0)
		drained(c);
	if (c->phase == CLOSING && c->out.len == 0 && !c->shut) {
		c->shut = true;
		c->is_deaf = false;
		(void)shutdown(c->fd, SHUT_WR);
		set_timer(c, MCP_LINGER_MS);
	}
	want(c);
}

/* The answer is in out: the next request, or the end. */
static void
answered(struct mcp_conn *c)
{
	c->exchange = NULL;
	c->is_deaf = false;
	if (c->phase == SERVING)
		crowd_rank(&c->seat, CROWD_IDLE);
	if (c->closes) {
		c->phase = CLOSING;
		set_timer(c, MCP_WRITE_MS);
		flush(c);
		return;
	}
	h1_next(c->h1);
	c->phase = READING;
	flush(c);
}

static int
put_answer(struct mcp_conn *c, const struct mcp_answer *a, struct fault *f)
{
	const struct h1_request *q = h1_request(c->h1);
	char more[512] = "";
	size_t len = 0;
	struct h1_reply r = {
		.status = a->status,
		.type = a->type,
		.body = a->body,
		.streams = a->stream,
		.is_old = q->minor == 0,
		.is_head = span_is(q->method, "HEAD"),
		.more = more,
	};

	for (size_t i = 0; i < a->nheaders; i++) {
		if (!text_fmt(more + len, sizeof(more) - len, "%s: %.*s\r\n",
			a->headers[i].name, (int)a->headers[i].value.len,
			(const char *)a->headers[i].value.ptr))
			return fault_set(f, FAULT_LIMIT, "the head is long");
		len = strlen(more);
	}
	c->closes = c->closes || a->close;
	c->in_chunks = a->stream && !r.is_old;
	r.closes = c->closes;
	return h1_reply(&c->out, &r, f);
}

static void
lost(struct mcp_conn *c, const struct fault *f)
{
	log_warn(f, "an answer of MCP is lost");
	conn_close(c);
}

static void
sink_head(void *owner, const struct mcp_answer *a)
{
	struct mcp_conn *c = owner;
	struct mcp_answer full;
	struct fault f = { 0 };

	if (!load_has_room(&c->g->mcp->to_host, a->body.len)) {
		mcp_unavailable(&full);
		a = &full;
	}
	if (put_answer(c, a, &f) < 0) {
		lost(c, &f);
		return;
	}
	if (a->stream)
		flush(c);
}

static void
sink_piece(void *owner, struct span bytes)
{
	struct mcp_conn *c = owner;
	struct fault f = { 0 };
	int rc;

	if (c->is_gone)
		return;
	if (c->out.len > MCP_STREAM_OUT ||
	    !load_has_room(&c->g->mcp->to_host, bytes.len))
		rc = fault_set(&f, FAULT_LIMIT, "the client does not read");
	else if (c->in_chunks)
		rc = h1_chunk(&c->out, bytes, &f);
	else
		rc = buf_add(&c->out, bytes.ptr, bytes.len, &f);
	if (rc < 0) {
		lost(c, &f);
		return;
	}
	flush(c);
}

static void
sink_end(void *owner, bool broken)
{
	struct mcp_conn *c = owner;
	struct fault f = { 0 };

	if (c->is_gone)
		return;
	if (c->in_chunks && h1_end(&c->out, &f) < 0)
		broken = true;
	c->in_chunks = false;
	if (broken) {
		c->exchange = NULL;
		conn_close(c);
		return;
	}
	answered(c);
}

static const struct mcp_sink sink = {
	.head = sink_head,
	.piece = sink_piece,
	.end = sink_end,
};

/* --- in */
static void
refuse(struct mcp_conn *c, const struct mcp_answer *a)
{
	struct fault f = { 0 };

	c->closes = true; /* the body, if any, is not read */
	if (put_answer(c, a, &f) < 0)
		lost(c, &f);
	else
		answered(c);
}

static void
head_came(struct mcp_conn *c)
{
	const struct h1_request *r = h1_request(c->h1);
	struct mcp_answer a;
	struct arena arena;
	struct fault f = { 0 };

	c->closes = c->closes || r->closes;
	mcp_head_of(r, &c->head);
	if (c->by_token)
		bearer_find(c->g, &c->head, &c->who);
	arena_init(&arena, MCP_SMALL);
	if (mcp_refuse(c->g, &c->who, &c->head, &arena, &a)) {
		refuse(c, &a);
	} else {
		crowd_own(&c->seat, c->who.principal);
		crowd_rank(&c->seat, CROWD_IDLE);
		set_timer(c, MCP_BODY_MS);
		if (r->expects_continue && h1_go_on(&c->out, &f) == 0)
			flush(c);
	}
	arena_release(&arena);
}

static void
request_came(struct mcp_conn *c)
{
	struct exchange *x;

	c->phase = SERVING;
	crowd_rank(&c->seat, CROWD_BUSY);
	loop_timer_clear(&c->timer);
	x = mcp_begin(c->g, &c->who, &c->head, h1_body(c->h1), &sink, c);
	if (x != NULL && c->is_gone)
		mcp_left(x);
	else if (x != NULL)
		c->exchange = x;
	want(c);
}

static void
malformed(struct mcp_conn *c)
{
	struct mcp_answer a = { .status = h1_status(c->h1), .close = true };

	if (a.status == 0) {
		conn_close(c);
		return;
	}
	if (a.status == 413)
		mcp_too_large(&a);
	refuse(c, &a);
}

static void
conn_step(struct mcp_conn *c)
{
	while (!c->is_gone && c->phase == READING && !is_choked(c)) {
		size_t used = 0;
		enum h1_progress p = h1_feed(c->h1, buf_span(&c->in), &used);

		buf_eat(&c->in, used);
		if (p == H1_HEAD)
			head_came(c);
		else if (p == H1_FAILED)
			malformed(c);
		else if (p == H1_DONE)
			request_came(c);
		/* One request a tick: what is behind it waits for others. */
		if (p != H1_HEAD)
			break;
	}
	want(c);
}

static void
more_in(struct deferred *d)
{
	struct mcp_conn *c = CONTAINER_OF(d, struct mcp_conn, more);

	if (c->phase != READING || c->in.len == 0)
		return;
	set_timer(c, HEAD_MS);
	conn_step(c);
}

/* A request is served: is the client still there? */
static void
look(struct mcp_conn *c)
{
	char byte;
	ssize_t n = recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		conn_close(c);
	else if (n > 0)
		c->is_deaf = true;
}

static void
read_in(struct mcp_conn *c)
{
	NOT_ZEROED uint8_t bytes[READ];
	struct fault f = { 0 };
	bool was_idle = c->phase == READING && !h1_is_amid(c->h1);
	ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->seat.is_unheard = false;
	if (n <= 0) {
		conn_close(c);
		return;
	}
	if (c->phase == CLOSING)
		return; /* what comes now is read away */
	if (was_idle)
		set_timer(c, HEAD_MS);
	if (buf_add(&c->in, bytes, (size_t)n, &f) < 0) {
		conn_close(c);
		return;
	}
	conn_step(c);
}

static void
ready(struct watch *w, unsigned events)
{
	struct mcp_conn *c = CONTAINER_OF(w, struct mcp_conn, watch);
	/* TCP tells that it was reset: nobody takes an answer any more. */
	bool is_lost = (events & LOOP_FIN) ||
	    ((events & LOOP_HUP) && (c->by_token || events == LOOP_HUP));

	if (is_lost)
		conn_close(c);
	else if (events & LOOP_OUT)
		flush(c);
	else if ((events & LOOP_IN) && c->phase == SERVING)
		look(c);
	else if (events & LOOP_IN)
		read_in(c);
	want(c);
}

static void
timed_out(struct timer *t)
{
	struct mcp_conn *c = CONTAINER_OF(t, struct mcp_conn, timer);
	struct mcp_answer a = {
		.status = 408,
		.type = "application/json",
		.body = SPAN_LIT("{\"error\":\"timeout\"}"),
		.close = true,
	};

	if (c->phase == READING && h1_is_amid(c->h1))
		refuse(c, &a);
	else
		conn_close(c);
}

static void
unseat(struct crowd_seat *s)
{
	conn_close(CONTAINER_OF(s, struct mcp_conn, seat));
}

void
mcp_conn_start(struct gateway *g, int fd, const struct mcp_who *who)
{
	struct mcp_conn *c = must_alloc(sizeof(*c));
	struct fault f = { 0 };

	c->g = g;
	c->fd = fd;
	c->by_token = who == NULL;
	if (who != NULL)
		c->who = *who;
	c->watch.fd = -1;
	c->watch.ready = ready;
	c->timer.fire = timed_out;
	c->more.run = more_in;
	c->h1 = h1_new(MCP_BODY);
	buf_init(&c->in, 2 * READ);
	buf_init(&c->out, MCP_OUT);
	c->next = g->mcp->conns;
	if (c->next != NULL)
		c->next->prev = c;
	g->mcp->conns = c;
	c->seat.close = unseat;
	crowd_join(who == NULL ? &g->mcp->at_port : &g->mcp->at_socket,
	    &c->seat);
	c->seat.is_unheard = true; /* its first words are there */
	set_timer(c, HEAD_MS);
	if (loop_watch(g->loop, &c->watch, fd, LOOP_IN, &f) == 0)
		return;
	log_warn(&f, "cannot watch a client");
	conn_close(c);
}

void
mcp_conn_close_all(struct gateway *g)
{
	while (g->mcp->conns != NULL)
		conn_close(g->mcp->conns);
}
