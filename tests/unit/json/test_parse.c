/* SPDX-License-Identifier: Apache-2.0 */
/* The tree: shape, decoded text, places, duplicates, caps. */
#include <stdlib.h>
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "json/json.h"

static struct arena arena;

static int
start(void **state)
{
	(void)state;
	arena_init(&arena, 32 << 20);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static const struct json_value *
parsed(const char *text)
{
	const struct json_value *root = NULL;
	struct fault f = { 0 };

	if (json_parse(span_str(text), &arena, &root, &f) != 0)
		fail_msg("%s: %s", text, f.text);
	return root;
}

static void
lone_values_are_trees_of_one(void **state)
{
	static const struct {
		const char *text;
		enum json_kind kind;
		const char *raw;
	} rows[] = {
		{ "null", JSON_NULL, "null" },
		{ " true ", JSON_BOOL, "true" },
		{ "\n-1.5\n", JSON_NUMBER, "-1.5" },
		{ "\t\"a\\u0062\"", JSON_STRING, "\"a\\u0062\"" },
		{ "[ ]", JSON_ARRAY, "[ ]" },
		{ " {}", JSON_OBJECT, "{}" },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		const struct json_value *v = parsed(rows[i].text);

		assert_int_equal(v->kind, rows[i].kind);
		assert_true(span_is(v->raw, rows[i].raw));
		assert_ptr_equal(rows[i].text + v->offset, v->raw.ptr);
		assert_null(v->next);
		assert_null(v->first);
	}
}

static void
a_tree_keeps_order_and_places(void **state)
{
	const char *text = "{\"a\":[1,[],{\"b\":null}], \"c\":\"x\"}";
	const struct json_value *root = parsed(text);
	const struct json_value *a = json_first(root);
	const struct json_value *c = json_next(a);
	const struct json_value *item = json_first(a);

	(void)state;
	assert_int_equal(root->count, 2);
	assert_true(span_is(a->key, "a"));
	assert_int_equal(a->key_offset, 1);
	assert_int_equal(a->offset, 5);
	assert_int_equal(a->count, 3);
	assert_true(span_is(a->raw, "[1,[],{\"b\":null}]"));
	assert_true(span_is(item->text, "1"));
	item = json_next(item);
	assert_int_equal(item->kind, JSON_ARRAY);
	assert_int_equal(item->count, 0);
	item = json_next(item);
	assert_true(json_is(json_get(item, "b"), JSON_NULL));
	assert_null(json_next(item));
	assert_true(span_is(c->key, "c"));
	assert_int_equal(c->key_offset, 24);
	assert_true(span_is(c->text, "x"));
	assert_null(json_next(c));
}

static void
text_is_decoded_and_ends_in_nul(void **state)
{
	const struct json_value *v = parsed(
	    "{\"\\u006dethod\":"
	    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t|\\u00e9\\u20AC\\ud834\\uDD1E|\\u0000|"
	    "\xc3\xa9\"}");
	struct span s;

	(void)state;
	assert_true(json_str(json_get(v, "method"), &s));
	assert_true(span_equal(s,
	    SPAN_LIT("\"\\/\b\f\n\r\t|\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e|\0|"
		     "\xc3\xa9")));
	assert_int_equal(s.ptr[s.len], 0);
}

static void
a_duplicate_key_is_refused_at_its_second_place(void **state)
{
	static const struct {
		const char *text;
		const char *says;
	} rows[] = {
		{ "{\"a\":1,\"a\":1}", "duplicate key 'a' at byte 7" },
		{ "{\"method\":1,\"\\u006dethod\":2}",
		    "duplicate key 'method' at byte 12" },
		{ "[{\"x\":{\"\":1,\"b\":2,\"\":3}}]",
		    "duplicate key '' at byte 18" },
		{ "{\"b\":1,\"a\":1,\"b\":1,\"a\":1}",
		    "duplicate key 'b' at byte 13" },
		{ "{\"\\n\":1,\"\\n\":1}", "duplicate key '\\x0a' at byte 8" },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		const struct json_value *root = NULL;
		struct fault f = { 0 };

		assert_int_equal(
		    json_parse(span_str(rows[i].text), &arena, &root, &f), -1);
		assert_int_equal(f.code, FAULT_INVALID);
		assert_string_equal(f.text, rows[i].says);
		assert_null(root);
	}
	(void)parsed("{\"a\":{\"a\":[{\"a\":1},{\"a\":1}]},\"A\":1}");
}

static void
wide_and_deep_texts_are_read(void **state)
{
	struct buf b;
	struct fault f = { 0 };
	const struct json_value *root;
	const struct json_value *v;

	(void)state;
	buf_init(&b, 4 << 20);
	assert_int_equal(buf_fmt(&b, "{\"0\":0"), 0);
	for (int i = 1; i < JSON_TOKENS / 2 - 1; i++)
		assert_int_equal(buf_fmt(&b, ",\"%d\":%d", i, i), 0);
	assert_int_equal(buf_fmt(&b, "}"), 0);
	assert_int_equal(json_parse(buf_span(&b), &arena, &root, &f), 0);
	assert_int_equal(root->count, JSON_TOKENS / 2 - 1);
	buf_release(&b);

	for (int i = 0; i < JSON_DEPTH / 2; i++)
		assert_int_equal(buf_fmt(&b, "[{\"a\":"), 0);
	b.len -= strlen("{\"a\":");
	for (int i = 0; i < JSON_DEPTH / 2; i++)
		assert_int_equal(buf_fmt(&b, i ? "}]" : "]"), 0);
	assert_int_equal(json_parse(buf_span(&b), &arena, &root, &f), 0);
	v = root;
	for (int i = 1; i < JSON_DEPTH - 1; i++)
		v = json_first(v);
	assert_non_null(v);
	assert_null(json_first(v));
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lone_values_are_trees_of_one),
		cmocka_unit_test(a_tree_keeps_order_and_places),
		cmocka_unit_test(text_is_decoded_and_ends_in_nul),
		cmocka_unit_test(
		    a_duplicate_key_is_refused_at_its_second_place),
		cmocka_unit_test(wide_and_deep_texts_are_read),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, end);
}
