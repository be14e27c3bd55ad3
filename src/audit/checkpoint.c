/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints: what the gateway's key has signed of the chain. Each also says
 * how many bytes all rows up to it stand for, so that nobody has to measure
 * the whole record to know whether it is too large.
 */
#include <string.h>

#include "audit/inner.h"
#include "tls/tls.h"

_Static_assert(sizeof(((struct tls_key *)NULL)->point) == STORE_POINT &&
	TLS_SIGNATURE == STORE_SIGNATURE && TLS_PIN == STORE_HASH,
    "one form of keys");

enum {
	MESSAGE = 256, /* room for what is signed */
};

const char *
audit_kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[AUDIT_ROWS] = "rows",
		[AUDIT_START] = "start",
		[AUDIT_STOP] = "stop",
		[AUDIT_PRUNED] = "pruned",
	};

	if (kind >= NELEM(names) || names[kind] == NULL)
		return "unknown";
	return names[kind];
}

static void
number(uint64_t n, uint8_t out[8])
{
	for (int i = 0; i < 8; i++)
		out[i] = (uint8_t)(n >> (56 - 8 * i));
}

static void
add(struct buf *b, struct span s)
{
	struct fault never = { 0 };
	uint8_t length[8];

	number(s.len, length);
	BUG_IF(buf_add(b, length, sizeof(length), &never) < 0);
	BUG_IF(buf_add(b, s.ptr, s.len, &never) < 0);
}

/* What is signed (PROTOCOL.md). */
static void
message(const struct store_checkpoint *c, struct buf *b)
{
	const uint64_t numbers[] = { c->row, (uint64_t)c->time_ms, c->bytes };

	add(b, SPAN_LIT("nacre.audit.checkpoint.1"));
	add(b, span_str(audit_kind_name(c->kind)));
	for (size_t i = 0; i < NELEM(numbers); i++) {
		uint8_t bytes[8];

		number(numbers[i], bytes);
		add(b, span_of(bytes, sizeof(bytes)));
	}
	add(b, span_of(c->hash, sizeof(c->hash)));
}

bool
audit_checkpoint_holds(const struct store_checkpoint *c)
{
	struct buf b;
	bool holds;

	buf_init(&b, MESSAGE);
	message(c, &b);
	holds = tls_verify(c->point, buf_span(&b), c->signature);
	buf_release(&b);
	return holds;
}

void
audit_checkpoint_pin(const struct store_checkpoint *c, uint8_t pin[STORE_HASH])
{
	tls_pin_of(c->point, pin);
}

bool
audit_checkpoint_is_by(const struct store_checkpoint *c,
    const uint8_t pin[STORE_HASH])
{
	uint8_t own[STORE_HASH];

	audit_checkpoint_pin(c, own);
	return memcmp(own, pin, sizeof(own)) == 0 && audit_checkpoint_holds(c);
}

int
audit_sign(struct store *s, const struct tls_key *key,
    struct store_checkpoint *c, struct fault *f)
{
	struct buf b;
	int rc;

	memcpy(c->point, key->point, sizeof(c->point));
	buf_init(&b, MESSAGE);
	message(c, &b);
	rc = tls_sign(key, buf_span(&b), c->signature);
	buf_release(&b);
	if (rc < 0)
		return fault_set(f, FAULT_SYSTEM, "cannot sign a checkpoint");
	return store_checkpoint_put(s, c, f);
}

/* From where rows need to be measured: the last checkpoint; where a stranger
 * put one, what was pruned, or the first row. */
static int
measured(struct store *s, const struct tls_key *key, struct store_checkpoint *c,
    struct fault *f)
{
	bool found;

	if (store_checkpoint_last(s, c, &found, f) < 0)
		return -1;
	if (!found || audit_checkpoint_is_by(c, key->pin))
		return 0;
	if (store_checkpoint_last_of(s, AUDIT_PRUNED, c, &found, f) < 0)
		return -1;
	if (found && !audit_checkpoint_is_by(c, key->pin))
		memset(c, 0, sizeof(*c));
	return 0;
}

int
audit_checkpoint(struct store *s, const struct tls_key *key,
    enum audit_kind kind, struct store_checkpoint *out, struct fault *f)
{
	struct store_checkpoint last;

	memset(out, 0, sizeof(*out));
	out->kind = kind;
	out->time_ms = clock_wall_ms();
	if (store_audit_head(s, &out->row, out->hash, f) < 0 ||
	    measured(s, key, &last, f) < 0 ||
	    store_audit_bytes(s, last.row, out->row, &out->bytes, f) < 0)
		return -1;
	out->bytes += last.bytes;
	return audit_sign(s, key, out, f);
}

int
audit_seal(struct store *s, const struct tls_key *key,
    struct store_checkpoint *out, bool *made, struct fault *f)
{
	struct store_checkpoint last;
	uint8_t hash[STORE_HASH];
	uint64_t head;
	bool found;

	*made = false;
	if (store_audit_head(s, &head, hash, f) < 0 ||
	    store_checkpoint_last(s, &last, &found, f) < 0)
		return -1;
	/* A head before the last checkpoint was cut: that stays to be seen. */
	if (head < last.row || head - last.row < AUDIT_EVERY)
		return 0;
	*made = true;
	return audit_checkpoint(s, key, AUDIT_ROWS, out, f);
}
