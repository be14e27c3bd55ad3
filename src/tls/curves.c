/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two curves of our profile as one BearSSL implementation. The m31 code
 * is the fastest of BearSSL 0.6 for either; its own br_ec_all_m31 would drag
 * in the generic code for P-384 and P-521, which we never offer.
 */
#include "tls/inner.h"

static const br_ec_impl *
of(int curve)
{
	return curve == BR_EC_curve25519 ? &br_ec_c25519_m31 : &br_ec_p256_m31;
}

static const unsigned char *
generator(int curve, size_t *len)
{
	return of(curve)->generator(curve, len);
}

static const unsigned char *
order(int curve, size_t *len)
{
	return of(curve)->order(curve, len);
}

static size_t
xoff(int curve, size_t *len)
{
	return of(curve)->xoff(curve, len);
}

static uint32_t
mul(unsigned char *g, size_t glen, const unsigned char *x, size_t xlen,
    int curve)
{
	return of(curve)->mul(g, glen, x, xlen, curve);
}

static size_t
mulgen(unsigned char *r, const unsigned char *x, size_t xlen, int curve)
{
	return of(curve)->mulgen(r, x, xlen, curve);
}

static uint32_t
/* NOLINTNEXTLINE(readability-function-size): BearSSL's parameters */
muladd(unsigned char *a, const unsigned char *b, size_t len,
    const unsigned char *x, size_t xlen, const unsigned char *y, size_t ylen,
    int curve)
{
	return of(curve)->muladd(a, b, len, x, xlen, y, ylen, curve);
}

const br_ec_impl tls_curves = {
	.supported_curves =
	    (uint32_t)1 << BR_EC_secp256r1 | (uint32_t)1 << BR_EC_curve25519,
	.generator = generator,
	.order = order,
	.xoff = xoff,
	.mul = mul,
	.mulgen = mulgen,
	.muladd = muladd,
};
