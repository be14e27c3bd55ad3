/* SPDX-License-Identifier: Apache-2.0 */
/* The query of a request into pairs, as a form is decoded. */
#include <string.h>

#include "policy/inner.h"

static int
decode(struct span s, struct arena *a, struct span *out, struct fault *f)
{
	uint8_t *to = arena_get(a, s.len + 1);
	size_t n = 0;

	if (!to)
		return fault_set(f, FAULT_LIMIT, "the query is too large");
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.ptr[i];

		if (c == '+') {
			c = ' ';
		} else if (c == '%') {
			if (!percent_decode(s, i, &c))
				return fault_set(f, FAULT_INVALID,
				    "a '%%' in the query is no escape");
			i += 2;
		}
		to[n++] = c;
	}
	*out = span_of(to, n);
	if (!utf8_valid(*out))
		return fault_set(f, FAULT_INVALID, "the query is not UTF-8");
	return 0;
}

int
policy_query_parse(struct span query, struct arena *a,
    const struct policy_pair **pairs, size_t *n, struct fault *f)
{
	size_t most = 1;
	struct policy_pair *list;

	for (size_t i = 0; i < query.len; i++)
		most += query.ptr[i] == '&';
	list = arena_get(a, most * sizeof(*list));
	if (!list)
		return fault_set(f, FAULT_LIMIT, "the query is too large");
	*n = 0;
	while (query.len > 0) {
		struct span piece = span_of(query.ptr, span_find(query, '&'));
		size_t at = span_find(piece, '=');
		struct policy_pair *p = &list[*n];

		query = span_from(query, piece.len + 1);
		if (piece.len == 0)
			continue;
		if (decode(span_of(piece.ptr, at), a, &p->key, f) != 0 ||
		    decode(span_from(piece, at + 1), a, &p->value, f) != 0)
			return -1;
		++*n;
	}
	*pairs = list;
	return 0;
}
