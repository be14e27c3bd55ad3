/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of a request, by length or in pieces (RFC 9112 7.1). Extensions of
 * a piece and trailers are checked and dropped.
 */
#include "http/h1_inner.h"

enum {
	SIZE_DIGITS = 8
};

static enum h1_progress
begin(struct h1 *h)
{
	const struct h1_request *r = &h->request;

	if (r->length > h->body_max)
		return h1_fail(h, 413, "the body is too long");
	h->left = r->length;
	h->state = r->is_chunked ? H1_IN_SIZE
	    : h->left > 0        ? H1_IN_LENGTH
				 : H1_AT_END;
	return H1_MORE;
}

static size_t
take_bytes(struct h1 *h, struct span in)
{
	size_t n = in.len < h->left ? in.len : (size_t)h->left;
	struct fault f = { 0 };

	/* Its length was held against the maximum before. */
	BUG_IF(buf_add(&h->body, in.ptr, n, &f) != 0);
	h->left -= n;
	return n;
}

/*
 * A line without its CRLF into h->line. H1_HEAD: it is whole. A CR inside is
 * no end and is refused, as is a LF alone.
 */
static enum h1_progress
take_line(struct h1 *h, struct span in, size_t *used)
{
	size_t n = span_find(in, '\n');
	bool is_whole = n < in.len;
	struct fault f = { 0 };
	struct span line;

	n += is_whole;
	*used = n;
	if (buf_add(&h->line, in.ptr, n, &f) != 0)
		return h1_fail(h, 400, "a line of the body is too long");
	if (!is_whole)
		return H1_MORE;
	line = buf_span(&h->line);
	if (line.len < 2 || line.ptr[line.len - 2] != '\r')
		return h1_fail(h, 400, "a line ends without CR");
	line.len -= 2;
	if (span_find(line, '\r') < line.len)
		return h1_fail(h, 400, "CR inside a line");
	return H1_HEAD;
}

static int
digit_of(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* "1f" or "1f;name=value"; the line is h->line, CRLF at its end. */
static bool
parse_size(struct span line, uint64_t *size)
{
	size_t i = 0;

	*size = 0;
	while (i < line.len && digit_of(line.ptr[i]) >= 0 && i < SIZE_DIGITS)
		*size = *size << 4 | (unsigned)digit_of(line.ptr[i++]);
	if (i == 0 || (i < line.len && line.ptr[i] != ';'))
		return false;
	for (; i < line.len; i++)
		if (line.ptr[i] < 0x20 || line.ptr[i] >= 0x7f)
			return false;
	return true;
}

static struct span
whole_line(const struct h1 *h)
{
	struct span line = buf_span(&h->line);

	line.len -= 2;
	return line;
}

static enum h1_progress
take_size(struct h1 *h)
{
	uint64_t size;

	if (!parse_size(whole_line(h), &size))
		return h1_fail(h, 400, "a piece's size is malformed");
	buf_clear(&h->line);
	if (size == 0) {
		h->state = H1_IN_TRAILER;
		return H1_MORE;
	}
	if (size > h->body_max - h->body.len || ++h->chunks > H1_CHUNKS)
		return h1_fail(h, 413, "the body is too long");
	h->left = size;
	h->state = H1_IN_PIECE;
	return H1_MORE;
}

static enum h1_progress
take_trailer(struct h1 *h)
{
	struct span line = whole_line(h);
	struct h1_field field;

	h->trailer_bytes += h->line.len;
	if (h->trailer_bytes > LIMIT_HEADERS)
		return h1_fail(h, 431, "the trailers are too long");
	if (line.len == 0)
		h->state = H1_AT_END;
	else if (!h1_parse_field(h, line, &field))
		return H1_FAILED;
	buf_clear(&h->line);
	return H1_MORE;
}

static enum h1_progress
take_piece_end(struct h1 *h)
{
	if (h->line.len != 2)
		return h1_fail(h, 400, "a piece is longer than its size");
	buf_clear(&h->line);
	h->state = H1_IN_SIZE;
	return H1_MORE;
}

static enum h1_progress
feed_line(struct h1 *h, struct span in, size_t *used)
{
	enum h1_progress p = take_line(h, in, used);

	if (p != H1_HEAD)
		return p;
	if (h->state == H1_IN_SIZE)
		return take_size(h);
	return h->state == H1_IN_TRAILER ? take_trailer(h) : take_piece_end(h);
}

enum h1_progress
h1_feed_body(struct h1 *h, struct span in, size_t *used)
{
	if (h->state == H1_AT_BODY && begin(h) == H1_FAILED)
		return H1_FAILED;
	while (in.len > 0 && h->state != H1_AT_END) {
		size_t n = 0;

		if (h->state == H1_IN_LENGTH || h->state == H1_IN_PIECE) {
			n = take_bytes(h, in);
			if (h->left == 0)
				h->state = h->state == H1_IN_PIECE
				    ? H1_IN_PIECE_END
				    : H1_AT_END;
		} else if (feed_line(h, in, &n) == H1_FAILED) {
			*used += n;
			return H1_FAILED;
		}
		*used += n;
		in = span_from(in, n);
	}
	return h->state == H1_AT_END ? H1_DONE : H1_MORE;
}
