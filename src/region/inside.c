/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is seen of sets at once: v in A, and the plain cases of
 *
 *	A <= B      each glob of A is inside one of B; each interval in one
 *	A & B = {}  no glob of A agrees with one of B in its literal head
 *
 * A glob is inside another when the other, run over the steps of the one, keeps
 * a place after each of them that ends in acceptance: a sound test, and a
 * complete one for most that people write. What is not seen is for solve.c.
 *
 * Globs and strings may be long, and what is gone through is their product at
 * most; it is counted, and bounded where it is counted.
 */
#include <string.h>

#include "region/inner.h"

int
span_compare(struct span a, struct span b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = n ? memcmp(a.ptr, b.ptr, n) : 0;

	return c ? c : (a.len > b.len) - (a.len < b.len);
}

/* --- uses */

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
	return policy_capabilities_serve(c, use, c);
}

/* Every use that c serves, `in` does too. */
bool
uses_inside(const struct policy_capabilities *c,
    const struct policy_capabilities *in)
{
	for (unsigned u = POLICY_USE_NONE; u <= POLICY_USE_BODY; u++)
		if (uses_serve(c, (enum policy_use)u) &&
		    !policy_capabilities_serve(in, (enum policy_use)u, c))
			return false;
	return true;
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

enum {
	PLACES = 12, /* of a glob that are gone through in a step */
	BYTES = 128, /* of a text that is looked for in a list in one */
};

static bool
glob_match(struct region_solver *p, const struct policy_glob *g, struct span s)
{
	uint64_t end = p->most < p->once ? p->most : p->once;
	uint64_t room = end > p->steps ? end - p->steps : 0;
	uint64_t all = (room < UINT32_MAX ? room : UINT32_MAX) * PLACES;
	uint64_t left = all;
	bool is_match = policy_glob_walk(g, s, &left);

	return region_step(p, (all - left) / PLACES) && is_match;
}

/* b has that very glob; its list is sorted. */
static bool
has_text(struct region_solver *p, const struct set *b, struct span text)
{
	uint32_t low = 0;
	uint32_t high = b->n;

	p->steps += text.len / BYTES;
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

	if (!region_step(p, 1) || id == REGION_ALL)
		return id == REGION_ALL;
	switch (s->form) {
	case REGION_SET_GLOBS:
		if (s->finite)
			return has_text(p, s, v->s);
		for (uint32_t i = 0; i < s->n && !p->spent; i++)
			if (glob_match(p, s->glob[i], v->s))
				return true;
		(void)region_step(p, s->n / 8);
		return false;
	case REGION_SET_RANGES:
		return ranges_hold(s, v->a);
	case REGION_SET_USES:
		return policy_capabilities_serve(s->uses, v->use, v->of);
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

/* The other end: bytes after the last hole (hosts: before the first). */
static struct span
glob_tail(const struct policy_glob *g)
{
	uint32_t n = 0;

	if (g->separator == '.') {
		while (g->steps[n] < POLICY_STEP_STAR)
			n++;
		return span_of(g->text.ptr, n);
	}
	while (g->steps[g->n - 1 - n] < POLICY_STEP_STAR)
		n++;
	/* After FORK, ANY and the separator may all be left out. */
	if (n > 0 && g->n > n + 1 && g->steps[g->n - 2 - n] == POLICY_STEP_FORK)
		n--;
	return span_from(g->text, g->text.len - n);
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
	for (uint64_t left = at; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(left);
		uint64_t to = 0;

		if (i >= b->n || b->steps[i] < POLICY_STEP_STAR)
			continue;
		to |= 1ull << (i + 1);
		if (b->steps[i] == POLICY_STEP_FORK)
			to |= 1ull << (i + 3);
		at |= to;
		left |= to; /* they come later */
	}
	return at;
}

static uint32_t
places_n(uint64_t at)
{
	return (uint32_t)__builtin_popcountll(at);
}

/*
 * b runs over the steps of a: a position stays only if it is one after each
 * string that a may be so far, so what is accepted is inside.
 */
static bool
glob_inside(struct region_solver *p, const struct policy_glob *a,
    const struct policy_glob *b)
{
	uint32_t gone = 0;
	uint64_t at;

	if (a->literal || b->literal)
		return a->literal ? glob_match(p, b, a->text)
				  : span_equal(a->text, b->text);
	if (b->n >= 64)
		return span_equal(a->text, b->text);
	at = places_closed(b, 1);
	for (uint32_t i = 0; i < a->n && at; i++) {
		uint64_t some = at;

		gone += 2 * places_n(at) + 2;
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
	return region_step(p, gone / PLACES) && (at >> b->n & 1);
}

static bool
globs_inside(struct region_solver *p, const struct set *a, const struct set *b)
{
	if ((uint64_t)a->n * b->n > PAIRS_MOST)
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		uint32_t k = 0;

		if (has_text(p, b, a->glob[i]->text))
			continue;
		while (k < b->n && !p->spent &&
		    !glob_inside(p, a->glob[i], b->glob[k]))
			k++;
		if (!region_step(p, k + 1) || k == b->n)
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
region_set_inside(struct region_solver *p, uint32_t a, uint32_t b)
{
	const struct set *x = set_at(p, a);
	const struct set *y = set_at(p, b);

	if (a == b || b == REGION_ALL)
		return true;
	if (!region_step(p, 1))
		return false;
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

/* They may. */
static bool
globs_meet(struct region_solver *p, const struct policy_glob *x,
    const struct policy_glob *y, bool at_end)
{
	if (x->literal)
		return glob_match(p, y, x->text);
	if (y->literal)
		return glob_match(p, x, y->text);
	return region_step(p, (x->n + y->n) / BYTES) &&
	    agree(region_glob_head(x), region_glob_head(y), at_end) &&
	    agree(glob_tail(x), glob_tail(y), !at_end);
}

static bool
globs_apart(struct region_solver *p, const struct set *a, const struct set *b)
{
	bool at_end = a->dim == REGION_HOST;

	if ((uint64_t)a->n * b->n > PAIRS_MOST ||
	    !region_step(p, (uint64_t)a->n * b->n / 2 + 1))
		return false;
	if (a->is_address != b->is_address)
		return true;
	for (uint32_t i = 0; i < a->n; i++)
		for (uint32_t k = 0; k < b->n; k++)
			if (p->spent ||
			    globs_meet(p, a->glob[i], b->glob[k], at_end))
				return false;
	return !p->spent;
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

	if (!region_step(p, 1) || a == b || a == REGION_ALL ||
	    b == REGION_ALL || x->form != y->form)
		return false;
	if (x->form == REGION_SET_GLOBS)
		return globs_apart(p, x, y);
	return x->form == REGION_SET_RANGES && ranges_apart(x, y);
}
