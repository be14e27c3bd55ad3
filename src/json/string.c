/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings: what may stand between two quotes, and what it means. Nothing here
 * looks outside the span it is given.
 */
#include <string.h>

#include "base/base.h"
#include "json/inner.h"

enum {
	UNIT = 6, /* bytes of \uXXXX */
	SURROGATE_HIGH = 0xd800,
	SURROGATE_LOW = 0xdc00,
	SURROGATE_END = 0xe000,
};

static const char escapes[] = "\"\\/bfnrt";
static const char escaped[] = "\"\\/\b\f\n\r\t";

size_t
json_utf8_step(struct span s)
{
	uint8_t c = s.ptr[0];
	size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

	if (n == 1)
		return 1;
	return n <= s.len && utf8_valid(span_of(s.ptr, n)) ? n : 0;
}

/* The code unit of the \uXXXX at `at`; false when none stands there. */
static bool
unit_at(struct span s, size_t at, uint32_t *unit)
{
	uint8_t pair[2];

	if (s.len < UNIT || at > s.len - UNIT)
		return false;
	if (s.ptr[at] != '\\' || s.ptr[at + 1] != 'u')
		return false;
	if (!hex_parse(span_of(s.ptr + at + 2, 4), pair, sizeof(pair)))
		return false;
	*unit = (uint32_t)pair[0] << 8 | pair[1];
	return true;
}

static int
scan_unit(struct span s, size_t *at, struct fault *f)
{
	uint32_t high;
	uint32_t low;

	if (!unit_at(s, *at, &high))
		return json_wrong(*at, "\\u without four hex digits", f);
	if (high < SURROGATE_HIGH || high >= SURROGATE_END) {
		*at += UNIT;
		return 0;
	}
	if (high >= SURROGATE_LOW || !unit_at(s, *at + UNIT, &low) ||
	    low < SURROGATE_LOW || low >= SURROGATE_END)
		return json_wrong(*at, "lone surrogate", f);
	*at += 2 * UNIT;
	return 0;
}

static int
scan_escape(struct span s, size_t *at, struct fault *f)
{
	uint8_t c = *at + 1 < s.len ? s.ptr[*at + 1] : 0;

	if (c == 'u')
		return scan_unit(s, at, f);
	if (c == 0 || !strchr(escapes, c))
		return json_wrong(*at, "unknown escape", f);
	*at += 2;
	return 0;
}

int
json_string_scan(struct span text, size_t *at, struct fault *f)
{
	size_t begin = (*at)++;

	while (*at < text.len) {
		uint8_t c = text.ptr[*at];
		size_t n;

		if (c == '"') {
			(*at)++;
			return 0;
		}
		if (c < 0x20)
			return json_wrong(*at, "control byte in a string", f);
		if (c == '\\') {
			if (scan_escape(text, at, f) != 0)
				return -1;
			continue;
		}
		n = c < 0x80 ? 1 : json_utf8_step(span_from(text, *at));
		if (n == 0)
			return json_wrong(*at, "invalid UTF-8", f);
		*at += n;
	}
	return json_wrong(begin, "string without an end", f);
}

static size_t
utf8_put(uint32_t c, uint8_t *out)
{
	if (c < 0x80) {
		out[0] = (uint8_t)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (uint8_t)(0xc0 | c >> 6);
		out[1] = (uint8_t)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (uint8_t)(0xe0 | c >> 12);
		out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		out[2] = (uint8_t)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (uint8_t)(0xf0 | c >> 18);
	out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
	out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	out[3] = (uint8_t)(0x80 | (c & 0x3f));
	return 4;
}

/* Decode the escape at `at` to out; *used grows. Returns where it ends. */
static size_t
decode_escape(struct span s, size_t at, uint8_t *out, size_t *used)
{
	const char *hit;
	uint32_t c;
	uint32_t low;

	if (unit_at(s, at, &c)) {
		at += UNIT;
		if (c >= SURROGATE_HIGH && c < SURROGATE_LOW &&
		    unit_at(s, at, &low)) {
			c = 0x10000 + ((c - SURROGATE_HIGH) << 10) +
			    (low - SURROGATE_LOW);
			at += UNIT;
		}
		*used += utf8_put(c, out + *used);
		return at;
	}
	hit = strchr(escapes, s.ptr[at + 1]);
	BUG_IF(!hit);
	out[(*used)++] = (uint8_t)escaped[hit - escapes];
	return at + 2;
}

size_t
json_string_decode(struct span s, uint8_t *out)
{
	size_t used = 0;
	size_t at = 0;

	while (at < s.len) {
		struct span rest = span_from(s, at);
		size_t n = span_find(rest, '\\');

		memcpy(out + used, rest.ptr, n);
		used += n;
		at += n;
		if (at < s.len)
			at = decode_escape(s, at, out, &used);
	}
	return used;
}
