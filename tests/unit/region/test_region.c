/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions of paths against every path of a few bytes: in some globs and not in
 * others. What is seen at once (inside, apart) is seen rightly.
 */
#include "../../lib/unit.h"
#include "base/base.h"
#include "policy/policy.h"
#include "region/region.h"

enum {
	PATHS = 4096,
	GLOBS = 5,
	ROUNDS = 6000,
};

static struct arena arena;
static char path[PATHS][10];
static size_t paths;
static uint64_t seed = 20260829;

static uint32_t
chance(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

/* Canonical paths over a, b and '/'. */
static void
make_paths(void)
{
	for (size_t len = 1; len <= 8; len++)
		for (size_t k = 0; k < 2187; k++) {
			size_t left = k;
			char *to = path[paths];

			*to = '/';
			for (size_t i = 1; i < len; i++, left /= 3)
				to[i] = "ab/"[left % 3];
			to[len] = '\0';
			if (left == 0 && !strstr(to, "//") && paths < PATHS - 1)
				paths++;
		}
}

static struct policy_glob
make_glob(char *text)
{
	static const char *const piece[] = { "a", "b", "*", "/", "/**", "/*",
		"ab" };
	struct policy_glob g;
	struct fault f = { 0 };

	do {
		size_t n = chance(6);

		text[0] = '/';
		text[1] = '\0';
		if (chance(8) == 0)
			text[0] = '\0';
		for (size_t i = 0; i < n; i++)
			(void)strcat(text, piece[chance(NELEM(piece))]);
	} while (policy_glob_read(&g, POLICY_GLOB_PATH, span_str(text), &arena,
		     &f) != 0);
	return g;
}

struct round {
	char text[GLOBS][64];
	struct policy_glob glob[GLOBS];
	uint32_t set[GLOBS];
	size_t in; /* the first ones; the others are out */
};

static bool
holds(const struct round *r, struct span s)
{
	for (size_t i = 0; i < GLOBS; i++)
		if (policy_glob_match(&r->glob[i], s) != (i < r->in))
			return false;
	return true;
}

static const char *
shortest(const struct round *r)
{
	for (size_t i = 0; i < paths; i++)
		if (holds(r, span_str(path[i])))
			return path[i];
	return NULL;
}

static void
show(const struct round *r, const char *what)
{
	char text[400] = "";

	for (size_t i = 0; i < GLOBS; i++) {
		(void)strcat(text, i < r->in ? " in " : " out ");
		(void)strcat(text, r->text[i]);
	}
	fail_msg("%s:%s", what, text);
}

static enum region_found
add(struct region_solver *s, struct region *region, uint32_t set, bool in)
{
	const struct region_literal l = { .set = set, .dim = REGION_PATH };
	enum region_found found;

	do
		found = region_add(s, region, &l, in ? REGION_IN : REGION_OUT);
	while (found == REGION_WAIT && (region_run(s) || true) && !s->spent);
	return found;
}

static void
at_once(struct region_solver *s, const struct round *r)
{
	const struct region_literal l = { .set = r->set[1],
		.dim = REGION_PATH };
	struct region region;
	bool inside;
	bool apart;

	region_init(s, &region);
	if (r->set[0] == REGION_ALL ||
	    add(s, &region, r->set[0], true) != REGION_SOME)
		return;
	inside = region_inside(s, &region, &l);
	apart = region_apart(s, &region, &l);
	for (size_t i = 0; i < paths; i++) {
		struct span p = span_str(path[i]);

		if (!policy_glob_match(&r->glob[0], p))
			continue;
		if (inside && !policy_glob_match(&r->glob[1], p))
			show(r, "not inside");
		if (apart && policy_glob_match(&r->glob[1], p))
			show(r, "not apart");
	}
}

static void
judge(struct region_solver *s, struct round *r)
{
	struct region region;
	enum region_found found = REGION_SOME;
	const char *other = shortest(r);
	struct span value;

	region_init(s, &region);
	for (size_t i = 0; i < GLOBS && found == REGION_SOME; i++)
		found = add(s, &region, r->set[i], i < r->in);
	if (found == REGION_NONE) {
		if (other)
			show(r, other);
		return;
	}
	assert_int_equal(found, REGION_SOME);
	value = region_value(s, region.value[REGION_PATH])->s;
	if (!holds(r, value) || !region_universe_holds(REGION_PATH, value))
		show(r, "the value does not fulfil it");
	if (other && strlen(other) < value.len)
		show(r, "the value is not the shortest");
}

static void
regions_of_paths_agree_with_every_path(void **state)
{
	(void)state;
	for (size_t k = 0; k < ROUNDS; k++) {
		struct region_solver s;
		struct round r;

		arena_init(&arena, 16 << 20);
		region_solver_init(&s, &arena, 8 << 20);
		s.until = UINT64_MAX;
		r.in = 1 + chance(2);
		for (size_t i = 0; i < GLOBS; i++) {
			const struct policy_glob *g = &r.glob[i];

			r.glob[i] = make_glob(r.text[i]);
			r.set[i] = region_set_globs(&s, REGION_PATH, &g, 1);
		}
		at_once(&s, &r);
		judge(&s, &r);
		arena_release(&arena);
	}
}

static int
start(void **state)
{
	(void)state;
	make_paths();
	return paths > 1000 ? 0 : -1;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regions_of_paths_agree_with_every_path),
	};

	return cmocka_run_group_tests_name("region", tests, start, NULL);
}
