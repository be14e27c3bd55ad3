/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allowed_ips, and from it and the host the addresses that an endpoint may
 * reach: a name public and private ones, a wildcard public ones, an address
 * itself; allowed_ips exactly what it says.
 */
#include <string.h>

#include "policy/inner.h"

static int
cidr_parse(struct span text, struct policy_cidr *out, struct fault *f)
{
	size_t slash = span_find(text, '/');
	struct span address = span_of(text.ptr, slash);
	bool dotted = span_find(address, ':') == address.len;
	uint64_t bits = dotted ? 32 : 128;

	if (!policy_address_parse(address, &out->address) ||
	    (slash < text.len &&
		!num_parse(span_from(text, slash + 1), bits, &bits)))
		return fault_set(f, FAULT_INVALID,
		    "expected an address, a CIDR, 'public' or 'any'");
	out->bits = (uint8_t)(dotted ? 96 + bits : bits);
	out->address = policy_range_of(out->address, out->bits).first;
	return 0;
}

static bool
is_blocked(const struct policy_cidr *c, struct policy_address *example)
{
	return policy_range_blocked(policy_range_of(c->address, c->bits),
	    example);
}

static void
cidr_say(const struct policy_cidr *c, char *out, size_t size)
{
	char text[POLICY_ADDRESS];
	unsigned before = policy_address_is_v4(c->address) ? 96 : 0;

	policy_address_format(c->address, text);
	(void)text_fmt(out, size, "%s/%u", text, (unsigned)c->bits - before);
}

/*
 * The two largest parts of c without a blocked address: halved again and again,
 * as long as one half has some. False: no two are there, or they would say
 * little, as in 0.0.0.0/0.
 */
static bool
beside(struct policy_cidr c, char *out, size_t size)
{
	struct policy_address unused;
	unsigned before = policy_address_is_v4(c.address) ? 96 : 0;
	char part[2][POLICY_ADDRESS + 4];
	size_t n = 0;

	if (c.bits < before + 8)
		return false;
	while (c.bits < 128 && n < 2) {
		struct policy_cidr high = { .bits = ++c.bits };

		high.address = policy_range_of(c.address, c.bits - 1u).last;
		high.address = policy_range_of(high.address, c.bits).first;
		if (!is_blocked(&high, &unused)) {
			cidr_say(&high, part[n++], sizeof(part[0]));
		} else if (!is_blocked(&c, &unused)) {
			cidr_say(&c, part[n++], sizeof(part[0]));
			c = high;
		}
	}
	return n == 2 &&
	    text_fmt(out, size, "%s and %s beside it", part[0], part[1]);
}

static int
blocked_check(const struct policy_cidr *c, struct fault *f)
{
	struct policy_address example;
	char text[POLICY_ADDRESS];
	char parts[3 * POLICY_ADDRESS];

	if (!is_blocked(c, &example))
		return 0;
	policy_address_format(example, text);
	if (beside(*c, parts, sizeof(parts)))
		return fault_set(f, FAULT_INVALID,
		    "holds %s, which is never reachable: write %s, or smaller "
		    "ranges",
		    text, parts);
	return fault_set(f, FAULT_INVALID,
	    "holds %s, which is never reachable: write ranges without it, "
	    "'public' or 'any'",
	    text);
}

static void
one_read(struct reader *r, const struct yaml_node *node,
    struct policy_allowed *to, struct policy_cidr *cidr)
{
	struct fault f = { 0 };
	struct span text;

	if (!read_string(r, node, &text))
		return;
	if (span_is(text, "public")) {
		to->is_public = true;
	} else if (span_is(text, "any")) {
		to->is_any = true;
	} else if (cidr_parse(text, &cidr[to->n], &f) != 0 ||
	    blocked_check(&cidr[to->n], &f) != 0) {
		read_fault(r, node, &f);
	} else {
		to->n++;
	}
}

void
allowed_read(struct reader *r, const struct yaml_node *node,
    struct policy_allowed *to)
{
	enter(r, "allowed_ips");
	if (read_list(r, node)) {
		struct policy_cidr *cidr =
		    read_room(r, node->count, sizeof(*cidr));
		uint32_t i = 0;

		to->cidr = cidr;
		for (node = node->first; node && cidr; node = node->next) {
			enter_index(r, i++);
			one_read(r, node, to, cidr);
			leave(r);
		}
	}
	leave(r);
}

bool
allowed_given(const struct policy_allowed *w)
{
	return w->is_public || w->is_any || w->n > 0;
}

/* The words' sets are made once for a policy. */
static struct policy_addresses
word_set(struct reader *r, bool any)
{
	struct fault f = { 0 };

	if (r->sets[any].n == 0 &&
	    policy_addresses_of(any, r->a, &r->sets[any], &f) != 0)
		r->spent = true;
	return r->sets[any];
}

static struct policy_addresses
written_set(struct reader *r, const struct policy_allowed *w)
{
	struct policy_addresses base = { .n = 0 };
	struct policy_range *range;
	size_t n = 0;

	if (w->is_any || w->is_public)
		base = word_set(r, w->is_any);
	if (w->n == 0)
		return base;
	range = read_room(r, base.n + w->n, sizeof(*range));
	if (!range)
		return base;
	for (; n < base.n; n++)
		range[n] = base.range[n];
	for (size_t i = 0; i < w->n; i++)
		range[n++] =
		    policy_range_of(w->cidr[i].address, w->cidr[i].bits);
	n = policy_ranges_settle(range, n);
	return (struct policy_addresses){ range, n };
}

static struct policy_addresses
single_set(struct reader *r, struct policy_address a)
{
	struct policy_range *range = read_room(r, 1, sizeof(*range));

	if (!range)
		return (struct policy_addresses){ NULL, 0 };
	*range = (struct policy_range){ a, a };
	return (struct policy_addresses){ range, 1 };
}

void
addresses_compile(struct reader *r, const struct yaml_node *node,
    struct policy_endpoint *e)
{
	bool given = allowed_given(&e->allowed);

	if (given)
		e->addresses = written_set(r, &e->allowed);
	if (e->host.kind == POLICY_HOST_ADDRESS) {
		if (given &&
		    !policy_addresses_hold(&e->addresses, e->host.address))
			read_error(r, node,
			    "allowed_ips does not hold the host: remove it");
		e->addresses = single_set(r, e->host.address);
	} else if (!given) {
		e->addresses = word_set(r, e->host.kind == POLICY_HOST_NAME);
	}
}
