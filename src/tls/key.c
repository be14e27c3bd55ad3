/* SPDX-License-Identifier: Apache-2.0 */
/* P-256 keys: made, rebuilt, signing, verifying. No DER in signatures here. */
#include <string.h>

#include "base/base.h"
#include "digest/digest.h"
#include "tls/inner.h"

br_ec_private_key
tls_private(const struct tls_key *k, uint8_t copy[TLS_SCALAR])
{
	memcpy(copy, k->secret, TLS_SCALAR);
	return (br_ec_private_key){
		.curve = BR_EC_secp256r1,
		.x = copy,
		.xlen = TLS_SCALAR,
	};
}

void
tls_pin_of(const uint8_t point[65], uint8_t pin[TLS_PIN])
{
	/* SEQUENCE { SEQUENCE { ecPublicKey, prime256v1 }, BIT STRING }
	 * (RFC 5480 2.1): all but the point is the same for every key. */
	static const uint8_t head[] = { 0x30, 0x59, 0x30, 0x13, 0x06, 0x07,
		0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
		0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00 };
	struct digest d;

	digest_init(&d);
	digest_update(&d, span_of(head, sizeof(head)));
	digest_update(&d, span_of(point, TLS_POINT));
	digest_final(&d, pin);
}

/* 0 < secret < order, without a branch on the secret. */
static bool
is_scalar(const uint8_t secret[TLS_SCALAR])
{
	size_t len;
	const uint8_t *n = br_ec_p256_m31.order(BR_EC_secp256r1, &len);
	unsigned borrow = 0;
	unsigned any = 0;

	BUG_IF(len != TLS_SCALAR);
	for (size_t i = TLS_SCALAR; i-- > 0;) {
		borrow = ((unsigned)secret[i] - n[i] - borrow) >> 8 & 1;
		any |= secret[i];
	}
	return borrow && any;
}

int
tls_key_from_secret(struct tls_key *k, const uint8_t secret[32],
    const char *name, struct fault *f)
{
	if (!is_scalar(secret))
		return fault_field(f, "secret", "key is not a P-256 scalar");
	memset(k, 0, sizeof(*k));
	memcpy(k->secret, secret, sizeof(k->secret));
	BUG_IF(tls_curves.mulgen(k->point, k->secret, sizeof(k->secret),
		   BR_EC_secp256r1) != sizeof(k->point));
	tls_pin_of(k->point, k->pin);
	if (tls_cert_write(k, name, f) == 0)
		return 0;
	tls_key_wipe(k);
	return -1;
}

int
tls_key_make(struct tls_key *k, const uint8_t random[TLS_ENTROPY],
    const char *name, struct fault *f)
{
	br_hmac_drbg_context drbg;
	br_ec_private_key made;
	uint8_t secret[BR_EC_KBUF_PRIV_MAX_SIZE];
	int r;

	br_hmac_drbg_init(&drbg, &br_sha256_vtable, random, TLS_ENTROPY);
	BUG_IF(br_ec_keygen(&drbg.vtable, &tls_curves, &made, secret,
		   BR_EC_secp256r1) != TLS_SCALAR);
	r = tls_key_from_secret(k, secret, name, f);
	secret_wipe(secret, sizeof(secret));
	secret_wipe(&drbg, sizeof(drbg));
	return r;
}

void
tls_key_wipe(struct tls_key *k)
{
	secret_wipe(k, sizeof(*k));
}

int
tls_sign(const struct tls_key *k, struct span msg, uint8_t sig[TLS_SIGNATURE])
{
	uint8_t copy[TLS_SCALAR];
	br_ec_private_key secret = tls_private(k, copy);
	uint8_t hash[DIGEST_SIZE];
	size_t n;

	digest_of(msg, hash);
	n = br_ecdsa_i31_sign_raw(&tls_curves, &br_sha256_vtable, hash, &secret,
	    sig);
	secret_wipe(copy, sizeof(copy));
	return n == TLS_SIGNATURE ? 0 : -1;
}

bool
tls_verify(const uint8_t point[65], struct span msg,
    const uint8_t sig[TLS_SIGNATURE])
{
	static const uint8_t zero[TLS_SCALAR];
	uint8_t hash[DIGEST_SIZE];
	uint8_t copy[TLS_POINT];
	br_ec_public_key key = { .curve = BR_EC_secp256r1,
		.q = copy,
		.qlen = sizeof(copy) };

	/* BearSSL refuses s = 0 and either value over the order, but not r = 0. */
	if (point[0] != 0x04 || memcmp(sig, zero, sizeof(zero)) == 0)
		return false;
	memcpy(copy, point, sizeof(copy));
	digest_of(msg, hash);
	return br_ecdsa_i31_vrfy_raw(&tls_curves, hash, sizeof(hash), &key, sig,
		   TLS_SIGNATURE) == 1;
}
