/* SPDX-License-Identifier: Apache-2.0 */
/* A copy out of the sandbox, and the descriptor that it holds. */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>

#include "joined.h"

static void
begin(void)
{
	nacre_session_v1_Get q = nacre_session_v1_Get_init_zero;
	char path[] = "/tmp/a";
	struct fault f = { 0 };

	q.path = path;
	assert_int_equal(get_open(sv, "g", &q, &f), 0);
}

static void
answer_file(struct asked *a, uint64_t tag)
{
	nacre_sandbox_v1_FileReply r = nacre_sandbox_v1_FileReply_init_zero;

	r.tag = tag;
	r.has_node = true;
	r.node.mode = S_IFREG | 0644;
	r.node.size = 5;
	answer(a, nacre_sandbox_v1_FileReply_fields, &r);
}

static void
a_file_that_comes_too_late_is_closed(void **state)
{
	struct asked *last;
	char byte;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	begin();
	answer_file(expect_asked(1, "File"), 0);
	last = expect_asked(2, "File");
	drop_tunnel();
	pass(7, &ends[1], 1);
	fd_close(&ends[1]);
	assert_true(read(ends[0], &byte, 1) < 0 && errno == EAGAIN);
	answer_file(last, 7);
	while (sv->files)
		tick();
	/* Nobody has the other side any more. */
	assert_int_equal(read(ends[0], &byte, 1), 0);
	fd_close(&ends[0]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    a_file_that_comes_too_late_is_closed, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
