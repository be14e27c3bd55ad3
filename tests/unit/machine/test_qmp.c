/* SPDX-License-Identifier: Apache-2.0 */
/* The QMP client against a VMM that says what we like. */
#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "machine/inner.h"

#define GREETING                                                    \
 "{\"QMP\": {\"version\": {\"qemu\": {\"micro\": 22, \"minor\": 2," \
 " \"major\": 7}, \"package\": \"Debian\"}, \"capabilities\": []}}\r\n"

static struct loop *loop;
static struct qmp qmp;
static int vmm; /* the VMM's end */
static int idles;
static struct fault last;
static char heard[4096];
static size_t heard_n;
static int heard_fds;

static void
idle(struct qmp *q, const struct fault *f)
{
	assert_ptr_equal(q, &qmp);
	idles++;
	last = f ? *f : (struct fault){ 0 };
}

static int
start(void **state)
{
	struct fault f = { 0 };
	int ends[2];

	(void)state;
	loop = loop_new(&f);
	memset(&qmp, 0, sizeof(qmp));
	idles = heard_fds = 0;
	heard_n = 0;
	last = (struct fault){ 0 };
	if (!loop || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return -1;
	vmm = ends[1];
	qmp.idle = idle;
	return fd_nonblock(vmm, &f) || qmp_open(&qmp, loop, ends[0], &f);
}

static int
end(void **state)
{
	(void)state;
	qmp_close(&qmp);
	loop_free(loop);
	(void)close(vmm);
	return 0;
}

static void
turn(void)
{
	struct fault f = { 0 };

	for (int i = 0; i < 4; i++)
		assert_int_equal(loop_tick(loop, 0, &f), 0);
}

/* The VMM says it; then what came from us since. */
static const char *
say(const char *text)
{
	struct fault f = { 0 };
	int fds[4];
	size_t n;
	size_t got;

	assert_int_equal(write(vmm, text, strlen(text)), strlen(text));
	turn();
	heard_n = 0;
	for (;;) {
		n = NELEM(fds);
		if (fd_receive(vmm, heard + heard_n,
			sizeof(heard) - heard_n - 1, &got, fds, &n, &f) != 0 ||
		    got == 0)
			break;
		heard_n += got;
		for (size_t i = 0; i < n; i++, heard_fds++)
			(void)close(fds[i]);
	}
	heard[heard_n] = '\0';
	return heard;
}

static void
test_order(void **state)
{
	(void)state;
	qmp_push(&qmp, QMP_REPLY, -1, "{\"execute\":\"one\"}");
	qmp_push(&qmp, QMP_REPLY, dup(0), "{\"execute\":\"%s\"}", "two");
	turn();
	assert_string_equal(say(""), "");
	assert_string_equal(say(GREETING), "{\"execute\":\"one\"}\n");
	assert_int_equal(heard_fds, 0);
	assert_int_equal(idles, 0);
	assert_string_equal(say("{\"return\": {}}\r\n"),
	    "{\"execute\":\"two\"}\n");
	assert_int_equal(heard_fds, 1);
	(void)say("{\"return\": {}}\r\n");
	assert_int_equal(idles, 1);
	assert_int_equal(last.code, FAULT_NONE);
}

static void
test_waits_for_migration(void **state)
{
	(void)state;
	qmp_push(&qmp, QMP_MIGRATED, -1, "{\"execute\":\"migrate\"}");
	(void)say(GREETING);
	(void)say("{\"event\": \"MIGRATION\", \"data\": {\"status\": "
		  "\"setup\"}}\r\n{\"return\": {}}\r\n");
	assert_int_equal(idles, 0);
	(void)say("{\"event\": \"STOP\"}\r\n{\"event\": \"MIGRATION\", "
		  "\"data\": {\"status\": \"active\"}}\r\n");
	assert_int_equal(idles, 0);
	(void)say("{\"event\": \"MIGRATION\", \"data\": {\"status\": "
		  "\"completed\"}}\r\n");
	assert_int_equal(idles, 1);
	assert_int_equal(last.code, FAULT_NONE);
}

static void
test_failed_migration(void **state)
{
	(void)state;
	qmp_push(&qmp, QMP_MIGRATED, -1, "{\"execute\":\"migrate\"}");
	qmp_push(&qmp, QMP_REPLY, -1, "{\"execute\":\"cont\"}");
	(void)say(GREETING);
	assert_string_equal(say("{\"return\": {}}\r\n{\"event\": \"MIGRATION\","
				" \"data\": {\"status\": \"failed\"}}\r\n"),
	    "");
	assert_int_equal(idles, 1);
	assert_int_equal(last.code, FAULT_START_FAILED);
}

static void
test_refusal_is_told_and_drops_the_rest(void **state)
{
	(void)state;
	qmp_push(&qmp, QMP_REPLY, -1, "{\"execute\":\"one\"}");
	qmp_push(&qmp, QMP_REPLY, dup(0), "{\"execute\":\"two\"}");
	(void)say(GREETING);
	assert_string_equal(
	    say("{\"error\": {\"class\": \"GenericError\", \"desc\":"
		" \"no \\u001b[1m way\"}}\r\n"),
	    "");
	assert_int_equal(idles, 1);
	assert_int_equal(last.code, FAULT_START_FAILED);
	assert_string_equal(last.text, "the VMM refused: no \\x1b[1m way");
	assert_int_equal(qmp.count, 0);
}

static void
test_garbage_is_a_fault(void **state)
{
	(void)state;
	qmp_push(&qmp, QMP_REPLY, -1, "{\"execute\":\"one\"}");
	(void)say(GREETING);
	(void)say("not json\r\n");
	assert_int_equal(idles, 1);
	assert_int_not_equal(last.code, FAULT_NONE);
}

static void
test_answers_out_of_turn_are_nothing(void **state)
{
	(void)state;
	(void)say(GREETING GREETING "{\"return\": {}}\r\n{\"error\": {}}\r\n"
				    "{}\r\n[]\r\n7\r\n\r\n");
	assert_int_equal(idles, 0);
	qmp_push(&qmp, QMP_REPLY, -1, "{\"execute\":\"one\"}");
	assert_string_equal(say(""), "{\"execute\":\"one\"}\n");
	(void)say("{\"return\": 1}\r\n{\"return\": 2}\r\n");
	assert_int_equal(idles, 1);
}

static void
test_endless_line(void **state)
{
	static char much[65536];

	(void)state;
	memset(much, 'x', sizeof(much));
	for (int i = 0; i < 8 && idles == 0; i++) {
		(void)!write(vmm, much, sizeof(much));
		turn();
		turn();
		turn();
	}
	assert_int_equal(idles, 1);
	assert_int_equal(last.code, FAULT_LIMIT);
}

static void
test_quit_passes_the_queue(void **state)
{
	(void)state;
	qmp_push(&qmp, QMP_REPLY, -1, "{\"execute\":\"one\"}");
	(void)say(GREETING);
	qmp_push(&qmp, QMP_REPLY, -1, "{\"execute\":\"two\"}");
	qmp_quit(&qmp);
	qmp_quit(&qmp);
	assert_string_equal(say("{\"return\": {}}\r\n"),
	    "{\"execute\":\"quit\"}\n");
	assert_int_equal(idles, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, start, end),
		cmocka_unit_test_setup_teardown(test_waits_for_migration, start,
		    end),
		cmocka_unit_test_setup_teardown(test_failed_migration, start,
		    end),
		cmocka_unit_test_setup_teardown(
		    test_refusal_is_told_and_drops_the_rest, start, end),
		cmocka_unit_test_setup_teardown(test_garbage_is_a_fault, start,
		    end),
		cmocka_unit_test_setup_teardown(
		    test_answers_out_of_turn_are_nothing, start, end),
		cmocka_unit_test_setup_teardown(test_endless_line, start, end),
		cmocka_unit_test_setup_teardown(test_quit_passes_the_queue,
		    start, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
