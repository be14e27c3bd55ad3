/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers that repeat a value of the body, so that what stands between can
 * route without reading it. A value that is no plain header text comes as
 * "=?base64?...?=". Nothing is decoded: there is one canonical encoding of what
 * the body says, and the header must be it.
 */
#include "mcp/inner.h"

static const char prefix[] = "=?base64?";
static const char suffix[] = "?=";

/* One character of standard base64 (RFC 4648 4) of s, '=' past its end. */
static uint8_t
base64_at(struct span s, size_t i)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t group = i / 4 * 3;
	size_t left = s.len - group;
	uint32_t v = (uint32_t)s.ptr[group] << 16;

	if (left > 1)
		v |= (uint32_t)s.ptr[group + 1] << 8;
	if (left > 2)
		v |= s.ptr[group + 2];
	if (i % 4 > left)
		return '=';
	return (uint8_t)digits[v >> (18 - 6 * (i % 4)) & 63];
}

static bool
encoding_is(struct span text, struct span body)
{
	if (text.len != (body.len + 2) / 3 * 4)
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] != base64_at(body, i))
			return false;
	return true;
}

bool
mcp_mirror_is(struct span header, struct span body)
{
	size_t around = sizeof(prefix) - 1 + sizeof(suffix) - 1;
	struct span tail;

	if (header.len < around || !span_starts(header, prefix))
		return span_equal(header, body);
	tail = span_from(header, header.len - (sizeof(suffix) - 1));
	if (!span_is(tail, suffix))
		return span_equal(header, body);
	return encoding_is(
	    span_of(header.ptr + sizeof(prefix) - 1, header.len - around),
	    body);
}
