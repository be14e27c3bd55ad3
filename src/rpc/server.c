/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side that is called: requests judged by their headers, answers with
 * status and trailers. An answer without a message is one header block
 * ("Trailers-Only").
 */
#include "rpc/inner.h"

static const struct h2_header ok_headers[] = {
	{ { (const uint8_t *)":status", 7 }, { (const uint8_t *)"200", 3 } },
	{ { (const uint8_t *)"content-type", 12 },
	    { (const uint8_t *)"application/grpc", 16 } },
};

int
server_answer(struct rpc_call *c, struct fault *f)
{
	if (c->has_headers)
		return 0;
	if (h2_respond(c->item.link->h2, c->item.stream, ok_headers,
		NELEM(ok_headers), false, f) != 0)
		return -1;
	c->has_headers = true;
	return 0;
}

void
server_trailers(struct rpc_call *c)
{
	NOT_ZEROED struct h2_header hs[RPC_HEADERS];
	NOT_ZEROED struct status_text text;
	struct fault f = { 0 };
	struct h2 *h2 = c->item.link->h2;
	int32_t stream = c->item.stream;
	size_t n = 0;
	int rc;

	if (!c->has_headers)
		for (; n < NELEM(ok_headers); n++)
			hs[n] = ok_headers[n];
	n += status_headers(&c->status, buf_span(&c->detail), &text, hs + n);
	if (c->has_headers)
		rc = h2_end(h2, stream, hs, n, &f);
	else
		rc = h2_respond(h2, stream, hs, n, true, &f);
	if (rc == 0)
		h2_end_both(h2, stream);
	else
		h2_reset(h2, stream, H2_INTERNAL_ERROR);
	f = (struct fault){ 0 };
	buf_clear(&c->detail);
	call_end(c, &f);
}

static void
finish(struct rpc_call *c, const struct fault *f, struct span detail)
{
	struct fault ignored = { 0 };

	c->has_finished = true;
	if (f)
		c->status = *f;
	buf_clear(&c->detail);
	if (detail.len <= STATUS_DETAIL)
		(void)!buf_add(&c->detail, detail.ptr, detail.len, &ignored);
	loop_timer_clear(&c->deadline);
	call_end_sending(c);
}

void
rpc_finish(struct rpc_call *c, const struct fault *f, struct span detail)
{
	BUG_IF(c->item.is_client);
	if (c->item.is_ended || c->has_finished)
		return;
	finish(c, f, detail);
}

void
server_refuse(struct rpc_call *c, const struct fault *why)
{
	struct fault told = *why;

	if (c->item.is_ended || c->has_finished)
		return;
	/* part of a message may be lost with it */
	c->item.link->backlog -= c->out.len;
	buf_clear(&c->out);
	c->has_finished = true;
	c->status = *why;
	if (c->item.stream)
		server_trailers(c);
	else
		call_end(c, why);
	if (told.code == FAULT_TIMEOUT)
		told.code = FAULT_CANCELLED;
	c->status = told;
}

/* Not gRPC at all: an HTTP answer, no call. */
static void
answer_http(struct rpc_link *l, int32_t stream, const char *status)
{
	struct h2_header hs[] = { HEADER(":status", span_str(status)) };
	struct fault f = { 0 };

	if (h2_respond(l->h2, stream, hs, NELEM(hs), true, &f) != 0)
		h2_reset(l->h2, stream, H2_INTERNAL_ERROR);
	h2_end_both(l->h2, stream);
	link_wake(l);
}

static bool
is_grpc(struct span type)
{
	static const char name[] = "application/grpc";
	uint8_t after;

	if (!span_starts(type, name))
		return false;
	if (type.len == sizeof(name) - 1)
		return true;
	after = type.ptr[sizeof(name) - 1];
	return after == '+' || after == ';' || after == ' ';
}

static int
judge(const struct h2_header *hs, size_t n, struct rpc_request *r,
    struct fault *f)
{
	struct span coding = h2_find(hs, n, "grpc-encoding");
	struct span timeout = h2_find(hs, n, "grpc-timeout");

	r->timeout_ms = -1;
	if (coding.len > 0 && !span_is(coding, "identity"))
		return fault_set(f, FAULT_UNIMPLEMENTED,
		    "compressed messages are not taken");
	if (timeout.ptr && !timeout_parse(timeout, &r->timeout_ms))
		return fault_field(f, "grpc-timeout",
		    "grpc-timeout is not a time");
	return 0;
}

void
server_headers(struct rpc_link *l, int32_t stream, const struct h2_header *hs,
    size_t n)
{
	struct rpc_request r = { .headers = hs, .headers_n = n };
	struct fault f = { 0 };
	struct rpc_call *c;
	bool is_post = span_is(h2_find(hs, n, ":method"), "POST");
	bool is_call = is_post && is_grpc(h2_find(hs, n, "content-type"));

	l->has_asked = true;
	if (l->handlers->request && (!is_call || !l->handlers->open)) {
		stream_request(l, stream, hs, n);
		return;
	}
	if (!is_call) {
		answer_http(l, stream, is_post ? "415" : "405");
		return;
	}
	r.path = h2_find(hs, n, ":path");
	r.authorization = h2_find(hs, n, "authorization");
	c = call_new(l, stream);
	if (judge(hs, n, &r, &f) != 0) {
		rpc_finish(c, &f, span_of(NULL, 0));
		return;
	}
	if (r.timeout_ms >= 0)
		loop_timer_set(l->loop, &c->deadline, r.timeout_ms);
	l->handlers->open(l->handlers->owner, l, c, &r);
	BUG_IF(
	    !c->events && !c->has_finished && !c->item.is_ended && !l->is_dead);
}
