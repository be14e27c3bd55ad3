/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of a request that came by HTTP/2 (RFC 9113 8.3), told as HTTP/1.1's
 * reader tells it, so that who serves both has one kind of request and one set
 * of limits. nghttp2 has refused most of what is malformed before; nothing here
 * relies on that.
 */
#include "http/h1_inner.h"
#include "http/http.h"

struct pseudo {
	struct span method;
	struct span path;
	struct span authority;
	struct span scheme;
};

static bool
refuse(struct h1 *h, const char *why)
{
	(void)h1_fail(h, 400, why);
	return false;
}

static bool
is_name(struct span name)
{
	for (size_t i = 0; i < name.len; i++)
		if (name.ptr[i] >= 'A' && name.ptr[i] <= 'Z')
			return false;
	return h1_is_token(name);
}

/* They speak of a connection, which HTTP/2 frames itself (8.2.2). */
static bool
is_of_connection(const struct h2_header *f)
{
	static const char *const names[] = { "connection", "keep-alive",
		"proxy-connection", "transfer-encoding", "upgrade" };

	for (size_t i = 0; i < NELEM(names); i++)
		if (span_is(f->name, names[i]))
			return true;
	return span_is(f->name, "te") && !h1_is_word(f->value, "trailers");
}

static bool
take_pseudo(struct h1 *h, struct pseudo *p, const struct h2_header *f)
{
	struct span *to = span_is(f->name, ":method") ? &p->method
	    : span_is(f->name, ":path")               ? &p->path
	    : span_is(f->name, ":authority")          ? &p->authority
	    : span_is(f->name, ":scheme")             ? &p->scheme
						      : NULL;

	if (to == NULL || to->ptr != NULL || h->request.fields_n > 0)
		return refuse(h, "a pseudo field is out of place");
	*to = f->value.ptr != NULL ? f->value : SPAN_LIT("");
	return true;
}

/* Host beside :authority says the same or is refused. */
static bool
take_field(struct h1 *h, const struct pseudo *p, const struct h2_header *f)
{
	if (!is_name(f->name))
		return refuse(h, "a field's name is malformed");
	if (is_of_connection(f))
		return refuse(h, "a field of a connection");
	if (!span_is(f->name, "host") || p->authority.ptr == NULL)
		return h1_take_field(h, f->name, f->value);
	if (!span_equal(f->value, p->authority))
		return refuse(h, "Host is not :authority");
	return true;
}

static bool
take_line(struct h1 *h, const struct pseudo *p)
{
	struct h1_request *r = &h->request;
	struct span none;

	if (!h1_is_token(p->method) || p->method.len > H1_METHOD)
		return refuse(h, "the method is malformed");
	r->method = p->method;
	if (p->path.len == 0 || p->scheme.len == 0 ||
	    (p->path.ptr[0] != '/' && !span_is(p->path, "*")))
		return refuse(h, "the target is malformed");
	if (!h1_take_target(h, p->path, &none))
		return false;
	if (p->authority.ptr == NULL)
		return h->has_host || refuse(h, "Host is missing");
	return h1_take_field(h, SPAN_LIT("host"), p->authority);
}

int
h2_read_request(const struct h2_header *hs, size_t n, struct h1_request *r)
{
	struct h1 h = { .request = { .minor = 1 } };
	struct pseudo p = { 0 };
	bool good = true;

	for (size_t i = 0; good && i < n; i++)
		good = span_starts(hs[i].name, ":")
		    ? take_pseudo(&h, &p, &hs[i])
		    : take_field(&h, &p, &hs[i]);
	if (!good || !take_line(&h, &p))
		return h.status;
	h.request.is_chunked = !h.has_length;
	*r = h.request;
	return 0;
}
