/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plainest excess. Witnesses of one act are ordered by
 *
 *	use
 *	bytes of host, path, query, RPC method, tool and program, in all
 *	method, port, address, host, path, RPC method, tool, program
 *
 * the first that differs; each dimension has its own order (region_compare()). A piece is a product, and
 * the order is monotone in each dimension, so
 *
 *	min (A1 x .. x An)  =  (min A1, .., min An)
 *
 * is what its region holds anyway, and a bound of all that may still be cut from
 * it. Of the query, a product over keys, only the bytes count. The excess is the
 * union of the pieces: its least witness is the least of theirs.
 */
#include <string.h>

#include "prover/inner.h"

static const struct region_value *
value_at(const struct prover *p, const struct region *r, enum region_dim dim)
{
	return region_value(&p->s, r->value[dim]);
}

/* What an act does not have is alike in all that is compared. */
static size_t
bytes_of(const struct prover *p, const struct region *r)
{
	static const uint8_t strings[] = { REGION_HOST, REGION_PATH, REGION_RPC,
		REGION_TOOL, REGION_PROGRAM };
	size_t n = 0;

	for (size_t i = 0; i < NELEM(strings); i++)
		n += region_weight(
		    value_at(p, r, (enum region_dim)strings[i])->s);
	return n;
}

/* r, with so many bytes of a query, against the excess at hand. */
static int
compare(const struct prover *p, const struct region *r, size_t query)
{
	static const uint8_t order[] = { REGION_METHOD, REGION_PORT,
		REGION_ADDRESS, REGION_HOST, REGION_PATH, REGION_RPC,
		REGION_TOOL, REGION_PROGRAM };
	const struct excess *x = &p->excess;
	size_t bytes = bytes_of(p, r) + query;
	int c = region_compare(REGION_USE, value_at(p, r, REGION_USE),
	    &x->value[REGION_USE]);

	if (c == 0)
		c = (bytes > x->bytes) - (bytes < x->bytes);
	for (size_t i = 0; i < NELEM(order) && c == 0; i++)
		c = region_compare((enum region_dim)order[i],
		    value_at(p, r, (enum region_dim)order[i]),
		    &x->value[order[i]]);
	return c;
}

bool
excess_bounds(struct prover *p, const struct region *r)
{
	if (!p->excess.child)
		return false;
	p->s.steps += 2;
	return compare(p, r, 0) >= 0;
}

bool
excess_keep(struct prover *p, const struct region *r,
    const struct policy_box *child, const struct policy_box *deny)
{
	struct excess *x = &p->excess;
	struct policy_pair query[PROVER_PAIRS];
	size_t query_n;
	size_t bytes = 0;

	if (!region_query(&p->s, r, query, PROVER_PAIRS, &query_n))
		return false;
	for (size_t i = 0; i < query_n; i++)
		bytes += query[i].key.len + 2 + region_weight(query[i].value);
	if (x->child && compare(p, r, bytes) >= 0)
		return true;
	for (int dim = 0; dim < REGION_DIMS; dim++)
		x->value[dim] = *value_at(p, r, (enum region_dim)dim);
	memcpy(p->result.witness.query, query, query_n * sizeof(*query));
	p->result.witness.query_n = query_n;
	x->bytes = bytes_of(p, r) + bytes;
	x->act = p->network.act;
	x->child = child;
	x->deny = deny;
	return true;
}

void
excess_witness(const struct excess *x, struct prover_witness *w)
{
	const struct region_value *v = x->value;

	w->program = v[REGION_PROGRAM].s;
	w->host = v[REGION_HOST].s;
	w->port = (uint16_t)v[REGION_PORT].a.low;
	w->address = v[REGION_ADDRESS].a;
	w->use = v[REGION_USE].use;
	w->use_of = v[REGION_USE].of;
	w->act = act_public(x->act);
	if (x->act != ACT_OPAQUE)
		w->path = v[REGION_PATH].s;
	if (x->act == ACT_HTTP)
		w->method = v[REGION_METHOD].s;
	if (x->act == ACT_RPC || x->act == ACT_METHOD)
		w->method = v[REGION_RPC].s;
	if (x->act == ACT_CALL) {
		w->method = SPAN_LIT("tools/call");
		w->tool = v[REGION_TOOL].s;
	}
}
