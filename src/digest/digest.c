/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 through BearSSL; digest/digest.h has the contracts. */
#include <bearssl.h>

#include "digest/digest.h"

_Static_assert(sizeof(br_sha256_context) <= sizeof(struct digest),
    "the context fits its room");
_Static_assert(br_sha256_SIZE == DIGEST_SIZE, "one size of digest");

static br_sha256_context *
context(struct digest *d)
{
	return (br_sha256_context *)(void *)d;
}

void
digest_init(struct digest *d)
{
	br_sha256_init(context(d));
}

void
digest_update(struct digest *d, struct span s)
{
	if (s.len > 0)
		br_sha256_update(context(d), s.ptr, s.len);
}

void
digest_final(const struct digest *d, uint8_t out[DIGEST_SIZE])
{
	br_sha256_out((const br_sha256_context *)(const void *)d, out);
}

void
digest_of(struct span s, uint8_t out[DIGEST_SIZE])
{
	struct digest d;

	digest_init(&d);
	digest_update(&d, s);
	digest_final(&d, out);
}
