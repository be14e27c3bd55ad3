/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions of paths, hosts and words against every such string of a few bytes:
 * in some globs and not in others. What is seen at once (inside, apart) is seen
 * rightly.
 */
#include "../../lib/unit.h"
#include "base/base.h"
#include "policy/policy.h"
#include "region/region.h"

enum {
	PATHS = 4096,
	GLOBS = 5,
	ROUNDS = 4000, /* of each */
};

static struct arena arena;
static char path[PATHS][24]; /* strings of the dimension at hand, by length */
static size_t paths;
static enum region_dim dim;
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

static void
make_words(void)
{
	for (size_t len = 1; len <= 7; len++)
		for (size_t k = 0; k < (size_t)1 << len; k++) {
			char *to = path[paths++];

			for (size_t i = 0; i < len; i++)
				to[i] = "ab"[k >> i & 1];
			to[len] = '\0';
		}
}

static int
by_length(const void *a, const void *b)
{
	size_t x = strlen(a);
	size_t y = strlen(b);

	return (x > y) - (x < y);
}

static void
make_hosts(void)
{
	static const char *const label[] = { "", "a.", "b.", "ab.", "ba.",
		"aa.", "c." };

	for (size_t i = 0; i < NELEM(label); i++)
		for (size_t j = 0; j < NELEM(label); j++)
			for (size_t k = 0; k < NELEM(label); k++)
				assert_true(text_fmt(path[paths++],
				    sizeof(path[0]), "%s%s%sx.y", label[i],
				    label[j], label[k]));
	qsort(path, paths, sizeof(path[0]), by_length);
}

static void
path_text(char *text)
{
	static const char *const piece[] = { "a", "b", "*", "/", "/**", "/*",
		"ab" };
	size_t n = chance(6);

	(void)strcpy(text, chance(8) ? "/" : "");
	for (size_t i = 0; i < n; i++)
		(void)strcat(text, piece[chance(NELEM(piece))]);
}

static void
word_text(char *text)
{
	static const char *const piece[] = { "a", "b", "*", "ab", "*" };
	size_t n = 1 + chance(5);

	*text = '\0';
	for (size_t i = 0; i < n; i++)
		(void)strcat(text, piece[chance(NELEM(piece))]);
}

static void
host_text(char *text)
{
	static const char *const first[] = { "*.", "**.", "a*.", "*b.", "a*b.",
		"a.", "ab.", "*a*." };
	static const char *const later[] = { "", "", "*.", "a.", "b." };

	assert_true(text_fmt(text, 64, "%s%s%sx.y", first[chance(NELEM(first))],
	    later[chance(NELEM(later))], later[chance(NELEM(later))]));
}

static struct policy_glob
make_glob(char *text)
{
	enum policy_glob_kind kind = dim == REGION_PATH ? POLICY_GLOB_PATH
	    : dim == REGION_HOST                        ? POLICY_GLOB_HOST
							: POLICY_GLOB_WORD;
	struct policy_glob g;
	struct fault f = { 0 };

	do
		if (dim == REGION_PATH)
			path_text(text);
		else if (dim == REGION_HOST)
			host_text(text);
		else
			word_text(text);
	while (policy_glob_read(&g, kind, span_str(text), &arena, &f) != 0);
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
	const struct region_literal l = { .set = set, .dim = (uint8_t)dim };
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
		.dim = (uint8_t)dim };
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
	value = region_value(s, region.value[dim])->s;
	if (!holds(r, value) || !region_universe_holds(dim, value))
		show(r, "the value does not fulfil it");
	if (other && strlen(other) < value.len)
		fail_msg("'%s' is shorter than '%.*s': in %s, %zu", other,
		    (int)value.len, (const char *)value.ptr, r->text[0], r->in);
}

static void
run(enum region_dim of, void (*make)(void))
{
	dim = of;
	paths = 0;
	make();
	for (size_t k = 0; k < ROUNDS; k++) {
		struct region_solver s;
		struct round r;

		arena_init(&arena, 16 << 20);
		region_solver_init(&s, &arena, 8 << 20, UINT64_MAX);
		s.until = UINT64_MAX;
		r.in = 1 + chance(2);
		for (size_t i = 0; i < GLOBS; i++) {
			const struct policy_glob *g = &r.glob[i];

			r.glob[i] = make_glob(r.text[i]);
			r.set[i] = region_set_globs(&s, dim, &g, 1);
		}
		at_once(&s, &r);
		judge(&s, &r);
		arena_release(&arena);
	}
}

static void
regions_of_paths_agree_with_every_path(void **state)
{
	(void)state;
	run(REGION_PATH, make_paths);
}

static void
regions_of_hosts_agree_with_every_host(void **state)
{
	(void)state;
	run(REGION_HOST, make_hosts);
}

static void
regions_of_words_agree_with_every_word(void **state)
{
	(void)state;
	run(REGION_RPC, make_words);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regions_of_paths_agree_with_every_path),
		cmocka_unit_test(regions_of_hosts_agree_with_every_host),
		cmocka_unit_test(regions_of_words_agree_with_every_word),
	};

	return cmocka_run_group_tests_name("region", tests, NULL, NULL);
}
