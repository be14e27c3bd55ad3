/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which part made a tick slow. Only for a loop that asked to be told: the
 * others read no clock for it. How long the process ran and how often it was
 * preempted tells work, waiting for a disk, and a busy host apart; that is read
 * once a millisecond at most, so what short ticks before it did may be in it.
 */
#include <sys/resource.h>

#include <stddef.h>

#include "base/base.h"
#include "loop/inner.h"

enum {
	BEFORE_US = 1000
};

static int64_t
ran_us(const struct rusage *u)
{
	return ((int64_t)u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000 +
	    u->ru_utime.tv_usec + u->ru_stime.tv_usec;
}

void
loop_tell_slow(struct loop *l, int64_t limit_us)
{
	l->slow.limit_us = limit_us;
}

void
loop_slow_begin(struct loop *l, int64_t now_us)
{
	struct slow *s = &l->slow;

	if (s->limit_us == 0)
		return;
	s->part_us = now_us;
	s->worst_us = 0;
	s->worst = "";
	if (now_us - s->before_us < BEFORE_US)
		return;
	s->before_us = now_us;
	(void)getrusage(RUSAGE_THREAD, &s->before);
}

void
loop_slow_part(struct loop *l, const char *name)
{
	struct slow *s = &l->slow;
	int64_t now_us;

	if (s->limit_us == 0)
		return;
	now_us = clock_mono_us();
	if (now_us - s->part_us > s->worst_us) {
		s->worst_us = now_us - s->part_us;
		s->worst = name;
	}
	s->part_us = now_us;
}

void
loop_slow_end(struct loop *l, int64_t took_us)
{
	struct slow *s = &l->slow;
	struct rusage after;

	if (s->limit_us == 0 || took_us <= s->limit_us ||
	    getrusage(RUSAGE_THREAD, &after) != 0)
		return;
	log_warn(NULL,
	    "slow tick: %lld us, %lld in %s; ran %lld us, waited %ld times, "
	    "preempted %ld times",
	    (long long)took_us, (long long)s->worst_us, s->worst,
	    (long long)(ran_us(&after) - ran_us(&s->before)),
	    after.ru_nvcsw - s->before.ru_nvcsw,
	    after.ru_nivcsw - s->before.ru_nivcsw);
}
