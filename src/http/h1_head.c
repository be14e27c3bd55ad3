/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of a request: its line, its fields, and what the fields that frame
 * a message say (RFC 9112 3, 5, 6). A field that frames may come once.
 */
#include <string.h>

#include "http/h1_inner.h"

static bool
is_alnum(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	    (c >= 'a' && c <= 'z');
}

/* strchr() would take the NUL for one of them. */
static bool
is_one_of(uint8_t c, const char *set)
{
	return c != '\0' && strchr(set, c) != NULL;
}

bool
h1_is_token(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!is_alnum(s.ptr[i]) && s.ptr[i] != '-' &&
		    !is_one_of(s.ptr[i], "!#$%&'*+.^_`|~"))
			return false;
	return s.len > 0;
}

bool
h1_is_word_of_its_length(struct span s, const char *lower)
{
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.ptr[i];

		if (c >= 'A' && c <= 'Z')
			c = (uint8_t)(c - 'A' + 'a');
		if (c != (uint8_t)lower[i])
			return false;
	}
	return true;
}

static bool
fail(struct h1 *h, int status, const char *why)
{
	(void)h1_fail(h, status, why);
	return false;
}

/* --- the request line */
static bool
is_hex(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') ||
	    (c >= 'a' && c <= 'f');
}

/* Printable ASCII without what no target holds (RFC 3986), whole escapes. */
static bool
is_target(struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.ptr[i];

		if (c <= 0x20 || c >= 0x7f || is_one_of(c, "#\"<>\\^`{|}"))
			return false;
		if (c == '%' &&
		    (i + 2 >= s.len || !is_hex(s.ptr[i + 1]) ||
			!is_hex(s.ptr[i + 2])))
			return false;
	}
	return s.len > 0;
}

static bool
is_host(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!is_alnum(s.ptr[i]) &&
		    !is_one_of(s.ptr[i], "-._~!$&'()*+,;=%:[]"))
			return false;
	return s.len > 0 && s.len <= 300;
}

static struct span
part(struct span s, size_t from, size_t to)
{
	return span_of(s.ptr + from, to - from);
}

/* http://host/path: the authority must be what Host says, checked later. */
bool
h1_take_target(struct h1 *h, struct span t, struct span *authority)
{
	struct h1_request *r = &h->request;
	size_t at;

	*authority = span_of(NULL, 0);
	if (t.len > H1_TARGET)
		return fail(h, 414, "the target is too long");
	if (!is_target(t))
		return fail(h, 400, "the target is malformed");
	if (span_is(t, "*") && span_is(r->method, "OPTIONS")) {
		r->path = t;
		return true;
	}
	if (t.len > 7 && h1_is_word(part(t, 0, 7), "http://")) {
		t = span_from(t, 7);
		at = span_find(t, '/');
		*authority = part(t, 0, at);
		if (at == t.len || !is_host(*authority))
			return fail(h, 400, "the target is malformed");
		t = span_from(t, at);
	}
	if (t.ptr[0] != '/')
		return fail(h, 400, "the target is no path");
	at = span_find(t, '?');
	r->path = part(t, 0, at);
	if (at < t.len)
		r->query = part(t, at + 1, t.len);
	return true;
}

static bool
take_version(struct h1 *h, struct span v)
{
	if (span_is(v, "HTTP/1.1"))
		h->request.minor = 1;
	else if (span_is(v, "HTTP/1.0"))
		h->request.closes = true;
	else if (span_is(v, "HTTP/2.0") && span_is(h->request.method, "PRI"))
		return fail(h, 0, "the peer speaks HTTP/2");
	else if (v.len == 8 && span_starts(v, "HTTP/") && v.ptr[6] == '.')
		return fail(h, 505, "this version is not spoken here");
	else
		return fail(h, 400, "the request line is malformed");
	return true;
}

static bool
take_request_line(struct h1 *h, struct span line, struct span *authority)
{
	size_t first = span_find(line, ' ');
	struct span rest = span_from(line, first + 1);
	size_t second = span_find(rest, ' ');

	h->request.method = part(line, 0, first);
	if (first == line.len || second == rest.len ||
	    !h1_is_token(h->request.method) || first > H1_METHOD)
		return fail(h, 400, "the request line is malformed");
	return take_version(h, span_from(rest, second + 1)) &&
	    h1_take_target(h, part(rest, 0, second), authority);
}

/* --- fields that mean something here */
static bool
take_host(struct h1 *h, struct span v)
{
	if (h->has_host)
		return fail(h, 400, "there are two Host fields");
	if (!is_host(v))
		return fail(h, 400, "Host is malformed");
	h->has_host = true;
	h->request.host = v;
	return true;
}

static bool
take_length(struct h1 *h, struct span v)
{
	uint64_t n = 0;

	if (h->has_length)
		return fail(h, 400, "there are two Content-Length fields");
	if (v.len == 0 || v.len > 18)
		return fail(h, 400, "Content-Length is malformed");
	for (size_t i = 0; i < v.len; i++) {
		if (v.ptr[i] < '0' || v.ptr[i] > '9')
			return fail(h, 400, "Content-Length is malformed");
		n = n * 10 + (v.ptr[i] - '0');
	}
	h->has_length = true;
	h->request.length = n;
	return true;
}

static bool
take_coding(struct h1 *h, struct span v)
{
	if (h->request.is_chunked)
		return fail(h, 400, "there are two Transfer-Encoding fields");
	if (!h1_is_word(v, "chunked"))
		return fail(h, 501, "this transfer coding is not known");
	h->request.is_chunked = true;
	return true;
}

static struct span
trim(struct span s)
{
	while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
		s = span_from(s, 1);
	while (
	    s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
		s.len--;
	return s;
}

/* What names a framing field here would have it removed on the way. */
static bool
take_connection(struct h1 *h, struct span v)
{
	while (v.len > 0) {
		size_t n = span_find(v, ',');
		struct span word = trim(part(v, 0, n));

		v = span_from(v, n + 1);
		if (h1_is_word(word, "close"))
			h->request.closes = true;
		else if (h1_is_word(word, "host") ||
		    h1_is_word(word, "content-length") ||
		    h1_is_word(word, "transfer-encoding"))
			return fail(h, 400, "Connection names a framing field");
		else if (word.len > 0 && !h1_is_token(word))
			return fail(h, 400, "Connection is malformed");
	}
	return true;
}

static bool
take_expect(struct h1 *h, struct span v)
{
	if (!h1_is_word(v, "100-continue"))
		return fail(h, 417, "this expectation is not known");
	h->request.expects_continue = h->request.minor > 0;
	return true;
}

/* clang-format off */
static const struct {
	const char *name;
	bool (*take)(struct h1 *h, struct span value);
} known[] = {
	{ "host", take_host },
	{ "content-length", take_length },
	{ "transfer-encoding", take_coding },
	{ "connection", take_connection },
	{ "expect", take_expect },
};
/* clang-format on */

static bool
check_value(struct h1 *h, struct span value)
{
	for (size_t i = 0; i < value.len; i++) {
		uint8_t c = value.ptr[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return fail(h, 400, "a control byte in a field");
	}
	if (!utf8_valid(value))
		return fail(h, 400, "a field is not UTF-8");
	return true;
}

bool
h1_parse_field(struct h1 *h, struct span line, struct h1_field *out)
{
	size_t colon = span_find(line, ':');

	if (line.ptr[0] == ' ' || line.ptr[0] == '\t')
		return fail(h, 400, "a line is folded");
	out->name = part(line, 0, colon);
	out->value = trim(span_from(line, colon + 1));
	if (colon == line.len || !h1_is_token(out->name))
		return fail(h, 400, "a field's name is malformed");
	return check_value(h, out->value);
}

static bool
take_field(struct h1 *h, struct span name, struct span value)
{
	struct h1_request *r = &h->request;

	if (r->fields_n == H1_FIELDS)
		return fail(h, 431, "there are too many fields");
	r->fields[r->fields_n++] = (struct h1_field){ name, value };
	for (size_t i = 0; i < NELEM(known); i++)
		if (h1_is_word(name, known[i].name))
			return known[i].take(h, value);
	return true;
}

bool
h1_take_field(struct h1 *h, struct span name, struct span value)
{
	return check_value(h, value) && take_field(h, name, value);
}

static bool
take_line(struct h1 *h, struct span line)
{
	struct h1_field field;

	return h1_parse_field(h, line, &field) &&
	    take_field(h, field.name, field.value);
}

/* What only all the fields together say. */
static bool
check_whole(struct h1 *h, struct span authority)
{
	const struct h1_request *r = &h->request;

	if (r->minor == 1 && !h->has_host)
		return fail(h, 400, "Host is missing");
	if (authority.ptr && h->has_host && !span_equal(authority, r->host))
		return fail(h, 400, "Host is not the target's");
	if (r->is_chunked && h->has_length)
		return fail(h, 400, "a length beside a transfer coding");
	if (r->is_chunked && r->minor == 0)
		return fail(h, 400, "a transfer coding in HTTP/1.0");
	return true;
}

enum h1_progress
h1_parse_head(struct h1 *h)
{
	struct span rest = buf_span(&h->head);
	struct span authority = { NULL, 0 };
	bool is_first = true;

	/* Each line ends with CRLF; the last one is empty. */
	while (rest.len > 2) {
		size_t n = span_find(rest, '\n');
		struct span line = part(rest, 0, n - 1);

		rest = span_from(rest, n + 1);
		if (is_first ? !take_request_line(h, line, &authority)
			     : !take_line(h, line))
			return H1_FAILED;
		is_first = false;
	}
	if (!check_whole(h, authority))
		return H1_FAILED;
	h->state = H1_AT_BODY;
	return H1_HEAD;
}

bool
h1_field(const void *request, const char *name, size_t nth, struct span *value)
{
	const struct h1_request *r = request;
	size_t n = strlen(name);

	for (size_t i = 0; i < r->fields_n; i++) {
		struct span is = r->fields[i].name;

		if (is.len != n || !h1_is_word_of_its_length(is, name) ||
		    nth-- > 0)
			continue;
		*value = r->fields[i].value;
		return true;
	}
	return false;
}

struct span
h1_find(const struct h1_request *r, const char *name, size_t *n)
{
	struct span found = { NULL, 0 };
	size_t count = 0;

	for (size_t i = 0; i < r->fields_n; i++)
		if (h1_is_word(r->fields[i].name, name) && count++ == 0)
			found = r->fields[i].value;
	if (n)
		*n = count;
	return found;
}
