/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links that are not a plain descriptor: TLS over a socket, CONNECT streams,
 * and TLS inside a CONNECT stream, as the control tunnel of a guest is.
 */
#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/rpc_peer.h"
#include "../../lib/tls_peer.h"
#include "../../lib/unit.h"
#include "base/base.h"
#include "rpc/rpc.h"
#include "tls/tls.h"

#define PATH(m) "/nacre.test.Peer/" m

static const struct span none = { NULL, 0 };
static uint8_t bulk[LIMIT_MESSAGE];
static struct tls_key key;

struct side {
	struct loop *loop;
	struct rpc_peer peer;
	struct rpc_link *link;
	struct fault down;
	bool is_down;
};

struct end { /* of a CONNECT stream, and the link inside it */
	struct rpc_stream *stream;
	struct rpc_link *inner;
	int status;
	size_t bytes;
	char text[64];
	bool opened;
	bool eof;
	unsigned closed;
	uint32_t error;
	struct fault down;
	bool is_down;
};

struct answer {
	size_t messages;
	size_t bytes;
	unsigned closed;
	struct fault f;
};

static void
on_message(struct rpc_call *c, void *owner, struct span m)
{
	struct answer *a = owner;

	a->messages++;
	a->bytes += m.len;
	rpc_consume(c, m.len);
}

static void
on_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct answer *a = owner;

	(void)c;
	(void)detail;
	a->closed++;
	a->f = *f;
}

static const struct rpc_call_events call_events = {
	.message = on_message,
	.closed = on_closed,
};

static void
on_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	struct side *s = owner;

	(void)l;
	s->is_down = true;
	s->down = *f;
}

static const struct rpc_link_events link_events = { NULL, on_down };

static void
turn(struct side *s)
{
	struct fault f = { 0 };

	assert_int_equal(loop_tick(s->loop, 20, &f), 0);
}

#define UNTIL(s, condition)                 \
 do {                                       \
  int64_t end_ms = clock_mono_ms() + 20000; \
  while (!(condition)) {                    \
   assert_true(clock_mono_ms() < end_ms);   \
   turn(s);                                 \
  }                                         \
 } while (0)

static struct tls *
tls_end(bool server, const uint8_t pin[TLS_PIN])
{
	uint8_t entropy[TLS_ENTROPY];
	struct fault f = { 0 };

	random_bytes(entropy, sizeof(entropy));
	return server ? tls_server_new(&key, entropy, &f)
		      : tls_client_new("gateway.nacre", pin, entropy, &f);
}

static void
open_side(struct side *s, bool with_tls, const uint8_t *pin)
{
	struct rpc_link_options o = { .events = &link_events, .owner = s };
	struct fault f = { 0 };
	int fd;

	memset(s, 0, sizeof(*s));
	s->loop = loop_new(&f);
	assert_non_null(s->loop);
	rpc_peer_init(&s->peer, s->loop);
	s->peer.key = &key;
	if (with_tls) {
		o.tls = tls_end(false, pin);
		s->peer.options.tls = tls_end(true, NULL);
	}
	(void)rpc_peer_pair(&s->peer, &fd);
	s->peer.options.tls = NULL;
	s->link = rpc_link_open_fd(s->loop, fd, &o, &f);
	assert_non_null(s->link);
}

static void
close_side(struct side *s)
{
	if (!s->is_down)
		rpc_link_drop(s->link, NULL);
	UNTIL(s, s->is_down && s->peer.closed == s->peer.opened);
	for (int i = 0; i < 4; i++)
		turn(s);
	loop_free(s->loop);
}

static void
chat(struct side *s, struct rpc_link *l, size_t rounds, size_t size)
{
	struct answer a = { 0 };
	struct fault f = { 0 };
	struct rpc_call *c =
	    rpc_call(l, PATH("Chat"), none, -1, &call_events, &a, &f);

	assert_non_null(c);
	for (size_t i = 0; i < rounds; i++) {
		UNTIL(s, rpc_send(c, span_of(bulk, size), &f) == 0);
		UNTIL(s, a.bytes == (i + 1) * size);
	}
	rpc_half_close(c);
	UNTIL(s, a.closed);
	assert_int_equal(a.f.code, FAULT_NONE);
}

static void
calls_pass_tls(void **state)
{
	struct side s;

	(void)state;
	open_side(&s, true, key.pin);
	chat(&s, s.link, 1, 5);
	chat(&s, s.link, 3, LIMIT_MESSAGE);
	close_side(&s);
}

static void
a_wrong_pin_ends_the_link_and_its_calls(void **state)
{
	uint8_t pin[TLS_PIN] = { 1 };
	struct side s;
	struct answer a = { 0 };
	struct fault f = { 0 };

	(void)state;
	open_side(&s, true, pin);
	assert_non_null(
	    rpc_call(s.link, PATH("Echo"), none, -1, &call_events, &a, &f));
	UNTIL(&s, s.is_down);
	assert_int_equal(s.down.code, FAULT_UNAUTHENTICATED);
	assert_int_equal(a.closed, 1);
	assert_int_equal(a.f.code, FAULT_UNAUTHENTICATED);
	assert_int_equal(s.peer.opened, 0);
	close_side(&s);
}

static void
on_opened(struct rpc_stream *st, void *owner)
{
	struct end *e = owner;

	(void)st;
	e->opened = true;
}

static void
on_refused(struct rpc_stream *st, void *owner, int status)
{
	struct end *e = owner;

	(void)st;
	e->status = status;
}

static void
on_bytes(struct rpc_stream *st, void *owner, struct span b)
{
	struct end *e = owner;

	e->bytes += b.len;
	if (e->inner)
		assert_int_equal(rpc_link_feed(e->inner, b), b.len);
	else
		(void)text_copy(e->text, sizeof(e->text), b);
	rpc_stream_consume(st, b.len);
}

static void
on_eof(struct rpc_stream *st, void *owner)
{
	struct end *e = owner;

	(void)st;
	e->eof = true;
	if (e->inner)
		rpc_link_eof(e->inner);
}

static void
on_writable(struct rpc_stream *st, void *owner)
{
	struct end *e = owner;

	(void)st;
	if (e->inner)
		rpc_link_writable(e->inner);
}

static void
on_stream_closed(struct rpc_stream *st, void *owner, uint32_t error)
{
	struct end *e = owner;

	(void)st;
	e->stream = NULL;
	e->closed++;
	e->error = error;
	if (e->inner)
		rpc_link_eof(e->inner);
}

static const struct rpc_stream_events stream_events = {
	.opened = on_opened,
	.refused = on_refused,
	.bytes = on_bytes,
	.eof = on_eof,
	.writable = on_writable,
	.closed = on_stream_closed,
};

static void
dial(struct side *s, struct end *e, const char *to)
{
	struct fault f = { 0 };

	memset(e, 0, sizeof(*e));
	e->stream = rpc_connect(s->link, to, NULL, 0, &stream_events, e, &f);
	assert_non_null(e->stream);
}

static void
a_connect_stream_carries_bytes_and_its_ends(void **state)
{
	struct side s;
	struct end e;

	(void)state;
	open_side(&s, false, NULL);
	dial(&s, &e, "echo:1");
	/* bytes may go before the answer came */
	assert_int_equal(rpc_stream_write(e.stream, SPAN_LIT("early")), 5);
	UNTIL(&s, e.bytes == 5);
	assert_true(e.opened);
	assert_string_equal(e.text, "early");
	assert_int_equal(rpc_stream_write(e.stream, span_of(bulk, 200000)),
	    200000);
	UNTIL(&s, e.bytes == 200005);
	rpc_stream_end(e.stream);
	UNTIL(&s, e.closed);
	assert_true(e.eof);
	assert_int_equal(e.error, 0);
	close_side(&s);
}

static void
a_connect_may_be_accepted_late_or_lost_before(void **state)
{
	struct side s;
	struct end e;
	struct end gone;

	(void)state;
	open_side(&s, false, NULL);
	s.peer.accepts_late = true;
	dial(&s, &e, "echo:1");
	assert_int_equal(rpc_stream_write(e.stream, SPAN_LIT("early")), 5);
	rpc_stream_end(e.stream);
	dial(&s, &gone, "echo:1");
	turn(&s);
	rpc_stream_reset(gone.stream, 8);
	UNTIL(&s, e.closed && gone.closed);
	assert_string_equal(e.text, "early");
	assert_true(e.eof);
	close_side(&s);
}

static void
a_refused_connect_says_why(void **state)
{
	struct side s;
	struct end e;

	(void)state;
	open_side(&s, false, NULL);
	dial(&s, &e, "evil.example:443");
	UNTIL(&s, e.closed);
	assert_false(e.opened);
	assert_int_equal(e.status, 403);
	assert_string_equal(e.text, "{\"code\":\"NOT_ALLOWED\"}");
	close_side(&s);
}

static void
a_reset_stream_is_closed_later(void **state)
{
	struct side s;
	struct end e;

	(void)state;
	open_side(&s, false, NULL);
	dial(&s, &e, "echo:1");
	UNTIL(&s, e.opened);
	rpc_stream_reset(e.stream, 8);
	assert_int_equal(e.closed, 0);
	UNTIL(&s, e.closed);
	assert_int_equal(e.error, 8);
	close_side(&s);
}

static size_t
inner_write(void *owner, struct span b)
{
	struct end *e = owner;

	return e->stream ? rpc_stream_write(e->stream, b) : 0;
}

static void
inner_close(void *owner)
{
	struct end *e = owner;

	if (e->stream)
		rpc_stream_end(e->stream);
}

static void
inner_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	struct end *e = owner;

	(void)l;
	e->inner = NULL;
	e->is_down = true;
	e->down = *f;
}

static const struct rpc_link_events inner_events = { NULL, inner_down };

static void
dive(struct side *s, struct end *e)
{
	struct rpc_bytes bytes = { inner_write, NULL, inner_close, e };
	struct rpc_link_options o = { .events = &inner_events, .owner = e };
	struct fault f = { 0 };

	dial(s, e, "tunnel:1");
	o.tls = tls_end(false, key.pin);
	e->inner = rpc_link_open_bytes(s->loop, &bytes, &o, &f);
	assert_non_null(e->inner);
}

static void
a_link_with_tls_runs_inside_a_stream(void **state)
{
	struct side s;
	struct end e;

	(void)state;
	open_side(&s, false, NULL);
	dive(&s, &e);
	chat(&s, e.inner, 1, 5);
	chat(&s, e.inner, 3, LIMIT_MESSAGE);
	chat(&s, s.link, 3, LIMIT_MESSAGE);
	rpc_link_shutdown(e.inner);
	UNTIL(&s, e.is_down);
	assert_int_equal(e.down.code, FAULT_NONE);
	UNTIL(&s, e.closed);
	close_side(&s);
}

static void
an_inner_link_is_lost_with_its_stream(void **state)
{
	struct side s;
	struct end e;
	struct answer a = { 0 };
	struct fault f = { 0 };

	(void)state;
	open_side(&s, false, NULL);
	dive(&s, &e);
	assert_non_null(
	    rpc_call(e.inner, PATH("Sleep"), none, -1, &call_events, &a, &f));
	UNTIL(&s, s.peer.opened == 1);
	rpc_stream_reset(e.stream, 8);
	UNTIL(&s, e.is_down && s.peer.closed == 1);
	assert_int_equal(a.closed, 1);
	assert_int_equal(a.f.code, FAULT_LOST);
	assert_int_equal(s.peer.lost, 1);
	close_side(&s);
}

/* --- bytes that are carried by hand */

struct hand {
	struct rpc_link *link; /* a server's */
	struct buf in;         /* for it */
	struct buf out;
	unsigned depth;
	struct side *side;
};

static size_t
hand_write(void *owner, struct span b)
{
	struct hand *h = owner;
	struct fault f = { 0 };

	assert_int_equal(buf_add(&h->out, b.ptr, b.len, &f), 0);
	return b.len;
}

/* As the gateway's sessions do; never inside of itself. */
static void
hand_feed(void *owner)
{
	struct hand *h = owner;

	assert_int_equal(h->depth++, 0);
	while (!h->side->is_down && h->in.len > 0) {
		size_t n = rpc_link_feed(h->link, buf_span(&h->in));

		if (n == 0)
			break;
		buf_eat(&h->in, n);
	}
	h->depth--;
}

static void
hand_close(void *owner)
{
	(void)owner;
}

static void
hand_say(struct hand *h, struct span b)
{
	struct fault f = { 0 };

	assert_int_equal(buf_add(&h->in, b.ptr, b.len, &f), 0);
	hand_feed(h);
}

/* What TLS has to say, both ways. */
static void
hand_turn(struct hand *h, struct tls *t)
{
	struct fault f = { 0 };
	struct span wire = tls_wire(t);
	size_t taken = 0;

	if (wire.len > 0) {
		hand_say(h, wire);
		tls_wire_sent(t, wire.len);
	}
	turn(h->side);
	assert_int_equal(tls_feed(t, buf_span(&h->out), &taken, &f), 0);
	buf_eat(&h->out, taken);
	tls_plain_used(t, tls_plain(t).len);
}

static void
a_handshake_that_begins_again_ends_the_link(void **state)
{
	uint8_t bytes[3 * TLS_PEER_RECORD + 1];
	struct side s;
	struct hand h = { .side = &s };
	struct tls *t = tls_end(false, key.pin);
	const struct rpc_bytes carried = { hand_write, hand_feed, hand_close,
		&h };
	struct rpc_link_options o = { .server = true,
		.events = &link_events,
		.owner = &s,
		.tls = tls_end(true, NULL) };
	struct fault f = { 0 };
	size_t n = 0;

	(void)state;
	memset(&s, 0, sizeof(s));
	s.loop = loop_new(&f);
	rpc_peer_init(&s.peer, s.loop);
	o.handlers = &s.peer.handlers;
	buf_init(&h.in, 1 << 20);
	buf_init(&h.out, 1 << 20);
	h.link = rpc_link_open_bytes(s.loop, &carried, &o, &f);
	assert_non_null(h.link);
	for (int i = 0; i < 100 && !tls_is_ready(t); i++)
		hand_turn(&h, t);
	for (int i = 0; i < 3; i++)
		hand_turn(&h, t);
	for (int i = 0; i < 3; i++)
		n += tls_peer_hello(t, bytes + n);
	bytes[n++] = 22;
	hand_say(&h, span_of(bytes, n));
	for (int i = 0; i < 10 && !s.is_down; i++)
		turn(&s);
	assert_true(s.is_down);
	assert_int_equal(s.down.code, FAULT_PROTOCOL);
	turn(&s);
	buf_release(&h.in);
	buf_release(&h.out);
	tls_free(t);
	loop_free(s.loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_pass_tls),
		cmocka_unit_test(a_wrong_pin_ends_the_link_and_its_calls),
		cmocka_unit_test(a_connect_stream_carries_bytes_and_its_ends),
		cmocka_unit_test(a_connect_may_be_accepted_late_or_lost_before),
		cmocka_unit_test(a_refused_connect_says_why),
		cmocka_unit_test(a_reset_stream_is_closed_later),
		cmocka_unit_test(a_link_with_tls_runs_inside_a_stream),
		cmocka_unit_test(an_inner_link_is_lost_with_its_stream),
		cmocka_unit_test(a_handshake_that_begins_again_ends_the_link),
	};
	uint8_t random[TLS_ENTROPY];
	struct fault f = { 0 };

	random_bytes(random, sizeof(random));
	if (tls_key_make(&key, random, "gateway.nacre", &f) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
