/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/inner.h"
#include "tls_peer.h"
#include "unit.h"

enum {
	HANDSHAKE = 22, /* RFC 5246, 6.2.1 */
};

size_t
tls_peer_hello(struct tls *t, uint8_t to[TLS_PEER_RECORD])
{
	static const uint8_t hello[] = { 1, 0, 0, 0 };
	const br_sslrec_out_class **out = &t->engine->out.vtable;
	uint8_t room[TLS_PEER_RECORD];
	size_t start = 5; /* the head of a record */
	size_t end = sizeof(room);
	size_t n = sizeof(hello);
	const uint8_t *record;

	assert_true(tls_is_ready(t));
	(*out)->max_plaintext(out, &start, &end);
	memcpy(room + start, hello, sizeof(hello));
	record = (*out)->encrypt(out, HANDSHAKE, BR_TLS12, room + start, &n);
	assert_true(n <= TLS_PEER_RECORD);
	memcpy(to, record, n);
	return n;
}
