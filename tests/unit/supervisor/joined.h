/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A supervisor whose sandbox and whose gateway are this test, in one loop:
 * calls to the sandbox are kept until the test answers them, and Attach calls
 * are taken.
 */
#ifndef TESTS_SUPERVISOR_JOINED_H
#define TESTS_SUPERVISOR_JOINED_H

#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "supervisor/inner.h"

enum {
	ASKED_MAX = 8
};

/* One call to the sandbox. */
struct asked {
	struct rpc_call *call;
	char method[64]; /* without the service */
	char bearer[64];
	struct buf message;
};

static struct supervisor *sv;
static struct asked asked[ASKED_MAX];
static size_t asked_n;
static struct rpc_link *box_end;
static struct rpc_link *gateway_end;
static int pass_end;
static struct rpc_call *attached; /* the last Attach */

static void
tick(void)
{
	struct fault f = { 0 };

	assert_int_equal(loop_tick(sv->loop, 1000, &f), 0);
}

static void
link_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	struct rpc_link **link = owner;

	(void)l;
	(void)f;
	*link = NULL;
}

/* --- the sandbox */
static void
asked_message(struct rpc_call *c, void *owner, struct span m)
{
	struct asked *a = owner;
	struct fault f = { 0 };

	rpc_consume(c, m.len);
	assert_int_equal(buf_add(&a->message, m.ptr, m.len, &f), 0);
	asked_n++;
}

static void
asked_half_closed(struct rpc_call *c, void *owner)
{
	(void)c;
	(void)owner;
}

static void
asked_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct asked *a = owner;

	(void)c;
	(void)f;
	(void)detail;
	a->call = NULL;
}

static void
box_called(void *owner, struct rpc_link *link, struct rpc_call *c,
    const struct rpc_request *r)
{
	static const struct rpc_call_events on = {
		.message = asked_message,
		.half_closed = asked_half_closed,
		.closed = asked_closed,
	};
	struct asked *a = &asked[asked_n];
	size_t skip = sizeof("/nacre.sandbox.v1.Sandbox/") - 1;

	(void)owner;
	(void)link;
	assert_true(asked_n < ASKED_MAX);
	a->call = c;
	buf_init(&a->message, LIMIT_MESSAGE);
	assert_true(
	    text_copy(a->method, sizeof(a->method), span_from(r->path, skip)));
	assert_true(text_copy(a->bearer, sizeof(a->bearer), r->authorization));
	rpc_call_accept(c, &on, a);
}

/* Until so many calls have come in all; the last one is that. */
static struct asked *
expect_asked(size_t n, const char *method)
{
	while (asked_n < n)
		tick();
	assert_int_equal(asked_n, n);
	assert_string_equal(asked[n - 1].method, method);
	return &asked[n - 1];
}

static void
answer(struct asked *a, const struct pb_msgdesc_s *fields, const void *message)
{
	struct fault f = { 0 };
	struct buf b;

	buf_init(&b, LIMIT_MESSAGE);
	assert_int_equal(wire_encode(fields, message, &b, &f), 0);
	assert_int_equal(rpc_send(a->call, buf_span(&b), &f), 0);
	rpc_finish(a->call, NULL, span_of(NULL, 0));
	buf_release(&b);
}

static void
pass(uint8_t tag, const int *fds, size_t n)
{
	uint8_t head[8] = { [7] = tag };
	struct fault f = { 0 };

	assert_int_equal(fd_send(pass_end, head, sizeof(head), fds, n, &f), 0);
}

static void
no_event(void *owner)
{
	(void)owner;
}

static void
no_end(void *owner, const nacre_sandbox_v1_Event *e)
{
	(void)owner;
	(void)e;
}

/* --- the gateway */
static void
attach_message(struct rpc_call *c, void *owner, struct span m)
{
	(void)owner;
	rpc_consume(c, m.len);
}

static void
attach_half_closed(struct rpc_call *c, void *owner)
{
	(void)owner;
	rpc_finish(c, NULL, span_of(NULL, 0));
}

static void
attach_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	(void)owner;
	(void)f;
	(void)detail;
	if (attached == c)
		attached = NULL;
}

static void
gateway_called(void *owner, struct rpc_link *link, struct rpc_call *c,
    const struct rpc_request *r)
{
	static const struct rpc_call_events on = {
		.message = attach_message,
		.half_closed = attach_half_closed,
		.closed = attach_closed,
	};

	(void)owner;
	(void)link;
	(void)r;
	attached = c;
	rpc_call_accept(c, &on, NULL);
}

static void
drop_tunnel(void)
{
	struct fault lost = { .code = FAULT_LOST };

	rpc_link_drop(sv->tunnel.link, &lost);
	while (sv->tunnel.link)
		tick();
}

/* --- both */
static void
join(const struct rpc_server *server, struct rpc_link **near,
    struct rpc_link **far)
{
	static const struct rpc_link_events events = { .down = link_down };
	struct rpc_link_options ours = { .events = &events, .owner = near };
	struct rpc_link_options theirs = { .server = true,
		.handlers = server,
		.events = &events,
		.owner = far };
	struct fault f = { 0 };
	int ends[2];

	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	*far = rpc_link_open_fd(sv->loop, ends[1], &theirs, &f);
	assert_non_null(*far);
	*near = rpc_link_open_fd(sv->loop, ends[0], &ours, &f);
	assert_non_null(*near);
	while (!rpc_link_is_up(*near))
		tick();
}

static int
setup(void **state)
{
	static const struct rpc_server box = { .open = box_called };
	static const struct rpc_server gateway = { .open = gateway_called };
	static const struct box_events events = { .up = no_event,
		.event = no_end };
	struct fault f = { 0 };
	int ends[2];

	(void)state;
	memset(asked, 0, sizeof(asked));
	asked_n = 0;
	attached = NULL;
	sv = must_alloc(sizeof(*sv));
	sv->loop = loop_new(&f);
	assert_non_null(sv->loop);
	sv->phase = PHASE_RUNNING;
	sv->session.sv = sv;
	assert_int_equal(socketpair(AF_UNIX,
			     SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
			     ends),
	    0);
	pass_end = ends[1];
	sv->box = (struct box){ .loop = sv->loop,
		.events = &events,
		.owner = sv,
		.pass = ends[0],
		.start = -1 };
	(void)text_copy(sv->box.bearer, sizeof(sv->box.bearer),
	    SPAN_LIT("Bearer first"));
	join(&box, &sv->box.link, &box_end);
	join(&gateway, &sv->tunnel.link, &gateway_end);
	return 0;
}

static int
teardown(void **state)
{
	struct fault lost = { .code = FAULT_LOST };

	(void)state;
	if (sv->tunnel.link)
		drop_tunnel();
	if (sv->box.link)
		rpc_link_drop(sv->box.link, &lost);
	while (sv->box.link || box_end || gateway_end || sv->files)
		tick();
	for (size_t i = 0; i < NELEM(asked); i++)
		buf_release(&asked[i].message);
	fd_close(&sv->box.pass);
	fd_close(&pass_end);
	loop_free(sv->loop);
	free(sv);
	return 0;
}

#endif
