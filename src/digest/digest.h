/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256, whole or in pieces. Pure, no allocation, cannot fail. The only
 * door to the hash for rooms that have no other business with TLS.
 */
#ifndef DIGEST_DIGEST_H
#define DIGEST_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

#define DIGEST_SIZE 32
#define DIGEST_HEX  (2 * DIGEST_SIZE + 1) /* text with its NUL */

struct digest {
	/* Room for the library's context; digest.c checks that it fits. */
	uint64_t state[16];
};

void digest_init(struct digest *d);
void digest_update(struct digest *d, struct span s);
/* d may go on being fed: this reads the value so far. */
void digest_final(const struct digest *d, uint8_t out[DIGEST_SIZE]);
void digest_of(struct span s, uint8_t out[DIGEST_SIZE]);

#endif
