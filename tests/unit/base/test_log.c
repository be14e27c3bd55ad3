/* SPDX-License-Identifier: Apache-2.0 */
/* The log line and what keeps strangers from filling the log. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "base/base.h"

enum {
	FLOOD = 2000,
	BURST = 200
};

static int kept = -1;
static char name[] = "/tmp/nacre-log.XXXXXX";
static char text[1 << 20];

static int
setup(void **state)
{
	int fd;

	(void)state;
	(void)snprintf(name, sizeof(name), "/tmp/nacre-log.XXXXXX");
	fd = mkstemp(name);
	kept = dup(STDERR_FILENO);
	if (fd < 0 || kept < 0 || dup2(fd, STDERR_FILENO) < 0)
		return -1;
	return close(fd);
}

/* What was logged; stderr is itself again. */
static int
teardown(void **state)
{
	(void)state;
	if (kept >= 0 && dup2(kept, STDERR_FILENO) < 0)
		return -1;
	fd_close(&kept);
	return unlink(name);
}

static size_t
lines_with(const char *word)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	size_t lines = 0;

	assert_true(n >= 0);
	text[n] = '\0';
	(void)close(fd);
	for (const char *at = text; (at = strstr(at, word)); at++)
		lines++;
	return lines;
}

static void
a_flood_is_cut_and_counted(void **state)
{
	static const struct timespec while_tokens_come = { .tv_nsec =
							       100000000 };
	size_t before;
	const char *said;
	unsigned dropped;

	(void)state;
	for (int i = 0; i < FLOOD; i++)
		log_info("flood");
	before = lines_with("flood");
	assert_true(before >= BURST && before < FLOOD / 2);
	log_error("an error is never dropped");
	assert_int_equal(lines_with("an error is never"), 1);
	assert_int_equal(nanosleep(&while_tokens_come, NULL), 0);
	log_info("after it");
	assert_int_equal(lines_with("after it"), 1);
	assert_int_equal(lines_with(" lines dropped"), 1);
	said = strstr(text, " lines dropped");
	while (said[-1] >= '0' && said[-1] <= '9')
		said--;
	assert_int_equal(sscanf(said, "%u", &dropped), 1);
	assert_int_equal(dropped, FLOOD - before);
}

static void
what_is_below_the_level_costs_nothing(void **state)
{
	static const struct timespec refill = { .tv_nsec = 100000000 };

	(void)state;
	assert_int_equal(nanosleep(&refill, NULL), 0);
	for (int i = 0; i < FLOOD; i++)
		log_debug("not asked for");
	log_info("asked for");
	assert_int_equal(lines_with("not asked"), 0);
	assert_int_equal(lines_with("info test_log.c"), 1);
	assert_int_equal(lines_with("dropped"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_flood_is_cut_and_counted),
		TEST(what_is_below_the_level_costs_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
