/* SPDX-License-Identifier: Apache-2.0 */
/* A call whose client leaves between its effect and its answer. */
#include "../../lib/unit.h"
#include "gateway/face.h"

static struct gateway gateway;
static unsigned undone;
static unsigned answered;
static unsigned freed;

static void
undo(struct call *c)
{
	(void)c;
	undone++;
}

static int
effect(struct call *c, struct fault *f)
{
	(void)f;
	c->undo = undo;
	return 0;
}

static int
send_it(struct call *c, struct fault *f)
{
	(void)c;
	(void)f;
	answered++;
	return 0;
}

static void
ignore(struct call *c)
{
	(void)c;
}

static void
on_freed(struct call *c)
{
	(void)c;
	freed++;
}

static const struct call_face face = {
	.most = 9,
	.send = send_it,
	.finish = ignore,
	.freed = on_freed,
};

static const struct method method = {
	.who = CALL_USER,
	.arena = 4096,
	.kind = CALL_READS,
	.effect = effect,
	.verb = "test",
};

static struct call *
begin(void)
{
	const struct caller user = { .who = CALL_USER };
	struct call *c = call_make(&gateway, &face, NULL, &method, &user);

	c->has_ask = c->half_closed = true;
	call_step(c);
	return c;
}

static void
tick(void)
{
	struct fault f = { 0 };

	assert_int_equal(loop_tick(gateway.loop, 0, &f), 0);
}

static void
what_was_done_is_undone_for_one_who_left(void **state)
{
	struct call *c = begin();

	(void)state;
	assert_int_equal(undone + answered, 0);
	call_left(c);
	tick();
	assert_int_equal(undone, 1);
	assert_int_equal(answered, 0);
	assert_int_equal(freed, 1);
}

static void
one_that_could_not_be_written_is_not(void **state)
{
	struct call *c = begin();

	(void)state;
	fault_set(&gateway.commit_fault, FAULT_SYSTEM, "the disk is full");
	call_left(c);
	tick();
	fault_clear(&gateway.commit_fault);
	assert_int_equal(undone, 0);
	assert_int_equal(freed, 1);
}

static int
set_up(void **state)
{
	struct fault f = { 0 };

	(void)state;
	undone = answered = freed = 0;
	gateway.loop = loop_new(&f);
	assert_non_null(gateway.loop);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	loop_free(gateway.loop);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    what_was_done_is_undone_for_one_who_left, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(
		    one_that_could_not_be_written_is_not, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
