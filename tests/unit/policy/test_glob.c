/* SPDX-License-Identifier: Apache-2.0 */
/* What globs match, what is no glob, and that no pattern is slow. */
#include <string.h>

#include "../../lib/unit.h"
#include "policy/inner.h"

static struct arena arena;

static int
start(void **state)
{
	(void)state;
	arena_init(&arena, 64 << 20);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

enum {
	P = POLICY_GLOB_PATH,
	W = POLICY_GLOB_WORD,
	H = POLICY_GLOB_HOST
};

static struct policy_glob
glob(int kind, const char *text)
{
	struct policy_glob g;
	struct fault f = { 0 };

	if (policy_glob_read(&g, (enum policy_glob_kind)kind, span_str(text),
		&arena, &f) != 0)
		fail_msg("%s: %s", text, f.text);
	return g;
}

/* clang-format off */
static const struct {
	int kind;
	const char *glob;
	const char *text;
	bool match;
} table[] = {
	{ P, "/x/**", "/x", false }, { P, "/x/**", "/x/", true },
	{ P, "/x/**", "/x/a/b", true }, { P, "/x/**", "/xa", false },
	{ P, "/a/**/b", "/a/b", true }, { P, "/a/**/b", "/a/x/b", true },
	{ P, "/a/**/b", "/a/x/y/b", true }, { P, "/a/**/b", "/ab", false },
	{ P, "/a/**/b", "/a/xb", false }, { P, "/a/**/b", "/a//b", true },
	{ P, "/a/**/**/b", "/a/b", true }, { P, "/a/**/**", "/a/", true },
	{ P, "/a/**/**", "/a", false }, { P, "**", "", true },
	{ P, "**", "/a/b", true }, { P, "/**", "/", true },
	{ P, "/**", "/a/b/", true }, { P, "/**", "", false },
	{ P, "**/x", "/x", true }, { P, "**/x", "x", true },
	{ P, "**/x", "/a/x", true }, { P, "**/x", "/ax", false },
	{ P, "/v1/*", "/v1/", true }, { P, "/v1/*", "/v1/a", true },
	{ P, "/v1/*", "/v1/a/", false }, { P, "/v1/*", "/v1", false },
	{ P, "/*/b", "/a/b", true }, { P, "/*/b", "//b", true },
	{ P, "/a*c", "/abc", true }, { P, "/a*c", "/ac", true },
	{ P, "/a*c", "/acc", true }, { P, "/a*c", "/ab/c", false },
	{ P, "/x*y*", "/xya", true }, { P, "/x*y*", "/xa", false },
	{ P, "/a/*/**/b/*", "/a/x/b/", true },
	{ P, "/a/*/**/b/*", "/a/b/b", false },
	{ P, "/a/*/**/b/*", "/a/b/b/b/c", true },
	{ P, "/X", "/x", false }, { P, "/a", "/a/", false },
	{ P, "/usr/**/python*", "/usr/python", true },
	{ P, "/usr/**/python*", "/usr/bin/python3.11", true },
	{ W, "*", "", true }, { W, "*", "a.b/c", true }, { W, "", "", true },
	{ W, "", "a", false }, { W, "a.*", "a.b.c", true },
	{ W, "foo-**", "foo-1.2", true }, { W, "***", "x", true },
	{ W, "tools/*", "tools/call", true }, { W, "a*b*c", "abbcac", true },
	{ W, "a*b*c", "abbca", false }, { W, "T", "t", false },
	{ H, "*.x.com", "a.x.com", true }, { H, "*.x.com", "x.com", false },
	{ H, "*.x.com", "a.b.x.com", false }, { H, "**.x.com", "a.b.x.com", true },
	{ H, "**.x.com", "x.com", false }, { H, "api*.x.com", "api.x.com", true },
	{ H, "api*.x.com", "api7.x.com", true },
	{ H, "*.s3.*.aws.com", "a.s3.eu.aws.com", true },
};
/* clang-format on */

static void
globs_match_what_the_page_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(table); i++) {
		struct policy_glob g = glob(table[i].kind, table[i].glob);

		if (policy_glob_match(&g, span_str(table[i].text)) !=
		    table[i].match)
			fail_msg("%s on %s", table[i].glob, table[i].text);
	}
}

static void
what_is_no_glob_is_refused(void **state)
{
	static const struct {
		int kind;
		const char *text;
		const char *says;
	} bad[] = {
		{ P, "/a**", "'**' must be a whole component: write '*'" },
		{ P, "/**b/c", "'**' must be a whole component: write '*'" },
		{ P, "/a/***", "'**' must be a whole component: write '*'" },
		{ P, "/a?",
		    "'?' is not supported: a glob has '*' and '**' "
		    "only, write one for each" },
		{ W, "[a]",
		    "'[' is not supported: a glob has '*' and '**' "
		    "only, write one for each" },
		{ W, "{a,b}",
		    "'{' is not supported: a glob has '*' and '**' "
		    "only, write one for each" },
		{ W, "\\*",
		    "'\\' is not supported: a glob has '*' and '**' "
		    "only, write one for each" },
		{ W, "\xc3\xa9", "a glob is printable ASCII, not byte \\xc3" },
		{ W, "a\n", "a glob is printable ASCII, not byte \\x0a" },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(bad); i++) {
		struct policy_glob g;
		struct fault f = { 0 };

		assert_int_equal(policy_glob_read(&g,
				     (enum policy_glob_kind)bad[i].kind,
				     span_str(bad[i].text), &arena, &f),
		    -1);
		assert_string_equal(f.text, bad[i].says);
	}
}

static void
globs_have_one_text(void **state)
{
	static const char *const same[][2] = { { "/a/**/**/b", "/a/**/b" },
		{ "/**/**", "/**" }, { "**/**", "**" } };

	(void)state;
	for (size_t i = 0; i < NELEM(same); i++)
		assert_true(span_is(glob(P, same[i][0]).text, same[i][1]));
	assert_true(span_is(glob(W, "a**b***").text, "a*b*"));
	assert_true(glob(P, "**").everything);
	assert_false(glob(P, "/**").everything);
	assert_true(glob(W, "**").everything);
	assert_true(glob(P, "/a").literal);
}

/* The obvious matcher, straight from the definition. */
static bool
slow(const char *g, const char *s, char sep, bool start)
{
	if (*g == '\0')
		return *s == '\0';
	if (sep && start && g[0] == '*' && g[1] == '*' &&
	    (g[2] == '\0' || g[2] == sep)) {
		if (g[2] == '\0')
			return true;
		if (slow(g + 3, s, sep, true))
			return true;
		for (; *s; s++)
			if (*s == sep && slow(g + 3, s + 1, sep, true))
				return true;
		return false;
	}
	if (*g == '*') {
		for (;; s++) {
			if (slow(g + 1, s, sep, false))
				return true;
			if (*s == '\0' || *s == sep)
				return false;
		}
	}
	return *g == *s && slow(g + 1, s + 1, sep, *g == sep);
}

/* Number n as a text over an alphabet. */
static void
spell(unsigned n, const char *alphabet, char *out)
{
	unsigned base = (unsigned)strlen(alphabet);

	for (; n > 0; n = (n - 1) / base)
		*out++ = alphabet[(n - 1) % base];
	*out = '\0';
}

static void
globs_agree_with_their_definition_on_all_short_texts(void **state)
{
	char pattern[16];
	char text[16];
	unsigned checked = 0;

	(void)state;
	for (unsigned i = 0; i < 1365; i++) {
		struct policy_glob g;
		struct fault f = { 0 };

		spell(i, "a/*b", pattern);
		if (policy_glob_read(&g, POLICY_GLOB_PATH, span_str(pattern),
			&arena, &f) != 0)
			continue;
		for (unsigned k = 0; k < 364; k++) {
			spell(k, "a/b", text);
			checked++;
			if (policy_glob_match(&g, span_str(text)) !=
			    slow(pattern, text, '/', true))
				fail_msg("%s on %s", pattern, text);
		}
	}
	assert_true(checked > 200000);
}

static void
globs_meet_when_a_short_text_is_in_both(void **state)
{
	struct policy_glob g[121];
	size_t n = 0;
	char pattern[16];
	char text[16];

	(void)state;
	for (unsigned i = 0; i < 121 && n < NELEM(g); i++) {
		struct fault f = { 0 };

		spell(i, "a/*", pattern);
		if (policy_glob_read(&g[n], POLICY_GLOB_PATH, span_str(pattern),
			&arena, &f) == 0)
			n++;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j <= i; j++) {
			uint64_t steps = 0;
			bool met = policy_globs_meet(&g[i], &g[j], &steps);
			bool seen = false;

			/* The shortest common text is no longer than both. */
			for (unsigned k = 0; k < 511 && !seen; k++) {
				spell(k, "a/", text);
				seen =
				    policy_glob_match(&g[i], span_str(text)) &&
				    policy_glob_match(&g[j], span_str(text));
			}
			if (met != seen)
				fail_msg("%.*s and %.*s", (int)g[i].text.len,
				    (const char *)g[i].text.ptr,
				    (int)g[j].text.len,
				    (const char *)g[j].text.ptr);
		}
}

static void
the_worst_pattern_takes_linear_time(void **state)
{
	char pattern[POLICY_PATTERN];
	char text[8192];
	struct policy_glob g;
	struct fault f = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = i % 2 ? '*' : 'a';
	memset(text, 'a', sizeof(text));
	pattern[sizeof(pattern) - 2] = 'b';
	pattern[sizeof(pattern) - 1] = 'b';
	assert_int_equal(policy_glob_read(&g, POLICY_GLOB_WORD,
			     span_of(pattern, sizeof(pattern)), &arena, &f),
	    0);
	assert_false(policy_glob_match(&g, span_of(text, sizeof(text))));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(globs_match_what_the_page_says),
		cmocka_unit_test(what_is_no_glob_is_refused),
		cmocka_unit_test(globs_have_one_text),
		cmocka_unit_test(
		    globs_agree_with_their_definition_on_all_short_texts),
		cmocka_unit_test(globs_meet_when_a_short_text_is_in_both),
		cmocka_unit_test(the_worst_pattern_takes_linear_time),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, end);
}
