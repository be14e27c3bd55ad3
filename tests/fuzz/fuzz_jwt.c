/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: identity */
/*
 * Bytes as a token. As they come they never verify; signed by our key, with
 * the input as header and claims, they verify only when they are our form.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "identity/identity.h"
#include "tls/tls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tls_key key;

static bool
is_verified(struct span token, struct identity_claims *c)
{
	const struct identity_expect e = { key.point, "nacre.local",
		IDENTITY_GATEWAY, 1800000000 };
	struct fault f = { 0 };

	return identity_verify(&e, token, c, &f) == 0;
}

/* The input up to its first NUL byte is the header, the rest the claims. */
static void
forge(struct span in)
{
	static char token[4096];
	uint8_t sig[TLS_SIGNATURE];
	struct identity_claims c;
	size_t cut = span_find(in, 0);
	size_t n = base64url_format(span_of(in.ptr, cut), token, 1024);

	token[n++] = '.';
	n += base64url_format(span_from(in, cut + 1), token + n, 1024);
	if (tls_sign(&key, span_of(token, n), sig) < 0)
		abort();
	token[n++] = '.';
	n += base64url_format(span_of(sig, sizeof(sig)), token + n, 1024);
	if (is_verified(span_of(token, n), &c) &&
	    (!identity_is_id(span_str(c.sandbox_id)) || c.epoch == 0))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t secret[32] = { 7, 7, 7 };
	struct fault f = { 0 };
	struct identity_claims c;

	if (key.cert_len == 0 &&
	    tls_key_from_secret(&key, secret, "gateway", &f) < 0)
		abort();
	if (is_verified(span_of(data, size), &c))
		abort();
	if (size < 700)
		forge(span_of(data, size));
	return 0;
}
