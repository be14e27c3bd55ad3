/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream windows (DESIGN 3): credit returns as the owner uses bytes. A
 * stream that has proved to be read is raised to the larger window; at most
 * LIMIT_ACTIVE_STREAMS are. A raised one loses it only after others have
 * moved H2_RAISED_IDLE bytes, so that many equal streams do not trade it to
 * and fro. The connection's window is not here: it is returned at receipt.
 */
#include "http/inner.h"

static void
resize(struct h2 *h, const struct h2_stream *s, int32_t size)
{
	int rc = nghttp2_session_set_local_window_size(h->session,
	    NGHTTP2_FLAG_NONE, s->id, size);

	BUG_IF(rc == NGHTTP2_ERR_NOMEM);
}

void
h2_window_forget(struct h2 *h, struct h2_stream *s)
{
	if (!s->is_raised)
		return;
	if (s->newer)
		s->newer->older = s->older;
	else
		h->raised_newest = s->older;
	if (s->older)
		s->older->newer = s->newer;
	else
		h->raised_oldest = s->newer;
	s->newer = NULL;
	s->older = NULL;
	s->is_raised = false;
	h->raised--;
}

static void
put_newest(struct h2 *h, struct h2_stream *s)
{
	s->is_raised = true;
	s->older = h->raised_newest;
	if (s->older)
		s->older->newer = s;
	else
		h->raised_oldest = s;
	h->raised_newest = s;
	h->raised++;
}

static void
note_active(struct h2 *h, struct h2_stream *s)
{
	struct h2_stream *old = h->raised_oldest;

	s->active = h->consumed;
	if (s->is_raised) {
		h2_window_forget(h, s);
		put_newest(h, s);
		return;
	}
	if (s->consumed < H2_RAISE_AFTER || s->peer_ended)
		return;
	if (h->raised >= LIMIT_ACTIVE_STREAMS) {
		if (h->consumed - old->active < H2_RAISED_IDLE)
			return;
		h2_window_forget(h, old);
		resize(h, old, LIMIT_WINDOW_STREAM);
	}
	put_newest(h, s);
	resize(h, s, LIMIT_WINDOW_ACTIVE);
}

void
h2_consume(struct h2 *h, int32_t stream, size_t n)
{
	struct h2_stream *s = h2_stream_find(h, stream);

	if (!s || s->is_closing || n == 0)
		return;
	BUG_IF(n > s->unread);
	s->unread -= n;
	h->unread -= n;
	s->consumed += n;
	h->consumed += n;
	if (s->is_reset)
		return;
	BUG_IF(nghttp2_session_consume_stream(h->session, stream, n) ==
	    NGHTTP2_ERR_NOMEM);
	note_active(h, s);
}
