/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's time: after each pause of the machine the keeper writes it, 8
 * bytes, nanoseconds since the epoch, big endian.
 */
#include "http/http.h"
#include "supervisor/inner.h"

enum {
	CLOCK_RETRY_MS = 1000
};

static void
clock_bytes(struct rpc_stream *s, void *owner, struct span b)
{
	struct clock_line *c = owner;

	rpc_stream_consume(s, b.len);
	for (size_t i = 0; i < b.len; i++) {
		uint64_t ns = 0;

		c->part[c->n++] = b.ptr[i];
		if (c->n < sizeof(c->part))
			continue;
		for (size_t k = 0; k < sizeof(c->part); k++)
			ns = ns << 8 | c->part[k];
		c->n = 0;
		boot_set_clock((int64_t)ns);
	}
}

static void
clock_eof(struct rpc_stream *s, void *owner)
{
	(void)owner;
	rpc_stream_reset(s, H2_CANCEL);
}

static void
clock_closed(struct rpc_stream *s, void *owner, uint32_t error)
{
	struct clock_line *c = owner;

	(void)s;
	(void)error;
	c->stream = NULL;
	loop_timer_set(c->sv->loop, &c->retry, CLOCK_RETRY_MS);
}

static void
clock_again(struct timer *t)
{
	clock_open(CONTAINER_OF(t, struct clock_line, retry));
}

void
clock_open(struct clock_line *c)
{
	static const struct rpc_stream_events events = {
		.bytes = clock_bytes,
		.eof = clock_eof,
		.closed = clock_closed,
	};
	struct fault f = { 0 };

	c->n = 0;
	c->retry.fire = clock_again;
	c->stream =
	    rpc_connect(c->sv->port, "time.nacre:1", NULL, 0, &events, c, &f);
	if (!c->stream)
		loop_timer_set(c->sv->loop, &c->retry, CLOCK_RETRY_MS);
}
