/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions: products of sets, one a dimension, each the intersection of terms
 *
 *	v in S   or   v not in S
 *
 * A product is empty iff one of its factors is, so a dimension is looked at
 * alone (solve.c). A region keeps, per dimension, a value that fulfils all
 * terms: a new term that this value fulfils too costs nothing, and what is
 * left in the end is the witness.
 *
 * The query is a multimap. Keys are independent; of one key the terms are
 *
 *	ALL_IN A     present, every value in A     ABSENT     not present
 *	SOME_IN A    a value in A                  SOME_OUT A a value not in A
 *	NONE_IN A    no value in A
 *
 * Values may be many, so each SOME may have a value of its own: the terms can
 * be fulfilled iff each SOME alone can, within all ALL_IN and NONE_IN.
 *
 * A host that is an address is dialled at that address.
 */
#include <string.h>

#include "region/inner.h"

struct region_mark
region_mark(const struct region_solver *p)
{
	return (struct region_mark){ p->terms.n, p->values.n };
}

void
region_back(struct region_solver *p, struct region_mark to)
{
	p->terms.n = to.terms;
	p->values.n = to.values;
}

void
region_init(struct region_solver *p, struct region *r)
{
	p->terms.n = 1;
	p->values.n = REGION_DIMS + 1;
	for (uint32_t i = 0; i < REGION_DIMS; i++) {
		r->head[i] = 0;
		r->value[i] = i + 1;
	}
}

static const struct term *
term_at(const struct region_solver *p, uint32_t id)
{
	return (const struct term *)p->terms.items + id;
}

/* --- terms */

static void
gather(struct region_solver *p, uint32_t head)
{
	p->in.n = p->out.n = 0;
	for (; head && !p->spent; head = term_at(p, head)->next) {
		const struct term *t = term_at(p, head);

		side_add(p, t->mode == REGION_IN ? &p->in : &p->out, t->set);
	}
}

static bool
term_add(struct region_solver *p, uint32_t *head,
    const struct region_literal *l, enum region_mode mode)
{
	struct term *t = region_pool_add(p, &p->terms);

	if (!t)
		return false;
	*t = (struct term){ l->set, *head, l->key, (uint8_t)mode };
	*head = p->terms.n - 1;
	return true;
}

/* --- the query */

static bool
is_some(uint8_t mode)
{
	return mode == REGION_SOME_IN || mode == REGION_SOME_OUT;
}

struct pairs {
	struct policy_pair *pair;
	size_t room;
	size_t n;
};

static void
pair_add(struct region_solver *p, struct pairs *w, uint16_t key, uint32_t value)
{
	struct policy_pair pair = { ((struct span *)p->keys.items)[key],
		region_value(p, value)->s };

	for (size_t i = 0; w && i < w->n; i++)
		if (span_equal(w->pair[i].key, pair.key) &&
		    span_equal(w->pair[i].value, pair.value))
			return;
	if (w && w->n < w->room)
		w->pair[w->n++] = pair;
}

/* A value of that key that fulfils its term `some` too; 0: no such term. */
static enum region_found
solve_key(struct region_solver *p, const struct region *r, uint16_t key,
    uint32_t some, uint32_t *value)
{
	p->in.n = p->out.n = 0;
	for (uint32_t i = r->head[REGION_QUERY]; i; i = term_at(p, i)->next) {
		const struct term *t = term_at(p, i);
		bool in = t->mode == REGION_ALL_IN || t->mode == REGION_SOME_IN;

		p->steps++;
		if (t->key == key && t->mode != REGION_ABSENT &&
		    (!is_some(t->mode) || i == some) &&
		    !(in && t->set == REGION_ALL))
			side_add(p, in ? &p->in : &p->out, t->set);
	}
	return solve(p, REGION_QUERY, value);
}

/* All terms of the key can be fulfilled; what does is added to w. */
static enum region_found
key_check(struct region_solver *p, const struct region *r, uint16_t key,
    struct pairs *w)
{
	bool absent = false;
	bool present = false;
	bool some = false;
	enum region_found found = REGION_SOME;
	uint32_t value = 0;

	for (uint32_t i = r->head[REGION_QUERY]; i; i = term_at(p, i)->next) {
		const struct term *t = term_at(p, i);

		if (t->key != key)
			continue;
		absent = absent || t->mode == REGION_ABSENT;
		present = present || t->mode == REGION_ALL_IN;
		if (!is_some(t->mode))
			continue;
		some = true;
		found = solve_key(p, r, key, i, &value);
		if (found != REGION_SOME)
			return found;
		pair_add(p, w, key, value);
	}
	if (absent)
		return present || some ? REGION_NONE : REGION_SOME;
	if (present && !some) {
		found = solve_key(p, r, key, 0, &value);
		if (found == REGION_SOME)
			pair_add(p, w, key, value);
	}
	return found;
}

bool
region_query(struct region_solver *p, const struct region *r,
    struct policy_pair *pair, size_t room, size_t *n)
{
	struct pairs w = { pair, room, 0 };

	for (uint32_t k = 1; k < p->keys.n; k++) {
		bool asked = false;

		for (uint32_t i = r->head[REGION_QUERY]; i && !asked;
		     i = term_at(p, i)->next)
			asked = term_at(p, i)->key == k;
		if (asked && key_check(p, r, (uint16_t)k, &w) != REGION_SOME)
			return false;
	}
	*n = w.n;
	return true;
}

static enum region_found
query_add(struct region_solver *p, struct region *r,
    const struct region_literal *l, enum region_mode mode)
{
	uint32_t head = r->head[REGION_QUERY];
	uint32_t mark = p->terms.n;
	enum region_found found = REGION_WAIT;

	if (term_add(p, &r->head[REGION_QUERY], l, mode))
		found = key_check(p, r, l->key, NULL);
	if (found == REGION_SOME)
		return found;
	r->head[REGION_QUERY] = head;
	p->terms.n = mark;
	return found;
}

/* --- a term more */

static enum region_found
plain_add(struct region_solver *p, struct region *r,
    const struct region_literal *l, enum region_mode mode)
{
	enum region_found found = REGION_SOME;
	uint32_t value = r->value[l->dim];

	if (l->set == REGION_ALL)
		return mode == REGION_IN ? REGION_SOME : REGION_NONE;
	if (set_holds(p, l->set, region_value(p, value)) !=
	    (mode == REGION_IN)) {
		gather(p, r->head[l->dim]);
		side_add(p, mode == REGION_IN ? &p->in : &p->out, l->set);
		found = solve(p, (enum region_dim)l->dim, &value);
	}
	if (found != REGION_SOME)
		return found;
	if (!term_add(p, &r->head[l->dim], l, mode))
		return REGION_WAIT;
	r->value[l->dim] = value;
	return REGION_SOME;
}

enum region_found
region_add(struct region_solver *p, struct region *r,
    const struct region_literal *l, enum region_mode mode)
{
	struct region_literal same = { .dim = REGION_ADDRESS };
	enum region_found found;

	if (l->dim == REGION_QUERY)
		return query_add(p, r, l, mode);
	found = plain_add(p, r, l, mode);
	if (found != REGION_SOME || l->dim != REGION_HOST ||
	    mode != REGION_IN || !set_at(p, l->set)->is_address)
		return found;
	same.set = set_at(p, l->set)->same;
	return plain_add(p, r, &same, REGION_IN);
}

/* A value of r outside all of l in that dimension, where they are terms now. */
static enum region_found
value_outside(struct region_solver *p, struct region *r, enum region_dim dim,
    const struct region_literal *l, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (l[i].dim == dim &&
		    set_holds(p, l[i].set, region_value(p, r->value[dim]))) {
			gather(p, r->head[dim]);
			return solve(p, dim, &r->value[dim]);
		}
	return REGION_SOME;
}

enum region_found
region_cut(struct region_solver *p, struct region *r,
    const struct region_literal *l, size_t n)
{
	struct region all = *r;
	uint32_t mark = p->terms.n;
	enum region_found found = REGION_SOME;

	for (size_t i = 0; i < n; i++)
		if (!term_add(p, &all.head[l[i].dim], &l[i], REGION_OUT))
			return REGION_WAIT;
	for (int dim = 0; dim < REGION_DIMS && found == REGION_SOME; dim++)
		if (all.head[dim] != r->head[dim])
			found =
			    value_outside(p, &all, (enum region_dim)dim, l, n);
	if (found == REGION_SOME)
		*r = all;
	else
		p->terms.n = mark;
	return found;
}

bool
region_inside(struct region_solver *p, const struct region *r,
    const struct region_literal *l)
{
	for (uint32_t i = r->head[l->dim]; i; i = term_at(p, i)->next) {
		const struct term *t = term_at(p, i);

		if (l->dim == REGION_QUERY
			? t->key == l->key && t->mode == l->mode &&
			    t->set == l->set
			: t->mode == REGION_IN && set_inside(p, t->set, l->set))
			return true;
	}
	return l->set == REGION_ALL && l->dim != REGION_QUERY;
}

bool
region_apart(struct region_solver *p, const struct region *r,
    const struct region_literal *l)
{
	if (l->dim == REGION_QUERY)
		return false;
	for (uint32_t i = r->head[l->dim]; i; i = term_at(p, i)->next)
		if (term_at(p, i)->mode == REGION_IN &&
		    set_apart(p, term_at(p, i)->set, l->set))
			return true;
	return false;
}
