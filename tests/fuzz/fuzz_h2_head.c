/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: http */
/*
 * A stranger's header block, as "name NUL value NUL" pairs, to the reader of
 * HTTP/2's request heads. What it takes, written as HTTP/1.1, is read by that
 * reader as the same request: one cannot be asked what the other refuses.
 */
#include <string.h>

#include "base/base.h"
#include "http/http.h"

enum {
	FIELDS = 100,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
add(struct buf *b, struct span s)
{
	struct fault f = { 0 };

	BUG_IF(s.len && buf_add(b, s.ptr, s.len, &f) != 0);
}

static void
write_http1(struct buf *b, const struct h1_request *r)
{
	add(b, r->method);
	add(b, SPAN_LIT(" "));
	add(b, r->path);
	if (r->query.ptr) {
		add(b, SPAN_LIT("?"));
		add(b, r->query);
	}
	add(b, SPAN_LIT(" HTTP/1.1\r\n"));
	for (size_t i = 0; i < r->fields_n; i++) {
		add(b, r->fields[i].name);
		add(b, SPAN_LIT(":"));
		add(b, r->fields[i].value);
		add(b, SPAN_LIT("\r\n"));
	}
	add(b, SPAN_LIT("\r\n"));
}

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

static struct span
trim(struct span s)
{
	while (s.len > 0 && is_blank(s.ptr[0]))
		s = span_from(s, 1);
	while (s.len > 0 && is_blank(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

static void
compare(const struct h1_request *a, const struct h1_request *b)
{
	BUG_IF(!span_equal(a->method, b->method) ||
	    !span_equal(a->path, b->path) || !span_equal(a->query, b->query) ||
	    !span_equal(a->host, b->host) || a->length != b->length ||
	    a->fields_n != b->fields_n ||
	    a->expects_continue != b->expects_continue);
	for (size_t i = 0; i < a->fields_n; i++)
		BUG_IF(!span_equal(a->fields[i].name, b->fields[i].name) ||
		    !span_equal(trim(a->fields[i].value), b->fields[i].value));
}

static void
read_again(const struct h1_request *r)
{
	struct h1 *h = h1_new(0);
	struct buf text;
	struct span in;
	enum h1_progress p;
	size_t used;

	buf_init(&text, 1 << 20);
	write_http1(&text, r);
	in = buf_span(&text);
	p = h1_feed(h, in, &used);
	/* A first letter that is no capital, or bytes of all the fields. */
	if (p == H1_HEAD)
		compare(r, h1_request(h));
	else
		BUG_IF(h1_status(h) != 431 && in.ptr[0] >= 'A' &&
		    in.ptr[0] <= 'Z');
	h1_free(h);
	buf_release(&text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span in = span_of(data, size);
	struct h2_header hs[FIELDS];
	struct h1_request r;
	size_t n = 0;
	int status;

	while (in.len > 0 && n < FIELDS) {
		size_t name = span_find(in, 0);
		struct span rest = span_from(in, name + 1);
		size_t value = span_find(rest, 0);

		hs[n].name = span_of(in.ptr, name);
		hs[n++].value = span_of(rest.ptr, value);
		in = span_from(rest, value + 1);
	}
	status = h2_read_request(hs, n, &r);
	BUG_IF(status != 0 && (status < 400 || status > 599));
	if (status == 0)
		read_again(&r);
	return 0;
}
