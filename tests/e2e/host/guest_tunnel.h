/* SPDX-License-Identifier: Apache-2.0 */
/* The part of guest_host that is the keeper's: port, tunnel, time. */
#ifndef E2E_GUEST_TUNNEL_H
#define E2E_GUEST_TUNNEL_H

#include "guest_gateway.h"

/* --- the tunnel */
static size_t
inner_write(void *owner, struct span b)
{
	(void)owner;
	return host.tunnel ? rpc_stream_write(host.tunnel, b) : 0;
}

static void
inner_feed(void)
{
	size_t n;

	if (!host.inner || host.tunnel_in.len == 0)
		return;
	n = rpc_link_feed(host.inner, buf_span(&host.tunnel_in));
	buf_eat(&host.tunnel_in, n);
	if (host.tunnel && n)
		rpc_stream_consume(host.tunnel, n);
}

static void
inner_resume(void *owner)
{
	(void)owner;
	inner_feed();
}

static void
inner_close(void *owner)
{
	(void)owner;
	if (host.tunnel)
		rpc_stream_reset(host.tunnel, H2_CANCEL);
}

static void
inner_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	(void)l;
	(void)owner;
	(void)f;
	host.inner = NULL;
}

static void
tunnel_bytes(struct rpc_stream *s, void *owner, struct span b)
{
	struct fault f = { 0 };

	(void)owner;
	(void)s;
	if (buf_add(&host.tunnel_in, b.ptr, b.len, &f) != 0)
		die(&f, "tunnel");
	inner_feed();
}

static void
tunnel_eof(struct rpc_stream *s, void *owner)
{
	(void)s;
	(void)owner;
	if (host.inner)
		rpc_link_eof(host.inner);
}

static void
tunnel_writable(struct rpc_stream *s, void *owner)
{
	(void)s;
	(void)owner;
	if (host.inner)
		rpc_link_writable(host.inner);
}

static void
tunnel_closed(struct rpc_stream *s, void *owner, uint32_t error)
{
	(void)s;
	(void)owner;
	(void)error;
	host.tunnel = NULL;
	if (host.inner)
		rpc_link_eof(host.inner);
}

static void
tunnel_accept(struct rpc_stream *s)
{
	static const struct rpc_stream_events events = {
		.bytes = tunnel_bytes,
		.eof = tunnel_eof,
		.writable = tunnel_writable,
		.closed = tunnel_closed,
	};
	static const struct rpc_link_events link_events = { .down =
								inner_down };
	static const struct rpc_server gateway = { .open = gateway_open };
	const struct rpc_bytes bytes = { .write = inner_write,
		.resume = inner_resume,
		.close = inner_close };
	struct rpc_link_options o = { .server = true,
		.handlers = &gateway,
		.events = &link_events };
	uint8_t random[TLS_ENTROPY];
	struct fault f = { 0 };

	rpc_stream_accept(s, &events, NULL);
	host.tunnel = s;
	buf_init(&host.tunnel_in, LIMIT_UNREAD);
	if (rpc_stream_write(s, span_of(host.key.pin, TLS_PIN)) != TLS_PIN)
		die(NULL, "pin");
	random_bytes(random, sizeof(random));
	o.tls = tls_server_new(&host.key, random, &f);
	host.inner =
	    o.tls ? rpc_link_open_bytes(host.loop, &bytes, &o, &f) : NULL;
	if (!host.inner)
		die(&f, "tunnel");
}

static void
clock_closed(struct rpc_stream *s, void *owner, uint32_t error)
{
	(void)owner;
	(void)error;
	if (host.clock == s)
		host.clock = NULL;
}

/* The guest's time is ours and so much. */
static void
tell_time(int64_t more_s)
{
	uint64_t ns = (uint64_t)(clock_wall_ns() + more_s * 1000000000);
	uint8_t text[8];

	if (!host.clock)
		die(NULL, "no clock");
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)(ns >> (56 - 8 * i));
	(void)rpc_stream_write(host.clock, span_of(text, sizeof(text)));
}

static void
port_connect(void *owner, struct rpc_link *l, struct rpc_stream *s,
    struct span authority, const struct h2_header *h, size_t n)
{
	static const struct rpc_stream_events clock_events = {
		.closed = clock_closed
	};

	(void)owner;
	(void)l;
	(void)h;
	(void)n;
	if (host.refuses_tunnel && span_is(authority, "gateway.nacre:443")) {
		rpc_stream_accept(s, &clock_events, NULL);
		rpc_stream_reset(s, H2_CANCEL);
		return;
	}
	if (span_is(authority, "gateway.nacre:443")) {
		tunnel_accept(s);
		return;
	}
	rpc_stream_accept(s, &clock_events, NULL);
	host.clock = s;
	tell_time(0);
}

static void
port_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	(void)l;
	(void)owner;
	printf("port down\n");
	fprintf(stderr, "# port: %s\n", f->text);
	host.link = NULL;
	host.is_lost = true;
}

static void
port_open(void)
{
	static const struct rpc_server keeper = { .connect = port_connect };
	static const struct rpc_link_events events = { .down = port_down };
	struct rpc_link_options o = { .server = true,
		.handlers = &keeper,
		.events = &events };
	struct fault f = { 0 };

	host.link = rpc_link_open_fd(host.loop, host.port, &o, &f);
	if (!host.link)
		die(&f, "port");
}

#endif
