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
 * set_inside() and set_apart() see the plain cases of A <= B and A & B = {}
 * at once; what they do not see is for solve.c.
 */
#include <string.h>

#include "region/inner.h"

void *
region_take(struct region_solver *p, size_t n, size_t size)
{
	size_t used = p->arena->used - p->arena_from;
	void *got = NULL;

	if (n <= p->arena_most / size && used + n * size <= p->arena_most)
		got = arena_get(p->arena, n * size + 1);
	if (!got)
		p->spent = true;
	return got;
}

bool
region_pool_reserve(struct region_solver *p, struct region_pool *to,
    size_t more)
{
	void *items;

	if (more <= to->room - to->n)
		return true;
	items = region_take(p, to->n + more, to->size);
	if (!items)
		return false;
	if (to->n > 0)
		memcpy(items, to->items, (size_t)to->n * to->size);
	to->items = items;
	to->room = to->n + (uint32_t)more;
	return true;
}

void *
region_pool_add(struct region_solver *p, struct region_pool *to)
{
	if (to->n == to->room &&
	    !region_pool_reserve(p, to, to->room ? to->room : 8))
		return NULL;
	return (char *)to->items + (size_t)to->n++ * to->size;
}

const struct set *
set_at(const struct region_solver *p, uint32_t id)
{
	return (const struct set *)p->sets.items + id;
}

/* --- uses */

static bool
uses_hold(const struct policy_capabilities *c, enum policy_use use,
    const struct policy_capabilities *of)
{
	switch (use) {
	case POLICY_USE_NONE:
		return true;
	case POLICY_USE_WEBSOCKET_REWRITE:
		return c->websocket_rewrite;
	case POLICY_USE_BODY_REWRITE:
		return c->body_rewrite;
	case POLICY_USE_UNINSPECTED:
		return c->uninspected;
	case POLICY_USE_BINDING:
		return span_equal(c->provider, of->provider);
	case POLICY_USE_SIGNING:
		return c->signing == of->signing &&
		    span_equal(c->signing_service, of->signing_service) &&
		    span_equal(c->signing_region, of->signing_region);
	case POLICY_USE_BODY: /* 0: no limit */
		return c->max_body == 0 ||
		    (of->max_body > 0 && of->max_body <= c->max_body);
	}
	return false;
}

bool
uses_serve(const struct policy_capabilities *c, enum policy_use use)
{
	switch (use) {
	case POLICY_USE_BINDING:
		return c->provider.len > 0;
	case POLICY_USE_SIGNING:
		return c->signing != POLICY_SIGNING_NONE;
	case POLICY_USE_NONE:
	case POLICY_USE_WEBSOCKET_REWRITE:
	case POLICY_USE_BODY_REWRITE:
	case POLICY_USE_UNINSPECTED:
	case POLICY_USE_BODY:
		break;
	}
	return uses_hold(c, use, c);
}

/* Every use that c serves, `in` does too. */
static bool
uses_inside(const struct policy_capabilities *c,
    const struct policy_capabilities *in)
{
	for (unsigned u = POLICY_USE_NONE; u <= POLICY_USE_BODY; u++)
		if (uses_serve(c, (enum policy_use)u) &&
		    !uses_hold(in, (enum policy_use)u, c))
			return false;
	return true;
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

void
region_sort(const void **list, const void **room, size_t n,
    int (*compare)(const void *a, const void *b))
{
	size_t half = n / 2;
	size_t i = 0;
	size_t k = half;

	if (n < 2)
		return;
	region_sort(list, room, half, compare);
	region_sort(list + half, room, n - half, compare);
	memcpy(room, list, n * sizeof(*list));
	for (size_t to = 0; to < n; to++)
		if (k == n || (i < half && compare(room[i], room[k]) <= 0))
			list[to] = room[i++];
		else
			list[to] = room[k++];
}

static int
span_compare(struct span a, struct span b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = n ? memcmp(a.ptr, b.ptr, n) : 0;

	return c ? c : (a.len > b.len) - (a.len < b.len);
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

	for (size_t i = 0; list && i < n; i++)
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

/* --- membership */

static bool
ranges_hold(const struct set *s, struct policy_address a)
{
	const struct policy_addresses all = { s->range, s->n };

	return policy_addresses_hold(&all, a);
}

static bool
is_strict(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!tool_byte_is_strict(s.ptr[i]))
			return false;
	return s.len > 0 && s.len <= STRICT_MAX;
}

static bool
path_escapes_slash(struct span s)
{
	for (size_t i = 0; i + 2 < s.len; i++)
		if (memcmp(s.ptr + i, "%2F", 3) == 0)
			return true;
	return false;
}

/* b has that very glob; its list is sorted. */
static bool
has_text(const struct set *b, struct span text)
{
	uint32_t low = 0;
	uint32_t high = b->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int c = span_compare(b->glob[middle]->text, text);

		if (c == 0)
			return true;
		if (c < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

bool
set_holds(struct region_solver *p, uint32_t id, const struct region_value *v)
{
	const struct set *s = set_at(p, id);

	p->steps++;
	if (id == REGION_ALL)
		return true;
	switch (s->form) {
	case REGION_SET_GLOBS:
		if (s->finite)
			return has_text(s, v->s);
		for (uint32_t i = 0; i < s->n; i++)
			if (policy_glob_match(s->glob[i], v->s))
				return true;
		p->steps += s->n / 8;
		return false;
	case REGION_SET_RANGES:
		return ranges_hold(s, v->a);
	case REGION_SET_USES:
		return uses_hold(s->uses, v->use, v->of);
	case REGION_SET_PLAIN:
		return !path_escapes_slash(v->s);
	case REGION_SET_STRICT:
		return is_strict(v->s);
	}
	return false;
}

/* --- at once */

struct span
region_glob_head(const struct policy_glob *g)
{
	uint32_t n = 0;

	if (g->literal)
		return g->text;
	if (g->separator == '.') {
		while (g->steps[g->n - 1 - n] < POLICY_STEP_STAR)
			n++;
		return span_from(g->text, g->text.len - n);
	}
	while (g->steps[n] < POLICY_STEP_STAR)
		n++;
	return span_of(g->text.ptr, n);
}

static bool
agree(struct span a, struct span b, bool at_end)
{
	size_t n = a.len < b.len ? a.len : b.len;

	if (at_end) {
		a = span_from(a, a.len - n);
		b = span_from(b, b.len - n);
	}
	return n == 0 || memcmp(a.ptr, b.ptr, n) == 0;
}

/* Positions of b, as bits, that are left after a step of another glob. */
static uint64_t
places_after(const struct policy_glob *b, uint64_t at, uint16_t step)
{
	uint64_t to = 0;

	for (; at; at &= at - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(at);
		uint16_t own = i < b->n ? b->steps[i] : UINT16_MAX;

		if (own == POLICY_STEP_ANY ||
		    (own == POLICY_STEP_STAR && step != POLICY_STEP_ANY &&
			step != b->separator))
			to |= 1ull << i;
		else if (own == step && step < POLICY_STEP_STAR)
			to |= 1ull << (i + 1);
	}
	return to;
}

static uint64_t
places_closed(const struct policy_glob *b, uint64_t at)
{
	for (uint32_t i = 0; i < b->n; i++) {
		if (!(at >> i & 1) || b->steps[i] < POLICY_STEP_STAR)
			continue;
		at |= 1ull << (i + 1);
		if (b->steps[i] == POLICY_STEP_FORK)
			at |= 1ull << (i + 3);
	}
	return at;
}

/*
 * b runs over the steps of a: a position stays only if it is one after each
 * string that a may be so far, so what is accepted is inside.
 */
static bool
glob_inside(const struct policy_glob *a, const struct policy_glob *b)
{
	uint64_t at;

	if (a->literal || b->literal)
		return a->literal ? policy_glob_match(b, a->text)
				  : span_equal(a->text, b->text);
	if (b->n >= 64)
		return span_equal(a->text, b->text);
	at = places_closed(b, 1);
	for (uint32_t i = 0; i < a->n && at; i++) {
		uint64_t some = at;

		if (a->steps[i] != POLICY_STEP_FORK) {
			at = places_closed(b, places_after(b, at, a->steps[i]));
			continue;
		}
		for (uint32_t k = 1; k < 3; k++)
			some = places_closed(b,
			    places_after(b, some, a->steps[i + k]));
		at &= some;
		i += 2;
	}
	return at >> b->n & 1;
}

static bool
globs_inside(struct region_solver *p, const struct set *a, const struct set *b)
{
	if ((uint64_t)a->n * b->n > PAIRS_MOST)
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		uint32_t k = 0;

		if (has_text(b, a->glob[i]->text))
			continue;
		while (k < b->n && !glob_inside(a->glob[i], b->glob[k]))
			k++;
		p->steps += k / 2 + 1;
		if (k == b->n)
			return false;
	}
	return true;
}

static bool
ranges_inside(const struct set *a, const struct set *b)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		while (k < b->n &&
		    policy_address_compare(b->range[k].last,
			a->range[i].first) < 0)
			k++;
		if (k == b->n ||
		    policy_address_compare(b->range[k].first,
			a->range[i].first) > 0 ||
		    policy_address_compare(a->range[i].last, b->range[k].last) >
			0)
			return false;
	}
	return true;
}

bool
set_inside(struct region_solver *p, uint32_t a, uint32_t b)
{
	const struct set *x = set_at(p, a);
	const struct set *y = set_at(p, b);

	p->steps++;
	if (a == b || b == REGION_ALL)
		return true;
	if (a == REGION_ALL || x->form != y->form)
		return false;
	switch (x->form) {
	case REGION_SET_GLOBS:
		return x->is_address == y->is_address && globs_inside(p, x, y);
	case REGION_SET_RANGES:
		return ranges_inside(x, y);
	case REGION_SET_USES:
		return uses_inside(x->uses, y->uses);
	case REGION_SET_PLAIN:
	case REGION_SET_STRICT:
		break;
	}
	return false;
}

static bool
globs_apart(struct region_solver *p, const struct set *a, const struct set *b)
{
	bool at_end = a->dim == REGION_HOST;

	if ((uint64_t)a->n * b->n > PAIRS_MOST)
		return false;
	p->steps += a->n * b->n / 4;
	if (a->is_address != b->is_address)
		return true;
	for (uint32_t i = 0; i < a->n; i++)
		for (uint32_t k = 0; k < b->n; k++) {
			const struct policy_glob *x = a->glob[i];
			const struct policy_glob *y = b->glob[k];

			if (x->literal       ? policy_glob_match(y, x->text)
				: y->literal ? policy_glob_match(x, y->text)
					     : agree(region_glob_head(x),
						   region_glob_head(y), at_end))
				return false;
		}
	return true;
}

static bool
ranges_apart(const struct set *a, const struct set *b)
{
	for (uint32_t i = 0, k = 0; i < a->n && k < b->n;) {
		if (policy_address_compare(a->range[i].last,
			b->range[k].first) < 0)
			i++;
		else if (policy_address_compare(b->range[k].last,
			     a->range[i].first) < 0)
			k++;
		else
			return false;
	}
	return true;
}

bool
set_apart(struct region_solver *p, uint32_t a, uint32_t b)
{
	const struct set *x = set_at(p, a);
	const struct set *y = set_at(p, b);

	p->steps++;
	if (a == b || a == REGION_ALL || b == REGION_ALL || x->form != y->form)
		return false;
	if (x->form == REGION_SET_GLOBS)
		return globs_apart(p, x, y);
	return x->form == REGION_SET_RANGES && ranges_apart(x, y);
}
