/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: tls */
/*
 * A stranger's bytes to either end of TLS. The first byte chooses the end and
 * how far a real handshake goes before the stranger takes over; the second,
 * in which pieces the rest is fed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "tls/tls.h"

enum {
	FUZZ_SERVER = 1 << 0, /* the stranger talks to the server */
	FUZZ_STEPS = 1,       /* shift: real messages first, 0..63 */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tls_key key;

static bool
move(struct tls *from, struct tls *to)
{
	struct fault f;
	struct span wire = tls_wire(from);
	size_t taken = 0;

	if (wire.len == 0 || tls_feed(to, wire, &taken, &f) != 0)
		return false;
	tls_wire_sent(from, taken);
	return true;
}

/* Feed until it is all taken, refused, or waits for nobody. */
static void
feed(struct tls *t, struct span wire)
{
	struct fault f = { 0 };

	for (;;) {
		size_t taken;
		struct span plain;
		struct span out;

		if (tls_feed(t, wire, &taken, &f) != 0) {
			if (f.code == FAULT_NONE || tls_is_ready(t))
				abort();
			return;
		}
		if (taken > wire.len)
			abort();
		wire = span_from(wire, taken);
		plain = tls_plain(t);
		tls_plain_used(t, plain.len);
		out = tls_wire(t);
		tls_wire_sent(t, out.len);
		if (taken + plain.len + out.len == 0)
			return;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t entropy[TLS_ENTROPY] = { 1 };
	struct fault f;
	struct tls *client;
	struct tls *server;
	struct tls *end;
	size_t piece;

	if (size < 2)
		return 0;
	if (key.cert_len == 0 && tls_key_make(&key, entropy, "fuzz", &f) != 0)
		abort();
	client = tls_client_new("fuzz", key.pin, entropy, &f);
	server = tls_server_new(&key, entropy, &f);
	if (!client || !server)
		abort();
	for (unsigned i = data[0] >> FUZZ_STEPS; i > 0; i--)
		if (!move(i & 1 ? client : server, i & 1 ? server : client) &&
		    !move(i & 1 ? server : client, i & 1 ? client : server))
			break;
	end = data[0] & FUZZ_SERVER ? server : client;
	piece = data[1] ? data[1] : SIZE_MAX;
	for (size_t at = 2; at < size;) {
		size_t n = size - at < piece ? size - at : piece;

		feed(end, span_of(data + at, n));
		at += n;
	}
	(void)tls_write(end, SPAN_LIT("still here"));
	tls_flush(end);
	tls_close(end);
	feed(end, span_of(NULL, 0));
	tls_free(client);
	tls_free(server);
	return 0;
}
