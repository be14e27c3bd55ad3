/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shortest string in  U & A1 & .. & An - (B1 | .. | Bm),  U the strings
 * that requests may have, each Ai and Bj a union of globs.
 *
 * All positions of all globs stand in one row of bits. The set of positions
 * that a prefix leads to is a row; a byte c takes it to the next:
 *
 *	next = ((row & literal[c]) << 1) | (row & stay[c]),   then closed under
 *	holes that match nothing: i to i + 1, and FORK: i to i + 3
 *
 * so the automaton is determinised as far as it is walked. Breadth first over
 * (row, state of U) finds the shortest string; bytes go from plain to odd, so
 * it is also the plainest. Bytes that no glob names behave alike: one stands
 * for all. A row in which an Ai has no position is dead, one in which a Bj
 * ends in an open "**" too: all that follows is in Bj.
 *
 * A label has at most 63 bytes. Its length is no part of the state: of two
 * ways to a state the one with the shorter label can do all that the other
 * can, so a state is entered again only with a shorter one.
 *
 * Rows live in a scratch area; when it is full the search begins again in one
 * eight times as large.
 */
#include <string.h>

#include "region/inner.h"

enum {
	SCRATCH = 4 << 10, /* a page costs more than a small search */
	SCRATCH_MOST = SCRATCH * 512,
	FREE = 0, /* of a language of a protocol */
	MUST,
	MUST_NOT,
};

struct node {
	uint32_t from;
	uint32_t chain; /* next of the same slot, + 1 */
	uint16_t depth;
	uint8_t byte;
	uint8_t label; /* bytes of it so far */
	uint8_t universe;
	bool broken; /* has a %2F; is no strict name */
};

struct side { /* words of a set in a row */
	uint32_t first;
	uint32_t end;
};

struct region_search {
	enum region_dim dim;
	uint32_t *ids; /* in, then out */
	uint32_t in_n;
	uint32_t out_n;
	unsigned special; /* FREE, MUST, MUST_NOT: PLAIN or STRICT */
	uint32_t words;
	uint32_t classes;
	uint8_t alphabet[256];
	struct side *in; /* in_n of them */
	uint64_t *literal;
	uint64_t *stay;
	uint64_t *skip;
	uint64_t *fork;
	uint64_t *accept;
	uint64_t *bad;    /* accept, of out */
	uint64_t *closed; /* all that follows is in some out */
	uint64_t *rows;
	struct node *nodes;
	uint32_t *slots;
	uint32_t slots_n;
	uint32_t room;
	uint32_t n;
	uint32_t at;
	uint8_t *scratch;
	size_t scratch_have;
	size_t scratch_size; /* of it in use */
	size_t scratch_used;
};

/* --- alphabet */

static void
mention(const struct region_search *s, const struct region_solver *p,
    bool *named)
{
	for (uint32_t i = 0; i < s->in_n + s->out_n; i++) {
		const struct set *set = set_at(p, s->ids[i]);

		for (uint32_t k = 0; k < set->n; k++)
			for (uint32_t j = 0; j < set->glob[k]->n; j++)
				if (set->glob[k]->steps[j] < 256)
					named[set->glob[k]->steps[j]] = true;
	}
}

static void
add_all(bool *named, const char *bytes)
{
	for (; *bytes; bytes++)
		named[(uint8_t)*bytes] = true;
}

static void
alphabet_make(struct region_search *s, const struct region_solver *p)
{
	bool named[256] = { false };
	bool other[2] = { false, false }; /* strict or not, where it matters */

	mention(s, p, named);
	if (s->dim == REGION_HOST)
		add_all(named, ".");
	if (s->dim == REGION_PATH || s->dim == REGION_PROGRAM)
		add_all(named, "/");
	if (s->dim == REGION_PATH && (named['%'] || s->special == MUST_NOT))
		add_all(named, "%0123456789ABCDEF");
	s->classes = 0;
	for (const char *c = plain_bytes; *c; c++) {
		bool loose = s->dim == REGION_TOOL && s->special != FREE &&
		    !tool_byte_is_strict((uint8_t)*c);

		if (!named[(uint8_t)*c] && other[loose])
			continue;
		other[loose] = other[loose] || !named[(uint8_t)*c];
		s->alphabet[s->classes++] = (uint8_t)*c;
	}
}

/* --- tables */

static void *
carve(struct region_search *s, size_t n)
{
	void *at;

	n = (n + 15) & ~(size_t)15;
	if (n > s->scratch_size - s->scratch_used)
		return NULL;
	at = s->scratch + s->scratch_used;
	s->scratch_used += n;
	return at;
}

static void
set_bit(uint64_t *row, uint32_t bit)
{
	row[bit / 64] |= 1ull << (bit % 64);
}

static void
glob_put(struct region_search *s, const struct policy_glob *g, uint32_t bit,
    bool out)
{
	for (uint32_t i = 0; i < g->n; i++) {
		uint16_t step = g->steps[i];

		for (uint32_t c = 0; c < s->classes; c++) {
			uint8_t byte = s->alphabet[c];

			if (step == byte)
				set_bit(s->literal + (size_t)c * s->words,
				    bit + i);
			if (step == POLICY_STEP_ANY ||
			    (step == POLICY_STEP_STAR && byte != g->separator))
				set_bit(s->stay + (size_t)c * s->words,
				    bit + i);
		}
		if (step >= POLICY_STEP_STAR)
			set_bit(s->skip, bit + i);
		if (step == POLICY_STEP_FORK)
			set_bit(s->fork, bit + i);
	}
	set_bit(s->accept, bit + g->n);
	if (out)
		set_bit(s->bad, bit + g->n);
	if (out && g->n > 0 && g->steps[g->n - 1] == POLICY_STEP_ANY)
		set_bit(s->closed, bit + g->n - 1);
	set_bit(s->rows, bit); /* where all begin */
}

static uint32_t
words_of(const struct set *set)
{
	uint32_t bits = 0;

	for (uint32_t k = 0; k < set->n; k++)
		bits += set->glob[k]->n + 1;
	return bits / 64 + 1;
}

static void
set_put(struct region_search *s, const struct set *set, uint32_t word, bool out)
{
	uint32_t bit = word * 64;

	for (uint32_t k = 0; k < set->n; k++) {
		glob_put(s, set->glob[k], bit, out);
		bit += set->glob[k]->n + 1;
	}
}

static void
close_row(const struct region_search *s, uint64_t *row)
{
	bool more = true;

	while (more) {
		uint64_t one = 0;
		uint64_t three = 0;

		more = false;
		for (uint32_t w = 0; w < s->words; w++) {
			uint64_t x = row[w] & s->skip[w];
			uint64_t y = row[w] & s->fork[w];
			uint64_t new = row[w] | x << 1 | one | y << 3 | three;

			one = x >> 63;
			three = y >> 61;
			more = more || new != row[w];
			row[w] = new;
		}
	}
}

static bool
tables_make(struct region_search *s, struct region_solver *p)
{
	uint32_t n = s->in_n + s->out_n;
	size_t row;

	s->words = 1;
	for (uint32_t i = 0; i < n; i++)
		s->words += words_of(set_at(p, s->ids[i]));
	alphabet_make(s, p);
	row = (size_t)s->words * sizeof(uint64_t);
	s->in = carve(s, (s->in_n + 1) * sizeof(*s->in));
	s->literal = carve(s, row * s->classes);
	s->stay = carve(s, row * s->classes);
	s->skip = carve(s, row * 5);
	if (!s->in || !s->literal || !s->stay || !s->skip)
		return false;
	memset(s->literal, 0, row * s->classes);
	memset(s->stay, 0, row * s->classes);
	memset(s->skip, 0, row * 5);
	p->steps += s->words * s->classes;
	s->fork = s->skip + s->words;
	s->accept = s->fork + s->words;
	s->bad = s->accept + s->words;
	s->closed = s->bad + s->words;
	return true;
}

/* The rest of the scratch: nodes, their rows, slots. */
static bool
nodes_make(struct region_search *s)
{
	size_t row = (size_t)s->words * sizeof(uint64_t);
	size_t each = row + sizeof(struct node) + 4 * sizeof(uint32_t);
	size_t left = s->scratch_size - s->scratch_used;

	if (left < 16 * each + 256)
		return false;
	s->room = (uint32_t)((left - 64) / each);
	for (s->slots_n = 1; s->slots_n * 2 <= s->room * 2;)
		s->slots_n *= 2;
	s->rows = carve(s, s->room * row);
	s->nodes = carve(s, s->room * sizeof(*s->nodes));
	s->slots = carve(s, s->slots_n * sizeof(*s->slots));
	BUG_IF(!s->rows || !s->nodes || !s->slots);
	memset(s->slots, 0, s->slots_n * sizeof(*s->slots));
	memset(s->rows, 0, row);
	return true;
}

static uint64_t
row_hash(const uint64_t *row, uint32_t n, unsigned u)
{
	uint64_t h = u;

	for (uint32_t w = 0; w < n; w++) {
		h = (h ^ row[w]) * 0x9e3779b97f4a7c15;
		h ^= h >> 32;
	}
	return h;
}

static bool
begin(struct region_search *s, struct region_solver *p)
{
	uint32_t word = 0;

	s->scratch_used = 0;
	if (!tables_make(s, p) || !nodes_make(s))
		return false;
	for (uint32_t i = 0; i < s->in_n + s->out_n; i++) {
		const struct set *set = set_at(p, s->ids[i]);
		uint32_t n = words_of(set);

		set_put(s, set, word, i >= s->in_n);
		if (i < s->in_n)
			s->in[i] = (struct side){ word, word + n };
		word += n;
	}
	close_row(s, s->rows);
	s->nodes[0] = (struct node){ .universe = (uint8_t)universe_start() };
	/* Not among the slots: what leads back to it is a string, it is none. */
	s->n = 1;
	s->at = 0;
	return true;
}

/* Begin again with more scratch. */
static bool
begin_larger(struct region_search *s, struct region_solver *p)
{
	do {
		s->scratch_size *= 8;
		if (s->scratch_size > SCRATCH_MOST) {
			p->spent = true;
			return false;
		}
		if (s->scratch_size > s->scratch_have) {
			s->scratch = region_take(p, s->scratch_size, 1);
			s->scratch_have = s->scratch ? s->scratch_size : 0;
		}
		if (!s->scratch)
			return false;
	} while (!begin(s, p));
	return true;
}

bool
search_start(struct region_solver *p, enum region_dim dim,
    const struct sides *of)
{
	struct region_search *s = p->search;

	if (!s)
		p->search = s = region_take(p, 1, sizeof(*s));
	if (!s)
		return false;
	s->dim = dim;
	s->special = FREE;
	s->in_n = s->out_n = 0;
	s->ids = region_take(p, of->in_n + of->out_n, sizeof(*s->ids));
	if (!s->ids)
		return false;
	for (size_t i = 0; i < of->in_n; i++)
		if (set_at(p, of->in[i])->form == REGION_SET_GLOBS)
			s->ids[s->in_n++] = of->in[i];
		else
			s->special = MUST;
	for (size_t i = 0; i < of->out_n; i++)
		if (set_at(p, of->out[i])->form == REGION_SET_GLOBS)
			s->ids[s->in_n + s->out_n++] = of->out[i];
		else
			s->special = MUST_NOT;
	s->scratch_size = SCRATCH;
	if (s->scratch_have == 0) {
		s->scratch = region_take(p, SCRATCH, 1);
		s->scratch_have = s->scratch ? SCRATCH : 0;
	}
	return s->scratch && (begin(s, p) || begin_larger(s, p));
}

/* --- walking */

/* In all of in, or in one of out. */
static bool
accepts(const struct region_search *s, uint32_t node)
{
	const struct node *n = &s->nodes[node];
	const uint64_t *row = s->rows + (size_t)node * s->words;
	bool broken = n->broken ||
	    (s->dim == REGION_TOOL && (n->depth == 0 || n->depth > STRICT_MAX));

	if (!universe_accepts(s->dim, n->universe) ||
	    (s->special != FREE && broken != (s->special == MUST_NOT)))
		return false;
	for (uint32_t w = 0; w < s->words; w++)
		if (row[w] & s->bad[w])
			return false;
	for (uint32_t i = 0; i < s->in_n; i++) {
		uint32_t w = s->in[i].first;

		while (w < s->in[i].end && !(row[w] & s->accept[w]))
			w++;
		if (w == s->in[i].end)
			return false;
	}
	return true;
}

static bool
is_dead(const struct region_search *s, const uint64_t *row)
{
	for (uint32_t w = 0; w < s->words; w++)
		if (row[w] & s->closed[w])
			return true;
	for (uint32_t i = 0; i < s->in_n; i++) {
		uint32_t w = s->in[i].first;

		while (w < s->in[i].end && !row[w])
			w++;
		if (w == s->in[i].end)
			return true;
	}
	return false;
}

/* The row after byte c, behind the last node. */
static void
advance(struct region_search *s, uint32_t node, uint32_t c)
{
	const uint64_t *from = s->rows + (size_t)node * s->words;
	uint64_t *to = s->rows + (size_t)s->n * s->words;
	const uint64_t *literal = s->literal + (size_t)c * s->words;
	const uint64_t *stay = s->stay + (size_t)c * s->words;
	uint64_t carry = 0;

	for (uint32_t w = 0; w < s->words; w++) {
		uint64_t x = from[w] & literal[w];

		to[w] = x << 1 | carry | (from[w] & stay[w]);
		carry = x >> 63;
	}
	close_row(s, to);
}

/* Keep the row behind the last node, unless it is known. */
static bool
keep(struct region_search *s, struct node n)
{
	const uint64_t *row = s->rows + (size_t)s->n * s->words;
	uint32_t *slot = &s->slots[row_hash(row, s->words,
				       n.universe | (n.broken ? 256u : 0u)) &
	    (s->slots_n - 1)];

	for (uint32_t at = *slot; at; at = s->nodes[at - 1].chain) {
		const struct node *old = &s->nodes[at - 1];

		if (old->universe == n.universe && old->broken == n.broken &&
		    old->label <= n.label &&
		    memcmp(s->rows + (size_t)(at - 1) * s->words, row,
			s->words * sizeof(*row)) == 0)
			return false;
	}
	n.chain = *slot;
	s->nodes[s->n++] = n;
	*slot = s->n;
	return true;
}

static void
spell(const struct region_search *s, struct region_solver *p, uint32_t node,
    struct span *out)
{
	size_t n = s->nodes[node].depth;
	uint8_t *to = region_take(p, n, 1);

	if (!to)
		return;
	*out = span_of(to, n);
	for (; n > 0; node = s->nodes[node].from)
		to[--n] = s->nodes[node].byte;
}

/* One byte further from s->at; true: it ends in the string looked for. */
static bool
follow(struct region_search *s, uint32_t c)
{
	const struct node *from = &s->nodes[s->at];
	uint8_t byte = s->alphabet[c];
	struct node n = { .from = s->at,
		.byte = byte,
		.depth = (uint16_t)(from->depth + 1),
		.broken = from->broken };

	n.universe = (uint8_t)universe_step(s->dim, from->universe, byte);
	if (!n.universe)
		return false;
	if (s->dim == REGION_HOST && byte != '.') {
		n.label = (uint8_t)(from->label + 1);
		if (n.label > UNIVERSE_LABEL)
			return false;
	}
	if (s->special != FREE) {
		n.broken = n.broken ||
		    (s->dim == REGION_TOOL ? !tool_byte_is_strict(byte)
					   : universe_after_slash(n.universe));
		if (n.broken && s->special == MUST)
			return false;
	}
	advance(s, s->at, c);
	if (is_dead(s, s->rows + (size_t)s->n * s->words))
		return false;
	return keep(s, n) && accepts(s, s->n - 1);
}

enum region_found
search_run(struct region_solver *p, struct span *out)
{
	struct region_search *s = p->search;

	while (s->at < s->n) {
		const struct node *at = &s->nodes[s->at];

		if (region_pauses(p))
			return REGION_WAIT;
		if (s->n + s->classes >= s->room) {
			if (!begin_larger(s, p))
				return REGION_NONE;
			continue;
		}
		p->steps += s->classes + s->words * s->classes / 4;
		if (at->depth < universe_longest(s->dim))
			for (uint32_t c = 0; c < s->classes; c++)
				if (follow(s, c)) {
					spell(s, p, s->n - 1, out);
					return REGION_SOME;
				}
		s->at++;
	}
	*out = span_of("", 0); /* the plainest string is no string, so last */
	return accepts(s, 0) ? REGION_SOME : REGION_NONE;
}
