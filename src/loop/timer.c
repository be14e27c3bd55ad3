/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers: a ring in order of time, searched from its end, because most
 * timers of a process have the same delay and so belong last. The kernel
 * side is one timerfd on CLOCK_BOOTTIME, which also wakes after a suspend.
 */
#include <sys/timerfd.h>

#include <unistd.h>

#include "base/base.h"
#include "loop/inner.h"

static void
alarm_ready(struct watch *w, unsigned events)
{
	/* Only wakes the tick; setting it anew clears it. */
	(void)w;
	(void)events;
}

int
loop_timers_open(struct loop *l, struct fault *f)
{
	int fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0)
		return fault_sys(f, "cannot open timerfd");
	l->alarm.ready = alarm_ready;
	if (loop_watch(l, &l->alarm, fd, LOOP_IN, f) == 0)
		return 0;
	(void)close(fd);
	return -1;
}

void
loop_timers_close(struct loop *l)
{
	int fd = l->alarm.fd;

	while (l->timers.next != &l->timers)
		loop_timer_clear(l->timers.next);
	loop_unwatch(&l->alarm);
	fd_close(&fd);
}

void
loop_alarm_set(struct loop *l)
{
	bool any = l->timers.next != &l->timers;
	int64_t at_ms = any ? l->timers.next->at_ms : 0;
	struct itimerspec when = { 0 };

	if (at_ms == l->alarm_ms)
		return;
	when.it_value.tv_sec = at_ms / 1000;
	when.it_value.tv_nsec = at_ms % 1000 * 1000000;
	BUG_IF(timerfd_settime(l->alarm.fd, TFD_TIMER_ABSTIME, &when, NULL));
	l->alarm_ms = at_ms;
}

void
loop_timer_set(struct loop *l, struct timer *t, int64_t delay_ms)
{
	int64_t now_ms = l->ticking ? l->now_ms : clock_mono_ms();
	struct timer *before;

	BUG_IF(!t->fire);
	loop_timer_clear(t);
	before = l->timers.prev;
	if (delay_ms < 0)
		delay_ms = 0;
	if (delay_ms > INT64_MAX / 4)
		delay_ms = INT64_MAX / 4;
	t->at_ms = now_ms + delay_ms;
	while (before != &l->timers && before->at_ms > t->at_ms)
		before = before->prev;
	t->prev = before;
	t->next = before->next;
	before->next->prev = t;
	before->next = t;
	t->loop = l;
	t->armed = true;
}

void
loop_timer_clear(struct timer *t)
{
	if (!t->armed)
		return;
	t->prev->next = t->next;
	t->next->prev = t->prev;
	t->next = NULL;
	t->prev = NULL;
	t->armed = false;
}

void
loop_timers_fire(struct loop *l)
{
	struct timer due = { .next = &due, .prev = &due };
	struct timer *end = l->timers.next;

	/* Cut the due ones off first: what their callbacks set anew with no
	 * delay belongs to the next tick. */
	while (end != &l->timers && end->at_ms <= l->now_ms)
		end = end->next;
	if (end == l->timers.next)
		return;
	due.next = l->timers.next;
	due.next->prev = &due;
	due.prev = end->prev;
	due.prev->next = &due;
	l->timers.next = end;
	end->prev = &l->timers;
	while (due.next != &due) {
		struct timer *t = due.next;

		loop_timer_clear(t);
		t->fire(t);
	}
}
