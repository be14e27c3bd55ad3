/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS 1.2 as an engine without hands (BearSSL): bytes in, bytes out, no
 * socket, no clock, no allocation but the object itself. ECDHE_ECDSA with
 * X25519 first, then P-256; AES-128-GCM and ChaCha20-Poly1305. The client
 * trusts one public key (SPKI pin), no certificate authority.
 * Sources: RFC 5246, 5289, 7905; BearSSL 0.6 headers.
 */
#ifndef TLS_TLS_H
#define TLS_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fault.h"

#define TLS_PIN       32 /* SHA-256 of the DER SubjectPublicKeyInfo */
#define TLS_ENTROPY   32 /* bytes of randomness an object needs */
#define TLS_CERT_MAX  512
#define TLS_NAME_MAX  64 /* bytes of a name: [A-Za-z0-9._-] */
#define TLS_SIGNATURE 64

/* A P-256 key pair and its self-signed certificate (DER, ours). */
struct tls_key {
	uint8_t secret[32];
	uint8_t point[65]; /* 0x04 || x || y */
	uint8_t pin[TLS_PIN];
	uint8_t cert[TLS_CERT_MAX];
	size_t cert_len;
};

/* Make a key from 32 random bytes; name becomes CN and subjectAltName. */
int tls_key_make(struct tls_key *k, const uint8_t random[TLS_ENTROPY],
    const char *name, struct fault *f) MUST_CHECK;
/* Rebuild from a kept secret (32 bytes): same pin, same certificate. */
int tls_key_from_secret(struct tls_key *k, const uint8_t secret[32],
    const char *name, struct fault *f) MUST_CHECK;
void tls_key_wipe(struct tls_key *k);
/* The pin of any P-256 public key. */
void tls_pin_of(const uint8_t point[65], uint8_t pin[TLS_PIN]);

/*
 * Raw ECDSA P-256 with SHA-256 over a whole message; sig is r || s, as in
 * ES256 (RFC 7518 3.4). Signatures are deterministic (RFC 6979). There is no
 * DER here, so exactly one encoding of (r, s) verifies; s may be high.
 */
int tls_sign(const struct tls_key *k, struct span msg,
    uint8_t sig[TLS_SIGNATURE]) MUST_CHECK;
bool tls_verify(const uint8_t point[65], struct span msg,
    const uint8_t sig[TLS_SIGNATURE]);

struct tls; /* one connection end */

/* Client: refuses any server key but the pinned one. */
struct tls *tls_client_new(const char *server_name, const uint8_t pin[TLS_PIN],
    const uint8_t entropy[TLS_ENTROPY], struct fault *f) MUST_CHECK;
/* Server: k is copied. Both ends speak ALPN
 * "h2" and refuse a peer that names only other protocols. */
struct tls *tls_server_new(const struct tls_key *k,
    const uint8_t entropy[TLS_ENTROPY], struct fault *f) MUST_CHECK;
void tls_free(struct tls *t); /* wipes; NULL is fine */

/*
 * Wire bytes in. *taken <= wire.len: less when plaintext must be read or wire
 * bytes sent first. -1 when the connection has failed (then it stays failed):
 * FAULT_UNAUTHENTICATED for a wrong key, else FAULT_PROTOCOL. What comes after
 * the peer's close_notify is taken and dropped.
 */
int tls_feed(struct tls *t, struct span wire, size_t *taken,
    struct fault *f) MUST_CHECK;
/* Wire bytes that wait to be sent: a window, then how much of it went. */
struct span tls_wire(struct tls *t);
void tls_wire_sent(struct tls *t, size_t n);
/* Plaintext that has arrived: a window, then how much of it was used. */
struct span tls_plain(struct tls *t);
void tls_plain_used(struct tls *t, size_t n);
/* Plaintext out; returns how much was taken (0 until the handshake is over
 * or while a record waits). tls_flush() closes the record in progress. */
size_t tls_write(struct tls *t, struct span plain);
void tls_flush(struct tls *t);
/* Queue close_notify; plaintext that was not read is dropped. */
void tls_close(struct tls *t);

bool tls_is_ready(const struct tls *t);  /* handshake finished */
bool tls_is_closed(const struct tls *t); /* closed by the peer, cleanly */

#endif
