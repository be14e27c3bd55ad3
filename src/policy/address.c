/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses on one line of 128 bits, and what each of them is: public,
 * private, or never dialled. The forms that carry an IPv4 address inside an
 * IPv6 one have its class, so that no spelling leads around a block:
 *
 *	::ffff:a.b.c.d     v4-mapped: is the IPv4 address
 *	::a.b.c.d          v4-compatible (RFC 4291 2.5.5.1)
 *	64:ff9b::a.b.c.d   NAT64 (RFC 6052)
 *	2002:aabb:ccdd::/48  6to4 (RFC 3056)
 *	64:ff9b:1::/48     local NAT64 (RFC 8215): blocked, its IPv4 address
 *	                   stands where the network chose
 *	2001::/32          Teredo (RFC 4380): blocked, client and server both
 *	                   are in it and the one in the low bits is inverted
 */
#include <string.h>

#include "policy/inner.h"

struct v4_block {
	uint32_t address;
	uint8_t bits;
	enum policy_address_class is;
};

/* clang-format off */
static const struct v4_block v4_blocks[] = {
	{ 0x00000000,  8, POLICY_BLOCKED }, /* unspecified */
	{ 0x7f000000,  8, POLICY_BLOCKED }, /* loopback */
	{ 0xa9fe0000, 16, POLICY_BLOCKED }, /* link-local, 169.254.169.254 */
	{ 0xe0000000,  4, POLICY_BLOCKED }, /* multicast */
	{ 0xf0000000,  4, POLICY_BLOCKED }, /* reserved, broadcast */
	{ 0x646464c8, 32, POLICY_BLOCKED }, /* metadata: 100.100.100.200 */
	{ 0xa83f8110, 32, POLICY_BLOCKED }, /* metadata: 168.63.129.16 */
	{ 0xc00000c0, 32, POLICY_BLOCKED }, /* metadata: 192.0.0.192 */
	{ 0x0a000000,  8, POLICY_PRIVATE }, /* RFC 1918 */
	{ 0xac100000, 12, POLICY_PRIVATE },
	{ 0xc0a80000, 16, POLICY_PRIVATE },
	{ 0x64400000, 10, POLICY_PRIVATE }, /* RFC 6598 */
	{ 0xc0000000, 24, POLICY_PRIVATE }, /* RFC 6890 */
	{ 0xc0000200, 24, POLICY_PRIVATE }, /* RFC 5737 */
	{ 0xc6336400, 24, POLICY_PRIVATE },
	{ 0xcb007100, 24, POLICY_PRIVATE },
	{ 0xc6120000, 15, POLICY_PRIVATE }, /* RFC 2544 */
};

struct v6_block {
	struct policy_address address;
	uint8_t bits;
	enum policy_address_class is;
};

static const struct v6_block v6_blocks[] = {
	{ { 0xfe80000000000000, 0 },      10, POLICY_BLOCKED }, /* link-local */
	{ { 0xff00000000000000, 0 },       8, POLICY_BLOCKED }, /* multicast */
	{ { 0xfd000ec200000000, 0x254 }, 128, POLICY_BLOCKED }, /* metadata */
	{ { 0xfd2000ce00000000, 0x254 }, 128, POLICY_BLOCKED },
	{ { 0x0064ff9b00010000, 0 },      48, POLICY_BLOCKED }, /* NAT64 */
	{ { 0x2001000000000000, 0 },      32, POLICY_BLOCKED }, /* Teredo */
	{ { 0xfc00000000000000, 0 },       7, POLICY_PRIVATE }, /* RFC 4193 */
};

/* Where an IPv4 address is inside: value << shift, below these bits. */
static const struct form {
	struct policy_address prefix;
	uint8_t bits;  /* of the prefix */
	uint8_t shift; /* of the address: 0 or 80 */
} forms[] = {
	{ { 0, 0x0000ffff00000000 },  96,  0 }, /* v4-mapped */
	{ { 0, 0 },                   96,  0 }, /* v4-compatible */
	{ { 0x0064ff9b00000000, 0 },  96,  0 }, /* NAT64 */
	{ { 0x2002000000000000, 0 },  16, 80 }, /* 6to4 */
};
/* clang-format on */

int
policy_address_compare(struct policy_address a, struct policy_address b)
{
	if (a.high != b.high)
		return a.high < b.high ? -1 : 1;
	return a.low == b.low ? 0 : a.low < b.low ? -1 : 1;
}

struct policy_address
policy_address_v4(uint32_t v4)
{
	return (struct policy_address){ 0, 0x0000ffff00000000 | v4 };
}

bool
policy_address_is_v4(struct policy_address a)
{
	return a.high == 0 && a.low >> 32 == 0xffff;
}

struct policy_address
policy_address_mask(unsigned bits)
{
	struct policy_address m = { UINT64_MAX, UINT64_MAX };

	if (bits < 64)
		m.high = bits ? UINT64_MAX << (64 - bits) : 0;
	if (bits < 128)
		m.low = bits > 64 ? UINT64_MAX << (128 - bits) : 0;
	return m;
}

struct policy_range
policy_range_of(struct policy_address a, unsigned bits)
{
	struct policy_address m = policy_address_mask(bits);

	return (struct policy_range){ { a.high & m.high, a.low & m.low },
		{ a.high | ~m.high, a.low | ~m.low } };
}

static bool
in_block(struct policy_address a, struct policy_address block, unsigned bits)
{
	struct policy_address m = policy_address_mask(bits);

	return (a.high & m.high) == block.high && (a.low & m.low) == block.low;
}

static enum policy_address_class
v4_class(uint32_t a)
{
	for (size_t i = 0; i < NELEM(v4_blocks); i++)
		if (a >> (32 - v4_blocks[i].bits) ==
		    v4_blocks[i].address >> (32 - v4_blocks[i].bits))
			return v4_blocks[i].is; /* blocked ones come first */
	return POLICY_PUBLIC;
}

enum policy_address_class
policy_address_class(struct policy_address a)
{
	for (size_t i = 0; i < NELEM(forms); i++)
		if (in_block(a, forms[i].prefix, forms[i].bits))
			return v4_class((uint32_t)(forms[i].shift
				? a.high >> (forms[i].shift - 64)
				: a.low));
	for (size_t i = 0; i < NELEM(v6_blocks); i++)
		if (in_block(a, v6_blocks[i].address, v6_blocks[i].bits))
			return v6_blocks[i].is;
	return POLICY_PUBLIC;
}

/* The block as it stands inside that form. */
static struct policy_range
embedded(const struct form *form, const struct v4_block *block)
{
	struct policy_address a = form->prefix;

	if (form->shift)
		a.high |= (uint64_t)block->address << (form->shift - 64);
	else
		a.low |= block->address;
	return policy_range_of(a, form->bits + block->bits);
}

/* All that is not public, or (any) all that is blocked, in no order. */
static size_t
closed(bool any, struct policy_range *out)
{
	size_t n = 0;

	for (size_t i = 0; i < NELEM(v4_blocks); i++)
		for (size_t k = 0; k < NELEM(forms); k++)
			if (!any || v4_blocks[i].is == POLICY_BLOCKED)
				out[n++] = embedded(&forms[k], &v4_blocks[i]);
	for (size_t i = 0; i < NELEM(v6_blocks); i++)
		if (!any || v6_blocks[i].is == POLICY_BLOCKED)
			out[n++] = policy_range_of(v6_blocks[i].address,
			    v6_blocks[i].bits);
	return n;
}

static struct policy_address
next(struct policy_address a)
{
	a.low++;
	a.high += a.low == 0;
	return a;
}

static struct policy_address
previous(struct policy_address a)
{
	a.high -= a.low == 0;
	a.low--;
	return a;
}

static int
by_first(const void *x, const void *y)
{
	const struct policy_range *a = x;
	const struct policy_range *b = y;

	return policy_address_compare(a->first, b->first);
}

size_t
policy_ranges_settle(struct policy_range *r, size_t n)
{
	size_t kept = 0;

	qsort(r, n, sizeof(*r), by_first);
	for (size_t i = 0; i < n; i++) {
		struct policy_range *last = kept ? &r[kept - 1] : NULL;
		bool touches = last &&
		    (policy_address_compare(r[i].first, last->last) <= 0 ||
			policy_address_compare(r[i].first, next(last->last)) ==
			    0);

		if (!touches)
			r[kept++] = r[i];
		else if (policy_address_compare(r[i].last, last->last) > 0)
			last->last = r[i].last;
	}
	return kept;
}

enum {
	CLOSED = NELEM(v4_blocks) * NELEM(forms) + NELEM(v6_blocks),
};

bool
policy_range_blocked(struct policy_range r, struct policy_address *example)
{
	struct policy_range closed_ranges[CLOSED];
	size_t n = closed(true, closed_ranges);

	for (size_t i = 0; i < n; i++)
		if (policy_address_compare(r.first, closed_ranges[i].last) <=
			0 &&
		    policy_address_compare(closed_ranges[i].first, r.last) <=
			0) {
			*example = closed_ranges[i].first;
			return true;
		}
	return false;
}

int
policy_addresses_of(bool any, struct arena *a, struct policy_addresses *out,
    struct fault *f)
{
	struct policy_range shut[CLOSED] = { 0 };
	size_t n = policy_ranges_settle(shut, closed(any, shut));
	struct policy_range *open = arena_get(a, (n + 1) * sizeof(*open));
	struct policy_address from = { 0, 0 };
	size_t used = 0;

	if (!open)
		return fault_set(f, FAULT_LIMIT, "policy is too large");
	for (size_t i = 0; i < n; i++) {
		if (policy_address_compare(from, shut[i].first) < 0)
			open[used++] = (struct policy_range){ from,
				previous(shut[i].first) };
		from = next(shut[i].last);
	}
	/* ff00::/8 ends the line, so nothing is left above. */
	*out = (struct policy_addresses){ open, used };
	return 0;
}

bool
policy_addresses_hold(const struct policy_addresses *s, struct policy_address a)
{
	size_t low = 0;
	size_t high = s->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (policy_address_compare(s->range[mid].last, a) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->n &&
	    policy_address_compare(s->range[low].first, a) <= 0;
}
