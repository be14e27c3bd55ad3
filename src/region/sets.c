/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of values, one dimension each, by number: equal sets have equal
 * numbers, so that most questions about them are a comparison. A set is
 *
 *	GLOBS   the union of the languages of some globs
 *	RANGES  a union of intervals of the line of ports, or of addresses
 *	USES    { none } and what the capabilities of an endpoint serve
 *	PLAIN, STRICT   languages of the protocols, see search.c
 *
 * Two sets are equal when they are written alike: the same list of globs, the
 * same intervals, the same uses. What is equal and written otherwise has two
 * numbers, which costs time and never a verdict.
 */
#include <string.h>

#include "region/inner.h"

const struct set *
set_at(const struct region_solver *p, uint32_t id)
{
	return (const struct set *)p->sets.items + id;
}

/* --- numbers */

static uint64_t
mix(uint64_t h, const void *p, size_t n)
{
	const uint8_t *at = p;
	uint64_t word;

	for (; n >= sizeof(word); n -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15;
		h ^= h >> 29;
	}
	while (n-- > 0)
		h = (h ^ *at++) * 0x100000001b3;
	return h;
}

static bool
same_globs(const struct set *a, const struct set *b)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (!span_equal(a->glob[i]->text, b->glob[i]->text))
			return false;
	return true;
}

static bool
same_set(const struct set *a, const struct set *b)
{
	if (a->hash != b->hash || a->dim != b->dim || a->form != b->form ||
	    a->n != b->n || a->is_address != b->is_address)
		return false;
	switch (a->form) {
	case REGION_SET_GLOBS:
		return same_globs(a, b);
	case REGION_SET_RANGES:
		return a->n == 0 ||
		    memcmp(a->range, b->range, a->n * sizeof(*a->range)) == 0;
	case REGION_SET_USES:
		return uses_inside(a->uses, b->uses) &&
		    uses_inside(b->uses, a->uses);
	case REGION_SET_PLAIN:
	case REGION_SET_STRICT:
		break;
	}
	return true;
}

static bool
slots_grow(struct region_solver *p)
{
	uint32_t n = p->set_slots_n ? p->set_slots_n * 2 : 64;
	uint32_t *slots = region_take(p, n, sizeof(*slots));

	if (!slots)
		return false;
	for (uint32_t id = 1; id < p->sets.n; id++) {
		uint64_t at = set_at(p, id)->hash;

		while (slots[at & (n - 1)])
			at++;
		slots[at & (n - 1)] = id;
	}
	p->set_slots = slots;
	p->set_slots_n = n;
	return true;
}

/* The list was lent until the set was known to be new. */
static bool
keep_globs(struct region_solver *p, struct set *s)
{
	const struct policy_glob **list =
	    region_take(p, s->n, sizeof(const void *));

	if (!list)
		return false;
	for (uint32_t i = 0; i < s->n; i++)
		list[i] = s->glob[i];
	s->glob = list;
	return true;
}

static uint32_t
intern(struct region_solver *p, struct set *s)
{
	uint64_t at;
	struct set *to;
	uint32_t id;

	s->hash ^= (uint64_t)s->dim << 3 | s->form;
	s->hash ^= s->hash >> 31;
	if (p->sets.n * 2 >= p->set_slots_n && !slots_grow(p))
		return REGION_ALL;
	for (at = s->hash; (id = p->set_slots[at & (p->set_slots_n - 1)]); at++)
		if (same_set(set_at(p, id), s))
			return id;
	to = region_pool_add(p, &p->sets);
	if (!to)
		return REGION_ALL;
	*to = *s;
	if (s->form == REGION_SET_GLOBS && !keep_globs(p, to))
		return REGION_ALL;
	id = p->sets.n - 1;
	p->set_slots[at & (p->set_slots_n - 1)] = id;
	return id;
}

static bool
is_everything(const struct policy_glob *g)
{
	return g->everything ||
	    (g->separator == '/' && g->n == 2 && g->steps[0] == '/' &&
		g->steps[1] == POLICY_STEP_ANY);
}

static int
by_text(const void *a, const void *b)
{
	return span_compare(((const struct policy_glob *)a)->text,
	    ((const struct policy_glob *)b)->text);
}

/* Globs in the order of their texts, so that lists compare as sets. */
uint32_t
region_set_globs(struct region_solver *p, enum region_dim dim,
    const struct policy_glob *const *glob, size_t n)
{
	struct set s = { .dim = dim, .form = REGION_SET_GLOBS, .finite = true };
	const void **list = region_take(p, 2 * n, sizeof(*list));

	if (!list)
		return REGION_ALL;
	for (size_t i = 0; i < n; i++) {
		if (is_everything(glob[i]))
			return REGION_ALL;
		list[i] = glob[i];
		s.finite = s.finite && glob[i]->literal;
	}
	p->steps += n;
	region_sort(list, list + n, n, by_text);
	for (size_t i = 0; i < n; i++) {
		const struct policy_glob *g = list[i];

		if (s.n > 0 && by_text(list[s.n - 1], g) == 0)
			continue;
		list[s.n++] = g;
		s.hash = mix(s.hash * 31 + 1, g->text.ptr, g->text.len);
	}
	s.glob = (const struct policy_glob *const *)list;
	return intern(p, &s);
}

uint32_t
region_set_of_globs(struct region_solver *p, enum region_dim dim,
    const struct policy_globs *globs)
{
	const struct policy_glob **list =
	    region_take(p, globs->n, sizeof(*list));

	for (size_t i = 0; list && i < globs->n; i++)
		list[i] = &globs->glob[i];
	return list ? region_set_globs(p, dim, list, globs->n) : REGION_ALL;
}

uint32_t
region_set_host(struct region_solver *p, const struct policy_host *h)
{
	struct set s = { .dim = REGION_HOST,
		.form = REGION_SET_GLOBS,
		.finite = h->kind != POLICY_HOST_GLOB,
		.is_address = h->kind == POLICY_HOST_ADDRESS,
		.n = 1 };
	const struct policy_glob *one = &h->glob;
	struct policy_range *only;

	if (h->kind == POLICY_HOST_NONE)
		return REGION_ALL;
	only = s.is_address ? region_take(p, 1, sizeof(*only)) : NULL;
	if (p->spent)
		return REGION_ALL;
	s.glob = &one;
	if (only) {
		*only = (struct policy_range){ h->address, h->address };
		s.same = region_set_ranges(p, REGION_ADDRESS, only, 1);
	}
	s.hash = mix(s.is_address, h->glob.text.ptr, h->glob.text.len);
	return intern(p, &s);
}

uint32_t
region_set_ranges(struct region_solver *p, enum region_dim dim,
    const struct policy_range *range, size_t n)
{
	struct set s = { .dim = dim,
		.form = REGION_SET_RANGES,
		.n = (uint32_t)n,
		.range = range };

	s.hash = mix(n, range, n * sizeof(*range));
	return intern(p, &s);
}

uint32_t
region_set_uses(struct region_solver *p, const struct policy_capabilities *c)
{
	struct set s = { .dim = REGION_USE,
		.form = REGION_SET_USES,
		.uses = c };

	s.hash = mix(c->max_body, c->provider.ptr, c->provider.len);
	s.hash = mix(s.hash, c->signing_service.ptr, c->signing_service.len);
	s.hash += (uint64_t)c->websocket_rewrite << 1 |
	    (uint64_t)c->body_rewrite << 2 | (uint64_t)c->uninspected << 3 |
	    (uint64_t)c->signing << 4;
	return intern(p, &s);
}

const struct policy_glob *
region_glob_literal(struct region_solver *p, struct span s)
{
	struct policy_glob *g = region_take(p, 1, sizeof(*g));
	uint16_t *steps = region_take(p, s.len, sizeof(*steps));

	if (!g || !steps)
		return NULL;
	for (size_t i = 0; i < s.len; i++)
		steps[i] = s.ptr[i];
	*g = (struct policy_glob){ .text = s,
		.steps = steps,
		.n = (uint32_t)s.len,
		.literal = true };
	return g;
}

uint32_t
region_set_literals(struct region_solver *p, enum region_dim dim,
    const struct span *s, size_t n)
{
	const struct policy_glob **list =
	    region_take(p, n, sizeof(const void *));

	if (!list)
		return REGION_ALL;
	for (size_t i = 0; i < n; i++)
		list[i] = region_glob_literal(p, s[i]);
	return p->spent ? REGION_ALL : region_set_globs(p, dim, list, n);
}

uint32_t
set_never(struct region_solver *p)
{
	const struct span never[] = { SPAN_LIT("localhost"),
		SPAN_LIT("metadata.google.internal") };

	return region_set_literals(p, REGION_HOST, never, NELEM(never));
}

uint32_t
region_set_form(struct region_solver *p, enum region_dim dim,
    enum region_form form)
{
	struct set s = { .dim = dim, .form = form };

	return intern(p, &s);
}
