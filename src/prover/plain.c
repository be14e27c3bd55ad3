/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plainest excess. What is left over is a union of pieces,
 *
 *	min (R1 | .. | Rn)  =  min { min R1, .., min Rn }
 *
 * and the least request of a piece is what its region holds (region_order()),
 * which also bounds all that may still be cut from it.
 */
#include <string.h>

#include "prover/inner.h"

bool
excess_bounds(struct prover *p, const struct region *r)
{
	if (!p->excess.child)
		return false;
	p->s.steps += 2;
	return region_order(&p->s, r, region_query_least(&p->s, r),
		   &p->excess.least) >= 0;
}

bool
excess_keep(struct prover *p, const struct region *r,
    const struct policy_box *child, const struct policy_box *deny)
{
	struct excess *x = &p->excess;
	struct prover_witness *w = &p->result.witness;
	struct policy_pair query[PROVER_PAIRS];
	size_t query_n;
	size_t bytes = 0;

	if (!region_query(&p->s, r, query, PROVER_PAIRS, &query_n))
		return false;
	for (size_t i = 0; i < query_n; i++)
		bytes += query[i].key.len + 2 + region_weight(query[i].value);
	if (x->child && region_order(&p->s, r, bytes, &x->least) >= 0)
		return true;
	region_least(&p->s, r, bytes, &x->least);
	memcpy(w->query, query, query_n * sizeof(*query));
	w->query_n = query_n;
	x->act = p->network.act;
	x->child = child;
	x->deny = deny;
	return true;
}

void
excess_witness(const struct excess *x, struct prover_witness *w)
{
	const struct region_value *v = x->least.value;

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
