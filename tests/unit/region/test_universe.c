/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strings that requests may have, against the functions that make them:
 * a path is one iff its canonical form is itself, a host likewise.
 */
#include "../../lib/unit.h"
#include "base/base.h"
#include "policy/policy.h"
#include "region/region.h"

/* Every string over letters of up to `longest` bytes. */
static size_t
every(const char *letters, size_t longest, bool (*agrees)(struct span s))
{
	size_t base = strlen(letters);
	size_t n = 0;
	char text[16] = "";

	for (size_t len = 1; len <= longest; len++) {
		size_t count = 1;

		for (size_t i = 0; i < len; i++)
			count *= base;
		for (size_t k = 0; k < count; k++, n++) {
			size_t left = k;

			for (size_t i = 0; i < len; i++, left /= base)
				text[i] = letters[left % base];
			text[len] = '\0';
			if (!agrees(span_str(text)))
				fail_msg("'%s'", text);
		}
	}
	return n;
}

static bool
path_agrees(struct span s)
{
	static char out[POLICY_PATH];
	struct span path;
	struct span query;
	struct fault f = { 0 };
	bool is = policy_path_canonical(s, out, &path, &query, &f) == 0 &&
	    span_find(s, '?') == s.len && span_equal(path, s);

	return region_universe_holds(REGION_PATH, s) == is;
}

static bool
host_agrees(struct span s)
{
	char out[POLICY_HOST + 1];
	struct policy_address a;
	struct span host;
	bool is = policy_host_canonical(s, out, &host) && span_equal(host, s) &&
	    !policy_address_parse(s, &a);

	return region_universe_holds(REGION_HOST, s) == is;
}

static bool
program_agrees(struct span s)
{
	bool is = s.len > 1 && s.ptr[0] == '/';

	for (size_t i = 0; i < s.len; i++) {
		struct span part = span_from(s, i + 1);

		part.len = span_find(part, '/');
		if (s.ptr[i] == '/' &&
		    (part.len == 0 || span_is(part, ".") ||
			span_is(part, "..")))
			is = false;
	}
	return region_universe_holds(REGION_PROGRAM, s) == is;
}

static void
paths_are_those_that_are_their_own_canonical_form(void **state)
{
	(void)state;
	assert_true(every("/.a%2F", 7, path_agrees) > 300000);
	assert_true(every("/%2F0;?5BaE~", 5, path_agrees) > 200000);
}

static void
hosts_are_those_that_are_their_own_canonical_form(void **state)
{
	(void)state;
	assert_true(every("a0x.-7", 7, host_agrees) > 300000);
	assert_true(every("f_.9:A[]1", 5, host_agrees) > 60000);
}

static void
labels_and_hosts_have_an_end(void **state)
{
	char text[300];

	(void)state;
	for (size_t n = 1; n < sizeof(text); n++) {
		memset(text, 'a', n);
		assert_true(host_agrees(span_of(text, n)));
		for (size_t i = 63; i < n; i += 64)
			text[i] = '.';
		assert_true(host_agrees(span_of(text, n)));
	}
}

static void
programs_are_absolute_paths_of_components(void **state)
{
	(void)state;
	assert_true(every("/.ab", 8, program_agrees) > 80000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    paths_are_those_that_are_their_own_canonical_form),
		cmocka_unit_test(
		    hosts_are_those_that_are_their_own_canonical_form),
		cmocka_unit_test(labels_and_hosts_have_an_end),
		cmocka_unit_test(programs_are_absolute_paths_of_components),
	};

	return cmocka_run_group_tests_name("universe", tests, NULL, NULL);
}
