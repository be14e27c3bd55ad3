/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams: the table by id, and what the owner does with one. Owns the
 * queues of unsent body bytes; nghttp2 copies from them into frames when
 * the peer's windows allow (events.c).
 */
#include <stdlib.h>

#include "http/inner.h"

static size_t
bucket(int32_t id)
{
	return ((uint32_t)id >> 1) & (H2_BUCKETS - 1);
}

struct h2_stream *
h2_stream_find(const struct h2 *h, int32_t id)
{
	struct h2_stream *s = h->table[bucket(id)];

	while (s && s->id != id)
		s = s->next;
	return s;
}

struct h2_stream *
h2_stream_open(struct h2 *h, int32_t id)
{
	struct h2_stream *s = must_alloc(sizeof(*s));
	struct h2_stream **head = &h->table[bucket(id)];

	s->id = id;
	buf_init(&s->queue, H2_QUEUE);
	s->next = *head;
	*head = s;
	h->streams++;
	return s;
}

void
h2_stream_free(struct h2 *h, struct h2_stream *s)
{
	struct h2_stream **at = &h->table[bucket(s->id)];

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	h->streams--;
	h->unread -= s->unread;
	h->unsent -= s->queue.len;
	h->starved -= s->is_starved;
	h->wide -= s->is_wide;
	h2_window_forget(h, s);
	buf_release(&s->queue);
	free(s->trailers);
	free(s);
}

/* A stream the owner may still act on. */
static struct h2_stream *
find_live(struct h2 *h, int32_t id)
{
	struct h2_stream *s = h2_stream_find(h, id);

	return s && !s->is_reset && !s->is_closing ? s : NULL;
}

int
h2_request(struct h2 *h, const struct h2_header *hs, size_t n, bool end,
    int32_t *stream, struct fault *f)
{
	nghttp2_data_provider2 body = { .read_callback = NULL };
	struct h2_stream *s;
	nghttp2_nv *nv;
	int32_t id;

	BUG_IF(h->role != H2_CLIENT);
	if (h->has_failed || h->has_goaway)
		return fault_set(f, FAULT_LOST, "connection is closing");
	if (h->streams >= LIMIT_STREAMS)
		return fault_set(f, FAULT_BUSY, "all %d streams are in use",
		    LIMIT_STREAMS);
	nv = h2_header_pack(hs, n, f);
	if (!nv)
		return -1;
	body.read_callback = h2_body_read;
	id = nghttp2_submit_request2(h->session, NULL, nv, n,
	    end ? NULL : &body, NULL);
	free(nv);
	if (id < 0)
		return fault_set(f, FAULT_LOST, "cannot open a stream: %s",
		    nghttp2_strerror(id));
	s = h2_stream_open(h, id);
	s->is_told = true;
	s->is_started = true;
	s->is_ending = end;
	*stream = id;
	return 0;
}

int
h2_respond(struct h2 *h, int32_t stream, const struct h2_header *hs, size_t n,
    bool end, struct fault *f)
{
	nghttp2_data_provider2 body = { .read_callback = h2_body_read };
	struct h2_stream *s = find_live(h, stream);
	nghttp2_nv *nv;
	int rc;

	BUG_IF(h->role != H2_SERVER);
	if (!s || s->is_started)
		return fault_set(f, FAULT_LOST, "stream has ended");
	nv = h2_header_pack(hs, n, f);
	if (!nv)
		return -1;
	rc = nghttp2_submit_response2(h->session, stream, nv, n,
	    end ? NULL : &body);
	free(nv);
	if (rc != 0)
		return fault_set(f, FAULT_LOST, "cannot answer: %s",
		    nghttp2_strerror(rc));
	s->is_started = true;
	s->is_ending = end;
	return 0;
}

void
h2_go_on(struct h2 *h, int32_t stream)
{
	static uint8_t name[] = ":status";
	static uint8_t value[] = "100";
	const nghttp2_nv nv = { name, value, sizeof(name) - 1,
		sizeof(value) - 1, NGHTTP2_NV_FLAG_NONE };
	struct h2_stream *s = find_live(h, stream);

	BUG_IF(h->role != H2_SERVER);
	if (s && !s->is_started)
		(void)nghttp2_submit_headers(h->session, NGHTTP2_FLAG_NONE,
		    stream, NULL, &nv, 1, NULL);
}

static size_t
room(const struct h2 *h, const struct h2_stream *s)
{
	size_t left = H2_QUEUE - s->queue.len;
	size_t all = LIMIT_UNREAD - h->unsent;

	return left < all ? left : all;
}

static void
wake(struct h2 *h, struct h2_stream *s)
{
	if (!s->is_deferred)
		return;
	s->is_deferred = false;
	(void)nghttp2_session_resume_data(h->session, s->id);
}

static void
starve(struct h2 *h, struct h2_stream *s)
{
	if (s->is_starved)
		return;
	s->is_starved = true;
	h->starved++;
}

void
h2_want_writable(struct h2 *h, int32_t stream)
{
	struct h2_stream *s = find_live(h, stream);

	if (s && !s->is_ending)
		starve(h, s);
}

size_t
h2_write(struct h2 *h, int32_t stream, struct span bytes)
{
	struct fault f = { 0 };
	struct h2_stream *s = find_live(h, stream);
	size_t n;

	if (!s || s->is_ending)
		return 0;
	n = room(h, s);
	if (n < bytes.len)
		starve(h, s);
	if (n > bytes.len)
		n = bytes.len;
	if (n == 0)
		return 0;
	BUG_IF(buf_add(&s->queue, bytes.ptr, n, &f) != 0);
	if (s->queue.len > H2_QUEUE_KEPT)
		s->calm = 0;
	h->unsent += n;
	wake(h, s);
	return n;
}

int
h2_end(struct h2 *h, int32_t stream, const struct h2_header *trailers, size_t n,
    struct fault *f)
{
	struct h2_stream *s = find_live(h, stream);

	if (!s || s->is_ending || !s->is_started)
		return fault_set(f, FAULT_LOST, "stream has ended");
	if (n > 0) {
		s->trailers = h2_header_pack(trailers, n, f);
		if (!s->trailers)
			return -1;
		s->trailers_n = n;
	}
	s->is_ending = true;
	wake(h, s);
	return 0;
}

void
h2_end_both(struct h2 *h, int32_t stream)
{
	struct h2_stream *s = find_live(h, stream);

	if (!s)
		return;
	s->drops_rest = true;
	if (s->sent_end && !s->peer_ended)
		h2_reset(h, stream, H2_NO_ERROR);
}

void
h2_reset(struct h2 *h, int32_t stream, uint32_t error)
{
	struct h2_stream *s = find_live(h, stream);

	if (!s)
		return;
	s->is_reset = true;
	BUG_IF(nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, stream,
		   error) == NGHTTP2_ERR_NOMEM);
}

/* Half of a queue must be free, or small writes would move big queues. */
void
h2_stream_tell_writable(struct h2 *h)
{
	for (size_t i = 0; i < H2_BUCKETS; i++)
		for (struct h2_stream *s = h->table[i]; s; s = s->next) {
			if (!s->is_starved || room(h, s) < H2_QUEUE / 2)
				continue;
			s->is_starved = false;
			h->starved--;
			if (h->events->writable && !s->is_reset)
				h->events->writable(h->owner, s->id);
		}
}

void
h2_set_user(struct h2 *h, int32_t stream, void *user)
{
	struct h2_stream *s = h2_stream_find(h, stream);

	if (s)
		s->user = user;
}

void *
h2_user(struct h2 *h, int32_t stream)
{
	struct h2_stream *s = h2_stream_find(h, stream);

	return s ? s->user : NULL;
}

size_t
h2_queued(struct h2 *h, int32_t stream)
{
	struct h2_stream *s = h2_stream_find(h, stream);

	return s ? s->queue.len : 0;
}

size_t
h2_writable(struct h2 *h, int32_t stream)
{
	struct h2_stream *s = find_live(h, stream);

	return s && !s->is_ending ? room(h, s) : 0;
}

size_t
h2_streams(const struct h2 *h)
{
	return h->streams;
}
