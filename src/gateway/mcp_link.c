/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection to the port on 127.0.0.1: HTTP/1.1 is handed to mcp_conn, HTTP/2
 * is served here. One that carries no request for a while is told to go
 * (GOAWAY) and then closed, whatever else it sends meanwhile.
 *
 *   first bytes -+-> mcp_conn
 *                +-> link ... idle -> finishing -> down
 */
#include <stdlib.h>

#include "gateway/first.h"
#include "gateway/mcp.h"

struct mcp_link {
	struct gateway *g;
	struct crowd_seat seat;
	struct first first;
	struct rpc_link *link;
	struct mcp_streams streams;
	struct timer idle;
	bool is_finishing;
	struct mcp_link *next;
	struct mcp_link *prev;
};

static void
forget(struct mcp_link *l)
{
	struct mcp *m = l->g->mcp;

	loop_timer_clear(&l->idle);
	crowd_leave(&l->seat);
	if (l->prev != NULL)
		l->prev->next = l->next;
	else
		m->links = l->next;
	if (l->next != NULL)
		l->next->prev = l->prev;
	loop_bury(l->g->loop, l, free);
}

static void
on_down(struct rpc_link *link, void *owner, const struct fault *f)
{
	(void)link;
	(void)f;
	forget(owner);
}

/* Another takes its place. */
static void
unseat(struct crowd_seat *s)
{
	struct mcp_link *l = CONTAINER_OF(s, struct mcp_link, seat);

	crowd_leave(s);
	if (l->link != NULL) {
		rpc_link_drop(l->link, NULL);
		return;
	}
	first_drop(&l->first);
	forget(l);
}

static const struct rpc_link_events link_events = {
	.down = on_down,
};

static void
on_request(void *owner, struct rpc_link *link, struct rpc_stream *s,
    const struct h2_header *headers, size_t n)
{
	struct mcp_link *l = rpc_link_owner(link);

	(void)owner;
	loop_timer_clear(&l->idle);
	mcp_stream_open(&l->streams, s, headers, n);
	if (l->streams.is_proved)
		crowd_own(&l->seat, l->streams.principal);
	if (l->streams.n == 0)
		l->streams.idle(&l->streams);
	else if (l->streams.is_proved)
		crowd_rank(&l->seat, CROWD_BUSY);
}

static void
on_idle(struct mcp_streams *s)
{
	struct mcp_link *l = CONTAINER_OF(s, struct mcp_link, streams);

	if (s->is_proved)
		crowd_rank(&l->seat, CROWD_IDLE);
	loop_timer_set(l->g->loop, &l->idle,
	    l->is_finishing ? MCP_LINGER_MS : MCP_IDLE_MS);
}

static void
idle_over(struct timer *t)
{
	struct mcp_link *l = CONTAINER_OF(t, struct mcp_link, idle);

	if (l->is_finishing) {
		rpc_link_drop(l->link, NULL);
		return;
	}
	l->is_finishing = true;
	rpc_link_shutdown(l->link);
	loop_timer_set(l->g->loop, t, MCP_LINGER_MS);
}

/* No gRPC here: all are requests of HTTP. */
static void
speak_http2(struct mcp_link *l, int fd)
{
	static const struct rpc_server handlers = { .request = on_request };
	const struct rpc_link_options o = {
		.server = true,
		.handlers = &handlers,
		.events = &link_events,
		.owner = l,
		.takes_turns = true,
	};
	struct fault f = { 0 };

	l->streams.idle = on_idle;
	l->idle.fire = idle_over;
	l->link = rpc_link_open_fd(l->g->loop, fd, &o, &f);
	if (l->link == NULL) {
		log_warn(&f, "cannot serve a client");
		forget(l);
		return;
	}
	on_idle(&l->streams);
}

static void
on_first(struct first *f, enum first_words words, int fd)
{
	struct mcp_link *l = CONTAINER_OF(f, struct mcp_link, first);
	struct gateway *g = l->g;

	if (words == FIRST_HTTP2) {
		speak_http2(l, fd);
		return;
	}
	forget(l);
	if (words == FIRST_HTTP1)
		mcp_conn_start(g, fd, NULL);
}

void
mcp_link_start(struct gateway *g, int fd)
{
	struct mcp_link *l = must_alloc(sizeof(*l));
	struct mcp *m = g->mcp;

	l->g = g;
	l->streams.g = g;
	l->next = m->links;
	if (l->next != NULL)
		l->next->prev = l;
	m->links = l;
	l->seat.close = unseat;
	crowd_join(&m->at_port, &l->seat);
	l->first.tell = on_first;
	first_begin(&l->first, g->loop, fd);
}

void
mcp_link_close_all(struct gateway *g)
{
	for (struct mcp_link *l = g->mcp->links; l != NULL; l = l->next) {
		first_drop(&l->first);
		if (l->link != NULL)
			rpc_link_drop(l->link, NULL);
	}
}
