/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of two values is plainer. Witnesses are the plainest there are, so each
 * dimension has one order, a well-order, and whoever looks for a value finds
 * its least one:
 *
 *	strings    shorter first, then by their bytes, from plain to odd; the
 *	           empty one comes last
 *	methods    GET, POST, DELETE, ..., then as strings
 *	ports      443, 80, then by number
 *	addresses  1.1.1.1, 10.0.0.1, ..., then by number
 *	uses       none, then as they are listed
 *
 * Requests are ordered by
 *
 *	use
 *	bytes of host, path, query, RPC method, tool and program, in all
 *	method, port, address, host, path, RPC method, tool, program
 *
 * the first that differs. A region is a product and the order is monotone in
 * each dimension, so its least request is that of the least values,
 *
 *	min (A1 x .. x An)  =  (min A1, .., min An)
 *
 * which it holds anyway, and a bound of all that may still be cut from it. Of
 * the query, a product over keys, only the bytes count.
 */
#include <string.h>

#include "region/inner.h"

const char plain_bytes[] =
    "abcdefghijklmnopqrstuvwxyz0123456789-_.ABCDEFGHIJKLMNOPQRSTUVWXYZ~/"
    "!$&'()*+,=:@%?# \"<>[]\\^`{|};";

const char *const plain_methods[PLAIN_METHODS] = { "GET", "POST", "DELETE",
	"PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT", "X-PROBE" };

const struct policy_address plain_ports[PLAIN_PORTS] = { { 0, 443 },
	{ 0, 80 } };

#define V4(a)             \
 {                        \
  0, 0xffff00000000 | (a) \
 }
const struct policy_address plain_addresses[PLAIN_ADDRESSES] = { V4(0x01010101),
	V4(0x0a000001), V4(0xac100001), V4(0xc0a80001), V4(0x64400001),
	{ 0xfd00000000000000, 1 } };

/* The string of a dimension that demands nothing. */
struct span
plainest(enum region_dim dim)
{
	static const char *const plain[REGION_DIMS] = {
		[REGION_HOST] = "a",
		[REGION_PATH] = "/",
		[REGION_METHOD] = "GET",
		[REGION_RPC] = "a",
		[REGION_TOOL] = "a",
		[REGION_PROGRAM] = "/a",
	};

	return span_str(plain[dim]);
}

size_t
region_weight(struct span s)
{
	return s.len ? s.len : REGION_WEIGHT_EMPTY;
}

static int
string_compare(struct span a, struct span b)
{
	size_t x = region_weight(a);
	size_t y = region_weight(b);

	for (size_t i = 0; x == y && i < a.len; i++) {
		const char *p =
		    memchr(plain_bytes, a.ptr[i], sizeof(plain_bytes) - 1);
		const char *q =
		    memchr(plain_bytes, b.ptr[i], sizeof(plain_bytes) - 1);

		x = p ? (size_t)(p - plain_bytes) : 256u + a.ptr[i];
		y = q ? (size_t)(q - plain_bytes) : 256u + b.ptr[i];
	}
	return (x > y) - (x < y);
}

static int
method_compare(struct span a, struct span b)
{
	for (size_t i = 0; i < PLAIN_METHODS; i++) {
		bool x = span_is(a, plain_methods[i]);
		bool y = span_is(b, plain_methods[i]);

		if (x || y)
			return (int)y - (int)x;
	}
	return string_compare(a, b);
}

static int
point_compare(const struct policy_address *list, size_t n,
    struct policy_address a, struct policy_address b)
{
	for (size_t i = 0; i < n; i++) {
		bool x = policy_address_compare(a, list[i]) == 0;
		bool y = policy_address_compare(b, list[i]) == 0;

		if (x || y)
			return (int)y - (int)x;
	}
	return policy_address_compare(a, b);
}

int
region_compare(enum region_dim dim, const struct region_value *a,
    const struct region_value *b)
{
	switch (dim) {
	case REGION_METHOD:
		return method_compare(a->s, b->s);
	case REGION_PORT:
		return point_compare(plain_ports, PLAIN_PORTS, a->a, b->a);
	case REGION_ADDRESS:
		return point_compare(plain_addresses, PLAIN_ADDRESSES, a->a,
		    b->a);
	case REGION_USE:
		return (a->use > b->use) - (a->use < b->use);
	case REGION_HOST:
	case REGION_PATH:
	case REGION_RPC:
	case REGION_TOOL:
	case REGION_QUERY:
	case REGION_PROGRAM:
	case REGION_DIMS:
		break;
	}
	return string_compare(a->s, b->s);
}

/* --- of a region */

static size_t
bytes_of(const struct region_solver *p, const struct region *r)
{
	static const uint8_t strings[] = { REGION_HOST, REGION_PATH, REGION_RPC,
		REGION_TOOL, REGION_PROGRAM };
	size_t n = 0;

	for (size_t i = 0; i < NELEM(strings); i++)
		n += region_weight(region_value(p, r->value[strings[i]])->s);
	return n;
}

void
region_least(const struct region_solver *p, const struct region *r,
    size_t query, struct region_least *out)
{
	for (int dim = 0; dim < REGION_DIMS; dim++)
		out->value[dim] = *region_value(p, r->value[dim]);
	out->bytes = bytes_of(p, r) + query;
}

int
region_order(const struct region_solver *p, const struct region *r,
    size_t query, const struct region_least *than)
{
	static const uint8_t order[] = { REGION_METHOD, REGION_PORT,
		REGION_ADDRESS, REGION_HOST, REGION_PATH, REGION_RPC,
		REGION_TOOL, REGION_PROGRAM };
	size_t bytes = bytes_of(p, r) + query;
	int c = region_compare(REGION_USE,
	    region_value(p, r->value[REGION_USE]), &than->value[REGION_USE]);

	if (c == 0)
		c = (bytes > than->bytes) - (bytes < than->bytes);
	for (size_t i = 0; i < NELEM(order) && c == 0; i++)
		c = region_compare((enum region_dim)order[i],
		    region_value(p, r->value[order[i]]),
		    &than->value[order[i]]);
	return c;
}
