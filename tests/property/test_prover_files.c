/* rooms: prover */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files against brute force: small images of links, small lists of paths. A
 * real path is one without a link in it; a policy grants access to it when one
 * of its paths leads to it or to a folder above it.
 *
 *	WITHIN    no real path is granted by the child only; if no image was
 *	          given, in none of the images
 *	EXCEEDS   the witness leads to a real path that is
 */
#include "../lib/unit.h"
#include "base/base.h"
#include "policy/policy.h"
#include "prover/prover.h"

enum {
	ROUNDS = 5000,
	LINKS = 4,
	NAMES = 3,
	FILES = 6,
	DEPTH = 3,
	IMAGES = 4,
};

struct image {
	char path[LINKS][64];
	char target[LINKS][64];
	struct prover_link link[LINKS];
	struct prover_image image;
};

struct rules {
	char path[FILES][64];
	struct policy_file read[FILES];
	struct policy_file write[FILES];
	struct policy p;
};

static uint64_t seed = 20260829;
static size_t within;
static size_t exceeds;
static size_t unsupported;

static uint32_t
chance(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

/* --- making */

static void
make_path(char *out, size_t size, size_t most)
{
	static const char *const name[] = { "/a", "/b", "/usr", "/a", "/tmp" };
	size_t n = 1 + chance((uint32_t)most);

	*out = '\0';
	for (size_t i = 0; i < n; i++) {
		size_t at = strlen(out);

		assert_true(text_fmt(out + at, size - at, "%s",
		    name[chance(i ? NAMES : 5)]));
	}
}

static int
by_path(const void *a, const void *b)
{
	const char *x = a;
	const char *y = b;

	for (; *x && *x == *y; x++, y++)
		continue;
	return (*x == '/'   ? 1
		       : *x ? *x + 2
			    : 0) -
	    (*y == '/'   ? 1
		    : *y ? *y + 2
			 : 0);
}

static void
make_image(struct image *m)
{
	size_t n = chance(LINKS + 1);

	memset(m, 0, sizeof(*m));
	for (size_t i = 0; i < n; i++)
		make_path(m->path[i], sizeof(m->path[0]), 2);
	qsort(m->path, n, sizeof(m->path[0]), by_path);
	for (size_t i = 0; i < n; i++) {
		struct prover_link *l = &m->link[m->image.links_n];
		char *to = m->target[i];

		if (i > 0 && strcmp(m->path[i], m->path[i - 1]) == 0)
			continue;
		make_path(to, sizeof(m->target[0]), 2);
		if (chance(3) == 0)
			memmove(to, to + 1, strlen(to));
		else if (chance(4) == 0)
			(void)strcpy(to, "../b/../a");
		l->path = span_str(m->path[i]);
		l->target = span_str(to);
		m->image.links_n++;
	}
	m->image.links = m->link;
	m->image.workdir = SPAN_LIT("/a/b");
}

static void
make_rules(struct rules *r)
{
	size_t n = chance(FILES);

	memset(r, 0, sizeof(*r));
	r->p.read_only.file = r->read;
	r->p.read_write.file = r->write;
	r->p.include_workdir = chance(5) == 0;
	for (size_t i = 0; i < n; i++) {
		bool write = chance(3) == 0;
		struct policy_file *to = write ? &r->write[r->p.read_write.n++]
					       : &r->read[r->p.read_only.n++];

		make_path(r->path[i], sizeof(r->path[0]), DEPTH);
		if (!write && chance(12) == 0)
			(void)strcpy(r->path[i], "/");
		to->path = span_str(r->path[i]);
	}
}

/* --- brute force */

/* Component by component; false: no end. */
static bool
lead(const struct image *m, const char *path, char *out, int left)
{
	char text[512];
	char next[1024];
	char *save = NULL;

	assert_true(text_fmt(text, sizeof(text), "%s", path));
	*out = '\0';
	for (char *part = strtok_r(text, "/", &save); part;
	     part = strtok_r(NULL, "/", &save)) {
		char *slash = strrchr(out, '/');
		size_t n = strlen(out);

		if (strcmp(part, "..") == 0) {
			if (slash)
				*slash = '\0';
			continue;
		}
		assert_true(text_fmt(out + n, 512 - n, "/%s", part));
		for (size_t i = 0; i < m->image.links_n; i++) {
			const struct prover_link *l = &m->link[i];

			if (!span_is(l->path, out))
				continue;
			out[n] = '\0';
			if (left == 0)
				return false;
			assert_true(text_fmt(next, sizeof(next), "%s/%.*s/%s",
			    l->target.ptr[0] == '/' ? "" : out,
			    (int)l->target.len, (const char *)l->target.ptr,
			    save ? save : ""));
			return lead(m, next, out, left - 1);
		}
	}
	if (!*out)
		(void)strcpy(out, "/");
	return true;
}

static bool
above(const struct image *m, struct span folder, const char *path)
{
	char from[64];
	char to[512];
	size_t n;

	assert_true(text_copy(from, sizeof(from), folder));
	if (!lead(m, from, to, 40))
		return false;
	n = strlen(to);
	return n == 1 ||
	    (strncmp(to, path, n) == 0 && (path[n] == '/' || !path[n]));
}

static bool
grants(const struct image *m, const struct policy *p, const char *path,
    bool write, bool house)
{
	for (size_t i = 0; i < p->read_write.n; i++)
		if (above(m, p->read_write.file[i].path, path))
			return true;
	for (size_t i = 0; i < p->read_only.n && !write; i++)
		if (above(m, p->read_only.file[i].path, path))
			return true;
	if (p->include_workdir && above(m, m->image.workdir, path))
		return true;
	return house &&
	    ((!write && above(m, SPAN_LIT("/usr"), path)) ||
		above(m, SPAN_LIT("/tmp"), path));
}

static bool
only_child(const struct image *m, const struct rules *child,
    const struct rules *parent, const char *path, bool write)
{
	return grants(m, &child->p, path, write, true) &&
	    !grants(m, &parent->p, path, write, true);
}

/* A real path that the child alone reaches, or NULL. */
static const char *
excess(const struct image *m, const struct rules *child,
    const struct rules *parent)
{
	static const char *const top[] = { "/a", "/b", "/usr", "/tmp", "/c" };
	static char path[64];
	char to[512];

	for (size_t i = 0; i < 5 * 4 * 4 * 2; i++) {
		size_t second = i / 5 % 4;
		size_t third = second ? i / 20 % 4 : 0;

		assert_true(text_fmt(path, sizeof(path), "%s%s%s", top[i % 5],
		    second ? top[second - 1] : "",
		    third ? top[third - 1] : ""));
		if (lead(m, path, to, 40) && strcmp(path, to) == 0 &&
		    only_child(m, child, parent, path, i / 80))
			return path;
	}
	return NULL;
}

/* --- judging */

static void
show(const struct image *m, const struct rules *child,
    const struct rules *parent, const char *what, const char *path)
{
	for (size_t i = 0; i < m->image.links_n; i++)
		print_message("link %s -> %s\n", m->link[i].path.ptr,
		    m->link[i].target.ptr);
	for (size_t k = 0; k < 2; k++) {
		const struct policy *p = k ? &parent->p : &child->p;

		print_message("%s%s\n", k ? "parent" : "child",
		    p->include_workdir ? " workdir" : "");
		for (size_t i = 0; i < p->read_only.n; i++)
			print_message("  r %s\n",
			    p->read_only.file[i].path.ptr);
		for (size_t i = 0; i < p->read_write.n; i++)
			print_message("  w %s\n",
			    p->read_write.file[i].path.ptr);
	}
	fail_msg("%s: %s", what, path);
}

static void
judge(const struct image *image, size_t images, bool given,
    const struct rules *child, const struct rules *parent)
{
	struct prover_question q = { .child = &child->p,
		.parent = &parent->p,
		.image = given ? &image->image : NULL,
		.paranoid = true };
	struct prover_result r;
	struct arena a;

	arena_init(&a, 1 << 20);
	prover_prove(&q, &a, &r);
	for (size_t i = 0; i < images && r.verdict == PROVER_WITHIN; i++) {
		const char *path = excess(&image[i], child, parent);

		if (path)
			show(&image[i], child, parent, "an excess", path);
	}
	if (r.verdict == PROVER_EXCEEDS && given) {
		char to[512];
		char text[64];

		assert_true(text_copy(text, sizeof(text), r.witness.file));
		if (!lead(image, text, to, 40) ||
		    !only_child(image, child, parent, to, r.witness.write))
			show(image, child, parent, "no excess", text);
	}
	within += r.verdict == PROVER_WITHIN;
	exceeds += r.verdict == PROVER_EXCEEDS;
	unsupported += r.verdict == PROVER_UNSUPPORTED;
	arena_release(&a);
}

static void
with_an_image_files_agree_with_brute_force(void **state)
{
	(void)state;
	within = exceeds = unsupported = 0;
	for (size_t i = 0; i < ROUNDS; i++) {
		struct image image;
		struct rules child;
		struct rules parent;

		make_image(&image);
		make_rules(&child);
		make_rules(&parent);
		judge(&image, 1, true, &child, &parent);
	}
	print_message("%zu within, %zu exceed, %zu unsupported\n", within,
	    exceeds, unsupported);
	assert_true(within > ROUNDS / 10 && exceeds > ROUNDS / 10);
}

static void
without_one_what_is_within_is_so_in_all_images(void **state)
{
	(void)state;
	within = exceeds = unsupported = 0;
	for (size_t i = 0; i < ROUNDS; i++) {
		struct image image[IMAGES];
		struct rules child;
		struct rules parent;

		for (size_t k = 0; k < IMAGES; k++)
			make_image(&image[k]);
		make_rules(&child);
		make_rules(&parent);
		judge(image, IMAGES, false, &child, &parent);
	}
	print_message("%zu within, %zu exceed, %zu unsupported\n", within,
	    exceeds, unsupported);
	assert_true(within > ROUNDS / 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_an_image_files_agree_with_brute_force),
		cmocka_unit_test(
		    without_one_what_is_within_is_so_in_all_images),
	};

	return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
