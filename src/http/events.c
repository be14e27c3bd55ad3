/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nghttp2 tells, turned into the owner's events. Everything here runs
 * inside nghttp2: it may submit frames, never read or write bytes. A stream
 * becomes known to the owner with its first whole header block.
 */
#include <string.h>

#include "http/inner.h"

static bool
is_request(const struct h2 *h, const nghttp2_frame *frame)
{
	return h->role == H2_SERVER &&
	    frame->headers.cat == NGHTTP2_HCAT_REQUEST;
}

static int
on_begin_headers(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
	struct h2 *h = arg;

	(void)ng;
	if (frame->hd.type != NGHTTP2_HEADERS)
		return 0;
	buf_clear(&h->block);
	h->pieces_n = 0;
	if (is_request(h, frame) && !h2_stream_find(h, frame->hd.stream_id))
		(void)h2_stream_open(h, frame->hd.stream_id);
	return 0;
}

static int
/* NOLINTNEXTLINE(readability-function-size): as nghttp2 wants it */
on_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name,
    size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
    void *arg)
{
	struct h2 *h = arg;

	(void)ng;
	(void)flags;
	if (frame->hd.type != NGHTTP2_HEADERS)
		return 0;
	if (h2_header_take(h, span_of(name, name_len),
		span_of(value, value_len)))
		return 0;
	h2_reset(h, frame->hd.stream_id, H2_ENHANCE_YOUR_CALM);
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static void
tell_headers(struct h2 *h, struct h2_stream *s, bool end)
{
	NOT_ZEROED struct h2_header hs[H2_FIELDS];
	const uint8_t *base = buf_ptr(&h->block);
	struct span status;

	for (size_t i = 0; i < h->pieces_n; i++) {
		const struct h2_piece *p = &h->pieces[i];

		hs[i].name = span_of(base + p->name, p->name_len);
		hs[i].value = span_of(base + p->value, p->value_len);
	}
	status = h2_find(hs, h->pieces_n, ":status");
	if (h->role == H2_CLIENT && span_starts(status, "1"))
		return; /* informational: the answer follows */
	s->is_told = true;
	if (h->events->headers)
		h->events->headers(h->owner, s->id, hs, h->pieces_n, end);
}

static void
on_stream_frame(struct h2 *h, const nghttp2_frame *frame)
{
	struct h2_stream *s = h2_stream_find(h, frame->hd.stream_id);
	bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

	if (!s)
		return;
	if (end)
		s->peer_ended = true;
	if (frame->hd.type == NGHTTP2_HEADERS && !s->is_reset)
		tell_headers(h, s, end);
	if (end && !s->is_reset && s->is_told && h->events->end)
		h->events->end(h->owner, s->id);
}

static void
on_goaway(struct h2 *h, const nghttp2_frame *frame)
{
	h->has_goaway = true;
	if (frame->goaway.error_code != NGHTTP2_NO_ERROR)
		(void)fault_set(&h->why, FAULT_LOST,
		    "the peer closed the connection: %s",
		    nghttp2_http2_strerror(frame->goaway.error_code));
	if (h->events->goaway)
		h->events->goaway(h->owner);
}

static int
on_frame(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
	struct h2 *h = arg;
	uint64_t opaque;

	(void)ng;
	if (frame->hd.type == NGHTTP2_HEADERS ||
	    frame->hd.type == NGHTTP2_DATA) {
		on_stream_frame(h, frame);
	} else if (frame->hd.type == NGHTTP2_GOAWAY) {
		on_goaway(h, frame);
	} else if (frame->hd.type == NGHTTP2_PING &&
	    (frame->hd.flags & NGHTTP2_FLAG_ACK)) {
		memcpy(&opaque, frame->ping.opaque_data, sizeof(opaque));
		if (h->events->pong)
			h->events->pong(h->owner, opaque);
	} else if (frame->hd.type == NGHTTP2_SETTINGS &&
	    !(frame->hd.flags & NGHTTP2_FLAG_ACK) && h->events->settings) {
		h->events->settings(h->owner);
	}
	return 0;
}

/* The connection's credit goes back at once, whoever reads or does not. */
static int
on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *bytes,
    size_t n, void *arg)
{
	struct h2 *h = arg;
	struct h2_stream *s = h2_stream_find(h, id);

	(void)flags;
	BUG_IF(nghttp2_session_consume_connection(ng, n) == NGHTTP2_ERR_NOMEM);
	if (!s || s->is_reset)
		return 0;
	if (h->unread + n > h->unread_max) {
		h2_reset(h, id, H2_ENHANCE_YOUR_CALM);
		return 0;
	}
	s->unread += n;
	h->unread += n;
	if (h->events->data)
		h->events->data(h->owner, id, span_of(bytes, n));
	return 0;
}

/* A client that breaks a rule on each stream makes us reset it, which is no
 * cheaper than resets of its own. */
static void
count_broken(struct h2 *h, uint32_t error)
{
	if (h->role != H2_SERVER)
		return;
	switch (error) {
	case NGHTTP2_NO_ERROR:
		h->broken -= h->broken > 0;
		break;
	case NGHTTP2_PROTOCOL_ERROR:
	case NGHTTP2_FLOW_CONTROL_ERROR:
	case NGHTTP2_STREAM_CLOSED:
		if (++h->broken > H2_BROKEN)
			(void)nghttp2_session_terminate_session(h->session,
			    NGHTTP2_ENHANCE_YOUR_CALM);
		break;
	default:
		break;
	}
}

static int
on_close(nghttp2_session *ng, int32_t id, uint32_t error, void *arg)
{
	struct h2 *h = arg;
	struct h2_stream *s = h2_stream_find(h, id);

	(void)ng;
	count_broken(h, error);
	if (!s)
		return 0;
	s->is_closing = true;
	if (s->is_told && h->events->closed)
		h->events->closed(h->owner, id, error);
	h2_stream_free(h, s);
	return 0;
}

static int
on_sent(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
	struct h2 *h = arg;
	struct h2_stream *s;

	(void)ng;
	if (frame->hd.type == NGHTTP2_GOAWAY &&
	    frame->goaway.error_code != NGHTTP2_NO_ERROR) {
		if (h->why.code == FAULT_NONE)
			(void)fault_set(&h->why, FAULT_PROTOCOL, "%s",
			    nghttp2_http2_strerror(frame->goaway.error_code));
		h->has_failed = true;
	}
	if ((frame->hd.type != NGHTTP2_DATA &&
		frame->hd.type != NGHTTP2_HEADERS) ||
	    !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	s = h2_stream_find(h, frame->hd.stream_id);
	if (!s)
		return 0;
	s->sent_end = true;
	if (s->drops_rest && !s->peer_ended)
		h2_reset(h, s->id, H2_NO_ERROR);
	return 0;
}

/* nghttp2's own words about what the peer did wrong. */
static int
on_error(nghttp2_session *ng, int code, const char *text, size_t len, void *arg)
{
	struct h2 *h = arg;

	(void)ng;
	(void)code;
	fault_clear(&h->why);
	(void)fault_set(&h->why, FAULT_PROTOCOL, "%.*s",
	    (int)(len < 200 ? len : 200), text);
	return 0;
}

static nghttp2_ssize
/* NOLINTNEXTLINE(readability-function-size): as nghttp2 wants it */
read_length(nghttp2_session *ng, uint8_t type, int32_t id, int32_t connection,
    int32_t stream, uint32_t frame, void *arg)
{
	int32_t n = connection < stream ? connection : stream;

	(void)ng;
	(void)type;
	(void)id;
	(void)frame;
	(void)arg;
	return n < LIMIT_FRAME ? n : LIMIT_FRAME;
}

nghttp2_ssize
/* NOLINTNEXTLINE(readability-function-size,readability-non-const-parameter) */
h2_body_read(nghttp2_session *ng, int32_t id, uint8_t *to, size_t size,
    uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct h2 *h = arg;
	struct h2_stream *s = h2_stream_find(h, id);

	(void)source;
	(void)to; /* body_send() copies them */
	if (!s)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (s->queue.len == 0 && !s->is_ending) {
		s->is_deferred = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	*flags |= NGHTTP2_DATA_FLAG_NO_COPY;
	if (s->queue.len > size)
		return (nghttp2_ssize)size;
	if (s->is_ending) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (s->trailers_n > 0) {
			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
			(void)nghttp2_submit_trailer(ng, id, s->trailers,
			    s->trailers_n);
		}
	}
	return (nghttp2_ssize)s->queue.len;
}

/* An empty queue gives its memory back, but for some that are much used: as
 * long as they are. */
static void
queue_emptied(struct h2 *h, struct h2_stream *s)
{
	if (s->queue.cap <= H2_QUEUE_KEPT)
		return;
	if (!s->is_wide && h->wide < H2_WIDE) {
		s->is_wide = true;
		h->wide++;
	}
	if (s->is_wide && ++s->calm < H2_CALM)
		return;
	h->wide -= s->is_wide;
	s->is_wide = false;
	s->calm = 0;
	buf_release(&s->queue);
}

/* The frame that h2_body_read() said: its head, and the bytes of the queue. */
static int
/* NOLINTNEXTLINE(readability-function-size): as nghttp2 wants it */
body_send(nghttp2_session *ng, nghttp2_frame *frame, const uint8_t *head,
    size_t n, nghttp2_data_source *source, void *arg)
{
	struct h2 *h = arg;
	struct h2_stream *s = h2_stream_find(h, frame->hd.stream_id);
	struct fault f = { 0 };

	(void)ng;
	(void)source;
	if (!s || n > s->queue.len)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (h->out.len >= LIMIT_WRITE)
		return NGHTTP2_ERR_WOULDBLOCK;
	BUG_IF(buf_add(&h->out, head, H2_FRAME_HEAD, &f) != 0 ||
	    buf_add(&h->out, buf_ptr(&s->queue), n, &f) != 0);
	buf_eat(&s->queue, n);
	h->unsent -= n;
	if (s->queue.len == 0)
		queue_emptied(h, s);
	return 0;
}

void
h2_events_set(nghttp2_session_callbacks *c)
{
	nghttp2_session_callbacks_set_on_begin_headers_callback(c,
	    on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(c, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(c, on_close);
	nghttp2_session_callbacks_set_on_frame_send_callback(c, on_sent);
	nghttp2_session_callbacks_set_error_callback2(c, on_error);
	nghttp2_session_callbacks_set_send_data_callback(c, body_send);
	nghttp2_session_callbacks_set_data_source_read_length_callback2(c,
	    read_length);
}
