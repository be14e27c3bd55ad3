/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a connection: making it with our limits, bytes in, bytes out.
 * Owns nghttp2's session and the bytes that wait for the transport. Never
 * calls nghttp2's reader or writer from inside one of its callbacks.
 */
#include <stdlib.h>
#include <string.h>

#include "http/inner.h"

#define OUT_MAX (4 * LIMIT_WRITE)
#define CHOKED  4096 /* more frames than all streams' ends together */
#define ACKS    64   /* answers to PING and SETTINGS that may wait */

static const nghttp2_settings_entry settings[] = {
	{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, LIMIT_WINDOW_STREAM },
	{ NGHTTP2_SETTINGS_MAX_FRAME_SIZE, LIMIT_FRAME },
	{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, LIMIT_STREAMS },
	{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIMIT_HEADERS },
	{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 }, /* client only, so it is last */
};

static nghttp2_option *
options(void)
{
	nghttp2_option *o;

	BUG_IF(nghttp2_option_new(&o) != 0);
	nghttp2_option_set_no_auto_window_update(o, 1);
	nghttp2_option_set_no_closed_streams(o, 1);
	nghttp2_option_set_max_outbound_ack(o, ACKS);
	nghttp2_option_set_stream_reset_rate_limit(o, H2_RESETS_BURST,
	    H2_RESETS_RATE);
	nghttp2_option_set_max_send_header_block_length(o, 4 * LIMIT_HEADERS);
	return o;
}

static void
session_start(struct h2 *h)
{
	nghttp2_session_callbacks *c;
	nghttp2_option *o = options();
	int rc;

	BUG_IF(nghttp2_session_callbacks_new(&c) != 0);
	h2_events_set(c);
	if (h->role == H2_SERVER)
		rc = nghttp2_session_server_new2(&h->session, c, h, o);
	else
		rc = nghttp2_session_client_new2(&h->session, c, h, o);
	nghttp2_session_callbacks_del(c);
	nghttp2_option_del(o);
	BUG_IF(rc != 0);
	rc = nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings,
	    NELEM(settings) - (h->role == H2_SERVER));
	BUG_IF(rc != 0);
	rc = nghttp2_session_set_local_window_size(h->session,
	    NGHTTP2_FLAG_NONE, 0, LIMIT_WINDOW_CONNECTION);
	BUG_IF(rc != 0);
}

struct h2 *
h2_new(enum h2_role role, const struct h2_events *events, void *owner,
    struct fault *f)
{
	struct h2 *h = must_alloc(sizeof(*h));

	(void)f; /* only memory can fail, and that aborts */
	h->role = role;
	h->events = events;
	h->owner = owner;
	h->unread_max = LIMIT_UNREAD;
	buf_init(&h->out, OUT_MAX);
	buf_init(&h->block, LIMIT_HEADERS);
	session_start(h);
	return h;
}

void
h2_set_unread_max(struct h2 *h, size_t max)
{
	h->unread_max = max;
}

void
h2_set_streams_max(struct h2 *h, uint32_t max)
{
	const nghttp2_settings_entry fewer = {
		NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, max
	};

	BUG_IF(nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, &fewer,
		   1) != 0);
}

void
h2_free(struct h2 *h)
{
	if (!h)
		return;
	BUG_IF(h->is_inside);
	for (size_t i = 0; i < H2_BUCKETS; i++)
		while (h->table[i])
			h2_stream_free(h, h->table[i]);
	nghttp2_session_del(h->session);
	buf_release(&h->out);
	buf_release(&h->block);
	free(h);
}

static int
failed(struct h2 *h, const char *what)
{
	if (!h->has_failed && h->why.code == FAULT_NONE)
		(void)fault_set(&h->why, FAULT_PROTOCOL, "%s", what);
	h->has_failed = true;
	return -1;
}

/* Pull frames until a write's worth waits. */
static void
fill(struct h2 *h)
{
	struct fault f = { 0 };
	const uint8_t *bytes;
	nghttp2_ssize n = 1;

	while (n > 0 && h->out.len < LIMIT_WRITE) {
		h->is_inside = true;
		n = nghttp2_session_mem_send2(h->session, &bytes);
		h->is_inside = false;
		if (n > 0)
			BUG_IF(buf_add(&h->out, bytes, (size_t)n, &f) != 0);
	}
	if (n < 0)
		(void)failed(h, nghttp2_strerror((int)n));
}

/* nghttp2 gives up without a word when it is flooded: say it. */
static void
give_up(struct h2 *h, int code)
{
	uint32_t error = code == NGHTTP2_ERR_BAD_CLIENT_MAGIC
	    ? NGHTTP2_PROTOCOL_ERROR
	    : NGHTTP2_ENHANCE_YOUR_CALM;

	(void)failed(h, nghttp2_strerror(code));
	(void)nghttp2_session_terminate_session(h->session, error);
}

int
h2_receive(struct h2 *h, struct span bytes, struct fault *f)
{
	nghttp2_ssize n;

	BUG_IF(h->is_inside);
	if (!h->has_failed && bytes.len > 0) {
		h->is_inside = true;
		n = nghttp2_session_mem_recv2(h->session, bytes.ptr, bytes.len);
		h->is_inside = false;
		if (n < 0)
			give_up(h, (int)n);
		fill(h); /* a GOAWAY of ours shows here */
	}
	if (!h->has_failed)
		return 0;
	*f = h->why;
	return -1;
}

struct span
h2_output(struct h2 *h)
{
	if (h->is_inside)
		return (struct span){ NULL, 0 };
	if (!h->has_failed) {
		fill(h);
		if (h->starved > 0)
			h2_stream_tell_writable(h);
	}
	return buf_span(&h->out);
}

void
h2_output_sent(struct h2 *h, size_t n)
{
	buf_eat(&h->out, n);
}

bool
h2_is_done(const struct h2 *h)
{
	if (h->out.len > 0)
		return false;
	return h->has_failed ||
	    (!nghttp2_session_want_read(h->session) &&
		!nghttp2_session_want_write(h->session));
}

bool
h2_is_choked(const struct h2 *h)
{
	return nghttp2_session_get_outbound_queue_size(h->session) > CHOKED;
}

bool
h2_has_failed(const struct h2 *h, struct fault *f)
{
	if (h->has_failed)
		*f = h->why;
	return h->has_failed;
}

void
h2_ping(struct h2 *h, uint64_t opaque)
{
	uint8_t bytes[8];

	memcpy(bytes, &opaque, sizeof(bytes));
	BUG_IF(nghttp2_submit_ping(h->session, NGHTTP2_FLAG_NONE, bytes) ==
	    NGHTTP2_ERR_NOMEM);
}

void
h2_shutdown(struct h2 *h)
{
	int32_t last = nghttp2_session_get_last_proc_stream_id(h->session);

	BUG_IF(nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE, last,
		   NGHTTP2_NO_ERROR, NULL, 0) == NGHTTP2_ERR_NOMEM);
}
