/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Sandbox Protocol over TCP: tokens, states, exec, bytes in frames. The
 * server's object is put together by hand: namespaces and root are tested in
 * a real guest.
 */

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

static void
the_token_decides(void **state)
{
	(void)state;
	assert_int_equal(ask_empty(CALL "Signal", ""), FAULT_UNAUTHENTICATED);
	assert_int_equal(ask_empty(CALL "Signal", "Bearer other"),
	    FAULT_UNAUTHENTICATED);
	assert_int_equal(ask_empty(CALL "Signal", TOKEN),
	    FAULT_UNAUTHENTICATED);
	assert_int_equal(ask_empty(CALL "Nothing", "Bearer other"),
	    FAULT_UNAUTHENTICATED);
	assert_int_equal(ask_empty(CALL "Signal", "Bearer " TOKEN),
	    FAULT_NOT_FOUND);
	sandbox->has_grant = false;
	assert_int_equal(ask_empty(CALL "Signal", "Bearer " TOKEN),
	    FAULT_UNAUTHENTICATED);
}

static void
a_renewed_token_replaces_the_old_one(void **state)
{
	nacre_sandbox_v1_RenewRequest q =
	    nacre_sandbox_v1_RenewRequest_init_zero;
	uint8_t sum[DIGEST_SIZE];

	(void)state;
	q.token_sha256 = wire_bytes(&arena, SPAN_LIT("short"));
	assert_int_equal(
	    ask_ok(CALL "Renew", nacre_sandbox_v1_RenewRequest_fields, &q),
	    FAULT_INVALID);
	digest_of(SPAN_LIT("next"), sum);
	q.token_sha256 = wire_bytes(&arena, span_of(sum, sizeof(sum)));
	assert_int_equal(
	    ask_ok(CALL "Renew", nacre_sandbox_v1_RenewRequest_fields, &q),
	    FAULT_NONE);
	/* The old one is good for what was sent before the answer was read,
	 * and dead from the first call under the new one. */
	assert_int_equal(ask_empty(CALL "Signal", "Bearer " TOKEN),
	    FAULT_NOT_FOUND);
	assert_int_equal(ask_empty(CALL "Signal", "Bearer next"),
	    FAULT_NOT_FOUND);
	assert_int_equal(ask_empty(CALL "Signal", "Bearer " TOKEN),
	    FAULT_UNAUTHENTICATED);
}

static void
calls_are_served_in_their_states_only(void **state)
{
	static const struct {
		enum sandbox_state state;
		const char *method;
		enum fault_code code;
	} rows[] = {
		{ SANDBOX_BOUND, CALL "Exec", FAULT_NOT_READY },
		{ SANDBOX_BOUND, CALL "File", FAULT_NOT_READY },
		{ SANDBOX_BOUND, CALL "Signal", FAULT_NOT_READY },
		{ SANDBOX_BROKEN, CALL "Confirm", FAULT_NOT_READY },
		{ SANDBOX_BROKEN, CALL "Exec", FAULT_NOT_READY },
		{ SANDBOX_BROKEN, CALL "Watch", FAULT_NOT_READY },
		{ SANDBOX_STOPPING, CALL "Exec", FAULT_NOT_READY },
		{ SANDBOX_STOPPING, CALL "File", FAULT_NOT_READY },
		{ SANDBOX_STOPPING, CALL "Signal", FAULT_NOT_FOUND },
		{ SANDBOX_STOPPED, CALL "Exec", FAULT_NOT_READY },
		{ SANDBOX_READY, CALL "Nothing", FAULT_UNIMPLEMENTED },
		{ SANDBOX_READY, "/other/Exec", FAULT_UNIMPLEMENTED },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		sandbox->state = rows[i].state;
		assert_int_equal(ask_empty(rows[i].method, "Bearer " TOKEN),
		    rows[i].code);
	}
}

static void
a_confirmation_is_checked_before_it_acts(void **state)
{
	static const struct {
		uint32_t uid;
		uint32_t gid;
	} bad[] = { { 0, 1 }, { 1, 0 }, { UINT32_MAX, 1 }, { 1, UINT32_MAX },
		{ SANDBOX_UID, 1 } };
	nacre_sandbox_v1_ConfirmRequest q =
	    nacre_sandbox_v1_ConfirmRequest_init_zero;
	static char host[] = "host";

	(void)state;
	sandbox->state = SANDBOX_BOUND;
	q.host_name = host;
	for (size_t i = 0; i < NELEM(bad); i++) {
		q.uid = bad[i].uid;
		q.gid = bad[i].gid;
		assert_int_equal(ask_ok(CALL "Confirm",
				     nacre_sandbox_v1_ConfirmRequest_fields,
				     &q),
		    FAULT_INVALID);
		assert_int_equal(sandbox->state, SANDBOX_BOUND);
	}
}

static void
a_second_confirmation_must_be_the_same(void **state)
{
	nacre_sandbox_v1_ConfirmRequest q =
	    nacre_sandbox_v1_ConfirmRequest_init_zero;
	struct fault f = { 0 };
	struct buf b;

	(void)state;
	buf_init(&b, 4096);
	q.uid = 1000;
	q.gid = 1000;
	assert_int_equal(
	    WIRE_ENCODE(nacre_sandbox_v1_ConfirmRequest, &q, &b, &f), 0);
	digest_of(buf_span(&b), sandbox->confirm_digest);
	buf_release(&b);
	assert_int_equal(
	    ask_ok(CALL "Confirm", nacre_sandbox_v1_ConfirmRequest_fields, &q),
	    FAULT_NONE);
	q.uid = 1001;
	assert_int_equal(
	    ask_ok(CALL "Confirm", nacre_sandbox_v1_ConfirmRequest_fields, &q),
	    FAULT_REFUSED);
}

/* --- exec */
static char a0[] = "sh";
static char a1[] = "-c";
static char script[256];
static char path[] = "PATH=/usr/bin:/bin";
static char tmp[] = "/tmp";
static char id[16] = "one";
static char *argv[] = { a0, a1, script };
static char *env[] = { path };

static nacre_sandbox_v1_ExecRequest
exec_of(const char *text)
{
	nacre_sandbox_v1_ExecRequest q = nacre_sandbox_v1_ExecRequest_init_zero;

	(void)text_copy(script, sizeof(script), span_str(text));
	q.exec_id = id;
	q.argv = argv;
	q.argv_count = NELEM(argv);
	q.env = env;
	q.env_count = 1;
	q.workdir = tmp;
	return q;
}

static enum fault_code
start(const nacre_sandbox_v1_ExecRequest *q, nacre_sandbox_v1_ExecReply *r)
{
	struct fault f = { 0 };
	enum fault_code code =
	    ask_ok(CALL "Exec", nacre_sandbox_v1_ExecRequest_fields, q);

	if (code == FAULT_NONE)
		assert_int_equal(WIRE_DECODE(nacre_sandbox_v1_ExecReply, r,
				     buf_span(&reply), &arena, &f),
		    0);
	return code;
}

static void
bad_requests_are_named(void **state)
{
	nacre_sandbox_v1_ExecReply r = nacre_sandbox_v1_ExecReply_init_zero;
	nacre_sandbox_v1_ExecRequest q = exec_of("true");
	static char empty[] = "";
	static char no_name[] = "=x";
	static char no_value[] = "x";
	static char relative[] = "tmp";
	char *none[] = { empty };
	char *many[LIMIT_EXEC_ARGS + 1];

	(void)state;
	q.argv_count = 0;
	assert_int_equal(start(&q, &r), FAULT_INVALID);
	assert_string_equal(ended.field, "argv");
	q = exec_of("true");
	q.argv = none;
	q.argv_count = 1;
	assert_int_equal(start(&q, &r), FAULT_INVALID);
	q = exec_of("true");
	for (size_t i = 0; i < NELEM(many); i++)
		many[i] = a0;
	q.argv = many;
	q.argv_count = NELEM(many);
	assert_int_equal(start(&q, &r), FAULT_INVALID);
	q = exec_of("true");
	env[0] = no_name;
	assert_int_equal(start(&q, &r), FAULT_INVALID);
	assert_string_equal(ended.field, "env");
	env[0] = no_value;
	assert_int_equal(start(&q, &r), FAULT_INVALID);
	env[0] = path;
	q.workdir = relative;
	assert_int_equal(start(&q, &r), FAULT_INVALID);
	assert_string_equal(ended.field, "workdir");
	q = exec_of("true");
	q.exec_id = empty;
	assert_int_equal(start(&q, &r), FAULT_INVALID);
}

static void
on_event(struct rpc_call *c, void *owner, struct span m)
{
	struct fault f = { 0 };

	(void)owner;
	rpc_consume(c, m.len);
	assert_int_equal(
	    WIRE_DECODE(nacre_sandbox_v1_Event, &event, m, &arena, &f), 0);
	(void)text_copy(event_reason, sizeof(event_reason),
	    span_str(event.reason));
	events++;
}

static void
on_frame(struct rpc_call *c, void *owner, struct span m)
{
	nacre_sandbox_v1_Frame q = nacre_sandbox_v1_Frame_init_zero;
	struct fault f = { 0 };
	struct span data;

	(void)owner;
	assert_int_equal(WIRE_DECODE(nacre_sandbox_v1_Frame, &q, m, &arena, &f),
	    0);
	rpc_consume(c, m.len);
	assert_true(q.channel < 3);
	data = wire_span(q.data);
	if (data.len)
		assert_int_equal(
		    buf_add(&frames[q.channel], data.ptr, data.len, &f), 0);
	frame_ends[q.channel] |= q.end;
	arena_release(&arena);
}

static void
on_quiet(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	(void)c;
	(void)owner;
	(void)f;
	(void)detail;
}

static void
send_frame(struct rpc_call *c, uint64_t tag, const char *text, bool end)
{
	nacre_sandbox_v1_Frame q = nacre_sandbox_v1_Frame_init_zero;
	struct fault f = { 0 };
	struct buf b;

	buf_init(&b, 4096);
	q.tag = tag;
	q.data = wire_bytes(&arena, span_str(text));
	q.end = end;
	assert_int_equal(WIRE_ENCODE(nacre_sandbox_v1_Frame, &q, &b, &f), 0);
	assert_int_equal(rpc_send(c, buf_span(&b), &f), 0);
	buf_release(&b);
}

static struct rpc_call *
open_stream(const char *method, const struct rpc_call_events *on)
{
	struct fault f = { 0 };
	struct rpc_call *c = rpc_call(link_to, method,
	    SPAN_LIT("Bearer " TOKEN), -1, on, NULL, &f);

	assert_non_null(c);
	return c;
}

static void
watch(void)
{
	static const struct rpc_call_events on = { .message = on_event,
		.closed = on_quiet };
	struct fault f = { 0 };
	struct rpc_call *c = open_stream(CALL "Watch", &on);

	assert_int_equal(rpc_call_unary(c, span_of(NULL, 0), &f), 0);
}

static void
an_exec_runs_with_its_bytes_in_frames(void **state)
{
	static const struct rpc_call_events on = { .message = on_frame,
		.closed = on_quiet };
	nacre_sandbox_v1_ExecReply r = nacre_sandbox_v1_ExecReply_init_zero;
	nacre_sandbox_v1_ExecRequest q =
	    exec_of("read x; echo got $x; id -u; echo E >&2; exit 7");
	struct rpc_call *c;

	(void)state;
	if (geteuid() != 0)
		skip();
	watch();
	assert_int_equal(start(&q, &r), FAULT_NONE);
	assert_int_equal(r.error, 0);
	assert_true(r.tag > 0 && r.pid > 0);
	c = open_stream(CALL "Bulk", &on);
	send_frame(c, r.tag, "", false);
	send_frame(c, 0, "hello\n", true);
	while (events == 0 || !frame_ends[1] || !frame_ends[2])
		tick();
	assert_true(span_is(buf_span(&frames[1]), "got hello\n1000\n"));
	assert_true(span_is(buf_span(&frames[2]), "E\n"));
	assert_int_equal(event.code, 7);
	assert_int_equal(event.signal, 0);
}

static void
much_output_waits_for_its_reader(void **state)
{
	static const struct rpc_call_events on = { .message = on_frame,
		.closed = on_quiet };
	nacre_sandbox_v1_ExecReply r = nacre_sandbox_v1_ExecReply_init_zero;
	nacre_sandbox_v1_ExecRequest q =
	    exec_of("dd if=/dev/zero bs=65536 count=40 2>/dev/null");
	struct rpc_call *c;

	(void)state;
	if (geteuid() != 0)
		skip();
	watch();
	assert_int_equal(start(&q, &r), FAULT_NONE);
	for (int i = 0; i < 20; i++) {
		struct fault f = { 0 };

		assert_int_equal(loop_tick(loop, 10, &f), 0);
	}
	assert_int_equal(events, 0); /* nobody reads: it cannot end */
	c = open_stream(CALL "Bulk", &on);
	send_frame(c, r.tag, "", true);
	while (events == 0 || !frame_ends[1])
		tick();
	assert_int_equal(frames[1].len, 40 * 65536);
}

static void
what_cannot_run_says_where_it_failed(void **state)
{
	nacre_sandbox_v1_ExecReply r = nacre_sandbox_v1_ExecReply_init_zero;
	nacre_sandbox_v1_ExecRequest q = exec_of("true");
	static char nosuch[] = "nosuch-program";
	static char passwd[] = "/etc/passwd";
	static char nowhere[] = "/nosuch";
	char *just[] = { nosuch };

	(void)state;
	if (geteuid() != 0)
		skip();
	q.argv = just;
	q.argv_count = 1;
	assert_int_equal(start(&q, &r), FAULT_NONE);
	assert_int_equal(r.error, ENOENT);
	assert_string_equal(r.stage, "exec");
	just[0] = passwd;
	assert_int_equal(start(&q, &r), FAULT_NONE);
	assert_int_equal(r.error, EACCES);
	q = exec_of("true");
	q.workdir = nowhere;
	assert_int_equal(start(&q, &r), FAULT_NONE);
	assert_int_equal(r.error, ENOENT);
	assert_string_equal(r.stage, "workdir");
}

static void
a_timeout_ends_the_group(void **state)
{
	nacre_sandbox_v1_ExecReply r = nacre_sandbox_v1_ExecReply_init_zero;
	nacre_sandbox_v1_ExecRequest q = exec_of("sleep 100; true");

	(void)state;
	if (geteuid() != 0)
		skip();
	watch();
	q.timeout_ms = 50;
	assert_int_equal(start(&q, &r), FAULT_NONE);
	while (events == 0)
		tick();
	assert_int_equal(event.code, 124);
	assert_string_equal(event_reason, "timeout");
}

static void
ids_and_slots_are_counted(void **state)
{
	nacre_sandbox_v1_ExecReply r = nacre_sandbox_v1_ExecReply_init_zero;
	nacre_sandbox_v1_ExecRequest q = exec_of("sleep 100");
	nacre_sandbox_v1_SignalRequest kill_it =
	    nacre_sandbox_v1_SignalRequest_init_zero;

	(void)state;
	if (geteuid() != 0)
		skip();
	watch();
	assert_int_equal(start(&q, &r), FAULT_NONE);
	assert_int_equal(start(&q, &r), FAULT_EXISTS);
	for (int i = 1; i < SANDBOX_EXECS; i++)
		sandbox->execs[i].is_used = true;
	(void)text_copy(id, sizeof(id), SPAN_LIT("two"));
	assert_int_equal(start(&q, &r), FAULT_LIMIT);
	for (int i = 1; i < SANDBOX_EXECS; i++)
		sandbox->execs[i].is_used = false;
	(void)text_copy(id, sizeof(id), SPAN_LIT("one"));
	kill_it.exec_id = id;
	kill_it.signal = 65;
	assert_int_equal(ask_ok(CALL "Signal",
			     nacre_sandbox_v1_SignalRequest_fields, &kill_it),
	    FAULT_INVALID);
	kill_it.signal = 15;
	kill_it.group = true;
	assert_int_equal(ask_ok(CALL "Signal",
			     nacre_sandbox_v1_SignalRequest_fields, &kill_it),
	    FAULT_NONE);
	while (events == 0)
		tick();
	assert_int_equal(event.code, 143);
	assert_int_equal(event.signal, 15);
	assert_int_equal(ask_ok(CALL "Signal",
			     nacre_sandbox_v1_SignalRequest_fields, &kill_it),
	    FAULT_NOT_FOUND);
}

static void
an_end_waits_for_its_watcher(void **state)
{
	nacre_sandbox_v1_ExecReply r = nacre_sandbox_v1_ExecReply_init_zero;
	nacre_sandbox_v1_ExecRequest q = exec_of("exit 9");

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(start(&q, &r), FAULT_NONE);
	while (!sandbox->execs[0].has_ended)
		tick();
	watch();
	while (events == 0)
		tick();
	assert_int_equal(event.code, 9);
	assert_false(sandbox->execs[0].is_used);
}

static void
stop_needs_a_namespace_of_its_own(void **state)
{
	(void)state;
	assert_int_equal(ask_empty(CALL "Stop", "Bearer " TOKEN),
	    FAULT_NOT_READY);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_token_decides),
		TEST(a_renewed_token_replaces_the_old_one),
		TEST(calls_are_served_in_their_states_only),
		TEST(a_confirmation_is_checked_before_it_acts),
		TEST(a_second_confirmation_must_be_the_same),
		TEST(bad_requests_are_named),
		TEST(an_exec_runs_with_its_bytes_in_frames),
		TEST(much_output_waits_for_its_reader),
		TEST(what_cannot_run_says_where_it_failed),
		TEST(a_timeout_ends_the_group),
		TEST(ids_and_slots_are_counted),
		TEST(an_end_waits_for_its_watcher),
		TEST(stop_needs_a_namespace_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
