/* SPDX-License-Identifier: Apache-2.0 */
/* How often a stranger may, and how late one tries again. Times in ms. */
#ifndef BASE_PACE_H
#define BASE_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* So many at once, then one in every_ms. The clock is passed in. */
struct pace {
	unsigned burst;
	int64_t every_ms;
	unsigned left;
	int64_t filled_ms; /* up to when some were added */
};

void pace_init(struct pace *p, unsigned burst, int64_t every_ms,
    int64_t now_ms);
/* Take one; false: there is none. */
bool pace_take(struct pace *p, int64_t now_ms);
/* Until there is one; 0 when there is. */
int64_t pace_wait_ms(struct pace *p, int64_t now_ms);

/* After so many failures in a row: first_ms, twice that each time, at most
 * most_ms; 0 after none. */
int64_t pace_later(int64_t first_ms, unsigned failures, int64_t most_ms);
/* delay_ms, a quarter more or less by chance: those who failed together do
 * not come back together. */
int64_t pace_jitter(int64_t delay_ms);

#endif
