/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's side of HTTP/1.1 (RFC 9112) as an engine without hands, for
 * the doors inside a guest. A stranger's bytes go in by h1_feed() and come
 * out as one request after another; no byte behind a request is taken with
 * it. What can be read in two ways is refused, never mended: bare CR or LF,
 * folded lines, blanks before a colon, two Hosts, two lengths, a length
 * beside a coding.
 *
 *   H1_MORE -> ... -> H1_HEAD -> H1_MORE -> ... -> H1_DONE, then h1_next()
 *                 \                      \
 *                  +-> H1_FAILED          +-> H1_FAILED: answer, close
 */
#ifndef HTTP_HTTP1_H
#define HTTP_HTTP1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fault.h"

enum h1_limits {
	H1_FIELDS = 100,     /* header fields of one request */
	H1_METHOD = 32,      /* bytes of a method */
	H1_TARGET = 4096,    /* bytes of a target */
	H1_BODY = 1 << 20,   /* bytes of a body, decoded */
	H1_CHUNKS = 4096,    /* pieces of a chunked body */
	H1_CHUNK_LINE = 256, /* bytes of a piece's size line */
	/* Told to clients: less than any server here waits, so that it is the
	 * client who closes, and none sends into what closes. */
	H1_KEEP_ALIVE_S = 60,
};

struct h1_field {
	struct span name;  /* as sent; a token */
	struct span value; /* without blanks at its ends; valid UTF-8 */
};

/* All of it is borrowed from the engine until h1_next(). */
struct h1_request {
	struct span method;
	struct span path;  /* "/mcp", or "*"; escapes are left as sent */
	struct span query; /* behind '?'; ptr NULL when there is none */
	struct span host;  /* Host; empty only in HTTP/1.0 */
	unsigned minor;    /* of HTTP/1.x: 0 or 1 */
	bool closes;       /* the connection ends with its answer */
	bool expects_continue;
	bool is_chunked;
	uint64_t length; /* declared; 0 when chunked */
	struct h1_field fields[H1_FIELDS];
	size_t fields_n;
};

enum h1_progress {
	H1_MORE,   /* all was taken, more is wanted */
	H1_HEAD,   /* told once: the head is whole, the body is to come */
	H1_DONE,   /* the request is whole; nothing is taken until h1_next() */
	H1_FAILED, /* for good; h1_status() is what to answer */
};

struct h1;

/* body_max: bytes of a body past which it is refused (413). */
struct h1 *h1_new(size_t body_max);
void h1_free(struct h1 *h); /* NULL is fine */
/* *used bytes of `in` were taken. Call again with the rest until H1_MORE,
 * H1_DONE or H1_FAILED. */
enum h1_progress h1_feed(struct h1 *h, struct span in, size_t *used);
/* From H1_HEAD on. */
const struct h1_request *h1_request(const struct h1 *h);
/* From H1_DONE on. */
struct span h1_body(const struct h1 *h);
/* The body has been used: its memory goes, the head stays. */
void h1_drop_body(struct h1 *h);
/* Drop the request and begin to read the next one. */
void h1_next(struct h1 *h);
/* Has any byte of a request come that is not told as H1_DONE? */
bool h1_is_amid(const struct h1 *h);
/* After H1_FAILED: 400 ... 505, or 0: close without an answer (the peer
 * speaks HTTP/2). */
int h1_status(const struct h1 *h);
const char *h1_why(const struct h1 *h); /* never NULL */
/* Value of the first field of that name (lower case), ptr NULL when there is
 * none. n, when not NULL: how many there are. */
struct span h1_find(const struct h1_request *r, const char *name, size_t *n);
/* The nth (from 0) field of that name of a struct h1_request; false: there are
 * not so many. */
bool h1_field(const void *request, const char *name, size_t nth,
    struct span *value);
/* ASCII letters alike in either case; lower is lower case. */
bool h1_is_word_of_its_length(struct span s, const char *lower);
static inline bool
h1_is_word(struct span s, const char *lower)
{
	/* Most are another from their first byte on. */
	if (s.len > 0 && (s.ptr[0] | 0x20) != (uint8_t)lower[0])
		return false;
	return s.len == strlen(lower) && h1_is_word_of_its_length(s, lower);
}

struct h1_reply {
	int status;
	const char *type; /* Content-Type, NULL: no body */
	struct span body; /* ignored when streams */
	bool streams;     /* chunks follow, then h1_end() */
	bool is_old;      /* to HTTP/1.0: no chunks, what streams goes as it is
			   * until the connection ends */
	bool closes;  /* say Connection: close, else for how long it is kept */
	bool is_head; /* answers HEAD: the length, no body */
	/* Whole lines with their CRLF, NULL for none. Ours: what a stranger
	 * sent never goes in here. */
	const char *more;
};
/* Append a reply; -1 when out is full. */
int h1_reply(struct buf *out, const struct h1_reply *r,
    struct fault *f) MUST_CHECK;
int h1_chunk(struct buf *out, struct span piece, struct fault *f) MUST_CHECK;
int h1_end(struct buf *out, struct fault *f) MUST_CHECK;
/* "100 Continue". */
int h1_go_on(struct buf *out, struct fault *f) MUST_CHECK;

#endif
