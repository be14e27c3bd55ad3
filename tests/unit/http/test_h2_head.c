/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads of requests that came by HTTP/2: what is read from them, and what is
 * refused with what.
 */
#include "../../lib/unit.h"
#include "base/base.h"
#include "http/http.h"

#define F(n, v)                            \
 {                                         \
  { (const uint8_t *)(n), sizeof(n) - 1 }, \
  {                                        \
   (const uint8_t *)(v), sizeof(v) - 1     \
  }                                        \
 }
#define POST  F(":method", "POST"), F(":scheme", "http")
#define SOUND POST, F(":path", "/mcp"), F(":authority", "localhost:80")
#define MOST  ((size_t)8)

static void
a_sound_head_is_read(void **state)
{
	static const struct h2_header hs[] = {
		POST,
		F(":path", "/mcp?a=1"),
		F(":authority", "localhost:80"),
		F("content-length", "12"),
		F("accept", "a"),
		F("accept", "b"),
		F("te", "trailers"),
		F("expect", "100-continue"),
	};
	struct h1_request r;
	size_t n;

	(void)state;
	assert_int_equal(h2_read_request(hs, NELEM(hs), &r), 0);
	assert_true(span_is(r.method, "POST"));
	assert_true(span_is(r.path, "/mcp"));
	assert_true(span_is(r.query, "a=1"));
	assert_true(span_is(r.host, "localhost:80"));
	assert_int_equal(r.length, 12);
	assert_false(r.is_chunked);
	assert_false(r.closes);
	assert_true(r.expects_continue);
	assert_true(span_is(h1_find(&r, "accept", &n), "a"));
	assert_int_equal(n, 2);
	assert_null(h1_find(&r, ":path", &n).ptr);
}

static void
a_body_may_come_without_a_length(void **state)
{
	static const struct h2_header hs[] = { SOUND };
	struct h1_request r;

	(void)state;
	assert_int_equal(h2_read_request(hs, NELEM(hs), &r), 0);
	assert_true(r.is_chunked);
	assert_int_equal(r.length, 0);
}

static void
host_may_stand_for_authority_or_beside_it(void **state)
{
	static const struct h2_header alone[] = { POST, F(":path", "/"),
		F("host", "a") };
	static const struct h2_header both[] = { SOUND,
		F("host", "localhost:80") };
	struct h1_request r;
	size_t n;

	(void)state;
	assert_int_equal(h2_read_request(alone, NELEM(alone), &r), 0);
	assert_true(span_is(r.host, "a"));
	assert_int_equal(h2_read_request(both, NELEM(both), &r), 0);
	assert_true(span_is(r.host, "localhost:80"));
	(void)h1_find(&r, "host", &n);
	assert_int_equal(n, 1);
}

static const struct {
	const char *what;
	int status;
	struct h2_header hs[MOST]; /* up to the first without a name */
} refused[] = {
	{ "no method", 400,
	    { F(":scheme", "http"), F(":path", "/"), F(":authority", "a") } },
	{ "a method that is no token", 400,
	    { F(":method", "PO ST"), F(":scheme", "http"), F(":path", "/"),
		F(":authority", "a") } },
	{ "a method that is too long", 400,
	    { F(":method", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
		F(":scheme", "http"), F(":path", "/"), F(":authority", "a") } },
	{ "no scheme", 400,
	    { F(":method", "POST"), F(":path", "/"), F(":authority", "a") } },
	{ "no path", 400, { POST, F(":authority", "a") } },
	{ "an empty path", 400,
	    { POST, F(":path", ""), F(":authority", "a") } },
	{ "a path that is a URL", 400,
	    { POST, F(":path", "http://a/mcp"), F(":authority", "a") } },
	{ "a path with a blank", 400,
	    { POST, F(":path", "/a b"), F(":authority", "a") } },
	{ "* of a POST", 400, { POST, F(":path", "*"), F(":authority", "a") } },
	{ "no host at all", 400, { POST, F(":path", "/") } },
	{ "an empty authority", 400,
	    { POST, F(":path", "/"), F(":authority", "") } },
	{ "an authority with a user", 400,
	    { POST, F(":path", "/"), F(":authority", "u@a") } },
	{ "a Host that is another", 400, { SOUND, F("host", "evil.test") } },
	{ "two Hosts", 400,
	    { POST, F(":path", "/"), F("host", "a"), F("host", "a") } },
	{ "a pseudo field behind a field", 400,
	    { POST, F("a", "b"), F(":path", "/"), F(":authority", "a") } },
	{ "a pseudo field twice", 400, { SOUND, F(":path", "/mcp") } },
	{ "a pseudo field that is unknown", 400,
	    { SOUND, F(":status", "200") } },
	{ "a field's name in capitals", 400, { SOUND, F("Accept", "a") } },
	{ "a field's name that is no token", 400, { SOUND, F("a b", "a") } },
	{ "a field without a name", 400, { SOUND, F("", "a"), F("x", "") } },
	{ "a control byte in a field", 400, { SOUND, F("a", "b\r\nc: d") } },
	{ "a NUL in a field", 400, { SOUND, F("a", "b\0c") } },
	{ "a field that is not UTF-8", 400, { SOUND, F("a", "\xff") } },
	{ "Connection", 400, { SOUND, F("connection", "close") } },
	{ "Transfer-Encoding", 400,
	    { SOUND, F("transfer-encoding", "chunked") } },
	{ "Upgrade", 400, { SOUND, F("upgrade", "websocket") } },
	{ "TE that is not trailers", 400, { SOUND, F("te", "gzip") } },
	{ "two lengths", 400,
	    { SOUND, F("content-length", "1"), F("content-length", "1") } },
	{ "a length that is none", 400, { SOUND, F("content-length", "+1") } },
	{ "an expectation that is unknown", 417,
	    { SOUND, F("expect", "more") } },
};

static void
what_is_malformed_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(refused); i++) {
		struct h1_request r;
		size_t n = MOST;

		while (n > 0 && refused[i].hs[n - 1].value.ptr == NULL)
			n--;
		print_message("# %s\n", refused[i].what);
		assert_int_equal(h2_read_request(refused[i].hs, n, &r),
		    refused[i].status);
	}
}

static void
limits_are_those_of_http1(void **state)
{
	static char target[H1_TARGET + 2];
	struct h2_header hs[4 + H1_FIELDS] = { SOUND };
	struct h1_request r;

	(void)state;
	for (size_t i = 4; i < NELEM(hs); i++)
		hs[i] = (struct h2_header)F("a", "b");
	assert_int_equal(h2_read_request(hs, NELEM(hs) - 1, &r), 0);
	assert_int_equal(r.fields_n, H1_FIELDS);
	assert_int_equal(h2_read_request(hs, NELEM(hs), &r), 431);
	memset(target, 'a', sizeof(target));
	target[0] = '/';
	hs[2].value = span_of(target, H1_TARGET);
	assert_int_equal(h2_read_request(hs, 4, &r), 0);
	hs[2].value.len++;
	assert_int_equal(h2_read_request(hs, 4, &r), 414);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sound_head_is_read),
		cmocka_unit_test(a_body_may_come_without_a_length),
		cmocka_unit_test(host_may_stand_for_authority_or_beside_it),
		cmocka_unit_test(what_is_malformed_is_refused),
		cmocka_unit_test(limits_are_those_of_http1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
