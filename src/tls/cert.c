/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A self-signed X.509 v3 certificate of a P-256 key (RFC 5280), made only so
 * that TLS has something to carry the key in: trust is in the pin. The same
 * key and name give the same bytes: the serial number comes from the pin, the
 * dates are fixed (a guest's clock may be wrong), signatures are RFC 6979.
 *
 * DER puts lengths before contents, so it is written from its end to its
 * start: put the contents, then wrap what was put since a mark. The code
 * therefore reads bottom up.
 */
#include <string.h>

#include "base/base.h"
#include "digest/digest.h"
#include "tls/inner.h"

enum {
	DER_BIT_STRING = 0x03,
	DER_OCTET_STRING = 0x04,
	DER_INTEGER = 0x02,
	DER_OID = 0x06,
	DER_UTF8 = 0x0c,
	DER_UTC_TIME = 0x17,
	DER_GENERALIZED_TIME = 0x18,
	DER_SEQUENCE = 0x30,
	DER_SET = 0x31,
	DER_CONTEXT_0 = 0xa0,
	DER_CONTEXT_3 = 0xa3,
	DER_DNS_NAME = 0x82, /* [2] of GeneralName */
};

struct der {
	uint8_t *base;
	size_t at; /* the part from here to size is written */
	size_t size;
	bool is_full;
};

static void
put(struct der *d, const void *p, size_t n)
{
	if (n > d->at) {
		d->is_full = true;
		return;
	}
	d->at -= n;
	memcpy(d->base + d->at, p, n);
}

static void
put_byte(struct der *d, uint8_t b)
{
	put(d, &b, 1);
}

/* Give what was put since the mark a tag and a length. */
static void
wrap(struct der *d, size_t mark, uint8_t tag)
{
	size_t n = mark - d->at;

	if (n < 0x80) {
		put_byte(d, (uint8_t)n);
	} else {
		put_byte(d, (uint8_t)n);
		if (n > 0xff)
			put_byte(d, (uint8_t)(n >> 8));
		put_byte(d, n > 0xff ? 0x82 : 0x81);
	}
	put_byte(d, tag);
}

static void
put_value(struct der *d, uint8_t tag, const void *p, size_t n)
{
	size_t mark = d->at;

	put(d, p, n);
	wrap(d, mark, tag);
}

static void
put_signature_algorithm(struct der *d)
{
	static const uint8_t ecdsa_with_sha256[] = { 0x2a, 0x86, 0x48, 0xce,
		0x3d, 0x04, 0x03, 0x02 };
	size_t mark = d->at;

	put_value(d, DER_OID, ecdsa_with_sha256, sizeof(ecdsa_with_sha256));
	wrap(d, mark, DER_SEQUENCE);
}

static void
put_name(struct der *d, const char *name)
{
	static const uint8_t common_name[] = { 0x55, 0x04, 0x03 };
	size_t mark = d->at;

	put_value(d, DER_UTF8, name, strlen(name));
	put_value(d, DER_OID, common_name, sizeof(common_name));
	wrap(d, mark, DER_SEQUENCE);
	wrap(d, mark, DER_SET);
	wrap(d, mark, DER_SEQUENCE);
}

static void
put_extensions(struct der *d, const char *name)
{
	static const uint8_t subject_alt_name[] = { 0x55, 0x1d, 0x11 };
	size_t mark = d->at;

	put_value(d, DER_DNS_NAME, name, strlen(name));
	wrap(d, mark, DER_SEQUENCE);
	wrap(d, mark, DER_OCTET_STRING);
	put_value(d, DER_OID, subject_alt_name, sizeof(subject_alt_name));
	wrap(d, mark, DER_SEQUENCE);
	wrap(d, mark, DER_SEQUENCE);
	wrap(d, mark, DER_CONTEXT_3);
}

static void
put_public_key(struct der *d, const uint8_t point[TLS_POINT])
{
	static const uint8_t ec_public_key[] = { 0x2a, 0x86, 0x48, 0xce, 0x3d,
		0x02, 0x01 };
	static const uint8_t prime256v1[] = { 0x2a, 0x86, 0x48, 0xce, 0x3d,
		0x03, 0x01, 0x07 };
	size_t mark = d->at;
	size_t algorithm;

	put(d, point, TLS_POINT);
	put_byte(d, 0);
	wrap(d, mark, DER_BIT_STRING);
	algorithm = d->at;
	put_value(d, DER_OID, prime256v1, sizeof(prime256v1));
	put_value(d, DER_OID, ec_public_key, sizeof(ec_public_key));
	wrap(d, algorithm, DER_SEQUENCE);
	wrap(d, mark, DER_SEQUENCE);
}

static void
put_validity(struct der *d)
{
	/* No well-defined end: RFC 5280 4.1.2.5. */
	static const char from[] = "200101000000Z";
	static const char to[] = "99991231235959Z";
	size_t mark = d->at;

	put_value(d, DER_GENERALIZED_TIME, to, sizeof(to) - 1);
	put_value(d, DER_UTC_TIME, from, sizeof(from) - 1);
	wrap(d, mark, DER_SEQUENCE);
}

/* TBSCertificate of RFC 5280 4.1, from its last field to its first. */
static void
put_body(struct der *d, const struct tls_key *k, const char *name)
{
	size_t mark = d->at;
	uint8_t serial[8];

	memcpy(serial, k->pin, sizeof(serial));
	serial[0] = (serial[0] & 0x3f) | 0x40; /* positive and minimal */
	put_extensions(d, name);
	put_public_key(d, k->point);
	put_name(d, name);
	put_validity(d);
	put_name(d, name);
	put_signature_algorithm(d);
	put_value(d, DER_INTEGER, serial, sizeof(serial));
	put(d, "\x02\x01\x02", 3); /* INTEGER 2: version 3 */
	wrap(d, d->at + 3, DER_CONTEXT_0);
	wrap(d, mark, DER_SEQUENCE);
}

static bool
is_name(const char *name)
{
	size_t n = strlen(name);

	return n >= 1 && n <= TLS_NAME_MAX &&
	    strspn(name,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789._-") == n;
}

int
tls_cert_write(struct tls_key *k, const char *name, struct fault *f)
{
	uint8_t body_bytes[TLS_CERT_MAX];
	uint8_t sig[TLS_SIG_DER_MAX];
	uint8_t hash[DIGEST_SIZE];
	uint8_t copy[TLS_SCALAR];
	br_ec_private_key secret = tls_private(k, copy);
	struct der body = { .base = body_bytes,
		.at = sizeof(body_bytes),
		.size = sizeof(body_bytes) };
	struct der cert = { .base = k->cert,
		.at = sizeof(k->cert),
		.size = sizeof(k->cert) };
	size_t sig_len;

	if (!is_name(name))
		return fault_field(f, "name",
		    "certificate name is not 1..%d of [A-Za-z0-9._-]",
		    TLS_NAME_MAX);
	put_body(&body, k, name);
	BUG_IF(body.is_full);
	digest_of(span_of(body.base + body.at, body.size - body.at), hash);
	sig_len = br_ecdsa_i31_sign_asn1(&tls_curves, &br_sha256_vtable, hash,
	    &secret, sig);
	secret_wipe(copy, sizeof(copy));
	BUG_IF(sig_len == 0);
	put(&cert, sig, sig_len);
	put_byte(&cert, 0);
	wrap(&cert, cert.size, DER_BIT_STRING);
	put_signature_algorithm(&cert);
	put(&cert, body.base + body.at, body.size - body.at);
	wrap(&cert, cert.size, DER_SEQUENCE);
	BUG_IF(cert.is_full);
	k->cert_len = cert.size - cert.at;
	memmove(k->cert, k->cert + cert.at, k->cert_len);
	memset(k->cert + k->cert_len, 0, sizeof(k->cert) - k->cert_len);
	return 0;
}
