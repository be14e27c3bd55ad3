/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CONNECT streams: plain bytes on an HTTP/2 stream, either end. What comes
 * before the server has accepted waits here, at most one window of it. And
 * requests that are not gRPC, at the server's end: nothing waits.
 */
#include <stdlib.h>

#include "rpc/inner.h"

static void
stream_free(void *p)
{
	struct rpc_stream *s = p;

	buf_release(&s->in);
	free(s);
}

static void
give(struct rpc_stream *s, struct span bytes)
{
	s->unread += bytes.len;
	if (s->events->bytes)
		s->events->bytes(s, s->owner, bytes);
	else
		rpc_stream_consume(s, bytes.len);
}

static void
tell_eof(struct rpc_stream *s)
{
	if (s->item.is_ended || s->eof_told)
		return;
	s->eof_told = true;
	if (s->events->eof)
		s->events->eof(s, s->owner);
}

/* The end, or what came before it was accepted. */
static void
later(struct deferred *d)
{
	struct rpc_stream *s = CONTAINER_OF(d, struct rpc_stream, item.later);

	if (!s->item.is_ended && s->is_open) {
		if (s->in.len > 0)
			give(s, buf_span(&s->in));
		buf_release(&s->in);
		if (s->peer_ended)
			tell_eof(s);
		return;
	}
	if (!s->item.is_ended)
		return;
	if (s->events && s->events->closed)
		s->events->closed(s, s->owner, s->error);
	item_bury(&s->item, stream_free);
}

static struct rpc_stream *
stream_new(struct rpc_link *l, int32_t id)
{
	struct rpc_stream *s = must_alloc(sizeof(*s));

	item_init(&s->item, l, id, later);
	s->item.is_client = !l->is_server;
	buf_init(&s->in, LIMIT_WINDOW_ACTIVE);
	return s;
}

struct rpc_stream *
/* NOLINTNEXTLINE(readability-function-size): one more than the wall */
rpc_connect(struct rpc_link *l, const char *authority,
    const struct h2_header *extra, size_t n,
    const struct rpc_stream_events *events, void *owner, struct fault *f)
{
	struct h2_header hs[RPC_HEADERS] = {
		HEADER(":method", SPAN_LIT("CONNECT")),
		HEADER(":authority", span_str(authority)),
	};
	struct rpc_stream *s;
	int32_t id;

	BUG_IF(l->is_server || n > RPC_HEADERS - 2);
	for (size_t i = 0; i < n; i++)
		hs[2 + i] = extra[i];
	if (l->is_dead || l->is_shut) {
		(void)fault_set(f, FAULT_LOST, "the connection is down");
		return NULL;
	}
	if (h2_request(l->h2, hs, n + 2, false, &id, f) != 0)
		return NULL;
	s = stream_new(l, id);
	s->events = events;
	s->owner = owner;
	link_wake(l);
	return s;
}

void
stream_open(struct rpc_link *l, int32_t id, const struct h2_header *hs,
    size_t n)
{
	struct rpc_stream *s = stream_new(l, id);

	if (!l->handlers->connect) {
		rpc_stream_refuse(s, 501, span_of(NULL, 0));
		return;
	}
	l->handlers->connect(l->handlers->owner, l, s,
	    h2_find(hs, n, ":authority"), hs, n);
	BUG_IF(!s->events && !s->item.is_ended && !l->is_dead);
}

void
stream_request(struct rpc_link *l, int32_t id, const struct h2_header *hs,
    size_t n)
{
	struct rpc_stream *s = stream_new(l, id);

	s->is_request = true;
	l->handlers->request(l->handlers->owner, l, s, hs, n);
	BUG_IF(!s->events && !s->item.is_ended && !l->is_dead);
}

int
rpc_stream_answer(struct rpc_stream *s, const struct h2_header *hs, size_t n,
    bool end, struct fault *f)
{
	struct h2 *h2 = s->item.link->h2;

	BUG_IF(!s->is_request || s->is_open);
	if (s->item.is_ended)
		return fault_set(f, FAULT_LOST, "the stream has ended");
	if (h2_respond(h2, s->item.stream, hs, n, end, f) != 0)
		return -1;
	s->is_open = true;
	s->has_ended = end;
	if (end)
		h2_end_both(h2, s->item.stream);
	link_wake(s->item.link);
	return 0;
}

void
rpc_stream_go_on(struct rpc_stream *s)
{
	BUG_IF(!s->is_request || s->is_open);
	if (s->item.is_ended)
		return;
	h2_go_on(s->item.link->h2, s->item.stream);
	link_wake(s->item.link);
}

void
rpc_stream_await(struct rpc_stream *s, const struct rpc_stream_events *events,
    void *owner)
{
	BUG_IF(s->item.is_client || s->is_open);
	s->events = events;
	s->owner = owner;
}

void
rpc_stream_accept(struct rpc_stream *s, const struct rpc_stream_events *events,
    void *owner)
{
	struct h2_header hs[] = { HEADER(":status", SPAN_LIT("200")) };
	struct fault f = { 0 };

	rpc_stream_await(s, events, owner);
	if (s->item.is_ended)
		return;
	if (h2_respond(s->item.link->h2, s->item.stream, hs, NELEM(hs), false,
		&f) != 0) {
		rpc_stream_reset(s, H2_INTERNAL_ERROR);
		return;
	}
	s->is_open = true;
	if (s->in.len > 0 || s->peer_ended)
		loop_later(s->item.link->loop, &s->item.later);
	link_wake(s->item.link);
}

void
rpc_stream_refuse(struct rpc_stream *s, int status, struct span json)
{
	struct rpc_link *l = s->item.link;
	int32_t id = s->item.stream;
	char number[12];
	struct h2_header hs[] = { HEADER(":status", SPAN_LIT("")),
		HEADER("content-type", SPAN_LIT("application/json")) };
	struct fault f = { 0 };

	BUG_IF(s->item.is_client || s->is_open);
	s->events = NULL;
	(void)text_fmt(number, sizeof(number), "%d", status);
	hs[0].value = span_str(number);
	if (id && !s->item.is_ended) {
		if (h2_respond(l->h2, id, hs, json.len ? 2 : 1, json.len == 0,
			&f) != 0 ||
		    h2_write(l->h2, id, json) != json.len ||
		    (json.len && h2_end(l->h2, id, NULL, 0, &f) != 0))
			h2_reset(l->h2, id, H2_INTERNAL_ERROR);
		h2_end_both(l->h2, id);
	}
	item_detach(&s->item);
	item_end(&s->item);
	link_wake(l);
}

void
stream_headers(struct rpc_stream *s, const struct h2_header *hs, size_t n)
{
	uint64_t status = 0;

	if (s->is_open)
		return; /* trailers */
	s->is_open = true;
	(void)num_parse(h2_find(hs, n, ":status"), 999, &status);
	if (status == 200 && s->events->opened)
		s->events->opened(s, s->owner);
	else if (status != 200 && s->events->refused)
		s->events->refused(s, s->owner, (int)status);
}

static bool
takes_bytes(const struct rpc_stream *s)
{
	return (s->item.is_client || s->is_open || s->is_request) &&
	    s->in.len == 0;
}

void
stream_data(struct rpc_stream *s, struct span bytes)
{
	struct fault f = { 0 };

	if (takes_bytes(s))
		give(s, bytes);
	else if (buf_add(&s->in, bytes.ptr, bytes.len, &f) != 0)
		rpc_stream_reset(s, H2_ENHANCE_YOUR_CALM);
}

void
stream_peer_ended(struct rpc_stream *s)
{
	s->peer_ended = true;
	if (takes_bytes(s))
		tell_eof(s);
}

void
stream_writable(struct rpc_stream *s)
{
	if (s->events && s->events->writable)
		s->events->writable(s, s->owner);
}

void
stream_closed(struct rpc_stream *s, uint32_t error)
{
	if (s->item.is_ended)
		return;
	s->error = error;
	item_detach(&s->item);
	item_end(&s->item);
}

size_t
rpc_stream_write(struct rpc_stream *s, struct span b)
{
	if (s->item.is_ended || !s->item.stream)
		return 0;
	link_wake(s->item.link);
	return h2_write(s->item.link->h2, s->item.stream, b);
}

void
rpc_stream_consume(struct rpc_stream *s, size_t n)
{
	BUG_IF(n > s->unread);
	s->unread -= n;
	if (s->item.stream)
		h2_consume(s->item.link->h2, s->item.stream, n);
	link_wake(s->item.link);
}

void
rpc_stream_end(struct rpc_stream *s)
{
	struct fault f = { 0 };

	if (s->item.is_ended || !s->item.stream || s->has_ended)
		return;
	s->has_ended = true;
	if (h2_end(s->item.link->h2, s->item.stream, NULL, 0, &f) != 0)
		rpc_stream_reset(s, H2_INTERNAL_ERROR);
	else if (s->is_request)
		h2_end_both(s->item.link->h2, s->item.stream);
	link_wake(s->item.link);
}

void
rpc_stream_reset(struct rpc_stream *s, uint32_t error)
{
	if (s->item.is_ended)
		return;
	if (s->item.stream)
		h2_reset(s->item.link->h2, s->item.stream, error);
	stream_closed(s, error);
	link_wake(s->item.link);
}
