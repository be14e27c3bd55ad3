/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: rpc */
/*
 * A guest that speaks lines in the tunnel to its gateway, as the supervisor's
 * session goes: HTTP/2 on the port, CONNECT gateway.nacre:443, the pin, lines.
 * More lines:
 *   pin           the 32 bytes that came first, hex
 *   connect HOST  CONNECT to HOST: status and body
 *   knock N       CONNECT to the gateway N times more, and leave at once
 *   clock         how often the keeper told the time
 */
#include "guest.h"
#include "http/http.h"
#include "loop/loop.h"
#include "rpc/rpc.h"

static struct loop *loop;
static struct rpc_link *link_;
static struct rpc_stream *gateway;
static struct buf in;
static uint8_t pin[32];
static unsigned clocks;

static void
tick(void)
{
	struct fault f = { 0 };

	if (loop_tick(loop, 1000, &f) != 0)
		end(f.text);
}

static void
gateway_bytes(struct rpc_stream *s, void *owner, struct span b)
{
	struct fault f = { 0 };

	(void)s;
	(void)owner;
	if (buf_add(&in, b.ptr, b.len, &f) != 0)
		end(f.text);
}

static void
gateway_closed(struct rpc_stream *s, void *owner, uint32_t error)
{
	(void)s;
	(void)owner;
	(void)error;
	gateway = NULL;
}

static void
gateway_eof(struct rpc_stream *s, void *owner)
{
	(void)owner;
	rpc_stream_end(s);
}

/* Open the tunnel and take the pin; again when it broke. */
static void
open_gateway(void)
{
	static const struct rpc_stream_events events = {
		.bytes = gateway_bytes,
		.eof = gateway_eof,
		.closed = gateway_closed,
	};
	struct fault f = { 0 };

	while (!gateway) {
		buf_clear(&in);
		gateway = rpc_connect(link_, "gateway.nacre:443", NULL, 0,
		    &events, NULL, &f);
		if (!gateway)
			end(f.text);
		while (gateway && in.len < sizeof(pin))
			tick();
	}
	memcpy(pin, buf_ptr(&in), sizeof(pin));
	buf_eat(&in, sizeof(pin));
	rpc_stream_consume(gateway, sizeof(pin));
}

static void
put(const void *p, size_t n)
{
	struct span s = span_of(p, n);

	while (s.len > 0 && gateway) {
		size_t k = rpc_stream_write(gateway, s);

		s = span_from(s, k);
		if (s.len > 0)
			tick();
	}
}

static size_t
get(void *p, size_t n)
{
	while (in.len == 0) {
		if (!gateway)
			open_gateway();
		else
			tick();
	}
	if (n > in.len)
		n = in.len;
	memcpy(p, buf_ptr(&in), n);
	buf_eat(&in, n);
	if (gateway)
		rpc_stream_consume(gateway, n);
	return n;
}

/* --- the time */
static void
time_bytes(struct rpc_stream *s, void *owner, struct span b)
{
	static uint8_t part[8];
	static size_t n;

	(void)owner;
	rpc_stream_consume(s, b.len);
	for (size_t i = 0; i < b.len; i++) {
		uint64_t ns = 0;
		struct timespec t;

		part[n++] = b.ptr[i];
		if (n < sizeof(part))
			continue;
		n = 0;
		for (int k = 0; k < 8; k++)
			ns = ns << 8 | part[k];
		t.tv_sec = (time_t)(ns / 1000000000);
		t.tv_nsec = (long)(ns % 1000000000);
		(void)clock_settime(CLOCK_REALTIME, &t);
		clocks++;
	}
}

/* --- other hosts */
struct other {
	int status;
	bool closed;
	char body[256];
};

static void
other_opened(struct rpc_stream *s, void *owner)
{
	struct other *o = owner;

	o->status = 200;
	rpc_stream_reset(s, H2_CANCEL);
}

static void
other_refused(struct rpc_stream *s, void *owner, int status)
{
	(void)s;
	((struct other *)owner)->status = status;
}

static void
other_bytes(struct rpc_stream *s, void *owner, struct span b)
{
	(void)text_copy(((struct other *)owner)->body, 256, b);
	rpc_stream_consume(s, b.len);
}

static void
other_closed(struct rpc_stream *s, void *owner, uint32_t error)
{
	(void)s;
	(void)error;
	((struct other *)owner)->closed = true;
}

static void
connect_other(const char *host, struct other *o)
{
	static const struct rpc_stream_events events = {
		.opened = other_opened,
		.refused = other_refused,
		.bytes = other_bytes,
		.closed = other_closed,
	};
	struct fault f = { 0 };

	*o = (struct other){ 0 };
	if (!rpc_connect(link_, host, NULL, 0, &events, o, &f))
		end(f.text);
	while (!o->closed)
		tick();
}

static void
knock(unsigned n)
{
	struct other o;
	unsigned opened = 0;

	for (unsigned i = 0; i < n; i++) {
		connect_other("gateway.nacre:443", &o);
		opened += o.status == 200;
	}
	say("knocked %u\n", opened);
}

static bool
obey_more(const char *line)
{
	char host[128];
	char hex[2 * sizeof(pin) + 1];
	struct other o;
	unsigned n;

	if (strcmp(line, "pin") == 0) {
		hex_format(pin, sizeof(pin), hex);
		say("%s\n", hex);
	} else if (sscanf(line, "connect %127s", host) == 1) {
		connect_other(host, &o);
		say("status=%d body=%s\n", o.status, o.body);
	} else if (sscanf(line, "knock %u", &n) == 1) {
		knock(n);
	} else if (strcmp(line, "clock") == 0) {
		say("%u\n", clocks);
	} else {
		return false;
	}
	return true;
}

static _Noreturn void
launched(void)
{
	static const struct rpc_stream_events clock_events = { .bytes =
								   time_bytes };
	struct rpc_link_options o = { .server = false };
	struct fault f = { 0 };

	buf_init(&in, 1 << 20);
	loop = loop_new(&f);
	link_ = loop ? rpc_link_open_fd(loop, port, &o, &f) : NULL;
	if (!link_)
		end(f.text);
	if (!rpc_connect(link_, "time.nacre:1", NULL, 0, &clock_events, NULL,
		&f))
		end(f.text);
	obey_lines();
}
