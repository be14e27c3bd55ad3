/* SPDX-License-Identifier: Apache-2.0 */
/* What HTTP/2 tells a link, handed to the item it concerns. */
#include "rpc/inner.h"

static struct rpc_call *
call_at(struct item *it)
{
	return CONTAINER_OF(it, struct rpc_call, item);
}

static struct rpc_stream *
stream_at(struct item *it)
{
	return CONTAINER_OF(it, struct rpc_stream, item);
}

static void
on_headers(void *owner, int32_t id, const struct h2_header *hs, size_t n,
    bool end)
{
	struct rpc_link *l = owner;
	struct item *it = item_of(l, id);
	bool is_request = l->is_server && h2_find(hs, n, ":method").ptr;

	if (is_request && span_is(h2_find(hs, n, ":method"), "CONNECT"))
		stream_open(l, id, hs, n);
	else if (is_request)
		server_headers(l, id, hs, n);
	else if (!it || it->is_ended || !it->is_client)
		return; /* trailers of a client say nothing to gRPC */
	else if (it->is_call)
		client_headers(call_at(it), hs, n, end);
	else
		stream_headers(stream_at(it), hs, n);
}

static void
on_data(void *owner, int32_t id, struct span bytes)
{
	struct rpc_link *l = owner;
	struct item *it = item_of(l, id);

	if (!it || it->is_ended)
		h2_consume(l->h2, id, bytes.len);
	else if (it->is_call)
		call_data(call_at(it), bytes);
	else
		stream_data(stream_at(it), bytes);
}

static void
on_end(void *owner, int32_t id)
{
	struct item *it = item_of(owner, id);

	if (!it || it->is_ended)
		return;
	it->link->has_asked = true;
	if (it->is_call)
		call_peer_ended(call_at(it));
	else
		stream_peer_ended(stream_at(it));
}

static void
on_closed(void *owner, int32_t id, uint32_t error)
{
	struct item *it = item_of(owner, id);

	if (!it)
		return;
	item_detach(it);
	if (it->is_call)
		call_stream_closed(call_at(it), error);
	else
		stream_closed(stream_at(it), error);
}

static void
on_writable(void *owner, int32_t id)
{
	struct item *it = item_of(owner, id);

	if (!it)
		return;
	if (it->is_call)
		call_writable(call_at(it));
	else if (!it->is_ended)
		stream_writable(stream_at(it));
}

static void
on_settings(void *owner)
{
	struct rpc_link *l = owner;

	if (l->is_up || l->is_dead)
		return;
	l->is_up = true;
	loop_timer_clear(&l->up_timer);
	if (l->events && l->events->up)
		l->events->up(l, l->owner);
}

static void
on_pong(void *owner, uint64_t opaque)
{
	struct rpc_link *l = owner;

	if (opaque <= l->pings && opaque > l->pongs)
		l->pongs = opaque;
}

const struct h2_events link_h2_events = {
	.headers = on_headers,
	.data = on_data,
	.end = on_end,
	.closed = on_closed,
	.writable = on_writable,
	.settings = on_settings,
	.pong = on_pong,
};
