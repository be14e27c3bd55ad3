/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose turn it is. Of the readers that are ready those are first that were
 * served longest ago, so one who asks now and then is never behind those who
 * ask all the time, however many they are. With a budget the others wait for
 * the next tick, in which the kernel is asked again who is ready.
 */
#include "base/base.h"
#include "loop/inner.h"

void
loop_set_budget(struct loop *l, int64_t budget_us)
{
	l->budget_us = budget_us;
}

bool
loop_is_over(const struct loop *l)
{
	return l->budget_us != 0 &&
	    clock_mono_us() - l->start_us >= l->budget_us;
}

bool
loop_should_yield(const struct loop *l)
{
	return loop_is_over(l) || l->pending == NULL ||
	    !l->pending(l->commit_owner);
}

void
loop_turn_take(struct loop *l, struct slot *s)
{
	s->served = ++l->turns;
}

static uint64_t
served(const struct loop *l, uint16_t at)
{
	return l->slots[(uint32_t)l->batch[at].data.u64].served;
}

/* By insertion, from far to near: few, or in order but for some, is usual. */
void
loop_turns_order(struct loop *l, int n)
{
	static const int gaps[] = { 132, 57, 23, 10, 4, 1 };

	for (int i = 0; i < n; i++)
		l->order[i] = (uint16_t)i;
	for (size_t g = 0; g < NELEM(gaps); g++)
		for (int i = gaps[g]; i < n; i++) {
			uint16_t one = l->order[i];
			uint64_t turn = served(l, one);
			int at = i;

			while (at >= gaps[g] &&
			    served(l, l->order[at - gaps[g]]) > turn) {
				l->order[at] = l->order[at - gaps[g]];
				at -= gaps[g];
			}
			l->order[at] = one;
		}
}
