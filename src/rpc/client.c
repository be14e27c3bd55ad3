/* SPDX-License-Identifier: Apache-2.0 */
/* The side that calls: the request's headers, the answer's and its status. */
#include <stdlib.h>

#include "rpc/inner.h"

static size_t
request_headers(const struct rpc_link *l, const char *path,
    struct span authorization, const char *timeout, struct h2_header *hs)
{
	size_t n = 0;

	hs[n++] = HEADER(":method", SPAN_LIT("POST"));
	hs[n++] = HEADER(":scheme", span_str(l->tls ? "https" : "http"));
	hs[n++] = HEADER(":path", span_str(path));
	hs[n++] = HEADER(":authority", SPAN_LIT("nacre"));
	if (timeout[0])
		hs[n++] = HEADER("grpc-timeout", span_str(timeout));
	hs[n++] = HEADER("content-type", SPAN_LIT("application/grpc"));
	hs[n++] = HEADER("te", SPAN_LIT("trailers"));
	if (authorization.len > 0)
		hs[n++] = HEADER("authorization", authorization);
	return n;
}

struct rpc_call *
/* NOLINTNEXTLINE(readability-function-size): one more than the wall */
rpc_call(struct rpc_link *l, const char *path, struct span authorization,
    int64_t timeout_ms, const struct rpc_call_events *events, void *owner,
    struct fault *f)
{
	struct h2_header hs[RPC_HEADERS];
	char timeout[12] = "";
	struct rpc_call *c;
	int32_t stream;
	size_t n;

	BUG_IF(l->is_server);
	if (l->is_dead || l->is_shut) {
		(void)fault_set(f, FAULT_LOST, "the connection is down");
		return NULL;
	}
	if (timeout_ms >= 0)
		timeout_format(timeout_ms, timeout);
	n = request_headers(l, path, authorization, timeout, hs);
	if (h2_request(l->h2, hs, n, false, &stream, f) != 0)
		return NULL;
	c = call_new(l, stream);
	c->events = events;
	c->owner = owner;
	if (timeout_ms >= 0)
		loop_timer_set(l->loop, &c->deadline, timeout_ms);
	link_wake(l);
	return c;
}

int
rpc_call_unary(struct rpc_call *c, struct span message, struct fault *f)
{
	if (rpc_send(c, message, f) != 0)
		return -1;
	rpc_half_close(c);
	return 0;
}

void
rpc_half_close(struct rpc_call *c)
{
	BUG_IF(!c->item.is_client);
	if (c->item.is_ended || c->has_finished)
		return;
	c->has_finished = true;
	call_end_sending(c);
}

/* The status has come: what we still had to send is of no use. */
static void
finished(struct rpc_call *c, const struct fault *f)
{
	struct fault cut = { 0 };

	if (f->code == FAULT_NONE && c->in.len > 0) {
		(void)fault_set(&cut, FAULT_PROTOCOL,
		    "a message was cut short");
		f = &cut;
	}
	if (!c->has_finished || c->ends_later)
		h2_reset(c->item.link->h2, c->item.stream, H2_NO_ERROR);
	call_end(c, f);
}

static void
refuse(struct rpc_call *c, const struct fault *f)
{
	h2_reset(c->item.link->h2, c->item.stream, H2_CANCEL);
	call_end(c, f);
}

void
client_headers(struct rpc_call *c, const struct h2_header *hs, size_t n,
    bool end)
{
	struct fault f = { 0 };
	uint64_t http = 0;

	if (end && status_parse(hs, n, &f, &c->detail)) {
		finished(c, &f);
		return;
	}
	if (c->has_headers)
		return; /* trailers without a status: call_peer_ended() */
	if (!num_parse(h2_find(hs, n, ":status"), 999, &http) || http != 200) {
		status_from_http((int)http, &f);
		refuse(c, &f);
		return;
	}
	if (!span_starts(h2_find(hs, n, "content-type"), "application/grpc")) {
		(void)fault_set(&f, FAULT_PROTOCOL, "the peer is not gRPC");
		refuse(c, &f);
		return;
	}
	c->has_headers = true;
}
