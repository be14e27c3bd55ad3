/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deleting images after the commit; image_gone.h says why. The row is one
 * setting of lines "NAME DIGEST": a name that means another image by then is
 * left alone. A line stays until its image is gone, whatever is in the way.
 */
#include <string.h>

#include "gateway/image_gone.h"
#include "gateway/trash.h"

#define SETTING "images_gone"

enum {
	LINES = 64 << 10,
	ARENA = 16 << 20,
	AGAIN_MS = 100,   /* while an import is published */
	FAILED_MS = 1000, /* doubled each time */
	FAILED_MOST_MS = 300000,
};

/* Why something is still there. */
struct again {
	bool is_busy; /* soon */
	bool has_failed;
	struct fault why; /* of the last one */
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

/* What is not will be unlinked next. */
static bool
in_use(void *arg, const char *digest)
{
	struct gateway *g = arg;
	struct fault f = { 0 };
	char user[LIMIT_NAME + 1];
	char path[LIMIT_PATH];
	bool used = true;

	if (store_sandbox_uses(g->store, digest, &used, user, &f) < 0)
		log_warn(&f, "cannot tell whether an image is in use");
	if (!used &&
	    text_fmt(path, sizeof(path), "%s/images/blobs/%s.sqfs", g->state,
		digest))
		trash_hold(g, digest, path);
	return used;
}

static bool
is_named(struct gateway *g, const char *name)
{
	struct fault f = { 0 };
	char digest[DIGEST_HEX];

	return image_name_digest(&g->images, name, digest, &f) == 0 ||
	    f.code != FAULT_NOT_FOUND;
}

/* 0: it is not there, or means another image. */
static int
remove_one(struct gateway *g, struct span line, struct fault *f)
{
	struct image_info image;
	char name[LIMIT_NAME + 1];
	struct span digest = span_from(line, span_find(line, ' ') + 1);
	uint64_t freed = 0;
	struct arena a;
	int rc;

	if (!text_copy(name, sizeof(name),
		span_of(line.ptr, span_find(line, ' '))))
		return 0;
	arena_init(&a, ARENA);
	rc = image_find(&g->images, name, &a, &image, f);
	if (rc == 0 && span_is(digest, image.digest)) {
		rc = image_delete(&g->images, name, in_use, g, &freed, f);
		/* What a name is not any more is for a sweep to remove. */
		g->gone_sweep = g->gone_sweep || rc < 0;
		if (rc < 0 && !is_named(g, name))
			rc = 0;
	}
	arena_release(&a);
	if (freed > 0)
		trash_empty(g);
	if (rc == 0 || f->code != FAULT_NOT_FOUND)
		return rc;
	fault_clear(f);
	return 0;
}

static void
note_again(struct again *again, const struct fault *f, const char *what)
{
	again->why = *f;
	if (f->code == FAULT_BUSY) {
		again->is_busy = true;
		return;
	}
	again->has_failed = true;
	log_warn(f, "%s", what);
}

/* The lines of what stays; of go_through(). */
static int
keep_lines(struct gateway *g, struct span lines, const char *name,
    struct again *again, struct fault *f)
{
	struct buf left;
	int rc = 0;

	buf_init(&left, LINES);
	for (struct span s = lines; rc == 0 && s.len > 0;) {
		struct fault why = { 0 };
		size_t n = span_find(s, '\n');
		bool stays = name != NULL &&
		    !span_is(span_of(s.ptr, span_find(s, ' ')), name);

		if (!stays && again != NULL &&
		    remove_one(g, span_of(s.ptr, n), &why) < 0) {
			note_again(again, &why, "cannot remove an image");
			stays = true;
		}
		if (stays)
			rc = buf_add(&left, s.ptr, n + 1, f);
		s = span_from(s, n + 1);
	}
	if (rc == 0 && left.len < lines.len) {
		rc = store_setting_put(g->store, SETTING, buf_span(&left), f);
		loop_later(g->loop, &g->gone_kept); /* a commit follows */
	}
	buf_release(&left);
	return rc;
}

/*
 * Remove what the lines of that name (NULL: of any) mean, and drop those of
 * what is gone. again NULL: drop them as they are.
 */
static int
go_through(struct gateway *g, const char *name, struct again *again,
    struct fault *f)
{
	struct buf lines;
	int rc;

	buf_init(&lines, LINES);
	rc = read_lines(g, &lines, f);
	if (rc == 0)
		rc = keep_lines(g, buf_span(&lines), name, again, f);
	buf_release(&lines);
	return rc;
}

static void
sweep(struct gateway *g, struct again *again)
{
	struct fault f = { 0 };
	uint64_t freed = 0;

	if (image_sweep(&g->images, in_use, g, &freed, &f) < 0)
		note_again(again, &f, "cannot remove what no image is");
	else
		g->gone_sweep = false;
	if (freed == 0)
		return;
	trash_empty(g);
	log_info("removed %llu bytes of images that nothing needs",
	    (unsigned long long)freed);
}

static void
work(struct gateway *g)
{
	struct again again = { 0 };
	struct fault f = { 0 };

	if (go_through(g, NULL, &again, &f) < 0)
		note_again(&again, &f, "cannot remove images");
	if (g->gone_sweep)
		sweep(g, &again);
	if (!again.has_failed)
		g->gone_wait_ms = 0;
	else if (!again.is_busy)
		g->gone_wait_ms = g->gone_wait_ms == 0     ? FAILED_MS
		    : g->gone_wait_ms < FAILED_MOST_MS / 2 ? 2 * g->gone_wait_ms
							   : FAILED_MOST_MS;
	if (again.is_busy || again.has_failed)
		loop_timer_set(g->loop, &g->gone_again,
		    again.is_busy ? AGAIN_MS : g->gone_wait_ms);
}

static void
on_held(struct deferred *d)
{
	struct gateway *g = CONTAINER_OF(d, struct gateway, gone);

	crash_at("before_image_unlink");
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

int
image_gone_check(struct gateway *g, const char *name, struct fault *f)
{
	struct again again = { 0 };

	if (go_through(g, name, &again, f) < 0)
		return -1;
	if (g->gone_sweep)
		image_gone_sweep(g);
	*f = again.why;
	return f->code == FAULT_NONE ? 0 : -1;
}

void
image_gone_forget(struct gateway *g, const char *name)
{
	struct fault f = { 0 };

	if (go_through(g, name, NULL, &f) < 0)
		log_warn(&f, "image '%s' may be deleted again", name);
}

void
image_gone_sweep(struct gateway *g)
{
	g->gone_sweep = true;
	loop_held(g->loop, &g->gone);
}

void
image_gone_unused(struct gateway *g, const char *name, const char *digest)
{
	struct fault ignored = { 0 };
	char means[DIGEST_HEX] = "";

	/* Most often its name means it still; another may, and then a sweep
	 * finds nothing. */
	if (image_name_digest(&g->images, name, means, &ignored) < 0 ||
	    strcmp(means, digest) != 0)
		image_gone_sweep(g);
}

void
image_gone_open(struct gateway *g)
{
	g->gone.run = on_held;
	g->gone_kept.run = on_kept;
	g->gone_again.fire = on_again;
	g->gone_sweep = true;
	work(g);
}

void
image_gone_close(struct gateway *g)
{
	loop_timer_clear(&g->gone_again);
}
