/* SPDX-License-Identifier: Apache-2.0 */
/* Request targets in their one form, and queries as pairs. */
#include <string.h>

#include "../../lib/unit.h"
#include "policy/policy.h"

static const struct {
	const char *target;
	const char *path;
	const char *query;
} canonical[] = {
	{ "/", "/", "" },
	{ "/a/b", "/a/b", "" },
	{ "/a?x=1?y", "/a", "x=1?y" },
	{ "//a///b", "/a/b", "" },
	{ "/a/", "/a/", "" },
	{ "/a//", "/a/", "" },
	{ "/a/./b", "/a/b", "" },
	{ "/a/.", "/a/", "" },
	{ "/a/../b", "/b", "" },
	{ "/a/b/..", "/a/", "" },
	{ "/a/..", "/", "" },
	{ "/%2e%2E/a/..%2e", "", NULL },
	{ "/a/%2e%2e/b", "/b", "" },
	{ "/a;x=1/b;y", "/a/b", "" },
	{ "/a/..;x/b", "/b", "" },
	{ "/a%3Bx/b", "/a/b", "" },
	{ "/a/;x/b", "/a/b", "" },
	{ "/%61%7e", "/a~", "" },
	{ "/%e9%20", "/%E9%20", "" },
	{ "/u/%40x", "/u/@x", "" },
	{ "/\"<>", "/%22%3C%3E", "" },
	{ "/a%2fb", "/a%2Fb", "" },
	{ "/a%2Fb/", "/a%2Fb/", "" },
	{ "/a%2F/..", "/", "" },
	{ "/a%252Fb", "/a%252Fb", "" },
	{ "/?", "/", "" },
};

static void
targets_have_one_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(canonical); i++) {
		char room[POLICY_PATH];
		char again[POLICY_PATH];
		struct span path;
		struct span query;
		struct span twice;
		struct fault f = { 0 };
		int rc = policy_path_canonical(span_str(canonical[i].target),
		    room, &path, &query, &f);

		if (!canonical[i].query) {
			assert_int_equal(rc, -1);
			continue;
		}
		if (rc != 0)
			fail_msg("%s: %s", canonical[i].target, f.text);
		if (!span_is(path, canonical[i].path))
			fail_msg("%s is %.*s", canonical[i].target,
			    (int)path.len, (const char *)path.ptr);
		assert_true(span_is(query, canonical[i].query));
		assert_int_equal(
		    policy_path_canonical(path, again, &twice, &query, &f), 0);
		assert_true(span_equal(path, twice));
	}
}

static void
what_has_no_form_is_refused(void **state)
{
	static const char *const bad[] = { "", "?", "a", "*", "http://x/",
		"/..", "/a/../..", "/%2e%2e", "/%", "/%2", "/%zz", "/%00",
		"/%0a", "/%7F", "/a b", "/a\tb", "/a#b", "/\xc3\xa9",
		"/a?b\x01", "/..%2Fa", "/a%2F..", "/a%2F./b",
		"/a%2F%2e%2e%2Fb" };

	(void)state;
	for (size_t i = 0; i < NELEM(bad); i++) {
		char room[POLICY_PATH];
		struct span path;
		struct span query;
		struct fault f = { 0 };

		if (policy_path_canonical(span_str(bad[i]), room, &path, &query,
			&f) == 0)
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(f.code, FAULT_INVALID);
	}
}

static void
the_longest_path_fits_its_room(void **state)
{
	static char target[POLICY_TARGET + 1];
	static char room[POLICY_PATH];
	struct span path;
	struct span query;
	struct fault f = { 0 };

	(void)state;
	memset(target, '^', sizeof(target));
	target[0] = '/';
	assert_int_equal(policy_path_canonical(span_of(target, sizeof(target)),
			     room, &path, &query, &f),
	    -1);
	assert_int_equal(policy_path_canonical(span_of(target, POLICY_TARGET),
			     room, &path, &query, &f),
	    0);
	assert_int_equal(path.len, 3 * (POLICY_TARGET - 1) + 1);
}

static void
queries_are_decoded_in_order(void **state)
{
	const struct policy_pair *p;
	struct arena a;
	struct fault f = { 0 };
	size_t n;

	(void)state;
	arena_init(&a, 1 << 16);
	assert_int_equal(policy_query_parse(span_str("a=1&&b+c=%41%3d&a&=x"),
			     &a, &p, &n, &f),
	    0);
	assert_int_equal(n, 4);
	assert_true(span_is(p[0].key, "a") && span_is(p[0].value, "1"));
	assert_true(span_is(p[1].key, "b c") && span_is(p[1].value, "A="));
	assert_true(span_is(p[2].key, "a") && p[2].value.len == 0);
	assert_true(p[3].key.len == 0 && span_is(p[3].value, "x"));
	assert_int_equal(policy_query_parse(span_str("a=%ff"), &a, &p, &n, &f),
	    -1);
	assert_int_equal(policy_query_parse(span_str("a=%f"), &a, &p, &n, &f),
	    -1);
	arena_release(&a);
}

static void
hosts_have_one_text(void **state)
{
	static const char *const same[][2] = { { "API.X.com", "api.x.com" },
		{ "[::1]", "::1" }, { "[::FFFF:1.2.3.4]", "1.2.3.4" },
		{ "db", "db" }, { "a_b.c-d", "a_b.c-d" }, { "x7", "x7" } };
	static const char *const bad[] = { "", "a.", ".a", "a..b", "a b", "a/b",
		"127.1", "0x7f.1", "a.0x", "1", "x.1", "010.0.0.1", "a:80",
		"\xc3\xa9.com", "*.x.com" };
	char out[POLICY_HOST + 1];
	struct span s;

	(void)state;
	for (size_t i = 0; i < NELEM(same); i++) {
		assert_true(
		    policy_host_canonical(span_str(same[i][0]), out, &s));
		assert_true(span_is(s, same[i][1]));
	}
	for (size_t i = 0; i < NELEM(bad); i++)
		if (policy_host_canonical(span_str(bad[i]), out, &s))
			fail_msg("taken: %s", bad[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_have_one_form),
		cmocka_unit_test(what_has_no_form_is_refused),
		cmocka_unit_test(the_longest_path_fits_its_room),
		cmocka_unit_test(queries_are_decoded_in_order),
		cmocka_unit_test(hosts_have_one_text),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
