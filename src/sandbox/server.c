/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls: each carries the sandbox token, each is served only in the
 * states its row names. A call that is refused has had no effect.
 */
#include <stdlib.h>
#include <string.h>

#include "sandbox/inner.h"

#define SERVICE   "/nacre.sandbox.v1.Sandbox/"
#define IN(state) (1U << SANDBOX_##state)

/* clang-format off */
const struct method sandbox_methods[] = {
	{ "Confirm", IN(BOUND) | IN(READY), confirm_serve },
	{ "Exec",    IN(READY), exec_serve },
	{ "Signal",  IN(READY) | IN(STOPPING), exec_signal_serve },
	{ "Resize",  IN(READY) | IN(STOPPING), exec_resize_serve },
	{ "File",    IN(READY), file_serve },
	{ "Watch",   IN(BOUND) | IN(READY) | IN(STOPPING) | IN(STOPPED),
	    reap_watch_serve },
	{ "Stop",    IN(BOUND) | IN(READY) | IN(STOPPED) | IN(BROKEN),
	    reap_stop_serve },
	{ "Renew",   IN(BOUND) | IN(READY) | IN(STOPPING) | IN(STOPPED),
	    NULL },
	{ "Bulk",    IN(READY) | IN(STOPPING), bulk_serve },
	{ "Accept",  IN(READY), broker_accept_serve },
	{ "Holders", IN(READY) | IN(STOPPING), broker_holders_serve },
	{ NULL, 0, NULL },
};
/* clang-format on */

static const char *const state_words[] = { "waiting to be confirmed", "ready",
	"stopping", "stopped", "broken" };

void
sandbox_refuse(struct rpc_call *c, const struct fault *f)
{
	rpc_finish(c, f, span_of(NULL, 0));
}

int
sandbox_send(struct rpc_call *c, const struct pb_msgdesc_s *fields,
    const void *message, struct fault *f)
{
	struct buf b;
	int r = -1;

	buf_init(&b, LIMIT_MESSAGE);
	if (wire_encode(fields, message, &b, f) == 0)
		r = rpc_send(c, buf_span(&b), f);
	buf_release(&b);
	return r;
}

void
sandbox_answer(struct rpc_call *c, const struct pb_msgdesc_s *fields,
    const void *message)
{
	struct fault f = { 0 };

	if (sandbox_send(c, fields, message, &f) != 0)
		rpc_finish(c, &f, span_of(NULL, 0));
	else
		rpc_finish(c, NULL, span_of(NULL, 0));
}

static bool
is_authorised(struct sandbox *sb, struct span authorization)
{
	uint8_t sum[DIGEST_SIZE];

	/* The grant was written before the call was sent; this may be seen
	 * first. */
	if (!sb->has_grant)
		sandbox_read_start(sb);
	if (!sb->has_grant || !span_starts(authorization, "Bearer "))
		return false;
	digest_of(span_from(authorization, 7), sum);
	if (secret_equal(sum, sb->token, sizeof(sum))) {
		sb->has_before = false;
		return true;
	}
	/* Sent before the answer to Renew was read. */
	return sb->has_before &&
	    secret_equal(sum, sb->token_before, sizeof(sum));
}

static void
renew_serve(struct serving *s, struct span m)
{
	nacre_sandbox_v1_RenewRequest q =
	    nacre_sandbox_v1_RenewRequest_init_zero;
	nacre_sandbox_v1_Empty empty = nacre_sandbox_v1_Empty_init_zero;
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, SANDBOX_ARENA);
	if (WIRE_DECODE(nacre_sandbox_v1_RenewRequest, &q, m, &a, &f) == 0) {
		struct span sum = wire_span(q.token_sha256);

		if (sum.len == DIGEST_SIZE) {
			memcpy(s->sb->token_before, s->sb->token, DIGEST_SIZE);
			s->sb->has_before = true;
			memcpy(s->sb->token, sum.ptr, DIGEST_SIZE);
		} else {
			(void)fault_field(&f, "token_sha256",
			    "has %zu bytes, not 32", sum.len);
		}
	}
	arena_release(&a);
	if (f.code != FAULT_NONE)
		sandbox_refuse(s->call, &f);
	else
		sandbox_answer(s->call, nacre_sandbox_v1_Empty_fields, &empty);
}

static void
call_message(struct rpc_call *c, void *owner, struct span m)
{
	struct serving *s = owner;
	struct fault f = { 0 };

	/* A stream of frames takes its bytes when it has used them. */
	if (!s->bulk)
		rpc_consume(c, m.len);
	if (!(s->method->states & 1U << s->sb->state)) {
		(void)fault_set(&f, FAULT_NOT_READY, "the sandbox is %s",
		    state_words[s->sb->state]);
		sandbox_refuse(c, &f);
		return;
	}
	if (s->method->serve)
		s->method->serve(s, m);
	else
		renew_serve(s, m);
}

static void
call_half_closed(struct rpc_call *c, void *owner)
{
	struct serving *s = owner;

	(void)c;
	s->has_ended = true;
	if (s->method->serve == broker_holders_serve)
		broker_holders_ended(s);
}

static void
call_writable(struct rpc_call *c, void *owner)
{
	struct serving *s = owner;

	(void)c;
	if (s->bulk)
		bulk_writable(s->bulk);
}

static void
/* cppcheck-suppress constParameter ; a callback's type */
call_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct serving *s = owner;
	struct sandbox *sb = s->sb;

	(void)f;
	(void)detail;
	if (sb->watcher == c)
		sb->watcher = NULL;
	if (sb->stopper == c)
		sb->stopper = NULL;
	for (size_t i = 0; i < NELEM(sb->execs); i++)
		if (sb->execs[i].call == c)
			sb->execs[i].call = NULL;
	broker_call_closed(&sb->broker, c);
	if (s->bulk)
		bulk_close(s->bulk);
	free(s);
}

static const struct rpc_call_events call_events = {
	.message = call_message,
	.half_closed = call_half_closed,
	.writable = call_writable,
	.closed = call_closed,
};

static void
call_open(void *owner, struct rpc_link *link, struct rpc_call *c,
    const struct rpc_request *r)
{
	struct sandbox *sb = owner;
	const struct method *m = sandbox_methods;
	struct fault f = { 0 };
	struct serving *s;
	struct span name;

	(void)link;
	if (!is_authorised(sb, r->authorization)) {
		(void)fault_set(&f, FAULT_UNAUTHENTICATED,
		    "this is not the sandbox's token");
		sandbox_refuse(c, &f);
		return;
	}
	name = span_starts(r->path, SERVICE)
	    ? span_from(r->path, sizeof(SERVICE) - 1)
	    : span_of(NULL, 0);
	while (m->name && !span_is(name, m->name))
		m++;
	if (!m->name) {
		(void)fault_set(&f, FAULT_UNIMPLEMENTED, "no such call");
		sandbox_refuse(c, &f);
		return;
	}
	s = must_alloc(sizeof(*s));
	s->sb = sb;
	s->method = m;
	s->call = c;
	rpc_call_accept(c, &call_events, s);
}

static void
link_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	struct sandbox *sb = owner;

	(void)l;
	sb->link = NULL;
	log_warn(f, "link to the supervisor ended");
	loop_stop(sb->loop);
}

int
sandbox_serve(struct sandbox *sb, struct fault *f)
{
	static const struct rpc_link_events events = { .down = link_down };
	struct rpc_link_options o = { .server = true,
		.handlers = &sb->handlers,
		.events = &events,
		.owner = sb };
	uint8_t random[TLS_ENTROPY];
	int fd = fd_take(&sb->link_fd);

	sb->handlers = (struct rpc_server){ .open = call_open, .owner = sb };
	random_bytes(random, sizeof(random));
	o.tls = tls_server_new(&sb->key, random, f);
	secret_wipe(random, sizeof(random));
	if (!o.tls) {
		fd_close(&fd);
		return -1;
	}
	sb->link = rpc_link_open_fd(sb->loop, fd, &o, f);
	return sb->link ? 0 : -1;
}
