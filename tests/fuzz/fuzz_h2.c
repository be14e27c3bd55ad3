/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: http */
/*
 * A stranger's bytes to either end of HTTP/2. The first byte chooses the end,
 * and whether the rest is raw bytes or records of which frames are made: type,
 * flags, stream, length, payload; with a flag a record becomes a whole sound
 * header block. The owner answers, writes, resets by a count of its own, so
 * that queues, windows and endings meet in every order.
 */
#include <string.h>

#include "base/base.h"
#include "http/http.h"

enum {
	FUZZ_SERVER = 1 << 0,
	FUZZ_RECORDS = 1 << 1,
	FUZZ_HOLDS = 1 << 2, /* the owner keeps what it is given */
};

struct owner {
	struct h2 *h;
	unsigned mode;
	unsigned turn;
	unsigned told; /* closed streams */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t body[100000];

static const struct h2_header answer[] = {
	{ { (const uint8_t *)":status", 7 }, { (const uint8_t *)"200", 3 } },
};
static const struct h2_header trailer[] = {
	{ { (const uint8_t *)"a", 1 }, { (const uint8_t *)"b", 1 } },
};

static void
act(struct owner *o, int32_t id)
{
	struct fault f = { 0 };
	unsigned t = o->turn++;

	if (o->mode & FUZZ_SERVER)
		(void)!h2_respond(o->h, id, answer, 1, t % 7 == 0, &f);
	if (t % 3 == 0)
		(void)h2_write(o->h, id, span_of(body, (t * 977) % 100000));
	if (t % 5 == 1)
		(void)!h2_end(o->h, id, trailer, t % 2, &f);
	if (t % 11 == 2)
		h2_reset(o->h, id, t % 16);
	if (t % 6 == 4)
		h2_end_both(o->h, id);
	if (t % 40 == 9)
		h2_ping(o->h, t);
	if (t % 200 == 150)
		h2_shutdown(o->h);
}

static void
on_headers(void *owner, int32_t id, const struct h2_header *hs, size_t n,
    bool end)
{
	struct owner *o = owner;
	size_t sum = 0;

	(void)end;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < hs[i].value.len; j++)
			sum += hs[i].value.ptr[j];
	(void)h2_find(hs, n, ":path");
	o->turn += (unsigned)(sum & 3);
	act(o, id);
}

static void
on_data(void *owner, int32_t id, struct span bytes)
{
	struct owner *o = owner;

	if (!(o->mode & FUZZ_HOLDS))
		h2_consume(o->h, id, bytes.len);
	act(o, id);
}

static void
on_stream(void *owner, int32_t id)
{
	act(owner, id);
}

static void
on_closed(void *owner, int32_t id, uint32_t error)
{
	struct owner *o = owner;

	(void)error;
	o->told++;
	act(o, id);
}

static const struct h2_events events = {
	.headers = on_headers,
	.data = on_data,
	.end = on_stream,
	.closed = on_closed,
	.writable = on_stream,
};

static int
feed(struct owner *o, struct span bytes)
{
	struct fault f = { 0 };
	int rc = h2_receive(o->h, bytes, &f);
	struct span out = h2_output(o->h);

	h2_output_sent(o->h, o->turn % 4 ? out.len : out.len / 2);
	return rc;
}

/* :method POST, :scheme http, :path /, :authority x */
static const uint8_t block[] = { 0x83, 0x86, 0x84, 0x41, 1, 'x' };

static struct span
record(struct span in, uint8_t *frame, size_t *n)
{
	size_t len;
	const uint8_t *p = in.ptr;

	if (in.len < 4)
		return span_of(NULL, 0);
	len = p[3];
	memset(frame, 0, 9);
	frame[3] = p[0] % 11;
	frame[4] = p[1];
	frame[8] = p[2];
	in = span_from(in, 4);
	if (p[0] & 0x80) { /* a sound request or answer */
		frame[3] = 1;
		frame[4] = 4 | (p[1] & 1);
		memcpy(frame + 9, block, sizeof(block));
		len = sizeof(block);
	} else {
		if (len > in.len)
			len = in.len;
		memcpy(frame + 9, in.ptr, len);
		in = span_from(in, len);
	}
	frame[2] = (uint8_t)len;
	*n = 9 + len;
	return in;
}

static void
feed_records(struct owner *o, struct span in)
{
	static const uint8_t settings[9] = { 0, 0, 0, 4 };
	uint8_t frame[9 + 256];
	size_t n = 0;

	if (o->mode & FUZZ_SERVER)
		(void)feed(o, SPAN_LIT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
	(void)feed(o, span_of(settings, sizeof(settings)));
	while (in.len >= 4) {
		in = record(in, frame, &n);
		if (feed(o, span_of(frame, n)) != 0)
			break;
	}
}

static void
ask(struct owner *o)
{
	static const struct h2_header hs[] = {
		{ { (const uint8_t *)":method", 7 },
		    { (const uint8_t *)"POST", 4 } },
		{ { (const uint8_t *)":scheme", 7 },
		    { (const uint8_t *)"http", 4 } },
		{ { (const uint8_t *)":path", 5 },
		    { (const uint8_t *)"/", 1 } },
	};
	struct fault f = { 0 };
	int32_t id;

	for (int i = 0; i < 6; i++)
		if (h2_request(o->h, hs, NELEM(hs), i == 5, &id, &f) == 0)
			(void)h2_write(o->h, id, span_of(body, 70000));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct owner o = { .turn = 1 };
	struct fault f = { 0 };
	struct span in;

	if (size < 1)
		return 0;
	o.mode = data[0];
	in = span_from(span_of(data, size), 1);
	o.h = h2_new(o.mode & FUZZ_SERVER ? H2_SERVER : H2_CLIENT, &events, &o,
	    &f);
	if (!(o.mode & FUZZ_SERVER))
		ask(&o);
	if (o.mode & FUZZ_RECORDS) {
		feed_records(&o, in);
	} else {
		size_t step = 1 + (data[0] >> 3) * 37U;

		while (in.len > 0) {
			size_t n = in.len < step ? in.len : step;

			if (feed(&o, span_of(in.ptr, n)) != 0)
				break;
			in = span_from(in, n);
		}
	}
	(void)h2_is_done(o.h);
	h2_free(o.h);
	return 0;
}
