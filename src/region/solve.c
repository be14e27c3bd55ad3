/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One dimension: sets that must hold a value and sets that must not, and a
 * value that fulfils that, or that there is none. Finite sets are gone
 * through; intervals have their least common point at the begin of an interval;
 * strings are searched (search.c), and the answer is kept by the numbers of the
 * sets, so that it is searched once.
 */
#include <string.h>

#include "region/inner.h"

struct memo {
	uint64_t hash;
	const uint32_t *key; /* dim, ins, SPLIT, outs */
	uint32_t n;
	bool some;
	struct span s;
};

enum {
	SPLIT = INT32_MAX,
	GUESS = 256, /* bytes */
};

const struct region_value *
region_value(const struct region_solver *p, uint32_t id)
{
	return (const struct region_value *)p->values.items + id;
}

uint32_t
value_add(struct region_solver *p, struct region_value v)
{
	struct region_value *to = region_pool_add(p, &p->values);

	if (!to)
		return 0;
	*to = v;
	return p->values.n - 1;
}

void
region_solver_init(struct region_solver *p, struct arena *a, size_t bytes,
    uint64_t steps)
{
	memset(p, 0, sizeof(*p));
	p->arena = a;
	p->arena_from = a->used;
	p->arena_most = bytes;
	p->most = p->once = steps;
	p->sets.size = sizeof(struct set);
	p->keys.size = sizeof(struct span);
	p->terms.size = sizeof(struct term);
	p->values.size = sizeof(struct region_value);
	p->memo.size = sizeof(struct memo);
	p->asked.size = p->in.size = p->out.size = sizeof(uint32_t);
	(void)region_pool_add(p, &p->sets); /* REGION_ALL */
	(void)region_pool_add(p, &p->keys); /* no key, no term, no value */
	(void)region_pool_add(p, &p->terms);
	(void)region_pool_add(p, &p->values);
	for (size_t i = 0; i < REGION_DIMS; i++)
		(void)value_add(p,
		    (struct region_value){ .s = plainest((enum region_dim)i) });
}

uint16_t
region_key(struct region_solver *p, struct span key)
{
	struct span *at = p->keys.items;

	if (!region_step(p, p->keys.n))
		return 0;
	for (uint32_t i = 1; i < p->keys.n; i++)
		if (span_equal(at[i], key))
			return (uint16_t)i;
	at = p->keys.n < UINT16_MAX ? region_pool_add(p, &p->keys) : NULL;
	if (!at) {
		p->spent = true;
		return 0;
	}
	*at = key;
	return (uint16_t)(p->keys.n - 1);
}

/* --- one dimension */

static bool
fits(struct region_solver *p, const struct region_value *v)
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

static enum region_found
solve_finite(struct region_solver *p, enum region_dim dim, const struct set *of,
    struct region_value *best)
{
	enum region_found found = REGION_NONE;
	uint64_t globs = 1;

	for (uint32_t i = 0; i < p->in.n + p->out.n; i++) {
		const struct set *s = set_at(p,
		    i < p->in.n ? ((uint32_t *)p->in.items)[i]
				: ((uint32_t *)p->out.items)[i - p->in.n]);

		globs += s->finite ? 1 : s->n;
	}
	if (globs * of->n > PAIRS_MOST) {
		p->spent = true;
		return REGION_WAIT;
	}
	for (uint32_t i = 0; i < of->n && !p->spent; i++) {
		struct region_value v = { .s = of->glob[i]->text };

		if (found == REGION_SOME && region_compare(dim, &v, best) >= 0)
			continue;
		if (!fits(p, &v) ||
		    !(of->is_address || region_universe_holds(dim, v.s)))
			continue;
		*best = v;
		found = REGION_SOME;
	}
	return found;
}

/* Every token is a method, so there is always another. */
static enum region_found
solve_method(struct region_solver *p, struct region_value *v)
{
	for (size_t i = 0; i < PLAIN_METHODS; i++) {
		v->s = span_str(plain_methods[i]);
		if (fits(p, v))
			return REGION_SOME;
	}
	for (uint32_t i = 1; !p->spent; i++) {
		const char *s = arena_fmt(p->arena, "X-PROBE-%u", i);

		p->spent = p->spent || !s;
		v->s = span_str(s);
		if (fits(p, v))
			return REGION_SOME;
	}
	return REGION_NONE;
}

static struct policy_address
after(struct policy_address a)
{
	a.low++;
	a.high += a.low == 0;
	return a;
}

static void
try_point(struct region_solver *p, struct policy_address a,
    struct region_value *best, enum region_found *found)
{
	struct region_value v = { .a = a };

	if (*found == REGION_SOME && policy_address_compare(a, best->a) >= 0)
		return;
	if (fits(p, &v)) {
		*best = v;
		*found = REGION_SOME;
	}
}

static enum region_found
solve_ranges(struct region_solver *p, enum region_dim dim,
    struct region_value *best)
{
	bool is_port = dim == REGION_PORT;
	size_t n = is_port ? PLAIN_PORTS : PLAIN_ADDRESSES;
	enum region_found found = REGION_NONE;

	for (size_t i = 0; i < n; i++) {
		try_point(p, is_port ? plain_ports[i] : plain_addresses[i],
		    best, &found);
		if (found == REGION_SOME)
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

static enum region_found
solve_uses(struct region_solver *p, struct region_value *v)
{
	uint32_t first = p->in.n ? *(uint32_t *)p->in.items : REGION_ALL;

	v->use = POLICY_USE_NONE;
	if (fits(p, v))
		return REGION_SOME;
	if (first == REGION_ALL)
		return REGION_NONE;
	v->of = set_at(p, first)->uses;
	for (unsigned u = 1; u <= POLICY_USE_BODY; u++) {
		v->use = (enum policy_use)u;
		if (uses_serve(v->of, v->use) && fits(p, v))
			return REGION_SOME;
	}
	return REGION_NONE;
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

void
side_add(struct region_solver *p, struct region_pool *to, uint32_t id)
{
	uint32_t *at = region_pool_add(p, to);

	if (at)
		*at = id;
}

/* The question into p->asked; its hash. */
static uint64_t
ask(struct region_solver *p, enum region_dim dim)
{
	uint64_t hash = dim;
	uint32_t *in = p->in.items;
	uint32_t *out = p->out.items;

	sort_ids(in, p->in.n);
	sort_ids(out, p->out.n);
	p->steps += (p->in.n + p->out.n) / 2;
	p->asked.n = 0;
	side_add(p, &p->asked, (uint32_t)dim);
	for (uint32_t i = 0; i < p->in.n; i++)
		side_add(p, &p->asked, in[i]);
	side_add(p, &p->asked, SPLIT);
	for (uint32_t i = 0; i < p->out.n; i++)
		if (i == 0 || out[i] != out[i - 1])
			side_add(p, &p->asked, out[i]);
	for (uint32_t i = 0; !p->spent && i < p->asked.n; i++) {
		hash = (hash ^ ((uint32_t *)p->asked.items)[i]) *
		    0x9e3779b97f4a7c15;
		hash ^= hash >> 29;
	}
	return hash;
}

static const struct memo *
memo_find(const struct region_solver *p, uint64_t hash)
{
	for (uint64_t i = hash; p->memo_slots_n > 0; i++) {
		uint32_t at = p->memo_slots[i & (p->memo_slots_n - 1)];
		const struct memo *m;

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
memo_room(struct region_solver *p)
{
	uint32_t n = p->memo_slots_n ? p->memo_slots_n * 2 : 64;
	uint32_t *slots;

	if (p->memo.n * 2 < p->memo_slots_n)
		return true;
	slots = region_take(p, n, sizeof(*slots));
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

/* The search has ended. */
static void
solve_done(struct region_solver *p, enum region_found found, struct span s)
{
	uint32_t *key = region_take(p, p->asked.n, sizeof(*key));
	struct memo *m =
	    key && memo_room(p) ? region_pool_add(p, &p->memo) : NULL;
	uint64_t at = p->asked_hash;

	p->searching = false;
	if (!m)
		return;
	memcpy(key, p->asked.items, p->asked.n * sizeof(*key));
	*m =
	    (struct memo){ .hash = p->asked_hash, .key = key, .n = p->asked.n };
	m->some = found == REGION_SOME;
	m->s = s;
	while (p->memo_slots[at & (p->memo_slots_n - 1)])
		at++;
	p->memo_slots[at & (p->memo_slots_n - 1)] = p->memo.n;
}

/* A glob with nothing in its holes, or one byte where that would leave an
 * empty label: the shortest string it has. True: it fits, too. */
static bool
guess(struct region_solver *p, enum region_dim dim, const struct policy_glob *g,
    struct region_value *v)
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
		else if (dim == REGION_HOST && (n == 0 || room[n - 1] == '.') &&
		    i + 1 < g->n && g->steps[i + 1] == '.')
			room[n++] = 'a';
	}
	v->s = span_of(room, n);
	if (n == 0 || !region_universe_holds(dim, v->s) || !fits(p, v)) {
		v->s = span_of(NULL, 0);
		return false;
	}
	v->s = arena_dup(p->arena, v->s);
	p->spent = p->spent || !v->s.ptr;
	return true;
}

static bool
solve_guess(struct region_solver *p, enum region_dim dim,
    struct region_value *v)
{
	for (uint32_t i = 0; i < p->in.n; i++) {
		const struct set *s = set_at(p, ((uint32_t *)p->in.items)[i]);

		if (s->form == REGION_SET_GLOBS && s->n == 1)
			return guess(p, dim, s->glob[0], v);
	}
	return false;
}

bool
region_run(struct region_solver *p)
{
	struct span s = { NULL, 0 };
	enum region_found found = search_run(p, &s);

	if (found != REGION_WAIT && !p->spent)
		solve_done(p, found, s);
	return !p->searching;
}

static enum region_found
solve_search(struct region_solver *p, enum region_dim dim, uint32_t *value)
{
	uint64_t hash = ask(p, dim);
	const struct memo *m = p->spent ? NULL : memo_find(p, hash);
	struct sides of = { p->in.items, p->in.n, p->out.items, p->out.n };

	if (m && m->some)
		*value = value_add(p, (struct region_value){ .s = m->s });
	if (m)
		return m->some ? REGION_SOME : REGION_NONE;
	p->asked_hash = hash;
	p->searching = !p->spent && search_start(p, dim, &of);
	return REGION_WAIT;
}

/* --- any dimension; the sides are in p->in and p->out */

/* An "in" that another one implies says nothing; nor an "out" that no "in"
 * meets. False: an "in" is inside an "out". */
static bool
reduce(struct region_solver *p)
{
	uint32_t *in = p->in.items;
	uint32_t *out = p->out.items;
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->in.n; i++) {
		bool implied = false;

		for (uint32_t k = 0; k < n && !implied; k++)
			implied = region_set_inside(p, in[k], in[i]);
		for (uint32_t k = i + 1; k < p->in.n && !implied; k++)
			implied = region_set_inside(p, in[k], in[i]);
		if (!implied)
			in[n++] = in[i];
	}
	p->in.n = n;
	n = 0;
	for (uint32_t i = 0; i < p->out.n; i++) {
		bool apart = false;

		for (uint32_t k = 0; k < p->in.n && !apart; k++) {
			if (region_set_inside(p, in[k], out[i]))
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
out_never(struct region_solver *p)
{
	struct region_value v[] = { { .s = SPAN_LIT("localhost") },
		{ .s = SPAN_LIT("metadata.google.internal") } };

	if (fits(p, &v[0]) || fits(p, &v[1]))
		side_add(p, &p->out, set_never(p));
}

enum region_found
solve(struct region_solver *p, enum region_dim dim, uint32_t *value)
{
	struct region_value v = { .use = POLICY_USE_NONE };
	const struct set *finite = NULL;
	enum region_found found;

	for (uint32_t i = 0; i < p->out.n; i++)
		if (((uint32_t *)p->out.items)[i] == REGION_ALL)
			return REGION_NONE;
	if (p->spent)
		return REGION_WAIT;
	if (!reduce(p))
		return REGION_NONE;
	for (uint32_t i = 0; i < p->in.n; i++) {
		const struct set *s = set_at(p, ((uint32_t *)p->in.items)[i]);

		if (s->finite && (!finite || s->n < finite->n))
			finite = s;
	}
	if (finite)
		found = solve_finite(p, dim, finite, &v);
	else if (dim == REGION_METHOD)
		found = solve_method(p, &v);
	else if (dim == REGION_PORT || dim == REGION_ADDRESS)
		found = solve_ranges(p, dim, &v);
	else if (dim == REGION_USE)
		found = solve_uses(p, &v);
	else {
		if (dim == REGION_HOST)
			out_never(p);
		if (!solve_guess(p, dim, &v))
			return solve_search(p, dim, value);
		found = REGION_SOME;
	}
	*value = found == REGION_SOME ? value_add(p, v) : 0;
	return p->spent ? REGION_WAIT : found;
}
