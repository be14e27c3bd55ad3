/* SPDX-License-Identifier: Apache-2.0 */
/* A bucket that fills with time; base/pace.h has the contract. */
#include "base/pace.h"
#include "base/sys.h"

void
pace_init(struct pace *p, unsigned burst, int64_t every_ms, int64_t now_ms)
{
	p->burst = p->left = burst;
	p->every_ms = every_ms;
	p->filled_ms = now_ms;
}

static void
fill(struct pace *p, int64_t now_ms)
{
	int64_t more = (now_ms - p->filled_ms) / p->every_ms;

	if (more >= (int64_t)(p->burst - p->left)) {
		p->left = p->burst;
		p->filled_ms = now_ms;
	} else if (more > 0) {
		p->left += (unsigned)more;
		p->filled_ms += more * p->every_ms;
	}
}

bool
pace_take(struct pace *p, int64_t now_ms)
{
	fill(p, now_ms);
	if (p->left == 0)
		return false;
	p->left--;
	return true;
}

int64_t
pace_wait_ms(struct pace *p, int64_t now_ms)
{
	fill(p, now_ms);
	return p->left > 0 ? 0 : p->filled_ms + p->every_ms - now_ms;
}

int64_t
pace_later(int64_t first_ms, unsigned failures, int64_t most_ms)
{
	int64_t delay_ms = failures > 0 ? first_ms : 0;

	while (failures-- > 1 && delay_ms < most_ms)
		delay_ms *= 2;
	return delay_ms < most_ms ? delay_ms : most_ms;
}

int64_t
pace_jitter(int64_t delay_ms)
{
	uint32_t chance;

	random_bytes(&chance, sizeof(chance));
	return delay_ms * 3 / 4 + (delay_ms / 2 * chance >> 32);
}
