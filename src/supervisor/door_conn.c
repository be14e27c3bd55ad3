/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of an agent to the door. It is read only while a request is
 * wanted of it; an answer waits until it is taken; each wait has its time. No
 * more than one request is in the works, what follows it waits in the kernel.
 */
#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/inner.h"

enum {
	FRONT_ARENA = 16 << 10, /* of an answer to a head */
};

static void
conn_free(void *p)
{
	struct door_conn *c = p;

	h1_free(c->reader);
	buf_release(&c->in);
	buf_release(&c->out);
	arena_release(&c->caller.arena);
	free(c);
}

static void
give_body_turn(struct door_conn *c)
{
	struct door *d = c->door;
	struct door_conn *next = NULL;

	if (!c->has_body_turn)
		return;
	c->has_body_turn = false;
	d->bodies--;
	for (size_t i = 0; i < DOOR_CONNECTIONS; i++) {
		struct door_conn *w = d->conns[i];

		if (w && w->phase == DOOR_WAITING &&
		    (!next || w->waits_since_ms < next->waits_since_ms))
			next = w;
	}
	if (!next)
		return;
	next->phase = DOOR_READING;
	loop_later(d->sv->loop, &next->more);
}

void
door_body_sent(struct door_conn *c)
{
	h1_drop_body(c->reader);
	give_body_turn(c);
}

/* A lookup on its way holds the object, not its descriptor. */
static void
bury(struct door_conn *c)
{
	if (c->is_gone && !c->is_looked_up)
		loop_bury(c->door->sv->loop, c, conn_free);
}

void
door_conn_close(struct door_conn *c)
{
	struct door *d = c->door;

	if (c->is_gone)
		return;
	c->is_gone = true;
	if (c->phase == DOOR_SERVING)
		door_forget(c);
	for (size_t i = 0; i < DOOR_CONNECTIONS; i++)
		if (d->conns[i] == c)
			d->conns[i] = NULL;
	d->live--;
	loop_unwatch(&c->watch);
	loop_timer_clear(&c->timer);
	loop_deferred_drop(d->sv->loop, &c->more);
	fd_close(&c->fd);
	give_body_turn(c);
	/* A lookup may keep the rest for a while. */
	h1_drop_body(c->reader);
	buf_release(&c->in);
	buf_release(&c->out);
	bury(c);
	door_ask(d);
}

bool
door_conn_is_idle(const struct door_conn *c)
{
	return c->phase == DOOR_READING && !h1_is_amid(c->reader) &&
	    c->in.len == 0 && c->out.len == 0;
}

static void
set_timer(struct door_conn *c, int64_t ms)
{
	loop_timer_set(c->door->sv->loop, &c->timer, ms);
}

static void
want(struct door_conn *c)
{
	unsigned events = 0;
	bool reads = c->phase == DOOR_CLOSING ||
	    (c->phase == DOOR_READING && c->in.len == 0) ||
	    (c->phase == DOOR_SERVING && !c->is_deaf);

	if (c->is_gone)
		return;
	if (reads)
		events |= LOOP_IN;
	if (c->phase == DOOR_SERVING && c->is_deaf)
		events |= LOOP_FIN;
	if (c->out.len > 0)
		events |= LOOP_OUT;
	loop_rewatch(&c->watch, events);
}

/* --- out */
static void
begin_closing(struct door_conn *c)
{
	c->phase = DOOR_CLOSING;
	(void)shutdown(c->fd, SHUT_WR);
	set_timer(c, DOOR_LINGER_MS);
}

/* The answer is out: the next request, or the end. */
static void
answered(struct door_conn *c)
{
	c->is_begun = false;
	c->is_deaf = false;
	if (c->out.cap > DOOR_READ)
		buf_release(&c->out); /* many connections may be idle */
	give_body_turn(c);
	if (!c->is_kept) {
		begin_closing(c);
		return;
	}
	h1_next(c->reader);
	c->phase = DOOR_READING;
	c->idle_since_ms = loop_now_ms(c->door->sv->loop);
	set_timer(c, DOOR_IDLE_MS);
	if (c->in.len > 0)
		loop_later(c->door->sv->loop, &c->more);
}

static void
flush(struct door_conn *c)
{
	while (c->out.len > 0) {
		ssize_t n =
		    send(c->fd, buf_ptr(&c->out), c->out.len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			/* Also for a piece that cannot begin to leave. */
			if (!c->timer.armed)
				set_timer(c, DOOR_WRITE_MS);
			return;
		}
		if (n < 0) {
			door_conn_close(c);
			return;
		}
		buf_eat(&c->out, (size_t)n);
		if (c->phase == DOOR_SERVING)
			set_timer(c, DOOR_WRITE_MS);
	}
	if (c->phase != DOOR_SERVING || !c->is_begun)
		return;
	loop_timer_clear(&c->timer);
	if (c->is_streaming)
		door_drained(c);
	else
		answered(c);
}

static void
reply_failed(struct door_conn *c, const struct fault *f)
{
	log_warn(f, "door: an answer is lost");
	door_conn_close(c);
}

void
door_reply(struct door_conn *c, const struct h1_reply *r)
{
	const struct h1_request *q = h1_request(c->reader);
	struct h1_reply mine = *r;
	struct fault f = { 0 };

	c->is_begun = true;
	c->is_streaming = r->streams;
	mine.is_old = q->minor == 0;
	c->in_chunks = r->streams && !mine.is_old;
	/* The last place is not for one who may never ask again. */
	c->is_kept =
	    c->is_kept && !r->closes && c->door->live < DOOR_CONNECTIONS;
	mine.closes = !c->is_kept;
	mine.is_head = span_is(q->method, "HEAD");
	set_timer(c, DOOR_WRITE_MS);
	if (h1_reply(&c->out, &mine, &f) != 0) {
		reply_failed(c, &f);
		return;
	}
	flush(c);
	want(c);
}

void
door_piece(struct door_conn *c, struct span piece)
{
	struct fault f = { 0 };
	int rc = c->in_chunks ? h1_chunk(&c->out, piece, &f)
			      : buf_add(&c->out, piece.ptr, piece.len, &f);

	if (rc != 0) {
		reply_failed(c, &f);
		return;
	}
	flush(c);
	want(c);
}

void
door_end(struct door_conn *c)
{
	struct fault f = { 0 };

	c->is_streaming = false;
	if (c->in_chunks && h1_end(&c->out, &f) != 0) {
		reply_failed(c, &f);
		return;
	}
	flush(c);
	want(c);
}

/* --- in */
static void
refuse(struct door_conn *c, const struct h1_reply *r)
{
	c->phase = DOOR_SERVING;
	door_reply(c, r);
}

static void
malformed(struct door_conn *c)
{
	struct h1_reply r;

	if (h1_status(c->reader) == 0) {
		door_conn_close(c);
		return;
	}
	door_refuse_malformed(h1_status(c->reader), &r);
	refuse(c, &r);
}

/* The head is whole: the body is read next, or there is an answer, or the
 * connection waits. */
static void
head_came(struct door_conn *c)
{
	const struct h1_request *q = h1_request(c->reader);
	bool has_body = q->is_chunked || q->length > 0;
	struct fault f = { 0 };
	struct h1_reply r;
	struct arena a;
	bool is_refused;

	c->is_kept = !q->closes;
	arena_init(&a, FRONT_ARENA);
	is_refused = door_refuse_early(q, &a, &r);
	if (is_refused) {
		/* A body that nobody reads: the connection cannot go on. */
		r.closes = r.closes || has_body;
		refuse(c, &r);
	}
	arena_release(&a);
	if (is_refused)
		return;
	set_timer(c, DOOR_BODY_MS);
	if (!has_body)
		return;
	if (c->door->bodies == DOOR_BODIES) {
		c->phase = DOOR_WAITING;
		c->waits_since_ms = loop_now_ms(c->door->sv->loop);
		set_timer(c, DOOR_TURN_MS);
		return;
	}
	c->door->bodies++;
	c->has_body_turn = true;
	if (q->expects_continue && h1_go_on(&c->out, &f) == 0)
		flush(c);
}

/* The reader tells a head once; one that had to wait comes back to it. */
static void
take_turn(struct door_conn *c)
{
	const struct h1_request *q = h1_request(c->reader);

	if (!c->has_body_turn && (q->is_chunked || q->length > 0))
		head_came(c);
}

/* Feed what is there until the request is whole or more is wanted. */
static void
conn_step(struct door_conn *c)
{
	take_turn(c);
	while (!c->is_gone && c->phase == DOOR_READING) {
		size_t used = 0;
		enum h1_progress p =
		    h1_feed(c->reader, buf_span(&c->in), &used);

		buf_eat(&c->in, used);
		if (p == H1_MORE)
			break;
		if (p == H1_FAILED) {
			malformed(c);
			return;
		}
		if (p == H1_HEAD) {
			head_came(c);
			continue;
		}
		c->phase = DOOR_LOOKING;
		loop_timer_clear(&c->timer);
		door_look(c);
		return;
	}
	want(c);
}

void
door_conn_looked(struct door_conn *c)
{
	c->is_looked_up = false;
	if (c->is_gone) {
		bury(c);
		return;
	}
	c->phase = DOOR_SERVING;
	door_serve(c);
	want(c);
}

static void
read_in(struct door_conn *c)
{
	NOT_ZEROED uint8_t bytes[DOOR_READ];
	struct fault f = { 0 };
	bool was_idle = door_conn_is_idle(c);
	ssize_t n = recv(c->fd, bytes, sizeof(bytes), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		door_conn_close(c);
		return;
	}
	if (c->phase == DOOR_CLOSING)
		return; /* what comes now is read away */
	if (was_idle)
		set_timer(c, DOOR_HEAD_MS);
	if (buf_add(&c->in, bytes, (size_t)n, &f) != 0) {
		door_conn_close(c);
		return;
	}
	conn_step(c);
}

/* An agent that leaves cancels what it asked for. */
static void
look(struct door_conn *c)
{
	char byte;
	ssize_t n = recv(c->fd, &byte, 1, MSG_PEEK);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		door_conn_close(c);
	else if (n > 0)
		c->is_deaf = true;
}

static void
ready(struct watch *w, unsigned events)
{
	struct door_conn *c = CONTAINER_OF(w, struct door_conn, watch);

	if (events & LOOP_OUT) {
		flush(c);
	} else if ((events & LOOP_IN) &&
	    (c->phase == DOOR_READING || c->phase == DOOR_CLOSING)) {
		read_in(c);
	} else if ((events & LOOP_IN) && c->phase == DOOR_SERVING) {
		look(c);
	} else if (events & (LOOP_HUP | LOOP_FIN)) {
		door_conn_close(c);
		return;
	}
	want(c);
}

/* What came behind the request before, or a body whose turn it is. */
static void
more_in(struct deferred *d)
{
	struct door_conn *c = CONTAINER_OF(d, struct door_conn, more);

	if (c->phase != DOOR_READING)
		return;
	if (!h1_is_amid(c->reader))
		set_timer(c, DOOR_HEAD_MS);
	conn_step(c);
}

static void
timed_out(struct timer *t)
{
	static const char body[] = "{\"error\":\"timeout\"}";
	struct door_conn *c = CONTAINER_OF(t, struct door_conn, timer);
	struct h1_reply r = { .status = 408,
		.type = "application/json",
		.body = SPAN_LIT(body),
		.closes = true };

	if ((c->phase == DOOR_READING || c->phase == DOOR_WAITING) &&
	    h1_is_amid(c->reader))
		refuse(c, &r);
	else
		door_conn_close(c);
}

void
door_conn_start(struct door *d, int fd, uint64_t socket,
    const struct door_caller *caller)
{
	struct door_conn *c = must_alloc(sizeof(*c));
	struct fault f = { 0 };
	size_t at = 0;

	while (at < DOOR_CONNECTIONS && d->conns[at])
		at++;
	/* No more are asked for than there is room. */
	BUG_IF(at == DOOR_CONNECTIONS);
	*c = (struct door_conn){ .door = d,
		.caller = *caller,
		.socket = socket,
		.fd = fd,
		.watch = { .fd = -1, .ready = ready },
		.timer = { .fire = timed_out },
		.more = { .run = more_in },
		.reader = h1_new(H1_BODY) };
	buf_init(&c->in, DOOR_READ);
	buf_init(&c->out, DOOR_OUT);
	d->conns[at] = c;
	d->live++;
	c->idle_since_ms = loop_now_ms(d->sv->loop);
	set_timer(c, DOOR_IDLE_MS);
	if (loop_watch(d->sv->loop, &c->watch, fd, LOOP_IN, &f) == 0)
		return;
	log_warn(&f, "door: cannot watch a connection");
	door_conn_close(c);
}
