/* SPDX-License-Identifier: Apache-2.0 */
/* A template's copy on disk: whole, damaged, sparse; and over a socket. */
#include <sys/socket.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "machine/inner.h"

enum {
	MIB = 64,
	BYTES = MIB << 20,
};
#define KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char cache[] = "/tmp/nacre-unit.XXXXXX";
static struct machine_template made;

/* Places that are not zero: first and last page, a run, single pages. */
static const struct {
	off_t at;
	size_t n;
} places[] = { { 0, 10 }, { 8192 + 100, 3 }, { 1 << 20, 5 * 4096 },
	{ (1 << 20) + 8 * 4096, 1 }, { BYTES - 1, 1 } };

static void
fill(int fd)
{
	static uint8_t bytes[5 * 4096];

	memset(bytes, 0x5a, sizeof(bytes));
	for (size_t i = 0; i < NELEM(places); i++)
		assert_int_equal(pwrite(fd, bytes, places[i].n, places[i].at),
		    places[i].n);
}

static int
start(void **state)
{
	struct fault f = { 0 };
	char path[64];

	(void)state;
	(void)memcpy(cache + sizeof(cache) - 7, "XXXXXX", 6);
	if (!mkdtemp(cache) ||
	    !text_fmt(path, sizeof(path), "%s/templates", cache) ||
	    mkdir(path, 0700) != 0)
		return -1;
	machine_template_init(&made);
	made.shape = (struct machine_shape){ MIB, 1, MACHINE_TCG };
	(void)text_copy(made.key, sizeof(made.key), SPAN_LIT(KEY));
	made.memory_fd = memfd_new("memory", BYTES, &f);
	made.state_fd = memfd_new("state", 0, &f);
	fill(made.memory_fd);
	if (write(made.state_fd, "the state", 9) != 9)
		return -1;
	return template_store(cache, &made, &f);
}

static int
end(void **state)
{
	char path[64];

	(void)state;
	machine_template_forget(cache, KEY);
	machine_template_release(&made);
	(void)text_fmt(path, sizeof(path), "%s/templates", cache);
	return rmdir(path) || rmdir(cache);
}

static int
load(struct machine_template *t, struct fault *f)
{
	machine_template_init(t);
	t->shape = made.shape;
	(void)text_copy(t->key, sizeof(t->key), SPAN_LIT(KEY));
	return template_load(cache, t, f);
}

static void
path_of(const char *name, char *out, size_t size)
{
	assert_true(
	    text_fmt(out, size, "%s/templates/%s/%s", cache, KEY, name));
}

static void
test_round_trip(void **state)
{
	static uint8_t a[1 << 20];
	static uint8_t b[1 << 20];
	struct machine_template t;
	struct fault f = { 0 };
	struct stat st;
	char path[256];

	(void)state;
	assert_int_equal(load(&t, &f), 0);
	for (off_t at = 0; at < BYTES; at += (off_t)sizeof(a)) {
		assert_int_equal(pread(made.memory_fd, a, sizeof(a), at),
		    sizeof(a));
		assert_int_equal(pread(t.memory_fd, b, sizeof(b), at),
		    sizeof(b));
		assert_memory_equal(a, b, sizeof(a));
	}
	assert_int_equal(pread(t.state_fd, b, sizeof(b), 0), 9);
	assert_memory_equal(b, "the state", 9);
	assert_int_equal(pwrite(t.memory_fd, "x", 1, 0), -1);
	assert_int_equal(ftruncate(t.state_fd, 0), -1);
	machine_template_release(&t);
	path_of("memory", path, sizeof(path));
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size < 64 << 10);
	assert_int_equal(st.st_mode & 0777, 0400);
}

static void
test_absent(void **state)
{
	struct machine_template t;
	struct fault f = { 0 };

	(void)state;
	machine_template_forget(cache, KEY);
	assert_int_equal(load(&t, &f), -1);
	assert_int_equal(f.code, FAULT_NOT_FOUND);
}

static void
patch(const char *name, off_t at, const void *p, size_t n)
{
	char path[256];
	int fd;

	path_of(name, path, sizeof(path));
	assert_int_equal(chmod(path, 0600), 0);
	fd = open(path, O_RDWR);
	assert_int_equal(pwrite(fd, p, n, at), n);
	(void)close(fd);
}

static void
cut(const char *name, off_t size)
{
	char path[256];

	path_of(name, path, sizeof(path));
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(truncate(path, size), 0);
}

static void
is_damaged(void)
{
	struct machine_template t;
	struct fault f = { 0 };

	assert_int_equal(load(&t, &f), -1);
	assert_int_not_equal(f.code, FAULT_NOT_FOUND);
	assert_int_equal(t.memory_fd, -1);
	assert_int_equal(t.state_fd, -1);
}

static void
test_damage(void **state)
{
	static const uint64_t huge = UINT64_MAX / 2;
	/* Heads and tables that would lead outside. */
	static const struct {
		off_t at;
		uint64_t value;
	} words[] = { { 0, 7 }, { 8, huge }, { 8, BYTES / 2 }, { 16, huge },
		{ 16, 0 }, { 24, huge }, { 24, BYTES }, { 32, huge },
		{ 40, 0 } };
	struct fault f = { 0 };

	(void)state;
	for (size_t i = 0; i < NELEM(words); i++) {
		machine_template_forget(cache, KEY);
		assert_int_equal(template_store(cache, &made, &f), 0);
		patch("memory", words[i].at, &words[i].value, 8);
		is_damaged();
	}
	for (off_t size = 0; size < 9000; size += 1000) {
		machine_template_forget(cache, KEY);
		assert_int_equal(template_store(cache, &made, &f), 0);
		cut("memory", size);
		is_damaged();
	}
	machine_template_forget(cache, KEY);
	assert_int_equal(template_store(cache, &made, &f), 0);
	patch("state", 0, "T", 1);
	is_damaged();
	machine_template_forget(cache, KEY);
	assert_int_equal(template_store(cache, &made, &f), 0);
	cut("sum", 10);
	is_damaged();
}

static void
test_stored_twice(void **state)
{
	struct machine_template t;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(template_store(cache, &made, &f), 0);
	assert_int_equal(load(&t, &f), 0);
	machine_template_release(&t);
}

/* Of 15 the 12 that were used last stay. */
static void
test_old_ones_go(void **state)
{
	struct fault f = { 0 };
	char path[256];

	(void)state;
	for (int i = 0; i < 15; i++) {
		struct timespec times[2] = { { .tv_sec = 1000 + i },
			{ .tv_sec = 1000 + i } };

		made.key[0] = (char)('a' + i);
		assert_int_equal(template_store(cache, &made, &f), 0);
		(void)text_fmt(path, sizeof(path), "%s/templates/%s", cache,
		    made.key);
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	}
	template_drop_old(cache);
	for (int i = 0; i < 15; i++) {
		made.key[0] = (char)('a' + i);
		(void)text_fmt(path, sizeof(path), "%s/templates/%s", cache,
		    made.key);
		/* The one of the set-up is newest. */
		assert_int_equal(access(path, F_OK), i < 4 ? -1 : 0);
		machine_template_forget(cache, made.key);
	}
	assert_int_equal(template_store(cache, &made, &f), 0);
	machine_template_forget(cache, made.key);
	(void)text_copy(made.key, sizeof(made.key), SPAN_LIT(KEY));
}

static void
test_answer(void **state)
{
	struct machine_template t;
	struct fault f = { 0 };
	char text[ANSWER_BYTES];
	int fds[8];
	size_t n = NELEM(fds);
	size_t got = 0;
	int ends[2];

	(void)state;
	(void)text_copy(made.accel_reason, sizeof(made.accel_reason),
	    SPAN_LIT("because \"it\" said\nso"));
	made.tsc_khz = 2596130;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(machine_template_send(&made, ends[0], &f), 0);
	assert_int_equal(
	    fd_receive(ends[1], text, sizeof(text), &got, fds, &n, &f), 0);
	assert_int_equal(n, 2);
	assert_int_equal(text[got - 1], '\n');
	assert_int_equal(
	    machine_template_parse(span_of(text, got - 1), fds, n, &t, &f), 0);
	assert_string_equal(t.key, KEY);
	assert_string_equal(t.accel_reason, made.accel_reason);
	assert_int_equal(t.tsc_khz, 2596130);
	assert_int_equal(t.shape.memory_mib, MIB);
	assert_true(t.memory_fd >= 0 && t.state_fd >= 0);
	assert_int_equal(t.kernel_fd, -1);
	assert_int_equal(pread(t.state_fd, text, 9, 0), 9);
	machine_template_release(&t);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void
test_strange_answers(void **state)
{
	static const char *const lines[] = { "", "{}", "[]", "null",
		"{\"key\":1}", "not json" };
	struct machine_template t;
	struct buf b;
	struct fault f = { 0 };
	int fds[1] = { -1 };

	(void)state;
	for (size_t i = 0; i < NELEM(lines); i++) {
		f = (struct fault){ 0 };
		assert_int_equal(
		    machine_template_parse(span_str(lines[i]), fds, 0, &t, &f),
		    -1);
	}
	/* Right, but with too few or too many descriptors. */
	buf_init(&b, ANSWER_BYTES);
	f = (struct fault){ 0 };
	assert_int_equal(machine_template_format(&made, &b, &f), 0);
	assert_int_equal(machine_template_parse(buf_span(&b), fds, 1, &t, &f),
	    -1);
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, start, end),
		cmocka_unit_test_setup_teardown(test_absent, start, end),
		cmocka_unit_test_setup_teardown(test_damage, start, end),
		cmocka_unit_test_setup_teardown(test_stored_twice, start, end),
		cmocka_unit_test_setup_teardown(test_old_ones_go, start, end),
		cmocka_unit_test_setup_teardown(test_answer, start, end),
		cmocka_unit_test_setup_teardown(test_strange_answers, start,
		    end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
