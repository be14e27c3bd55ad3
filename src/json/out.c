/* SPDX-License-Identifier: Apache-2.0 */
/* The writer; json/json.h has the contracts. */
#include <string.h>

#include "base/base.h"
#include "json/inner.h"

static void
put(struct json_out *o, const void *p, size_t n)
{
	uint8_t *to = o->full ? NULL : buf_room(o->buf, n);

	if (!to) {
		o->full = true;
		return;
	}
	memcpy(to, p, n);
	buf_grew(o->buf, n);
}

static bool
in_object(const struct json_out *o)
{
	return o->depth > 0 && (o->is_object >> (o->depth - 1) & 1);
}

/* What stands before a value: its key has been written, or a comma is due. */
static void
value_begin(struct json_out *o)
{
	BUG_IF(in_object(o) != o->keyed);
	BUG_IF(o->depth == 0 && o->some);
	if (!o->keyed && o->some)
		put(o, ",", 1);
	o->keyed = false;
	o->some = true;
}

void
json_out_init(struct json_out *o, struct buf *b)
{
	*o = (struct json_out){ .buf = b, .start = b->len };
}

static void
container_begin(struct json_out *o, bool object)
{
	uint64_t bit;

	value_begin(o);
	BUG_IF(o->depth == JSON_DEPTH);
	bit = UINT64_C(1) << o->depth;
	o->is_object = object ? o->is_object | bit : o->is_object & ~bit;
	o->depth++;
	o->some = false;
	put(o, object ? "{" : "[", 1);
}

void
json_out_object(struct json_out *o)
{
	container_begin(o, true);
}

void
json_out_array(struct json_out *o)
{
	container_begin(o, false);
}

void
json_out_end(struct json_out *o)
{
	BUG_IF(o->depth == 0 || o->keyed);
	put(o, in_object(o) ? "}" : "]", 1);
	o->depth--;
	o->some = true;
}

/*
 * What stands behind the backslash of an escaped byte; 0: it goes out as it
 * is, 'u': by its number, '\1': it belongs to a character of UTF-8, or to none.
 */
#define EIGHT(c) c c c c c c c c
static const char escape_of[] =
    "uuuuuuuubtnufruuuuuuuuuuuuuuuuuu"
    "\0\0\"\0\0\0\0\0" EIGHT("\0") EIGHT("\0") EIGHT("\0") EIGHT("\0")
	EIGHT("\0") EIGHT("\0") "\0\0\0\0\\\0\0\0" EIGHT("\0") EIGHT("\0")
	    EIGHT("\0") EIGHT("\0") EIGHT(EIGHT("\1")) EIGHT(EIGHT("\1"));

_Static_assert(sizeof(escape_of) == 256 + 1, "one for each byte");

/* Bytes of s, without its quotes, as it goes out. */
static size_t
escaped_size(struct span s)
{
	size_t n = s.len;

	for (size_t i = 0; i < s.len; i++) {
		char e = escape_of[s.ptr[i]];
		size_t step;

		if (e == '\0')
			continue;
		step = e == '\1' ? json_utf8_step(span_from(s, i)) : 1;
		if (step == 0)
			n += 2;
		else if (step > 1)
			i += step - 1;
		else
			n += e == 'u' ? 5 : 1;
	}
	return n;
}

static uint8_t *
put_escaped(uint8_t *to, uint8_t c, char e)
{
	char hex[3];

	*to++ = '\\';
	*to++ = (uint8_t)e;
	if (e == 'u') {
		hex_format(&c, 1, hex);
		*to++ = '0';
		*to++ = '0';
		memcpy(to, hex, 2);
		to += 2;
	}
	return to;
}

/* As escaped_size() has said; a byte that is no UTF-8 becomes U+FFFD. */
static uint8_t *
put_content(uint8_t *to, struct span s)
{
	static const uint8_t unknown[] = { 0xef, 0xbf, 0xbd };

	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.ptr[i];
		char e = escape_of[c];
		size_t step;

		if (e == '\0') {
			*to++ = c;
			continue;
		}
		step = e == '\1' ? json_utf8_step(span_from(s, i)) : 1;
		if (step == 1) {
			to = put_escaped(to, c, e);
		} else if (step == 0) {
			memcpy(to, unknown, sizeof(unknown));
			to += sizeof(unknown);
		} else {
			memcpy(to, s.ptr + i, step);
			to += step;
			i += step - 1;
		}
	}
	return to;
}

/* lead, the string in its quotes, and what follows it: none is empty text. */
static void
put_quoted(struct json_out *o, const char *lead, struct span s,
    const char *follows)
{
	size_t n = 2 + escaped_size(s) + (*lead != '\0') + (*follows != '\0');
	uint8_t *to = o->full ? NULL : buf_room(o->buf, n);

	if (!to) {
		o->full = true;
		return;
	}
	if (*lead != '\0')
		*to++ = (uint8_t)*lead;
	*to++ = '"';
	to = put_content(to, s);
	*to++ = '"';
	if (*follows != '\0')
		*to = (uint8_t)*follows;
	buf_grew(o->buf, n);
}

void
json_out_key(struct json_out *o, const char *key)
{
	BUG_IF(!in_object(o) || o->keyed);
	put_quoted(o, o->some ? "," : "", span_str(key), ":");
	o->keyed = true;
}

void
json_out_str(struct json_out *o, struct span s)
{
	value_begin(o);
	put_quoted(o, "", s, "");
}

void
json_out_text(struct json_out *o, const char *s)
{
	json_out_str(o, span_str(s));
}

void
json_out_raw(struct json_out *o, struct span s)
{
	BUG_IF(s.len == 0);
	value_begin(o);
	put(o, s.ptr, s.len);
}

void
json_out_int(struct json_out *o, int64_t n)
{
	char text[22] = "-";
	size_t sign = n < 0;
	size_t len =
	    num_format(n < 0 ? 0 - (uint64_t)n : (uint64_t)n, text + sign);

	json_out_raw(o, span_of(text, sign + len));
}

void
json_out_uint(struct json_out *o, uint64_t n)
{
	char text[21];

	json_out_raw(o, span_of(text, num_format(n, text)));
}

void
json_out_bool(struct json_out *o, bool truth)
{
	json_out_raw(o, span_str(truth ? "true" : "false"));
}

void
json_out_null(struct json_out *o)
{
	json_out_raw(o, SPAN_LIT("null"));
}

int
json_out_done(struct json_out *o, struct fault *f)
{
	BUG_IF(o->depth > 0 || o->keyed || !o->some);
	if (!o->full)
		return 0;
	o->buf->len = o->start;
	return fault_set(f, FAULT_LIMIT, "JSON does not fit into %zu bytes",
	    o->buf->max);
}
