/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rehearsal's other side: the least keeper and gateway that takes a
 * launch through everything a real one will need. It runs the scrap program
 * as the main process, once more as an exec with input and output, stops the
 * sandbox and hangs up.
 */
#include <string.h>

#include "supervisor/inner.h"

#define PROGRAM "/true"

struct partner {
	struct loop *loop;
	struct tls_key key;
	struct rpc_server keeper;
	struct rpc_server gateway;
	struct rpc_link *port;
	struct rpc_stream *tunnel;
	struct rpc_link *inner;
	struct buf in;
	struct rpc_call *session;
	bool has_stopped;
};

static void
say(struct partner *p, const nacre_session_v1_Down *d)
{
	struct fault f = { 0 };
	struct buf b;

	buf_init(&b, 4096);
	if (WIRE_ENCODE(nacre_session_v1_Down, d, &b, &f) != 0 ||
	    rpc_send(p->session, buf_span(&b), &f) != 0)
		log_warn(&f, "rehearsal");
	buf_release(&b);
}

static void
say_bundle(struct partner *p)
{
	static char program[] = PROGRAM;
	static char path[] = "PATH=/";
	static char name[] = "rehearsal";
	static char home[] = "/tmp";
	static char token[] = "rehearsal";
	static char *argv[] = { program };
	static char *env[] = { path };
	static nacre_session_v1_FileRule files[] = { { program, false },
		{ home, true } };
	nacre_session_v1_Down d = nacre_session_v1_Down_init_zero;
	nacre_session_v1_Bundle *b = &d.kind.bundle;

	d.which_kind = nacre_session_v1_Down_bundle_tag;
	b->sandbox_id = name;
	b->name = name;
	b->has_tokens = true;
	b->tokens.gateway = token;
	b->tokens.sandbox = token;
	b->tokens.door = token;
	b->tokens.life_ms = 3600000;
	b->has_agent = true;
	b->agent.argv = argv;
	b->agent.argv_count = 1;
	b->agent.env = env;
	b->agent.env_count = 1;
	b->agent.workdir = home;
	b->uid = 1000;
	b->gid = 1000;
	b->user = name;
	b->home = home;
	b->pids_max = 64;
	b->memory_max = (uint64_t)1 << 40;
	b->files = files;
	b->files_count = NELEM(files);
	say(p, &d);
}

static void
say_exec(struct partner *p)
{
	static char program[] = PROGRAM;
	static char path[] = "PATH=/";
	static char home[] = "/tmp";
	static char id[] = "exec";
	static char *argv[] = { program };
	static char *env[] = { path };
	nacre_session_v1_Down d = nacre_session_v1_Down_init_zero;
	nacre_session_v1_Command *c = &d.kind.open.kind.exec.command;

	d.which_kind = nacre_session_v1_Down_open_tag;
	d.kind.open.attach_id = id;
	d.kind.open.which_kind = nacre_session_v1_Open_exec_tag;
	d.kind.open.kind.exec.has_command = true;
	d.kind.open.kind.exec.timeout_ms = 10000;
	c->argv = argv;
	c->argv_count = 1;
	c->env = env;
	c->env_count = 1;
	c->workdir = home;
	say(p, &d);
}

static void
say_stop(struct partner *p)
{
	nacre_session_v1_Down d = nacre_session_v1_Down_init_zero;

	d.which_kind = nacre_session_v1_Down_stop_tag;
	d.kind.stop.grace_ms = 1000;
	say(p, &d);
}

static void
session_message(struct rpc_call *c, void *owner, struct span m)
{
	struct partner *p = owner;
	nacre_session_v1_Up u = nacre_session_v1_Up_init_zero;
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, SUPERVISOR_ARENA);
	rpc_consume(c, m.len);
	if (WIRE_DECODE(nacre_session_v1_Up, &u, m, &a, &f) != 0 ||
	    u.which_kind == nacre_session_v1_Up_failed_tag)
		loop_stop(p->loop);
	else if (u.which_kind == nacre_session_v1_Up_hello_tag)
		say_bundle(p);
	else if (u.which_kind == nacre_session_v1_Up_exit_tag)
		say_exec(p);
	else if (u.which_kind == nacre_session_v1_Up_stopped_tag) {
		p->has_stopped = true;
		loop_stop(p->loop);
	}
	arena_release(&a);
}

static void
/* cppcheck-suppress constParameter ; a callback's type */
call_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct partner *p = owner;

	(void)f;
	(void)detail;
	if (c == p->session)
		p->session = NULL;
}

static void
exec_message(struct rpc_call *c, void *owner, struct span m)
{
	struct partner *p = owner;
	nacre_session_v1_AttachUp u = nacre_session_v1_AttachUp_init_zero;
	nacre_session_v1_AttachDown d = nacre_session_v1_AttachDown_init_zero;
	struct fault f = { 0 };
	struct arena a;
	struct buf b;

	arena_init(&a, SUPERVISOR_ARENA);
	buf_init(&b, 256);
	rpc_consume(c, m.len);
	d.which_kind = nacre_session_v1_AttachDown_in_end_tag;
	d.kind.in_end = true;
	if (WIRE_DECODE(nacre_session_v1_AttachUp, &u, m, &a, &f) != 0)
		loop_stop(p->loop);
	else if (u.which_kind == nacre_session_v1_AttachUp_exit_tag)
		say_stop(p);
	else if (WIRE_ENCODE(nacre_session_v1_AttachDown, &d, &b, &f) != 0 ||
	    rpc_send(c, buf_span(&b), &f) != 0)
		log_warn(&f, "rehearsal");
	buf_release(&b);
	arena_release(&a);
}

static void
exec_half_closed(struct rpc_call *c, void *owner)
{
	(void)owner;
	rpc_finish(c, NULL, span_of(NULL, 0));
}

static void
gateway_open(void *owner, struct rpc_link *l, struct rpc_call *c,
    const struct rpc_request *r)
{
	static const struct rpc_call_events session = {
		.message = session_message,
		.closed = call_closed,
	};
	static const struct rpc_call_events exec = {
		.message = exec_message,
		.half_closed = exec_half_closed,
		.closed = call_closed,
	};
	struct partner *p = owner;

	(void)l;
	if (span_is(r->path, "/nacre.session.v1.Session/Session")) {
		p->session = c;
		rpc_call_accept(c, &session, p);
	} else {
		rpc_call_accept(c, &exec, p);
	}
}

/* --- the tunnel, as the keeper moves it */
static size_t
inner_write(void *owner, struct span b)
{
	struct partner *p = owner;

	return p->tunnel ? rpc_stream_write(p->tunnel, b) : 0;
}

static void
inner_feed(void *owner)
{
	struct partner *p = owner;
	size_t n;

	if (!p->inner || p->in.len == 0)
		return;
	n = rpc_link_feed(p->inner, buf_span(&p->in));
	buf_eat(&p->in, n);
	if (p->tunnel && n > 0)
		rpc_stream_consume(p->tunnel, n);
}

static void
inner_close(void *owner)
{
	(void)owner;
}

static void
inner_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	struct partner *p = owner;

	(void)l;
	(void)f;
	p->inner = NULL;
	loop_stop(p->loop);
}

static void
tunnel_bytes(struct rpc_stream *s, void *owner, struct span b)
{
	struct partner *p = owner;
	struct fault f = { 0 };

	(void)s;
	if (buf_add(&p->in, b.ptr, b.len, &f) != 0)
		loop_stop(p->loop);
	else
		inner_feed(p);
}

static void
tunnel_writable(struct rpc_stream *s, void *owner)
{
	struct partner *p = owner;

	(void)s;
	if (p->inner)
		rpc_link_writable(p->inner);
}

static void
/* cppcheck-suppress constParameter ; a callback's type */
tunnel_closed(struct rpc_stream *s, void *owner, uint32_t error)
{
	struct partner *p = owner;

	(void)error;
	if (s != p->tunnel)
		return;
	p->tunnel = NULL;
	loop_stop(p->loop);
}

static int
open_tunnel(struct partner *p, struct rpc_stream *s, struct fault *f)
{
	static const struct rpc_link_events events = { .down = inner_down };
	const struct rpc_bytes bytes = { .write = inner_write,
		.resume = inner_feed,
		.close = inner_close,
		.owner = p };
	struct rpc_link_options o = { .server = true,
		.handlers = &p->gateway,
		.events = &events,
		.owner = p };
	uint8_t random[TLS_ENTROPY];

	p->tunnel = s;
	if (rpc_stream_write(s, span_of(p->key.pin, TLS_PIN)) != TLS_PIN)
		return fault_set(f, FAULT_BUSY, "cannot send the pin");
	random_bytes(random, sizeof(random));
	o.tls = tls_server_new(&p->key, random, f);
	if (!o.tls)
		return -1;
	p->inner = rpc_link_open_bytes(p->loop, &bytes, &o, f);
	return p->inner ? 0 : -1;
}

static void
keeper_connect(void *owner, struct rpc_link *l, struct rpc_stream *s,
    struct span authority, const struct h2_header *headers, size_t n)
{
	static const struct rpc_stream_events events = {
		.bytes = tunnel_bytes,
		.writable = tunnel_writable,
		.closed = tunnel_closed,
	};
	struct partner *p = owner;
	struct fault f = { 0 };

	(void)l;
	(void)headers;
	(void)n;
	rpc_stream_accept(s, &events, p);
	if (span_is(authority, "gateway.nacre:443") &&
	    open_tunnel(p, s, &f) != 0) {
		log_warn(&f, "rehearsal");
		loop_stop(p->loop);
	}
}

static void
port_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	struct partner *p = owner;

	(void)l;
	(void)f;
	p->port = NULL;
	loop_stop(p->loop);
}

static int
begin(struct partner *p, int port, struct fault *f)
{
	static const struct rpc_link_events events = { .down = port_down };
	struct rpc_link_options o = { .server = true,
		.handlers = &p->keeper,
		.events = &events,
		.owner = p };
	uint8_t random[TLS_ENTROPY];

	p->keeper =
	    (struct rpc_server){ .connect = keeper_connect, .owner = p };
	p->gateway = (struct rpc_server){ .open = gateway_open, .owner = p };
	buf_init(&p->in, 2 * LIMIT_WINDOW_ACTIVE);
	random_bytes(random, sizeof(random));
	p->loop = loop_new(f);
	if (!p->loop || tls_key_make(&p->key, random, "gateway.nacre", f) != 0)
		return -1;
	p->port = rpc_link_open_fd(p->loop, port, &o, f);
	return p->port ? loop_run(p->loop, f) : -1;
}

int
partner_run(int port)
{
	struct partner *p = must_alloc(sizeof(*p));
	struct fault f = { 0 };

	if (begin(p, port, &f) != 0)
		log_warn(&f, "rehearsal");
	return p->has_stopped ? 0 : 1;
}
