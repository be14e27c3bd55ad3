/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: rpc */
/*
 * A stranger's gRPC to a server link (tests/lib/rpc_peer.h), or its answers
 * to a client link with a few calls, over bytes. The first byte chooses. The
 * rest are records of which sound HTTP/2 frames are made: kind, stream,
 * length, bytes; so the strangeness is in headers, statuses and messages.
 */
#include <string.h>

#include "../lib/rpc_peer.h"
#include "base/base.h"
#include "rpc/rpc.h"

enum {
	FUZZ_SERVER = 1 << 0,
	FUZZ_LATE = 1 << 1,
	FUZZ_CUT = 1 << 2,   /* the transport takes little */
	FUZZ_PLAIN = 1 << 3, /* requests that are not gRPC are served */
};

enum kind {
	KIND_REQUEST, /* a call of the method that the length chooses */
	KIND_CONNECT,
	KIND_ANSWER, /* :status 200, content-type */
	KIND_FIELDS, /* name\0value\0 pairs, any */
	KIND_DATA,
	KIND_MESSAGE, /* DATA with a gRPC head before it */
	KIND_RESET,
	KIND_TICK,
	KIND_COUNT,
	KIND_PLAIN = 255, /* a request of the path that the flags choose */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct loop *loop;
static unsigned closed;
static size_t takes;

static void
on_message(struct rpc_call *c, void *owner, struct span m)
{
	(void)owner;
	rpc_consume(c, m.len);
}

static void
on_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	(void)c;
	(void)owner;
	(void)f;
	(void)detail;
	closed++;
}

static const struct rpc_call_events call_events = {
	.message = on_message,
	.closed = on_closed,
};

static size_t
swallow(void *owner, struct span bytes)
{
	(void)owner;
	return bytes.len < takes ? bytes.len : takes;
}

static void
on_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	bool *down = owner;

	(void)l;
	(void)f;
	*down = true;
}

static const struct rpc_link_events link_events = { NULL, on_down };

/* One literal field, never indexed; lengths below 127. */
static size_t
field(uint8_t *to, struct span name, struct span value)
{
	size_t n = 0;

	to[n++] = 0x10;
	to[n++] = (uint8_t)name.len;
	memcpy(to + n, name.ptr, name.len);
	n += name.len;
	to[n++] = (uint8_t)value.len;
	memcpy(to + n, value.ptr, value.len);
	return n + value.len;
}

#define FIELD(to, n, v) ((to) += field(to, SPAN_LIT(n), SPAN_LIT(v)))

static size_t
any_fields(uint8_t *to, struct span in)
{
	uint8_t *at = to;

	while (in.len > 0) {
		size_t name = span_find(in, 0);
		struct span rest = span_from(in, name + 1);
		size_t value = span_find(rest, 0);

		at += field(at, span_of(in.ptr, name < 120 ? name : 120),
		    span_of(rest.ptr, value < 120 ? value : 120));
		in = span_from(rest, value + 1);
	}
	return (size_t)(at - to);
}

static size_t
payload(enum kind kind, uint8_t flags, struct span in, uint8_t *to)
{
	static const char *const methods[] = { "Echo", "Count", "Chat", "Sink",
		"Sleep", "Refuse", "" };
	static const char *const paths[] = { "/echo", "/count", "/go", "/early",
		"/hold", "/" };
	uint8_t *at = to;
	char path[40];

	switch (kind) {
	case KIND_REQUEST:
		(void)text_fmt(path, sizeof(path), "/nacre.test.Peer/%s",
		    methods[flags % NELEM(methods)]);
		FIELD(at, ":method", "POST");
		FIELD(at, ":scheme", "http");
		at += field(at, SPAN_LIT(":path"), span_str(path));
		FIELD(at, "content-type", "application/grpc");
		break;
	case KIND_CONNECT:
		FIELD(at, ":method", "CONNECT");
		at += field(at, SPAN_LIT(":authority"),
		    span_str(flags & 2 ? "echo:1" : "tunnel:1"));
		break;
	case KIND_PLAIN:
		FIELD(at, ":method", "POST");
		FIELD(at, ":scheme", "http");
		FIELD(at, ":authority", "a");
		at += field(at, SPAN_LIT(":path"),
		    span_str(paths[flags % NELEM(paths)]));
		break;
	case KIND_ANSWER:
		FIELD(at, ":status", "200");
		FIELD(at, "content-type", "application/grpc");
		break;
	case KIND_MESSAGE:
		memset(at, 0, 4);
		at[4] = (uint8_t)in.len;
		memcpy(at + 5, in.ptr, in.len);
		at += 5 + in.len;
		break;
	case KIND_RESET:
		memset(at, 0, 4);
		at[3] = flags;
		at += 4;
		break;
	case KIND_FIELDS:
	case KIND_DATA:
	case KIND_TICK:
	case KIND_COUNT:
		break;
	}
	if (kind == KIND_DATA) {
		memcpy(at, in.ptr, in.len);
		at += in.len;
	} else if (kind == KIND_FIELDS || kind == KIND_REQUEST ||
	    kind == KIND_ANSWER) {
		at += any_fields(at, in);
	}
	return (size_t)(at - to);
}

static struct span
record(struct span in, uint8_t *frame, size_t *n)
{
	enum kind kind = in.ptr[0] == KIND_PLAIN
	    ? KIND_PLAIN
	    : (enum kind)(in.ptr[0] % KIND_COUNT);
	uint8_t flags = in.ptr[1];
	uint8_t stream = in.ptr[2];
	size_t len = in.ptr[3];
	bool is_data = kind == KIND_DATA || kind == KIND_MESSAGE;
	bool is_block = !is_data && kind != KIND_RESET;

	in = span_from(in, 4);
	if (len > in.len)
		len = in.len;
	*n = 0;
	if (kind != KIND_TICK) {
		size_t size =
		    payload(kind, flags, span_of(in.ptr, len), frame + 9);

		memset(frame, 0, 9);
		frame[1] = (uint8_t)(size >> 8);
		frame[2] = (uint8_t)size;
		frame[3] = is_data ? 0 : is_block ? 1 : 3;
		frame[4] = (uint8_t)((flags >> 7) | (is_block ? 4 : 0));
		frame[8] = stream;
		*n = 9 + size;
	}
	return span_from(in, len);
}

static void
tick(void)
{
	struct fault f = { 0 };

	BUG_IF(loop_tick(loop, 0, &f) != 0);
}

static void
calls(struct rpc_link *l)
{
	static uint8_t big[300000];
	struct fault f = { 0 };

	for (int i = 0; i < 4; i++) {
		struct rpc_call *c = rpc_call(l, "/a/b", span_of(NULL, 0),
		    i == 3 ? 0 : -1, &call_events, NULL, &f);

		BUG_IF(!c);
		if (i == 1)
			BUG_IF(rpc_send(c, span_of(big, sizeof(big)), &f) != 0);
		if (i != 2)
			rpc_half_close(c);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t settings[9] = { 0, 0, 0, 4 };
	static uint8_t frame[9 + 8192];
	struct rpc_bytes bytes = { .write = swallow };
	struct rpc_link_options o = { .events = &link_events };
	struct fault f = { 0 };
	struct rpc_peer peer;
	struct rpc_link *l;
	struct span in;
	bool down = false;
	size_t n;

	if (size < 1)
		return 0;
	if (!loop)
		loop = loop_new(&f);
	closed = 0;
	takes = data[0] & FUZZ_CUT ? 50 : SIZE_MAX;
	rpc_peer_init(&peer, loop);
	peer.accepts_late = data[0] & FUZZ_LATE;
	if (data[0] & FUZZ_PLAIN)
		rpc_peer_take_requests(&peer);
	if (data[0] & FUZZ_SERVER)
		o = peer.options;
	o.events = &link_events;
	o.owner = &down;
	l = rpc_link_open_bytes(loop, &bytes, &o, &f);
	BUG_IF(!l);
	if (data[0] & FUZZ_SERVER)
		(void)rpc_link_feed(l,
		    SPAN_LIT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
	else
		calls(l);
	(void)rpc_link_feed(l, span_of(settings, sizeof(settings)));
	tick();
	in = span_from(span_of(data, size), 1);
	while (in.len >= 4 && !down) {
		in = record(in, frame, &n);
		if (n > 0)
			(void)rpc_link_feed(l, span_of(frame, n));
		else
			tick();
	}
	if (!down)
		rpc_link_drop(l, NULL);
	for (int i = 0; i < 6; i++)
		tick();
	BUG_IF(!down || peer.opened != peer.closed);
	BUG_IF(!(data[0] & FUZZ_SERVER) && closed != 4);
	return 0;
}
