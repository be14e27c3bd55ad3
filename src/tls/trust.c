/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trust in one public key: the first certificate of the chain must hold it.
 * Names, dates, issuers and signatures in certificates are not looked at; the
 * handshake itself proves that the peer owns the key. The signature of that
 * proof is read by BearSSL's lenient DER reader, which is harmless there: it
 * is used once, and Finished covers its bytes.
 */
#include "base/base.h"
#include "tls/inner.h"

enum {
	/* Certificates are decoded as they stream by, so this bounds work, not
	 * memory. */
	TRUST_CERT_MAX = 16384,
};

static struct tls_trust *
self(const br_x509_class **ctx)
{
	return CONTAINER_OF(ctx, struct tls_trust, vtable);
}

static void
start_chain(const br_x509_class **ctx, const char *server_name)
{
	struct tls_trust *t = self(ctx);

	(void)server_name;
	t->certs = 0;
	t->is_too_long = false;
	br_x509_decoder_init(&t->decoder, NULL, NULL);
}

static void
start_cert(const br_x509_class **ctx, uint32_t length)
{
	struct tls_trust *t = self(ctx);

	t->certs++;
	if (t->certs == 1 && length > TRUST_CERT_MAX)
		t->is_too_long = true;
}

static void
append(const br_x509_class **ctx, const unsigned char *p, size_t len)
{
	struct tls_trust *t = self(ctx);

	if (t->certs == 1 && !t->is_too_long)
		br_x509_decoder_push(&t->decoder, p, len);
}

static void
end_cert(const br_x509_class **ctx)
{
	(void)ctx;
}

static unsigned
end_chain(const br_x509_class **ctx)
{
	struct tls_trust *t = self(ctx);
	const br_x509_pkey *key = br_x509_decoder_get_pkey(&t->decoder);
	uint8_t pin[TLS_PIN];

	if (t->certs == 0)
		return BR_ERR_X509_EMPTY_CHAIN;
	if (t->is_too_long || !key || key->key_type != BR_KEYTYPE_EC ||
	    key->key.ec.curve != BR_EC_secp256r1 ||
	    key->key.ec.qlen != TLS_POINT || key->key.ec.q[0] != 0x04)
		return BR_ERR_X509_NOT_TRUSTED;
	tls_pin_of(key->key.ec.q, pin);
	if (!secret_equal(pin, t->pin, sizeof(pin)))
		return BR_ERR_X509_NOT_TRUSTED;
	return 0;
}

static const br_x509_pkey *
get_key(const br_x509_class *const *ctx, unsigned *usages)
{
	const struct tls_trust *t = (const void *)((const char *)ctx -
	    offsetof(struct tls_trust, vtable));

	if (usages)
		*usages = BR_KEYTYPE_SIGN;
	/* Asked for after end_chain() has accepted it. */
	return &t->decoder.pkey;
}

void
tls_trust_init(struct tls_trust *t, const uint8_t pin[TLS_PIN])
{
	static const br_x509_class vtable = {
		.context_size = sizeof(struct tls_trust),
		.start_chain = start_chain,
		.start_cert = start_cert,
		.append = append,
		.end_cert = end_cert,
		.end_chain = end_chain,
		.get_pkey = get_key,
	};

	t->vtable = &vtable;
	for (size_t i = 0; i < TLS_PIN; i++)
		t->pin[i] = pin[i];
}
