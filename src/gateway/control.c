/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a session: Session itself, Attach, Door, Refresh. What is said in
 * the first is hello.c's and report.c's.
 */
#include <string.h>

#include "gateway/session_inner.h"
#include "wire/wire.h"

enum {
	ARENA = 8 << 20,
	EARLY_REFRESHES = 4, /* before half of a token's life, at no cost */
};

#define SESSION "/nacre.session.v1.Session/"

void
session_refuse(struct session *s, const struct fault *f)
{
	log_warn(f, "a session of sandbox %s is refused",
	    s->vm != NULL ? s->vm->sandbox_id : "(gone)");
	if (s->control != NULL)
		rpc_finish(s->control, f, span_of(NULL, 0));
}

static void
control_message(struct rpc_call *c, void *owner, struct span message)
{
	nacre_session_v1_Up up = nacre_session_v1_Up_init_zero;
	struct session *s = owner;
	struct fault f = { 0 };
	struct arena a;

	rpc_consume(c, message.len);
	if (s->vm == NULL)
		return;
	arena_init(&a, ARENA);
	if (WIRE_DECODE(nacre_session_v1_Up, &up, message, &a, &f) < 0)
		session_refuse(s, &f);
	else if (s->greeted)
		session_report(s, &up, message, &a);
	else if (up.which_kind != nacre_session_v1_Up_hello_tag)
		fault_set(&f, FAULT_PROTOCOL, "Hello comes first");
	else
		(void)!session_greet(s, &up.kind.hello, &a, &f);
	if (f.code != FAULT_NONE && !s->greeted)
		session_refuse(s, &f);
	arena_release(&a);
}

static void
control_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct session *s = owner;

	(void)c;
	(void)f;
	(void)detail;
	s->control = NULL;
	session_lost(s);
	if (s->link != NULL)
		rpc_link_shutdown(s->link);
}

static void
control_half_closed(struct rpc_call *c, void *owner)
{
	(void)owner;
	rpc_finish(c, NULL, span_of(NULL, 0));
}

static const struct rpc_call_events control_events = {
	.message = control_message,
	.half_closed = control_half_closed,
	.closed = control_closed,
};

/* Three signatures are the gateway's time: a guest gets them when it needs
 * them, and a few more. */
static int
check_pace(struct session *s, struct fault *f)
{
	if (clock_mono_ms() >= s->half_life_ms) {
		s->vm->early_refreshes = 0;
		return 0;
	}
	if (s->vm->early_refreshes >= EARLY_REFRESHES)
		return fault_set(f, FAULT_BUSY,
		    "tokens are renewed after half of their life");
	s->vm->early_refreshes++;
	return 0;
}

static void
refresh_message(struct rpc_call *c, void *owner, struct span message)
{
	nacre_session_v1_RefreshRequest ask =
	    nacre_session_v1_RefreshRequest_init_zero;
	nacre_session_v1_Tokens tokens = nacre_session_v1_Tokens_init_zero;
	struct session *s = owner;
	struct fault f = { 0 };
	struct arena a;
	struct buf b;

	rpc_consume(c, message.len);
	arena_init(&a, 64 << 10);
	buf_init(&b, 8 << 10);
	if (s->vm == NULL)
		fault_set(&f, FAULT_LOST, "the machine is gone");
	else if (WIRE_DECODE(nacre_session_v1_RefreshRequest, &ask, message, &a,
		     &f) == 0 &&
	    ask.epoch != s->epoch)
		fault_set(&f, FAULT_UNAUTHENTICATED,
		    "another epoch is current");
	else if (f.code == FAULT_NONE)
		(void)!check_pace(s, &f);
	if (f.code == FAULT_NONE && session_tokens(s, &a, &tokens, &f) == 0 &&
	    WIRE_ENCODE(nacre_session_v1_Tokens, &tokens, &b, &f) == 0)
		(void)!rpc_send(c, buf_span(&b), &f);
	rpc_finish(c, f.code == FAULT_NONE ? NULL : &f, span_of(NULL, 0));
	buf_release(&b);
	arena_release(&a);
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

static const struct rpc_call_events refresh_events = {
	.message = refresh_message,
	.closed = ignore_closed,
};

static int
serve(struct session *s, struct rpc_call *c, const struct rpc_request *r,
    struct fault *f)
{
	struct identity_claims claims;

	if (s->vm == NULL || s->vm->sandbox_id[0] == '\0')
		return fault_set(f, FAULT_NOT_READY, "nobody's machine");
	if (span_is(r->path, SESSION "Session")) {
		if (s->control != NULL)
			return fault_set(f, FAULT_EXISTS, "one session a link");
		if (r->authorization.len > 0 &&
		    session_authorise(s, r->authorization, &s->claims, f) < 0)
			return -1;
		s->has_claims = r->authorization.len > 0;
		s->control = c;
		rpc_call_accept(c, &control_events, s);
		return 0;
	}
	if (!s->accepted)
		return fault_set(f, FAULT_UNAUTHENTICATED, "no session yet");
	if (session_authorise(s, r->authorization, &claims, f) < 0)
		return -1;
	if (span_is(r->path, SESSION "Attach")) {
		attach_accept(s->vm, c);
		return 0;
	}
	if (span_is(r->path, SESSION "Door")) {
		door_accept(s, c);
		return 0;
	}
	if (span_is(r->path, SESSION "Refresh")) {
		rpc_call_accept(c, &refresh_events, s);
		return 0;
	}
	return fault_set(f, FAULT_UNIMPLEMENTED, "%.*s is not served",
	    (int)(r->path.len < 100 ? r->path.len : 100),
	    (const char *)r->path.ptr);
}

void
session_called(void *owner, struct rpc_link *link, struct rpc_call *c,
    const struct rpc_request *r)
{
	struct fault f = { 0 };

	(void)link;
	if (serve(owner, c, r, &f) < 0)
		rpc_finish(c, &f, span_of(NULL, 0));
}

void
session_lost(struct session *s)
{
	if (s->vm == NULL || s->vm->session != s)
		return;
	s->vm->session = NULL;
	attach_session_lost(s->vm);
}

/* After the commit: the epoch is this session's for good. */
static void
on_held(struct deferred *d)
{
	session_greeted(CONTAINER_OF(d, struct session, held));
}

static void
on_ack(struct deferred *d)
{
	session_acknowledge(CONTAINER_OF(d, struct session, ack));
}

void
session_init(struct session *s)
{
	s->held.run = on_held;
	s->ack.run = on_ack;
}

int
session_send_bytes(struct vm *vm, struct span down, struct fault *f)
{
	if (vm->session == NULL || vm->session->control == NULL)
		return fault_set(f, FAULT_LOST, "the sandbox has no session");
	return rpc_send(vm->session->control, down, f);
}

int
session_stop(struct vm *vm, uint32_t grace_ms, struct fault *f)
{
	nacre_session_v1_Down down = nacre_session_v1_Down_init_zero;
	struct buf b;
	int rc;

	down.which_kind = nacre_session_v1_Down_stop_tag;
	down.kind.stop.grace_ms = grace_ms;
	buf_init(&b, 64);
	rc = WIRE_ENCODE(nacre_session_v1_Down, &down, &b, f);
	if (rc == 0)
		rc = session_send_bytes(vm, buf_span(&b), f);
	buf_release(&b);
	return rc;
}
