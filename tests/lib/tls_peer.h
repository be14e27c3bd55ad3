/* SPDX-License-Identifier: Apache-2.0 */
/* What an end of TLS sends that does not keep to the rules. */
#ifndef TESTS_LIB_TLS_PEER_H
#define TESTS_LIB_TLS_PEER_H

#include <stddef.h>
#include <stdint.h>

struct tls;

enum {
	TLS_PEER_RECORD = 128, /* room for one */
};

/* A ClientHello without content, encrypted as that end's next record; its
 * length. Only after the handshake, and with nothing else under way. */
size_t tls_peer_hello(struct tls *t, uint8_t to[TLS_PEER_RECORD]);

#endif
