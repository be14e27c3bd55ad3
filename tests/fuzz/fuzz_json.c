/* rooms: json */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is taken is a whole tree: writing it and reading that again gives the
 * same text, and raw values are valid alone.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void
value_write(struct json_out *o, const struct json_value *v)
{
	if (v->kind == JSON_STRING) {
		json_out_str(o, v->text);
		return;
	}
	if (v->kind != JSON_OBJECT && v->kind != JSON_ARRAY) {
		json_out_raw(o, v->raw);
		return;
	}
	if (v->kind == JSON_OBJECT)
		json_out_object(o);
	else
		json_out_array(o);
	for (const struct json_value *m = v->first; m; m = m->next) {
		if (v->kind == JSON_OBJECT)
			json_out_key(o, (const char *)m->key.ptr);
		value_write(o, m); /* no deeper than JSON_DEPTH */
	}
	json_out_end(o);
}

/* The writer takes keys as C strings: a NUL in one cannot be written. */
static bool
keys_are_text(const struct json_value *v)
{
	for (const struct json_value *m = v->first; m; m = m->next)
		if (span_find(m->key, '\0') != m->key.len || !keys_are_text(m))
			return false;
	return true;
}

static void
tree_written(const struct json_value *v, struct buf *b)
{
	struct json_out o;
	struct fault f = { 0 };

	buf_init(b, 64 << 20);
	json_out_init(&o, b);
	value_write(&o, v);
	BUG_IF(json_out_done(&o, &f) != 0);
}

static void
tree_check(const struct json_value *v, const uint8_t *p)
{
	struct fault f = { 0 };

	BUG_IF(json_check(v->raw, &f) != 0);
	BUG_IF(v->raw.ptr != p + v->offset);
	BUG_IF(v->text.ptr && v->kind == JSON_STRING &&
	    (!utf8_valid(v->text) || v->text.ptr[v->text.len] != 0));
	for (const struct json_value *m = v->first; m; m = m->next)
		tree_check(m, p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	const struct json_value *root;
	const struct json_value *again;
	struct arena a;
	struct buf b;
	struct buf c;
	struct fault f = { 0 };

	arena_init(&a, 64 << 20);
	if (json_parse(span_of(p, n), &a, &root, &f) != 0) {
		BUG_IF(f.code != FAULT_INVALID && f.code != FAULT_LIMIT);
		arena_release(&a);
		return 0;
	}
	BUG_IF(f.code != FAULT_NONE);
	tree_check(root, p);
	if (keys_are_text(root)) {
		tree_written(root, &b);
		BUG_IF(json_parse(buf_span(&b), &a, &again, &f) != 0);
		tree_written(again, &c);
		BUG_IF(!span_equal(buf_span(&b), buf_span(&c)));
		buf_release(&b);
		buf_release(&c);
	}
	arena_release(&a);
	return 0;
}
