/* SPDX-License-Identifier: Apache-2.0 */
/* Two ends in memory: handshake, pin, bulk, close, damage. */
#include <stdlib.h>
#include <string.h>

#include "../../lib/tls_peer.h"
#include "../../lib/unit.h"
#include "base/base.h"
#include "tls/tls.h"

struct pair {
	struct tls_key key;
	struct tls *client;
	struct tls *server;
	struct fault client_fault;
	struct fault server_fault;
	size_t step; /* bytes moved at once */
	/* Change byte number `damage_at` of the server's wire bytes. */
	size_t sent;
	size_t damage_at;
};

static const uint8_t entropy[TLS_ENTROPY] = { 1, 2, 3 };

static int
start(void **state)
{
	struct pair *p = must_alloc(sizeof(*p));
	struct fault f;

	*state = p;
	p->step = SIZE_MAX;
	p->damage_at = SIZE_MAX;
	if (tls_key_make(&p->key, entropy, "gateway.nacre", &f) != 0)
		return -1;
	p->client = tls_client_new("gateway.nacre", p->key.pin, entropy, &f);
	p->server = tls_server_new(&p->key, entropy, &f);
	return p->client && p->server ? 0 : -1;
}

static int
end(void **state)
{
	struct pair *p = *state;

	tls_free(p->client);
	tls_free(p->server);
	free(p);
	return 0;
}

/* Move at most step bytes; true when something moved. */
static bool
move(struct pair *p, bool to_server)
{
	struct tls *from = to_server ? p->client : p->server;
	struct tls *to = to_server ? p->server : p->client;
	struct fault *f = to_server ? &p->server_fault : &p->client_fault;
	struct span wire = tls_wire(from);
	uint8_t copy[65536];
	size_t taken = 0;

	if (wire.len > p->step)
		wire.len = p->step;
	if (wire.len == 0 || f->code != FAULT_NONE)
		return false;
	memcpy(copy, wire.ptr, wire.len);
	if (!to_server && p->damage_at >= p->sent &&
	    p->damage_at - p->sent < wire.len)
		copy[p->damage_at - p->sent] ^= 0x01;
	if (tls_feed(to, span_of(copy, wire.len), &taken, f) != 0)
		return false;
	assert_true(taken <= wire.len);
	tls_wire_sent(from, taken);
	if (!to_server)
		p->sent += taken;
	return taken > 0;
}

static void
pump(struct pair *p)
{
	bool moved = true;

	while (moved) {
		moved = move(p, true);
		moved |= move(p, false);
	}
}

static void
both_ends_agree(void **state)
{
	struct pair *p = *state;
	struct span got;

	assert_false(tls_is_ready(p->client));
	assert_int_equal(tls_write(p->client, SPAN_LIT("early")), 0);
	pump(p);
	assert_true(tls_is_ready(p->client));
	assert_true(tls_is_ready(p->server));
	assert_int_equal(tls_write(p->client, SPAN_LIT("hello")), 5);
	assert_int_equal(tls_wire(p->client).len, 0);
	tls_flush(p->client);
	pump(p);
	got = tls_plain(p->server);
	assert_true(span_is(got, "hello"));
	tls_plain_used(p->server, 2);
	assert_true(span_is(tls_plain(p->server), "llo"));
	tls_plain_used(p->server, 3);
	assert_int_equal(tls_write(p->server, SPAN_LIT("yes")), 3);
	tls_flush(p->server);
	pump(p);
	assert_true(span_is(tls_plain(p->client), "yes"));
}

static void
single_bytes_are_enough(void **state)
{
	struct pair *p = *state;

	p->step = 1;
	pump(p);
	assert_true(tls_is_ready(p->client));
	assert_true(tls_is_ready(p->server));
}

static void
a_wrong_pin_is_refused(void **state)
{
	struct pair *p = *state;
	struct fault f;
	size_t taken;
	uint8_t other[TLS_PIN];

	memcpy(other, p->key.pin, sizeof(other));
	other[31] ^= 1;
	tls_free(p->client);
	p->client = tls_client_new("gateway.nacre", other, entropy, &f);
	assert_non_null(p->client);
	pump(p);
	assert_int_equal(p->client_fault.code, FAULT_UNAUTHENTICATED);
	assert_false(tls_is_ready(p->client));
	assert_false(tls_is_ready(p->server));
	assert_false(tls_is_closed(p->client));
	assert_int_equal(
	    tls_feed(p->client, SPAN_LIT("x"), &taken, &p->client_fault), -1);
	assert_int_equal(tls_write(p->client, SPAN_LIT("x")), 0);
}

static void
a_server_without_the_key_is_refused(void **state)
{
	struct pair *p = *state;

	struct fault f;

	/* The certificate of one key, the secret of another. */
	p->key.secret[31] ^= 1;
	tls_free(p->server);
	p->server = tls_server_new(&p->key, entropy, &f);
	assert_non_null(p->server);
	pump(p);
	assert_int_equal(p->client_fault.code, FAULT_PROTOCOL);
	assert_false(tls_is_ready(p->client));
}

/* Send n bytes from one end to the other, reading `window` at a time. */
static void
transfer(struct pair *p, struct tls *from, struct tls *to, size_t n,
    size_t window)
{
	uint8_t chunk[5000];
	size_t sent = 0;
	size_t got = 0;

	while (got < n) {
		size_t want =
		    n - sent < sizeof(chunk) ? n - sent : sizeof(chunk);
		struct span plain;

		for (size_t i = 0; i < want; i++)
			chunk[i] = (uint8_t)((sent + i) * 7 >> 3);
		sent += tls_write(from, span_of(chunk, want));
		tls_flush(from);
		pump(p);
		plain = tls_plain(to);
		if (plain.len > window)
			plain.len = window;
		for (size_t i = 0; i < plain.len; i++)
			assert_int_equal(plain.ptr[i],
			    (uint8_t)((got + i) * 7 >> 3));
		got += plain.len;
		tls_plain_used(to, plain.len);
	}
}

static void
big_transfers_pass_small_windows(void **state)
{
	struct pair *p = *state;

	pump(p);
	p->step = 1000;
	transfer(p, p->client, p->server, 300000, 700);
	transfer(p, p->server, p->client, 300000, 333);
	p->step = SIZE_MAX;
	transfer(p, p->server, p->client, 2000000, SIZE_MAX);
}

static void
a_close_is_clean(void **state)
{
	struct pair *p = *state;
	size_t taken;

	pump(p);
	assert_int_equal(tls_write(p->server, SPAN_LIT("last")), 4);
	tls_close(p->server);
	assert_int_equal(tls_write(p->server, SPAN_LIT("more")), 0);
	pump(p);
	assert_true(span_is(tls_plain(p->client), "last"));
	assert_false(tls_is_closed(p->client));
	tls_plain_used(p->client, 4);
	pump(p);
	assert_true(tls_is_closed(p->client));
	assert_true(tls_is_closed(p->server));
	assert_int_equal(p->client_fault.code, FAULT_NONE);
	assert_int_equal(
	    tls_feed(p->client, SPAN_LIT("garbage"), &taken, &p->client_fault),
	    0);
	assert_int_equal(taken, 7);
}

static void
a_close_drops_what_was_not_read(void **state)
{
	struct pair *p = *state;

	pump(p);
	assert_int_equal(tls_write(p->server, SPAN_LIT("unread")), 6);
	tls_flush(p->server);
	pump(p);
	tls_close(p->client);
	tls_close(p->server);
	pump(p);
	assert_true(tls_is_closed(p->client));
	assert_true(tls_is_closed(p->server));
}

static void
an_end_of_bytes_is_no_close(void **state)
{
	struct pair *p = *state;

	pump(p);
	assert_false(tls_is_closed(p->client));
	assert_false(tls_is_closed(p->server));
}

static void
a_changed_byte_is_noticed(void **state)
{
	struct pair *p = *state;
	size_t quiet = 0;

	(void)p;
	/* Each byte of the server's whole flight, one at a time. */
	for (size_t at = 0; at < 1000; at += 7) {
		void *one;
		struct pair *q;

		assert_int_equal(start(&one), 0);
		q = one;
		q->damage_at = at;
		pump(q);
		quiet += tls_is_ready(q->client) && tls_is_ready(q->server) &&
		    q->sent > at;
		(void)end(&one);
	}
	assert_int_equal(quiet, 0);
}

static void
garbage_is_refused_by_either_end(void **state)
{
	struct pair *p = *state;
	struct fault f = { 0 };
	size_t taken;

	assert_int_equal(
	    tls_feed(p->server, SPAN_LIT("GET / HTTP/1.1\r\n\r\n"), &taken, &f),
	    -1);
	assert_int_equal(f.code, FAULT_PROTOCOL);
	assert_int_equal(tls_feed(p->client,
			     SPAN_LIT("SSH-2.0-OpenSSH_9.2\r\n"), &taken, &f),
	    -1);
	assert_int_equal(f.code, FAULT_PROTOCOL);
}

/* They are answered with alerts, and then no byte more is taken: an end that
 * only waited would never hear of it. */
static void
a_handshake_that_begins_again_is_refused(void **state)
{
	struct pair *p = *state;
	uint8_t bytes[4 * TLS_PEER_RECORD];
	struct span rest = { bytes, 0 };
	struct fault f = { 0 };
	size_t taken;
	int rc = 0;

	pump(p);
	for (int i = 0; i < 4; i++)
		rest.len += tls_peer_hello(p->client, bytes + rest.len);
	for (int i = 0; i < 10 && rc == 0; i++) {
		rc = tls_feed(p->server, rest, &taken, &f);
		rest = span_from(rest, taken);
		tls_wire_sent(p->server, tls_wire(p->server).len);
	}
	assert_int_equal(rc, -1);
	assert_int_equal(f.code, FAULT_PROTOCOL);
}

int
main(void)
{
#define CASE(t) cmocka_unit_test_setup_teardown(t, start, end)
	const struct CMUnitTest tests[] = {
		CASE(both_ends_agree),
		CASE(single_bytes_are_enough),
		CASE(a_wrong_pin_is_refused),
		CASE(a_server_without_the_key_is_refused),
		CASE(big_transfers_pass_small_windows),
		CASE(a_close_is_clean),
		CASE(a_close_drops_what_was_not_read),
		CASE(an_end_of_bytes_is_no_close),
		CASE(a_changed_byte_is_noticed),
		CASE(garbage_is_refused_by_either_end),
		CASE(a_handshake_that_begins_again_is_refused),
	};
#undef CASE

	return cmocka_run_group_tests(tests, NULL, NULL);
}
