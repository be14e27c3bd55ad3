/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection's requests: lines are gathered until the empty one, the head
 * is parsed whole (h1_head.c), the body follows (h1_body.c). Nothing here
 * looks into a line but at its end.
 */
#include <stdlib.h>
#include <string.h>

#include "http/h1_inner.h"

struct h1 *
h1_new(size_t body_max)
{
	struct h1 *h = must_alloc(sizeof(*h));

	buf_init(&h->head, LIMIT_HEADERS);
	buf_init(&h->line, H1_CHUNK_LINE);
	buf_init(&h->body, body_max);
	h->body_max = body_max;
	h->why = "";
	return h;
}

void
h1_free(struct h1 *h)
{
	if (!h)
		return;
	buf_release(&h->head);
	buf_release(&h->line);
	buf_release(&h->body);
	free(h);
}

void
h1_drop_body(struct h1 *h)
{
	buf_release(&h->body);
	buf_init(&h->body, h->body_max);
}

void
h1_next(struct h1 *h)
{
	if (h->state == H1_BROKEN)
		return;
	buf_clear(&h->head);
	buf_clear(&h->line);
	h1_drop_body(h); /* many connections may be idle */
	memset(&h->request, 0, sizeof(h->request));
	h->state = H1_IN_HEAD;
	h->seen = 0;
	h->skipped = false;
	h->left = 0;
	h->chunks = 0;
	h->trailer_bytes = 0;
	h->has_host = false;
	h->has_length = false;
}

enum h1_progress
h1_fail(struct h1 *h, int status, const char *why)
{
	h->state = H1_BROKEN;
	h->status = status;
	h->why = why;
	return H1_FAILED;
}

/*
 * Take bytes up to and with the next line feed. The one before it must be a
 * carriage return; a carriage return anywhere else is found by the parser.
 */
static enum h1_progress
take_line(struct h1 *h, struct span in, size_t *used)
{
	size_t n = span_find(in, '\n');
	bool is_whole = n < in.len;
	struct fault f = { 0 };
	struct span head;

	n += is_whole;
	*used = n;
	if (buf_add(&h->head, in.ptr, n, &f) != 0)
		return h1_fail(h, 431, "the header fields are too long");
	head = buf_span(&h->head);
	if (h->seen == 0 && head.ptr[0] != '\r' &&
	    (head.ptr[0] < 'A' || head.ptr[0] > 'Z'))
		return h1_fail(h, 400, "this is no request");
	if (!is_whole)
		return H1_MORE;
	if (head.len < 2 || head.ptr[head.len - 2] != '\r')
		return h1_fail(h, 400, "a line ends without CR");
	if (head.len - h->seen > 2) {
		h->seen = head.len;
		return H1_HEAD; /* go on: a line is there */
	}
	if (h->seen > 0)
		return h1_parse_head(h);
	if (h->skipped)
		return h1_fail(h, 400, "empty lines before the request");
	h->skipped = true;
	buf_clear(&h->head);
	return H1_MORE;
}

static enum h1_progress
feed_head(struct h1 *h, struct span in, size_t *used)
{
	while (in.len > 0 && h->state == H1_IN_HEAD) {
		size_t n;
		enum h1_progress p = take_line(h, in, &n);

		*used += n;
		in = span_from(in, n);
		if (p == H1_FAILED || h->state != H1_IN_HEAD)
			return p;
	}
	return H1_MORE;
}

enum h1_progress
h1_feed(struct h1 *h, struct span in, size_t *used)
{
	*used = 0;
	if (h->state == H1_BROKEN)
		return H1_FAILED;
	if (h->state == H1_AT_END)
		return H1_DONE;
	if (h->state == H1_IN_HEAD)
		return feed_head(h, in, used);
	return h1_feed_body(h, in, used);
}

const struct h1_request *
h1_request(const struct h1 *h)
{
	return &h->request;
}

struct span
h1_body(const struct h1 *h)
{
	return buf_span(&h->body);
}

bool
h1_is_amid(const struct h1 *h)
{
	return h->state == H1_IN_HEAD ? h->head.len > 0 || h->skipped
				      : h->state != H1_AT_END;
}

int
h1_status(const struct h1 *h)
{
	return h->status;
}

const char *
h1_why(const struct h1 *h)
{
	return h->why;
}
