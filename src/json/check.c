/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The validator: RFC 8259 and nothing else, one pass, no memory, no recursion.
 * jsmn finds where tokens begin and end but takes many texts that are not JSON
 * ({"a" "b"}, 01, a NUL that hides the rest), so it only ever sees what passed
 * here. The state is a function named for what may come next.
 */
#include <string.h>

#include "base/base.h"
#include "json/inner.h"

struct scan {
	struct span text;
	size_t at;
	int (*expect)(struct scan *s, uint8_t c, struct fault *f);
	unsigned depth;
	uint64_t is_object; /* one bit a depth, lowest is the outermost */
	struct json_count *count;
};

_Static_assert(JSON_DEPTH <= 64, "is_object has one bit a depth");

static int expect_value(struct scan *s, uint8_t c, struct fault *f);
static int expect_more(struct scan *s, uint8_t c, struct fault *f);

int
json_wrong(size_t at, const char *what, struct fault *f)
{
	return fault_set(f, FAULT_INVALID, "%s at byte %zu", what, at);
}

static bool
in_object(const struct scan *s)
{
	return s->depth > 0 && (s->is_object >> (s->depth - 1) & 1);
}

static int
count_token(struct scan *s, size_t *which, struct fault *f)
{
	if (s->count->values + s->count->keys == JSON_TOKENS)
		return fault_set(f, FAULT_LIMIT,
		    "over %d values and keys at byte %zu", JSON_TOKENS, s->at);
	(*which)++;
	return 0;
}

static int
expect_end(struct scan *s, uint8_t c, struct fault *f)
{
	(void)c;
	return json_wrong(s->at, "more after the value", f);
}

static void
value_done(struct scan *s)
{
	s->expect = s->depth ? expect_more : expect_end;
}

static int
scan_string(struct scan *s, struct fault *f)
{
	size_t begin = s->at;

	if (json_string_scan(s->text, &s->at, f) != 0)
		return -1;
	s->count->string_bytes += s->at - begin - 1;
	return 0;
}

static size_t
skip_digits(struct scan *s)
{
	size_t begin = s->at;

	while (s->at < s->text.len && s->text.ptr[s->at] >= '0' &&
	    s->text.ptr[s->at] <= '9')
		s->at++;
	return s->at - begin;
}

static bool
skip_byte(struct scan *s, const char *any)
{
	uint8_t c = s->at < s->text.len ? s->text.ptr[s->at] : 0;

	if (c == 0 || !strchr(any, c))
		return false;
	s->at++;
	return true;
}

static void
skip_blanks(struct scan *s)
{
	bool more;

	do
		more = skip_byte(s, " \t\n\r");
	while (more);
}

static int
scan_number(struct scan *s, struct fault *f)
{
	(void)skip_byte(s, "-");
	if (!skip_byte(s, "0") && skip_digits(s) == 0)
		return json_wrong(s->at, "number without a digit", f);
	if (skip_byte(s, ".") && skip_digits(s) == 0)
		return json_wrong(s->at, "fraction without a digit", f);
	if (skip_byte(s, "eE")) {
		(void)skip_byte(s, "+-");
		if (skip_digits(s) == 0)
			return json_wrong(s->at, "exponent without a digit", f);
	}
	return 0;
}

static int
scan_literal(struct scan *s, struct fault *f)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < NELEM(words); i++)
		if (span_starts(span_from(s->text, s->at), words[i])) {
			s->at += strlen(words[i]);
			return 0;
		}
	return json_wrong(s->at, "no value", f);
}

static int
container_close(struct scan *s)
{
	s->at++;
	s->depth--;
	value_done(s);
	return 0;
}

static int
expect_colon(struct scan *s, uint8_t c, struct fault *f)
{
	if (c != ':')
		return json_wrong(s->at, "no ':' after a key", f);
	s->at++;
	s->expect = expect_value;
	return 0;
}

static int
expect_key(struct scan *s, uint8_t c, struct fault *f)
{
	if (c != '"')
		return json_wrong(s->at, "no key", f);
	if (count_token(s, &s->count->keys, f) != 0 || scan_string(s, f) != 0)
		return -1;
	s->expect = expect_colon;
	return 0;
}

static int
expect_first_key(struct scan *s, uint8_t c, struct fault *f)
{
	return c == '}' ? container_close(s) : expect_key(s, c, f);
}

static int
expect_first_item(struct scan *s, uint8_t c, struct fault *f)
{
	return c == ']' ? container_close(s) : expect_value(s, c, f);
}

static int
expect_more(struct scan *s, uint8_t c, struct fault *f)
{
	bool object = in_object(s);

	if (c == (object ? '}' : ']'))
		return container_close(s);
	if (c != ',')
		return json_wrong(s->at,
		    object ? "no ',' or '}'" : "no ',' or ']'", f);
	s->at++;
	s->expect = object ? expect_key : expect_value;
	return 0;
}

static int
container_open(struct scan *s, bool object, struct fault *f)
{
	uint64_t bit = UINT64_C(1) << (s->depth & 63);

	if (s->depth == JSON_DEPTH)
		return fault_set(f, FAULT_LIMIT, "over %d levels at byte %zu",
		    JSON_DEPTH, s->at);
	s->is_object = object ? s->is_object | bit : s->is_object & ~bit;
	s->depth++;
	s->at++;
	s->expect = object ? expect_first_key : expect_first_item;
	return 0;
}

static int
expect_value(struct scan *s, uint8_t c, struct fault *f)
{
	int rc;

	if (count_token(s, &s->count->values, f) != 0)
		return -1;
	if (c == '{' || c == '[')
		return container_open(s, c == '{', f);
	if (c == '"')
		rc = scan_string(s, f);
	else if (c == '-' || (c >= '0' && c <= '9'))
		rc = scan_number(s, f);
	else
		rc = scan_literal(s, f);
	value_done(s);
	return rc;
}

int
json_scan(struct span text, struct json_count *count, struct fault *f)
{
	struct scan s = {
		.text = text,
		.expect = expect_value,
		.count = count,
	};

	*count = (struct json_count){ 0 };
	if (text.len > JSON_BYTES)
		return fault_set(f, FAULT_LIMIT, "JSON is over %d bytes",
		    JSON_BYTES);
	for (;;) {
		skip_blanks(&s);
		if (s.at == text.len)
			break;
		if (s.expect(&s, text.ptr[s.at], f) != 0)
			return -1;
	}
	if (s.expect != expect_end)
		return json_wrong(s.at, "JSON ends early", f);
	return 0;
}

int
json_check(struct span text, struct fault *f)
{
	struct json_count count;

	return json_scan(text, &count, f);
}
