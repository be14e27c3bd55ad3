/* SPDX-License-Identifier: Apache-2.0 */
/* When a tool child that nobody uses is stopped. */
#include "grant/inner.h"

int64_t
grant_idle_wait_ms(const struct grant_idle *i, int64_t mono_ms)
{
	int64_t end = i->quiet_since_ms + (int64_t)i->idle_seconds * 1000;

	if (i->kind != GRANT_TOOL || i->life != GRANT_RUNNING || i->busy > 0)
		return -1;
	return mono_ms >= end ? 0 : end - mono_ms;
}
