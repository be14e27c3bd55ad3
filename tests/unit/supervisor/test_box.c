/* SPDX-License-Identifier: Apache-2.0 */
/* The client of the sandbox: its token, what came too early, its end. */
#include <errno.h>
#include <fcntl.h>

#include "joined.h"

static void
its_end_closes_what_nobody_took(void **state)
{
	struct fault f = { 0 };
	char byte;
	int ends[2];
	int fd = -1;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	pass(1, &ends[1], 1);
	pass(2, &ends[1], 1);
	pass(3, &ends[1], 1);
	fd_close(&ends[1]);
	/* The first is kept by this, the third is on its way still. */
	assert_int_equal(box_take(&sv->box, 2, &fd, 1, &f), 0);
	fd_close(&fd);
	assert_true(read(ends[0], &byte, 1) < 0 && errno == EAGAIN);
	box_kill(&sv->box);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	assert_int_equal(box_take(&sv->box, 1, &fd, 1, &f), -1);
	fd_close(&ends[0]);
}

static void
answer_renew(struct asked *a)
{
	nacre_sandbox_v1_Empty e = nacre_sandbox_v1_Empty_init_zero;

	answer(a, nacre_sandbox_v1_Empty_fields, &e);
}

static void
expect_token(const struct asked *a, const char *token)
{
	nacre_sandbox_v1_RenewRequest q =
	    nacre_sandbox_v1_RenewRequest_init_zero;
	uint8_t sum[DIGEST_SIZE];
	struct fault f = { 0 };
	struct arena arena;

	arena_init(&arena, SUPERVISOR_ARENA);
	assert_int_equal(WIRE_DECODE(nacre_sandbox_v1_RenewRequest, &q,
			     buf_span(&a->message), &arena, &f),
	    0);
	digest_of(span_str(token), sum);
	assert_int_equal(q.token_sha256->size, sizeof(sum));
	assert_memory_equal(q.token_sha256->bytes, sum, sizeof(sum));
	arena_release(&arena);
}

static void
of_tokens_that_come_at_once_the_last_counts(void **state)
{
	struct fault f = { 0 };
	struct asked *a;

	(void)state;
	assert_int_equal(box_renew(&sv->box, "second", &f), 0);
	assert_int_equal(box_renew(&sv->box, "third", &f), 0);
	assert_int_equal(box_renew(&sv->box, "fourth", &f), 0);
	a = expect_asked(1, "Renew");
	assert_string_equal(a->bearer, "Bearer first");
	expect_token(a, "second");
	answer_renew(a);
	a = expect_asked(2, "Renew");
	assert_string_equal(a->bearer, "Bearer second");
	expect_token(a, "fourth");
	answer_renew(a);
	while (strcmp(sv->box.bearer, "Bearer fourth") != 0)
		tick();
	assert_int_equal(asked_n, 2);
	/* And on: it is not taken for one that is under way. */
	assert_int_equal(box_renew(&sv->box, "fifth", &f), 0);
	a = expect_asked(3, "Renew");
	assert_string_equal(a->bearer, "Bearer fourth");
	expect_token(a, "fifth");
	answer_renew(a);
	while (strcmp(sv->box.bearer, "Bearer fifth") != 0)
		tick();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    of_tokens_that_come_at_once_the_last_counts, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(its_end_closes_what_nobody_took,
		    setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
