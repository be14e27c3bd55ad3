/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the loop: its one object. A watch is known to the kernel by slot
 * number and generation, never by address, so an event of this tick whose
 * watch was taken away, freed or replaced by an earlier callback falls on a
 * newer generation and is dropped.
 */
#ifndef LOOP_INNER_H
#define LOOP_INNER_H

#include <sys/epoll.h>
#include <sys/resource.h>

#include <signal.h>

#include "loop/loop.h"

enum {
	LOOP_BATCH = 512, /* events taken a tick; the kernel rotates the rest */
};

struct slot {
	struct watch *watch; /* NULL: free */
	uint32_t generation;
	uint32_t next_free;
	uint64_t served; /* when it was last, or came, in turns of the loop */
	/* A file that epoll refuses (regular file, /dev/null) is always ready. */
	bool is_file;
};

struct grave {
	void *p;
	void (*release)(void *p);
};

struct queue {
	struct deferred *first;
	struct deferred *last;
};

struct taker {
	void (*taken)(void *owner, int sig);
	void *owner;
};

struct slow {
	int64_t limit_us; /* 0: off */
	int64_t part_us;  /* when this part began */
	int64_t worst_us;
	const char *worst;
	int64_t before_us; /* when that was read */
	struct rusage before;
};

struct loop {
	int epoll;
	bool stopping;
	bool ticking;
	int64_t now_ms;
	int64_t longest_us;
	struct slow slow;

	int64_t budget_us; /* of a tick; 0: none */
	int64_t start_us;  /* of this tick */
	uint64_t turns;    /* served so far */
	uint16_t order[LOOP_BATCH];

	struct slot *slots;
	uint32_t slots_n;
	uint32_t first_free; /* slots_n: none */
	uint32_t files;      /* watches that are always ready */

	struct timer timers; /* ring in order of at_ms; the head is no timer */
	struct watch alarm;  /* timerfd of the first timer */
	int64_t alarm_ms;    /* what it is set to; 0: off */

	struct watch signals;
	sigset_t signal_mask;
	struct taker takers[NSIG];

	struct queue later;
	struct queue spare;
	struct queue held;
	struct queue after;
	struct queue running;
	bool (*pending)(void *owner);
	void (*commit)(void *owner);
	void *commit_owner;

	struct grave *graves;
	size_t graves_n;
	size_t graves_cap;

	struct epoll_event batch[LOOP_BATCH];
};

/* Is this watch one of the third phase (children, signals)? */
bool loop_is_child_watch(const struct watch *w);
/* Point the timerfd at the first timer. */
void loop_alarm_set(struct loop *l);
int loop_timers_open(struct loop *l, struct fault *f) MUST_CHECK;
void loop_timers_close(struct loop *l);
void loop_timers_fire(struct loop *l);
void loop_signals_close(struct loop *l);
/* slow.c: a tick begins, a part of it has ended, the tick has. */
void loop_slow_begin(struct loop *l, int64_t now_us);
void loop_slow_part(struct loop *l, const char *name);
void loop_slow_end(struct loop *l, int64_t took_us);
/* turn.c: the batch's first n in order, those served longest ago first. */
void loop_turns_order(struct loop *l, int n);
/* Its turn is now. */
void loop_turn_take(struct loop *l, struct slot *s);
/* Has this tick had its time? */
bool loop_is_over(const struct loop *l);
bool loop_has_deferred(const struct loop *l);
void loop_run_later(struct loop *l);
void loop_run_spare(struct loop *l);
void loop_run_held(struct loop *l);
void loop_run_after(struct loop *l);
void loop_fill_graves(struct loop *l);

#endif
