/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guest's one HTTP/2 connection, over the virtio-serial port. It asks for
 * hosts by CONNECT: the gateway, the time, or anything else, which is refused
 * while there is no egress. Whoever speaks there may be a lost guest kernel.
 */
#include "keeper/inner.h"

enum {
	TIME_MS = 600000, /* tells the time this often, for drift */
	TIME_BYTES = 8,
};

static void
time_write(struct rpc_stream *s)
{
	uint64_t ns = (uint64_t)clock_wall_ns();
	uint8_t text[TIME_BYTES];

	for (int i = 0; i < TIME_BYTES; i++)
		text[i] = (uint8_t)(ns >> (56 - 8 * i));
	/* A reader that takes none of it is told later or never. */
	(void)rpc_stream_write(s, span_of(text, sizeof(text)));
}

void
port_tell_time(struct keeper *k)
{
	for (size_t i = 0; i < NELEM(k->clocks); i++)
		if (k->clocks[i])
			time_write(k->clocks[i]);
	loop_timer_set(k->loop, &k->tell_time, TIME_MS);
}

static void
time_again(struct timer *t)
{
	port_tell_time(CONTAINER_OF(t, struct keeper, tell_time));
}

static void
time_closed(struct rpc_stream *s, void *owner, uint32_t error)
{
	struct rpc_stream **place = owner;

	(void)s;
	(void)error;
	*place = NULL;
}

static void
time_eof(struct rpc_stream *s, void *owner)
{
	(void)owner;
	rpc_stream_end(s);
}

static void
time_open(struct keeper *k, struct rpc_stream *s)
{
	static const struct rpc_stream_events events = {
		.eof = time_eof,
		.closed = time_closed,
	};

	for (size_t i = 0; i < NELEM(k->clocks); i++) {
		if (k->clocks[i])
			continue;
		k->clocks[i] = s;
		rpc_stream_accept(s, &events, &k->clocks[i]);
		time_write(s);
		return;
	}
	rpc_stream_refuse(s, 503, SPAN_LIT("{\"error\":\"busy\"}"));
}

static void
connect_to(void *owner, struct rpc_link *link, struct rpc_stream *s,
    struct span authority, const struct h2_header *headers, size_t n)
{
	struct keeper *k = owner;

	(void)link;
	(void)headers;
	(void)n;
	if (span_is(authority, "gateway.nacre:443"))
		tunnel_of_guest(k, s);
	else if (span_is(authority, "time.nacre:1"))
		time_open(k, s);
	else
		rpc_stream_refuse(s, 403,
		    SPAN_LIT("{\"error\":\"egress_not_built\"}"));
}

static void
called(void *owner, struct rpc_link *link, struct rpc_call *c,
    const struct rpc_request *r)
{
	struct fault f = { 0 };

	(void)owner;
	(void)link;
	(void)r;
	(void)fault_set(&f, FAULT_UNIMPLEMENTED,
	    "the keeper serves nothing here");
	rpc_finish(c, &f, span_of(NULL, 0));
}

static void
up(struct rpc_link *l, void *owner)
{
	struct keeper *k = owner;

	(void)l;
	machine_connected(k->machine);
}

static void
down(struct rpc_link *l, void *owner, const struct fault *f)
{
	struct keeper *k = owner;

	(void)l;
	k->port = NULL;
	if (k->is_ended)
		return;
	/* It opens once: a machine without it is of no use. Its own end, a
	 * moment later, closes it too. */
	if (f->code != FAULT_NONE && f->code != FAULT_LOST && !k->why.code) {
		k->why = *f;
		(void)fault_prefix(&k->why, "channel");
	}
	machine_stop(k->machine, 1000);
}

void
port_open(struct keeper *k, int fd)
{
	static const struct rpc_link_events events = { .up = up, .down = down };
	struct fault f = { 0 };

	k->port_handlers = (struct rpc_server){ .open = called,
		.connect = connect_to,
		.owner = k };
	k->tell_time.fire = time_again;
	k->port = rpc_link_open_fd(k->loop, fd,
	    &(struct rpc_link_options){ .server = true,
		.handlers = &k->port_handlers,
		.events = &events,
		.owner = k },
	    &f);
	if (!k->port) {
		k->why = f;
		machine_stop(k->machine, 0);
		return;
	}
	loop_timer_set(k->loop, &k->tell_time, TIME_MS);
}
