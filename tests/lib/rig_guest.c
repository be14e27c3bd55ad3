/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keepers, the test's end of them: nacre.keeper.v1 on the link that the
 * gateway made, or on the socket where a later one finds it.
 */
#include <sys/socket.h>

#include <signal.h>
#include <unistd.h>

#include "proto/nacre_keeper.pb.h"
#include "rig.h"
#include "tls/tls.h"
#include "unit.h"
#include "wire/wire.h"

enum {
	ARENA = 4 << 20,
	IN_MOST = 4 << 20,
};

/* --- its end */

void
rig_guest_end(struct rig_guest *g)
{
	struct fault f = { 0 };

	fault_set(&f, FAULT_LOST, "the machine is gone");
	g->is_used = false;
	loop_unwatch(&g->watch);
	fd_close(&g->listener);
	fd_close(&g->hold);
	if (g->inner != NULL)
		rpc_link_drop(g->inner, &f);
	if (g->link != NULL)
		rpc_link_drop(g->link, &f);
	buf_release(&g->in);
}

void
rig_lose(struct rig_guest *g)
{
	(void)kill(g->pid, SIGKILL);
	rig_guest_end(g);
}

/* --- nacre.keeper.v1 */

static nacre_keeper_v1_Phase
phase_of(const struct rig_guest *g)
{
	if (g->ends)
		return nacre_keeper_v1_Phase_PHASE_ENDED;
	if (g->sandbox[0] != '\0')
		return nacre_keeper_v1_Phase_PHASE_CONNECTED;
	return g->parks ? nacre_keeper_v1_Phase_PHASE_PARKED
			: nacre_keeper_v1_Phase_PHASE_WAITING;
}

static void
tell_phase(struct rig_guest *g)
{
	static char fault[] = "the VMM ended with status 1";
	nacre_keeper_v1_Event e = nacre_keeper_v1_Event_init_zero;

	e.phase = phase_of(g);
	if (e.phase == nacre_keeper_v1_Phase_PHASE_ENDED)
		e.fault = fault;
	rig_send(g->events, nacre_keeper_v1_Event_fields, &e);
}

static void
events_message(struct rpc_call *c, void *owner, struct span m)
{
	struct rig_guest *g = owner;

	rpc_consume(c, m.len);
	g->events = c;
	tell_phase(g);
}

static void
events_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct rig_guest *g = owner;

	(void)f;
	(void)detail;
	if (g->events == c)
		g->events = NULL;
}

static void
status_message(struct rpc_call *c, void *owner, struct span m)
{
	static char accelerator[] = "tcg";
	nacre_keeper_v1_StatusReply s = nacre_keeper_v1_StatusReply_init_zero;
	struct rig_guest *g = owner;

	rpc_consume(c, m.len);
	if (g->rig->is_mute)
		return;
	s.phase = phase_of(g);
	s.sandbox_id = g->sandbox;
	s.keeper_pid = (int32_t)g->pid;
	s.accelerator = accelerator;
	s.cold = true;
	rig_send(c, nacre_keeper_v1_StatusReply_fields, &s);
	rpc_finish(c, NULL, span_of(NULL, 0));
}

static void
assign_message(struct rpc_call *c, void *owner, struct span m)
{
	const nacre_keeper_v1_AssignReply reply =
	    nacre_keeper_v1_AssignReply_init_zero;
	nacre_keeper_v1_AssignRequest ask =
	    nacre_keeper_v1_AssignRequest_init_zero;
	struct rig_guest *g = owner;
	struct fault f = { 0 };
	struct arena a;

	rpc_consume(c, m.len);
	arena_init(&a, ARENA);
	if (WIRE_DECODE(nacre_keeper_v1_AssignRequest, &ask, m, &a, &f) != 0)
		fail_msg("%s", f.text);
	assert_string_equal(g->sandbox, "");
	assert_int_equal(wire_span(ask.gateway_pin).len, TLS_PIN);
	memcpy(g->pin, wire_span(ask.gateway_pin).ptr, TLS_PIN);
	(void)text_copy(g->sandbox, sizeof(g->sandbox),
	    span_str(ask.sandbox_id));
	arena_release(&a);
	rig_send(c, nacre_keeper_v1_AssignReply_fields, &reply);
	rpc_finish(c, NULL, span_of(NULL, 0));
	if (g->events != NULL)
		tell_phase(g);
	rig_open_tunnel(g);
}

static void
stop_message(struct rpc_call *c, void *owner, struct span m)
{
	const nacre_keeper_v1_StopReply reply =
	    nacre_keeper_v1_StopReply_init_zero;
	struct rig_guest *g = owner;

	rpc_consume(c, m.len);
	g->is_ending = true;
	rig_send(c, nacre_keeper_v1_StopReply_fields, &reply);
	rpc_finish(c, NULL, span_of(NULL, 0));
}

static void
ignore_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	(void)c;
	(void)owner;
	(void)f;
	(void)detail;
}

static void
keeper_called(void *owner, struct rpc_link *l, struct rpc_call *c,
    const struct rpc_request *r)
{
	static const struct {
		const char *path;
		struct rpc_call_events events;
	} rows[] = {
		{ "Status",
		    { .message = status_message, .closed = ignore_closed } },
		{ "Watch",
		    { .message = events_message, .closed = events_closed } },
		{ "Assign",
		    { .message = assign_message, .closed = ignore_closed } },
		{ "Stop",
		    { .message = stop_message, .closed = ignore_closed } },
	};
	struct span name =
	    span_from(r->path, strlen("/nacre.keeper.v1.Keeper/"));
	struct rig_guest *g = rpc_link_owner(l);
	struct fault f = { 0 };

	(void)owner;
	if (span_is(name, "Tunnel")) {
		rig_take_tunnel(g, c);
		return;
	}
	for (size_t i = 0; i < NELEM(rows); i++) {
		if (!span_is(name, rows[i].path))
			continue;
		rpc_call_accept(c, &rows[i].events, g);
		return;
	}
	fault_set(&f, FAULT_UNIMPLEMENTED, "a stand-in does not serve that");
	rpc_finish(c, &f, span_of(NULL, 0));
}

static void
keeper_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	struct rig_guest *g = owner;

	(void)f;
	if (g->link != l)
		return;
	g->link = NULL;
	/* One that was given to nobody has nothing to go on for. */
	if (g->is_used && (g->is_ending || g->sandbox[0] == '\0'))
		rig_guest_end(g);
}

static void
open_link(struct rig_guest *g, int fd)
{
	static const struct rpc_server handlers = { .open = keeper_called };
	static const struct rpc_link_events events = { .down = keeper_down };
	const struct rpc_link_options o = { .server = true,
		.handlers = &handlers,
		.events = &events,
		.owner = g };
	struct rpc_link *before = g->link;
	struct fault f = { 0 };

	g->link = rpc_link_open_fd(g->rig->loop, fd, &o, &f);
	if (g->link == NULL)
		fail_msg("%s", f.text);
	if (before != NULL)
		rpc_link_drop(before, NULL);
}

static void
listener_ready(struct watch *w, unsigned events)
{
	struct rig_guest *g = CONTAINER_OF(w, struct rig_guest, watch);
	int fd = accept4(g->listener, NULL, NULL, SOCK_CLOEXEC);

	(void)events;
	if (fd >= 0)
		open_link(g, fd);
}

/* --- its beginning */

void
rig_guest_come(struct rig *r, int from)
{
	struct rig_guest *g = r->guest;
	int fds[2] = { -1, -1 };
	size_t nfds = 2;
	char text[128] = "";
	struct fault f = { 0 };
	size_t got = 0;
	int parks = 0;
	int ends = 0;

	while (g < r->guest + RIG_GUESTS && (g->is_used || g->link != NULL))
		g++;
	assert_true(g < r->guest + RIG_GUESTS);
	if (fd_receive(from, text, sizeof(text) - 1, &got, fds, &nfds, &f) !=
		0 ||
	    nfds != 2)
		fail_msg("a keeper came without descriptors");
	memset(g, 0, sizeof(*g));
	g->rig = r;
	g->is_used = true;
	g->hold = from;
	g->listener = fds[1];
	g->watch.ready = listener_ready;
	buf_init(&g->in, IN_MOST);
	assert_int_equal(
	    sscanf(text, "%36s %d %d %d", g->id, &g->pid, &parks, &ends), 4);
	g->parks = parks != 0;
	g->ends = ends != 0;
	if (loop_watch(r->loop, &g->watch, g->listener, LOOP_IN, &f) != 0)
		fail_msg("%s", f.text);
	r->spawned++;
	open_link(g, fds[0]);
}

/* The machine before may be on its way out still. */
struct rig_guest *
rig_guest_of(struct rig *r, const char *sandbox)
{
	struct rig_guest *old = NULL;

	for (struct rig_guest *g = r->guest; g < r->guest + RIG_GUESTS; g++) {
		if (!g->is_used || strcmp(g->sandbox, sandbox) != 0)
			continue;
		if (!g->has_exited)
			return g;
		old = g;
	}
	return old;
}

size_t
rig_guests(const struct rig *r)
{
	size_t n = 0;

	for (size_t i = 0; i < RIG_GUESTS; i++)
		n += r->guest[i].is_used;
	return n;
}
