/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the fields of a head (RFC 9110 5, 8.3, 12.5.1): names are folded by
 * whoever parsed it, values are compared byte for byte unless said.
 */
#include <string.h>

#include "mcp/inner.h"

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

struct span
mcp_trim(struct span s)
{
	while (s.len > 0 && is_blank(s.ptr[0]))
		s = span_from(s, 1);
	while (s.len > 0 && is_blank(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

bool
mcp_field(const struct mcp_head *h, const char *name, struct span *value)
{
	struct span found;

	if (!h->header(h->at, name, 0, &found))
		return false;
	*value = mcp_trim(found);
	return true;
}

bool
mcp_field_is_twice(const struct mcp_head *h, const char *name)
{
	struct span second;

	return h->header(h->at, name, 1, &second);
}

static uint8_t
fold(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
}

bool
mcp_text_is_nocase(struct span s, const char *lower)
{
	/* Most are another from their first byte on. */
	if (s.len > 0 && fold(s.ptr[0]) != (uint8_t)lower[0])
		return false;
	if (s.len != strlen(lower))
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (fold(s.ptr[i]) != (uint8_t)lower[i])
			return false;
	return true;
}

/* Cut the part of *rest before `by` off; false when nothing is left. */
static bool
part_take(struct span *rest, uint8_t by, struct span *part)
{
	size_t n;

	if (rest->len == 0)
		return false;
	n = span_find(*rest, by);
	*part = mcp_trim(span_of(rest->ptr, n));
	*rest = span_from(*rest, n + 1);
	return true;
}

bool
mcp_content_is(const struct mcp_head *h, const char *type)
{
	struct span value;
	struct span essence;

	if (!mcp_field(h, "content-type", &value) ||
	    mcp_field_is_twice(h, "content-type"))
		return false;
	return part_take(&value, ';', &essence) &&
	    mcp_text_is_nocase(essence, type);
}

/* "q=0", "q=0.000": the range is not acceptable. */
static bool
is_refused(struct span params)
{
	struct span p;

	while (part_take(&params, ';', &p)) {
		bool zero =
		    p.len > 2 && fold(p.ptr[0]) == 'q' && p.ptr[1] == '=';

		for (size_t i = 2; zero && i < p.len; i++)
			zero = p.ptr[i] == '0' || p.ptr[i] == '.';
		if (zero)
			return true;
	}
	return false;
}

enum {
	EXACT = 3, /* place of a range without a star */
};

/* What the most specific range that names a type says of it. */
struct verdict {
	unsigned place; /* 0: none did */
	bool is_taken;
};

static void
verdict_take(struct verdict *v, unsigned place, bool is_taken)
{
	if (place < v->place)
		return;
	v->is_taken = is_taken || (place == v->place && v->is_taken);
	v->place = place;
}

static void
range_take(struct span range, struct verdict *json, struct verdict *stream)
{
	static const char *const jsons[EXACT] = { "*/*", "application/*",
		"application/json" };
	static const char *const streams[EXACT] = { "*/*", "text/*",
		"text/event-stream" };
	struct span type;
	bool is_taken;

	if (!part_take(&range, ';', &type))
		return;
	is_taken = !is_refused(range);
	for (unsigned i = 0; i < EXACT; i++) {
		if (mcp_text_is_nocase(type, jsons[i]))
			verdict_take(json, i + 1, is_taken);
		if (mcp_text_is_nocase(type, streams[i]))
			verdict_take(stream, i + 1, is_taken);
	}
}

void
mcp_accept(const struct mcp_head *h, struct mcp_accepts *to)
{
	struct verdict json = { 0 };
	struct verdict stream = { 0 };
	struct span value;
	struct span range;
	size_t n = 0;

	for (; h->header(h->at, "accept", n, &value); n++)
		while (part_take(&value, ',', &range))
			range_take(range, &json, &stream);
	to->json = json.is_taken || n == 0;
	to->stream = stream.is_taken || n == 0;
	to->asks_stream =
	    stream.is_taken && (stream.place == EXACT || !to->json);
}

struct span
mcp_path(const struct mcp_head *h)
{
	return span_of(h->target.ptr, span_find(h->target, '?'));
}

bool
mcp_bearer(const struct mcp_head *h, struct span *token)
{
	struct span value;
	size_t n;

	if (!mcp_field(h, "authorization", &value) ||
	    mcp_field_is_twice(h, "authorization"))
		return false;
	n = span_find(value, ' ');
	if (!mcp_text_is_nocase(span_of(value.ptr, n), "bearer"))
		return false;
	value = mcp_trim(span_from(value, n));
	if (value.len == 0)
		return false;
	*token = value;
	return true;
}
