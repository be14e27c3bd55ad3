/* SPDX-License-Identifier: Apache-2.0 */
/* What the start pipe brings: no start, no token, no more of this process. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "sandbox/inner.h"

static void
start_ready(struct watch *w, unsigned events)
{
	(void)events;
	sandbox_read_start(CONTAINER_OF(w, struct sandbox, start));
}

/* The loop runs until the process would end; a sandbox that waits on hangs
 * here. */
static void
end_with(struct span bytes)
{
	struct sandbox *sb = must_alloc(sizeof(*sb));
	struct fault f = { 0 };
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(fd_nonblock(ends[0], &f), 0);
	assert_int_equal(fd_write_all(ends[1], bytes.ptr, bytes.len, &f), 0);
	(void)close(ends[1]);
	sb->loop = loop_new(&f);
	assert_non_null(sb->loop);
	buf_init(&sb->start_in, 8192);
	sb->start.ready = start_ready;
	assert_int_equal(loop_watch(sb->loop, &sb->start, ends[0], LOOP_IN, &f),
	    0);
	assert_int_equal(loop_run(sb->loop, &f), 0);
	assert_false(sb->has_grant);
	assert_null(sb->link);
	if (loop_is_watched(&sb->start))
		(void)close(ends[0]);
	buf_release(&sb->start_in);
	loop_free(sb->loop);
	free(sb);
}

static void
what_is_no_start_ends_it(void **state)
{
	static const uint8_t endless[] = { 0xff, 0xff, 0xff, 0xff, 1 };
	static const uint8_t no_message[] = { 0, 0, 0, 3, 0xff, 0xff, 0xff };
	static const uint8_t empty[] = { 0, 0, 0, 0 };
	static const uint8_t cut[] = { 0, 0, 0, 9, 1 };

	(void)state;
	end_with(span_of(NULL, 0));
	end_with(span_of(endless, sizeof(endless)));
	end_with(span_of(no_message, sizeof(no_message)));
	end_with(span_of(empty, sizeof(empty)));
	end_with(span_of(cut, sizeof(cut)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_start_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
