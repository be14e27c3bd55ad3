/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway's random things. Three keys: one proves the gateway to
 * supervisors, one signs launch tokens, one proves MCP's session ids. 32
 * random bytes each, in a 0600 file; never printed, never sent, wiped from
 * every buffer they pass.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "gateway/inner.h"

static int
make(int dir, const char *name, struct fault *f)
{
	uint8_t secret[TLS_ENTROPY];
	struct tls_key probe;
	int rc;

	/* Not every 32 bytes are a key: take those of one that is. */
	random_bytes(secret, sizeof(secret));
	if (tls_key_make(&probe, secret, "gateway.nacre", f) < 0)
		return -1;
	rc = file_write_atomic(dir, name,
	    span_of(probe.secret, sizeof(probe.secret)), 0600, f);
	tls_key_wipe(&probe);
	secret_wipe(secret, sizeof(secret));
	return rc;
}

static int
open_key(int dir, const char *name, struct tls_key *k, struct fault *f)
{
	struct buf b;
	int rc;

	if (faccessat(dir, name, F_OK, 0) < 0 && make(dir, name, f) < 0)
		return -1;
	buf_init(&b, sizeof(k->secret));
	rc = file_read(dir, name, &b, f);
	if (rc == 0 && b.len != sizeof(k->secret))
		rc = fault_set(f, FAULT_SYSTEM, "it holds %zu bytes, not %zu",
		    b.len, sizeof(k->secret));
	if (rc == 0)
		rc = tls_key_from_secret(k, buf_ptr(&b), "gateway.nacre", f);
	if (b.len > 0)
		secret_wipe(buf_ptr(&b), b.len);
	buf_release(&b);
	return rc < 0 ? fault_prefix(f, "key '%s'", name) : 0;
}

/* Not of a curve: any bytes are one. */
static int
open_secret(int dir, const char *name, uint8_t *out, size_t n, struct fault *f)
{
	struct buf b;
	int rc;

	if (faccessat(dir, name, F_OK, 0) < 0) {
		random_bytes(out, n);
		return file_write_atomic(dir, name, span_of(out, n), 0600, f);
	}
	buf_init(&b, n);
	rc = file_read(dir, name, &b, f);
	if (rc == 0 && b.len != n)
		rc = fault_set(f, FAULT_SYSTEM, "it holds %zu bytes, not %zu",
		    b.len, n);
	if (rc == 0)
		memcpy(out, buf_ptr(&b), n);
	if (b.len > 0)
		secret_wipe(buf_ptr(&b), b.len);
	buf_release(&b);
	return rc < 0 ? fault_prefix(f, "key '%s'", name) : 0;
}

int
keys_open(struct gateway *g, struct fault *f)
{
	with_fd dir = open(g->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return fault_sys(f, "cannot open '%s'", g->state);
	if (open_key(dir, "tunnel.key", &g->tunnel_key, f) < 0 ||
	    open_key(dir, "audit.key", &g->audit_key, f) < 0)
		return -1;
	if (open_key(dir, "token.key", &g->token_key, f) < 0)
		return -1;
	return open_secret(dir, "mcp.key", g->mcp_key, sizeof(g->mcp_key), f);
}

void
uuid_make(char out[LIMIT_ID + 1])
{
	uint8_t b[16];
	char hex[33];

	random_bytes(b, sizeof(b));
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40); /* version 4, RFC 9562 5.4 */
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	hex_format(b, sizeof(b), hex);
	BUG_IF(!text_fmt(out, LIMIT_ID + 1, "%.8s-%.4s-%.4s-%.4s-%.12s", hex,
	    hex + 8, hex + 12, hex + 16, hex + 20));
}
