/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1's server side is in http1.h, which comes with this one. Here:
 *
 * HTTP/2 (RFC 9113) as an engine without hands: nghttp2 behind our windows
 * and caps (DESIGN 3). Bytes in by h2_receive(), bytes out by h2_output();
 * what happens is told by callbacks. Either role.
 *
 * Windows: connection 256 KiB, given back at receipt, always. Stream 64 KiB,
 * given back only by h2_consume(); raised to 256 KiB for the 32 most
 * recently active streams. Frames 16 KiB. At most 1000 streams and 64 MiB
 * unread or unsent a side: past it the stream that asks is reset
 * (ENHANCE_YOUR_CALM) or h2_write() takes nothing.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "http/http1.h"

struct h2;

struct h2_header {
	struct span name; /* lower case */
	struct span value;
};

struct h2_events {
	/* A header block came: request, response, or trailers (end set). */
	void (*headers)(void *owner, int32_t stream, const struct h2_header *h,
	    size_t n, bool end);
	/* Body bytes; give them back with h2_consume() once used. */
	void (*data)(void *owner, int32_t stream, struct span bytes);
	/* The peer finished its side (after headers or data). */
	void (*end)(void *owner, int32_t stream);
	/* The stream is gone, by reset (error != 0) or both ends finished. */
	void (*closed)(void *owner, int32_t stream, uint32_t error);
	/* There is room again after h2_write() took less than offered. */
	void (*writable)(void *owner, int32_t stream);
	/* The peer's SETTINGS came: it speaks HTTP/2. */
	void (*settings)(void *owner);
	/* A PING of ours was answered; opaque is what it carried. */
	void (*pong)(void *owner, uint64_t opaque);
	/* The peer sent GOAWAY: no new streams. */
	void (*goaway)(void *owner);
};

enum h2_role {
	H2_CLIENT,
	H2_SERVER,
};

/* events and owner are borrowed. Callbacks may call any h2_ function but
 * h2_free() and h2_receive(); h2_output() gives nothing inside them. Unset
 * callbacks are skipped. Streams still open at h2_free() are not told. */
struct h2 *h2_new(enum h2_role role, const struct h2_events *events,
    void *owner, struct fault *f) MUST_CHECK;
void h2_free(struct h2 *h);
/* Another bound on what may be unread than LIMIT_UNREAD. */
void h2_set_unread_max(struct h2 *h, size_t max);
/* Another number of streams that the peer may have open than LIMIT_STREAMS;
 * before anything came of it. */
void h2_set_streams_max(struct h2 *h, uint32_t max);

/* Bytes from the peer. -1: protocol error, the connection is finished (what
 * h2_output() still gives is the GOAWAY). When much waits to be sent the
 * error may show later, by h2_is_done() and h2_has_failed(). */
int h2_receive(struct h2 *h, struct span bytes, struct fault *f) MUST_CHECK;
/* A window of bytes for the peer (empty: nothing to send now), then how much
 * of it went. Data frames are interleaved fairly between streams. */
struct span h2_output(struct h2 *h);
void h2_output_sent(struct h2 *h, size_t n);
/* Neither side wants anything more: the connection can be dropped. */
bool h2_is_done(const struct h2 *h);
/* Thousands of frames that no window bounds wait to be sent: stop feeding
 * it bytes until it has sent some. */
bool h2_is_choked(const struct h2 *h);
/* Why, when a protocol error ended it. */
bool h2_has_failed(const struct h2 *h, struct fault *f);

/* Client: open a stream. *stream > 0. end: no body follows. */
int h2_request(struct h2 *h, const struct h2_header *hs, size_t n, bool end,
    int32_t *stream, struct fault *f) MUST_CHECK;
/* Server: answer. end: headers only. */
int h2_respond(struct h2 *h, int32_t stream, const struct h2_header *hs,
    size_t n, bool end, struct fault *f) MUST_CHECK;
/* Queue body bytes (copied); returns how many were taken: less than offered
 * past 256 KiB queued on the stream; `writable` tells when to go on. */
size_t h2_write(struct h2 *h, int32_t stream, struct span bytes);
/* Ask for `writable` as if h2_write() had taken less than offered. */
void h2_want_writable(struct h2 *h, int32_t stream);
/* After what is queued: end of our side, with trailers when n > 0. */
int h2_end(struct h2 *h, int32_t stream, const struct h2_header *trailers,
    size_t n, struct fault *f) MUST_CHECK;
/* Server, after the answer was queued: when our end has gone and the peer
 * still has not ended its own, reset it with NO_ERROR (RFC 9113 8.1). */
void h2_end_both(struct h2 *h, int32_t stream);
/* Server, before it answers: "100 Continue". */
void h2_go_on(struct h2 *h, int32_t stream);
void h2_consume(struct h2 *h, int32_t stream, size_t n);
void h2_reset(struct h2 *h, int32_t stream, uint32_t error);
void h2_ping(struct h2 *h, uint64_t opaque);
/* No new streams from the peer; those that run may finish. */
void h2_shutdown(struct h2 *h);

/* Owner's pointer of a stream; NULL when there is none. */
void h2_set_user(struct h2 *h, int32_t stream, void *user);
void *h2_user(struct h2 *h, int32_t stream);
size_t h2_queued(struct h2 *h, int32_t stream);   /* unsent body bytes */
size_t h2_writable(struct h2 *h, int32_t stream); /* room for h2_write() */
size_t h2_streams(const struct h2 *h);

#define H2_NO_ERROR          0x0U
#define H2_PROTOCOL_ERROR    0x1U
#define H2_INTERNAL_ERROR    0x2U
#define H2_REFUSED_STREAM    0x7U
#define H2_CANCEL            0x8U
#define H2_CONNECT_ERROR     0xaU
#define H2_ENHANCE_YOUR_CALM 0xbU

/*
 * A request's header block as HTTP/1.1's reader would tell it: judged by the
 * same limits and rules, :authority as Host, length 0 and is_chunked when no
 * length is declared and a body may come. 0 and *r, which borrows hs; else the
 * status to refuse it with, 4xx. Pseudo fields are none of r->fields.
 */
int h2_read_request(const struct h2_header *hs, size_t n,
    struct h1_request *r) MUST_CHECK;

/* Find a header by lower-case name; empty span with ptr NULL when absent. */
struct span h2_find(const struct h2_header *hs, size_t n, const char *name);

#endif
