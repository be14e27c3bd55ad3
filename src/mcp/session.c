/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Session ids: base64url of
 *
 *	version(1) birth(5, seconds, big endian) random(10) proof(16)
 *
 * where proof is the first half of HMAC-SHA256(key, label principal head) over
 * the 16 bytes before it. Ids that were deleted stand in a small table whose
 * sets are chosen by the random part; the newest of a set push the oldest out.
 */
#include <string.h>

#include "digest/digest.h"
#include "mcp/inner.h"

enum {
	SEED = 16,
	PROOF = 16,
	BIRTH_BYTES = 5,
	LEEWAY_S = 60, /* clocks before and after a restart */
};

_Static_assert((SEED + PROOF) * 4 / 3 + 2 == MCP_SESSION_TEXT,
    "an id fits its text");

/* The key is shorter than a block of the hash. */
static void
begin_with(struct digest *d, const uint8_t *secret, uint8_t with)
{
	uint8_t pad[64];

	memset(pad, with, sizeof(pad));
	for (size_t i = 0; i < MCP_KEY; i++)
		pad[i] ^= secret[i];
	digest_init(d);
	digest_update(d, span_of(pad, sizeof(pad)));
	secret_wipe(pad, sizeof(pad));
}

void
mcp_key_set(struct mcp_key *k, const uint8_t secret[MCP_KEY])
{
	begin_with(&k->inner, secret, 0x36);
	begin_with(&k->outer, secret, 0x5c);
}

static void
proof_of(const struct mcp_request *q, const uint8_t seed[SEED],
    uint8_t out[DIGEST_SIZE])
{
	struct digest d = q->server->key->inner;
	uint8_t inner[DIGEST_SIZE];

	digest_update(&d, SPAN_LIT("nacre mcp session"));
	digest_update(&d, q->principal);
	digest_update(&d, span_of(seed, SEED));
	digest_final(&d, inner);
	d = q->server->key->outer;
	digest_update(&d, span_of(inner, sizeof(inner)));
	digest_final(&d, out);
}

static unsigned
version_place(const char *version)
{
	unsigned place = 0;

	while (strcmp(mcp_version_at(place), version) != 0)
		place++;
	return place;
}

void
mcp_session_issue(const struct mcp_request *q, const char *version,
    char out[MCP_SESSION_TEXT])
{
	uint8_t id[SEED + DIGEST_SIZE];

	id[0] = (uint8_t)version_place(version);
	for (unsigned i = 0; i < BIRTH_BYTES; i++)
		id[1 + i] = (uint8_t)((uint64_t)q->now_s >>
		    (8 * (BIRTH_BYTES - 1 - i)));
	memcpy(id + 1 + BIRTH_BYTES, q->random, SEED - 1 - BIRTH_BYTES);
	proof_of(q, id, id + SEED);
	BUG_IF(base64url_format(span_of(id, SEED + PROOF), out,
		   MCP_SESSION_TEXT) == 0);
}

static bool
is_alive(const uint8_t seed[SEED], int64_t now_s)
{
	int64_t birth = 0;

	for (size_t i = 0; i < BIRTH_BYTES; i++)
		birth = birth << 8 | seed[1 + i];
	return now_s >= birth - LEEWAY_S && now_s < birth + MCP_SESSION_LIFE_S;
}

bool
mcp_session_verify(const struct mcp_request *q, struct span text,
    struct mcp_session *out)
{
	uint8_t id[SEED + PROOF];
	uint8_t proof[DIGEST_SIZE];
	struct mcp_session s;
	size_t n;

	if (text.len != MCP_SESSION_TEXT - 1 ||
	    !base64url_parse(text, id, sizeof(id), &n) || n != sizeof(id))
		return false;
	proof_of(q, id, proof);
	if (!secret_equal(proof, id + SEED, PROOF) || !is_alive(id, q->now_s))
		return false;
	memcpy(s.seed, id, SEED);
	s.version = mcp_version_at(id[0]);
	if (!s.version ||
	    (q->server->ended && mcp_ended_has(q->server->ended, &s)))
		return false;
	*out = s;
	return true;
}

bool
mcp_session_equal(const struct mcp_session *a, const struct mcp_session *b)
{
	return memcmp(a->seed, b->seed, SEED) == 0;
}

static size_t
ended_set(const struct mcp_session *s)
{
	return s->seed[SEED - 1] % MCP_ENDED_SETS;
}

void
mcp_ended_add(struct mcp_ended *e, const struct mcp_session *s)
{
	uint8_t(*set)[SEED] = e->seeds[ended_set(s)];

	if (mcp_ended_has(e, s))
		return;
	memmove(set[1], set[0], (MCP_ENDED_WAYS - 1) * SEED);
	memcpy(set[0], s->seed, SEED);
}

bool
mcp_ended_has(const struct mcp_ended *e, const struct mcp_session *s)
{
	const uint8_t(*set)[SEED] = e->seeds[ended_set(s)];

	for (size_t i = 0; i < MCP_ENDED_WAYS; i++)
		if (memcmp(set[i], s->seed, SEED) == 0)
			return true;
	return false;
}
