/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions: products of sets, one a dimension, each the intersection of terms
 *
 *	v in S   or   v not in S
 *
 * A product is empty iff one of its factors is, so a dimension is looked at
 * alone. A region keeps, per dimension, a value that fulfils all terms: a new
 * term that this value fulfils too costs nothing, and what is left in the end
 * is the witness. Otherwise: finite sets are gone through; intervals have
 * their least common point at the begin of an interval; strings are searched
 * (search.c), and the answer is kept by the numbers of the sets.
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

#include "prover/inner.h"

struct memo {
	uint64_t hash;
	const uint32_t *key; /* dim, ins, SPLIT, outs */
	uint32_t n;
	uint32_t value; /* 0: there is none */
};

enum {
	SPLIT = UINT32_MAX,
	GUESS = 256, /* bytes */
};

const struct value *
value_at(const struct prover *p, uint32_t id)
{
	return (const struct value *)p->values.items + id;
}

static uint32_t
value_add(struct prover *p, struct value v)
{
	struct value *to = pool_add(p, &p->values);

	if (!to)
		return 0;
	*to = v;
	return p->values.n - 1;
}

void
solve_init(struct prover *p)
{
	static const char *const plainest[DIMS] = { [DIM_HOST] = "a",
		[DIM_PATH] = "/",
		[DIM_METHOD] = "GET",
		[DIM_RPC] = "a",
		[DIM_TOOL] = "a",
		[DIM_PROGRAM] = "/a" };

	p->memo.size = sizeof(struct memo);
	(void)pool_add(p, &p->terms);
	(void)value_add(p, (struct value){ .use = POLICY_USE_NONE });
	for (size_t i = 0; i < DIMS; i++)
		(void)value_add(p,
		    (struct value){ .s = span_str(plainest[i]) });
}

void
region_init(struct region *r)
{
	for (uint32_t i = 0; i < DIMS; i++) {
		r->head[i] = 0;
		r->value[i] = i + 1;
	}
}

static const struct term *
term_at(const struct prover *p, uint32_t id)
{
	return (const struct term *)p->terms.items + id;
}

/* --- one dimension */

static bool
fits(struct prover *p, const struct value *v)
{
	const uint32_t *in = p->in.items;
	const uint32_t *out = p->out.items;

	for (uint32_t i = 0; i < p->in.n; i++)
		if (!set_holds(p, in[i], v))
			return false;
	for (uint32_t i = 0; i < p->out.n; i++)
		if (set_holds(p, out[i], v))
			return false;
	return true;
}

static enum found
solve_finite(struct prover *p, enum dim dim, const struct set *of,
    struct value *best)
{
	enum found found = FOUND_NONE;

	for (uint32_t i = 0; i < of->n; i++) {
		struct value v = { .s = of->glob[i]->text };

		if (found == FOUND_SOME && v.s.len >= best->s.len)
			continue;
		if (!fits(p, &v) ||
		    !(of->is_address || universe_holds(dim, v.s)))
			continue;
		*best = v;
		found = FOUND_SOME;
	}
	return found;
}

/* Every token is a method, so there is always another. */
static enum found
solve_method(struct prover *p, struct value *v)
{
	static const char *const plain[] = { "GET", "POST", "DELETE", "PUT",
		"PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT", "X-PROBE" };

	for (size_t i = 0; i < NELEM(plain); i++) {
		v->s = span_str(plain[i]);
		if (fits(p, v))
			return FOUND_SOME;
	}
	for (uint32_t i = 1; !p->spent; i++) {
		const char *s = arena_fmt(p->arena, "X-PROBE-%u", i);

		p->spent = p->spent || !s;
		v->s = span_str(s);
		if (fits(p, v))
			return FOUND_SOME;
	}
	return FOUND_NONE;
}

static struct policy_address
after(struct policy_address a)
{
	a.low++;
	a.high += a.low == 0;
	return a;
}

static void
try_point(struct prover *p, struct policy_address a, struct value *best,
    enum found *found)
{
	struct value v = { .a = a };

	if (*found == FOUND_SOME && policy_address_compare(a, best->a) >= 0)
		return;
	if (fits(p, &v)) {
		*best = v;
		*found = FOUND_SOME;
	}
}

static enum found
solve_ranges(struct prover *p, enum dim dim, struct value *best)
{
	const struct policy_address plain[] = { policy_address_v4(0x01010101),
		policy_address_v4(0x0a000001), policy_address_v4(0xac100001),
		policy_address_v4(0xc0a80001), policy_address_v4(0x64400001),
		{ 0xfd00000000000000, 1 } };
	const struct policy_address ports[] = { { 0, 443 }, { 0, 80 } };
	bool is_port = dim == DIM_PORT;
	enum found found = FOUND_NONE;

	for (size_t i = 0; i < (is_port ? NELEM(ports) : NELEM(plain)); i++) {
		try_point(p, is_port ? ports[i] : plain[i], best, &found);
		if (found == FOUND_SOME)
			return found;
	}
	for (uint32_t i = 0; i < p->in.n; i++) {
		const struct set *s = set_at(p, ((uint32_t *)p->in.items)[i]);

		for (uint32_t k = 0; k < s->n; k++)
			try_point(p, s->range[k].first, best, &found);
	}
	for (uint32_t i = 0; i < p->out.n; i++) {
		const struct set *s = set_at(p, ((uint32_t *)p->out.items)[i]);

		for (uint32_t k = 0; k < s->n; k++)
			try_point(p, after(s->range[k].last), best, &found);
	}
	return found;
}

static enum found
solve_uses(struct prover *p, struct value *v)
{
	uint32_t first = p->in.n ? *(uint32_t *)p->in.items : SET_ALL;

	v->use = POLICY_USE_NONE;
	if (fits(p, v))
		return FOUND_SOME;
	if (first == SET_ALL)
		return FOUND_NONE;
	v->of = set_at(p, first)->uses;
	for (unsigned u = 1; u <= POLICY_USE_BODY; u++) {
		v->use = (enum policy_use)u;
		if (uses_serve(v->of, v->use) && fits(p, v))
			return FOUND_SOME;
	}
	return FOUND_NONE;
}

/* --- strings, searched once */

static void
sort_ids(uint32_t *id, uint32_t n)
{
	for (uint32_t gap = n / 2; gap > 0; gap /= 2)
		for (uint32_t i = gap; i < n; i++)
			for (uint32_t k = i; k >= gap && id[k - gap] > id[k];
			     k -= gap) {
				uint32_t t = id[k];

				id[k] = id[k - gap];
				id[k - gap] = t;
			}
}

static void
push(struct prover *p, struct pool *to, uint32_t id)
{
	uint32_t *at = pool_add(p, to);

	if (at)
		*at = id;
}

/* The question into p->asked; its hash. */
static uint64_t
ask(struct prover *p, enum dim dim)
{
	uint64_t hash = dim;
	uint32_t *in = p->in.items;
	uint32_t *out = p->out.items;

	sort_ids(in, p->in.n);
	sort_ids(out, p->out.n);
	p->steps += (p->in.n + p->out.n) / 2;
	p->asked.n = 0;
	push(p, &p->asked, (uint32_t)dim);
	for (uint32_t i = 0; i < p->in.n; i++)
		push(p, &p->asked, in[i]);
	push(p, &p->asked, SPLIT);
	for (uint32_t i = 0; i < p->out.n; i++)
		if (i == 0 || out[i] != out[i - 1])
			push(p, &p->asked, out[i]);
	for (uint32_t i = 0; !p->spent && i < p->asked.n; i++) {
		hash = (hash ^ ((uint32_t *)p->asked.items)[i]) *
		    0x9e3779b97f4a7c15;
		hash ^= hash >> 29;
	}
	return hash;
}

static const struct memo *
memo_find(const struct prover *p, uint64_t hash)
{
	uint32_t at;

	for (uint64_t i = hash; p->memo_slots_n > 0; i++) {
		const struct memo *m;

		at = p->memo_slots[i & (p->memo_slots_n - 1)];
		if (at == 0)
			break;
		m = (const struct memo *)p->memo.items + (at - 1);
		if (m->hash == hash && m->n == p->asked.n &&
		    memcmp(m->key, p->asked.items, m->n * sizeof(*m->key)) == 0)
			return m;
	}
	return NULL;
}

static bool
memo_room(struct prover *p)
{
	uint32_t n = p->memo_slots_n ? p->memo_slots_n * 2 : 64;
	uint32_t *slots;

	if (p->memo.n * 2 < p->memo_slots_n)
		return true;
	slots = take(p, n, sizeof(*slots));
	if (!slots)
		return false;
	for (uint32_t i = 0; i < p->memo.n; i++) {
		uint64_t at = ((struct memo *)p->memo.items)[i].hash;

		while (slots[at & (n - 1)])
			at++;
		slots[at & (n - 1)] = i + 1;
	}
	p->memo_slots = slots;
	p->memo_slots_n = n;
	return true;
}

void
solve_done(struct prover *p, enum found found, struct span s)
{
	uint32_t *key = take(p, p->asked.n, sizeof(*key));
	struct memo *m = key && memo_room(p) ? pool_add(p, &p->memo) : NULL;
	uint64_t at = p->asked_hash;

	p->searching = false;
	if (!m)
		return;
	memcpy(key, p->asked.items, p->asked.n * sizeof(*key));
	*m =
	    (struct memo){ .hash = p->asked_hash, .key = key, .n = p->asked.n };
	if (found == FOUND_SOME)
		m->value = value_add(p, (struct value){ .s = s });
	while (p->memo_slots[at & (p->memo_slots_n - 1)])
		at++;
	p->memo_slots[at & (p->memo_slots_n - 1)] = p->memo.n;
}

/* A glob with `fill` in each hole, if that fits: with none it is the shortest
 * there can be, and with one byte too where none is no string of U. */
static bool
guess(struct prover *p, enum dim dim, const struct policy_glob *g, bool fill,
    struct value *v)
{
	uint8_t room[GUESS] = { 0 };
	size_t n = 0;

	if (g->n > GUESS)
		return false;
	for (uint32_t i = 0; i < g->n; i++) {
		if (g->steps[i] == POLICY_STEP_FORK)
			i += 2; /* stands for nothing */
		else if (g->steps[i] < POLICY_STEP_STAR)
			room[n++] = (uint8_t)g->steps[i];
		else if (fill)
			room[n++] = 'a';
	}
	v->s = span_of(room, n);
	if (n == 0 || !universe_holds(dim, v->s) || !fits(p, v))
		return false;
	v->s = arena_dup(p->arena, v->s);
	p->spent = p->spent || !v->s.ptr;
	return true;
}

static bool
solve_guess(struct prover *p, enum dim dim, struct value *v)
{
	for (uint32_t i = 0; i < p->in.n; i++) {
		const struct set *s = set_at(p, ((uint32_t *)p->in.items)[i]);

		if (s->form != SET_GLOBS || s->n > 1)
			continue;
		return guess(p, dim, s->glob[0], false, v) ||
		    (dim == DIM_HOST && guess(p, dim, s->glob[0], true, v));
	}
	return false;
}

static enum found
solve_search(struct prover *p, enum dim dim, uint32_t *value)
{
	uint64_t hash = ask(p, dim);
	const struct memo *m = p->spent ? NULL : memo_find(p, hash);
	struct sides of = { p->in.items, p->in.n, p->out.items, p->out.n };

	if (m) {
		*value = m->value;
		return m->value ? FOUND_SOME : FOUND_NONE;
	}
	p->asked_hash = hash;
	p->searching = !p->spent && search_start(p, dim, &of);
	return FOUND_WAIT;
}

/* --- any dimension; the sides are in p->in and p->out */

/* An "in" that another one implies says nothing; nor an "out" that no "in"
 * meets. False: an "in" is inside an "out". */
static bool
reduce(struct prover *p)
{
	uint32_t *in = p->in.items;
	uint32_t *out = p->out.items;
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->in.n; i++) {
		bool implied = false;

		for (uint32_t k = 0; k < n && !implied; k++)
			implied = set_inside(p, in[k], in[i]);
		for (uint32_t k = i + 1; k < p->in.n && !implied; k++)
			implied = set_inside(p, in[k], in[i]);
		if (!implied)
			in[n++] = in[i];
	}
	p->in.n = n;
	n = 0;
	for (uint32_t i = 0; i < p->out.n; i++) {
		bool apart = false;

		for (uint32_t k = 0; k < p->in.n && !apart; k++) {
			if (set_inside(p, in[k], out[i]))
				return false;
			apart = set_apart(p, in[k], out[i]);
		}
		if (!apart)
			out[n++] = out[i];
	}
	p->out.n = n;
	return true;
}

/* Names that are never dialled, if the sides leave room for one. */
static void
out_never(struct prover *p)
{
	struct value v[] = { { .s = SPAN_LIT("localhost") },
		{ .s = SPAN_LIT("metadata.google.internal") } };

	if (fits(p, &v[0]) || fits(p, &v[1]))
		push(p, &p->out, set_never(p));
}

static enum found
solve(struct prover *p, enum dim dim, uint32_t *value)
{
	struct value v = { .use = POLICY_USE_NONE };
	const struct set *finite = NULL;
	enum found found;

	for (uint32_t i = 0; i < p->out.n; i++)
		if (((uint32_t *)p->out.items)[i] == SET_ALL)
			return FOUND_NONE;
	if (p->spent)
		return FOUND_WAIT;
	if (!reduce(p))
		return FOUND_NONE;
	for (uint32_t i = 0; i < p->in.n; i++) {
		const struct set *s = set_at(p, ((uint32_t *)p->in.items)[i]);

		if (s->finite && (!finite || s->n < finite->n))
			finite = s;
	}
	if (finite)
		found = solve_finite(p, dim, finite, &v);
	else if (dim == DIM_METHOD)
		found = solve_method(p, &v);
	else if (dim == DIM_PORT || dim == DIM_ADDRESS)
		found = solve_ranges(p, dim, &v);
	else if (dim == DIM_USE)
		found = solve_uses(p, &v);
	else {
		if (dim == DIM_HOST)
			out_never(p);
		if (!solve_guess(p, dim, &v))
			return solve_search(p, dim, value);
		found = FOUND_SOME;
	}
	*value = found == FOUND_SOME ? value_add(p, v) : 0;
	return found;
}

/* --- terms */

static void
gather(struct prover *p, uint32_t head)
{
	p->in.n = p->out.n = 0;
	for (; head && !p->spent; head = term_at(p, head)->next) {
		const struct term *t = term_at(p, head);

		push(p, t->mode == IN ? &p->in : &p->out, t->set);
	}
}

static bool
term_add(struct prover *p, uint32_t *head, const struct literal *l,
    enum mode mode)
{
	struct term *t = pool_add(p, &p->terms);

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
	return mode == SOME_IN || mode == SOME_OUT;
}

static void
pair_add(struct prover *p, struct prover_witness *w, uint16_t key,
    uint32_t value)
{
	struct policy_pair pair = { ((struct span *)p->keys.items)[key],
		value_at(p, value)->s };

	for (size_t i = 0; w && i < w->query_n; i++)
		if (span_equal(w->query[i].key, pair.key) &&
		    span_equal(w->query[i].value, pair.value))
			return;
	if (w && w->query_n < PROVER_PAIRS)
		w->query[w->query_n++] = pair;
}

/* A value of that key that fulfils its term `some` too; 0: no such term. */
static enum found
solve_key(struct prover *p, const struct region *r, uint16_t key, uint32_t some,
    uint32_t *value)
{
	p->in.n = p->out.n = 0;
	for (uint32_t i = r->head[DIM_QUERY]; i; i = term_at(p, i)->next) {
		const struct term *t = term_at(p, i);
		bool in = t->mode == ALL_IN || t->mode == SOME_IN;

		if (t->key == key && t->mode != ABSENT &&
		    (!is_some(t->mode) || i == some) &&
		    !(in && t->set == SET_ALL))
			push(p, in ? &p->in : &p->out, t->set);
	}
	return solve(p, DIM_QUERY, value);
}

/* All terms of the key can be fulfilled; what does is added to w. */
static enum found
key_check(struct prover *p, const struct region *r, uint16_t key,
    struct prover_witness *w)
{
	bool absent = false;
	bool present = false;
	bool some = false;
	enum found found = FOUND_SOME;
	uint32_t value = 0;

	for (uint32_t i = r->head[DIM_QUERY]; i; i = term_at(p, i)->next) {
		const struct term *t = term_at(p, i);

		if (t->key != key)
			continue;
		absent = absent || t->mode == ABSENT;
		present = present || t->mode == ALL_IN;
		if (!is_some(t->mode))
			continue;
		some = true;
		found = solve_key(p, r, key, i, &value);
		if (found != FOUND_SOME)
			return found;
		pair_add(p, w, key, value);
	}
	if (absent)
		return present || some ? FOUND_NONE : FOUND_SOME;
	if (present && !some) {
		found = solve_key(p, r, key, 0, &value);
		if (found == FOUND_SOME)
			pair_add(p, w, key, value);
	}
	return found;
}

bool
region_query(struct prover *p, const struct region *r, struct prover_witness *w)
{
	w->query_n = 0;
	for (uint32_t k = 1; k < p->keys.n; k++) {
		bool asked = false;

		for (uint32_t i = r->head[DIM_QUERY]; i && !asked;
		     i = term_at(p, i)->next)
			asked = term_at(p, i)->key == k;
		if (asked && key_check(p, r, (uint16_t)k, w) != FOUND_SOME)
			return false;
	}
	return true;
}

static enum found
query_add(struct prover *p, struct region *r, const struct literal *l,
    enum mode mode)
{
	uint32_t head = r->head[DIM_QUERY];
	uint32_t mark = p->terms.n;
	enum found found = FOUND_WAIT;

	if (term_add(p, &r->head[DIM_QUERY], l, mode))
		found = key_check(p, r, l->key, NULL);
	if (found == FOUND_SOME)
		return found;
	r->head[DIM_QUERY] = head;
	p->terms.n = mark;
	return found;
}

/* --- a term more */

static enum found
plain_add(struct prover *p, struct region *r, const struct literal *l,
    enum mode mode)
{
	enum found found = FOUND_SOME;
	uint32_t value = r->value[l->dim];

	if (set_holds(p, l->set, value_at(p, value)) != (mode == IN)) {
		gather(p, r->head[l->dim]);
		push(p, mode == IN ? &p->in : &p->out, l->set);
		found = solve(p, (enum dim)l->dim, &value);
	}
	if (found != FOUND_SOME)
		return found;
	if (!term_add(p, &r->head[l->dim], l, mode))
		return FOUND_WAIT;
	r->value[l->dim] = value;
	return FOUND_SOME;
}

enum found
region_add(struct prover *p, struct region *r, const struct literal *l,
    enum mode mode)
{
	struct literal same = { .dim = DIM_ADDRESS };
	enum found found;

	if (l->dim == DIM_QUERY)
		return query_add(p, r, l, mode);
	found = plain_add(p, r, l, mode);
	if (found != FOUND_SOME || l->dim != DIM_HOST || mode != IN ||
	    !set_at(p, l->set)->is_address)
		return found;
	same.set = set_at(p, l->set)->same;
	return plain_add(p, r, &same, IN);
}

bool
region_inside(struct prover *p, const struct region *r, const struct literal *l)
{
	for (uint32_t i = r->head[l->dim]; i; i = term_at(p, i)->next) {
		const struct term *t = term_at(p, i);

		if (l->dim == DIM_QUERY
			? t->key == l->key && t->mode == l->mode &&
			    t->set == l->set
			: t->mode == IN && set_inside(p, t->set, l->set))
			return true;
	}
	return l->set == SET_ALL && l->dim != DIM_QUERY;
}

bool
region_apart(struct prover *p, const struct region *r, const struct literal *l)
{
	if (l->dim == DIM_QUERY)
		return false;
	for (uint32_t i = r->head[l->dim]; i; i = term_at(p, i)->next)
		if (term_at(p, i)->mode == IN &&
		    set_apart(p, term_at(p, i)->set, l->set))
			return true;
	return false;
}
