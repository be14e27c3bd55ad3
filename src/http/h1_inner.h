/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of HTTP/1.1: what the reader of heads and the reader of bodies share,
 * and what HTTP/2's reader of heads takes from them. */
#ifndef HTTP_H1_INNER_H
#define HTTP_H1_INNER_H

#include "base/base.h"
#include "http/http1.h"

enum h1_state {
	H1_IN_HEAD,
	H1_AT_BODY, /* the head was told */
	H1_IN_LENGTH,
	H1_IN_SIZE, /* the line before a piece */
	H1_IN_PIECE,
	H1_IN_PIECE_END, /* its CRLF */
	H1_IN_TRAILER,
	H1_AT_END,
	H1_BROKEN,
};

struct h1 {
	enum h1_state state;
	struct buf head; /* whole lines and the one that has begun */
	size_t seen;     /* bytes of head behind the last line feed */
	bool skipped;    /* the one empty line that may come first */
	struct buf line; /* of a chunked body, without its end */
	struct buf body;
	size_t body_max;
	uint64_t left; /* bytes of the body or of the piece to come */
	size_t chunks;
	size_t trailer_bytes;
	struct h1_request request;
	bool has_host;
	bool has_length;
	int status;
	const char *why;
};

/* Refuse; returns H1_FAILED. why is a literal. */
enum h1_progress h1_fail(struct h1 *h, int status, const char *why);
/* The bytes of head are whole, their last line is empty: fill the request.
 * H1_HEAD or H1_FAILED. */
enum h1_progress h1_parse_head(struct h1 *h);
/* One field line without its end. Here and below, false: h1_fail() was
 * called. */
bool h1_parse_field(struct h1 *h, struct span line, struct h1_field *out);
/* What follows judges one part and keeps it in the request. */
bool h1_take_target(struct h1 *h, struct span t, struct span *authority);
bool h1_take_field(struct h1 *h, struct span name, struct span value);
bool h1_is_token(struct span s);
enum h1_progress h1_feed_body(struct h1 *h, struct span in, size_t *used);

#endif
