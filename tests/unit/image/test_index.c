/* SPDX-License-Identifier: Apache-2.0 */
/* The index of an image: order of paths, search, and damaged files. */
#include <sys/mman.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "image/inner.h"

#define HEX "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static const char good[] = "nacre-index 1 3 2\n"
			   "x /bin/a " HEX "\n"
			   "l /etc/x%20y ../%25\n"
			   "l /lib /usr/lib\n"
			   "l /lib/z /q\n"
			   "x /lib-a/b " HEX "\n";

static void
lines_are_found_by_path(void **state)
{
	const struct image_symlink *l;
	const struct image_program *p;
	struct image_index i;
	struct arena a;
	struct fault f = { 0 };

	(void)state;
	arena_init(&a, 1 << 20);
	if (image_index_parse(SPAN_LIT(good), &a, &i, &f) != 0)
		fail_msg("%s", f.text);
	assert_int_equal(i.symlink_count, 3);
	assert_int_equal(i.program_count, 2);
	l = image_index_symlink(&i, span_str("/etc/x y"));
	assert_non_null(l);
	assert_true(span_is(l->target, "../%"));
	assert_non_null(image_index_symlink(&i, span_str("/lib")));
	assert_non_null(image_index_symlink(&i, span_str("/lib/z")));
	assert_null(image_index_symlink(&i, span_str("/li")));
	assert_null(image_index_symlink(&i, span_str("/bin/a")));
	p = image_index_program(&i, span_str("/lib-a/b"));
	assert_non_null(p);
	assert_int_equal(p->digest[31], 31);
	assert_null(image_index_program(&i, span_str("/lib")));
	arena_release(&a);
}

/* Into a file of its own, which the caller closes. */
static int
file_of(struct buf *text)
{
	struct fault f = { 0 };
	int fd = memfd_create("index", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, buf_ptr(text), text->len, &f), 0);
	return fd;
}

enum {
	LONG = 3000
};

/* The nth of many lines, of lengths that cross what is read at once. */
static struct span
nth_path(size_t n, char path[LIMIT_PATH])
{
	int len = snprintf(path, LIMIT_PATH, "/d%04zu/", n);

	for (size_t i = n % 7 == 0 ? n * 37 % LONG : n % 50; i > 0; i--)
		path[len++] = (char)('a' + n % 26);
	return span_of(path, (size_t)len);
}

static void
one_is_found_among_many(void **state)
{
	struct fault f = { 0 };
	char path[LIMIT_PATH];
	uint8_t digest[DIGEST_SIZE];
	struct buf b;
	bool found;
	with_fd fd = -1;

	(void)state;
	buf_init(&b, 4 << 20);
	assert_int_equal(buf_fmt(&b, "nacre-index 1 0 1000\n"), 0);
	for (size_t n = 0; n < 2000; n += 2)
		assert_int_equal(buf_fmt(&b, "x %.*s " HEX "\n",
				     (int)nth_path(n, path).len, path),
		    0);
	fd = file_of(&b);
	for (size_t n = 0; n < 2000; n++) {
		memset(digest, 0, sizeof(digest));
		assert_int_equal(image_index_search(fd, nth_path(n, path),
				     digest, &found, &f),
		    0);
		assert_int_equal(found, n % 2 == 0);
		assert_int_equal(digest[31], found ? 31 : 0);
	}
	buf_release(&b);
}

static void
one_is_found_among_few(void **state)
{
	static const struct {
		const char *path;
		bool found;
	} table[] = { { "/bin/a", true }, { "/lib-a/b", true }, { "/a", false },
		{ "/lib", false }, { "/lib/z", false }, { "/etc/x y", false },
		{ "/z", false }, { "", false } };
	struct fault f = { 0 };
	struct buf b;
	with_fd fd = -1;

	(void)state;
	buf_init(&b, 1 << 10);
	assert_int_equal(buf_add(&b, good, sizeof(good) - 1, &f), 0);
	fd = file_of(&b);
	for (size_t i = 0; i < NELEM(table); i++) {
		uint8_t digest[DIGEST_SIZE];
		bool found;

		assert_int_equal(image_index_search(fd, span_str(table[i].path),
				     digest, &found, &f),
		    0);
		assert_int_equal(found, table[i].found);
	}
	buf_release(&b);
}

static void
a_damaged_file_has_no_answer(void **state)
{
	static const char *const bad[] = { "", "nacre-index 1 1 0",
		"nacre-index 1 0 1\nx /m", "nacre-index 1 0 1\nq /m 00\n",
		"nacre-index 1 0 1\nx /m 00\n" };

	(void)state;
	for (size_t i = 0; i < NELEM(bad); i++) {
		struct fault f = { 0 };
		uint8_t digest[DIGEST_SIZE];
		struct buf b;
		bool found;
		with_fd fd = -1;

		buf_init(&b, 1 << 10);
		assert_int_equal(buf_add(&b, bad[i], strlen(bad[i]), &f), 0);
		fd = file_of(&b);
		assert_int_equal(
		    image_index_search(fd, span_str("/m"), digest, &found, &f),
		    -1);
		assert_int_equal(f.code, FAULT_INVALID);
		buf_release(&b);
	}
}

static void
parents_come_before_siblings(void **state)
{
	static const char *const sorted[] = { "/", "/a", "/a/b", "/a/b/c",
		"/a/c", "/a-b", "/a.b", "/a.b/c", "/ab", "/b" };

	(void)state;
	for (size_t i = 0; i < NELEM(sorted); i++)
		for (size_t k = 0; k < NELEM(sorted); k++) {
			int order = image_path_order(span_str(sorted[i]),
			    span_str(sorted[k]));

			assert_int_equal((order > 0) - (order < 0),
			    (i > k) - (i < k));
		}
}

static void
damaged_files_are_refused(void **state)
{
	static const char *const bad[] = { "", "nacre-index 2 0 0\n",
		"nacre-index 1 0\n", "nacre-index 1 1 0\n",
		"nacre-index 1 9999999999 0\n", "nacre-index 1 0 0\nl /a /b\n",
		"nacre-index 1 1 0\nl a /b\n", "nacre-index 1 1 0\nl /a%2 b\n",
		"nacre-index 1 1 0\nl /a%zz b\n",
		"nacre-index 1 0 1\nx /a 00\n", "nacre-index 1 1 0\nq /a 00\n",
		"nacre-index 1 1 0\nl" };

	(void)state;
	for (size_t i = 0; i < NELEM(bad); i++) {
		struct image_index index;
		struct arena a;
		struct fault f = { 0 };

		arena_init(&a, 1 << 16);
		if (image_index_parse(span_str(bad[i]), &a, &index, &f) == 0)
			fail_msg("taken: %s", bad[i]);
		arena_release(&a);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_found_by_path),
		cmocka_unit_test(one_is_found_among_many),
		cmocka_unit_test(one_is_found_among_few),
		cmocka_unit_test(a_damaged_file_has_no_answer),
		cmocka_unit_test(parents_come_before_siblings),
		cmocka_unit_test(damaged_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
