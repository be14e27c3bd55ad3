/* SPDX-License-Identifier: Apache-2.0 */
/* The test server of rpc_peer.h. One struct job holds what a call is doing. */
#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "http/http.h"
#include "rpc_peer.h"
#include "tls/tls.h"

struct job {
	struct rpc_peer *peer;
	struct rpc_call *call;
	char method[16];
	size_t left; /* Count: messages to send */
	size_t size;
	uint64_t bytes;     /* Sink */
	struct buf pending; /* Chat: a message that found no room */
	bool has_pending;
	bool peer_ended;
};

static const struct span none = { NULL, 0 };

static void
count(struct job *j)
{
	static uint8_t zeros[LIMIT_MESSAGE];
	struct fault f = { 0 };

	while (j->left > 0) {
		if (rpc_send(j->call, span_of(zeros, j->size), &f) != 0)
			return;
		j->left--;
	}
	rpc_finish(j->call, NULL, none);
}

/* Returns what is pending to the peer, if it goes, and its credit. */
static void
chat(struct job *j)
{
	struct fault f = { 0 };
	size_t n = j->pending.len;

	if (j->has_pending) {
		if (rpc_send(j->call, buf_span(&j->pending), &f) != 0)
			return;
		buf_clear(&j->pending);
		j->has_pending = false;
		rpc_consume(j->call, n);
	}
	if (j->peer_ended)
		rpc_finish(j->call, NULL, none);
}

static void
chat_message(struct job *j, struct span m)
{
	struct fault f = { 0 };

	if (!j->has_pending && rpc_send(j->call, m, &f) == 0) {
		rpc_consume(j->call, m.len);
		return;
	}
	/* several may be on their way already: echo them as one */
	BUG_IF(buf_add(&j->pending, m.ptr, m.len, &f) != 0);
	j->has_pending = true;
}

static void
sink_message(struct job *j, struct span m)
{
	if (span_starts(m, "stall")) {
		j->peer->stalled++;
		return;
	}
	j->bytes += m.len;
	rpc_consume(j->call, m.len);
}

static void
on_message(struct rpc_call *c, void *owner, struct span m)
{
	struct job *j = owner;
	struct fault f = { 0 };
	char text[32];
	unsigned n;
	unsigned size;

	if (strcmp(j->method, "Chat") == 0) {
		chat_message(j, m);
		return;
	}
	if (strcmp(j->method, "Sink") == 0) {
		sink_message(j, m);
		return;
	}
	rpc_consume(c, m.len);
	if (strcmp(j->method, "Echo") == 0) {
		BUG_IF(rpc_send(c, m, &f) != 0);
		rpc_finish(c, NULL, none);
	} else if (strcmp(j->method, "Count") == 0) {
		(void)text_copy(text, sizeof(text), m);
		if (sscanf(text, "%u %u", &n, &size) != 2)
			abort();
		j->left = n;
		j->size = size;
		count(j);
	} else if (strcmp(j->method, "Refuse") == 0) {
		(void)fault_field(&f, "name", "not 100%% right: \xc3\xa9\n");
		rpc_finish(c, &f, SPAN_LIT("\x00\x01\xfe\xff detail"));
	}
}

static void
on_half_closed(struct rpc_call *c, void *owner)
{
	struct job *j = owner;
	struct fault f = { 0 };

	j->peer_ended = true;
	if (strcmp(j->method, "Chat") == 0)
		chat(j);
	if (strcmp(j->method, "Sink") == 0) {
		char text[32];

		(void)text_fmt(text, sizeof(text), "%llu",
		    (unsigned long long)j->bytes);
		BUG_IF(rpc_send(c, span_str(text), &f) != 0);
		rpc_finish(c, NULL, none);
	}
}

static void
on_writable(struct rpc_call *c, void *owner)
{
	struct job *j = owner;

	(void)c;
	if (strcmp(j->method, "Count") == 0)
		count(j);
	if (strcmp(j->method, "Chat") == 0)
		chat(j);
}

static void
on_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct job *j = owner;

	(void)c;
	(void)detail;
	j->peer->closed++;
	j->peer->cancelled += f->code == FAULT_CANCELLED;
	j->peer->lost += f->code == FAULT_LOST;

	buf_release(&j->pending);
	free(j);
}

static const struct rpc_call_events call_events = {
	.message = on_message,
	.half_closed = on_half_closed,
	.writable = on_writable,
	.closed = on_closed,
};

static void
on_open(void *owner, struct rpc_link *l, struct rpc_call *c,
    const struct rpc_request *r)
{
	static const char *const methods[] = { "Echo", "Count", "Chat", "Sink",
		"Sleep", "Refuse" };
	static const char prefix[] = "/nacre.test.Peer/";
	struct rpc_peer *p = owner;
	struct fault f = { 0 };
	struct span name = span_from(r->path, sizeof(prefix) - 1);
	struct job *j;

	(void)l;
	for (size_t i = 0; i < NELEM(methods); i++) {
		if (!span_starts(r->path, prefix) || !span_is(name, methods[i]))
			continue;
		j = must_alloc(sizeof(*j));
		j->peer = p;
		j->call = c;

		buf_init(&j->pending, 4 * LIMIT_MESSAGE);
		(void)text_copy(j->method, sizeof(j->method), name);
		p->opened++;
		rpc_call_accept(c, &call_events, j);
		return;
	}
	(void)fault_set(&f, FAULT_UNIMPLEMENTED, "no such method");
	rpc_finish(c, &f, none);
}

/* CONNECT echo:1 */
static void
echo_bytes(struct rpc_stream *s, void *owner, struct span b)
{
	size_t n = rpc_stream_write(s, b);

	(void)owner;
	BUG_IF(n != b.len); /* tests send less than the queue holds */
	rpc_stream_consume(s, b.len);
}

static void
echo_eof(struct rpc_stream *s, void *owner)
{
	(void)owner;
	rpc_stream_end(s);
}

static const struct rpc_stream_events echo_events = {
	.bytes = echo_bytes,
	.eof = echo_eof,
};

struct waiter {
	struct rpc_peer *peer;
	struct rpc_stream *stream;
	struct deferred later;
};

static void
waiter_accept(struct deferred *d)
{
	struct waiter *w = CONTAINER_OF(d, struct waiter, later);

	rpc_stream_accept(w->stream, &echo_events, NULL);
	free(w);
}

static void
waiter_closed(struct rpc_stream *s, void *owner, uint32_t error)
{
	struct waiter *w = owner;

	(void)s;
	(void)error;
	loop_deferred_drop(w->peer->loop, &w->later);
	free(w);
}

static const struct rpc_stream_events waiter_events = {
	.closed = waiter_closed,
};

static void
open_echo(struct rpc_peer *p, struct rpc_stream *s)
{
	struct waiter *w;

	if (!p->accepts_late) {
		rpc_stream_accept(s, &echo_events, NULL);
		return;
	}
	w = must_alloc(sizeof(*w));
	*w = (struct waiter){ p, s, { .run = waiter_accept } };
	rpc_stream_await(s, &waiter_events, w);
	loop_later(p->loop, &w->later);
}

/* CONNECT tunnel:1: a server link over the stream. */
struct tunnel {
	struct rpc_stream *stream;
	struct rpc_link *link;
};

static size_t
tunnel_write(void *owner, struct span b)
{
	struct tunnel *t = owner;

	return t->stream ? rpc_stream_write(t->stream, b) : 0;
}

static void
tunnel_close(void *owner)
{
	struct tunnel *t = owner;

	if (t->stream)
		rpc_stream_end(t->stream);
}

static void
tunnel_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	struct tunnel *t = owner;

	(void)l;
	(void)f;
	t->link = NULL;
	if (!t->stream)
		free(t);
}

static void
tunnel_bytes(struct rpc_stream *s, void *owner, struct span b)
{
	struct tunnel *t = owner;
	size_t n = t->link ? rpc_link_feed(t->link, b) : b.len;

	BUG_IF(n != b.len);
	rpc_stream_consume(s, n);
}

static void
tunnel_eof(struct rpc_stream *s, void *owner)
{
	struct tunnel *t = owner;

	(void)s;
	if (t->link)
		rpc_link_eof(t->link);
}

static void
tunnel_writable(struct rpc_stream *s, void *owner)
{
	struct tunnel *t = owner;

	(void)s;
	if (t->link)
		rpc_link_writable(t->link);
}

static void
tunnel_closed(struct rpc_stream *s, void *owner, uint32_t error)
{
	struct tunnel *t = owner;

	(void)s;
	(void)error;
	t->stream = NULL;
	if (t->link)
		rpc_link_eof(t->link);
	else
		free(t);
}

static const struct rpc_stream_events tunnel_stream_events = {
	.bytes = tunnel_bytes,
	.eof = tunnel_eof,
	.writable = tunnel_writable,
	.closed = tunnel_closed,
};

static const struct rpc_link_events tunnel_link_events = {
	.down = tunnel_down,
};

static void
open_tunnel(struct rpc_peer *p, struct rpc_stream *s)
{
	struct tunnel *t = must_alloc(sizeof(*t));
	struct rpc_bytes bytes = { tunnel_write, NULL, tunnel_close, t };
	struct rpc_link_options o = p->options;
	uint8_t entropy[TLS_ENTROPY];
	struct fault f = { 0 };

	random_bytes(entropy, sizeof(entropy));
	o.events = &tunnel_link_events;
	o.owner = t;
	if (p->key)
		o.tls = tls_server_new(p->key, entropy, &f);
	t->stream = s;
	t->link = rpc_link_open_bytes(p->loop, &bytes, &o, &f);
	rpc_stream_accept(s, &tunnel_stream_events, t);
}

static void
on_connect(void *owner, struct rpc_link *l, struct rpc_stream *s,
    struct span authority, const struct h2_header *headers, size_t n)
{
	(void)l;
	(void)headers;
	(void)n;
	if (span_is(authority, "echo:1"))
		open_echo(owner, s);
	else if (span_is(authority, "tunnel:1"))
		open_tunnel(owner, s);
	else
		rpc_stream_refuse(s, 403,
		    SPAN_LIT("{\"code\":\"NOT_ALLOWED\"}"));
}

/* Requests that are not gRPC. */
struct plain {
	struct rpc_peer *peer;
	char path[16];
	size_t bytes;
};

static void
plain_bytes(struct rpc_stream *s, void *owner, struct span b)
{
	struct plain *p = owner;

	p->bytes += b.len;
	if (strcmp(p->path, "/echo") == 0)
		(void)rpc_stream_write(s, b);
	rpc_stream_consume(s, b.len);
}

static void
plain_answer(struct rpc_stream *s, const char *status, bool end)
{
	struct h2_header hs[] = { { SPAN_LIT(":status"), span_str(status) } };
	struct fault f = { 0 };

	BUG_IF(rpc_stream_answer(s, hs, 1, end, &f) != 0);
}

static void
plain_eof(struct rpc_stream *s, void *owner)
{
	struct plain *p = owner;
	char text[32];

	if (strcmp(p->path, "/count") == 0 || strcmp(p->path, "/go") == 0) {
		(void)text_fmt(text, sizeof(text), "%zu", p->bytes);
		plain_answer(s, "200", false);
		(void)rpc_stream_write(s, span_str(text));
		rpc_stream_end(s);
	} else if (strcmp(p->path, "/echo") == 0) {
		rpc_stream_end(s);
	}
}

static void
plain_closed(struct rpc_stream *s, void *owner, uint32_t error)
{
	struct plain *p = owner;

	(void)s;
	p->peer->error = error;
	p->peer->closed++;
	free(p);
}

static const struct rpc_stream_events plain_events = {
	.bytes = plain_bytes,
	.eof = plain_eof,
	.closed = plain_closed,
};

static void
on_request(void *owner, struct rpc_link *l, struct rpc_stream *s,
    const struct h2_header *hs, size_t n)
{
	struct plain *p = must_alloc(sizeof(*p));

	(void)l;
	p->peer = owner;
	p->peer->opened++;
	(void)text_copy(p->path, sizeof(p->path), h2_find(hs, n, ":path"));
	rpc_stream_await(s, &plain_events, p);
	if (strcmp(p->path, "/echo") == 0)
		plain_answer(s, "200", false);
	else if (strcmp(p->path, "/go") == 0)
		rpc_stream_go_on(s);
	else if (strcmp(p->path, "/early") == 0)
		plain_answer(s, "413", true);
	else if (strcmp(p->path, "/count") != 0 &&
	    strcmp(p->path, "/hold") != 0)
		plain_answer(s, "404", true);
}

void
rpc_peer_take_requests(struct rpc_peer *p)
{
	p->handlers.request = on_request;
}

void
rpc_peer_init(struct rpc_peer *p, struct loop *loop)
{
	*p = (struct rpc_peer){ .loop = loop, .listener = -1 };
	p->handlers = (struct rpc_server){ .open = on_open,
		.connect = on_connect,
		.owner = p };
	p->options = (struct rpc_link_options){ .server = true,
		.handlers = &p->handlers };
}

static void
on_listener(struct watch *w, unsigned events)
{
	struct rpc_peer *p = CONTAINER_OF(w, struct rpc_peer, watch);
	struct fault f = { 0 };
	int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);

	(void)events;
	if (fd >= 0)
		BUG_IF(!rpc_link_open_fd(p->loop, fd, &p->options, &f));
}

void
rpc_peer_listen(struct rpc_peer *p, int fd)
{
	struct fault f = { 0 };

	p->listener = fd;
	p->watch.ready = on_listener;
	BUG_IF(loop_watch(p->loop, &p->watch, fd, LOOP_IN, &f) != 0);
}

void
rpc_peer_close(struct rpc_peer *p)
{
	loop_unwatch(&p->watch);
	fd_close(&p->listener);
}

struct rpc_link *
rpc_peer_pair(struct rpc_peer *p, int *other)
{
	struct fault f = { 0 };
	struct rpc_link *l;
	int fds[2];

	BUG_IF(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0);
	*other = fds[1];
	l = rpc_link_open_fd(p->loop, fds[0], &p->options, &f);
	BUG_IF(!l);
	return l;
}
