/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Sandbox Protocol over TCP: tokens, states, exec, bytes in frames. The
 * server's object is put together by hand: namespaces and root are tested in
 * a real guest.
 */

#include <sys/prctl.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <signal.h>

#include "served.h"

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

/*
 * State by call, no cell blank: 's' served, '-' NOT_READY. The order of
 * states is that of enum sandbox_state.
 */
static const struct {
	const char *method;
	const char *cells; /* bound, ready, stopping, stopped, broken */
	bool waits;        /* once served it has no answer yet */
} served[] = {
	{ "Confirm", "ss---", false },
	{ "Exec", "-s---", false },
	{ "Signal", "-ss--", false },
	{ "Resize", "-ss--", false },
	{ "File", "-s---", false },
	{ "Watch", "ssss-", true },
	{ "Stop", "ss-ss", false },
	{ "Renew", "ssss-", false },
	{ "Bulk", "-ss--", true },
	{ "Accept", "-s---", true },
	{ "Holders", "-ss--", true },
};

static void
calls_are_served_in_their_states_only(void **state)
{
	size_t n = 0;

	(void)state;
	while (sandbox_methods[n].name)
		n++;
	assert_int_equal(n, NELEM(served));
	for (size_t i = 0; i < NELEM(served); i++) {
		assert_int_equal(strlen(served[i].cells), SANDBOX_BROKEN + 1);
		for (unsigned s = 0; served[i].cells[s]; s++) {
			bool is = served[i].cells[s] == 's';
			char call[64];

			(void)text_fmt(call, sizeof(call), CALL "%s",
			    served[i].method);
			sandbox->state = (enum sandbox_state)s;
			if (is && served[i].waits)
				continue;
			(void)ask_empty(call, "Bearer " TOKEN);
			assert_int_equal(
			    strncmp(ended.text, "the sandbox is ", 15) == 0,
			    !is);
		}
	}
	sandbox->state = SANDBOX_READY;
	assert_int_equal(ask_empty(CALL "Nothing", "Bearer " TOKEN),
	    FAULT_UNIMPLEMENTED);
	assert_int_equal(ask_empty("/other/Exec", "Bearer " TOKEN),
	    FAULT_UNIMPLEMENTED);
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
not_reached(struct timer *t)
{
	(void)t;
	fail();
}

/* A child on its way to its program, where it stays. */
static struct exec *
stuck(void)
{
	struct exec *e = &sandbox->execs[0];
	int report[2];

	assert_int_equal(pipe2(report, O_CLOEXEC | O_NONBLOCK), 0);
	*e = (struct exec){ .sb = sandbox,
		.is_used = true,
		.ours = { -1, -1, -1 },
		.pty = -1,
		.report_fd = report[0],
		.report = { .fd = -1 },
		.look = { .fire = not_reached },
		.plan = { .stdio = { -1, -1, -1 } } };
	(void)text_copy(e->id, sizeof(e->id), span_str(id));
	e->began_ms = clock_mono_ms();
	e->pid = fork();
	assert_true(e->pid >= 0);
	while (e->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)pause();
	}
	(void)close(report[1]);
	return e;
}

static void
expect_killed(struct exec *e)
{
	while (!e->has_ended)
		tick();
	assert_true(WIFSIGNALED(e->status));
	assert_int_equal(WTERMSIG(e->status), SIGKILL);
	assert_true(e->is_told);
}

static void
a_child_has_a_while_to_come_to_its_program(void **state)
{
	struct exec *e = stuck();

	(void)state;
	e->began_ms -= 60000;
	exec_look(e);
	expect_killed(e);
}

/* It has no group of its own yet. */
static void
a_child_that_does_not_run_yet_can_be_ended(void **state)
{
	nacre_sandbox_v1_SignalRequest q =
	    nacre_sandbox_v1_SignalRequest_init_zero;
	struct exec *e = stuck();

	(void)state;
	q.exec_id = id;
	q.signal = SIGKILL;
	q.group = true;
	assert_int_equal(
	    ask_ok(CALL "Signal", nacre_sandbox_v1_SignalRequest_fields, &q),
	    FAULT_NONE);
	expect_killed(e);
}

/* --- calls beside bytes on one link */
enum {
	STREAMS = 20, /* every second one has no reader */
	CALLS = 40,
};

static uint64_t passed; /* bytes that were read */

static void
on_flood(struct rpc_call *c, void *owner, struct span m)
{
	bool is_read = owner != NULL;

	passed += m.len;
	if (is_read)
		rpc_consume(c, m.len);
}

static void
flood(unsigned i)
{
	static const struct rpc_call_events on = { .message = on_flood,
		.closed = on_quiet };
	nacre_sandbox_v1_ExecReply r = nacre_sandbox_v1_ExecReply_init_zero;
	nacre_sandbox_v1_ExecRequest q = exec_of("exec cat /dev/zero");
	struct fault f = { 0 };
	struct rpc_call *c;

	(void)text_fmt(id, sizeof(id), "%u", i);
	assert_int_equal(start(&q, &r), FAULT_NONE);
	assert_int_equal(r.error, 0);
	c = rpc_call(link_to, CALL "Bulk", SPAN_LIT("Bearer " TOKEN), -1, &on,
	    i % 2 ? &passed : NULL, &f);
	assert_non_null(c);
	send_frame(c, r.tag, "", false);
	arena_release(&arena);
}

/* No time is measured, but what goes ahead of an answer: what the connection
 * holds on its way, whatever the number of streams that would send. */
static void
control_answers_under_bulk(void **state)
{
	nacre_sandbox_v1_SignalRequest kill_it =
	    nacre_sandbox_v1_SignalRequest_init_zero;
	uint64_t before;

	(void)state;
	if (geteuid() != 0)
		skip();
	watch();
	for (unsigned i = 0; i < STREAMS; i++)
		flood(i);
	for (passed = 0; passed < 8 << 20;)
		tick();
	for (unsigned i = 0; i < CALLS; i++) {
		before = passed;
		assert_int_equal(ask_empty(CALL "Signal", "Bearer " TOKEN),
		    FAULT_NOT_FOUND);
		assert_true(passed - before < 4 << 20);
	}
	kill_it.exec_id = id;
	kill_it.signal = 9;
	kill_it.group = true;
	for (unsigned i = 0; i < STREAMS; i++) {
		(void)text_fmt(id, sizeof(id), "%u", i);
		assert_int_equal(ask_ok(CALL "Signal",
				     nacre_sandbox_v1_SignalRequest_fields,
				     &kill_it),
		    FAULT_NONE);
	}
	while (events < STREAMS)
		tick();
	(void)text_copy(id, sizeof(id), SPAN_LIT("one"));
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
	(void)text_copy(id, sizeof(id), SPAN_LIT("two"));
	assert_int_equal(start(&q, &r), FAULT_NONE);
	assert_int_equal(r.error, EACCES);
	q = exec_of("true");
	q.workdir = nowhere;
	(void)text_copy(id, sizeof(id), SPAN_LIT("three"));
	assert_int_equal(start(&q, &r), FAULT_NONE);
	assert_int_equal(r.error, ENOENT);
	assert_string_equal(r.stage, "workdir");
	(void)text_copy(id, sizeof(id), SPAN_LIT("one"));
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
nothing_runs_twice(void **state)
{
	nacre_sandbox_v1_ExecReply first = nacre_sandbox_v1_ExecReply_init_zero;
	nacre_sandbox_v1_ExecReply r = nacre_sandbox_v1_ExecReply_init_zero;
	nacre_sandbox_v1_ExecRequest q = exec_of("exit 5");

	(void)state;
	if (geteuid() != 0)
		skip();
	watch();
	assert_int_equal(start(&q, &first), FAULT_NONE);
	assert_true(first.tag > 0);
	while (events == 0)
		tick();
	/* Also after its end: the answer, no process and no other event. */
	assert_int_equal(start(&q, &r), FAULT_NONE);
	assert_int_equal(r.tag, first.tag);
	assert_int_equal(r.pid, first.pid);
	assert_int_equal(events, 1);
	for (size_t i = 0; i < SANDBOX_EXECS; i++)
		assert_false(sandbox->execs[i].is_used);
	q.timeout_ms = 1;
	assert_int_equal(start(&q, &r), FAULT_EXISTS);
	assert_int_equal(events, 1);
}

static void
what_had_no_effect_may_be_asked_again(void **state)
{
	nacre_sandbox_v1_ExecReply r = nacre_sandbox_v1_ExecReply_init_zero;
	nacre_sandbox_v1_ExecRequest q = exec_of("exit 0");

	(void)state;
	if (geteuid() != 0)
		skip();
	for (int i = 0; i < SANDBOX_EXECS; i++)
		sandbox->execs[i].is_used = true;
	assert_int_equal(start(&q, &r), FAULT_LIMIT);
	for (int i = 0; i < SANDBOX_EXECS; i++)
		sandbox->execs[i].is_used = false;
	watch();
	assert_int_equal(start(&q, &r), FAULT_NONE);
	while (events == 0)
		tick();
}

static void
the_ledger_forgets_the_oldest(void **state)
{
	struct ledger *l = &sandbox->ledger;
	const struct ledger_row *row;
	char name[16];

	(void)state;
	for (unsigned i = 0; i <= SANDBOX_LEDGER; i++) {
		(void)text_fmt(name, sizeof(name), "%u", i);
		assert_int_equal(ledger_enter(l, name, SPAN_LIT("x"), &row),
		    LEDGER_NEW);
	}
	assert_int_equal(ledger_enter(l, "1", SPAN_LIT("x"), &row),
	    LEDGER_SOON);
	assert_int_equal(ledger_enter(l, "1", SPAN_LIT("y"), &row),
	    LEDGER_OTHER);
	assert_int_equal(ledger_enter(l, "0", SPAN_LIT("y"), &row), LEDGER_NEW);
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
		TEST(a_child_has_a_while_to_come_to_its_program),
		TEST(a_child_that_does_not_run_yet_can_be_ended),
		TEST(control_answers_under_bulk),
		TEST(what_cannot_run_says_where_it_failed),
		TEST(a_timeout_ends_the_group),
		TEST(nothing_runs_twice),
		TEST(what_had_no_effect_may_be_asked_again),
		TEST(the_ledger_forgets_the_oldest),
		TEST(ids_and_slots_are_counted),
		TEST(an_end_waits_for_its_watcher),
		TEST(stop_needs_a_namespace_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
