/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deleting images after the commit; image_gone.h says why. The row is one
 * setting of lines "NAME DIGEST": a name that means another image by then is
 * left alone.
 */
#include <string.h>

#include "gateway/image_gone.h"
#include "gateway/trash.h"

#define SETTING "images_gone"

enum {
	LINES = 64 << 10,
	ARENA = 16 << 20,
	AGAIN_MS = 100,
};

static int
read_lines(struct gateway *g, struct buf *lines, struct fault *f)
{
	struct span s = { 0 };
	struct arena a;
	int rc;

	arena_init(&a, ARENA);
	rc = store_setting_get(g->store, SETTING, &a, &s, f);
	if (rc == 0)
		rc = buf_add(lines, s.ptr, s.len, f);
	else if (f->code == FAULT_NOT_FOUND) {
		fault_clear(f);
		rc = 0;
	}
	arena_release(&a);
	return rc;
}

static bool
in_use(void *arg, const char *digest)
{
	struct gateway *g = arg;
	struct fault f = { 0 };
	char user[LIMIT_NAME + 1];
	bool used = true;

	if (store_sandbox_uses(g->store, digest, &used, user, &f) < 0)
		log_warn(&f, "cannot tell whether an image is in use");
	return used;
}

static int
remove_files(struct gateway *g, const struct image_info *image, struct fault *f)
{
	char path[LIMIT_PATH];
	uint64_t freed = 0;
	int rc;

	if (text_fmt(path, sizeof(path), "%s/images/%s", g->state, image->blob))
		trash_hold(g, image->digest, path);
	rc = image_delete(&g->images, image->name, in_use, g, &freed, f);
	if (rc == 0)
		trash_empty(g);
	return rc;
}

/* False: it is still there and must be tried again. */
static bool
remove_one(struct gateway *g, struct span line)
{
	struct image_info image;
	struct fault f = { 0 };
	char name[LIMIT_NAME + 1];
	struct span digest = span_from(line, span_find(line, ' ') + 1);
	struct arena a;
	bool waits = false;

	if (!text_copy(name, sizeof(name),
		span_of(line.ptr, span_find(line, ' '))))
		return true;
	arena_init(&a, ARENA);
	if (image_find(&g->images, name, &a, &image, &f) == 0 &&
	    span_is(digest, image.digest) && remove_files(g, &image, &f) < 0)
		waits = f.code == FAULT_BUSY;
	if (f.code != FAULT_NONE && f.code != FAULT_NOT_FOUND && !waits)
		log_warn(&f, "cannot remove image '%s'", name);
	arena_release(&a);
	return !waits;
}

/* Remove all that can be; keep in `left` what waits. */
static int
remove_all(struct gateway *g, struct buf *left, struct fault *f)
{
	struct buf lines;
	int rc;

	buf_init(&lines, LINES);
	rc = read_lines(g, &lines, f);
	for (struct span s = buf_span(&lines); rc == 0 && s.len > 0;) {
		size_t n = span_find(s, '\n');

		if (!remove_one(g, span_of(s.ptr, n)))
			rc = buf_add(left, s.ptr, n + 1, f);
		s = span_from(s, n + 1);
	}
	buf_release(&lines);
	return rc;
}

static void
work(struct gateway *g)
{
	struct fault f = { 0 };
	struct buf left;

	crash_at("before_image_unlink");
	buf_init(&left, LINES);
	if (remove_all(g, &left, &f) < 0 ||
	    store_setting_put(g->store, SETTING, buf_span(&left), &f) < 0)
		log_warn(&f, "cannot remove images");
	if (left.len > 0)
		loop_timer_set(g->loop, &g->gone_again, AGAIN_MS);
	loop_later(g->loop, &g->gone_kept); /* a commit follows */
	buf_release(&left);
}

static void
on_held(struct deferred *d)
{
	struct gateway *g = CONTAINER_OF(d, struct gateway, gone);

	if (g->commit_fault.code == FAULT_NONE)
		work(g);
}

static void
on_kept(struct deferred *d)
{
	(void)d; /* being run is all: the tick commits */
}

static void
on_again(struct timer *t)
{
	work(CONTAINER_OF(t, struct gateway, gone_again));
}

int
image_gone_note(struct gateway *g, const char *name, const char *digest,
    struct fault *f)
{
	struct buf lines;
	int rc;

	buf_init(&lines, LINES);
	rc = read_lines(g, &lines, f);
	if (rc == 0)
		rc = buf_fmt(&lines, "%s %s\n", name, digest) == 0
		    ? 0
		    : fault_set(f, FAULT_LIMIT, "too many images go");
	if (rc == 0)
		rc = store_setting_put(g->store, SETTING, buf_span(&lines), f);
	buf_release(&lines);
	if (rc == 0)
		loop_held(g->loop, &g->gone);
	return rc;
}

bool
image_gone_waits(struct gateway *g, const char *name)
{
	struct fault f = { 0 };
	struct buf lines;
	bool waits = false;

	buf_init(&lines, LINES);
	if (read_lines(g, &lines, &f) < 0)
		log_warn(&f, "cannot read which images are to go");
	for (struct span s = buf_span(&lines); s.len > 0;) {
		size_t n = span_find(s, '\n');

		waits |= span_is(span_of(s.ptr, span_find(s, ' ')), name);
		s = span_from(s, n + 1);
	}
	buf_release(&lines);
	return waits;
}

int
image_gone_open(struct gateway *g, struct fault *f)
{
	uint64_t freed = 0;
	struct buf left;
	int rc;

	g->gone.run = on_held;
	g->gone_kept.run = on_kept;
	g->gone_again.fire = on_again;
	buf_init(&left, LINES);
	rc = remove_all(g, &left, f);
	if (rc == 0)
		rc = store_setting_put(g->store, SETTING, buf_span(&left), f);
	if (rc == 0 && left.len > 0)
		loop_timer_set(g->loop, &g->gone_again, AGAIN_MS);
	buf_release(&left);
	if (rc == 0)
		rc = image_sweep(&g->images, in_use, g, &freed, f);
	if (freed > 0)
		log_info("removed %llu bytes of images that nothing needs",
		    (unsigned long long)freed);
	return rc;
}

void
image_gone_close(struct gateway *g)
{
	loop_timer_clear(&g->gone_again);
}
