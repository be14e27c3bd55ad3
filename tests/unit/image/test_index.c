/* SPDX-License-Identifier: Apache-2.0 */
/* The index of an image: order of paths, search, and damaged files. */
#include <string.h>

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
		cmocka_unit_test(parents_come_before_siblings),
		cmocka_unit_test(damaged_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
