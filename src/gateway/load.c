/* SPDX-License-Identifier: Apache-2.0 */
/* Sums; load.h has the contracts. */
#include "gateway/load.h"

bool
load_has_room(const struct load *l, size_t more)
{
	if (more <= LOAD_SMALL)
		return true;
	for (; l != NULL; l = l->of)
		if (l->bytes + more > l->max)
			return false;
	return true;
}

void
load_set(struct load *l, size_t *mine, size_t bytes)
{
	for (; l != NULL; l = l->of)
		l->bytes = l->bytes - *mine + bytes;
	*mine = bytes;
}
