/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network, act by act. With allow boxes Ci and denies Cd of the child, Pj
 * and Pd of the parent, an excess is a request in
 *
 *	Ci - Cd - P1 - .. - Pn      no endpoint of the parent allows it, or
 *	Ci & Pd - Cd                an endpoint of the parent denies it
 *
 * for some i (and some Pd). Both are unions of pieces, each with a plainest
 * request, and the plainest of all is kept: it ends the act in which it is.
 * Only boxes that may meet Ci are looked at. Of
 * those to take away, the ones that hold Ci in most dimensions come first: if
 * it is all of them, nothing is left and nothing was searched.
 */
#include <string.h>

#include "prover/inner.h"

enum stage {
	NEXT_ACT,
	NEXT_BOX,
	CHOOSE_ALLOWS,
	CHOOSE_DENIES,
	ALLOWS,
	FIND_DENIES,
	NEXT_DENY,
	CHOOSE_OWN,
	DENIES,
};

struct candidate {
	const struct box *box;
	int open;         /* dimensions */
	uint16_t literal; /* of one of them */
};

static void
find(struct prover *p, const struct boxes *in, struct key host, struct key path)
{
	index_find(p, in, host, path);
	p->network.hit = 0;
}

/* Boxes of p->hits that may take something from r are candidates, too. SOME:
 * one takes all of it. NONE: all were looked at. */
static enum region_found
choose(struct prover *p, const struct region *r)
{
	uint32_t *i = &p->network.hit;

	while (*i < p->hits.n) {
		const struct box *b =
		    ((const struct box **)p->hits.items)[(*i)++];
		struct candidate c = { .box = b };
		struct candidate *to;

		c.open = box_open(p, r, b, &c.literal);
		if (c.open == 0)
			return REGION_SOME;
		to = c.open > 0 ? region_pool_add(&p->s, &p->candidates) : NULL;
		if (to)
			*to = c;
		if (region_pauses(&p->s))
			return REGION_WAIT;
	}
	return REGION_NONE;
}

/* A box that is open in one dimension is a set to be taken away there. */
static bool
is_cut(struct prover *p, const struct candidate *c)
{
	const struct region_literal *l = box_literal(p, c->box, c->literal);
	struct region_literal *to;

	if (c->open != 1 || l->mode != REGION_IN)
		return false;
	to = region_pool_add(&p->s, &p->cuts);
	if (to)
		*to = *l;
	return true;
}

/* The candidates into p->cuts and p->minus, nearly holding ones first. */
static void
order(struct prover *p)
{
	const struct candidate *c = p->candidates.items;
	bool more = true;

	p->minus.n = p->cuts.n = 0;
	for (int open = 1; more; open++) {
		more = false;
		for (uint32_t i = 0; i < p->candidates.n; i++) {
			const struct box **to;

			more = more || c[i].open > open;
			if (c[i].open != open || is_cut(p, &c[i]))
				continue;
			to = region_pool_add(&p->s, &p->minus);
			if (to)
				*to = c[i].box;
		}
	}
}

static struct key
longer(struct key a, struct key b)
{
	return a.n + a.whole > b.n + b.whole ? a : b;
}

/* One of the first n literals of b says as much as x, or more. */
static bool
is_said(struct prover *p, const struct region_literal *x, const struct box *b,
    uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct region_literal *y = box_literal(p, b, i);

		if (x->dim == y->dim && x->key == y->key &&
		    region_set_inside(&p->s, y->set, x->set))
			return true;
	}
	return false;
}

/* d holds all of deny, at b's endpoint. */
static bool
is_held(struct prover *p, const struct box *d, const struct box *deny,
    const struct box *b)
{
	uint16_t k = 0;

	while (k < d->n &&
	    (is_said(p, box_literal(p, d, k), deny, deny->n) ||
		is_said(p, box_literal(p, d, k), b, b->common_n)))
		k++;
	return k == d->n;
}

/* SOME: a deny of the child does. NONE: none. */
static enum region_found
is_denied(struct prover *p, const struct box *b, const struct box *deny)
{
	uint32_t *k = &p->network.hit;

	if (*k == 0)
		find(p, &p->network.child_denies,
		    longer(b->host_key, deny->host_key), deny->path_key);
	/* The very same one, if it is there, is found in the first round. */
	while (*k < 2 * p->hits.n) {
		uint32_t at = *k < p->hits.n ? *k : *k - p->hits.n;
		const struct box *d = ((const struct box **)p->hits.items)[at];

		if ((*k < p->hits.n) == (d->hash == deny->hash) &&
		    is_held(p, d, deny, b))
			return REGION_SOME;
		++*k;
		if (region_pauses(&p->s))
			return REGION_WAIT;
	}
	return REGION_NONE;
}

static bool
act_needed(const struct policy *child, enum act act)
{
	for (size_t i = 0; i < child->allows.n; i++)
		if (act_matters(child->allows.box[i].endpoint->kind, act))
			return true;
	return false;
}

static bool
act_begin(struct prover *p)
{
	struct network *n = &p->network;

	n->making = making_of(p, p->q.child, n->act, &n->child);
	n->child.box = (struct region_pool){ .size = sizeof(struct box) };
	n->origin = n->at = 0;
	if (!boxes_of(p, p->q.parent, false, n->act, &n->parent) ||
	    !boxes_of(p, p->q.parent, true, n->act, &n->parent_denies) ||
	    !boxes_of(p, p->q.child, true, n->act, &n->child_denies))
		return false;
	n->literals = p->literals.n;
	return true;
}

/* Boxes of the child are made as they are needed. */
static void
child_next(struct prover *p)
{
	struct network *n = &p->network;
	const struct policy_box *b = &p->q.child->allows.box[n->origin++];

	n->at = n->child.box.n = 0;
	p->literals.n = n->making.endpoint == b->endpoint
	    ? n->making.common + n->making.common_n
	    : n->literals;
	if (act_matters(b->endpoint->kind, n->act))
		(void)boxes_add(&n->making, b);
}

static const struct box *
box_at_hand(const struct network *n)
{
	return (const struct box *)n->child.box.items + n->at;
}

static const struct box *
deny_at_hand(const struct network *n)
{
	return ((const struct box **)n->denies.items)[n->deny];
}

/* The tool method is an act of its own. */
static enum region_found
enter_box(struct prover *p)
{
	struct network *n = &p->network;
	const struct span call = SPAN_LIT("tools/call");
	struct region_literal not_call = { .dim = REGION_RPC };

	region_init(&p->s, &n->region);
	if (n->act == ACT_METHOD) {
		enum region_found found;

		not_call.set = region_set_literals(&p->s, REGION_RPC, &call, 1);
		found = region_add(&p->s, &n->region, &not_call, REGION_OUT);
		if (found != REGION_SOME)
			return found;
	}
	return box_enter(p, &n->region, box_at_hand(n));
}

/* --- stages: WAIT is "go on", in the stage that is set */

static enum region_found
next_act(struct prover *p)
{
	struct network *n = &p->network;

	if (p->excess.child)
		return REGION_SOME;
	if (n->act == ACTS)
		return REGION_NONE;
	p->s.steps++;
	if (act_needed(p->q.child, n->act) && act_begin(p))
		n->stage = NEXT_BOX;
	else
		n->act++;
	return REGION_WAIT;
}

static enum region_found
next_box(struct prover *p)
{
	struct network *n = &p->network;
	enum region_found found;

	p->s.steps++;
	if (n->at == n->child.box.n && n->origin < p->q.child->allows.n) {
		child_next(p);
		return REGION_WAIT;
	}
	if (n->at == n->child.box.n) {
		n->act++;
		n->stage = NEXT_ACT;
		return REGION_WAIT;
	}
	found = enter_box(p);
	n->mark = region_mark(&p->s);
	if (found == REGION_NONE || /* it allows nothing */
	    (found == REGION_SOME && excess_bounds(p, &n->region))) {
		n->at++;
	} else if (found == REGION_SOME) {
		const struct box *b = box_at_hand(n);

		p->candidates.n = 0;
		find(p, &n->parent, b->host_key, b->path_key);
		n->stage = CHOOSE_ALLOWS;
	}
	return REGION_WAIT;
}

/* What is to be taken from the region of the box at hand: allows of the
 * parent, and then denies of the child. */
static enum region_found
choose_allows(struct prover *p)
{
	struct network *n = &p->network;
	const struct box *b = box_at_hand(n);
	enum region_found found = choose(p, &n->region);

	p->frames.n = 0;
	if (found == REGION_SOME) { /* nothing is left of it */
		n->stage = ALLOWS;
	} else if (found == REGION_NONE && n->stage == CHOOSE_ALLOWS) {
		find(p, &n->child_denies, b->host_key, b->path_key);
		n->stage = CHOOSE_DENIES;
	} else if (found == REGION_NONE) {
		order(p);
		diff_start(p, &n->region);
		n->stage = ALLOWS;
	}
	return REGION_WAIT;
}

/* NONE: no piece is left. */
static enum region_found
next_piece(struct prover *p, const struct policy_box *deny)
{
	struct region left;
	enum region_found found = diff_run(p, &left);

	if (found == REGION_SOME && !p->s.spent &&
	    excess_keep(p, &left, box_at_hand(&p->network)->origin, deny))
		diff_drop(p);
	return found == REGION_NONE ? found : REGION_WAIT;
}

static enum region_found
on_allows(struct prover *p)
{
	struct network *n = &p->network;
	const struct box *b = box_at_hand(n);
	struct region_pool other = n->denies;

	if (next_piece(p, NULL) == REGION_WAIT)
		return REGION_WAIT;
	index_find(p, &n->parent_denies, b->host_key, b->path_key);
	n->denies = p->hits;
	p->hits = other;
	n->deny = n->kept = n->hit = 0;
	n->stage = FIND_DENIES;
	return REGION_WAIT;
}

/* Denies of the parent that the child's denies may not hold are kept. */
static enum region_found
find_denies(struct prover *p)
{
	struct network *n = &p->network;
	const struct box *b = box_at_hand(n);
	struct box **all = n->denies.items;
	struct box *deny;

	if (n->deny == n->denies.n) {
		n->denies.n = n->kept;
		n->deny = 0;
		n->stage = NEXT_DENY;
		return REGION_WAIT;
	}
	deny = all[n->deny];
	if (deny->judged != b->origin->endpoint) {
		enum region_found found = is_denied(p, b, deny);

		if (found == REGION_WAIT)
			return found;
		deny->denied = found == REGION_SOME;
		deny->judged = b->origin->endpoint;
	}
	if (!deny->denied)
		all[n->kept++] = deny;
	n->deny++;
	n->hit = 0;
	return REGION_WAIT;
}

static enum region_found
next_deny(struct prover *p)
{
	struct network *n = &p->network;
	enum region_found found = REGION_NONE;
	const struct box *b = box_at_hand(n);
	const struct box *deny;
	uint16_t last;

	p->s.steps++;
	if (n->deny == n->denies.n) {
		n->at++;
		n->stage = NEXT_BOX;
		return REGION_WAIT;
	}
	deny = deny_at_hand(n);
	region_back(&p->s, n->mark);
	n->denied = n->region;
	if (box_open(p, &n->denied, deny, &last) >= 0)
		found = box_enter(p, &n->denied, deny);
	p->candidates.n = 0;
	if (found == REGION_NONE) {
		n->deny++;
	} else if (found == REGION_SOME) {
		find(p, &n->child_denies, longer(b->host_key, deny->host_key),
		    longer(b->path_key, deny->path_key));
		n->stage = CHOOSE_OWN;
	}
	return REGION_WAIT;
}

/* What the child denies of it itself. */
static enum region_found
choose_own(struct prover *p)
{
	struct network *n = &p->network;
	enum region_found found = choose(p, &n->denied);

	if (found == REGION_SOME) {
		n->deny++;
		n->stage = NEXT_DENY;
	} else if (found == REGION_NONE) {
		order(p);
		diff_start(p, &n->denied);
		n->stage = DENIES;
	}
	return REGION_WAIT;
}

static enum region_found
on_denies(struct prover *p)
{
	struct network *n = &p->network;

	if (next_piece(p, deny_at_hand(n)->origin) == REGION_WAIT)
		return REGION_WAIT;
	n->deny++;
	n->stage = NEXT_DENY;
	return REGION_WAIT;
}

void
network_init(struct prover *p)
{
	p->programs =
	    region_take(&p->s, p->q.child->entries_n + p->q.parent->entries_n,
		sizeof(*p->programs));
	p->candidates.size = sizeof(struct candidate);
	p->network.denies.size = sizeof(struct box *);
}

enum region_found
network_run(struct prover *p)
{
	static enum region_found (*const stages[])(struct prover * p) = {
		[NEXT_ACT] = next_act,
		[NEXT_BOX] = next_box,
		[CHOOSE_ALLOWS] = choose_allows,
		[CHOOSE_DENIES] = choose_allows,
		[ALLOWS] = on_allows,
		[FIND_DENIES] = find_denies,
		[NEXT_DENY] = next_deny,
		[CHOOSE_OWN] = choose_own,
		[DENIES] = on_denies,
	};
	enum region_found found = REGION_WAIT;

	while (found == REGION_WAIT && !region_pauses(&p->s)) {
		if (p->s.searching) {
			(void)region_run(&p->s);
			continue;
		}
		found = stages[p->network.stage](p);
	}
	return p->s.spent ? REGION_WAIT : found;
}
