/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One loop a process (STYLE 10): level-triggered epoll, no threads. The
 * objects are embedded in their owners; nothing is allocated per tick.
 *
 * A tick: wait -> writers -> readers -> children and signals -> timers ->
 * later-list -> spare-list -> commit hook -> held list -> after-list -> graves.
 *
 * What strangers' work hangs on: readers have turns, those served longest ago
 * first, and a tick can have a budget, so who asks much makes nobody wait who
 * asks little. Work done in `later` may queue more, which runs in the next
 * tick. `spare` is for more work of one who has just been served: it runs as
 * far as the budget goes. `held` callbacks run after the commit hook, so an
 * answer leaves only after its row is durable; `after` ones follow them, for
 * work that such a row asks for and no answer waits for.
 */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

struct loop;

enum loop_events {
	LOOP_IN = 1 << 0,  /* readable, or end of input */
	LOOP_OUT = 1 << 1, /* writable */
	LOOP_HUP = 1 << 2, /* hang-up or error; always reported */
	/* The peer sends no more, whatever of it is not read yet. */
	LOOP_FIN = 1 << 3,
};

struct watch {
	int fd; /* -1 while not watched; never closed here */
	unsigned events;
	void (*ready)(struct watch *w, unsigned events);
	struct loop *loop;
	unsigned slot;
};

struct timer {
	int64_t at_ms; /* on clock_mono_ms() */
	void (*fire)(struct timer *t);
	struct loop *loop;
	struct timer *next;
	struct timer *prev;
	bool armed;
};

struct child {
	pid_t pid; /* 0 while none */
	void (*exited)(struct child *c, int status);
	struct watch watch; /* on the pidfd, which the loop owns */
};

/* Runs once, at the end of this tick (later), in this or a later one (spare),
 * or after its commit (held, then after). */
struct deferred {
	void (*run)(struct deferred *d);
	struct deferred *next;
	bool queued;
};

struct loop *loop_new(struct fault *f) MUST_CHECK;
void loop_free(struct loop *l);
/* Run until loop_stop(). -1 only when epoll itself fails. */
int loop_run(struct loop *l, struct fault *f) MUST_CHECK;
/* One tick, waiting at most wait_ms (-1: no bound). For tests and for code
 * that must drive the loop until something of its own has happened. */
int loop_tick(struct loop *l, int wait_ms, struct fault *f) MUST_CHECK;
void loop_stop(struct loop *l);
/* The time of this tick, read once a tick (clock_mono_ms). */
int64_t loop_now_ms(const struct loop *l);
/* Longest tick so far in us, without the wait; for the soak test. */
int64_t loop_longest_us(const struct loop *l);
/* Name in the log each tick that takes longer than that, and the part of it
 * that took most; 0, as at first: none. */
void loop_tell_slow(struct loop *l, int64_t limit_us);

/* No reader and no `spare` work begins in a tick that has taken that long;
 * one of each always does. 0, as at first: no bound. */
void loop_set_budget(struct loop *l, int64_t budget_us);

/*
 * w stays the owner's, zeroed but for w->ready. fd stays the owner's and must
 * be unwatched before it is closed. A file that epoll refuses (regular file,
 * /dev/null) counts as always ready.
 */
int loop_watch(struct loop *l, struct watch *w, int fd, unsigned events,
    struct fault *f) MUST_CHECK;
void loop_rewatch(struct watch *w, unsigned events); /* 0: only LOOP_HUP */
void loop_unwatch(struct watch *w);                  /* fine when unwatched */
bool loop_is_watched(const struct watch *w);

void loop_timer_set(struct loop *l, struct timer *t, int64_t delay_ms);
void loop_timer_clear(struct timer *t); /* fine when not armed */

/*
 * Tells when pid ends (pidfd); reaps it when it is our child. status is as of
 * waitpid(), or -1 when it was no child of ours or somebody else reaped it.
 */
int loop_child(struct loop *l, struct child *c, pid_t pid,
    struct fault *f) MUST_CHECK;
void loop_child_forget(struct child *c);

/*
 * Block sig for the process and take it by signalfd. One taker a signal. A
 * child inherits the blocked mask: confine_signals_reset() before its exec.
 */
int loop_signal(struct loop *l, int sig, void (*taken)(void *owner, int sig),
    void *owner, struct fault *f) MUST_CHECK;

void loop_later(struct loop *l, struct deferred *d);
void loop_spare(struct loop *l, struct deferred *d);
void loop_held(struct loop *l, struct deferred *d);
void loop_after(struct loop *l, struct deferred *d);
void loop_deferred_drop(struct loop *l, struct deferred *d);
/* commit is called once each tick before held answers leave. pending says that
 * it has something to do; NULL: never. */
void loop_on_commit(struct loop *l, bool (*pending)(void *owner),
    void (*commit)(void *owner), void *owner);
/* Shall one with more work of the same kind leave it for the next tick? Yes
 * when the budget is spent, or when no commit is pending: then what was done
 * already gains nothing by company, and its answers can leave. */
bool loop_should_yield(const struct loop *l);
/* Free p by release(p) when the tick ends: never under one's own feet. */
void loop_bury(struct loop *l, void *p, void (*release)(void *p));

#endif
