/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is, and what a tick begins that has a budget. */
#include <sys/socket.h>

#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "loop/loop.h"

enum {
	PEERS = 4
};

/* One that is asked for more than it takes, so it is always ready. */
struct peer {
	struct watch watch;
	struct deferred more;
	int ends[2]; /* ours, theirs */
	char name;
	bool goes_on; /* its `more` queues itself again */
};

static struct fault fault;
static struct loop *loop;
static struct peer peers[PEERS];
static char trail[64];
static size_t trail_n;

/* Its name, and more time than a microsecond. */
static void
serve(const struct peer *p)
{
	int64_t begun_us = clock_mono_us();

	assert_true(trail_n < sizeof(trail) - 1);
	trail[trail_n++] = p->name;
	trail[trail_n] = '\0';
	while (clock_mono_us() < begun_us + 2)
		continue;
}

static void
ready(struct watch *w, unsigned events)
{
	(void)events;
	serve(CONTAINER_OF(w, struct peer, watch));
}

static void
run(struct deferred *d)
{
	struct peer *p = CONTAINER_OF(d, struct peer, more);

	serve(p);
	if (p->goes_on)
		loop_spare(loop, d);
}

static int
start(void **state)
{
	(void)state;
	trail_n = 0;
	trail[0] = '\0';
	loop = loop_new(&fault);
	for (int i = 0; i < PEERS; i++) {
		struct peer *p = &peers[i];

		*p = (struct peer){ .watch = { .fd = -1, .ready = ready },
			.more = { .run = run },
			.name = (char)('a' + i) };
		assert_int_equal(
		    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->ends),
		    0);
		assert_int_equal(
		    loop_watch(loop, &p->watch, p->ends[0], LOOP_IN, &fault),
		    0);
	}
	return 0;
}

static int
end(void **state)
{
	(void)state;
	for (int i = 0; i < PEERS; i++) {
		loop_deferred_drop(loop, &peers[i].more);
		loop_unwatch(&peers[i].watch);
		fd_close(&peers[i].ends[0]);
		fd_close(&peers[i].ends[1]);
	}
	loop_free(loop);
	return 0;
}

static void
poke(char name)
{
	assert_int_equal(write(peers[name - 'a'].ends[1], "x", 1), 1);
}

/* What is served in n ticks. */
static const char *
served(int n)
{
	trail_n = 0;
	trail[0] = '\0';
	for (int i = 0; i < n; i++)
		assert_int_equal(loop_tick(loop, 0, &fault), 0);
	return trail;
}

static void
without_a_budget_all_are_served(void **state)
{
	(void)state;
	poke('c');
	poke('b');
	poke('a');
	assert_string_equal(served(2), "abcabc");
}

static void
with_one_they_have_turns(void **state)
{
	(void)state;
	loop_set_budget(loop, 1);
	poke('c');
	poke('b');
	poke('a');
	assert_string_equal(served(1), "a");
	assert_string_equal(served(5), "bcabc");
}

static void
who_asks_now_and_then_is_first(void **state)
{
	(void)state;
	loop_set_budget(loop, 1);
	poke('a');
	poke('b');
	poke('c');
	assert_string_equal(served(7), "abcabca");
	poke('d');
	assert_string_equal(served(2), "db");
	loop_set_budget(loop, 0);
	assert_string_equal(served(1), "cadb");
}

static void
a_newcomer_is_the_last(void **state)
{
	struct peer *p = &peers[0];

	(void)state;
	loop_set_budget(loop, 1);
	loop_unwatch(&p->watch);
	assert_int_equal(
	    loop_watch(loop, &p->watch, p->ends[0], LOOP_IN, &fault), 0);
	poke('a');
	poke('b');
	poke('c');
	assert_string_equal(served(3), "bca");
}

static void
more_work_takes_the_time_that_is_left(void **state)
{
	(void)state;
	peers[0].goes_on = true;
	for (int i = 0; i < 3; i++)
		loop_spare(loop, &peers[i].more);
	assert_string_equal(served(2), "abca");
	loop_spare(loop, &peers[1].more);
	loop_spare(loop, &peers[2].more);
	loop_set_budget(loop, 1);
	assert_string_equal(served(1), "a");
	assert_string_equal(served(4), "bcaa");
	loop_spare(loop, &peers[1].more);
	loop_spare(loop, &peers[2].more);
	assert_string_equal(served(1), "a");
	loop_deferred_drop(loop, &peers[1].more);
	assert_string_equal(served(2), "ca");
	/* A tick that has readers has a turn for it as well. */
	poke('d');
	assert_string_equal(served(2), "dada");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_a_budget_all_are_served,
		    start, end),
		cmocka_unit_test_setup_teardown(with_one_they_have_turns, start,
		    end),
		cmocka_unit_test_setup_teardown(who_asks_now_and_then_is_first,
		    start, end),
		cmocka_unit_test_setup_teardown(a_newcomer_is_the_last, start,
		    end),
		cmocka_unit_test_setup_teardown(
		    more_work_takes_the_time_that_is_left, start, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
