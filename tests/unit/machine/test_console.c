/* SPDX-License-Identifier: Apache-2.0 */
/* The console's ring: what is kept, what is counted, how fast it is read. */
#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "machine/inner.h"

static struct loop *loop;
static struct console console;
static int guest;

static int
start(void **state)
{
	struct fault f = { 0 };
	int ends[2];

	(void)state;
	memset(&console, 0, sizeof(console));
	loop = loop_new(&f);
	if (!loop || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return -1;
	guest = ends[1];
	return fd_nonblock(guest, &f) ||
	    console_open(&console, loop, ends[0], &f);
}

static int
end(void **state)
{
	(void)state;
	console_release(&console);
	loop_free(loop);
	(void)close(guest);
	return 0;
}

static void
print(const char *text, size_t n)
{
	struct fault f = { 0 };

	assert_int_equal(write(guest, text, n), n);
	assert_int_equal(loop_tick(loop, 0, &f), 0);
}

static void
test_tail(void **state)
{
	uint8_t out[8];

	(void)state;
	print("hello world", 11);
	assert_int_equal(console_tail(&console, out, 5), 5);
	assert_memory_equal(out, "world", 5);
	assert_int_equal(console.dropped, 0);
}

static void
test_ring_keeps_the_last(void **state)
{
	static char text[CONSOLE_STEP];
	static uint8_t out[CONSOLE_RING + 1];
	const size_t rounds = CONSOLE_RING / CONSOLE_STEP + 2;

	(void)state;
	for (size_t i = 0; i < rounds; i++) {
		memset(text, (int)('a' + i), sizeof(text));
		print(text, sizeof(text));
	}
	assert_int_equal(console_tail(&console, out, sizeof(out)),
	    CONSOLE_RING);
	assert_int_equal(console.dropped, 2 * CONSOLE_STEP);
	assert_int_equal(out[0], 'a' + 2);
	assert_int_equal(out[CONSOLE_RING - 1], 'a' + rounds - 1);
}

/* More than the burst at once: the rest waits in the guest. */
static void
test_rate(void **state)
{
	static char text[CONSOLE_STEP];
	struct fault f = { 0 };
	size_t sent = 0;

	(void)state;
	memset(text, 'x', sizeof(text));
	for (int i = 0; i < 200; i++) {
		ssize_t n = write(guest, text, sizeof(text));

		sent += n > 0 ? (size_t)n : 0;
		assert_int_equal(loop_tick(loop, 0, &f), 0);
	}
	assert_true(sent < (size_t)200 * sizeof(text));
	assert_true(console.used + console.dropped <
	    2 * (CONSOLE_BURST + CONSOLE_STEP));
	assert_true(console.timer.armed);
}

static void
test_end_of_the_guest(void **state)
{
	struct fault f = { 0 };
	uint8_t out[4];

	(void)state;
	assert_int_equal(write(guest, "bye", 3), 3);
	(void)close(guest);
	guest = -1;
	console_drain(&console);
	assert_int_equal(loop_tick(loop, 0, &f), 0);
	assert_int_equal(console_tail(&console, out, sizeof(out)), 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tail, start, end),
		cmocka_unit_test_setup_teardown(test_ring_keeps_the_last, start,
		    end),
		cmocka_unit_test_setup_teardown(test_rate, start, end),
		cmocka_unit_test_setup_teardown(test_end_of_the_guest, start,
		    end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
