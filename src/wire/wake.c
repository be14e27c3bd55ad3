/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wake frames (PROTOCOL.md): what the keeper and a guest say to each other
 * before there is an HTTP/2 connection. Fixed size, little-endian, spare
 * bytes zero; anything else is refused.
 */
#include <string.h>

#include "base/base.h"
#include "wire/wire.h"

#define MAGIC 8
static const uint8_t wake_magic[] = { 'n', 'a', 'c', 'r', 'e', 'w', 'k', '1' };
static const uint8_t woke_magic[] = { 'n', 'a', 'c', 'r', 'e', 'w', 'o', '1' };

static void
put(uint8_t *at, size_t n, uint64_t v)
{
	for (size_t i = 0; i < n; i++)
		at[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t
get(const uint8_t *at, size_t n)
{
	uint64_t v = 0;

	for (size_t i = n; i-- > 0;)
		v = v << 8 | at[i];
	return v;
}

static bool
is_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != 0)
			return false;
	return true;
}

void
wire_wake_encode(const struct wire_wake *w, uint8_t out[WIRE_WAKE_SIZE])
{
	memset(out, 0, WIRE_WAKE_SIZE);
	memcpy(out, wake_magic, MAGIC);
	put(out + 8, 4, (uint64_t)w->op);
	put(out + 16, 8, (uint64_t)w->time_ns);
	memcpy(out + 24, w->seed, WIRE_SEED);
}

int
wire_wake_decode(const uint8_t in[WIRE_WAKE_SIZE], struct wire_wake *w,
    struct fault *f)
{
	uint64_t op = get(in + 8, 4);

	if (memcmp(in, wake_magic, MAGIC) != 0)
		return fault_set(f, FAULT_PROTOCOL, "not a wake frame");
	if (op != WIRE_WAKE_REHEARSE && op != WIRE_WAKE_LAUNCH)
		return fault_set(f, FAULT_PROTOCOL,
		    "wake frame has operation %u", (unsigned)op);
	if (!is_zero(in + 12, 4) || !is_zero(in + 88, WIRE_WAKE_SIZE - 88))
		return fault_set(f, FAULT_PROTOCOL,
		    "wake frame has spare bytes set");
	w->op = (enum wire_wake_op)op;
	w->time_ns = (int64_t)get(in + 16, 8);
	memcpy(w->seed, in + 24, WIRE_SEED);
	return 0;
}

void
wire_woke_encode(const struct wire_woke *w, uint8_t out[WIRE_WOKE_SIZE])
{
	memset(out, 0, WIRE_WOKE_SIZE);
	memcpy(out, woke_magic, MAGIC);
	put(out + 8, 4, (uint64_t)w->op);
	put(out + 12, 4, w->stage);
	put(out + 16, 4, w->value);
	out[20] = w->tsc;
}

int
wire_woke_decode(const uint8_t in[WIRE_WOKE_SIZE], struct wire_woke *w,
    struct fault *f)
{
	uint64_t op = get(in + 8, 4);

	if (memcmp(in, woke_magic, MAGIC) != 0)
		return fault_set(f, FAULT_PROTOCOL, "not a woke frame");
	if (op < WIRE_WOKE_READY || op > WIRE_WOKE_FAILED)
		return fault_set(f, FAULT_PROTOCOL,
		    "woke frame has operation %u", (unsigned)op);
	if (in[20] > 1 || !is_zero(in + 21, WIRE_WOKE_SIZE - 21))
		return fault_set(f, FAULT_PROTOCOL,
		    "woke frame has spare bytes set");
	w->op = (enum wire_woke_op)op;
	w->stage = (uint32_t)get(in + 12, 4);
	w->value = (uint32_t)get(in + 16, 4);
	w->tsc = in[20] == 1;
	return 0;
}
