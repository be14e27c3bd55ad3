/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of a TLS connection over a BearSSL engine. The engine owns two
 * record buffers; what this file adds is the profile (versions, suites,
 * curves), the pin, faults with a sentence, and the end of a connection.
 */
#include <cpuid.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "tls/inner.h"

/*
 * Does QEMU translate the instructions? It says so in the leaf of hypervisors.
 * There plain C is the fastest: 104 MB/s of ChaCha20 and Poly1305, where SSE2
 * makes 46 of it and AES-NI 50 of AES-128-GCM.
 */
static bool
is_translated(void)
{
	const unsigned hypervisor = 0x40000000;
	unsigned name[3];
	unsigned a;
	unsigned b;
	unsigned c;
	unsigned d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1U << 31))
		return false; /* there is none */
	__cpuid(hypervisor, a, name[0], name[1], name[2]);
	return memcmp(name, "TCGTCGTCGTCG", sizeof(name)) == 0;
}

/* AES-128-GCM where the processor does the work, else ChaCha20 first. A server
 * goes by its client's order: a guest is the slower end. */
static void
set_suites(br_ssl_engine_context *e)
{
	static const uint16_t gcm_first[] = {
		BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
		BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	};
	static const uint16_t chacha_first[] = {
		BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
		BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	};
	bool is_slow = is_translated();
	bool has_aes =
	    !is_slow && br_aes_x86ni_ctr_get_vtable() && br_ghash_pclmul_get();

	br_ssl_engine_set_suites(e, has_aes ? gcm_first : chacha_first,
	    NELEM(gcm_first));
	br_ssl_engine_set_default_aes_gcm(e);
	br_ssl_engine_set_default_chapol(e);
	if (is_slow) {
		br_ssl_engine_set_chacha20(e, br_chacha20_ct_run);
		br_ssl_engine_set_poly1305(e, br_poly1305_ctmul_run);
	}
}

static void
set_profile(struct tls *t, const uint8_t entropy[TLS_ENTROPY])
{
	br_ssl_engine_context *e = t->engine;

	br_ssl_engine_set_versions(e, BR_TLS12, BR_TLS12);
	set_suites(e);
	br_ssl_engine_set_hash(e, br_sha256_ID, &br_sha256_vtable);
	br_ssl_engine_set_prf_sha256(e, br_tls12_sha256_prf);
	br_ssl_engine_set_ec(e, &tls_curves);
	br_ssl_engine_set_ecdsa(e, br_ecdsa_i31_vrfy_asn1);
	t->protocols[0] = "h2";
	br_ssl_engine_set_protocol_names(e, t->protocols, NELEM(t->protocols));
	br_ssl_engine_add_flags(e,
	    BR_OPT_NO_RENEGOTIATION | BR_OPT_FAIL_ON_ALPN_MISMATCH);
	br_ssl_engine_set_buffers_bidi(e, t->in, sizeof(t->in), t->out,
	    sizeof(t->out));
	/* Our entropy is enough, and this room makes no system call: without
	 * this BearSSL would open /dev/urandom. */
	e->rng_os_rand_done = 1;
	br_ssl_engine_inject_entropy(e, entropy, TLS_ENTROPY);
}

struct tls *
tls_client_new(const char *server_name, const uint8_t pin[TLS_PIN],
    const uint8_t entropy[TLS_ENTROPY], struct fault *f)
{
	struct tls *t = must_alloc(sizeof(*t));

	br_ssl_client_zero(&t->end.client);
	t->engine = &t->end.client.eng;
	set_profile(t, entropy);
	tls_trust_init(&t->trust, pin);
	br_ssl_engine_set_x509(t->engine, &t->trust.vtable);
	if (br_ssl_client_reset(&t->end.client, server_name, 0) == 1)
		return t;
	(void)fault_field(f, "server_name", "server name is too long");
	tls_free(t);
	return NULL;
}

struct tls *
tls_server_new(const struct tls_key *k, const uint8_t entropy[TLS_ENTROPY],
    struct fault *f)
{
	struct tls *t = must_alloc(sizeof(*t));

	br_ssl_server_zero(&t->end.server);
	t->engine = &t->end.server.eng;
	set_profile(t, entropy);
	t->secret = tls_private(k, t->scalar);
	memcpy(t->cert, k->cert, k->cert_len);
	t->chain.data = t->cert;
	t->chain.data_len = k->cert_len;
	br_ssl_server_set_single_ec(&t->end.server, &t->chain, 1, &t->secret,
	    BR_KEYTYPE_SIGN, 0, &tls_curves, br_ecdsa_i31_sign_asn1);
	if (br_ssl_server_reset(&t->end.server) == 1)
		return t;
	(void)fault_set(f, FAULT_SYSTEM, "tls server does not start (%d)",
	    br_ssl_engine_last_error(t->engine));
	tls_free(t);
	return NULL;
}

void
tls_free(struct tls *t)
{
	if (!t)
		return;
	secret_wipe(t, sizeof(*t));
	free(t);
}

static const char *
sentence(int error)
{
	switch (error) {
	case BR_ERR_UNSUPPORTED_VERSION:
	case BR_ERR_BAD_VERSION:
		return "peer does not speak TLS 1.2";
	case BR_ERR_BAD_MAC:
		return "record is not authentic";
	case BR_ERR_BAD_LENGTH:
	case BR_ERR_TOO_LARGE:
		return "record has a bad length";
	case BR_ERR_UNKNOWN_TYPE:
	case BR_ERR_UNEXPECTED:
		return "record or message is not expected here";
	case BR_ERR_BAD_HANDSHAKE:
		return "handshake is malformed";
	case BR_ERR_BAD_CIPHER_SUITE:
	case BR_ERR_INVALID_ALGORITHM:
		return "peer chose an algorithm that was not offered";
	case BR_ERR_BAD_SIGNATURE:
		return "peer does not own its key";
	case BR_ERR_BAD_FINISHED:
		return "handshake was tampered with";
	default:
		return "connection failed";
	}
}

static int
tell(const struct tls *t, struct fault *f)
{
	int error = br_ssl_engine_last_error(t->engine);

	if (error >= BR_ERR_SEND_FATAL_ALERT)
		return fault_set(f, FAULT_PROTOCOL,
		    "tls: peer was refused with alert %d",
		    error - BR_ERR_SEND_FATAL_ALERT);
	if (error >= BR_ERR_RECV_FATAL_ALERT)
		return fault_set(f, FAULT_PROTOCOL,
		    "tls: peer refused with alert %d",
		    error - BR_ERR_RECV_FATAL_ALERT);
	if (error > BR_ERR_X509_OK)
		return fault_set(f, FAULT_UNAUTHENTICATED,
		    "tls: peer's key is not the pinned one (%d)", error);
	return fault_set(f, FAULT_PROTOCOL, "tls: %s (%d)", sentence(error),
	    error);
}

static bool
has_failed(const struct tls *t)
{
	return br_ssl_engine_current_state(t->engine) == BR_SSL_CLOSED &&
	    br_ssl_engine_last_error(t->engine) != BR_ERR_OK;
}

/*
 * BearSSL answers each handshake message with an alert (no_renegotiation), and
 * takes no byte more while one of them waits for room that the alert before it
 * took: with nothing to send and nothing to read it never will.
 */
static bool
is_stuck(struct tls *t)
{
	return tls_is_ready(t) && tls_plain(t).len == 0 && tls_wire(t).len == 0;
}

int
tls_feed(struct tls *t, struct span wire, size_t *taken, struct fault *f)
{
	*taken = 0;
	while (*taken < wire.len && !tls_is_closed(t)) {
		size_t n;
		uint8_t *to = br_ssl_engine_recvrec_buf(t->engine, &n);

		if (!to && is_stuck(t))
			return fault_set(f, FAULT_PROTOCOL,
			    "tls: a handshake is begun again");
		if (!to)
			break;
		if (n > wire.len - *taken)
			n = wire.len - *taken;
		memcpy(to, wire.ptr + *taken, n);
		*taken += n;
		br_ssl_engine_recvrec_ack(t->engine, n);
	}
	if (has_failed(t))
		return tell(t, f);
	if (tls_is_closed(t))
		*taken = wire.len;
	return 0;
}

struct span
tls_wire(struct tls *t)
{
	size_t n;
	const uint8_t *p = br_ssl_engine_sendrec_buf(t->engine, &n);

	return span_of(p, n);
}

void
tls_wire_sent(struct tls *t, size_t n)
{
	BUG_IF(n > tls_wire(t).len);
	if (n > 0)
		br_ssl_engine_sendrec_ack(t->engine, n);
}

struct span
tls_plain(struct tls *t)
{
	size_t n;
	const uint8_t *p = br_ssl_engine_recvapp_buf(t->engine, &n);

	return span_of(p, n);
}

void
tls_plain_used(struct tls *t, size_t n)
{
	BUG_IF(n > tls_plain(t).len);
	if (n > 0)
		br_ssl_engine_recvapp_ack(t->engine, n);
}

size_t
tls_write(struct tls *t, struct span plain)
{
	size_t done = 0;

	while (done < plain.len) {
		size_t n;
		uint8_t *to = br_ssl_engine_sendapp_buf(t->engine, &n);

		if (!to)
			break;
		if (n > plain.len - done)
			n = plain.len - done;
		memcpy(to, plain.ptr + done, n);
		done += n;
		br_ssl_engine_sendapp_ack(t->engine, n);
	}
	return done;
}

void
tls_flush(struct tls *t)
{
	br_ssl_engine_flush(t->engine, 0);
}

void
tls_close(struct tls *t)
{
	/* Unread plaintext would keep the peer's close_notify out. */
	tls_plain_used(t, tls_plain(t).len);
	br_ssl_engine_close(t->engine);
}

bool
tls_is_ready(const struct tls *t)
{
	return br_ssl_engine_current_state(t->engine) != BR_SSL_CLOSED &&
	    (t->engine->application_data & 1) != 0;
}

bool
tls_is_closed(const struct tls *t)
{
	return t->engine->shutdown_recv ||
	    (br_ssl_engine_current_state(t->engine) == BR_SSL_CLOSED &&
		br_ssl_engine_last_error(t->engine) == BR_ERR_OK);
}
