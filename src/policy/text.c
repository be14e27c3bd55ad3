/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text in an arena, quoting for YAML, and sorted pieces. */
#include <string.h>

#include "policy/inner.h"

enum {
	TEXT_FIRST = 256,
};

static void
add(struct text *t, const char *s, size_t n)
{
	if (t->spent)
		return;
	if (t->n + n >= t->room) {
		size_t room = t->room ? t->room : TEXT_FIRST;
		char *to;

		while (room <= t->n + n)
			room *= 2;
		to = arena_get(t->a, room);
		if (!to) {
			t->spent = true;
			return;
		}
		if (t->n)
			memcpy(to, t->to, t->n);
		t->to = to;
		t->room = room;
	}
	memcpy(t->to + t->n, s, n);
	t->n += n;
	t->to[t->n] = '\0';
}

void
text_add(struct text *t, const char *s)
{
	add(t, s, strlen(s));
}

void
text_num(struct text *t, uint64_t n)
{
	char digits[24];

	(void)text_fmt(digits, sizeof(digits), "%llu", (unsigned long long)n);
	text_add(t, digits);
}

/* The code point at s[i], which is valid UTF-8; its length. */
static size_t
code_point(struct span s, size_t i, uint32_t *out)
{
	uint8_t c = s.ptr[i];
	size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

	*out = n == 1 ? c : c & (0x7fu >> n);
	for (size_t k = 1; k < n; k++)
		*out = *out << 6 | (s.ptr[i + k] & 0x3fu);
	return n;
}

/* Double quotes; what is not printable ASCII is escaped. */
void
text_quoted(struct text *t, struct span s)
{
	char escape[16];
	uint32_t c;

	text_add(t, "\"");
	for (size_t i = 0; i < s.len;) {
		size_t n = code_point(s, i, &c);

		if (c == '"' || c == '\\')
			(void)text_fmt(escape, sizeof(escape), "\\%c", (int)c);
		else if (c >= ' ' && c <= '~')
			(void)text_fmt(escape, sizeof(escape), "%c", (int)c);
		else
			(void)text_fmt(escape, sizeof(escape),
			    c > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)c);
		text_add(t, escape);
		i += n;
	}
	text_add(t, "\"");
}

/* Unquoted when no reader of YAML can take it for anything else. */
void
text_path(struct text *t, struct span s)
{
	bool is_plain = s.len > 0 && s.ptr[0] == '/';

	for (size_t i = 0; i < s.len && is_plain; i++) {
		uint8_t c = s.ptr[i];

		is_plain = (c >= '/' && c <= '9') || (c >= 'A' && c <= 'Z') ||
		    (c >= 'a' && c <= 'z') || (c && strchr("_.*~+=%-", c));
	}
	if (is_plain)
		add(t, (const char *)s.ptr, s.len);
	else
		text_quoted(t, s);
}

static int
by_bytes(const void *x, const void *y)
{
	const struct span *a = x;
	const struct span *b = y;
	size_t n = a->len < b->len ? a->len : b->len;
	int c = n ? memcmp(a->ptr, b->ptr, n) : 0;

	return c ? c : (a->len > b->len) - (a->len < b->len);
}

void
text_sorted(struct text *t, struct span *piece, size_t n, const char *between)
{
	size_t last = 0;

	if (n > 0)
		qsort(piece, n, sizeof(*piece), by_bytes);
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && span_equal(piece[i], piece[last]))
			continue;
		if (i > 0)
			text_add(t, between);
		add(t, (const char *)piece[i].ptr, piece[i].len);
		last = i;
	}
}
