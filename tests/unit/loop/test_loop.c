/* SPDX-License-Identifier: Apache-2.0 */
/* Watches: order, masks, and taking away what is about to be called. */
#include <sys/socket.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "loop/loop.h"

enum {
	PEERS = 8
};

struct peer {
	struct watch watch;
	int ends[2]; /* ours, theirs */
	int calls;
	unsigned seen;
	struct peer *victim;
	bool frees;
};

static struct fault fault;
static char trail[64];
static size_t trail_n;

static void
mark(char c)
{
	assert_true(trail_n < sizeof(trail) - 1);
	trail[trail_n++] = c;
	trail[trail_n] = '\0';
}

static void
trail_clear(void)
{
	trail_n = 0;
	trail[0] = '\0';
}

static void
note(struct watch *w, unsigned events)
{
	struct peer *p = CONTAINER_OF(w, struct peer, watch);

	p->calls++;
	p->seen |= events;
	if (events & LOOP_OUT)
		mark('w');
	if (events & LOOP_IN)
		mark('r');
	if (events & LOOP_HUP)
		mark('h');
	if (events & LOOP_FIN)
		mark('f');
}

static void
peer_open(struct loop *l, struct peer *p, unsigned events,
    void (*ready)(struct watch *, unsigned))
{
	memset(p, 0, sizeof(*p));
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->ends), 0);
	p->watch.ready = ready;
	assert_int_equal(loop_watch(l, &p->watch, p->ends[0], events, &fault),
	    0);
}

static void
peer_close(struct peer *p)
{
	loop_unwatch(&p->watch);
	fd_close(&p->ends[0]);
	fd_close(&p->ends[1]);
}

static void
poke(struct peer *p)
{
	assert_int_equal(write(p->ends[1], "x", 1), 1);
}

static void
tick(struct loop *l)
{
	assert_int_equal(loop_tick(l, 0, &fault), 0);
}

static void
writers_come_before_readers(void **state)
{
	struct loop *l = loop_new(&fault);
	struct peer a;
	struct peer b;

	(void)state;
	trail_clear();
	peer_open(l, &a, LOOP_IN, note);
	peer_open(l, &b, LOOP_IN | LOOP_OUT, note);
	poke(&a);
	poke(&b);
	tick(l);
	assert_string_equal(trail, "wrr");
	peer_close(&a);
	peer_close(&b);
	loop_free(l);
}

static void
an_end_is_seen_behind_what_is_not_read(void **state)
{
	struct loop *l = loop_new(&fault);
	struct peer p;

	(void)state;
	trail_clear();
	peer_open(l, &p, LOOP_FIN, note);
	poke(&p);
	tick(l);
	assert_string_equal(trail, "");
	assert_int_equal(shutdown(p.ends[1], SHUT_WR), 0);
	tick(l);
	assert_string_equal(trail, "f");
	loop_rewatch(&p.watch, LOOP_IN);
	tick(l);
	assert_string_equal(trail, "fr");
	peer_close(&p);
	loop_free(l);
}

static void
nothing_unasked_is_reported(void **state)
{
	struct loop *l = loop_new(&fault);
	struct peer a;

	(void)state;
	trail_clear();
	peer_open(l, &a, 0, note);
	poke(&a);
	tick(l);
	assert_string_equal(trail, "");
	loop_rewatch(&a.watch, LOOP_IN);
	tick(l);
	assert_string_equal(trail, "r");
	loop_rewatch(&a.watch, 0);
	fd_close(&a.ends[1]);
	tick(l);
	assert_string_equal(trail, "rh");
	peer_close(&a);
	loop_free(l);
}

static void
strike(struct watch *w, unsigned events)
{
	struct peer *p = CONTAINER_OF(w, struct peer, watch);
	struct peer *victim = p->victim;

	note(w, events);
	if (!victim || !loop_is_watched(&victim->watch))
		return;
	peer_close(victim);
	if (victim->frees) {
		memset(victim, 0x5a, sizeof(*victim));
		free(victim);
	}
}

static void
a_watch_taken_away_in_the_tick_is_not_called(void **state)
{
	struct loop *l = loop_new(&fault);
	struct peer a;
	struct peer b;

	(void)state;
	peer_open(l, &a, LOOP_IN, strike);
	peer_open(l, &b, LOOP_IN, strike);
	a.victim = &b;
	b.victim = &a;
	poke(&a);
	poke(&b);
	tick(l);
	assert_int_equal(a.calls + b.calls, 1);
	peer_close(&a);
	peer_close(&b);
	loop_free(l);
}

static void
a_watch_freed_in_the_tick_is_not_touched(void **state)
{
	struct loop *l = loop_new(&fault);
	struct peer a;
	struct peer *b = must_alloc(sizeof(*b));

	(void)state;
	peer_open(l, &a, LOOP_OUT, strike); /* writers run first */
	peer_open(l, b, LOOP_IN, strike);
	a.victim = b;
	b->frees = true;
	poke(b);
	tick(l);
	assert_int_equal(a.calls, 1);
	a.victim = NULL;
	tick(l);
	peer_close(&a);
	loop_free(l);
}

static struct peer heir;

static void
replace(struct watch *w, unsigned events)
{
	struct peer *p = CONTAINER_OF(w, struct peer, watch);
	struct peer *victim = p->victim;
	struct loop *l = w->loop;
	int fd = victim->ends[0];

	note(w, events);
	loop_rewatch(w, 0);
	/* The same descriptor number and, being free, the same slot. */
	loop_unwatch(&victim->watch);
	(void)close(fd);
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, heir.ends), 0);
	assert_int_equal(heir.ends[0], fd);
	heir.watch.ready = note;
	assert_int_equal(loop_watch(l, &heir.watch, fd, LOOP_IN, &fault), 0);
	victim->ends[0] = -1;
}

static void
an_event_of_a_dead_watch_does_not_reach_its_heir(void **state)
{
	struct loop *l = loop_new(&fault);
	struct peer a;
	struct peer b;

	(void)state;
	memset(&heir, 0, sizeof(heir));
	peer_open(l, &b, LOOP_IN, note);
	peer_open(l, &a, LOOP_OUT, replace);
	a.victim = &b;
	poke(&b);
	tick(l);
	assert_int_equal(a.calls, 1);
	assert_int_equal(b.calls, 0);
	assert_int_equal(heir.calls, 0);
	tick(l);
	assert_int_equal(heir.calls, 0);
	poke(&heir);
	tick(l);
	assert_int_equal(heir.calls, 1);
	peer_close(&heir);
	peer_close(&a);
	peer_close(&b);
	loop_free(l);
}

static void
give_up_reading(struct watch *w, unsigned events)
{
	note(w, events);
	if (events & LOOP_OUT)
		loop_rewatch(w, LOOP_OUT);
}

static void
what_a_writer_stops_asking_for_is_not_reported(void **state)
{
	struct loop *l = loop_new(&fault);
	struct peer a;

	(void)state;
	peer_open(l, &a, LOOP_IN | LOOP_OUT, give_up_reading);
	poke(&a);
	tick(l);
	assert_int_equal(a.seen, LOOP_OUT);
	peer_close(&a);
	loop_free(l);
}

static struct peer crowd[PEERS * 16];

static void
crowd_in(struct watch *w, unsigned events)
{
	struct loop *l = w->loop;

	note(w, events);
	loop_rewatch(w, 0);
	for (size_t i = 0; i < NELEM(crowd); i++)
		peer_open(l, &crowd[i], LOOP_IN, note);
}

static void
the_table_may_grow_under_a_callback(void **state)
{
	struct loop *l = loop_new(&fault);
	struct peer few[PEERS];

	(void)state;
	trail_clear();
	for (size_t i = 0; i < PEERS; i++)
		peer_open(l, &few[i], LOOP_IN, note);
	few[0].watch.ready = crowd_in;
	for (size_t i = 0; i < PEERS; i++)
		poke(&few[i]);
	tick(l);
	for (size_t i = 0; i < PEERS; i++)
		assert_int_equal(few[i].calls, 1);
	for (size_t i = 0; i < NELEM(crowd); i++)
		peer_close(&crowd[i]);
	for (size_t i = 0; i < PEERS; i++)
		peer_close(&few[i]);
	loop_free(l);
}

static void
a_regular_file_is_always_ready(void **state)
{
	struct loop *l = loop_new(&fault);
	struct peer a = { .ends = { -1, -1 } };

	(void)state;
	a.ends[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	a.watch.ready = note;
	assert_int_equal(loop_watch(l, &a.watch, a.ends[0], LOOP_IN, &fault),
	    0);
	assert_int_equal(loop_tick(l, -1, &fault), 0);
	assert_int_equal(loop_tick(l, -1, &fault), 0);
	assert_int_equal(a.calls, 2);
	assert_int_equal(a.seen, LOOP_IN);
	loop_rewatch(&a.watch, 0);
	tick(l);
	assert_int_equal(a.calls, 2);
	peer_close(&a);
	tick(l);
	assert_int_equal(a.calls, 2);
	loop_free(l);
}

static void
a_bad_descriptor_is_a_fault(void **state)
{
	struct loop *l = loop_new(&fault);
	struct watch w = { .ready = note };
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
	assert_int_equal(loop_watch(l, &w, ends[0], LOOP_IN, &fault), -1);
	assert_int_equal(fault.code, FAULT_SYSTEM);
	assert_false(loop_is_watched(&w));
	loop_unwatch(&w);
	loop_free(l);
}

static void
stop_it(struct watch *w, unsigned events)
{
	note(w, events);
	loop_stop(w->loop);
}

static void
the_loop_runs_until_it_is_stopped(void **state)
{
	struct loop *l = loop_new(&fault);
	struct peer a;

	(void)state;
	peer_open(l, &a, LOOP_IN, stop_it);
	poke(&a);
	assert_int_equal(loop_run(l, &fault), 0);
	assert_int_equal(loop_run(l, &fault), 0);
	assert_int_equal(a.calls, 2);
	assert_true(loop_longest_us(l) >= 0);
	peer_close(&a);
	loop_free(l);
}

static void
busy_commit(void *owner)
{
	int64_t until_us = clock_mono_us() + 3000;

	(void)owner;
	while (clock_mono_us() < until_us)
		continue;
}

/* What a loop says on stderr in one tick. */
static void
hear_tick(struct loop *l, char *out, size_t size)
{
	int was = dup(STDERR_FILENO);
	int ends[2];
	ssize_t n;

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	(void)dup2(ends[1], STDERR_FILENO);
	assert_int_equal(loop_tick(l, 0, &fault), 0);
	(void)dup2(was, STDERR_FILENO);
	n = read(ends[0], out, size - 1);
	out[n > 0 ? n : 0] = '\0';
	(void)close(was);
	fd_close(&ends[0]);
	fd_close(&ends[1]);
}

static void
a_slow_tick_is_told_with_its_part(void **state)
{
	struct loop *l = loop_new(&fault);
	char said[512];

	(void)state;
	loop_on_commit(l, NULL, busy_commit, NULL);
	hear_tick(l, said, sizeof(said));
	assert_string_equal(said, "");
	loop_tell_slow(l, 60000000);
	hear_tick(l, said, sizeof(said));
	assert_string_equal(said, "");
	loop_tell_slow(l, 2000);
	hear_tick(l, said, sizeof(said));
	assert_non_null(strstr(said, "slow tick: "));
	assert_non_null(strstr(said, " in the commit; ran "));
	loop_free(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writers_come_before_readers),
		cmocka_unit_test(an_end_is_seen_behind_what_is_not_read),
		cmocka_unit_test(nothing_unasked_is_reported),
		cmocka_unit_test(a_watch_taken_away_in_the_tick_is_not_called),
		cmocka_unit_test(a_watch_freed_in_the_tick_is_not_touched),
		cmocka_unit_test(
		    an_event_of_a_dead_watch_does_not_reach_its_heir),
		cmocka_unit_test(
		    what_a_writer_stops_asking_for_is_not_reported),
		cmocka_unit_test(the_table_may_grow_under_a_callback),
		cmocka_unit_test(a_regular_file_is_always_ready),
		cmocka_unit_test(a_bad_descriptor_is_a_fault),
		cmocka_unit_test(the_loop_runs_until_it_is_stopped),
		cmocka_unit_test(a_slow_tick_is_told_with_its_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
