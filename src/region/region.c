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

enum {
	SOMES_MOST = 5, /* of one key, to be shared out among values */
};

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

/* In the order of keys, and of the values of a key. */
static void
pair_add(struct region_solver *p, struct pairs *w, uint16_t key, uint32_t value)
{
	struct span name = ((struct span *)p->keys.items)[key];
	const struct region_value *v = region_value(p, value);
	size_t at = w->n;

	if (w->n == w->room) {
		p->spent = true;
		return;
	}
	for (; at > 0 && w->pair[at - 1].key.ptr == name.ptr; at--) {
		struct region_value before = { .s = w->pair[at - 1].value };

		if (region_compare(REGION_QUERY, &before, v) <= 0)
			break;
		w->pair[at] = w->pair[at - 1];
	}
	w->pair[at] = (struct policy_pair){ name, v->s };
	w->n++;
}

/* Some of the SOME terms of a key: one by its number, or by their order. */
struct somes {
	uint32_t one;
	uint32_t mask;
};

/* A value of that key that fulfils those SOME terms too. */
static enum region_found
solve_key(struct region_solver *p, const struct region *r, uint16_t key,
    struct somes of, uint32_t *value)
{
	p->in.n = p->out.n = 0;
	for (uint32_t i = r->head[REGION_QUERY]; i; i = term_at(p, i)->next) {
		const struct term *t = term_at(p, i);
		bool in = t->mode == REGION_ALL_IN || t->mode == REGION_SOME_IN;

		p->steps++;
		if (t->key != key || t->mode == REGION_ABSENT)
			continue;
		if (is_some(t->mode)) {
			bool taken = i == of.one || (of.mask & 1);

			of.mask >>= 1;
			if (!taken)
				continue;
		}
		if (!(in && t->set == REGION_ALL))
			side_add(p, in ? &p->in : &p->out, t->set);
	}
	return solve(p, REGION_QUERY, value);
}

/* All terms of the key can be fulfilled; how many there are with SOME. */
static enum region_found
key_check(struct region_solver *p, const struct region *r, uint16_t key,
    uint32_t *somes, bool *present)
{
	bool absent = false;
	enum region_found found = REGION_SOME;
	uint32_t value;

	*somes = 0;
	*present = false;
	for (uint32_t i = r->head[REGION_QUERY]; i; i = term_at(p, i)->next) {
		const struct term *t = term_at(p, i);

		if (!region_step(p, 1))
			return REGION_WAIT;
		if (t->key != key)
			continue;
		absent = absent || t->mode == REGION_ABSENT;
		*present = *present || t->mode == REGION_ALL_IN;
		if (!is_some(t->mode))
			continue;
		++*somes;
		found = solve_key(p, r, key, (struct somes){ i, 0 }, &value);
		if (found != REGION_SOME)
			return found;
	}
	if (absent)
		return *present || *somes ? REGION_NONE : REGION_SOME;
	if (*present && *somes == 0)
		found = solve_key(p, r, key, (struct somes){ 0 }, &value);
	return found;
}

/*
 * The least values for n SOME terms of a key: one value may do for some of
 * them. best(T) = min over G <= T of alone(G) + best(T - G).
 */
static enum region_found
values_least(struct region_solver *p, const struct region *r, uint16_t key,
    uint32_t n, struct pairs *w)
{
	struct {
		uint32_t value;
		uint32_t group; /* that it begins with */
		size_t alone;
		size_t all;
	} best[1 << SOMES_MOST];
	const size_t never = SIZE_MAX / 2;
	size_t fixed = ((struct span *)p->keys.items)[key].len + 2;

	best[0].all = 0;
	for (uint32_t t = 1; t < 1u << n; t++) {
		enum region_found found = solve_key(p, r, key,
		    (struct somes){ 0, t }, &best[t].value);

		if (found == REGION_WAIT)
			return found;
		best[t].alone = best[t].all = never;
		best[t].group = t;
		if (found == REGION_SOME)
			best[t].alone = best[t].all = fixed +
			    region_weight(region_value(p, best[t].value)->s);
		for (uint32_t g = (t - 1) & t; g; g = (g - 1) & t)
			if (best[g].alone + best[t ^ g].all < best[t].all) {
				best[t].all = best[g].alone + best[t ^ g].all;
				best[t].group = g;
			}
	}
	for (uint32_t t = (1u << n) - 1; t; t ^= best[t].group)
		pair_add(p, w, key, best[best[t].group].value);
	return REGION_SOME;
}

/* A pair of w does for that term. */
static bool
is_shown(struct region_solver *p, const struct term *t, const struct pairs *w,
    size_t from)
{
	for (size_t i = from; i < w->n; i++)
		if (set_holds(p, t->set,
			&(struct region_value){ .s = w->pair[i].value }) ==
		    (t->mode == REGION_SOME_IN))
			return true;
	return false;
}

/* For many SOME terms, or none: few values, not always the fewest. */
static enum region_found
values_few(struct region_solver *p, const struct region *r, uint16_t key,
    bool none, struct pairs *w)
{
	size_t from = w->n;
	uint32_t value = 0;
	enum region_found found = REGION_SOME;

	if (none) {
		found = solve_key(p, r, key, (struct somes){ 0 }, &value);
		if (found == REGION_SOME)
			pair_add(p, w, key, value);
		return found;
	}
	for (uint32_t i = r->head[REGION_QUERY]; i && found == REGION_SOME;
	     i = term_at(p, i)->next) {
		const struct term *t = term_at(p, i);

		if (t->key != key || !is_some(t->mode) ||
		    is_shown(p, t, w, from))
			continue;
		found = solve_key(p, r, key, (struct somes){ i, 0 }, &value);
		if (found == REGION_SOME)
			pair_add(p, w, key, value);
	}
	return found;
}

/* What fulfils the terms of the key, to w. */
static enum region_found
key_spell(struct region_solver *p, const struct region *r, uint16_t key,
    struct pairs *w)
{
	uint32_t somes;
	bool present;
	enum region_found found = key_check(p, r, key, &somes, &present);

	if (found != REGION_SOME || (somes == 0 && !present))
		return found;
	return somes > 0 && somes <= SOMES_MOST
	    ? values_least(p, r, key, somes, w)
	    : values_few(p, r, key, somes == 0, w);
}

bool
region_query(struct region_solver *p, const struct region *r,
    struct policy_pair *pair, size_t room, size_t *n)
{
	struct pairs w = { pair, room, 0 };

	for (uint32_t k = 1; k < p->keys.n; k++) {
		bool asked = false;

		for (uint32_t i = r->head[REGION_QUERY];
		     i && !asked && region_step(p, 1); i = term_at(p, i)->next)
			asked = term_at(p, i)->key == k;
		if (asked && key_spell(p, r, (uint16_t)k, &w) != REGION_SOME)
			return false;
	}
	*n = w.n;
	return !p->spent;
}

static enum region_found
query_add(struct region_solver *p, struct region *r,
    const struct region_literal *l, enum region_mode mode)
{
	uint32_t head = r->head[REGION_QUERY];
	uint32_t mark = p->terms.n;
	uint32_t somes;
	bool present;
	enum region_found found = REGION_WAIT;

	if (term_add(p, &r->head[REGION_QUERY], l, mode))
		found = key_check(p, r, l->key, &somes, &present);
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
	if (p->spent)
		return REGION_WAIT;
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
	return p->spent ? REGION_WAIT : REGION_SOME;
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

/* A term behind it demands the key, too. */
static bool
has_twin(struct region_solver *p, const struct term *of)
{
	for (uint32_t i = of->next; i && region_step(p, 1);
	     i = term_at(p, i)->next)
		if (term_at(p, i)->key == of->key &&
		    term_at(p, i)->mode == REGION_ALL_IN)
			return true;
	return false;
}

size_t
region_query_least(struct region_solver *p, const struct region *r)
{
	size_t n = 0;

	for (uint32_t i = r->head[REGION_QUERY]; i && region_step(p, 1);
	     i = term_at(p, i)->next) {
		const struct term *t = term_at(p, i);

		if (t->mode == REGION_ALL_IN && !has_twin(p, t))
			n += ((struct span *)p->keys.items)[t->key].len + 3;
	}
	return n;
}

/*
 * What is seen at once of a query literal where the key has values of a finite
 * set only: all that may be there are in l, or none, or neither.
 */
static enum region_found
known_values(struct region_solver *p, const struct region *r,
    const struct region_literal *l, const struct set *of)
{
	bool some = false;
	bool other = false;

	for (uint32_t k = 0; k < of->n && !p->spent; k++) {
		struct region_value v = { .s = of->glob[k]->text };
		bool may = true;

		for (uint32_t i = r->head[REGION_QUERY]; i && may;
		     i = term_at(p, i)->next) {
			const struct term *t = term_at(p, i);

			may = t->key != l->key ||
			    (t->mode != REGION_ALL_IN &&
				t->mode != REGION_NONE_IN) ||
			    set_holds(p, t->set, &v) ==
				(t->mode == REGION_ALL_IN);
		}
		if (may && set_holds(p, l->set, &v))
			some = true;
		else
			other = other || may;
	}
	if (p->spent || (some && other))
		return REGION_WAIT;
	return some ? REGION_SOME : REGION_NONE;
}

/* SOME: r is inside the query literal; NONE: apart from it; WAIT: not seen. */
static enum region_found
known(struct region_solver *p, const struct region *r,
    const struct region_literal *l)
{
	const struct set *finite = NULL;

	for (uint32_t i = r->head[REGION_QUERY]; i && region_step(p, 1);
	     i = term_at(p, i)->next) {
		const struct term *t = term_at(p, i);

		if (t->key != l->key)
			continue;
		if (t->mode == l->mode && t->set == l->set)
			return REGION_SOME;
		if (t->mode == REGION_ABSENT)
			return REGION_NONE;
		if (t->mode == REGION_ALL_IN && set_at(p, t->set)->finite)
			finite = set_at(p, t->set);
	}
	return finite ? known_values(p, r, l, finite) : REGION_WAIT;
}

bool
region_inside(struct region_solver *p, const struct region *r,
    const struct region_literal *l)
{
	if (l->dim == REGION_QUERY)
		return known(p, r, l) == REGION_SOME;
	for (uint32_t i = r->head[l->dim]; i; i = term_at(p, i)->next) {
		const struct term *t = term_at(p, i);

		if (t->mode == REGION_IN &&
		    region_set_inside(p, t->set, l->set))
			return true;
	}
	return l->set == REGION_ALL;
}

bool
region_apart(struct region_solver *p, const struct region *r,
    const struct region_literal *l)
{
	if (l->dim == REGION_QUERY)
		return known(p, r, l) == REGION_NONE;
	for (uint32_t i = r->head[l->dim]; i; i = term_at(p, i)->next)
		if (term_at(p, i)->mode == REGION_IN &&
		    set_apart(p, term_at(p, i)->set, l->set))
			return true;
	return false;
}
