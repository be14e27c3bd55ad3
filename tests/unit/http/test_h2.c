/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ends in one process, bytes carried by hand: what the engine promises
 * about windows, queues, caps and endings.
 */
#include <stdio.h>
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "http/http.h"
#include "http/inner.h"

#define HDR(n, v) ((struct h2_header){ SPAN_LIT(n), SPAN_LIT(v) })
#define MANY      64

struct end {
	struct h2 *h;
	int headers, ends, closed, pongs, goaways, writable;
	uint32_t error; /* of the last closed */
	char status[16];
	char last[64]; /* first header of the last block */
	size_t got[4096];
	bool stalled[4096];
	size_t total;
	bool answers; /* server: 200 at once */
	bool trailers_end;
	bool failed;
};

struct pair {
	struct end client, server;
};

static void
on_headers(void *owner, int32_t id, const struct h2_header *hs, size_t n,
    bool end)
{
	struct end *e = owner;
	struct fault f = { 0 };
	struct h2_header ok = HDR(":status", "200");

	e->headers++;
	e->trailers_end = end;
	assert_true(n > 0);
	(void)text_copy(e->last, sizeof(e->last), hs[0].name);
	if (h2_find(hs, n, ":status").ptr)
		(void)text_copy(e->status, sizeof(e->status),
		    h2_find(hs, n, ":status"));
	if (e->answers && h2_find(hs, n, ":method").ptr)
		assert_int_equal(h2_respond(e->h, id, &ok, 1, false, &f), 0);
}

static void
on_data(void *owner, int32_t id, struct span bytes)
{
	struct end *e = owner;

	e->got[id] += bytes.len;
	e->total += bytes.len;
	if (!e->stalled[id])
		h2_consume(e->h, id, bytes.len);
}

static void
on_end(void *owner, int32_t id)
{
	struct end *e = owner;

	(void)id;
	e->ends++;
}

static void
on_closed(void *owner, int32_t id, uint32_t error)
{
	struct end *e = owner;

	(void)id;
	e->closed++;
	e->error = error;
}

static void
on_writable(void *owner, int32_t id)
{
	struct end *e = owner;

	(void)id;
	e->writable++;
}

static void
on_pong(void *owner, uint64_t opaque)
{
	struct end *e = owner;

	assert_int_equal(opaque, 77);
	e->pongs++;
}

static void
on_goaway(void *owner)
{
	struct end *e = owner;

	e->goaways++;
}

static const struct h2_events events = {
	.headers = on_headers,
	.data = on_data,
	.end = on_end,
	.closed = on_closed,
	.writable = on_writable,
	.pong = on_pong,
	.goaway = on_goaway,
};

static bool
carry(struct end *from, struct end *to)
{
	struct fault f = { 0 };
	struct span s = h2_output(from->h);
	size_t n = s.len < LIMIT_WRITE ? s.len : LIMIT_WRITE;

	if (n == 0)
		return false;
	to->failed = h2_receive(to->h, span_of(s.ptr, n), &f) != 0;
	h2_output_sent(from->h, n);
	return true;
}

static void
settle(struct pair *p)
{
	bool moved = true;

	while (moved) {
		moved = carry(&p->client, &p->server);
		moved = carry(&p->server, &p->client) || moved;
	}
}

static void
pair_open(struct pair *p)
{
	struct fault f = { 0 };

	memset(p, 0, sizeof(*p));
	p->client.h = h2_new(H2_CLIENT, &events, &p->client, &f);
	p->server.h = h2_new(H2_SERVER, &events, &p->server, &f);
	p->server.answers = true;
	settle(p);
}

static void
pair_close(struct pair *p)
{
	h2_free(p->client.h);
	h2_free(p->server.h);
}

static int32_t
ask(struct pair *p, bool end)
{
	struct fault f = { 0 };
	int32_t id = 0;
	struct h2_header hs[] = { HDR(":method", "POST"),
		HDR(":scheme", "http"), HDR(":path", "/a"),
		HDR(":authority", "x"), HDR("authorization", "Bearer t") };

	assert_int_equal(h2_request(p->client.h, hs, NELEM(hs), end, &id, &f),
	    0);
	return id;
}

static uint8_t bulk[1 << 20];

static void
answers_with_body_and_trailers(void **state)
{
	struct pair p;
	struct fault f = { 0 };
	struct h2_header tail = HDR("grpc-status", "0");
	int32_t id;

	(void)state;
	pair_open(&p);
	id = ask(&p, false);
	/* body before the request has left */
	assert_int_equal(h2_write(p.client.h, id, SPAN_LIT("hello")), 5);
	assert_int_equal(h2_end(p.client.h, id, NULL, 0, &f), 0);
	settle(&p);
	assert_int_equal(p.server.got[id], 5);
	assert_int_equal(p.server.ends, 1);
	assert_int_equal(h2_write(p.server.h, id, SPAN_LIT("world")), 5);
	assert_int_equal(h2_end(p.server.h, id, &tail, 1, &f), 0);
	settle(&p);
	assert_string_equal(p.client.status, "200");
	assert_string_equal(p.client.last, "grpc-status");
	assert_true(p.client.trailers_end);
	assert_int_equal(p.client.got[id], 5);
	assert_int_equal(p.client.closed, 1);
	assert_int_equal(p.client.error, 0);
	assert_int_equal(p.server.closed, 1);
	assert_int_equal(h2_streams(p.client.h), 0);
	assert_int_equal(h2_streams(p.server.h), 0);
	pair_close(&p);
}

static void
a_queue_takes_256_kib_and_tells_when_it_has_room(void **state)
{
	struct pair p;
	int32_t id;

	(void)state;
	pair_open(&p);
	id = ask(&p, false);
	p.server.stalled[id] = true;
	assert_int_equal(h2_write(p.client.h, id, span_of(bulk, sizeof(bulk))),
	    256 << 10);
	assert_int_equal(h2_writable(p.client.h, id), 0);
	settle(&p);
	/* one stream window went: 64 KiB; still less than half is free */
	assert_int_equal(p.server.got[id], LIMIT_WINDOW_STREAM);
	assert_int_equal(p.client.writable, 0);
	p.server.stalled[id] = false;
	h2_consume(p.server.h, id, p.server.got[id]);
	settle(&p);
	assert_int_equal(p.server.got[id], 256 << 10);
	assert_int_equal(p.client.writable, 1);
	assert_int_equal(h2_queued(p.client.h, id), 0);
	pair_close(&p);
}

static void
stalled_readers_hold_up_nobody_else(void **state)
{
	struct pair p;
	int32_t id[MANY];
	size_t left[MANY];
	size_t each = 1 << 20;
	bool busy = true;

	(void)state;
	pair_open(&p);
	for (size_t i = 0; i < MANY; i++) {
		id[i] = ask(&p, false);
		left[i] = each;
		p.server.stalled[id[i]] = i % 2 == 0;
	}
	while (busy) {
		size_t before = p.server.total;

		for (size_t i = 0; i < MANY; i++)
			left[i] -=
			    h2_write(p.client.h, id[i], span_of(bulk, left[i]));
		settle(&p);
		busy = p.server.total > before;
	}
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(p.server.got[id[i]],
		    i % 2 ? each : (size_t)LIMIT_WINDOW_STREAM);
	pair_close(&p);
}

/* What one stream may hold unread tells its window. */
static size_t
window_of(struct pair *p, int32_t id)
{
	size_t before = p->server.got[id];

	p->server.stalled[id] = true;
	(void)h2_write(p->client.h, id, span_of(bulk, sizeof(bulk)));
	settle(p);
	return p->server.got[id] - before;
}

static void
at_most_32_streams_have_the_large_window(void **state)
{
	struct pair p;
	int32_t id[MANY];
	size_t large = 0;

	(void)state;
	pair_open(&p);
	for (size_t i = 0; i < MANY; i++)
		id[i] = ask(&p, false);
	for (int round = 0; round < 4; round++)
		for (size_t i = 0; i < MANY; i++) {
			(void)h2_write(p.client.h, id[i],
			    span_of(bulk, 32 << 10));
			settle(&p);
		}
	for (size_t i = 0; i < MANY; i++) {
		size_t n = window_of(&p, id[i]);

		assert_true(n <= LIMIT_WINDOW_ACTIVE);
		large += n > LIMIT_WINDOW_STREAM;
	}
	assert_int_equal(large, LIMIT_ACTIVE_STREAMS);
	pair_close(&p);
}

static void
an_idle_stream_gives_the_large_window_away(void **state)
{
	struct pair p;
	int32_t id[LIMIT_ACTIVE_STREAMS + 1];

	(void)state;
	pair_open(&p);
	for (size_t i = 0; i < NELEM(id); i++) {
		id[i] = ask(&p, false);
		(void)h2_write(p.client.h, id[i], span_of(bulk, 64 << 10));
		settle(&p);
	}
	for (int i = 0; i < 100; i++) {
		(void)h2_write(p.client.h, id[NELEM(id) - 1],
		    span_of(bulk, 64 << 10));
		settle(&p);
	}
	assert_int_equal(window_of(&p, id[NELEM(id) - 1]), LIMIT_WINDOW_ACTIVE);
	pair_close(&p);
}

/* So many bytes, n times, each time until all of them went. */
static void
write_calmly(struct pair *p, int32_t id, size_t size, int n)
{
	for (int i = 0; i < n; i++) {
		assert_int_equal(h2_write(p->client.h, id, span_of(bulk, size)),
		    size);
		settle(p);
	}
}

static void
an_empty_queue_gives_its_memory_back_in_the_end(void **state)
{
	struct h2_stream *s;
	struct pair p;
	int32_t id;

	(void)state;
	pair_open(&p);
	id = ask(&p, false);
	s = h2_stream_find(p.client.h, id);
	write_calmly(&p, id, H2_QUEUE_KEPT / 2, H2_CALM);
	assert_true(s->queue.cap > 0 && s->queue.cap <= H2_QUEUE_KEPT);
	/* Much at a time: it stays as it is while that goes on. */
	for (int i = 0; i < 3; i++) {
		write_calmly(&p, id, 2 * H2_QUEUE_KEPT, 1);
		write_calmly(&p, id, 1, H2_CALM - 2);
		assert_true(s->queue.cap > H2_QUEUE_KEPT);
		assert_int_equal(p.client.h->wide, 1);
	}
	write_calmly(&p, id, 1, 1);
	assert_int_equal(s->queue.cap, 0);
	assert_int_equal(p.client.h->wide, 0);
	pair_close(&p);
}

static void
bodies_are_interleaved(void **state)
{
	struct pair p;
	int32_t a, b;

	(void)state;
	pair_open(&p);
	a = ask(&p, false);
	b = ask(&p, false);
	(void)h2_write(p.client.h, a, span_of(bulk, 64 << 10));
	(void)h2_write(p.client.h, b, span_of(bulk, 64 << 10));
	while (p.server.got[a] < 48 << 10)
		assert_true(carry(&p.client, &p.server));
	assert_true(p.server.got[b] >= 16 << 10);
	pair_close(&p);
}

static void
too_many_headers_reset_one_stream_only(void **state)
{
	struct pair p;
	struct fault f = { 0 };
	struct h2_header hs[4 + 200] = { HDR(":method", "POST"),
		HDR(":scheme", "http"), HDR(":path", "/a"),
		HDR(":authority", "x") };
	int32_t id;

	(void)state;
	pair_open(&p);
	for (size_t i = 4; i < NELEM(hs); i++)
		hs[i] = HDR("a", "b");
	assert_int_equal(h2_request(p.client.h, hs, NELEM(hs), true, &id, &f),
	    0);
	settle(&p);
	assert_int_equal(p.client.closed, 1);
	assert_int_equal(p.client.error, H2_ENHANCE_YOUR_CALM);
	assert_int_equal(p.server.headers, 0);
	assert_int_equal(p.server.closed, 0);
	(void)ask(&p, true);
	settle(&p);
	assert_int_equal(p.server.headers, 1);
	pair_close(&p);
}

static void
headers_that_cannot_be_sent_are_refused(void **state)
{
	struct pair p;
	struct fault f = { 0 };
	struct h2_header bad = { SPAN_LIT("a"), SPAN_LIT("x\r\ny") };
	struct h2_header upper = { SPAN_LIT("Aa"), SPAN_LIT("x") };
	struct h2_header huge = { SPAN_LIT("a"), { bulk, 17000 } };
	int32_t id;

	(void)state;
	pair_open(&p);
	assert_int_equal(h2_request(p.client.h, &bad, 1, true, &id, &f), -1);
	assert_int_equal(f.code, FAULT_INVALID);
	assert_int_equal(h2_request(p.client.h, &upper, 1, true, &id, &f), -1);
	memset(bulk, 'x', 17000);
	fault_clear(&f);
	assert_int_equal(h2_request(p.client.h, &huge, 1, true, &id, &f), -1);
	assert_int_equal(f.code, FAULT_LIMIT);
	assert_int_equal(h2_streams(p.client.h), 0);
	pair_close(&p);
}

static void
other_protocols_end_the_connection(void **state)
{
	struct pair p;
	struct fault f = { 0 };

	(void)state;
	pair_open(&p);
	h2_free(p.server.h);
	p.server.h = h2_new(H2_SERVER, &events, &p.server, &f);
	assert_int_equal(
	    h2_receive(p.server.h,
		SPAN_LIT("GET / HTTP/1.1\r\nhost: a\r\n\r\nxxxxxxxxxx"), &f),
	    -1);
	assert_int_equal(f.code, FAULT_PROTOCOL);
	pair_close(&p);
}

static void
a_request_cancelled_before_it_left_is_closed_once(void **state)
{
	struct pair p;
	int32_t id;

	(void)state;
	pair_open(&p);
	id = ask(&p, false);
	h2_reset(p.client.h, id, H2_CANCEL);
	h2_reset(p.client.h, id, H2_CANCEL);
	assert_int_equal(h2_write(p.client.h, id, SPAN_LIT("x")), 0);
	settle(&p);
	assert_int_equal(p.client.closed, 1);
	assert_int_equal(p.client.error, H2_CANCEL);
	assert_int_equal(p.server.headers, 0);
	pair_close(&p);
}

static void
a_reset_is_told_to_both(void **state)
{
	struct pair p;
	int32_t id;

	(void)state;
	pair_open(&p);
	id = ask(&p, false);
	settle(&p);
	h2_reset(p.client.h, id, H2_CANCEL);
	settle(&p);
	assert_int_equal(p.client.closed, 1);
	assert_int_equal(p.server.closed, 1);
	assert_int_equal(p.server.error, H2_CANCEL);
	pair_close(&p);
}

static void
shutdown_lets_running_streams_end(void **state)
{
	struct pair p;
	struct fault f = { 0 };
	struct h2_header hs[] = { HDR(":method", "POST"),
		HDR(":scheme", "http"), HDR(":path", "/a"),
		HDR(":authority", "x") };
	int32_t id, other;

	(void)state;
	pair_open(&p);
	id = ask(&p, false);
	settle(&p);
	h2_shutdown(p.server.h);
	settle(&p);
	assert_int_equal(p.client.goaways, 1);
	assert_int_equal(
	    h2_request(p.client.h, hs, NELEM(hs), true, &other, &f), -1);
	assert_int_equal(h2_write(p.client.h, id, SPAN_LIT("x")), 1);
	assert_int_equal(h2_end(p.client.h, id, NULL, 0, &f), 0);
	assert_int_equal(h2_end(p.server.h, id, NULL, 0, &f), 0);
	settle(&p);
	assert_int_equal(p.server.got[id], 1);
	assert_true(h2_is_done(p.client.h));
	assert_true(h2_is_done(p.server.h));
	assert_false(h2_has_failed(p.server.h, &f));
	pair_close(&p);
}

static void
a_finished_answer_drops_the_rest_of_the_request(void **state)
{
	struct pair p;
	struct fault f = { 0 };
	struct h2_header tail = HDR("grpc-status", "3");
	int32_t id;

	(void)state;
	pair_open(&p);
	id = ask(&p, false);
	settle(&p);
	assert_int_equal(h2_end(p.server.h, id, &tail, 1, &f), 0);
	h2_end_both(p.server.h, id);
	settle(&p);
	assert_string_equal(p.client.last, "grpc-status");
	assert_int_equal(p.client.closed, 1);
	assert_int_equal(p.client.error, H2_NO_ERROR);
	assert_int_equal(p.server.closed, 1);
	pair_close(&p);
}

static void
pings_come_back_and_floods_end_the_connection(void **state)
{
	struct pair p;
	struct fault f = { 0 };
	uint8_t frame[17] = { 0, 0, 8, 6 };
	int rc = 0;

	(void)state;
	pair_open(&p);
	h2_ping(p.client.h, 77);
	settle(&p);
	assert_int_equal(p.client.pongs, 1);
	/* the answers are never taken */
	for (int i = 0; i < 20000 && rc == 0; i++)
		rc = h2_receive(p.server.h, span_of(frame, sizeof(frame)), &f);
	assert_int_equal(rc, -1);
	assert_int_equal(f.code, FAULT_PROTOCOL);
	pair_close(&p);
}

static void
reset_floods_end_the_connection(void **state)
{
	struct pair p;
	struct fault f = { 0 };
	int i;

	(void)state;
	pair_open(&p);
	for (i = 0; i < 5000 && !h2_has_failed(p.server.h, &f); i++) {
		int32_t id = ask(&p, false);

		(void)carry(&p.client, &p.server);
		h2_reset(p.client.h, id, H2_CANCEL);
		(void)carry(&p.client, &p.server);
		if (p.client.goaways)
			break;
		settle(&p);
	}
	assert_true(i < 2000);
	pair_close(&p);
}

/* A window over 2^31 - 1 is the end of its stream (RFC 9113 6.9.1). */
static void
a_server_is_not_made_to_reset_for_ever(void **state)
{
	uint8_t frame[9 + 4] = { 0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff,
		0xff };
	struct pair p;
	struct fault f = { 0 };
	int i;

	(void)state;
	pair_open(&p);
	for (i = 0; i < 5000 && !h2_has_failed(p.server.h, &f); i++) {
		int32_t id = ask(&p, false);

		(void)carry(&p.client, &p.server);
		frame[7] = (uint8_t)(id >> 8);
		frame[8] = (uint8_t)id;
		(void)!h2_receive(p.server.h, span_of(frame, sizeof(frame)),
		    &f);
		settle(&p);
		if (p.client.goaways)
			break;
	}
	assert_int_equal(i, 1000);
	assert_int_equal(p.client.goaways, 1);
	pair_close(&p);
}

/* CONTINUATION (RFC 9113 6.10): eight, then the peer is told why. */
static void
a_flood_of_continuations_is_told_so(void **state)
{
	uint8_t headers[9] = { 0, 0, 0, 1, 0, 0, 0, 0, 1 };
	uint8_t more[9] = { 0, 0, 0, 9, 0, 0, 0, 0, 1 };
	struct pair p;
	struct fault f = { 0 };
	int rc;
	int i;

	(void)state;
	pair_open(&p);
	rc = h2_receive(p.server.h, span_of(headers, sizeof(headers)), &f);
	for (i = 0; i < 100 && rc == 0; i++)
		rc = h2_receive(p.server.h, span_of(more, sizeof(more)), &f);
	assert_int_equal(rc, -1);
	assert_true(i < 20);
	(void)carry(&p.server, &p.client);
	assert_int_equal(p.client.goaways, 1);
	assert_true(h2_is_done(p.server.h));
	pair_close(&p);
}

static void
fewer_streams_are_offered_to_some(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p);
	h2_set_streams_max(p.server.h, 2);
	settle(&p);
	for (int i = 0; i < 3; i++)
		(void)ask(&p, false);
	settle(&p);
	assert_int_equal(h2_streams(p.server.h), 2);
	pair_close(&p);
}

static void
the_1001st_stream_is_refused(void **state)
{
	struct pair p;
	struct fault f = { 0 };
	struct h2_header hs[] = { HDR(":method", "GET"), HDR(":scheme", "http"),
		HDR(":path", "/a"), HDR(":authority", "x") };
	int32_t id;

	(void)state;
	pair_open(&p);
	for (int i = 0; i < LIMIT_STREAMS; i++)
		(void)ask(&p, false);
	assert_int_equal(h2_request(p.client.h, hs, NELEM(hs), true, &id, &f),
	    -1);
	assert_int_equal(f.code, FAULT_BUSY);
	settle(&p);
	assert_int_equal(h2_streams(p.server.h), LIMIT_STREAMS);
	pair_close(&p);
}

static void
padding_does_not_eat_the_connection_window(void **state)
{
	struct fault f = { 0 };
	struct end e = { 0 };
	uint8_t head[9 + 5] = { 0, 0, 6, 1, 4, 0, 0, 0, 1, 0x83, 0x86, 0x84,
		0x41, 0x01 }; /* :authority of one byte, which follows */
	uint8_t data[9 + 256] = { 0, 1, 0, 0, 8, 0, 0, 0, 1, 255 };
	uint8_t settings[9] = { 0, 0, 0, 4 };
	size_t sent = 0;

	(void)state;
	e.h = h2_new(H2_SERVER, &events, &e, &f);
	assert_int_equal(
	    h2_receive(e.h, SPAN_LIT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), &f),
	    0);
	assert_int_equal(h2_receive(e.h, span_of(settings, 9), &f), 0);
	assert_int_equal(h2_receive(e.h, span_of(head, sizeof(head)), &f), 0);
	assert_int_equal(h2_receive(e.h, SPAN_LIT("x"), &f), 0);
	assert_int_equal(e.headers, 1);
	/* all padding: 4 MiB of it pass a window of 256 KiB */
	for (; sent < 4 << 20; sent += 256) {
		struct span out = h2_output(e.h);

		h2_output_sent(e.h, out.len);
		assert_int_equal(
		    h2_receive(e.h, span_of(data, sizeof(data)), &f), 0);
	}
	assert_false(h2_has_failed(e.h, &f));
	h2_free(e.h);
}

/* Streams past the limit are refused; the refusals must not pile up. */
static void
a_peer_that_never_reads_chokes_the_connection(void **state)
{
	struct fault f = { 0 };
	struct end e = { 0 };
	uint8_t head[9 + 5] = { 0, 0, 5, 1, 5, 0, 0, 0, 0, 0x83, 0x86, 0x84,
		0x41, 0 };
	uint8_t settings[9] = { 0, 0, 0, 4 };
	uint32_t id;

	(void)state;
	e.h = h2_new(H2_SERVER, &events, &e, &f);
	assert_int_equal(
	    h2_receive(e.h, SPAN_LIT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), &f),
	    0);
	assert_int_equal(h2_receive(e.h, span_of(settings, 9), &f), 0);
	for (id = 1; id < 40000 && !h2_is_choked(e.h); id += 2) {
		head[7] = (uint8_t)(id >> 8);
		head[6] = (uint8_t)(id >> 16);
		head[8] = (uint8_t)id;
		if (h2_receive(e.h, span_of(head, sizeof(head)), &f) != 0)
			break;
	}
	assert_true(id < 40000);
	assert_true(h2_streams(e.h) <= LIMIT_STREAMS);
	h2_free(e.h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_with_body_and_trailers),
		cmocka_unit_test(
		    a_queue_takes_256_kib_and_tells_when_it_has_room),
		cmocka_unit_test(stalled_readers_hold_up_nobody_else),
		cmocka_unit_test(at_most_32_streams_have_the_large_window),
		cmocka_unit_test(an_idle_stream_gives_the_large_window_away),
		cmocka_unit_test(
		    an_empty_queue_gives_its_memory_back_in_the_end),
		cmocka_unit_test(bodies_are_interleaved),
		cmocka_unit_test(too_many_headers_reset_one_stream_only),
		cmocka_unit_test(headers_that_cannot_be_sent_are_refused),
		cmocka_unit_test(other_protocols_end_the_connection),
		cmocka_unit_test(
		    a_request_cancelled_before_it_left_is_closed_once),
		cmocka_unit_test(a_reset_is_told_to_both),
		cmocka_unit_test(shutdown_lets_running_streams_end),
		cmocka_unit_test(
		    a_finished_answer_drops_the_rest_of_the_request),
		cmocka_unit_test(pings_come_back_and_floods_end_the_connection),
		cmocka_unit_test(reset_floods_end_the_connection),
		cmocka_unit_test(a_server_is_not_made_to_reset_for_ever),
		cmocka_unit_test(a_flood_of_continuations_is_told_so),
		cmocka_unit_test(fewer_streams_are_offered_to_some),
		cmocka_unit_test(the_1001st_stream_is_refused),
		cmocka_unit_test(padding_does_not_eat_the_connection_window),
		cmocka_unit_test(a_peer_that_never_reads_chokes_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
