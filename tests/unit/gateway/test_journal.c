/* SPDX-License-Identifier: Apache-2.0 */
/* The log of a sandbox: appended once, read as lines, bounded, never torn. */
#include <sys/resource.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "gateway/journal.h"
#include "gateway/tail.h"

#define ID "0a1b2c3d-0000-4000-8000-00000000abcd"

static struct gateway gateway;
static struct journal journal;
static struct fault fault;
static char text[1 << 16];
static size_t lines;
static size_t refuse_at; /* this line is refused once; 0: none */

static int
set_up(void **state)
{
	char path[LIMIT_PATH];

	(void)state;
	fault_clear(&fault);
	assert_true(text_fmt(gateway.state, sizeof(gateway.state),
	    "/tmp/journal-XXXXXX"));
	assert_non_null(mkdtemp(gateway.state));
	assert_true(
	    text_fmt(path, sizeof(path), "%s/sandboxes", gateway.state));
	assert_int_equal(dir_make(path, 0700, &fault), 0);
	assert_true(sandbox_path(&gateway, ID, "", path, sizeof(path)));
	assert_int_equal(dir_make(path, 0700, &fault), 0);
	assert_int_equal(journal_open(&gateway, &journal, ID, 1, &fault), 0);
	text[0] = '\0';
	lines = refuse_at = 0;
	return 0;
}

static int
tear_down(void **state)
{
	static const char *const names[] = { "log", "log.1", "" };
	char path[LIMIT_PATH];

	(void)state;
	journal_close(&journal);
	for (size_t i = 0; i < NELEM(names); i++) {
		assert_true(
		    sandbox_path(&gateway, ID, names[i], path, sizeof(path)));
		if (unlink(path) < 0)
			(void)rmdir(path);
	}
	assert_true(
	    text_fmt(path, sizeof(path), "%s/sandboxes", gateway.state));
	(void)rmdir(path);
	(void)rmdir(gateway.state);
	return 0;
}

static void
append(uint64_t offset, const char *s, bool is_error)
{
	const struct journal_record r = {
		.offset = offset,
		.time_ms = 1000,
		.is_error = is_error,
		.data = span_str(s),
	};

	assert_int_equal(journal_append(&gateway, &journal, &r, &fault), 0);
}

static bool
take(void *owner, const struct journal_line *line)
{
	(void)owner;
	lines++;
	if (lines == refuse_at) {
		lines--;
		refuse_at = 0;
		return false;
	}
	if (strlen(text) + line->text.len + 4 < sizeof(text))
		assert_true(
		    text_fmt(text + strlen(text), sizeof(text) - strlen(text),
			"%s%.*s|", line->is_error ? "!" : "",
			(int)line->text.len, (const char *)line->text.ptr));
	return true;
}

static void
read_all(struct journal_reader *r, bool finish)
{
	assert_int_equal(journal_read(&gateway, r, finish, take, NULL, &fault),
	    0);
}

static void
lines_come_back_by_stream(void **state)
{
	struct journal_reader r;

	(void)state;
	append(0, "one\ntw", false);
	append(6, "bad", true);
	append(9, "o\nrest", false);
	append(15, "ly\n", true);
	journal_reader_init(&r, ID);
	read_all(&r, false);
	assert_string_equal(text, "one|two|!badly|");
	read_all(&r, true);
	assert_string_equal(text, "one|two|!badly|rest|");
	journal_reader_release(&r);
}

static void
a_reader_goes_on_where_it_was(void **state)
{
	struct journal_reader r;

	(void)state;
	journal_reader_init(&r, ID);
	read_all(&r, false);
	append(0, "a\nb", false);
	read_all(&r, false);
	assert_string_equal(text, "a|");
	append(3, "c\n", false);
	read_all(&r, false);
	assert_string_equal(text, "a|bc|");
	journal_reader_release(&r);
}

static void
a_refused_line_is_told_again(void **state)
{
	struct journal_reader r;

	(void)state;
	append(0, "a\nb\nc\n", false);
	journal_reader_init(&r, ID);
	refuse_at = 2;
	read_all(&r, false);
	assert_string_equal(text, "a|");
	read_all(&r, false);
	assert_string_equal(text, "a|b|c|");
	journal_reader_release(&r);
}

static void
bytes_that_are_there_are_not_written_twice(void **state)
{
	struct journal_reader r;

	(void)state;
	append(0, "one\n", false);
	append(0, "one\n", false);
	append(2, "e\ntwo\n", false);
	assert_int_equal(journal.end, 8);
	journal_reader_init(&r, ID);
	read_all(&r, false);
	assert_string_equal(text, "one|two|");
	journal_reader_release(&r);
}

static void
the_end_is_found_again(void **state)
{
	(void)state;
	append(0, "one\n", false);
	journal_close(&journal);
	assert_int_equal(journal_open(&gateway, &journal, ID, 1, &fault), 0);
	assert_int_equal(journal.end, 4);
	journal_close(&journal);
	assert_int_equal(journal_open(&gateway, &journal, ID, 2, &fault), 0);
	assert_int_equal(journal.end, 0);
}

static void
a_torn_record_is_cut(void **state)
{
	struct journal_reader r;
	char path[LIMIT_PATH];
	struct stat st;

	(void)state;
	append(0, "one\n", false);
	append(4, "two\n", false);
	journal_close(&journal);
	assert_true(sandbox_path(&gateway, ID, "log", path, sizeof(path)));
	assert_int_equal(stat(path, &st), 0);
	for (off_t n = st.st_size - 1; n > st.st_size / 2; n--) {
		assert_int_equal(truncate(path, n), 0);
		assert_int_equal(
		    journal_open(&gateway, &journal, ID, 1, &fault), 0);
		assert_int_equal(journal.end, 4);
		journal_close(&journal);
	}
	assert_int_equal(journal_open(&gateway, &journal, ID, 1, &fault), 0);
	append(4, "2\n", false);
	journal_reader_init(&r, ID);
	read_all(&r, false);
	assert_string_equal(text, "one|2|");
	journal_reader_release(&r);
}

static void
it_is_bounded_and_readers_are_lapped(void **state)
{
	static const char *const names[] = { "log", "log.1" };
	struct journal_reader r;
	char line[1024];
	uint64_t at = 0;

	(void)state;
	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 2] = '\n';
	line[sizeof(line) - 1] = '\0';
	journal_reader_init(&r, ID);
	append(at, "first\n", false);
	at += 6;
	read_all(&r, false);
	for (int i = 0; i < 3000; i++) {
		append(at, line, false);
		at += strlen(line);
	}
	for (size_t i = 0; i < NELEM(names); i++) {
		char path[LIMIT_PATH];
		struct stat st;

		assert_true(
		    sandbox_path(&gateway, ID, names[i], path, sizeof(path)));
		assert_int_equal(stat(path, &st), 0);
		assert_in_range(st.st_size, 1, 1 << 20);
	}
	read_all(&r, false);
	assert_in_range(lines, 1000, 2000);
	journal_reader_release(&r);
}

static void
long_lines_and_odd_bytes_become_text(void **state)
{
	static char big[3 * JOURNAL_LINE];
	struct journal_reader r;

	(void)state;
	memset(big, 'y', sizeof(big) - 1);
	append(0, big, false);
	append(sizeof(big) - 1, "\n\xff\r\n", false);
	journal_reader_init(&r, ID);
	read_all(&r, false);
	assert_int_equal(lines, 4);
	assert_non_null(strstr(text, "|\\xff|"));
	journal_reader_release(&r);
}

static int
try_append(uint64_t offset, const char *s)
{
	const struct journal_record r = {
		.offset = offset,
		.time_ms = 1000,
		.data = span_str(s),
	};

	fault_clear(&fault);
	return journal_append(&gateway, &journal, &r, &fault);
}

static void
it_goes_on_after_a_rotation_that_failed(void **state)
{
	struct journal_reader r;
	struct rlimit all;
	struct rlimit few;
	char line[1024];
	uint64_t at = 0;
	int failed = 0;

	(void)state;
	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 2] = '\n';
	line[sizeof(line) - 1] = '\0';
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	few = all;
	few.rlim_cur = (rlim_t)journal.fd; /* its place cannot be had again */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (int i = 0; i < 1200 && failed == 0; i++) {
		failed = try_append(at, line);
		at += failed == 0 ? strlen(line) : 0;
	}
	assert_int_equal(failed, -1);
	assert_int_equal(try_append(at, line), -1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	append(at, line, false);
	append(at + strlen(line), "last\n", false);
	journal_reader_init(&r, ID);
	read_all(&r, false);
	assert_int_equal(lines, at / strlen(line) + 2);
	journal_reader_release(&r);
}

static void
an_offset_that_is_no_place_is_refused(void **state)
{
	(void)state;
	append(0, "one\n", false);
	assert_int_equal(try_append(UINT64_MAX - 1, "over\n"), -1);
	assert_int_equal(fault.code, FAULT_INVALID);
	assert_int_equal(journal.end, 4);
}

/* Bytes that this process has read so far. */
static uint64_t
bytes_read(void)
{
	unsigned long long n = 0;
	FILE *f = fopen("/proc/self/io", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "rchar: %llu", &n), 1);
	(void)fclose(f);
	return n;
}

static void
a_follower_reads_only_what_is_new(void **state)
{
	struct journal_reader r;
	char line[1024];
	uint64_t at = 0;
	uint64_t before;

	(void)state;
	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 2] = '\n';
	line[sizeof(line) - 1] = '\0';
	journal_reader_init(&r, ID);
	for (int i = 0; i < 400; i++, at += strlen(line))
		append(at, line, false);
	read_all(&r, false);
	assert_int_equal(lines, 400);
	before = bytes_read();
	for (int i = 0; i < 10; i++, at += strlen(line)) {
		append(at, line, false);
		read_all(&r, false);
	}
	assert_int_equal(lines, 410);
	assert_in_range(bytes_read() - before, 10240, 32768);
	journal_reader_release(&r);
}

static void
a_tail_is_bounded_by_bytes_too(void **state)
{
	struct tail t;
	char line[4097];
	uint64_t at = 0;

	(void)state;
	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 2] = '\n';
	line[sizeof(line) - 1] = '\0';
	for (int i = 0; i < 100; i++, at += strlen(line))
		append(at, line, false);
	tail_init(&t, 50, 0, NULL, 0);
	t.bytes_most = 1 << 20;
	assert_int_equal(tail_count(&gateway, ID, &t, &fault), 0);
	assert_int_equal(t.total, 100);
	assert_int_equal(t.skip, 50);
	assert_int_equal(t.dropped, 0);
	tail_init(&t, 50, 0, NULL, 0);
	t.bytes_most = 10 * 4300;
	assert_int_equal(tail_count(&gateway, ID, &t, &fault), 0);
	assert_int_equal(t.dropped, 40);
	assert_int_equal(t.skip, 90);
	tail_init(&t, 50, 0, NULL, 0);
	t.bytes_most = 1; /* not even one */
	assert_int_equal(tail_count(&gateway, ID, &t, &fault), 0);
	assert_int_equal(t.dropped, 50);
	assert_int_equal(t.skip, 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines_come_back_by_stream,
		    set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_reader_goes_on_where_it_was,
		    set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_refused_line_is_told_again,
		    set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    bytes_that_are_there_are_not_written_twice, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(the_end_is_found_again, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(a_torn_record_is_cut, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(
		    it_is_bounded_and_readers_are_lapped, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    long_lines_and_odd_bytes_become_text, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    it_goes_on_after_a_rotation_that_failed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    an_offset_that_is_no_place_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_follower_reads_only_what_is_new, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_tail_is_bounded_by_bytes_too,
		    set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
