/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths through an image's symlinks, component by component, as the kernel
 * will walk them: "..", absolute targets and at most 40 links.
 */
#include <string.h>

#include "gateway/programs.h"

enum {
	LINKS = 40, /* MAXSYMLINKS */
};

/* The last component goes; "/" stays. */
static void
drop_last(struct buf *b)
{
	const uint8_t *p = buf_ptr(b);

	while (b->len > 0 && p[b->len - 1] != '/')
		b->len--;
	if (b->len > 0)
		b->len--;
}

static bool
put(struct buf *b, const void *p, size_t n)
{
	struct fault ignored = { 0 };

	return buf_add(b, p, n, &ignored) == 0;
}

/* What is left to walk becomes the target and then the rest. */
static bool
turn(struct buf *left, struct span target, struct span rest)
{
	struct buf b;
	bool fits;

	buf_init(&b, LIMIT_PATH);
	fits = put(&b, target.ptr, target.len) && put(&b, "/", 1) &&
	    put(&b, rest.ptr, rest.len);
	buf_clear(left);
	fits = fits && put(left, buf_ptr(&b), b.len);
	buf_release(&b);
	return fits;
}

/* One component; false: no such path. */
static bool
step(const struct image_index *index, struct buf *done, struct buf *left,
    unsigned *links)
{
	struct span s = buf_span(left);
	size_t n = span_find(s, '/');
	const struct image_symlink *link;
	size_t before = done->len;

	if (n == 0 || (n == 1 && s.ptr[0] == '.')) {
		buf_eat(left, n < s.len ? n + 1 : n);
		return true;
	}
	if (n == 2 && memcmp(s.ptr, "..", 2) == 0) {
		drop_last(done);
		buf_eat(left, n < s.len ? n + 1 : n);
		return true;
	}
	if (!put(done, "/", 1) || !put(done, s.ptr, n))
		return false;
	link = image_index_symlink(index, buf_span(done));
	if (link == NULL) {
		buf_eat(left, n < s.len ? n + 1 : n);
		return true;
	}
	if (++*links > LINKS)
		return false;
	done->len =
	    link->target.len > 0 && link->target.ptr[0] == '/' ? 0 : before;
	return turn(left, link->target, span_from(s, n + 1));
}

static void
resolve(const struct image_index *index, struct span path, struct arena *a,
    struct grant_image_program *out)
{
	const struct image_program *program;
	struct buf done;
	struct buf left;
	unsigned links = 0;
	bool is_path;

	*out = (struct grant_image_program){ 0 };
	buf_init(&done, LIMIT_PATH);
	buf_init(&left, LIMIT_PATH);
	is_path = put(&left, path.ptr, path.len);
	while (is_path && left.len > 0)
		is_path = step(index, &done, &left, &links);
	program = is_path ? image_index_program(index, buf_span(&done)) : NULL;
	if (program != NULL) {
		out->is_found = true;
		out->resolved = arena_dup(a, buf_span(&done));
		memcpy(out->sha256, program->digest, sizeof(out->sha256));
	}
	buf_release(&done);
	buf_release(&left);
}

int
programs_resolve(struct gateway *g, const char *image_digest, struct arena *a,
    struct grant_wish *w, struct fault *f)
{
	struct grant_image_program one;
	struct image_index index;

	if (w->programs_n == 0)
		return 0;
	if (image_index_read(&g->images, image_digest, a, &index, f) < 0)
		return -1;
	for (size_t i = 0; i < w->programs_n; i++) {
		resolve(&index, w->programs[i].path, a, &one);
		if (grant_wish_resolve(w, i, &one, f) < 0)
			return -1;
	}
	return 0;
}
