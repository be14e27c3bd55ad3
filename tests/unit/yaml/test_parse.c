/* SPDX-License-Identifier: Apache-2.0 */
/* The tree and its places, and what plain YAML leaves out. */
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "yaml/yaml.h"

#define BYTES(s) s, sizeof(s) - 1

static struct arena arena;
static struct yaml_errors errors;

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

static const struct yaml_node *
parsed(const char *text)
{
	const struct yaml_node *root = NULL;
	struct fault f = { 0 };

	if (yaml_parse(span_str(text), &arena, &root, &errors, &f) != 0)
		fail_msg("%s: %s", text, f.text);
	assert_int_equal(errors.count, 0);
	return root;
}

static void
a_tree_keeps_order_and_places(void **state)
{
	const struct yaml_node *root = parsed("# comment\n"
					      "a: 1\n"
					      "b:\n"
					      "  - x\n"
					      "  - {k: 'v', e: }\n"
					      "\"c\": |\n"
					      "  two\n"
					      "  lines\n");
	const struct yaml_node *n = yaml_first(root);

	(void)state;
	assert_true(yaml_is(root, YAML_MAP));
	assert_int_equal(root->count, 3);
	assert_int_equal(root->line, 2);
	assert_int_equal(root->column, 1);
	assert_true(span_is(n->key, "a"));
	assert_true(span_is(n->text, "1"));
	assert_true(n->plain);
	assert_int_equal(n->key_column, 1);
	assert_int_equal(n->column, 4);

	n = yaml_next(n);
	assert_true(yaml_is(n, YAML_LIST));
	assert_int_equal(n->count, 2);
	assert_int_equal(n->key_line, 3);
	assert_int_equal(n->line, 4);
	n = yaml_next(yaml_first(n));
	assert_null(yaml_next(n));
	assert_int_equal(n->key.len, 0);
	assert_int_equal(n->line, 5);
	assert_int_equal(n->column, 5);
	assert_false(yaml_get(n, "k")->plain);
	assert_int_equal(yaml_get(n, "k")->column, 9);
	assert_true(yaml_is_null(yaml_get(n, "e")));

	n = yaml_get(root, "c");
	assert_false(n->plain);
	assert_true(span_is(n->text, "two\nlines\n"));
	assert_null(yaml_next(n));
}

static void
a_root_may_be_of_any_kind(void **state)
{
	(void)state;
	assert_true(yaml_is(parsed("{}"), YAML_MAP));
	assert_true(yaml_is(parsed("---\n[]\n...\n"), YAML_LIST));
	assert_true(yaml_is(parsed("x"), YAML_SCALAR));
	assert_true(yaml_is_null(parsed("---\n")));
	assert_true(
	    yaml_is(parsed("\xef\xbb\xbf{\"json\": [true]}"), YAML_MAP));
	assert_int_equal(parsed("\xef\xbb\xbf x")->column, 2);
	assert_true(span_is(parsed("a\r\n b\r\n")->text, "a b"));
}

static const struct {
	const char *text;
	size_t len;
	const char *says;
} refused[] = {
	{ BYTES(""), "1:1: nothing but blanks and comments" },
	{ BYTES("# only\n"), "1:1: nothing but blanks and comments" },
	{ BYTES("a: &x 1\n"), "1:4: anchors are not supported" },
	{ BYTES("a: &x [1]\n"), "1:4: anchors are not supported" },
	{ BYTES("&x a: 1\n"), "1:1: anchors are not supported" },
	{ BYTES("a: *x\n"), "1:4: aliases are not supported" },
	{ BYTES("a: !!str 1\n"), "1:4: explicit tags are not supported" },
	{ BYTES("a: ! 1\n"), "1:4: explicit tags are not supported" },
	{ BYTES("!x {a: 1}\n"), "1:1: explicit tags are not supported" },
	{ BYTES("- !!seq []\n"), "1:3: explicit tags are not supported" },
	{ BYTES("a:\n  <<: {}\n"), "2:3: merge keys are not supported" },
	{ BYTES("%YAML 1.1\n---\na: 1\n"),
	    "1:1: directives are not supported" },
	{ BYTES("%TAG ! x:\n---\na: 1\n"),
	    "1:1: directives are not supported" },
	{ BYTES("a: 1\n...\n%TAG !a! x:\n"),
	    "3:1: directives are not supported" },
	{ BYTES("# x\xe2\x80\xa8%YAML 1.1\n---\na: 1\n"),
	    "1:5: directives are not supported" },
	{ BYTES("a: 1\n---\nb: 1\n"),
	    "2:1: a second document is not supported: write one, without '---'" },
	{ BYTES("[a]: 1\n"), "1:1: a key must be a scalar" },
	{ BYTES("? {a: b}\n: 1\n"), "1:3: a key must be a scalar" },
	{ BYTES("?\n: 1\n"), "1:2: a key is missing" },
	{ BYTES("a: 1\nb: 2\na: 3\n"),
	    "3:1: duplicate key 'a', first on line 1" },
	{ BYTES("a: 1\nb: 2\nb: 3\nb: 4"),
	    "3:1: duplicate key 'b', first on line 2; "
	    "4:1: duplicate key 'b', first on line 2" },
	{ BYTES("x: {a: 1, 'a': 3}\n"),
	    "1:11: duplicate key 'a', first on line 1" },
	{ BYTES("a:\n\tb: 1\n"), "2:1: a tab: use spaces" },
	{ BYTES("\ta: 1\n"), "1:1: a tab: use spaces" },
	{ BYTES("\xff\xfe"
		"a\0"),
	    "1:1: UTF-16 or UTF-32: save it as UTF-8" },
	{ BYTES("\xfe\xff\0a"), "1:1: UTF-16 or UTF-32: save it as UTF-8" },
	{ BYTES("a\0:\0"), "1:1: UTF-16 or UTF-32: save it as UTF-8" },
	{ BYTES("\0a"), "1:1: UTF-16 or UTF-32: save it as UTF-8" },
	{ BYTES("a: 1\nb: \xc3\xa9\xff\n"), "2:5: invalid UTF-8" },
	{ BYTES("a: \"\\ud800\"\n"),
	    "1:7: while parsing a quoted scalar: found invalid Unicode "
	    "character escape code" },
	{ BYTES("a: x\0y\n"), "1:5: control characters are not allowed" },
	{ BYTES("a: 1\n b: 2\n"),
	    "2:3: mapping values are not allowed in this context" },
	{ BYTES("a: [1\n"),
	    "2:1: while parsing a flow sequence: did not find "
	    "expected ',' or ']'" },
	{ BYTES("a: 'x\n"),
	    "2:1: while scanning a quoted scalar: found "
	    "unexpected end of stream" },
};

static void
what_is_not_plain_is_refused_at_its_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(refused); i++) {
		const struct yaml_node *root = NULL;
		struct fault f = { 0 };

		if (yaml_parse(span_of(refused[i].text, refused[i].len), &arena,
			&root, &errors, &f) == 0)
			fail_msg("taken: %s", refused[i].text);
		assert_string_equal(f.text, refused[i].says);
		assert_int_equal(f.code, FAULT_INVALID);
		assert_true(errors.count > 0);
		assert_null(root);
	}
}

static void
one_run_tells_several_errors_in_text_order(void **state)
{
	const struct yaml_node *root = NULL;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(yaml_parse(span_str("a: &x {b: 1, b: 2}\n"
					     "c: *x\n"
					     "a: !!int 1\n"
					     "d: [\n"),
			     &arena, &root, &errors, &f),
	    -1);
	assert_int_equal(errors.count, 5);
	assert_int_equal(errors.list[0].line, 1);
	assert_int_equal(errors.list[0].column, 4);
	assert_string_equal(errors.list[1].text,
	    "duplicate key 'b', first on line 1");
	assert_int_equal(errors.list[2].line, 2);
	assert_int_equal(errors.list[3].line, 3);
	assert_int_equal(errors.list[4].line, 5);
}

static int
nested(size_t depth, const char *open, const char *close, struct fault *f)
{
	const struct yaml_node *root;
	struct buf b;
	int rc;

	buf_init(&b, 1 << 20);
	for (size_t i = 0; i < depth; i++)
		assert_int_equal(buf_fmt(&b, "%s", open), 0);
	for (size_t i = 0; i < depth; i++)
		assert_int_equal(buf_fmt(&b, "%s", close), 0);
	rc = yaml_parse(buf_span(&b), &arena, &root, &errors, f);
	buf_release(&b);
	return rc;
}

static void
nesting_ends_at_its_limit(void **state)
{
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(nested(YAML_DEPTH, "[", "]", &f), 0);
	assert_int_equal(nested(YAML_DEPTH, "- ", "", &f), 0);
	assert_int_equal(nested(YAML_DEPTH + 1, "[", "]", &f), -1);
	assert_string_equal(f.text,
	    "1:33: maps and lists are nested too deeply");
	assert_int_equal(f.code, FAULT_INVALID);
	assert_int_equal(nested(YAML_DEPTH + 1, "- ", "", &f), -1);
	assert_int_equal(nested(100000, "[", "]", &f), -1);
	assert_int_equal(nested(100000, "{", "}", &f), -1);
	assert_int_equal(nested(100000, "? ", "", &f), -1);
}

static void
size_and_number_end_at_their_limits(void **state)
{
	const struct yaml_node *root;
	struct buf b;
	struct fault f = { 0 };

	(void)state;
	buf_init(&b, 1 << 20);
	assert_int_equal(buf_fmt(&b, "["), 0);
	for (int i = 0; i < YAML_NODES - 1; i++)
		assert_int_equal(buf_add(&b, "a,", 2, &f), 0);
	assert_int_equal(buf_add(&b, "]", 1, &f), 0);
	assert_int_equal(yaml_parse(buf_span(&b), &arena, &root, &errors, &f),
	    0);
	b.len--;
	assert_int_equal(buf_add(&b, "b]", 2, &f), 0);
	assert_int_equal(yaml_parse(buf_span(&b), &arena, &root, &errors, &f),
	    -1);
	assert_int_equal(f.code, FAULT_LIMIT);
	while (b.len <= YAML_BYTES)
		assert_int_equal(buf_add(&b, " ", 1, &f), 0);
	assert_int_equal(yaml_parse(buf_span(&b), &arena, &root, &errors, &f),
	    -1);
	assert_int_equal(f.code, FAULT_LIMIT);
	assert_string_equal(f.text, "YAML is over 262144 bytes");
	buf_release(&b);
}

static void
a_wide_map_is_read(void **state)
{
	const struct yaml_node *root;
	struct buf b;
	struct fault f = { 0 };

	(void)state;
	buf_init(&b, YAML_BYTES);
	for (int i = 0; i < 20000; i++)
		assert_int_equal(buf_fmt(&b, "%d: 1\n", i), 0);
	assert_int_equal(buf_fmt(&b, "77: 1\n"), 0);
	assert_int_equal(yaml_parse(buf_span(&b), &arena, &root, &errors, &f),
	    -1);
	assert_string_equal(f.text,
	    "20001:1: duplicate key '77', first on line 78");
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_keeps_order_and_places),
		cmocka_unit_test(a_root_may_be_of_any_kind),
		cmocka_unit_test(what_is_not_plain_is_refused_at_its_place),
		cmocka_unit_test(one_run_tells_several_errors_in_text_order),
		cmocka_unit_test(nesting_ends_at_its_limit),
		cmocka_unit_test(size_and_number_end_at_their_limits),
		cmocka_unit_test(a_wide_map_is_read),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, end);
}
