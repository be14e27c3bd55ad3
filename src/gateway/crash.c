/* SPDX-License-Identifier: Apache-2.0 */
/* A power cut at a chosen point, for the tests (inner.h). */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/inner.h"

static bool
is_wanted(const char *point)
{
	/* One thread; nobody changes the environment. */
	const char *want = getenv("NACRE_CRASH_AT"); /* NOLINT */

	return want != NULL && strcmp(want, point) == 0;
}

void
crash_at(const char *point)
{
	if (is_wanted(point))
		(void)raise(SIGKILL);
}

static void
on_crash(struct timer *t)
{
	(void)t;
	(void)raise(SIGKILL);
}

void
crash_later(struct gateway *g, const char *point, int64_t delay_ms)
{
	if (!is_wanted(point))
		return;
	g->crash.fire = on_crash;
	loop_timer_set(g->loop, &g->crash, delay_ms);
}
