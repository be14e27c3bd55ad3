/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of addresses: RFC 4291 in, RFC 5952 out. Dotted quads are four
 * plain decimals: what inet_aton() also takes (octal, hexadecimal, three
 * parts) is no address here, and no host name either.
 */
#include <stdio.h>
#include <string.h>

#include "policy/inner.h"

static bool
v4_parse(struct span s, uint32_t *out)
{
	uint32_t v4 = 0;
	uint64_t part;

	for (int i = 0; i < 4; i++) {
		size_t dot = span_find(s, '.');

		if ((i < 3) != (dot < s.len) ||
		    !num_parse(span_of(s.ptr, dot), 255, &part))
			return false;
		v4 = v4 << 8 | (uint32_t)part;
		s = span_from(s, dot + 1);
	}
	*out = v4;
	return true;
}

struct groups {
	uint16_t group[8];
	size_t n;
	size_t gap; /* groups before "::"; 9: there is none */
};

static bool
group_parse(struct span s, uint16_t *out)
{
	uint32_t value = 0;

	if (s.len == 0 || s.len > 4)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.ptr[i];
		uint8_t lower = c | 0x20;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint32_t)(c - '0');
		else if (lower >= 'a' && lower <= 'f')
			value = value << 4 | (uint32_t)(lower - 'a' + 10);
		else
			return false;
	}
	*out = (uint16_t)value;
	return true;
}

/* One group, or the dotted quad at the end. */
static bool
part_parse(struct groups *g, struct span part, bool is_last)
{
	uint32_t v4;

	if (is_last && span_find(part, '.') < part.len) {
		if (g->n > 6 || !v4_parse(part, &v4))
			return false;
		g->group[g->n++] = (uint16_t)(v4 >> 16);
		g->group[g->n++] = (uint16_t)v4;
		return true;
	}
	return g->n < 8 && group_parse(part, &g->group[g->n++]);
}

static bool
groups_parse(struct groups *g, struct span s)
{
	g->gap = 9;
	if (span_starts(s, "::")) {
		g->gap = 0;
		s = span_from(s, 2);
	}
	while (s.len > 0) {
		size_t colon = span_find(s, ':');

		if (!part_parse(g, span_of(s.ptr, colon), colon == s.len))
			return false;
		if (colon == s.len)
			break;
		s = span_from(s, colon + 1);
		if (s.len == 0)
			return false;
		if (s.ptr[0] != ':')
			continue;
		if (g->gap != 9)
			return false;
		g->gap = g->n;
		s = span_from(s, 1);
	}
	return g->gap == 9 ? g->n == 8 : g->n < 8;
}

bool
policy_address_parse(struct span s, struct policy_address *out)
{
	struct groups g = { .n = 0 };
	struct policy_address a = { 0, 0 };
	uint32_t v4;

	if (span_find(s, ':') == s.len) {
		if (!v4_parse(s, &v4))
			return false;
		*out = policy_address_v4(v4);
		return true;
	}
	if (s.len >= POLICY_ADDRESS || !groups_parse(&g, s))
		return false;
	for (size_t i = 0; i < g.n; i++) {
		size_t at = i < g.gap ? i : 8 - g.n + i;

		if (at < 4)
			a.high |= (uint64_t)g.group[i] << (48 - 16 * at);
		else
			a.low |= (uint64_t)g.group[i] << (48 - 16 * (at - 4));
	}
	*out = a;
	return true;
}

/* The longest run of zero groups, the first of equals; two at least. */
static size_t
longest_gap(const uint16_t *group, size_t *len)
{
	size_t best = 8;

	*len = 1;
	for (size_t i = 0; i < 8; i++) {
		size_t n = 0;

		while (i + n < 8 && group[i + n] == 0)
			n++;
		if (n > *len) {
			best = i;
			*len = n;
		}
	}
	return best;
}

void
policy_address_format(struct policy_address a, char out[POLICY_ADDRESS])
{
	uint16_t group[8];
	size_t len;
	size_t gap;
	size_t used = 0;

	if (policy_address_is_v4(a)) {
		(void)text_fmt(out, POLICY_ADDRESS, "%u.%u.%u.%u",
		    (unsigned)(a.low >> 24 & 255),
		    (unsigned)(a.low >> 16 & 255), (unsigned)(a.low >> 8 & 255),
		    (unsigned)(a.low & 255));
		return;
	}
	for (size_t i = 0; i < 4; i++) {
		group[i] = (uint16_t)(a.high >> (48 - 16 * i));
		group[4 + i] = (uint16_t)(a.low >> (48 - 16 * i));
	}
	gap = longest_gap(group, &len);
	out[0] = '\0';
	for (size_t i = 0; i < 8; i++) {
		if (i == gap) {
			(void)text_fmt(out + used, POLICY_ADDRESS - used, "::");
			i += len - 1;
		} else {
			bool colon = i > 0 && i != gap + len;

			(void)text_fmt(out + used, POLICY_ADDRESS - used,
			    "%s%x", colon ? ":" : "", (unsigned)group[i]);
		}
		used = strlen(out);
	}
}
