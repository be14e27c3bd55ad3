/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control tunnel: a CONNECT stream of the port, in it the gateway's key
 * pin (32 bytes, from the keeper), then TLS and gRPC. It may break and come
 * back at any time; what runs in the guest does not notice.
 */
#include <string.h>

#include "supervisor/inner.h"

enum {
	RETRY_FIRST_MS = 50,
	RETRY_MOST_MS = 2000
};

static void
retry_later(struct tunnel *t)
{
	if (t->stream || t->link || t->is_closing)
		return;
	loop_timer_set(t->sv->loop, &t->retry, pace_jitter(t->wait_ms));
	t->wait_ms *= 2;
	if (t->wait_ms > RETRY_MOST_MS)
		t->wait_ms = RETRY_MOST_MS;
}

static void
feed(struct tunnel *t)
{
	size_t n;

	if (!t->link || t->in.len == 0)
		return;
	n = rpc_link_feed(t->link, buf_span(&t->in));
	buf_eat(&t->in, n);
	if (t->stream && n > 0)
		rpc_stream_consume(t->stream, n);
}

/* --- the link above: gRPC over TLS */
static size_t
link_write(void *owner, struct span bytes)
{
	struct tunnel *t = owner;

	return t->stream ? rpc_stream_write(t->stream, bytes) : 0;
}

static void
link_resume(void *owner)
{
	feed(owner);
}

static void
link_close(void *owner)
{
	struct tunnel *t = owner;

	if (t->stream)
		rpc_stream_reset(t->stream, H2_CANCEL);
}

static void
link_up(struct rpc_link *l, void *owner)
{
	struct tunnel *t = owner;
	struct fault f = { 0 };

	(void)l;
	if (session_open(&t->sv->session, &f) != 0)
		tunnel_drop(t, &f);
}

static void
link_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	struct tunnel *t = owner;

	(void)l;
	log_warn(f, "session with the gateway ended");
	t->link = NULL;
	retry_later(t);
}

static int
open_link(struct tunnel *t, struct fault *f)
{
	static const struct rpc_link_events events = { .up = link_up,
		.down = link_down };
	const struct rpc_bytes bytes = { .write = link_write,
		.resume = link_resume,
		.close = link_close,
		.owner = t };
	struct rpc_link_options o = { .events = &events, .owner = t };
	uint8_t random[TLS_ENTROPY];

	random_bytes(random, sizeof(random));
	o.tls = tls_client_new("gateway.nacre", t->pin, random, f);
	secret_wipe(random, sizeof(random));
	if (!o.tls)
		return -1;
	t->link = rpc_link_open_bytes(t->sv->loop, &bytes, &o, f);
	return t->link ? 0 : -1;
}

/* --- the stream below */
static void
stream_bytes(struct rpc_stream *s, void *owner, struct span b)
{
	struct tunnel *t = owner;
	struct fault f = { 0 };

	if (t->pin_n < TLS_PIN) {
		size_t n = TLS_PIN - t->pin_n;

		n = n < b.len ? n : b.len;
		memcpy(t->pin + t->pin_n, b.ptr, n);
		t->pin_n += n;
		b = span_from(b, n);
		rpc_stream_consume(s, n);
		if (t->pin_n == TLS_PIN && open_link(t, &f) != 0) {
			log_warn(&f, "cannot open the tunnel");
			rpc_stream_reset(s, H2_CANCEL);
			return;
		}
	}
	if (t->link && t->in.len == 0 && b.len > 0) {
		size_t n = rpc_link_feed(t->link, b);

		if (!t->stream)
			return;
		rpc_stream_consume(s, n);
		b = span_from(b, n);
	}
	/* What the link does not take now: link_resume() brings it. */
	if (b.len && buf_add(&t->in, b.ptr, b.len, &f) != 0) {
		log_warn(&f, "the tunnel brings too much");
		rpc_stream_reset(s, H2_CANCEL);
	}
}

static void
stream_eof(struct rpc_stream *s, void *owner)
{
	struct tunnel *t = owner;

	if (t->link)
		rpc_link_eof(t->link);
	else
		rpc_stream_reset(s, H2_CANCEL);
}

static void
stream_writable(struct rpc_stream *s, void *owner)
{
	struct tunnel *t = owner;

	(void)s;
	if (t->link)
		rpc_link_writable(t->link);
}

static void
stream_closed(struct rpc_stream *s, void *owner, uint32_t error)
{
	struct tunnel *t = owner;

	(void)s;
	(void)error;
	t->stream = NULL;
	buf_release(&t->in);
	if (t->link)
		rpc_link_eof(t->link);
	retry_later(t);
}

static void
retry(struct timer *timer)
{
	struct tunnel *t = CONTAINER_OF(timer, struct tunnel, retry);
	struct fault f = { 0 };

	if (tunnel_open(t, &f) != 0)
		retry_later(t);
}

int
tunnel_open(struct tunnel *t, struct fault *f)
{
	static const struct rpc_stream_events events = {
		.bytes = stream_bytes,
		.eof = stream_eof,
		.writable = stream_writable,
		.closed = stream_closed,
	};

	t->pin_n = 0;
	t->retry.fire = retry;
	if (t->wait_ms == 0)
		t->wait_ms = RETRY_FIRST_MS;
	buf_init(&t->in, 2 * LIMIT_WINDOW_ACTIVE);
	t->stream = rpc_connect(t->sv->port, "gateway.nacre:443", NULL, 0,
	    &events, t, f);
	return t->stream ? 0 : -1;
}

void
tunnel_drop(struct tunnel *t, const struct fault *why)
{
	if (t->link)
		rpc_link_drop(t->link, why);
	else if (t->stream)
		rpc_stream_reset(t->stream, H2_CANCEL);
}
