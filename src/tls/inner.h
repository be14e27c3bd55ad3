/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the TLS room: its curves, its certificate, its trust in a pin. */
#ifndef TLS_INNER_H
#define TLS_INNER_H

#include <bearssl.h>

#include "tls/tls.h"

enum {
	TLS_POINT = 65,
	TLS_SCALAR = 32,
	TLS_SIG_DER_MAX = 72, /* SEQUENCE of two 33-byte INTEGERs */
};

/* X25519 and P-256, nothing else: less code, and no third curve to offer. */
extern const br_ec_impl tls_curves;

/* Write k->cert from the other fields of k. */
int tls_cert_write(struct tls_key *k, const char *name,
    struct fault *f) MUST_CHECK;

/* A chain is accepted when its first certificate holds the pinned key. */
struct tls_trust {
	const br_x509_class *vtable; /* first: BearSSL hands out this address */
	uint8_t pin[TLS_PIN];
	unsigned certs;   /* started so far */
	bool is_too_long; /* the first one is over TRUST_CERT_MAX */
	br_x509_decoder_context decoder;
};
void tls_trust_init(struct tls_trust *t, const uint8_t pin[TLS_PIN]);

struct tls {
	br_ssl_engine_context *engine; /* the one inside of end */
	union {
		br_ssl_client_context client;
		br_ssl_server_context server;
	} end;
	const char *protocols[1];
	struct tls_trust trust;    /* client */
	br_x509_certificate chain; /* server: on cert */
	br_ec_private_key secret;  /* server: on scalar */
	uint8_t cert[TLS_CERT_MAX];
	uint8_t scalar[TLS_SCALAR];
	uint8_t in[BR_SSL_BUFSIZE_INPUT];
	uint8_t out[BR_SSL_BUFSIZE_OUTPUT];
};

/* The key as BearSSL wants it: writable, so it lies in copy. Wipe copy. */
br_ec_private_key tls_private(const struct tls_key *k,
    uint8_t copy[TLS_SCALAR]);

#endif
