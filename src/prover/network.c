/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network, act by act. With allow boxes Ci and denies Cd of the child, Pj
 * and Pd of the parent, an excess is a request in
 *
 *	Ci - Cd - P1 - .. - Pn      no endpoint of the parent allows it, or
 *	Ci & Pd - Cd                an endpoint of the parent denies it
 *
 * for some i (and some Pd). Only boxes that may meet Ci are looked at. Of
 * those to take away, the ones that hold Ci in most dimensions come first: if
 * it is all of them, nothing is left and nothing was searched.
 */
#include <string.h>

#include "prover/inner.h"

enum stage {
	NEXT_ACT,
	NEXT_BOX,
	ENTER_BOX,
	ALLOWS,
	NEXT_DENY,
	ENTER_DENY,
	DENIES,
};

enum {
	OPEN_MOST =
	    64, /* dimensions a box may leave open; more count as that */
};

struct candidate {
	const struct box *box;
	int open; /* dimensions */
};

/* The terms of a region, of one box on top of another. */
static enum found
enter(struct prover *p, struct region *r, const struct box *b)
{
	const struct literal *l = box_literals(p, b);
	struct region all = *r;
	uint32_t mark = p->terms.n;

	for (uint16_t i = 0; i < b->n; i++) {
		enum found found =
		    region_add(p, &all, &l[i], (enum mode)l[i].mode);

		if (found != FOUND_SOME) {
			p->terms.n = mark;
			return found;
		}
	}
	*r = all;
	return FOUND_SOME;
}

/* Dimensions in which r may reach out of b; -1: they are apart. */
static int
open_dims(struct prover *p, const struct region *r, const struct box *b)
{
	const struct literal *l = box_literals(p, b);
	int open = 0;

	for (uint16_t i = 0; i < b->n; i++) {
		if (region_inside(p, r, &l[i]))
			continue;
		if (region_apart(p, r, &l[i]))
			return -1;
		open++;
	}
	return open < OPEN_MOST ? open : OPEN_MOST - 1;
}

/* Boxes of p->hits that may take something from r behind those of list. */
static void
choose(struct prover *p, const struct region *r, struct pool *list)
{
	for (uint32_t i = 0; i < p->hits.n && !p->spent; i++) {
		const struct box *b = ((const struct box **)p->hits.items)[i];
		int open = open_dims(p, r, b);
		struct candidate *to;

		if (open < 0)
			continue;
		to = pool_add(p, list);
		if (to)
			*to = (struct candidate){ b, open };
	}
}

/* The candidates into p->minus, nearly holding ones first. True: one holds. */
static bool
order(struct prover *p)
{
	const struct candidate *c = p->candidates.items;

	p->minus.n = 0;
	for (int open = 0; open < OPEN_MOST; open++) {
		bool more = false;

		for (uint32_t i = 0; i < p->candidates.n; i++) {
			const struct box **to;

			more = more || c[i].open > open;
			if (c[i].open != open)
				continue;
			to = pool_add(p, &p->minus);
			if (!to)
				return false;
			*to = c[i].box;
		}
		if (open == 0 && p->minus.n > 0)
			return true;
		if (!more)
			break;
	}
	return false;
}

/* What is to be taken from the region of box at hand; true: all of it. */
static bool
gather_allows(struct prover *p, const struct box *b)
{
	struct network *n = &p->network;

	p->candidates.n = 0;
	index_find(p, &n->child_denies, b->host_key, b->path_key);
	choose(p, &n->region, &p->candidates);
	index_find(p, &n->parent, b->host_key, b->path_key);
	choose(p, &n->region, &p->candidates);
	return order(p);
}

static struct key
longer(struct key a, struct key b)
{
	return a.s.len + a.whole > b.s.len + b.whole ? a : b;
}

/* Each literal of b says no more than r, or than a literal of deny. */
static bool
is_said(struct prover *p, const struct region *r, const struct box *deny,
    const struct box *b)
{
	const struct literal *x = box_literals(p, b);
	const struct literal *y = box_literals(p, deny);

	for (uint16_t i = 0; i < b->n; i++) {
		bool said = region_inside(p, r, &x[i]);

		for (uint16_t k = 0; k < deny->n && !said; k++)
			said = x[i].dim == y[k].dim && x[i].key == y[k].key &&
			    x[i].set == y[k].set;
		if (!said)
			return false;
	}
	return true;
}

/* The child's denies near one of the parent, into p->hits. True: one of them
 * is that very deny. */
static bool
hit_denies(struct prover *p, const struct box *b, const struct box *deny)
{
	struct network *n = &p->network;

	index_find(p, &n->child_denies, longer(b->host_key, deny->host_key),
	    longer(b->path_key, deny->path_key));
	for (uint32_t i = 0; i < p->hits.n; i++)
		if (is_said(p, &n->region, deny,
			((const struct box **)p->hits.items)[i]))
			return true;
	return false;
}

static void
find_denies(struct prover *p, const struct box *b)
{
	struct network *n = &p->network;

	n->denies.n = 0;
	n->deny = 0;
	index_find(p, &n->parent_denies, b->host_key, b->path_key);
	choose(p, &n->region, &n->denies);
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

	n->at = 0;
	return boxes_of(p, &p->q.child->allows, n->act, &n->child) &&
	    boxes_of(p, &p->q.child->denies, n->act, &n->child_denies) &&
	    boxes_of(p, &p->q.parent->allows, n->act, &n->parent) &&
	    boxes_of(p, &p->q.parent->denies, n->act, &n->parent_denies);
}

static const struct box *
box_at_hand(const struct network *n)
{
	return (const struct box *)n->child.box.items + n->at;
}

static const struct box *
deny_at_hand(const struct network *n)
{
	return ((const struct candidate *)n->denies.items)[n->deny].box;
}

/* The tool method is an act of its own. */
static enum found
enter_box(struct prover *p)
{
	struct network *n = &p->network;
	const struct span call = SPAN_LIT("tools/call");
	struct literal not_call = { .dim = DIM_RPC };
	enum found found;

	p->terms.n = 1;
	region_init(&n->region);
	if (n->act == ACT_METHOD) {
		not_call.set = set_literals(p, DIM_RPC, &call, 1);
		found = region_add(p, &n->region, &not_call, OUT);
		if (found != FOUND_SOME)
			return found;
	}
	return enter(p, &n->region, box_at_hand(n));
}

/* --- stages: WAIT is "go on", in the stage that is set */

static enum found
next_act(struct prover *p)
{
	struct network *n = &p->network;

	if (n->act == ACTS)
		return FOUND_NONE;
	if (act_needed(p->q.child, n->act) && act_begin(p))
		n->stage = NEXT_BOX;
	else
		n->act++;
	return FOUND_WAIT;
}

static enum found
next_box(struct prover *p)
{
	struct network *n = &p->network;

	if (n->at == n->child.box.n) {
		n->act++;
		n->stage = NEXT_ACT;
	} else if (act_matters(box_at_hand(n)->origin->endpoint->kind,
		       n->act)) {
		n->stage = ENTER_BOX;
	} else {
		n->at++;
	}
	return FOUND_WAIT;
}

static enum found
on_box(struct prover *p)
{
	struct network *n = &p->network;
	enum found found = enter_box(p);

	if (found == FOUND_WAIT)
		return found;
	n->stage = ALLOWS;
	n->mark = p->terms.n;
	if (found == FOUND_NONE) { /* it allows nothing */
		n->at++;
		n->stage = NEXT_BOX;
	} else if (gather_allows(p, box_at_hand(n))) {
		p->frames.n = 0;
	} else {
		diff_start(p, &n->region);
	}
	return FOUND_WAIT;
}

static enum found
on_allows(struct prover *p)
{
	struct network *n = &p->network;
	struct region left;
	enum found found = diff_run(p, &left);

	if (found == FOUND_SOME)
		tell_network(p, &left, n->act, box_at_hand(n)->origin, NULL);
	if (found != FOUND_NONE)
		return found;
	find_denies(p, box_at_hand(n));
	n->stage = NEXT_DENY;
	return FOUND_WAIT;
}

static enum found
next_deny(struct prover *p)
{
	struct network *n = &p->network;

	n->stage = ENTER_DENY;
	if (n->deny == n->denies.n) {
		n->at++;
		n->stage = NEXT_BOX;
	}
	return FOUND_WAIT;
}

static enum found
on_deny(struct prover *p)
{
	struct network *n = &p->network;
	struct region both = n->region;
	enum found found;

	p->terms.n = n->mark;
	found = hit_denies(p, box_at_hand(n), deny_at_hand(n))
	    ? FOUND_NONE
	    : enter(p, &both, deny_at_hand(n));
	if (found == FOUND_WAIT)
		return found;
	p->candidates.n = 0;
	if (found == FOUND_SOME)
		choose(p, &both, &p->candidates);
	if (found == FOUND_NONE || order(p)) {
		n->deny++;
		n->stage = NEXT_DENY;
	} else {
		diff_start(p, &both);
		n->stage = DENIES;
	}
	return FOUND_WAIT;
}

static enum found
on_denies(struct prover *p)
{
	struct network *n = &p->network;
	struct region left;
	enum found found = diff_run(p, &left);

	if (found == FOUND_SOME)
		tell_network(p, &left, n->act, box_at_hand(n)->origin,
		    deny_at_hand(n)->origin);
	if (found != FOUND_NONE)
		return found;
	n->deny++;
	n->stage = NEXT_DENY;
	return FOUND_WAIT;
}

void
network_init(struct prover *p)
{
	p->candidates.size = p->network.denies.size = sizeof(struct candidate);
}

enum found
network_run(struct prover *p)
{
	static enum found (*const stages[])(struct prover * p) = {
		[NEXT_ACT] = next_act,
		[NEXT_BOX] = next_box,
		[ENTER_BOX] = on_box,
		[ALLOWS] = on_allows,
		[NEXT_DENY] = next_deny,
		[ENTER_DENY] = on_deny,
		[DENIES] = on_denies,
	};
	enum found found = FOUND_WAIT;

	while (found == FOUND_WAIT && !p->spent && p->steps < p->until) {
		if (p->searching) {
			struct span s = { NULL, 0 };

			found = search_run(p, &s);
			if (found != FOUND_WAIT && !p->spent)
				solve_done(p, found, s);
			found = FOUND_WAIT;
		} else {
			p->steps++;
			found = stages[p->network.stage](p);
		}
	}
	return p->spent ? FOUND_WAIT : found;
}
