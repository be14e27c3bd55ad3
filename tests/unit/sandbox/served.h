/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox's server on one end of a TCP connection and a client on the other,
 * in one loop; and one call of that client.
 */
#ifndef TESTS_SANDBOX_SERVED_H
#define TESTS_SANDBOX_SERVED_H

#include <sys/socket.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "sandbox/inner.h"

#define TOKEN "token"
#define CALL  "/nacre.sandbox.v1.Sandbox/"

static struct sandbox *sandbox;
static struct loop *loop;
static struct rpc_link *link_to;
static struct buf reply;
static struct arena arena;
static struct fault ended;
static bool is_closed;
static struct buf frames[3];
static bool frame_ends[3];
static nacre_sandbox_v1_Event event;
static char event_reason[16];
static unsigned events;

static void
tick(void)
{
	struct fault f = { 0 };

	assert_int_equal(loop_tick(loop, 1000, &f), 0);
}

static void
tcp_pair(int ends[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(l >= 0);
	assert_int_equal(bind(l, (struct sockaddr *)&a, n), 0);
	assert_int_equal(listen(l, 1), 0);
	assert_int_equal(getsockname(l, (struct sockaddr *)&a, &n), 0);
	ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(ends[0], (struct sockaddr *)&a, n), 0);
	ends[1] = accept4(l, NULL, NULL, SOCK_CLOEXEC);
	assert_true(ends[1] >= 0);
	(void)close(l);
}

static int
setup(void **state)
{
	struct rpc_link_options o = { 0 };
	uint8_t random[TLS_ENTROPY] = { 1 };
	struct fault f = { 0 };
	int ends[2];

	(void)state;
	sandbox = must_alloc(sizeof(*sandbox));
	tcp_pair(ends);
	loop = loop_new(&f);
	assert_non_null(loop);
	sandbox->loop = loop;
	sandbox->link_fd = ends[1];
	sandbox->pass = -1;
	sandbox->cgroup = -1;
	sandbox->start.fd = -1;
	sandbox->who = (struct identity){ .uid = 1000, .gid = 1000 };
	sandbox->state = SANDBOX_READY;
	spare_init(sandbox);
	sandbox->has_grant = true;
	digest_of(SPAN_LIT(TOKEN), sandbox->token);
	buf_init(&sandbox->confirm_reply, LIMIT_MESSAGE);
	buf_init(&reply, LIMIT_MESSAGE);
	arena_init(&arena, SANDBOX_ARENA);
	for (size_t i = 0; i < NELEM(frames); i++) {
		buf_init(&frames[i], 4 << 20);
		frame_ends[i] = false;
	}
	events = 0;
	assert_int_equal(tls_key_make(&sandbox->key, random, "s", &f), 0);
	assert_int_equal(reap_open(sandbox, &f), 0);
	assert_int_equal(sandbox_serve(sandbox, &f), 0);
	o.tls = tls_client_new("s", sandbox->key.pin, random, &f);
	assert_non_null(o.tls);
	link_to = rpc_link_open_fd(loop, ends[0], &o, &f);
	assert_non_null(link_to);
	return 0;
}

static int
teardown(void **state)
{
	struct fault f = { 0 };

	(void)state;
	(void)fault_set(&f, FAULT_LOST, "end of the test");
	rpc_link_drop(link_to, &f);
	while (sandbox->link)
		tick();
	assert_int_equal(loop_tick(loop, 1, &f), 0);
	sandbox->state = SANDBOX_STOPPED;
	spare_drop(sandbox);
	for (size_t i = 0; i < SANDBOX_EXECS; i++)
		if (sandbox->execs[i].is_used)
			exec_release(&sandbox->execs[i]);
	loop_free(loop);
	buf_release(&reply);
	buf_release(&sandbox->confirm_reply);
	for (size_t i = 0; i < NELEM(frames); i++)
		buf_release(&frames[i]);
	arena_release(&arena);
	free(sandbox);
	return 0;
}

static void
on_message(struct rpc_call *c, void *owner, struct span m)
{
	struct fault f = { 0 };

	(void)owner;
	rpc_consume(c, m.len);
	buf_clear(&reply);
	assert_int_equal(buf_add(&reply, m.ptr, m.len, &f), 0);
}

static void
on_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	(void)c;
	(void)owner;
	(void)detail;
	ended = *f;
	is_closed = true;
}

/* One request; the code it ended with. */
static enum fault_code
ask(const char *method, const struct pb_msgdesc_s *fields, const void *m,
    const char *token)
{
	static const struct rpc_call_events on = { .message = on_message,
		.closed = on_closed };
	struct fault f = { 0 };
	struct rpc_call *c;
	struct buf b;

	is_closed = false;
	buf_init(&b, LIMIT_MESSAGE);
	assert_int_equal(wire_encode(fields, m, &b, &f), 0);
	c = rpc_call(link_to, method, span_str(token), -1, &on, NULL, &f);
	assert_non_null(c);
	assert_int_equal(rpc_call_unary(c, buf_span(&b), &f), 0);
	buf_release(&b);
	while (!is_closed)
		tick();
	return ended.code;
}

static enum fault_code
ask_ok(const char *method, const struct pb_msgdesc_s *fields, const void *m)
{
	return ask(method, fields, m, "Bearer " TOKEN);
}

static enum fault_code
ask_empty(const char *method, const char *token)
{
	nacre_sandbox_v1_Empty e = nacre_sandbox_v1_Empty_init_zero;

	return ask(method, nacre_sandbox_v1_Empty_fields, &e, token);
}

#endif
