/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of the main process's output: offsets, pieces, gaps. */

#include <stdlib.h>
#include <string.h>

#include "../../lib/unit.h"
#include "supervisor/inner.h"

static struct mainlog ring;

static int
setup(void **state)
{
	(void)state;
	free(ring.bytes);
	mainlog_init(&ring);
	return 0;
}

static void
add(const char *text, bool is_error, int64_t now_ms)
{
	mainlog_add(&ring, span_str(text), is_error, now_ms);
}

static void
expect(uint64_t offset, const char *text, bool is_error)
{
	uint64_t at;
	struct span s;
	bool error;
	int64_t when;

	assert_true(mainlog_next(&ring, 1024, &at, &s, &error, &when));
	assert_int_equal(at, offset);
	assert_true(span_is(s, text));
	assert_int_equal(error, is_error);
	mainlog_sent(&ring, at + s.len);
}

static void
nothing_more(void)
{
	uint64_t at;
	struct span s;
	bool error;
	int64_t when;

	assert_false(mainlog_next(&ring, 1024, &at, &s, &error, &when));
}

static void
pieces_keep_stream_and_order(void **state)
{
	(void)state;
	nothing_more();
	add("one", false, 1);
	add("two", true, 1);
	add("three", false, 2);
	add("four", false, 2);
	expect(0, "one", false);
	expect(3, "two", true);
	expect(6, "threefour", false);
	nothing_more();
}

static void
what_is_acknowledged_goes(void **state)
{
	(void)state;
	add("abcdef", false, 1);
	expect(0, "abcdef", false);
	mainlog_ack(&ring, 4);
	assert_int_equal(mainlog_room(&ring, true), MAINLOG_BYTES - 2);
	mainlog_ack(&ring, 2); /* a late one changes nothing */
	assert_int_equal(mainlog_room(&ring, true), MAINLOG_BYTES - 2);
	mainlog_ack(&ring, 1000); /* nor does one of bytes never sent */
	assert_int_equal(mainlog_room(&ring, true), MAINLOG_BYTES);
	assert_int_equal(ring.acked, 6);
}

static void
a_resume_sends_again_what_was_not_acknowledged(void **state)
{
	(void)state;
	add("abcdef", false, 1);
	expect(0, "abcdef", false);
	mainlog_resume(&ring, 2);
	expect(2, "cdef", false);
	mainlog_resume(&ring, 100);
	nothing_more();
}

static void
the_oldest_bytes_go_when_nobody_takes_them(void **state)
{
	static uint8_t block[1000];
	uint64_t at;
	struct span s;
	bool error;
	int64_t when;
	uint64_t sum = 0;

	(void)state;
	for (int i = 0; i < 500; i++) {
		memset(block, i, sizeof(block));
		mainlog_add(&ring, span_of(block, sizeof(block)), i % 2, i);
	}
	assert_int_equal(ring.end, 500000);
	assert_true(mainlog_next(&ring, 1 << 20, &at, &s, &error, &when));
	assert_int_equal(at, 500000 - MAINLOG_BYTES);
	while (mainlog_next(&ring, 700, &at, &s, &error, &when)) {
		for (size_t i = 0; i < s.len; i++)
			assert_int_equal(s.ptr[i],
			    (uint8_t)((at + i) / sizeof(block)));
		assert_int_equal(error, (at / sizeof(block)) % 2);
		sum += s.len;
		mainlog_sent(&ring, at + s.len);
	}
	assert_int_equal(sum, MAINLOG_BYTES);
	assert_int_equal(ring.sent, ring.end);
}

static void
room_ends_at_the_memory_and_at_the_pieces(void **state)
{
	static uint8_t block[MAINLOG_BYTES];

	(void)state;
	mainlog_add(&ring, span_of(block, MAINLOG_BYTES), false, 1);
	assert_int_equal(mainlog_room(&ring, true), 0);
	assert_true(mainlog_room(&ring, false) > 0);
	(void)setup(NULL);
	for (int i = 0; i < MAINLOG_PIECES; i++)
		add("x", false, i);
	assert_int_equal(mainlog_room(&ring, true), 0);
	add("y", false, MAINLOG_PIECES);
	expect(1, "x", false);
}

static void
more_than_all_of_it_at_once_keeps_the_end(void **state)
{
	uint8_t *block = malloc(2 * MAINLOG_BYTES);

	(void)state;
	assert_non_null(block);
	memset(block, 'a', 2 * MAINLOG_BYTES);
	mainlog_add(&ring, span_of(block, 2 * MAINLOG_BYTES), false, 1);
	assert_int_equal(ring.end, MAINLOG_BYTES);
	assert_int_equal(mainlog_room(&ring, true), 0);
	free(block);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(pieces_keep_stream_and_order, setup),
		cmocka_unit_test_setup(what_is_acknowledged_goes, setup),
		cmocka_unit_test_setup(
		    a_resume_sends_again_what_was_not_acknowledged, setup),
		cmocka_unit_test_setup(
		    the_oldest_bytes_go_when_nobody_takes_them, setup),
		cmocka_unit_test_setup(
		    room_ends_at_the_memory_and_at_the_pieces, setup),
		cmocka_unit_test_setup(
		    more_than_all_of_it_at_once_keeps_the_end, setup),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);

	free(ring.bytes);
	return r;
}
