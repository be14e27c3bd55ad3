/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the door answers. It is the MCP endpoint and nothing else: a request to
 * it goes to the gateway, on the session, with the door's token and with who
 * sent it; what the caller said of itself is left behind. Without a session
 * there is no answer but 503.
 */
#include <stdlib.h>
#include <string.h>

#include "supervisor/inner.h"

#define JSON "application/json"

enum {
	FIELDS = 1024, /* bytes of an answer's own fields */
	SPARE_MS = 20, /* after an answer: who asked has it by then */
};

static void
be(struct h1_reply *r, int status, const char *body)
{
	*r = (struct h1_reply){ .status = status,
		.type = JSON,
		.body = span_str(body) };
}

/* --- one request on its way to the gateway and back */
struct serving {
	struct supervisor *sv;
	struct door_conn *conn; /* NULL: it has left, or is answered */
	struct rpc_call *call;  /* NULL: closed */
	struct buf body;        /* what is left to be sent */
	bool is_answered;       /* its head is out */
	bool streams;
	size_t owed; /* given back when the connection has taken it */
};

static void
no_session(struct door_conn *c)
{
	struct h1_reply r;

	be(&r, 503, "{\"error\":\"no_session\"}");
	door_reply(c, &r);
}

static void
serving_free(void *p)
{
	struct serving *s = p;

	buf_release(&s->body);
	free(s);
}

static struct door_conn *
let_go(struct serving *s)
{
	struct door_conn *c = s->conn;

	s->conn = NULL;
	if (c)
		c->serving = NULL;
	return c;
}

/* Lines of ours: no byte of them comes from a caller. */
static int
reply_fields(const nacre_session_v1_DoorReply *from, char *more, size_t size,
    struct fault *f)
{
	size_t n = 0;

	more[0] = '\0';
	for (size_t i = 0; i < from->fields_count; i++) {
		if (!from->fields[i].name || !from->fields[i].value ||
		    !text_fmt(more + n, size - n, "%s: %s\r\n",
			from->fields[i].name, from->fields[i].value))
			return fault_set(f, FAULT_LIMIT,
			    "the gateway's fields are too long");
		n = strlen(more);
	}
	return 0;
}

static int
take_reply(struct serving *s, const nacre_session_v1_DoorReply *from,
    struct fault *f)
{
	struct door_conn *c = s->conn;
	char more[FIELDS];
	struct h1_reply r = {
		.status = (int)from->status,
		.type = from->type && *from->type ? from->type : NULL,
		.body = wire_span(from->body),
		.streams = from->streams,
		.closes = from->close,
		.more = more,
	};

	if (s->is_answered || from->status < 200 || from->status > 599)
		return fault_set(f, FAULT_PROTOCOL, "an odd answer came");
	if (reply_fields(from, more, sizeof(more), f) != 0)
		return -1;
	s->is_answered = true;
	s->streams = from->streams;
	if (!s->streams)
		(void)let_go(s);
	door_reply(c, &r);
	return 0;
}

static void
take_down(struct serving *s, const nacre_session_v1_DoorDown *d,
    struct fault *f)
{
	if (d->which_kind == nacre_session_v1_DoorDown_reply_tag)
		(void)!take_reply(s, &d->kind.reply, f);
	else if (d->which_kind == nacre_session_v1_DoorDown_piece_tag &&
	    s->streams)
		door_piece(s->conn, wire_span(d->kind.piece));
	else
		(void)fault_set(f, FAULT_PROTOCOL, "an odd message came");
}

static void
serving_message(struct rpc_call *call, void *owner, struct span m)
{
	struct serving *s = owner;
	nacre_session_v1_DoorDown d = nacre_session_v1_DoorDown_init_zero;
	struct fault f = { 0 };
	struct arena a;

	s->owed += m.len;
	if (s->conn) {
		arena_init(&a, SUPERVISOR_ARENA);
		if (WIRE_DECODE(nacre_session_v1_DoorDown, &d, m, &a, &f) == 0)
			take_down(s, &d, &f);
		arena_release(&a);
	}
	if (f.code != FAULT_NONE) {
		log_warn(&f, "door");
		rpc_cancel(call);
		return;
	}
	/* What an agent does not take, the gateway does not send. */
	if (!s->conn || s->conn->out.len < DOOR_OUT / 4) {
		rpc_consume(call, s->owed);
		s->owed = 0;
	}
}

void
door_drained(struct door_conn *c)
{
	struct serving *s = c->serving;

	if (!s || !s->call || s->owed == 0)
		return;
	rpc_consume(s->call, s->owed);
	s->owed = 0;
}

/* The request's body, as far as the session takes it; then its end. */
static void
pump(struct serving *s)
{
	nacre_session_v1_DoorUp up = nacre_session_v1_DoorUp_init_zero;

	if (s->body.len == 0)
		return;
	up.which_kind = nacre_session_v1_DoorUp_body_tag;
	while (s->call && s->body.len > 0) {
		struct span part = buf_span(&s->body);
		struct fault f = { 0 };
		struct arena a;
		struct buf one;
		int r = -1;

		if (part.len > LIMIT_CHUNK)
			part.len = LIMIT_CHUNK;
		arena_init(&a, 2 * LIMIT_CHUNK);
		buf_init(&one, LIMIT_MESSAGE);
		up.kind.body = wire_bytes(&a, part);
		if (WIRE_ENCODE(nacre_session_v1_DoorUp, &up, &one, &f) == 0)
			r = rpc_send(s->call, buf_span(&one), &f);
		buf_release(&one);
		arena_release(&a);
		if (r != 0)
			return; /* `writable` goes on, or `closed` comes */
		buf_eat(&s->body, part.len);
	}
	if (!s->call || s->body.len > 0)
		return;
	rpc_half_close(s->call);
	buf_release(&s->body);
	if (s->conn)
		door_body_sent(s->conn);
}

static void
serving_writable(struct rpc_call *call, void *owner)
{
	(void)call;
	pump(owner);
}

static void
serving_closed(struct rpc_call *call, void *owner, const struct fault *f,
    struct span detail)
{
	struct serving *s = owner;
	struct door_conn *c = let_go(s);
	struct door *d = &s->sv->door;

	(void)call;
	(void)detail;
	s->call = NULL;
	if (d->spare == s)
		d->spare = NULL;
	else
		loop_timer_set(s->sv->loop, &d->spare_due, SPARE_MS);
	if (c && f->code == FAULT_NONE && s->is_answered)
		door_end(c);
	else if (c && s->is_answered)
		door_conn_close(c);
	else if (c)
		no_session(c);
	loop_bury(s->sv->loop, s, serving_free);
}

/* --- the request as it is forwarded */
static bool
is_forwarded(struct span name)
{
	static const char *const names[] = { "accept", "content-type", "origin",
		"last-event-id", "mcp-session-id", "mcp-protocol-version",
		"mcp-method", "mcp-name" };

	for (size_t i = 0; i < NELEM(names); i++)
		if (h1_is_word(name, names[i]))
			return true;
	return false;
}

static char *
lower(struct arena *a, struct span name)
{
	char *text = arena_str(a, name);

	for (char *p = text; p && *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	return text;
}

static void
put_fields(const struct h1_request *q, struct arena *a,
    nacre_session_v1_DoorRequest *to)
{
	to->fields = arena_get(a, (q->fields_n + 1) * sizeof(*to->fields));
	for (size_t i = 0; to->fields && i < q->fields_n; i++) {
		nacre_session_v1_DoorField *f = &to->fields[to->fields_count];

		if (!is_forwarded(q->fields[i].name))
			continue;
		f->name = lower(a, q->fields[i].name);
		f->value = arena_str(a, q->fields[i].value);
		to->fields_count++;
	}
}

static void
put_caller(const struct door_caller *from, struct arena *a,
    nacre_session_v1_DoorCaller *to)
{
	to->pid = from->pid;
	to->start_ticks = from->start_ticks;
	to->program = arena_str(a, span_str(from->program));
	to->state = (uint32_t)from->state;
	to->image = from->in_image;
	to->shared = from->is_shared;
	if (from->has_digest)
		to->sha256 = wire_bytes(a, span_of(from->digest, DIGEST_SIZE));
	to->ancestors =
	    arena_get(a, (from->ancestors_n + 1) * sizeof(*to->ancestors));
	for (size_t i = 0; to->ancestors && i < from->ancestors_n; i++)
		to->ancestors[to->ancestors_count++] =
		    arena_str(a, span_str(from->ancestors[i]));
}

static int
send_request(struct serving *s, struct fault *f)
{
	const struct h1_request *q = h1_request(s->conn->reader);
	nacre_session_v1_DoorUp up = nacre_session_v1_DoorUp_init_zero;
	nacre_session_v1_DoorRequest *to = &up.kind.request;
	struct arena a;
	struct buf b;
	int r = -1;

	arena_init(&a, SUPERVISOR_ARENA);
	buf_init(&b, LIMIT_MESSAGE);
	up.which_kind = nacre_session_v1_DoorUp_request_tag;
	to->token = s->sv->tokens.door;
	to->method = arena_str(&a, q->method);
	to->path = arena_str(&a, q->path);
	to->host = arena_str(&a, q->host);
	put_fields(q, &a, to);
	to->has_caller = true;
	put_caller(&s->conn->caller, &a, &to->caller);
	if (WIRE_ENCODE(nacre_session_v1_DoorUp, &up, &b, f) == 0)
		r = rpc_send(s->call, buf_span(&b), f);
	buf_release(&b);
	arena_release(&a);
	return r;
}

static struct serving *
serving_open(struct supervisor *sv, struct fault *f)
{
	static const struct rpc_call_events events = {
		.message = serving_message,
		.writable = serving_writable,
		.closed = serving_closed,
	};
	struct serving *s = must_alloc(sizeof(*s));

	s->sv = sv;
	buf_init(&s->body, H1_BODY);
	s->call = rpc_call(sv->tunnel.link, "/nacre.session.v1.Session/Door",
	    session_bearer(&sv->session), -1, &events, s, f);
	if (s->call)
		return s;
	serving_free(s);
	return NULL;
}

static bool
has_session(const struct supervisor *sv)
{
	return sv->tunnel.link && sv->session.is_open;
}

void
door_spare(struct timer *t)
{
	struct door *d = CONTAINER_OF(t, struct door, spare_due);
	struct fault f = { 0 };

	if (!d->spare && has_session(d->sv))
		d->spare = serving_open(d->sv, &f);
}

/* The one that was opened ahead, or a new one. */
static struct serving *
serving_take(struct supervisor *sv, struct fault *f)
{
	struct serving *s = sv->door.spare;

	sv->door.spare = NULL;
	return s ? s : serving_open(sv, f);
}

/* Once a connection, and when that changes. */
static void
tell_caller(struct door_conn *c)
{
	const struct door_caller *who = &c->caller;
	char sum[DIGEST_HEX] = "";

	if (c->is_told && c->told_shared == who->is_shared)
		return;
	c->is_told = true;
	c->told_shared = who->is_shared;
	if (who->has_digest)
		hex_format(who->digest, DIGEST_SIZE, sum);
	log_info("door: '%s' (pid %d, state %d, %s%s) asks%s", who->program,
	    (int)who->pid, (int)who->state,
	    who->in_image ? "of the image" : "sha256 ", sum,
	    who->is_shared ? ", another program holds it too" : "");
}

void
door_serve(struct door_conn *c)
{
	struct supervisor *sv = c->door->sv;
	struct span body = h1_body(c->reader);
	struct serving *s;
	struct fault f = { 0 };

	tell_caller(c);
	s = has_session(sv) ? serving_take(sv, &f) : NULL;
	if (!s) {
		if (f.code != FAULT_NONE)
			log_warn(&f, "door: a request is not forwarded");
		no_session(c);
		return;
	}
	s->conn = c;
	c->serving = s;
	/* From here on `closed` tells how it ends. */
	if (buf_add(&s->body, body.ptr, body.len, &f) != 0 ||
	    send_request(s, &f) != 0) {
		log_warn(&f, "door: a request is not forwarded");
		rpc_cancel(s->call);
	} else if (s->body.len == 0) {
		rpc_half_close(s->call);
	} else {
		pump(s);
	}
}

void
door_forget(struct door_conn *c)
{
	struct serving *s = c->serving;

	if (!s)
		return;
	(void)let_go(s);
	if (s->call)
		rpc_cancel(s->call);
}
