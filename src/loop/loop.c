/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tick and the watches; loop/loop.h has the contracts.
 *
 * Each phase of a tick walks the same batch of kernel events and looks the
 * watch up anew, so what one callback takes away the next phase cannot see.
 */
#include <sys/epoll.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"
#include "loop/inner.h"

enum phase {
	PHASE_WRITERS,
	PHASE_READERS,
	PHASE_CHILDREN,
	PHASE_COUNT,
};

enum {
	SLOTS_FIRST = 32,
};

struct loop *
loop_new(struct fault *f)
{
	struct loop *l = must_alloc(sizeof(*l));

	l->alarm.fd = -1;
	l->signals.fd = -1;
	sigemptyset(&l->signal_mask);
	l->timers.next = &l->timers;
	l->timers.prev = &l->timers;
	l->now_ms = clock_mono_ms();
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0)
		(void)fault_sys(f, "cannot open epoll");
	if (l->epoll < 0 || loop_timers_open(l, f) != 0) {
		loop_free(l);
		return NULL;
	}
	return l;
}

void
loop_free(struct loop *l)
{
	if (!l)
		return;
	BUG_IF(l->ticking);
	loop_fill_graves(l);
	loop_timers_close(l);
	loop_signals_close(l);
	for (uint32_t i = 0; i < l->slots_n; i++) {
		if (!l->slots[i].watch)
			continue;
		l->slots[i].watch->fd = -1;
		l->slots[i].watch->loop = NULL;
	}
	fd_close(&l->epoll);
	free(l->slots);
	free(l->graves);
	free(l);
}

static uint32_t
epoll_bits(unsigned events)
{
	return (events & LOOP_IN ? (uint32_t)EPOLLIN : 0) |
	    (events & LOOP_OUT ? (uint32_t)EPOLLOUT : 0) |
	    (events & LOOP_FIN ? (uint32_t)EPOLLRDHUP : 0);
}

static unsigned
loop_bits(uint32_t bits)
{
	return (bits & EPOLLIN ? (unsigned)LOOP_IN : 0) |
	    (bits & EPOLLOUT ? (unsigned)LOOP_OUT : 0) |
	    (bits & EPOLLRDHUP ? (unsigned)LOOP_FIN : 0) |
	    (bits & (EPOLLHUP | EPOLLERR) ? (unsigned)LOOP_HUP : 0);
}

static int
tell_kernel(struct loop *l, int op, const struct watch *w)
{
	struct epoll_event e = { .events = epoll_bits(w->events) };

	e.data.u64 =
	    (uint64_t)l->slots[w->slot].generation << 32 | (uint64_t)w->slot;
	return epoll_ctl(l->epoll, op, w->fd, &e);
}

static void
grow_slots(struct loop *l)
{
	uint32_t n = l->slots_n ? l->slots_n * 2 : SLOTS_FIRST;
	struct slot *grown = realloc(l->slots, n * sizeof(*grown));

	BUG_IF(!grown);
	for (uint32_t i = l->slots_n; i < n; i++)
		grown[i] = (struct slot){ .next_free = i + 1 };
	l->slots = grown;
	l->slots_n = n;
}

static void
give_slot(struct loop *l, uint32_t i)
{
	struct slot *s = &l->slots[i];

	if (s->is_file)
		l->files--;
	s->watch = NULL;
	s->is_file = false;
	s->generation++;
	s->next_free = l->first_free;
	l->first_free = i;
}

int
loop_watch(struct loop *l, struct watch *w, int fd, unsigned events,
    struct fault *f)
{
	struct slot *s;

	BUG_IF(loop_is_watched(w) || !w->ready || fd < 0);
	if (l->first_free == l->slots_n)
		grow_slots(l);
	w->slot = l->first_free;
	s = &l->slots[w->slot];
	l->first_free = s->next_free;
	s->watch = w;
	loop_turn_take(l, s);
	w->loop = l;
	w->fd = fd;
	w->events = events;
	if (tell_kernel(l, EPOLL_CTL_ADD, w) == 0)
		return 0;
	if (errno == EPERM) {
		s->is_file = true;
		l->files++;
		return 0;
	}
	(void)fault_sys(f, "cannot watch descriptor %d", fd);
	give_slot(l, w->slot);
	w->loop = NULL;
	w->fd = -1;
	return -1;
}

void
loop_rewatch(struct watch *w, unsigned events)
{
	BUG_IF(!loop_is_watched(w));
	if (w->events == events)
		return;
	w->events = events;
	if (!w->loop->slots[w->slot].is_file)
		BUG_IF(tell_kernel(w->loop, EPOLL_CTL_MOD, w) != 0);
}

void
loop_unwatch(struct watch *w)
{
	struct loop *l = w->loop;

	if (!loop_is_watched(w))
		return;
	/* Fails only when the owner has closed fd first, and then the number
	 * may already be somebody else's. */
	if (!l->slots[w->slot].is_file)
		BUG_IF(tell_kernel(l, EPOLL_CTL_DEL, w) != 0);
	give_slot(l, w->slot);
	w->loop = NULL;
	w->fd = -1;
}

bool
loop_is_watched(const struct watch *w)
{
	return w->loop && w->fd >= 0;
}

/* True when its turn came. */
static bool
offer(struct slot *s, unsigned got, enum phase phase)
{
	struct watch *w = s->watch;
	bool is_child = loop_is_child_watch(w);

	if (is_child != (phase == PHASE_CHILDREN))
		return false;
	got &= w->events | LOOP_HUP;
	if (phase == PHASE_WRITERS)
		got &= LOOP_OUT;
	if (phase == PHASE_READERS)
		got &= LOOP_IN | LOOP_HUP | LOOP_FIN;
	if (!got)
		return false;
	loop_turn_take(w->loop, s);
	w->ready(w, got);
	return true;
}

static void
run_phase(struct loop *l, int n, enum phase phase)
{
	bool has_served = false;

	for (int i = 0; i < n; i++) {
		const struct epoll_event *e = &l->batch[l->order[i]];
		struct slot *s = &l->slots[(uint32_t)e->data.u64];

		if (phase == PHASE_READERS && has_served && loop_is_over(l))
			break;
		if (s->watch && s->generation == (uint32_t)(e->data.u64 >> 32))
			has_served |= offer(s, loop_bits(e->events), phase);
	}
	for (uint32_t i = 0; l->files && i < l->slots_n; i++)
		if (l->slots[i].is_file)
			(void)offer(&l->slots[i], LOOP_IN | LOOP_OUT, phase);
}

static bool
has_ready_file(const struct loop *l)
{
	for (uint32_t i = 0; l->files && i < l->slots_n; i++)
		if (l->slots[i].is_file && l->slots[i].watch->events)
			return true;
	return false;
}

static void
run_parts(struct loop *l, int n)
{
	static const char *const names[PHASE_COUNT] = {
		[PHASE_WRITERS] = "writers",
		[PHASE_READERS] = "readers",
		[PHASE_CHILDREN] = "children",
	};

	for (enum phase phase = 0; phase < PHASE_COUNT; phase++) {
		run_phase(l, n, phase);
		loop_slow_part(l, names[phase]);
	}
	loop_timers_fire(l);
	loop_slow_part(l, "timers");
	loop_run_later(l);
	loop_slow_part(l, "the later list");
	loop_run_spare(l);
	loop_slow_part(l, "the spare list");
	if (l->commit)
		l->commit(l->commit_owner);
	loop_slow_part(l, "the commit");
	loop_run_held(l);
	loop_slow_part(l, "held answers");
	loop_run_after(l);
	loop_slow_part(l, "the after list");
	loop_fill_graves(l);
	loop_slow_part(l, "graves");
}

int
loop_tick(struct loop *l, int wait_ms, struct fault *f)
{
	int64_t took_us;
	int n;

	BUG_IF(l->ticking);
	loop_alarm_set(l);
	if (loop_has_deferred(l) || l->graves_n || has_ready_file(l))
		wait_ms = 0;
	n = epoll_wait(l->epoll, l->batch, LOOP_BATCH, wait_ms);
	if (n < 0 && errno != EINTR)
		return fault_sys(f, "cannot wait for events");
	l->start_us = clock_mono_us();
	l->now_ms = l->start_us / 1000;
	l->ticking = true;
	loop_slow_begin(l, l->start_us);
	loop_turns_order(l, n);
	run_parts(l, n);
	l->ticking = false;
	took_us = clock_mono_us() - l->start_us;
	if (took_us > l->longest_us)
		l->longest_us = took_us;
	loop_slow_end(l, took_us);
	return 0;
}

int
loop_run(struct loop *l, struct fault *f)
{
	while (!l->stopping)
		if (loop_tick(l, -1, f) != 0)
			return -1;
	l->stopping = false;
	return 0;
}

void
loop_stop(struct loop *l)
{
	l->stopping = true;
}

int64_t
loop_now_ms(const struct loop *l)
{
	return l->now_ms;
}

int64_t
loop_longest_us(const struct loop *l)
{
	return l->longest_us;
}

void
loop_on_commit(struct loop *l, bool (*pending)(void *owner),
    void (*commit)(void *owner), void *owner)
{
	l->pending = pending;
	l->commit = commit;
	l->commit_owner = owner;
}
