/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside http. One struct h2 holds nghttp2's session, what waits to be sent
 * and a table of streams; the header block that is arriving is kept here,
 * since blocks of two streams never mix (RFC 9113 4.3).
 */
#ifndef HTTP_INNER_H
#define HTTP_INNER_H

#include <nghttp2/nghttp2.h>

#include "base/base.h"
#include "http/http.h"

#define H2_BUCKETS      256         /* power of two */
#define H2_FIELDS       128         /* header fields of one block */
#define H2_QUEUE        (256 << 10) /* unsent bytes of one stream */
#define H2_QUEUE_KEPT   (64 << 10)  /* memory an empty queue may keep */
#define H2_WIDE         2           /* streams that keep all of theirs */
#define H2_CALM         256         /* times it empties, with little in it */
#define H2_FRAME_HEAD   9           /* bytes (RFC 9113 4.1) */
#define H2_RAISE_AFTER  (LIMIT_WINDOW_STREAM / 2)
#define H2_RAISED_IDLE  (4 << 20) /* of others' bytes, before it is lowered */
#define H2_RESETS_BURST 1000
#define H2_RESETS_RATE  100 /* a second */
/* Streams that broke a rule, less those that ended well. */
#define H2_BROKEN       1000

struct h2_stream {
	int32_t id;
	void *user;
	struct h2_stream *next; /* in the bucket */
	struct buf queue;       /* body, not yet in a frame */
	nghttp2_nv *trailers;
	size_t trailers_n;
	size_t unread;   /* told to the owner, not given back */
	size_t consumed; /* given back so far */
	uint64_t active; /* the connection's count at the last give-back */
	struct h2_stream *newer;
	struct h2_stream *older; /* among the raised */
	bool is_raised;
	bool is_told;     /* the owner knows it */
	bool is_started;  /* our header block was handed to nghttp2 */
	bool is_deferred; /* nghttp2 waits for body bytes */
	bool is_ending;   /* end after what is queued */
	bool is_starved;  /* h2_write() took less than offered */
	bool is_reset;    /* by us; nothing more is told but closed */
	bool is_closing;  /* inside its closed callback */
	bool peer_ended;
	bool sent_end;   /* the frame that ends our side has been written */
	bool is_wide;    /* its empty queue keeps its memory */
	uint16_t calm;   /* times it emptied since there was much in it */
	bool drops_rest; /* then the peer's side is reset */
};

struct h2_piece { /* one field: offsets into h2.block */
	size_t name;
	size_t name_len;
	size_t value;
	size_t value_len;
};

struct h2 {
	nghttp2_session *session;
	enum h2_role role;
	const struct h2_events *events;
	void *owner;
	struct buf out;
	struct h2_stream *table[H2_BUCKETS];
	size_t streams;
	size_t unread;
	size_t unread_max;
	size_t unsent;
	size_t starved;
	size_t wide; /* streams */
	uint64_t consumed;
	size_t broken; /* streams that the peer made us reset, less good ones */
	struct h2_stream *raised_newest;
	struct h2_stream *raised_oldest;
	size_t raised;
	struct buf block;
	struct h2_piece pieces[H2_FIELDS];
	size_t pieces_n;
	bool is_inside; /* nghttp2 is calling us */
	bool has_failed;
	bool has_goaway;
	struct fault why;
};

/* stream.c */
struct h2_stream *h2_stream_open(struct h2 *h, int32_t id);
struct h2_stream *h2_stream_find(const struct h2 *h, int32_t id);
void h2_stream_free(struct h2 *h, struct h2_stream *s);
void h2_stream_tell_writable(struct h2 *h);

/* window.c */
void h2_window_forget(struct h2 *h, struct h2_stream *s);

/* events.c */
void h2_events_set(nghttp2_session_callbacks *c);
nghttp2_ssize h2_body_read(nghttp2_session *ng, int32_t id, uint8_t *to,
    size_t size, uint32_t *flags, nghttp2_data_source *source, void *arg);

/* header.c */
/* A copy in nghttp2's form in one allocation; NULL and *f when one is not a
 * header or all are over LIMIT_HEADERS. */
nghttp2_nv *h2_header_pack(const struct h2_header *hs, size_t n,
    struct fault *f);
/* Take one field of the arriving block; false past the limits. */
bool h2_header_take(struct h2 *h, struct span name, struct span value);

#endif
