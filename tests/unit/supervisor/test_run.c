/* SPDX-License-Identifier: Apache-2.0 */
/* A process in the sandbox: its input, its end before its start. */
#include <sys/ioctl.h>

#include <fcntl.h>
#include <termios.h>

#include "joined.h"

static void
has_ended(struct run *r)
{
	(void)r;
}

static struct run *
begin(bool tty)
{
	nacre_session_v1_Command c = nacre_session_v1_Command_init_zero;
	struct run *r = run_new(sv, "x");
	struct fault f = { 0 };

	r->ended = has_ended;
	c.tty = tty;
	assert_int_equal(run_start(r, &c, 0, &f), 0);
	return r;
}

static void
answer_started(struct asked *a, uint8_t tag, const int *fds, size_t n)
{
	nacre_sandbox_v1_ExecReply r = nacre_sandbox_v1_ExecReply_init_zero;

	r.tag = tag;
	r.pid = 7;
	pass(tag, fds, n);
	answer(a, nacre_sandbox_v1_ExecReply_fields, &r);
}

/* Both sides of a terminal, as the sandbox opens one. */
static void
open_terminal(int ends[2])
{
	struct termios t;
	int unlock = 0;
	struct fault f = { 0 };

	ends[0] = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(ends[0] >= 0);
	assert_int_equal(ioctl(ends[0], TIOCSPTLCK, &unlock), 0);
	ends[1] = ioctl(ends[0], TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(ends[1] >= 0);
	assert_int_equal(tcgetattr(ends[1], &t), 0);
	t.c_lflag &= ~(tcflag_t)ECHO;
	assert_int_equal(tcsetattr(ends[1], TCSANOW, &t), 0);
	assert_int_equal(fd_nonblock(ends[0], &f), 0);
	assert_int_equal(fd_nonblock(ends[1], &f), 0);
}

static void
a_terminal_takes_more_than_it_holds(void **state)
{
	static char lines[1 << 18];
	static char got[sizeof(lines)];
	struct run *r = begin(true);
	struct fault f = { 0 };
	size_t n = 0;
	int ends[2];

	(void)state;
	memset(lines, 'x', sizeof(lines));
	for (size_t i = 63; i < sizeof(lines); i += 64)
		lines[i] = '\n';
	open_terminal(ends);
	answer_started(expect_asked(1, "Exec"), 5, ends, 1);
	fd_close(&ends[0]);
	while (!r->is_started)
		tick();
	run_input(r, span_of(lines, sizeof(lines)), 0);
	for (int i = 0; n < sizeof(lines) && i < 1000; i++) {
		ssize_t k;

		assert_int_equal(loop_tick(sv->loop, 10, &f), 0);
		while ((k = read(ends[1], got + n, sizeof(got) - n)) > 0)
			n += (size_t)k;
	}
	assert_int_equal(n, sizeof(lines));
	assert_memory_equal(got, lines, sizeof(lines));
	fd_close(&ends[1]);
	run_free(r);
}

static void
input_of_a_terminal_may_end_before_its_start(void **state)
{
	struct run *r = begin(true);
	struct fault f = { 0 };
	char got[8];
	ssize_t n = -1;
	int ends[2];

	(void)state;
	run_input(r, SPAN_LIT("all\n"), 0);
	run_input_end(r);
	open_terminal(ends);
	answer_started(expect_asked(1, "Exec"), 5, ends, 1);
	fd_close(&ends[0]);
	while (!r->is_started)
		tick();
	for (int i = 0; n < 0 && i < 1000; i++) {
		assert_int_equal(loop_tick(sv->loop, 10, &f), 0);
		n = read(ends[1], got, sizeof(got));
	}
	assert_int_equal(n, 4);
	n = -1;
	for (int i = 0; n < 0 && i < 1000; i++) {
		assert_int_equal(loop_tick(sv->loop, 10, &f), 0);
		n = read(ends[1], got, sizeof(got));
	}
	assert_int_equal(n, 0);
	fd_close(&ends[1]);
	run_free(r);
}

static void
who_leaves_before_the_start_ends_it(void **state)
{
	nacre_sandbox_v1_SignalRequest q =
	    nacre_sandbox_v1_SignalRequest_init_zero;
	struct run *r = begin(false);
	struct asked *exec = expect_asked(1, "Exec");
	struct fault f = { 0 };
	struct arena a;

	(void)state;
	run_detach(r, true);
	arena_init(&a, SUPERVISOR_ARENA);
	assert_int_equal(WIRE_DECODE(nacre_sandbox_v1_SignalRequest, &q,
			     buf_span(&expect_asked(2, "Signal")->message), &a,
			     &f),
	    0);
	assert_string_equal(q.exec_id, "x");
	assert_int_equal(q.signal, 9);
	arena_release(&a);
	rpc_finish(exec->call, NULL, span_of(NULL, 0));
	while (!r->is_done)
		tick();
	run_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    a_terminal_takes_more_than_it_holds, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    who_leaves_before_the_start_ends_it, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    input_of_a_terminal_may_end_before_its_start, setup,
		    teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
