/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Token buckets in whole numbers: a call is 1000, a rate of n a second adds n
 * a millisecond, so nothing is lost to rounding and a wait can be told to the
 * millisecond. Time that goes back adds nothing.
 */
#include "grant/inner.h"

enum {
	CALL = 1000,
	WORTH_MS = 100, /* of proof a second */
	WORTH_BURST_MS = 300,
};

static const struct rate {
	int64_t a_second;
	int64_t burst;
} rates[] = {
	[GRANT_RATE_SANDBOX] = { 10, 20 },
	[GRANT_RATE_TREE] = { 30, 60 },
	[GRANT_RATE_USER] = { 50, 100 },
	[GRANT_RATE_OUTSIDE] = { 2, 2 },
};

/* Level after `rate` a millisecond since *at, not over full. */
static void
refill(int64_t *level, int64_t *at, int64_t now, int64_t rate, int64_t full)
{
	int64_t passed = now - *at;

	*at = now;
	if (passed <= 0)
		return;
	if (passed > (full - *level) / rate)
		*level = full;
	else
		*level += passed * rate;
}

static int64_t
wait_for(int64_t missing, int64_t rate)
{
	return missing <= 0 ? 0 : (missing + rate - 1) / rate;
}

void
grant_bucket_init(struct grant_bucket *b, enum grant_rate r, int64_t mono_ms)
{
	*b = (struct grant_bucket){ r, mono_ms, rates[r].burst * CALL };
}

int64_t
grant_bucket_take(struct grant_bucket *const *b, size_t n, int64_t mono_ms)
{
	int64_t wait = 0;

	for (size_t i = 0; i < n; i++) {
		const struct rate *r = b[i] ? &rates[b[i]->rate] : NULL;
		int64_t w;

		if (!r)
			continue;
		refill(&b[i]->level, &b[i]->at_ms, mono_ms, r->a_second,
		    r->burst * CALL);
		w = wait_for(CALL - b[i]->level, r->a_second);
		if (w > wait)
			wait = w;
	}
	for (size_t i = 0; i < n && wait == 0; i++)
		if (b[i])
			b[i]->level -= CALL;
	return wait;
}

/* In tenths of a step, 100 ms worth a second are steps_per_ms each ms. */
static void
worth_refill(struct grant_worth *w, int64_t now)
{
	refill(&w->level, &w->at_ms, now, w->steps_per_ms,
	    (int64_t)w->steps_per_ms * WORTH_BURST_MS * (1000 / WORTH_MS));
}

void
grant_worth_init(struct grant_worth *w, uint32_t steps_per_ms, int64_t mono_ms)
{
	BUG_IF(steps_per_ms == 0);
	*w = (struct grant_worth){ steps_per_ms, mono_ms,
		(int64_t)steps_per_ms * WORTH_BURST_MS * (1000 / WORTH_MS) };
}

int
grant_may_prove(struct grant_worth *w, int64_t mono_ms, struct grant_refusal *r)
{
	worth_refill(w, mono_ms);
	if (w->level > 0)
		return 0;
	return grant_refuse_retry(r, GRANT_RATE_LIMITED,
	    wait_for(1 - w->level, w->steps_per_ms),
	    "this tree has used up its time for proofs");
}

void
grant_worth_spend(struct grant_worth *w, uint64_t steps, int64_t mono_ms)
{
	worth_refill(w, mono_ms);
	BUG_IF(steps > INT64_MAX / 100);
	w->level -= (int64_t)steps * (1000 / WORTH_MS);
}
