/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that came to the door of a sandbox, forwarded by its supervisor on
 * its own session. The sandbox is the session's; the program is what the guest
 * found; nothing that the caller sent says who it is.
 *
 *   request, body ... half-close -> exchange -> reply, pieces ... end
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/mcp.h"
#include "gateway/session_inner.h"
#include "proto/nacre_sandbox.pb.h"
#include "wire/wire.h"

enum {
	REQUEST = 256 << 10, /* arena of a decoded head */
	PIECE = 32 << 10,
	INLINE = 256 << 10, /* a body up to this goes with its head */
	AT_ONCE = 64,       /* of one machine */
	BODIES = 4 << 20,   /* bytes of one machine's bodies */
	SMALL = 64 << 10,
	ROW = 4 << 20, /* of a sandbox */
};

struct door_call {
	struct gateway *g;
	struct session *session; /* it outlives its calls; its vm may be NULL */
	struct rpc_call *call;   /* NULL: it is closed */
	struct arena arena;
	nacre_session_v1_DoorRequest request;
	bool has_request;
	bool whole;
	struct deferred turn;
	struct buf body;
	struct mcp_who who;
	struct mcp_head head;
	struct exchange *exchange;
	struct buf out;     /* messages behind 4 bytes of length each */
	size_t load;        /* of its answer, rpc's part of it too */
	struct timer timer; /* of that: to take some of it */
	bool is_complete;
	struct fault fault; /* how it ends */
};

/* --- out */
static void
door_free(void *p)
{
	struct door_call *d = p;

	buf_release(&d->body);
	buf_release(&d->out);
	arena_release(&d->arena);
	free(d);
}

/* As much as the session takes; then the end, if it is there. */
static void
pump(struct door_call *d)
{
	bool moved = !d->timer.armed;
	struct fault f = { 0 };

	if (d->call == NULL)
		return;
	while (d->out.len > 0) {
		struct span s = buf_span(&d->out);
		uint32_t n;

		memcpy(&n, s.ptr, sizeof(n));
		if (rpc_send(d->call, span_of(s.ptr + sizeof(n), n), &f) < 0)
			break;
		buf_eat(&d->out, sizeof(n) + n);
		moved = true;
	}
	if (d->out.len == 0 && d->is_complete)
		rpc_finish(d->call, &d->fault, span_of(NULL, 0));
	if (d->out.len == 0 && !d->is_complete)
		loop_timer_clear(&d->timer);
	else if (moved)
		loop_timer_set(d->g->loop, &d->timer, MCP_WRITE_MS);
}

static void
finish(struct door_call *d, const struct fault *f)
{
	d->is_complete = true;
	if (d->fault.code == FAULT_NONE)
		d->fault = *f;
	buf_release(&d->out);
	pump(d);
}

static void
timed_out(struct timer *t)
{
	struct door_call *d = CONTAINER_OF(t, struct door_call, timer);

	rpc_cancel(d->call);
}

static void
put(struct door_call *d, const nacre_session_v1_DoorDown *m)
{
	struct fault f = { 0 };
	struct buf one;
	uint32_t n;

	buf_init(&one, LIMIT_MESSAGE);
	if (WIRE_ENCODE(nacre_session_v1_DoorDown, m, &one, &f) == 0) {
		n = (uint32_t)one.len;
		if (buf_add(&d->out, &n, sizeof(n), &f) == 0)
			(void)!buf_add(&d->out, buf_ptr(&one), n, &f);
	}
	load_set(&d->session->answers, &d->load, d->load + one.len);
	buf_release(&one);
	if (f.code != FAULT_NONE)
		finish(d, &f);
	else
		pump(d);
}

static void
put_pieces(struct door_call *d, struct span bytes)
{
	nacre_session_v1_DoorDown m = nacre_session_v1_DoorDown_init_zero;
	struct arena a;

	m.which_kind = nacre_session_v1_DoorDown_piece_tag;
	while (bytes.len > 0 && !d->is_complete) {
		struct span part = bytes;

		if (part.len > PIECE)
			part.len = PIECE;
		arena_init(&a, 2 * PIECE);
		m.kind.piece = wire_bytes(&a, part);
		put(d, &m);
		arena_release(&a);
		bytes = span_from(bytes, part.len);
	}
}

static int
put_fields(const struct mcp_answer *a, struct arena *arena,
    nacre_session_v1_DoorReply *r, struct fault *f)
{
	r->fields = arena_get(arena, MCP_HEADERS * sizeof(*r->fields));
	if (r->fields == NULL)
		return fault_set(f, FAULT_LIMIT, "no room for an answer");
	for (size_t i = 0; i < a->nheaders; i++) {
		nacre_session_v1_DoorField *to = &r->fields[i];

		to->name = arena_str(arena, span_str(a->headers[i].name));
		to->value = arena_str(arena, a->headers[i].value);
		if (to->name == NULL || to->value == NULL)
			return fault_set(f, FAULT_LIMIT,
			    "no room for an answer");
		r->fields_count++;
	}
	return 0;
}

static void
sink_head(void *owner, const struct mcp_answer *a)
{
	nacre_session_v1_DoorDown m = nacre_session_v1_DoorDown_init_zero;
	nacre_session_v1_DoorReply *r = &m.kind.reply;
	struct door_call *d = owner;
	struct mcp_answer full;
	struct fault f = { 0 };
	struct arena arena;

	if (d->is_complete)
		return;
	if (!load_has_room(&d->session->answers, a->body.len)) {
		mcp_unavailable(&full);
		a = &full;
	}
	arena_init(&arena, SMALL + INLINE);
	m.which_kind = nacre_session_v1_DoorDown_reply_tag;
	r->status = (uint32_t)a->status;
	r->type = arena_str(&arena, span_str(a->type));
	r->close = a->close;
	r->streams = a->stream || a->body.len > INLINE;
	if (!r->streams && a->body.len > 0)
		r->body = wire_bytes(&arena, a->body);
	if (put_fields(a, &arena, r, &f) < 0)
		finish(d, &f);
	else
		put(d, &m);
	arena_release(&arena);
	if (r->streams && !a->stream)
		put_pieces(d, a->body);
}

static void
sink_piece(void *owner, struct span bytes)
{
	struct door_call *d = owner;
	struct fault f = { 0 };

	if (d->is_complete)
		return;
	if (d->out.len > MCP_STREAM_OUT ||
	    !load_has_room(&d->session->answers, bytes.len)) {
		fault_set(&f, FAULT_BUSY, "the client does not read");
		finish(d, &f);
		return;
	}
	put_pieces(d, bytes);
}

static void
sink_end(void *owner, bool broken)
{
	struct door_call *d = owner;
	struct fault f = { 0 };

	d->exchange = NULL;
	if (broken) {
		fault_set(&f, FAULT_LIMIT, "the answer is too long");
		finish(d, &f);
		return;
	}
	d->is_complete = true;
	pump(d);
}

static const struct mcp_sink sink = {
	.head = sink_head,
	.piece = sink_piece,
	.end = sink_end,
};

/* --- who */
static bool
field_get(const void *at, const char *name, size_t nth, struct span *value)
{
	const nacre_session_v1_DoorRequest *q = at;

	for (size_t i = 0; i < q->fields_count; i++) {
		if (q->fields[i].name == NULL ||
		    strcmp(q->fields[i].name, name) != 0 || nth-- > 0)
			continue;
		*value = span_str(q->fields[i].value);
		return true;
	}
	return false;
}

/* Of the image's own file, as the import wrote it down. */
static bool
image_digest(struct gateway *g, const char *sandbox_id, struct span path,
    uint8_t out[DIGEST_SIZE])
{
	struct store_sandbox row;
	struct fault f = { 0 };
	struct arena a;
	bool found = false;

	arena_init(&a, ROW);
	if (path.len > 0 &&
	    (store_sandbox_by_id(g->store, sandbox_id, &a, &row, &f) < 0 ||
		image_index_find(&g->images, row.image_digest, path, out,
		    &found, &f) < 0))
		log_warn(&f, "cannot look a program up in its image");
	arena_release(&a);
	return found;
}

static unsigned
flags_of(uint32_t state)
{
	switch (state) {
	case nacre_sandbox_v1_ProgramState_PROGRAM_FILE:
		return 0;
	case nacre_sandbox_v1_ProgramState_PROGRAM_MEMFD:
		return GRANT_EXE_MEMFD;
	case nacre_sandbox_v1_ProgramState_PROGRAM_DELETED:
		return GRANT_EXE_DELETED;
	case nacre_sandbox_v1_ProgramState_PROGRAM_CHANGED:
		return GRANT_EXE_CHANGED;
	default:
		return GRANT_EXE_UNREADABLE;
	}
}

static void
take_evidence(struct door_call *d, const nacre_session_v1_DoorCaller *from)
{
	static const struct grant_executable other = {
		.flags = GRANT_EXE_UNREADABLE
	};
	struct grant_evidence *e = &d->who.caller.evidence;
	struct span sum = wire_span(from->sha256);

	e->self.path = span_str(from->program);
	e->self.flags = flags_of(from->state);
	if (sum.len == DIGEST_SIZE)
		memcpy(e->self.sha256, sum.ptr, DIGEST_SIZE);
	else if (!from->image ||
	    !image_digest(d->g, d->who.caller.sandbox_id, e->self.path,
		e->self.sha256))
		e->self.flags |= GRANT_EXE_UNREADABLE;
	if (from->shared) {
		e->holders = &other;
		e->holders_n = 1;
	}
}

/* Once a session: a sandbox stays in its tree. */
static const char *
tree_of(struct session *s)
{
	struct store_lineage row;
	struct fault f = { 0 };
	struct arena a;

	if (s->tree[0] != '\0')
		return s->tree;
	arena_init(&a, ROW);
	if (store_lineage_by_id(s->g->store, s->vm->sandbox_id, &a, &row, &f) ==
	    0)
		(void)text_copy(s->tree, sizeof(s->tree), span_str(row.root));
	else
		log_warn(&f, "cannot look the tree of a sandbox up");
	arena_release(&a);
	return s->tree[0] != '\0' ? s->tree : s->vm->sandbox_id;
}

static void
take_caller(struct door_call *d)
{
	const nacre_session_v1_DoorCaller *from = &d->request.caller;
	struct caller *c = &d->who.caller;

	d->who.side = MCP_SANDBOX;
	d->who.auth = MCP_KNOWN;
	c->who = CALL_SANDBOX;
	(void)text_copy(c->sandbox_id, sizeof(c->sandbox_id),
	    span_str(d->session->vm->sandbox_id));
	(void)text_fmt(c->text, sizeof(c->text), "sandbox:%s", c->sandbox_id);
	(void)text_copy(c->program, sizeof(c->program),
	    span_str(from->program));
	(void)text_copy(d->who.principal, sizeof(d->who.principal),
	    span_str(c->text));
	(void)text_copy(d->who.tree, sizeof(d->who.tree),
	    span_str(tree_of(d->session)));
	take_evidence(d, from);
}

/* --- in */
static void
forget_body(struct door_call *d)
{
	if (d->session->vm != NULL)
		d->session->vm->door_bytes -= d->body.len;
	buf_release(&d->body);
	buf_init(&d->body, MCP_BODY);
}

/* In its turn: what a request takes is given back when its tick ends. */
static void
begin(struct deferred *turn)
{
	struct door_call *d = CONTAINER_OF(turn, struct door_call, turn);
	struct mcp_answer a;
	struct arena arena;
	struct exchange *x;

	d->whole = true;
	if (d->is_complete)
		return;
	if (!d->has_request) {
		fault_set(&d->fault, FAULT_PROTOCOL, "a request comes first");
		finish(d, &d->fault);
		return;
	}
	if (d->session->vm == NULL) {
		fault_set(&d->fault, FAULT_LOST, "the machine is gone");
		finish(d, &d->fault);
		return;
	}
	d->head.length = (int64_t)d->body.len;
	take_caller(d);
	arena_init(&arena, SMALL);
	if (mcp_refuse(d->g, &d->who, &d->head, &arena, &a)) {
		sink_head(d, &a);
		sink_end(d, false);
		arena_release(&arena);
		return;
	}
	arena_release(&arena);
	x = mcp_begin(d->g, &d->who, &d->head, buf_span(&d->body), &sink, d);
	forget_body(d);
	d->exchange = x;
}

static int
take_request(struct door_call *d, struct span message, struct fault *f)
{
	nacre_session_v1_DoorUp up = nacre_session_v1_DoorUp_init_zero;
	nacre_session_v1_DoorRequest *q = &d->request;

	if (WIRE_DECODE(nacre_session_v1_DoorUp, &up, message, &d->arena, f) <
	    0)
		return -1;
	if (up.which_kind != nacre_session_v1_DoorUp_request_tag ||
	    !up.kind.request.has_caller || up.kind.request.method == NULL ||
	    up.kind.request.path == NULL)
		return fault_set(f, FAULT_PROTOCOL, "a request comes first");
	*q = up.kind.request;
	if (session_authorise_door(d->session, span_str(q->token), f) < 0)
		return -1;
	d->has_request = true;
	d->head = (struct mcp_head){
		.method = span_str(q->method),
		.target = span_str(q->path),
		.host = span_str(q->host),
		.header = field_get,
		.at = q,
	};
	return 0;
}

static int
keep_body(struct door_call *d, struct span data, struct fault *f)
{
	struct vm *vm = d->session->vm;

	if (vm == NULL)
		return fault_set(f, FAULT_LOST, "the machine is gone");
	if (vm->door_bytes + data.len > BODIES)
		return fault_set(f, FAULT_BUSY, "too many bodies at once");
	if (buf_add(&d->body, data.ptr, data.len, f) < 0)
		return -1;
	vm->door_bytes += data.len;
	return 0;
}

static int
take_body(struct door_call *d, struct span message, struct fault *f)
{
	nacre_session_v1_DoorUp up = nacre_session_v1_DoorUp_init_zero;
	struct arena a;
	int rc;

	arena_init(&a, 2 * LIMIT_MESSAGE);
	rc = WIRE_DECODE(nacre_session_v1_DoorUp, &up, message, &a, f);
	if (rc == 0 && up.which_kind != nacre_session_v1_DoorUp_body_tag)
		rc = fault_set(f, FAULT_PROTOCOL, "one request a call");
	if (rc == 0)
		rc = keep_body(d, wire_span(up.kind.body), f);
	arena_release(&a);
	return rc;
}

static void
on_message(struct rpc_call *call, void *owner, struct span message)
{
	struct door_call *d = owner;
	struct fault f = { 0 };
	int rc = 0;

	rpc_consume(call, message.len);
	if (d->whole || d->is_complete)
		return;
	rc = d->has_request ? take_body(d, message, &f)
			    : take_request(d, message, &f);
	if (rc < 0)
		finish(d, &f);
}

static void
on_half_closed(struct rpc_call *call, void *owner)
{
	struct door_call *d = owner;

	(void)call;
	if (!d->whole && !d->is_complete)
		loop_spare(d->g->loop, &d->turn);
}

static void
on_writable(struct rpc_call *call, void *owner)
{
	(void)call;
	pump(owner);
}

static void
on_closed(struct rpc_call *call, void *owner, const struct fault *f,
    struct span detail)
{
	struct door_call *d = owner;
	struct exchange *x = d->exchange;

	(void)call;
	(void)f;
	(void)detail;
	d->call = NULL;
	d->exchange = NULL;
	d->is_complete = true;
	loop_timer_clear(&d->timer);
	loop_deferred_drop(d->g->loop, &d->turn);
	load_set(&d->session->answers, &d->load, 0);
	if (d->session->vm != NULL)
		d->session->vm->doors--;
	forget_body(d);
	if (x != NULL)
		mcp_left(x);
	loop_bury(d->g->loop, d, door_free);
}

static const struct rpc_call_events events = {
	.message = on_message,
	.half_closed = on_half_closed,
	.writable = on_writable,
	.closed = on_closed,
};

void
door_accept(struct session *s, struct rpc_call *call)
{
	struct door_call *d;
	struct fault f = { 0 };

	if (s->vm->doors >= AT_ONCE) {
		fault_set(&f, FAULT_BUSY, "over %d requests at once", AT_ONCE);
		rpc_finish(call, &f, span_of(NULL, 0));
		return;
	}
	d = must_alloc(sizeof(*d));
	d->g = s->g;
	d->session = s;
	s->vm->doors++;
	d->call = call;
	d->timer.fire = timed_out;
	d->turn.run = begin;
	s->answers.max = LOAD_DOOR;
	s->answers.of = &s->g->mcp->to_doors;
	arena_init(&d->arena, REQUEST);
	buf_init(&d->body, MCP_BODY);
	buf_init(&d->out, MCP_OUT);
	rpc_call_accept(call, &events, d);
}
