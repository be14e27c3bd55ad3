/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of answers that wait until their clients take them: of one place, and
 * of the wider one that it is part of. Small answers always find room, for
 * their number is bounded elsewhere; large ones only below the limit.
 */
#ifndef GATEWAY_LOAD_H
#define GATEWAY_LOAD_H

#include <stdbool.h>
#include <stddef.h>

enum load_limits {
	LOAD_SMALL = 32 << 10, /* bytes of an answer that is never refused */
	LOAD_DOOR = 8 << 20,   /* of one machine */
	LOAD_DOORS = 64 << 20, /* of all */
	LOAD_HOST = 64 << 20,  /* of the socket and the port */
};

struct load {
	size_t bytes;
	size_t max;
	struct load *of; /* the wider one, or NULL */
};

bool load_has_room(const struct load *l, size_t more);
/* So many of them wait where *mine did. */
void load_set(struct load *l, size_t *mine, size_t bytes);

#endif
