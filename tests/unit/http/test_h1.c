/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of HTTP/1.1: what is taken, what is refused and with what, that
 * it makes no difference how the bytes are cut, and that no byte behind a
 * request is taken with it.
 */
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "http/http.h"

#define HOST "Host: a\r\n"
#define GET  "GET / HTTP/1.1\r\n" HOST
#define POST "POST / HTTP/1.1\r\n" HOST
#define CHNK POST "Transfer-Encoding: chunked\r\n"

/* Feed in pieces of `step` until it ends; used: bytes taken in all. */
static enum h1_progress
feed(struct h1 *h, struct span in, size_t step, size_t *used)
{
	enum h1_progress p = H1_MORE;
	bool told = false;

	*used = 0;
	for (;;) {
		struct span rest = span_from(in, *used);
		size_t n = 0;

		if (rest.len > step)
			rest.len = step;
		p = h1_feed(h, rest, &n);
		assert_true(n <= rest.len);
		*used += n;
		if (p == H1_HEAD) {
			assert_false(told);
			told = true;
			continue;
		}
		if (p != H1_MORE)
			return p;
		assert_int_equal(n, rest.len);
		if (*used == in.len)
			return p;
	}
}

static const size_t steps[] = { 1, 2, 3, 7, 100000 };

static void
one_request_is_read_whatever_the_pieces(void **state)
{
	static const char text[] =
	    "\r\nPOST /mcp?a=1&b=%20 HTTP/1.1\r\nHost: openshell.local:80\r\n"
	    "X-One:  two words\t\r\nx-one: 2\r\nConnection: Keep-Alive, x\r\n"
	    "Content-Length: 5\r\nExpect: 100-Continue\r\n\r\nhelloGET /";

	(void)state;
	for (size_t i = 0; i < NELEM(steps); i++) {
		struct h1 *h = h1_new(H1_BODY);
		const struct h1_request *r = h1_request(h);
		size_t used;
		size_t n;

		assert_false(h1_is_amid(h));
		assert_int_equal(feed(h, SPAN_LIT(text), steps[i], &used),
		    H1_DONE);
		assert_int_equal(used, strlen(text) - strlen("GET /"));
		assert_true(span_is(r->method, "POST"));
		assert_true(span_is(r->path, "/mcp"));
		assert_true(span_is(r->query, "a=1&b=%20"));
		assert_true(span_is(r->host, "openshell.local:80"));
		assert_int_equal(r->minor, 1);
		assert_false(r->closes);
		assert_true(r->expects_continue);
		assert_int_equal(r->length, 5);
		assert_true(span_is(h1_body(h), "hello"));
		assert_true(span_is(h1_find(r, "x-one", &n), "two words"));
		assert_int_equal(n, 2);
		assert_null(h1_find(r, "x-two", &n).ptr);
		assert_int_equal(n, 0);
		h1_next(h);
		assert_int_equal(feed(h, SPAN_LIT(GET "\r\n"), steps[i], &used),
		    H1_DONE);
		assert_null(r->query.ptr);
		assert_int_equal(h1_body(h).len, 0);
		h1_free(h);
	}
}

static void
pieces_become_one_body(void **state)
{
	static const char text[] = CHNK
	    "\r\n5\r\nhello\r\n00000001;a=b;c=\"d e\"\r\n!\r\nA\r\n0123456789"
	    "\r\n0\r\nX-Trailer: t\r\n\r\nGET";

	(void)state;
	for (size_t i = 0; i < NELEM(steps); i++) {
		struct h1 *h = h1_new(H1_BODY);
		size_t used;

		assert_int_equal(feed(h, SPAN_LIT(text), steps[i], &used),
		    H1_DONE);
		assert_int_equal(used, strlen(text) - 3);
		assert_true(span_is(h1_body(h), "hello!0123456789"));
		h1_free(h);
	}
}

static void
the_connection_says_whether_it_goes_on(void **state)
{
	static const struct {
		const char *text;
		bool closes;
	} rows[] = {
		{ GET "\r\n", false },
		{ GET "Connection: close\r\n\r\n", true },
		{ GET "Connection: keep-alive, Close\r\n\r\n", true },
		{ "GET / HTTP/1.0\r\n\r\n", true },
		{ "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		struct h1 *h = h1_new(H1_BODY);
		size_t used;

		assert_int_equal(feed(h, span_str(rows[i].text), 100000, &used),
		    H1_DONE);
		assert_int_equal(h1_request(h)->closes, rows[i].closes);
		h1_free(h);
	}
}

static void
targets_are_paths(void **state)
{
	static const struct {
		const char *text;
		const char *path;
	} rows[] = {
		{ "GET http://a/b?c HTTP/1.1\r\n" HOST "\r\n", "/b" },
		{ "GET HTTP://a/ HTTP/1.1\r\n" HOST "\r\n", "/" },
		{ "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", "*" },
		{ "GET //x/../y;z=1 HTTP/1.1\r\n" HOST "\r\n", "//x/../y;z=1" },
		{ "GET /%2e%2F HTTP/1.1\r\n" HOST "\r\n", "/%2e%2F" },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		struct h1 *h = h1_new(H1_BODY);
		size_t used;

		assert_int_equal(feed(h, span_str(rows[i].text), 100000, &used),
		    H1_DONE);
		assert_true(span_is(h1_request(h)->path, rows[i].path));
		h1_free(h);
	}
}

/* clang-format off */
static const struct {
	const char *text;
	int status;
} refused[] = {
	{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0 },
	{ "\x16\x03\x01", 400 },
	{ "\n", 400 },
	{ "\r\n\r\n", 400 },
	{ " GET / HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET  / HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET /  HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET /\tHTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET / HTTP/1.1 \r\n" HOST "\r\n", 400 },
	{ "GET /\r\n\r\n", 400 },
	{ "GET\r\n\r\n", 400 },
	{ "G@T / HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET / http/1.1\r\n" HOST "\r\n", 400 },
	{ "GET / HTTP/1.2\r\n" HOST "\r\n", 505 },
	{ "GET / HTTP/2.0\r\n" HOST "\r\n", 505 },
	{ "GET / HTTP/11.1\r\n" HOST "\r\n", 400 },
	{ "GET a HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET * HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "CONNECT a:1 HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET https://a/ HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET http://a HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET http:/// HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET http://b/ HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET http://u@a/ HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET /#x HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET /\\x HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET /%2 HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET /%zz HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET /\x80 HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "GET / HTTP/1.1\n" HOST "\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: a\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: a\r\n\n", 400 },
	{ "GET / HTTP/1.1\rX: y\r\nHost: a\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: a\rX: y\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\n\r\n", 400 },
	{ GET "Host: a\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost:\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400 },
	{ GET "X: a\r\n b\r\n\r\n", 400 },
	{ GET "X: a\r\n\tb\r\n\r\n", 400 },
	{ GET "X : a\r\n\r\n", 400 },
	{ GET ": a\r\n\r\n", 400 },
	{ GET "X\r\n\r\n", 400 },
	{ GET "X\x80: a\r\n\r\n", 400 },
	{ GET "X: a\x01\r\n\r\n", 400 },
	{ GET "X: a\x7f\r\n\r\n", 400 },
	{ GET "X: \xff\r\n\r\n", 400 },
	{ GET "Connection: Content-Length\r\n\r\n", 400 },
	{ GET "Connection: x, Transfer-Encoding\r\n\r\n", 400 },
	{ GET "Connection: a b\r\n\r\n", 400 },
	{ GET "Expect: 200-ok\r\n\r\n", 417 },
	{ POST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", 400 },
	{ POST "Content-Length: 1, 1\r\n\r\n", 400 },
	{ POST "Content-Length: +1\r\n\r\n", 400 },
	{ POST "Content-Length: -1\r\n\r\n", 400 },
	{ POST "Content-Length: 0x1\r\n\r\n", 400 },
	{ POST "Content-Length:\r\n\r\n", 400 },
	{ POST "Content-Length: 18446744073709551617\r\n\r\n", 400 },
	{ POST "Content-Length: 1048577\r\n\r\n", 413 },
	{ CHNK "Content-Length: 1\r\n\r\n", 400 },
	{ POST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
	{ CHNK "Transfer-Encoding: chunked\r\n\r\n", 400 },
	{ POST "Transfer-Encoding: gzip\r\n\r\n", 501 },
	{ POST "Transfer-Encoding: gzip, chunked\r\n\r\n", 501 },
	{ POST "Transfer-Encoding: chunked, chunked\r\n\r\n", 501 },
	{ POST "Transfer-Encoding:\r\n\r\n", 501 },
	{ POST "Transfer-Encoding: \x0b" "chunked\r\n\r\n", 400 },
	{ "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
	{ CHNK "\r\n\r\n", 400 },
	{ CHNK "\r\n5\nhello\r\n", 400 },
	{ CHNK "\r\n5\r\nhello!\r\n", 400 },
	{ CHNK "\r\n5\r\nhello\n", 400 },
	{ CHNK "\r\n5\r\nhelloX\r\n", 400 },
	{ CHNK "\r\n 5\r\n", 400 },
	{ CHNK "\r\n5 \r\n", 400 },
	{ CHNK "\r\n-5\r\n", 400 },
	{ CHNK "\r\n0x5\r\n", 400 },
	{ CHNK "\r\ng\r\n", 400 },
	{ CHNK "\r\n5;\x01\r\n", 400 },
	{ CHNK "\r\n5;a\rb\r\n", 400 },
	{ CHNK "\r\n123456789\r\n", 400 },
	{ CHNK "\r\n100001\r\n", 413 },
	{ CHNK "\r\nffffffff\r\n", 413 },
	{ CHNK "\r\n0\r\nX : y\r\n\r\n", 400 },
	{ CHNK "\r\n0\r\n X: y\r\n\r\n", 400 },
	{ CHNK "\r\n0\r\nX: y\n\r\n", 400 },
};
/* clang-format on */

static void
what_can_be_read_in_two_ways_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(refused); i++)
		for (size_t k = 0; k < NELEM(steps); k++) {
			struct h1 *h = h1_new(H1_BODY);
			struct span s = span_str(refused[i].text);
			size_t used;
			enum h1_progress p = feed(h, s, steps[k], &used);

			if (p != H1_FAILED || h1_status(h) != refused[i].status)
				fail_msg("%zu: '%s': %d, %d, %s", i,
				    refused[i].text, (int)p, h1_status(h),
				    h1_why(h));
			h1_next(h);
			assert_int_equal(h1_feed(h, s, &used), H1_FAILED);
			h1_free(h);
		}
	/* And a NUL, which the table cannot hold. */
	{
		static const char zero[] = GET "X: a\0b\r\n\r\n";
		struct h1 *h = h1_new(H1_BODY);
		size_t used;

		assert_int_equal(feed(h, SPAN_LIT(zero), 100000, &used),
		    H1_FAILED);
		h1_free(h);
	}
}

/* before, then `n` times the unit, then after; what comes of it. */
static int
status_of(const char *before, const char *unit, size_t n, const char *after)
{
	struct h1 *h = h1_new(H1_BODY);
	struct fault f = { 0 };
	struct buf b;
	size_t used;
	int status = 200;

	buf_init(&b, 8 << 20);
	assert_int_equal(buf_add(&b, before, strlen(before), &f), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(buf_add(&b, unit, strlen(unit), &f), 0);
	assert_int_equal(buf_add(&b, after, strlen(after), &f), 0);
	switch (feed(h, buf_span(&b), 4096, &used)) {
	case H1_DONE:
		break;
	case H1_FAILED:
		status = h1_status(h);
		break;
	case H1_MORE:
	case H1_HEAD:
		status = 0;
		break;
	}
	buf_release(&b);
	h1_free(h);
	return status;
}

static void
every_size_has_an_end(void **state)
{
	(void)state;
	assert_int_equal(
	    status_of("GET /", "a", 4095, " HTTP/1.1\r\n" HOST "\r\n"), 200);
	assert_int_equal(
	    status_of("GET /", "a", 4096, " HTTP/1.1\r\n" HOST "\r\n"), 414);
	assert_int_equal(status_of("G", "E", 20000, ""), 431);
	assert_int_equal(status_of(GET, "X: y\r\n", 99, "\r\n"), 200);
	assert_int_equal(status_of(GET, "X: y\r\n", 100, "\r\n"), 431);
	assert_int_equal(status_of(GET "X: ", "y", 16300, "\r\n\r\n"), 200);
	assert_int_equal(status_of(GET "X: ", "y", 16384, "\r\n\r\n"), 431);
	assert_int_equal(
	    status_of(POST "Content-Length: 1048576\r\n\r\n", "y", 1048576, ""),
	    200);
	assert_int_equal(
	    status_of(CHNK "\r\n", "1\r\ny\r\n", 4096, "0\r\n\r\n"), 200);
	assert_int_equal(
	    status_of(CHNK "\r\n", "1\r\ny\r\n", 4097, "0\r\n\r\n"), 413);
	assert_int_equal(
	    status_of(CHNK "\r\n80000\r\n", "y", 0x80000, "\r\n80001\r\n"),
	    413);
	assert_int_equal(status_of(CHNK "\r\n1;", "y", 300, "\r\n"), 400);
	assert_int_equal(status_of(CHNK "\r\n0\r\n", "X: y\r\n", 3000, "\r\n"),
	    431);
}

static void
answers_are_framed(void **state)
{
	struct h1_reply r = { .status = 503,
		.type = "application/json",
		.body = SPAN_LIT("{}"),
		.closes = true,
		.more = "Retry-After: 1\r\n" };
	struct fault f = { 0 };
	struct buf b;

	(void)state;
	buf_init(&b, 4096);
	assert_int_equal(h1_reply(&b, &r, &f), 0);
	assert_true(span_is(buf_span(&b),
	    "HTTP/1.1 503 Service Unavailable\r\n"
	    "Content-Type: application/json\r\nContent-Length: 2\r\n"
	    "Connection: close\r\nRetry-After: 1\r\n\r\n{}"));
	buf_clear(&b);
	r = (struct h1_reply){ .status = 200,
		.type = "text/plain",
		.body = SPAN_LIT("abc"),
		.is_head = true };
	assert_int_equal(h1_reply(&b, &r, &f), 0);
	assert_true(span_is(buf_span(&b),
	    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	    "Content-Length: 3\r\nKeep-Alive: timeout=60\r\n\r\n"));
	buf_clear(&b);
	r = (struct h1_reply){ .status = 204 };
	assert_int_equal(h1_reply(&b, &r, &f), 0);
	assert_true(span_is(buf_span(&b),
	    "HTTP/1.1 204 No Content\r\n"
	    "Keep-Alive: timeout=60\r\n\r\n"));
	buf_clear(&b);
	r = (struct h1_reply){ .status = 200,
		.type = "text/event-stream",
		.streams = true };
	assert_int_equal(h1_reply(&b, &r, &f), 0);
	assert_int_equal(h1_chunk(&b, SPAN_LIT("0123456789abcdef"), &f), 0);
	assert_int_equal(h1_chunk(&b, span_of(NULL, 0), &f), 0);
	assert_int_equal(h1_end(&b, &f), 0);
	assert_true(span_is(buf_span(&b),
	    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	    "Transfer-Encoding: chunked\r\n"
	    "Keep-Alive: timeout=60\r\n\r\n"
	    "10\r\n0123456789abcdef\r\n0\r\n\r\n"));
	buf_clear(&b);
	r.is_old = true;
	r.closes = true;
	assert_int_equal(h1_reply(&b, &r, &f), 0);
	assert_true(span_is(buf_span(&b),
	    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	    "Connection: close\r\n\r\n"));
	buf_clear(&b);
	assert_int_equal(h1_go_on(&b, &f), 0);
	assert_true(span_is(buf_span(&b), "HTTP/1.1 100 Continue\r\n\r\n"));
	buf_release(&b);
	buf_init(&b, 64);
	assert_int_equal(h1_reply(&b, &r, &f), -1);
	assert_int_equal(f.code, FAULT_LIMIT);
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_request_is_read_whatever_the_pieces),
		cmocka_unit_test(pieces_become_one_body),
		cmocka_unit_test(the_connection_says_whether_it_goes_on),
		cmocka_unit_test(targets_are_paths),
		cmocka_unit_test(what_can_be_read_in_two_ways_is_refused),
		cmocka_unit_test(every_size_has_an_end),
		cmocka_unit_test(answers_are_framed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
