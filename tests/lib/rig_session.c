/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guests, the test's end of them: through a keeper's Tunnel the session of a
 * supervisor, over TLS. It begins, is lost with its gateway, and begins again
 * with the next.
 */
#include "proto/nacre_keeper.pb.h"
#include "proto/nacre_session.pb.h"
#include "rig.h"
#include "tls/tls.h"
#include "unit.h"
#include "wire/wire.h"

enum {
	ARENA = 4 << 20,
};

#define SESSION "/nacre.session.v1.Session/"

void
rig_send(struct rpc_call *c, const struct pb_msgdesc_s *fields, const void *m)
{
	struct fault f = { 0 };
	struct buf b;

	if (c == NULL)
		return;
	buf_init(&b, LIMIT_MESSAGE);
	if (wire_encode(fields, m, &b, &f) != 0 ||
	    (rpc_send(c, buf_span(&b), &f) != 0 && f.code != FAULT_LOST))
		fail_msg("%s", f.text);
	buf_release(&b);
}

/* --- the session */

static void
tell(struct rig_guest *g, const nacre_session_v1_Up *up)
{
	rig_send(g->session, nacre_session_v1_Up_fields, up);
}

static void
tell_ready(struct rig_guest *g)
{
	nacre_session_v1_Up up = nacre_session_v1_Up_init_zero;

	up.which_kind = nacre_session_v1_Up_ready_tag;
	up.kind.ready.main_pid = 7;
	up.kind.ready.generation = g->generation;
	tell(g, &up);
}

static void
tell_exit(struct rig_guest *g)
{
	nacre_session_v1_Up up = nacre_session_v1_Up_init_zero;

	up.which_kind = nacre_session_v1_Up_exit_tag;
	tell(g, &up);
}

void
rig_say_ready(struct rig_guest *g)
{
	g->is_ready = true;
	if (g->is_open)
		tell_ready(g);
}

void
rig_say_failed(struct rig_guest *g)
{
	static char stage[] = "exec";
	static char reason[] = "it is not there";
	nacre_session_v1_Up up = nacre_session_v1_Up_init_zero;

	up.which_kind = nacre_session_v1_Up_failed_tag;
	up.kind.failed.stage = stage;
	up.kind.failed.reason = reason;
	tell(g, &up);
}

void
rig_say_exit(struct rig_guest *g)
{
	g->has_exited = true;
	if (g->is_open)
		tell_exit(g);
}

void
rig_release(struct rig_guest *g)
{
	nacre_session_v1_Up up = nacre_session_v1_Up_init_zero;

	up.which_kind = nacre_session_v1_Up_stopped_tag;
	tell(g, &up);
	g->is_asked = false;
}

void
rig_take_tokens(struct rig_guest *g, const char *gateway, const char *door,
    int64_t life_ms)
{
	assert_true(text_copy(g->gateway, RIG_TOKEN, span_str(gateway)));
	assert_true(text_copy(g->door, RIG_TOKEN, span_str(door)));
	(void)text_fmt(g->bearer, sizeof(g->bearer), "Bearer %s", g->gateway);
	g->half_life_ms = rig_clock()->mono_ms + life_ms / 2;
}

static void
take_tokens(struct rig_guest *g, const nacre_session_v1_Tokens *t)
{
	rig_take_tokens(g, t->gateway, t->door, t->life_ms);
}

static void
take_bundle(struct rig_guest *g, const nacre_session_v1_Bundle *b)
{
	g->epoch = b->epoch;
	g->generation = b->generation;
	take_tokens(g, &b->tokens);
	g->is_launched = g->is_open = true;
	if (g->rig->launches)
		rig_say_ready(g);
}

/* What was said is said again: a gateway that died may not have kept it. */
static void
take_resume(struct rig_guest *g, const nacre_session_v1_Resume *r)
{
	nacre_session_v1_Up up = nacre_session_v1_Up_init_zero;

	g->epoch = r->epoch;
	take_tokens(g, &r->tokens);
	g->is_open = true;
	up.which_kind = nacre_session_v1_Up_taken_tag;
	up.kind.taken.epoch = g->epoch;
	tell(g, &up);
	if (g->is_ready)
		tell_ready(g);
	else if (g->rig->launches)
		rig_say_ready(g);
	if (g->has_exited)
		tell_exit(g);
}

static void
take_open(struct rig_guest *g, const nacre_session_v1_Open *open)
{
	static char code[] = "UNIMPLEMENTED";
	static char text[] = "nothing runs in a stand-in";
	nacre_session_v1_Up up = nacre_session_v1_Up_init_zero;

	if (open->which_kind == nacre_session_v1_Open_exec_tag)
		g->exec_ms = open->kind.exec.timeout_ms;
	up.which_kind = nacre_session_v1_Up_opened_tag;
	up.kind.opened.attach_id = open->attach_id;
	up.kind.opened.code = code;
	up.kind.opened.text = text;
	tell(g, &up);
}

static void
take_down(struct rig_guest *g, const nacre_session_v1_Down *d)
{
	switch (d->which_kind) {
	case nacre_session_v1_Down_bundle_tag:
		take_bundle(g, &d->kind.bundle);
		return;
	case nacre_session_v1_Down_resume_tag:
		take_resume(g, &d->kind.resume);
		return;
	case nacre_session_v1_Down_tokens_tag:
		take_tokens(g, &d->kind.tokens);
		return;
	case nacre_session_v1_Down_open_tag:
		take_open(g, &d->kind.open);
		return;
	case nacre_session_v1_Down_stop_tag:
		g->is_asked = true;
		if (!g->rig->holds)
			rig_release(g);
		return;
	default:
		return;
	}
}

static void
session_message(struct rpc_call *c, void *owner, struct span m)
{
	nacre_session_v1_Down d = nacre_session_v1_Down_init_zero;
	struct rig_guest *g = owner;
	struct fault f = { 0 };
	struct arena a;

	rpc_consume(c, m.len);
	arena_init(&a, ARENA);
	if (WIRE_DECODE(nacre_session_v1_Down, &d, m, &a, &f) != 0)
		fail_msg("%s", f.text);
	take_down(g, &d);
	arena_release(&a);
}

static void
session_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct rig_guest *g = owner;

	(void)detail;
	if (g->session != c)
		return;
	g->session = NULL;
	g->is_open = false;
	g->is_refused = f->code == FAULT_UNAUTHENTICATED;
}

static void
inner_up(struct rpc_link *l, void *owner)
{
	static const struct rpc_call_events events = {
		.message = session_message,
		.closed = session_closed,
	};
	static char boot[] = "00000000-0000-4000-8000-000000000000";
	static char release[] = "6.12.0";
	struct rig_guest *g = owner;
	nacre_session_v1_Up up = nacre_session_v1_Up_init_zero;
	struct fault f = { 0 };

	g->session = rpc_call(l, SESSION "Session",
	    g->is_launched ? span_str(g->bearer) : span_of(NULL, 0), -1,
	    &events, g, &f);
	if (g->session == NULL)
		fail_msg("%s", f.text);
	up.which_kind = nacre_session_v1_Up_hello_tag;
	up.kind.hello.protocol = 1;
	up.kind.hello.epoch = ++g->epoch;
	up.kind.hello.boot_id = boot;
	up.kind.hello.kernel_release = release;
	up.kind.hello.running = g->is_ready && !g->has_exited;
	tell(g, &up);
}

/* The gateway ended that session alone: the next begins. */
static void
begin_again(struct rig_guest *g)
{
	if (g->link != NULL && rpc_link_is_up(g->link))
		rig_open_tunnel(g);
}

static void
inner_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	struct rig_guest *g = owner;

	(void)f;
	if (g->inner != l)
		return;
	g->inner = NULL;
	g->session = NULL;
	g->is_open = false;
	if (g->tunnel != NULL)
		rpc_finish(g->tunnel, NULL, span_of(NULL, 0));
	begin_again(g);
}

/* --- the tunnel */

static size_t
inner_write(void *owner, struct span bytes)
{
	struct rig_guest *g = owner;
	size_t taken = 0;

	while (
	    taken < bytes.len && g->tunnel != NULL && rpc_room(g->tunnel) > 0) {
		nacre_keeper_v1_Bytes m = nacre_keeper_v1_Bytes_init_zero;
		struct span rest = span_from(bytes, taken);
		struct arena a;

		if (rest.len > LIMIT_CHUNK)
			rest.len = LIMIT_CHUNK;
		arena_init(&a, 2 * LIMIT_CHUNK);
		m.data = wire_bytes(&a, rest);
		rig_send(g->tunnel, nacre_keeper_v1_Bytes_fields, &m);
		arena_release(&a);
		taken += rest.len;
	}
	return taken;
}

static void
feed(struct rig_guest *g)
{
	while (g->inner != NULL && g->in.len > 0) {
		size_t n = rpc_link_feed(g->inner, buf_span(&g->in));

		if (n == 0)
			return;
		buf_eat(&g->in, n);
	}
}

static void
inner_resume(void *owner)
{
	feed(owner);
}

static void
inner_close(void *owner)
{
	(void)owner;
}

static void
tunnel_message(struct rpc_call *c, void *owner, struct span m)
{
	nacre_keeper_v1_Bytes b = nacre_keeper_v1_Bytes_init_zero;
	struct rig_guest *g = owner;
	struct fault f = { 0 };
	struct span data;
	struct arena a;

	rpc_consume(c, m.len);
	if (g->tunnel != c)
		return;
	arena_init(&a, ARENA);
	if (WIRE_DECODE(nacre_keeper_v1_Bytes, &b, m, &a, &f) != 0)
		fail_msg("%s", f.text);
	data = wire_span(b.data);
	if (data.len > 0 && buf_add(&g->in, data.ptr, data.len, &f) != 0)
		fail_msg("%s", f.text);
	arena_release(&a);
	feed(g);
}

static void
tunnel_writable(struct rpc_call *c, void *owner)
{
	struct rig_guest *g = owner;

	(void)c;
	if (g->inner != NULL)
		rpc_link_writable(g->inner);
}

static void
tunnel_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct rig_guest *g = owner;

	(void)detail;
	if (g->waiting == c)
		g->waiting = NULL;
	if (g->tunnel != c)
		return;
	g->tunnel = NULL;
	if (g->inner != NULL)
		rpc_link_drop(g->inner, f);
	begin_again(g);
}

void
rig_open_tunnel(struct rig_guest *g)
{
	static const struct rpc_link_events events = { .up = inner_up,
		.down = inner_down };
	const struct rpc_bytes bytes = { .write = inner_write,
		.resume = inner_resume,
		.close = inner_close,
		.owner = g };
	struct rpc_link_options o = { .events = &events, .owner = g };
	nacre_keeper_v1_Bytes opened = nacre_keeper_v1_Bytes_init_zero;
	uint8_t random[TLS_ENTROPY];
	struct fault f = { 0 };

	if (!g->is_used || g->sandbox[0] == '\0' || g->waiting == NULL ||
	    g->tunnel != NULL || g->inner != NULL || g->is_ending)
		return;
	g->tunnel = g->waiting;
	g->waiting = NULL;
	opened.opened = true;
	rig_send(g->tunnel, nacre_keeper_v1_Bytes_fields, &opened);
	buf_clear(&g->in);
	random_bytes(random, sizeof(random));
	o.tls = tls_client_new("gateway.nacre", g->pin, random, &f);
	if (o.tls != NULL)
		g->inner = rpc_link_open_bytes(g->rig->loop, &bytes, &o, &f);
	if (g->inner == NULL)
		fail_msg("%s", f.text);
}

void
rig_take_tunnel(struct rig_guest *g, struct rpc_call *c)
{
	static const struct rpc_call_events events = {
		.message = tunnel_message,
		.writable = tunnel_writable,
		.closed = tunnel_closed,
	};

	rpc_call_accept(c, &events, g);
	g->waiting = c;
	rig_open_tunnel(g);
}
