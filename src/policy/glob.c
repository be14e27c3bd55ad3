/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one glob: literal bytes, '*' (within a component) and '**' (a whole
 * component, crosses), read into steps that are the automaton itself and are
 * run as one, so that no pattern is slow. The steps are drawn in policy.h.
 *
 *	/a/[**]/b   '/' 'a' '/' FORK ANY '/' 'b'      /a/b, /a/x/b, /a//b
 *	/x/[**]     '/' 'x' '/' ANY                   /x/ and below, not /x
 *	[**].x.com  ANY '.' 'x' ...                   hosts have no empty label
 *	a*  (word)  'a' ANY                           '**' means '*' there
 */
#include <string.h>

#include "policy/inner.h"

struct build {
	struct policy_glob *g;
	uint16_t *steps;
	uint8_t *text;
	uint32_t n;
	size_t len; /* of text */
};

static void
put(struct build *b, uint16_t step, uint8_t c)
{
	b->steps[b->n++] = step;
	b->text[b->len++] = c;
}

/* After a "**" and its separator. */
static bool
ends_in_fork(const struct build *b)
{
	return b->n >= 3 && b->steps[b->n - 3] == POLICY_STEP_FORK;
}

static void
put_double(struct build *b, bool is_last)
{
	uint8_t sep = b->g->separator;

	if (ends_in_fork(b)) {
		if (!is_last)
			return; /* two in a row are one */
		b->n -= 3;
		b->len -= 3;
	}
	if (!is_last && sep == '/')
		b->steps[b->n++] = POLICY_STEP_FORK;
	put(b, POLICY_STEP_ANY, '*');
	b->text[b->len++] = '*';
	if (!is_last)
		put(b, sep, sep);
}

/* What "**" at s[i] is: bytes to skip, or 0 when it is no whole component. */
static size_t
double_at(struct span s, size_t i, uint8_t sep)
{
	bool starts = i == 0 || s.ptr[i - 1] == sep;

	if (!starts || s.len - i < 2 || s.ptr[i + 1] != '*')
		return 0;
	if (s.len - i == 2)
		return 2;
	return s.ptr[i + 2] == sep ? 3 : 0;
}

static int
put_star(struct build *b, struct span s, size_t *i, struct fault *f)
{
	uint8_t sep = b->g->separator;
	size_t skip = sep ? double_at(s, *i, sep) : 0;

	if (skip) {
		put_double(b, skip == 2);
		*i += skip;
		return 0;
	}
	if (sep && *i + 1 < s.len && s.ptr[*i + 1] == '*')
		return fault_set(f, FAULT_INVALID,
		    "'**' must be a whole component: write '*'");
	while (!sep && *i + 1 < s.len && s.ptr[*i + 1] == '*')
		++*i;
	put(b, sep ? POLICY_STEP_STAR : POLICY_STEP_ANY, '*');
	++*i;
	return 0;
}

static int
put_byte(struct build *b, uint8_t c, struct fault *f)
{
	if (c < ' ' || c > '~')
		return fault_set(f, FAULT_INVALID,
		    "a glob is printable ASCII, not byte \\x%02x", c);
	if (strchr("?[]{}\\", c))
		return fault_set(f, FAULT_INVALID,
		    "'%c' is not supported: a glob has '*' and '**' only, "
		    "write one for each",
		    c);
	put(b, c, c);
	return 0;
}

static void
settle(struct build *b)
{
	struct policy_glob *g = b->g;

	g->steps = b->steps;
	g->n = b->n;
	g->text = span_of(b->text, b->len);
	g->literal = true;
	for (uint32_t i = 0; i < b->n; i++)
		if (b->steps[i] >= POLICY_STEP_STAR)
			g->literal = false;
	g->everything = b->n == 1 && b->steps[0] == POLICY_STEP_ANY;
}

int
policy_glob_read(struct policy_glob *g, enum policy_glob_kind kind,
    struct span text, struct arena *a, struct fault *f)
{
	static const uint8_t separators[] = { '.', '/', 0 };
	struct build b = { .g = g };
	size_t i = 0;

	memset(g, 0, sizeof(*g));
	g->separator = separators[kind];
	if (text.len > POLICY_PATTERN)
		return fault_set(f, FAULT_INVALID, "over %d bytes",
		    POLICY_PATTERN);
	/* "**" and its separator are three bytes and three steps. */
	b.steps = arena_get(a, (text.len + 1) * sizeof(*b.steps));
	b.text = arena_get(a, text.len + 1);
	if (!b.steps || !b.text)
		return fault_set(f, FAULT_LIMIT, "policy is too large");
	while (i < text.len)
		if (text.ptr[i] == '*') {
			if (put_star(&b, text, &i, f) != 0)
				return -1;
		} else if (put_byte(&b, text.ptr[i++], f) != 0) {
			return -1;
		}
	settle(&b);
	return 0;
}

enum {
	WORDS = POLICY_PATTERN / 64 + 1,
};

/* The positions that a prefix of the text may have led to. */
struct positions {
	uint64_t word[WORDS];
};

static void
reach(const struct policy_glob *g, struct positions *p, uint32_t i)
{
	for (;;) {
		uint64_t bit = 1ull << (i & 63);

		if (p->word[i >> 6] & bit)
			return;
		p->word[i >> 6] |= bit;
		if (i == g->n || g->steps[i] < POLICY_STEP_STAR)
			return;
		if (g->steps[i] == POLICY_STEP_FORK)
			reach(g, p, i + 3); /* no FORK is there */
		i++;
	}
}

/* Byte c from all positions of p into q: how many there were. 0: q is empty. */
static size_t
advance(const struct policy_glob *g, const struct positions *p,
    struct positions *q, uint8_t c)
{
	size_t words = g->n / 64 + 1;
	size_t gone = words;
	bool some = false;

	memset(q, 0, words * sizeof(q->word[0]));
	for (size_t w = 0; w < words; w++)
		for (uint64_t left = p->word[w]; left; left &= left - 1) {
			uint32_t i = (uint32_t)(w * 64) +
			    (uint32_t)__builtin_ctzll(left);
			uint16_t step = i < g->n ? g->steps[i] : UINT16_MAX;

			gone++;
			if (step == c)
				reach(g, q, i + 1);
			else if (step == POLICY_STEP_ANY ||
			    (step == POLICY_STEP_STAR && c != g->separator))
				reach(g, q, i);
			else
				continue;
			some = true;
		}
	return some ? gone : 0;
}

/* That many positions were gone through; false: more than are left. */
static bool
take(uint64_t *left, size_t n)
{
	*left = *left > n ? *left - n : 0;
	return *left > 0;
}

bool
policy_glob_match(const struct policy_glob *g, struct span s)
{
	uint64_t left = UINT64_MAX;

	return policy_glob_walk(g, s, &left);
}

bool
policy_glob_walk(const struct policy_glob *g, struct span s, uint64_t *left)
{
	struct positions p[2];
	size_t at = 0;
	size_t k = 0;
	uint32_t last = g->n - 1;
	bool open = g->n > 0 && g->steps[last] == POLICY_STEP_ANY;

	if (g->everything)
		return true;
	if (g->literal)
		return span_equal(g->text, s);
	while (g->steps[at] < POLICY_STEP_STAR) { /* there is a hole */
		if (at == s.len || s.ptr[at] != g->steps[at])
			return false;
		at++;
	}
	if (!take(left, at / 2))
		return false;
	memset(p[0].word, 0, (g->n / 64 + 1) * sizeof(p[0].word[0]));
	reach(g, &p[0], (uint32_t)at);
	for (; at < s.len; at++, k ^= 1) {
		size_t gone;

		if (open && p[k].word[last >> 6] >> (last & 63) & 1)
			return true;
		gone = advance(g, &p[k], &p[k ^ 1], s.ptr[at]);
		if (gone == 0 || !take(left, gone))
			return false;
	}
	return p[k].word[g->n >> 6] >> (g->n & 63) & 1;
}

bool
policy_globs_match(const struct policy_globs *g, struct span s)
{
	for (size_t i = 0; i < g->n; i++)
		if (policy_glob_match(&g->glob[i], s))
			return true;
	return false;
}
