/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request on a stream of HTTP/2: the socket's connections and those of
 * 127.0.0.1. The exchange is the one of HTTP/1.1 and of the door; here is only
 * how its bytes come and go. The end of the stream before the answer's, by a
 * reset of any kind or with the connection, is a client that has left.
 *
 *   head, body ... eof -> exchange -> head, pieces ... end -> closed
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/mcp.h"
#include "gateway/tally.h"
#include "http/http.h"

enum {
	HEAD =
	    128 << 10, /* arena of a head: its bytes, and what is read of it */
	NAME = 40,     /* of a header of ours */
};

struct mcp_stream {
	struct gateway *g;
	struct mcp_streams *of; /* outlives it */
	struct rpc_stream *stream;
	struct arena arena;
	struct h1_request request;
	struct mcp_head head;
	struct mcp_who who;
	struct buf body;
	struct buf out; /* what rpc has not taken */
	size_t load;    /* of the answer, until the end */
	struct timer timer;
	struct exchange *exchange;
	size_t *place;    /* where it is counted; NULL: nowhere */
	int64_t write_ms; /* to take some of the answer */
	bool is_whole;    /* nothing more is read of the request */
	bool waits;       /* out has bytes */
	bool is_complete; /* all of the answer is in out, or went */
	bool has_ended;   /* and nothing more is written */
};

/* --- out */

/* The answer ends here, as it is. */
static void
drop(struct mcp_stream *d, uint32_t error)
{
	d->is_whole = true;
	d->is_complete = true;
	d->has_ended = true;
	buf_release(&d->out);
	load_set(&d->g->mcp->to_host, &d->load, 0);
	rpc_stream_reset(d->stream, error);
}

static void
lost(struct mcp_stream *d, const struct fault *f)
{
	log_warn(f, "an answer of MCP is lost");
	drop(d, H2_INTERNAL_ERROR);
}

/* As much as HTTP/2 takes; then the end, if it is there. */
static void
pump(struct mcp_stream *d)
{
	bool moved = !d->waits; /* since the timer was set */
	size_t n = 1;

	if (d->has_ended)
		return;
	while (d->out.len > 0 && n > 0) {
		n = rpc_stream_write(d->stream, buf_span(&d->out));
		buf_eat(&d->out, n);
		moved = moved || n > 0;
	}
	d->waits = d->out.len > 0;
	if (d->is_complete && !d->waits) {
		d->has_ended = true;
		rpc_stream_end(d->stream);
	}
	if (!d->waits && !d->has_ended)
		loop_timer_clear(&d->timer);
	else if (moved)
		loop_timer_set(d->g->loop, &d->timer, d->write_ms);
}

static struct span
lower(const char *name, char to[NAME])
{
	size_t n = 0;

	for (; n < NAME && name[n] != '\0'; n++)
		to[n] = (char)(name[n] >= 'A' && name[n] <= 'Z'
			? name[n] - 'A' + 'a'
			: name[n]);
	return span_of(to, n);
}

/* end: it is all of the answer. */
static int
put_head(struct mcp_stream *d, const struct mcp_answer *a, bool end,
    struct fault *f)
{
	struct h2_header hs[3 + MCP_HEADERS];
	char names[MCP_HEADERS][NAME];
	char status[21];
	char length[21];
	size_t n = 0;

	(void)num_format((uint64_t)a->status, status);
	(void)num_format(a->body.len, length);
	hs[n++] = (struct h2_header){ SPAN_LIT(":status"), span_str(status) };
	if (a->type != NULL)
		hs[n++] = (struct h2_header){ SPAN_LIT("content-type"),
			span_str(a->type) };
	if (!a->stream && a->status != 204)
		hs[n++] = (struct h2_header){ SPAN_LIT("content-length"),
			span_str(length) };
	for (size_t i = 0; i < a->nheaders; i++)
		hs[n++] = (struct h2_header){
			lower(a->headers[i].name, names[i]),
			a->headers[i].value,
		};
	return rpc_stream_answer(d->stream, hs, n, end, f);
}

static void
sink_head(void *owner, const struct mcp_answer *a)
{
	struct mcp_stream *d = owner;
	struct mcp_answer full;
	struct fault f = { 0 };
	bool has_body;

	if (d->has_ended)
		return;
	if (!load_has_room(&d->g->mcp->to_host, a->body.len)) {
		mcp_unavailable(&full);
		a = &full;
	}
	has_body = a->stream ||
	    (a->body.len > 0 && !span_is(d->request.method, "HEAD"));
	if (put_head(d, a, !has_body, &f) < 0 ||
	    (has_body && !a->stream &&
		buf_add(&d->out, a->body.ptr, a->body.len, &f) < 0)) {
		lost(d, &f);
		return;
	}
	load_set(&d->g->mcp->to_host, &d->load, d->load + d->out.len);
	d->is_complete = !has_body;
	d->has_ended = !has_body;
	if (d->has_ended)
		loop_timer_set(d->g->loop, &d->timer, d->write_ms);
	pump(d);
}

static void
sink_piece(void *owner, struct span bytes)
{
	struct mcp_stream *d = owner;
	struct fault f = { 0 };

	if (d->has_ended)
		return;
	if (d->out.len > MCP_STREAM_OUT ||
	    !load_has_room(&d->g->mcp->to_host, bytes.len)) {
		fault_set(&f, FAULT_LIMIT, "the client does not read");
		lost(d, &f);
	} else if (buf_add(&d->out, bytes.ptr, bytes.len, &f) < 0) {
		lost(d, &f);
	} else {
		load_set(&d->g->mcp->to_host, &d->load, d->load + bytes.len);
		pump(d);
	}
}

static void
sink_end(void *owner, bool broken)
{
	struct mcp_stream *d = owner;

	d->exchange = NULL;
	if (d->has_ended)
		return;
	d->is_complete = true;
	if (broken)
		drop(d, H2_INTERNAL_ERROR);
	else
		pump(d);
}

static const struct mcp_sink sink = {
	.head = sink_head,
	.piece = sink_piece,
	.end = sink_end,
};

/* --- in */
static void
forget_body(struct mcp_stream *d)
{
	d->g->mcp->bodies -= d->body.len;
	buf_release(&d->body);
	buf_init(&d->body, MCP_BODY);
}

/* An answer that does not wait for the rest of the request. */
static void
refuse(struct mcp_stream *d, const struct mcp_answer *a)
{
	d->is_whole = true;
	forget_body(d);
	sink_head(d, a);
	sink_end(d, false);
}

static void
refuse_shortly(struct mcp_stream *d, int status, const char *json)
{
	struct mcp_answer a = { .status = status };

	if (json != NULL) {
		a.type = "application/json";
		a.body = span_str(json);
	}
	refuse(d, &a);
}

static void
on_bytes(struct rpc_stream *s, void *owner, struct span b)
{
	struct mcp_stream *d = owner;
	struct mcp *m = d->g->mcp;
	struct mcp_answer a;
	struct fault f = { 0 };

	rpc_stream_consume(s, b.len);
	if (d->is_whole)
		return;
	if (m->bodies + b.len > MCP_BODIES) {
		mcp_unavailable(&a);
		refuse(d, &a);
	} else if (buf_add(&d->body, b.ptr, b.len, &f) < 0) {
		mcp_too_large(&a);
		refuse(d, &a);
	} else {
		m->bodies += b.len;
	}
}

static void
on_eof(struct rpc_stream *s, void *owner)
{
	struct mcp_stream *d = owner;
	struct exchange *x;

	(void)s;
	if (d->is_whole)
		return;
	d->is_whole = true;
	loop_timer_clear(&d->timer);
	x = mcp_begin(d->g, &d->who, &d->head, buf_span(&d->body), &sink, d);
	forget_body(d);
	d->exchange = x;
}

static void
on_writable(struct rpc_stream *s, void *owner)
{
	(void)s;
	pump(owner);
}

static void
timed_out(struct timer *t)
{
	struct mcp_stream *d = CONTAINER_OF(t, struct mcp_stream, timer);

	if (d->is_whole)
		drop(d, H2_CANCEL);
	else
		refuse_shortly(d, 408, "{\"error\":\"timeout\"}");
}

static void
stream_free(void *p)
{
	struct mcp_stream *d = p;

	buf_release(&d->body);
	buf_release(&d->out);
	arena_release(&d->arena);
}

static void
on_closed(struct rpc_stream *s, void *owner, uint32_t error)
{
	struct mcp_stream *d = owner;
	struct exchange *x = d->exchange;

	(void)s;
	(void)error;
	d->has_ended = true;
	d->exchange = NULL;
	loop_timer_clear(&d->timer);
	forget_body(d);
	load_set(&d->g->mcp->to_host, &d->load, 0);
	if (x != NULL)
		mcp_left(x);
	if (d->place != NULL)
		(*d->place)--;
	d->of->n--;
	if (d->of->n == 0 && d->of->idle != NULL)
		d->of->idle(d->of);
	loop_bury(d->g->loop, d, stream_free);
}

static const struct rpc_stream_events events = {
	.bytes = on_bytes,
	.eof = on_eof,
	.writable = on_writable,
	.closed = on_closed,
};

/* The fields are gone after the callback: keep them. */
static int
keep_head(struct mcp_stream *d, const struct h2_header *hs, size_t n)
{
	struct h2_header *kept = arena_get(&d->arena, n * sizeof(*kept));

	if (kept == NULL)
		return 431;
	for (size_t i = 0; i < n; i++) {
		kept[i].name = arena_dup(&d->arena, hs[i].name);
		kept[i].value = arena_dup(&d->arena, hs[i].value);
		if (kept[i].name.ptr == NULL || kept[i].value.ptr == NULL)
			return 431;
	}
	return h2_read_request(kept, n, &d->request);
}

/* False: there is none left where it belongs, and it is reset. */
static bool
take_place(struct mcp_stream *d)
{
	struct mcp *m = d->g->mcp;
	size_t *place =
	    d->of->who != NULL ? &m->streams_socket : &m->streams_port;
	size_t most = MCP_STREAMS_PLACE;

	if (d->who.auth != MCP_KNOWN || d->who.caller.who == 0) {
		place = &m->streams_strange;
		most = MCP_STREAMS_STRANGE;
		d->write_ms = MCP_STRANGE_MS;
	}
	if (*place >= most) {
		drop(d, H2_REFUSED_STREAM);
		return false;
	}
	d->place = place;
	(*place)++;
	return true;
}

/* What the head alone says. */
static void
judge(struct mcp_stream *d)
{
	struct mcp_answer a;
	struct arena arena;
	bool is_refused;

	mcp_head_of(&d->request, &d->head);
	if (d->of->who == NULL)
		bearer_find(d->g, &d->head, &d->who);
	arena_init(&arena, MCP_SMALL);
	is_refused = mcp_refuse(d->g, &d->who, &d->head, &arena, &a);
	if (!take_place(d)) {
		arena_release(&arena);
		return;
	}
	if (is_refused) {
		refuse(d, &a);
	} else {
		d->of->is_proved = true;
		memcpy(d->of->principal, d->who.principal,
		    sizeof(d->of->principal));
	}
	if (!d->is_whole && d->request.expects_continue)
		rpc_stream_go_on(d->stream);
	arena_release(&arena);
}

void
mcp_stream_open(struct mcp_streams *of, struct rpc_stream *s,
    const struct h2_header *hs, size_t n)
{
	struct mcp_stream *d;
	struct arena arena;
	int status;

	if (of->n >= MCP_STREAMS) {
		rpc_stream_reset(s, H2_REFUSED_STREAM);
		return;
	}
	d = arena_home(&arena, sizeof(*d), HEAD);
	d->arena = arena;
	d->g = of->g;
	d->of = of;
	d->stream = s;
	d->timer.fire = timed_out;
	d->write_ms = MCP_WRITE_MS;
	if (of->who != NULL)
		d->who = *of->who;
	buf_init(&d->body, MCP_BODY);
	buf_init(&d->out, MCP_OUT);
	of->n++;
	rpc_stream_await(s, &events, d);
	loop_timer_set(d->g->loop, &d->timer, MCP_BODY_MS);
	status = keep_head(d, hs, n);
	if (of->who != NULL && of->who->caller.who == 0)
		tally_count(d->g, of->who->caller.text, FAULT_UNAUTHENTICATED);
	if (status == 0 && (of->who == NULL || of->who->caller.who != 0))
		judge(d);
	else if (take_place(d))
		refuse_shortly(d, status != 0 ? status : 403,
		    status != 0 ? NULL : "{\"error\":\"forbidden\"}");
}
