/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: http */
/*
 * A stranger's bytes to the HTTP/1.1 reader. The first byte says how they are
 * cut; cut otherwise they must give the same requests, and a request that was
 * taken, written again in its plainest form, is read as the same one.
 */
#include <string.h>

#include "base/base.h"
#include "http/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	REQUESTS = 8
};

struct outcome {
	size_t requests;
	size_t used;
	int status; /* -1: no failure */
	struct buf plain;
};

static void
add(struct buf *b, struct span s)
{
	struct fault f = { 0 };

	BUG_IF(s.len && buf_add(b, s.ptr, s.len, &f) != 0);
}

/* The request with a length and without what framed it before. */
static void
write_plain(struct buf *b, const struct h1_request *r, struct span body)
{
	char text[64];

	add(b, r->method);
	add(b, SPAN_LIT(" "));
	add(b, r->path);
	if (r->query.ptr) {
		add(b, SPAN_LIT("?"));
		add(b, r->query);
	}
	(void)text_fmt(text, sizeof(text), " HTTP/1.%u\r\n", r->minor);
	add(b, span_str(text));
	for (size_t i = 0; i < r->fields_n; i++) {
		if (h1_is_word(r->fields[i].name, "content-length") ||
		    h1_is_word(r->fields[i].name, "transfer-encoding"))
			continue;
		add(b, r->fields[i].name);
		add(b, SPAN_LIT(":"));
		add(b, r->fields[i].value);
		add(b, SPAN_LIT("\r\n"));
	}
	(void)text_fmt(text, sizeof(text), "Content-Length: %zu\r\n\r\n",
	    body.len);
	add(b, span_str(text));
	add(b, body);
}

static void
read_all(struct span in, size_t step, struct outcome *o)
{
	struct h1 *h = h1_new(4096);

	*o = (struct outcome){ .status = -1 };
	buf_init(&o->plain, 1 << 20);
	while (o->requests < REQUESTS) {
		struct span rest = span_from(in, o->used);
		size_t n = 0;
		enum h1_progress p;

		if (rest.len > step)
			rest.len = step;
		p = h1_feed(h, rest, &n);
		BUG_IF(n > rest.len);
		o->used += n;
		if (p == H1_FAILED) {
			o->status = h1_status(h);
			break;
		}
		if (p == H1_DONE) {
			o->requests++;
			write_plain(&o->plain, h1_request(h), h1_body(h));
			h1_next(h);
			BUG_IF(h1_is_amid(h));
		}
		BUG_IF(p == H1_MORE && n != rest.len);
		if (p == H1_MORE && o->used == in.len)
			break;
	}
	h1_free(h);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole;
	struct outcome cut;
	struct outcome again;
	struct span in;

	if (size < 1)
		return 0;
	in = span_of(data + 1, size - 1);
	read_all(in, 1 << 20, &whole);
	read_all(in, (size_t)data[0] % 17 + 1, &cut);
	BUG_IF(whole.requests != cut.requests || whole.status != cut.status ||
	    !span_equal(buf_span(&whole.plain), buf_span(&cut.plain)));
	/* One more field at the limit of their number is another matter. */
	read_all(buf_span(&whole.plain), 1 << 20, &again);
	BUG_IF(again.status != -1 && again.status != 431);
	BUG_IF(again.status == -1 &&
	    !span_equal(buf_span(&whole.plain), buf_span(&again.plain)));
	buf_release(&whole.plain);
	buf_release(&cut.plain);
	buf_release(&again.plain);
	return 0;
}
