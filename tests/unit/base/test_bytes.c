/* SPDX-License-Identifier: Apache-2.0 */
/* Spans, capped buffers, arenas, secrets. */
#include <stdlib.h>
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"

static void
spans_compare_by_bytes(void **state)
{
	struct span none = { 0 };
	struct span abc = SPAN_LIT("abc");

	(void)state;
	assert_true(span_equal(none, SPAN_LIT("")));
	assert_true(span_is(none, ""));
	assert_true(span_is(none, NULL));
	assert_true(span_is(abc, "abc"));
	assert_false(span_is(abc, "abd"));
	assert_false(span_is(abc, "ab"));
	assert_false(span_is(abc, "abcd"));
	assert_false(span_is(SPAN_LIT("a\0b"), "a"));
	assert_true(span_starts(abc, ""));
	assert_true(span_starts(abc, "abc"));
	assert_false(span_starts(abc, "abcd"));
	assert_true(span_starts(none, ""));
	assert_int_equal(span_str(NULL).len, 0);
	assert_int_equal(span_str("ab").len, 2);
}

static void
spans_are_cut_within_their_bounds(void **state)
{
	struct span abc = SPAN_LIT("abc");
	struct span none = { 0 };

	(void)state;
	assert_true(span_is(span_from(abc, 0), "abc"));
	assert_true(span_is(span_from(abc, 2), "c"));
	assert_int_equal(span_from(abc, 3).len, 0);
	assert_int_equal(span_from(abc, SIZE_MAX).len, 0);
	assert_ptr_equal(span_from(abc, SIZE_MAX).ptr, abc.ptr + 3);
	assert_null(span_from(none, 1).ptr);
	assert_int_equal(span_find(abc, 'b'), 1);
	assert_int_equal(span_find(abc, 'z'), 3);
	assert_int_equal(span_find(none, 'z'), 0);
}

/* The bytes of a long queue stay where they are while it is eaten slowly. */
static void
a_full_queue_is_not_moved_in_every_turn(void **state)
{
	enum {
		MAX = 64 << 10,
		STEP = 1 << 10,
		TURNS = 4096
	};
	static uint8_t step[STEP];
	struct fault f = { 0 };
	struct buf b;
	int moves = 0;

	(void)state;
	buf_init(&b, MAX);
	for (int i = 0; i < MAX / STEP; i++) {
		memset(step, i, sizeof(step));
		assert_int_equal(buf_add(&b, step, sizeof(step), &f), 0);
	}
	for (int i = 0; i < TURNS; i++) {
		const uint8_t *at;

		memset(step, i % (MAX / STEP), sizeof(step));
		assert_memory_equal(buf_ptr(&b), step, sizeof(step));
		buf_eat(&b, sizeof(step));
		at = buf_ptr(&b);
		assert_int_equal(buf_add(&b, step, sizeof(step), &f), 0);
		moves += buf_ptr(&b) != at;
		assert_true(b.cap <= 2 * b.max);
	}
	assert_true(moves <= TURNS / (MAX / STEP) + 1);
	buf_release(&b);
}

static void
a_buffer_grows_to_its_maximum_and_no_further(void **state)
{
	struct buf b;
	struct fault f = { 0 };

	(void)state;
	buf_init(&b, 1000);
	assert_null(buf_span(&b).ptr);
	assert_int_equal(buf_left(&b), 1000);
	for (int i = 0; i < 100; i++)
		assert_int_equal(buf_add(&b, "0123456789", 10, &f), 0);
	assert_int_equal(buf_left(&b), 0);
	assert_int_equal(buf_add(&b, "", 0, &f), 0);
	assert_int_equal(f.code, FAULT_NONE);
	assert_int_equal(buf_add(&b, "x", 1, &f), -1);
	assert_int_equal(f.code, FAULT_LIMIT);
	assert_int_equal(b.len, 1000);
	assert_null(buf_room(&b, 1));
	assert_true(span_starts(span_from(buf_span(&b), 990), "0123456789"));
	buf_release(&b);
	assert_int_equal(buf_add(&b, "again", 5, &f), 0);
	assert_true(span_is(buf_span(&b), "again"));
	buf_release(&b);
}

static void
eaten_bytes_make_room(void **state)
{
	struct buf b;
	struct fault f = { 0 };
	size_t cap;

	(void)state;
	buf_init(&b, 16);
	assert_int_equal(buf_add(&b, "0123456789abcdef", 16, &f), 0);
	cap = b.cap;
	for (int i = 0; i < 1000; i++) {
		buf_eat(&b, 5);
		assert_int_equal(buf_left(&b), 5);
		assert_int_equal(buf_add(&b, "vwxyz", 5, &f), 0);
	}
	assert_int_equal(b.cap, cap);
	assert_true(span_is(span_from(buf_span(&b), 1), "vwxyzvwxyzvwxyz"));
	buf_eat(&b, 16);
	assert_int_equal(b.off, 0);
	assert_int_equal(buf_add(&b, "x", 1, &f), 0);
	buf_clear(&b);
	assert_int_equal(b.len, 0);
	buf_release(&b);
}

static void
formatted_text_is_whole_or_absent(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 8);
	assert_int_equal(buf_fmt(&b, "%d-%s", 12, "ab"), 0);
	assert_true(span_is(buf_span(&b), "12-ab"));
	assert_int_equal(buf_fmt(&b, "%s", "xyzw"), -1);
	assert_true(span_is(buf_span(&b), "12-ab"));
	buf_release(&b);
}

static void
a_written_window_is_kept(void **state)
{
	struct buf b;
	uint8_t *to;

	(void)state;
	buf_init(&b, 4096);
	to = buf_room(&b, 3000);
	assert_non_null(to);
	memset(to, 'x', 3000);
	buf_grew(&b, 2);
	assert_true(span_is(buf_span(&b), "xx"));
	assert_ptr_equal(buf_ptr(&b), b.base);
	buf_release(&b);
	assert_null(buf_ptr(&b));
}

static void
arena_memory_is_zeroed_aligned_and_capped(void **state)
{
	struct arena a;

	(void)state;
	arena_init(&a, 100000);
	for (size_t n = 0; n < 300; n++) {
		uint8_t *p = arena_get(&a, n);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, n);
	}
	assert_null(arena_get(&a, 100000));
	assert_null(arena_get(&a, SIZE_MAX));
	assert_null(arena_get(&a, SIZE_MAX - 8));
	assert_non_null(arena_get(&a, 40000)); /* larger than a block */
	arena_release(&a);
	assert_int_equal(a.used, 0);
	assert_non_null(arena_get(&a, 100000));
	assert_null(arena_get(&a, 1));
	arena_release(&a);
}

static void
arena_memory_that_comes_again_is_zeroed(void **state)
{
	(void)state;
	for (int round = 0; round < 10; round++) {
		struct arena a[6]; /* more than are kept */

		for (size_t k = 0; k < NELEM(a); k++) {
			size_t n = 1000 + 11000 * k;
			uint8_t *p;

			arena_init(&a[k], 100000);
			p = arena_get(&a[k], n);
			assert_non_null(p);
			for (size_t i = 0; i < n; i++)
				assert_int_equal(p[i], 0);
			memset(p, 0xff, n);
		}
		for (size_t k = 0; k < NELEM(a); k++)
			arena_release(&a[k]);
	}
}

/* A thing may live in its own arena and end with it. */
struct home {
	struct arena arena;
	char name[100];
};

static void
an_arena_may_be_in_its_own_block(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct arena a;
		struct home *h = arena_home(&a, sizeof(*h), 20000);

		assert_int_equal(h->name[0] | h->name[99], 0);
		h->arena = a;
		h->name[0] = h->name[99] = 'x';
		assert_non_null(arena_get(&h->arena, 20000));
		assert_null(arena_get(&h->arena, 1000));
		assert_int_equal(h->name[99], 'x');
		arena_release(&h->arena);
	}
}

static void
arena_text_ends_in_nul(void **state)
{
	struct arena a;
	struct span s;

	(void)state;
	arena_init(&a, 64);
	assert_string_equal(arena_str(&a, SPAN_LIT("abc")), "abc");
	assert_string_equal(arena_fmt(&a, "%s=%d", "x", 1), "x=1");
	s = arena_dup(&a, SPAN_LIT("a\0b"));
	assert_int_equal(s.len, 3);
	assert_memory_equal(s.ptr, "a\0b", 4);
	assert_string_equal(arena_str(&a, span_of(NULL, 0)), "");
	s = arena_dup(&a, SPAN_LIT("x"));
	assert_null(s.ptr);
	assert_int_equal(s.len, 0);
	assert_null(arena_fmt(&a, "x"));
	assert_null(arena_str(&a, SPAN_LIT("")));
	arena_release(&a);
}

static void
secrets_are_wiped_and_compared(void **state)
{
	uint8_t a[4] = { 1, 2, 3, 4 };
	uint8_t b[4] = { 1, 2, 3, 5 };

	(void)state;
	assert_true(secret_equal(a, b, 3));
	assert_false(secret_equal(a, b, 4));
	assert_true(secret_equal(a, b, 0));
	secret_wipe(a, sizeof(a));
	assert_memory_equal(a, "\0\0\0\0", 4);
}

static void
small_allocations_are_zeroed(void **state)
{
	uint8_t *p = must_alloc(64);
	char *s = must_dup("text");

	(void)state;
	for (int i = 0; i < 64; i++)
		assert_int_equal(p[i], 0);
	assert_string_equal(s, "text");
	free(p);
	free(s);
	p = must_alloc(0);
	assert_non_null(p);
	free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_compare_by_bytes),
		cmocka_unit_test(spans_are_cut_within_their_bounds),
		cmocka_unit_test(a_full_queue_is_not_moved_in_every_turn),
		cmocka_unit_test(a_buffer_grows_to_its_maximum_and_no_further),
		cmocka_unit_test(eaten_bytes_make_room),
		cmocka_unit_test(formatted_text_is_whole_or_absent),
		cmocka_unit_test(a_written_window_is_kept),
		cmocka_unit_test(arena_memory_is_zeroed_aligned_and_capped),
		cmocka_unit_test(arena_memory_that_comes_again_is_zeroed),
		cmocka_unit_test(an_arena_may_be_in_its_own_block),
		cmocka_unit_test(arena_text_ends_in_nul),
		cmocka_unit_test(secrets_are_wiped_and_compared),
		cmocka_unit_test(small_allocations_are_zeroed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
