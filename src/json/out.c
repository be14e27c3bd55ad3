/* SPDX-License-Identifier: Apache-2.0 */
/* The writer; json/json.h has the contracts. */
#include <inttypes.h>
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

/* How many bytes of s (not empty) go out as they are, 0 when none. */
static size_t
plain_run(struct span s)
{
	size_t n = 0;

	while (n < s.len) {
		uint8_t c = s.ptr[n];
		size_t step = c < 0x80 ? 1 : json_utf8_step(span_from(s, n));

		if (step == 0 || c < 0x20 || c == '"' || c == '\\')
			break;
		n += step;
	}
	return n;
}

static void
put_escaped(struct json_out *o, uint8_t c)
{
	static const char from[] = "\"\\\b\f\n\r\t";
	static const char to[] = "\"\\bfnrt";
	const char *hit = c ? strchr(from, c) : NULL;
	char hex[3];

	if (hit) {
		put(o, "\\", 1);
		put(o, &to[hit - from], 1);
	} else if (c < 0x20) {
		hex_format(&c, 1, hex);
		put(o, "\\u00", 4);
		put(o, hex, 2);
	} else {
		put(o, "\xef\xbf\xbd", 3);
	}
}

static void
put_string(struct json_out *o, struct span s)
{
	put(o, "\"", 1);
	while (s.len > 0 && !o->full) {
		size_t n = plain_run(s);

		if (n > 0)
			put(o, s.ptr, n);
		else
			put_escaped(o, s.ptr[0]);
		s = span_from(s, n ? n : 1);
	}
	put(o, "\"", 1);
}

void
json_out_key(struct json_out *o, const char *key)
{
	BUG_IF(!in_object(o) || o->keyed);
	if (o->some)
		put(o, ",", 1);
	put_string(o, span_str(key));
	put(o, ":", 1);
	o->keyed = true;
}

void
json_out_str(struct json_out *o, struct span s)
{
	value_begin(o);
	put_string(o, s);
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
	char text[24];

	(void)text_fmt(text, sizeof(text), "%" PRId64, n);
	json_out_raw(o, span_str(text));
}

void
json_out_uint(struct json_out *o, uint64_t n)
{
	char text[24];

	(void)text_fmt(text, sizeof(text), "%" PRIu64, n);
	json_out_raw(o, span_str(text));
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
