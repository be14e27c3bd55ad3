/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The target of a request into the one form that is judged and forwarded.
 * What two servers could read differently has no form and is refused.
 *
 *	split at the first '?'; decode every %HH; split at '/'; cut ";..."
 *	off each segment; resolve "." and ".."; drop empty inner segments;
 *	encode again what is not plain
 *
 * An encoded slash stays one (%2F): decoded it would be another path.
 */
#include <string.h>

#include "policy/inner.h"

enum {
	SLASH = 0, /* stands for %2F: NUL itself is refused */
};

static const char plain[] = "-._~!$&'()*+,=:@";

static int
hex_value(uint8_t c)
{
	uint8_t low = c | 0x20;

	if (c >= '0' && c <= '9')
		return c - '0';
	return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

bool
percent_decode(struct span s, size_t at, uint8_t *out)
{
	int high = s.len - at > 2 ? hex_value(s.ptr[at + 1]) : -1;
	int low = s.len - at > 2 ? hex_value(s.ptr[at + 2]) : -1;

	if (high < 0 || low < 0)
		return false;
	*out = (uint8_t)(high << 4 | low);
	return true;
}

static int
raw_check(struct span target, struct fault *f)
{
	for (size_t i = 0; i < target.len; i++) {
		uint8_t c = target.ptr[i];

		if (c <= ' ' || c >= 0x7f || c == '#')
			return fault_set(f, FAULT_INVALID,
			    "byte \\x%02x cannot be in a request target", c);
	}
	return 0;
}

static int
decode(struct span path, uint8_t *out, size_t *n, struct fault *f)
{
	*n = 0;
	for (size_t i = 0; i < path.len; i++) {
		uint8_t c = path.ptr[i];

		if (c == '%') {
			if (!percent_decode(path, i, &c))
				return fault_set(f, FAULT_INVALID,
				    "a '%%' in the path is no escape");
			if (c < ' ' || c == 0x7f)
				return fault_set(f, FAULT_INVALID,
				    "the path encodes a control byte");
			if (c == '/')
				c = SLASH;
			i += 2;
		}
		out[(*n)++] = c;
	}
	return 0;
}

static bool
is_dots(struct span s)
{
	return span_is(s, ".") || span_is(s, "..");
}

/* A "." or ".." between encoded slashes means another path to some. */
static bool
hides_dots(struct span segment)
{
	size_t at = span_find(segment, SLASH);

	if (at == segment.len)
		return false;
	for (; segment.len > 0; at = span_find(segment, SLASH)) {
		if (is_dots(span_of(segment.ptr, at)))
			return true;
		segment = span_from(segment, at + 1);
	}
	return false;
}

struct output {
	char *to;
	size_t n;
};

static void
put(struct output *o, struct span segment)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < segment.len; i++) {
		uint8_t c = segment.ptr[i];
		bool alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
		    (c >= 'a' && c <= 'z');

		if (alnum || (c != SLASH && strchr(plain, c))) {
			o->to[o->n++] = (char)c;
			continue;
		}
		c = c == SLASH ? '/' : c;
		o->to[o->n++] = '%';
		o->to[o->n++] = digits[c >> 4];
		o->to[o->n++] = digits[c & 15];
	}
}

/* o->to ends in '/' before and after, but after a last segment. */
static int
segment_put(struct output *o, struct span segment, bool is_last,
    struct fault *f)
{
	segment.len = span_find(segment, ';');
	if (hides_dots(segment))
		return fault_set(f, FAULT_INVALID,
		    "the path has a dot segment beside an encoded slash");
	if (segment.len == 0 || span_is(segment, "."))
		return 0;
	if (span_is(segment, "..")) {
		if (o->n == 1)
			return fault_set(f, FAULT_INVALID,
			    "the path climbs above its root");
		do
			o->n--;
		while (o->to[o->n - 1] != '/');
		return 0;
	}
	put(o, segment);
	if (!is_last)
		o->to[o->n++] = '/';
	return 0;
}

int
policy_path_canonical(struct span target, char *out, struct span *path,
    struct span *query, struct fault *f)
{
	size_t question = span_find(target, '?');
	uint8_t room[POLICY_TARGET];
	struct span left = { room, 0 };
	struct output o = { .to = out };

	if (raw_check(target, f) != 0)
		return -1;
	if (question > POLICY_TARGET)
		return fault_set(f, FAULT_INVALID, "the path is over %d bytes",
		    POLICY_TARGET);
	if (question == 0 || target.ptr[0] != '/')
		return fault_set(f, FAULT_INVALID,
		    "the path does not begin with '/'");
	if (decode(span_of(target.ptr, question), room, &left.len, f) != 0)
		return -1;
	o.to[o.n++] = '/';
	while (left.len > 0) {
		size_t slash;

		left = span_from(left, 1); /* the slash before a segment */
		slash = span_find(left, '/');
		if (segment_put(&o, span_of(left.ptr, slash), slash == left.len,
			f) != 0)
			return -1;
		left = span_from(left, slash);
	}
	*path = span_of(out, o.n);
	*query = span_from(target, question + 1);
	return 0;
}
