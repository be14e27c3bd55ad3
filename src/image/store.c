/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store: its folders, its blobs, and which of them nothing needs. A lock
 * on its folder makes "is this blob still named?" and "name this blob" exclude
 * each other; readers need none, as files appear whole.
 */
#include <sys/file.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/inner.h"

enum {
	SWEEP_ARENA = 1 << 20, /* all names and digests */
};

static int
open_folder(int at, const char *path, int *fd, struct fault *f)
{
	*fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd < 0)
		return fault_sys(f, "cannot open '%.150s'", path);
	return 0;
}

int
image_store_open(struct image_store *s, const char *path, struct fault *f)
{
	*s = (struct image_store){ -1, -1, -1 };
	if (dir_make(path, 0700, f) < 0 ||
	    open_folder(AT_FDCWD, path, &s->dir, f) < 0)
		return -1;
	if ((mkdirat(s->dir, "blobs", 0700) < 0 && errno != EEXIST) ||
	    (mkdirat(s->dir, "names", 0700) < 0 && errno != EEXIST)) {
		(void)fault_sys(f, "cannot make a folder in '%.150s'", path);
		image_store_close(s);
		return -1;
	}
	if (open_folder(s->dir, "blobs", &s->blobs, f) == 0 &&
	    open_folder(s->dir, "names", &s->names, f) == 0)
		return 0;
	image_store_close(s);
	return -1;
}

void
image_store_close(struct image_store *s)
{
	fd_close(&s->names);
	fd_close(&s->blobs);
	fd_close(&s->dir);
}

static int
lock(const struct image_store *s, int how, struct fault *f)
{
	while (flock(s->dir, LOCK_EX | how) < 0) {
		if (errno == EWOULDBLOCK)
			return fault_set(f, FAULT_BUSY,
			    "an import is being published");
		if (errno != EINTR)
			return fault_sys(f, "cannot lock the image store");
	}
	return 0;
}

int
image_store_lock(const struct image_store *s, struct fault *f)
{
	return lock(s, 0, f);
}

int
image_store_try_lock(const struct image_store *s, struct fault *f)
{
	return lock(s, LOCK_NB, f);
}

void
image_store_unlock(const struct image_store *s)
{
	(void)flock(s->dir, LOCK_UN);
}

static int
open_blob(const struct image_store *s, const char *digest, const char *end,
    int *fd, struct fault *f)
{
	char file[DIGEST_HEX + 8];
	uint8_t raw[DIGEST_SIZE];

	if (!hex_parse(span_str(digest), raw, sizeof(raw)))
		return fault_set(f, FAULT_INVALID, "not a digest");
	(void)snprintf(file, sizeof(file), "%s.%s", digest, end);
	*fd = openat(s->blobs, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (*fd >= 0)
		return 0;
	if (errno == ENOENT)
		return fault_set(f, FAULT_NOT_FOUND, "no image of digest %s",
		    digest);
	return fault_sys(f, "cannot open image %s", digest);
}

int
image_open_blob(const struct image_store *s, const char *digest, int *fd,
    struct fault *f)
{
	return open_blob(s, digest, "sqfs", fd, f);
}

int
image_index_find(const struct image_store *s, const char *image,
    struct span path, uint8_t digest[DIGEST_SIZE], bool *found, struct fault *f)
{
	with_fd fd = -1;

	*found = false;
	if (open_blob(s, image, "idx", &fd, f) < 0)
		return -1;
	return image_index_search(fd, path, digest, found, f);
}

int
image_index_read(const struct image_store *s, const char *digest,
    struct arena *a, struct image_index *out, struct fault *f)
{
	char file[DIGEST_HEX + 8];
	uint8_t raw[DIGEST_SIZE];
	struct buf text;
	int r;

	if (!hex_parse(span_str(digest), raw, sizeof(raw)))
		return fault_set(f, FAULT_INVALID, "not a digest");
	(void)snprintf(file, sizeof(file), "%s.idx", digest);
	buf_init(&text, IMAGE_INDEX_READ);
	r = file_read(s->blobs, file, &text, f);
	if (r == 0)
		r = image_index_parse(buf_span(&text), a, out, f);
	buf_release(&text);
	return r;
}

void
image_blob_remove(const struct image_store *s, const char *digest)
{
	static const char *const ends[] = { "sqfs", "json", "idx" };

	for (size_t i = 0; i < NELEM(ends); i++) {
		char file[DIGEST_HEX + 8];

		(void)snprintf(file, sizeof(file), "%s.%s", digest, ends[i]);
		(void)unlinkat(s->blobs, file, 0);
	}
}

/* Digests that names mean; false when one cannot be read: keep everything. */
static bool
named_digests(const struct image_store *s, struct arena *a,
    const char *digests[IMAGE_NAMES], size_t *count)
{
	struct fault ignored;
	char(*names)[LIMIT_NAME + 1];
	size_t n = 0;

	*count = 0;
	if (image_names(s, a, &names, &n, &ignored) < 0 || n >= IMAGE_NAMES)
		return false;
	for (size_t i = 0; i < n; i++) {
		char digest[DIGEST_HEX];

		if (image_name_digest(s, names[i], digest, &ignored) < 0)
			return false;
		digests[*count] = arena_str(a, span_str(digest));
		if (!digests[(*count)++])
			return false;
	}
	return true;
}

struct sweep {
	const struct image_store *store;
	image_in_use in_use;
	void *arg;
	const char *named[IMAGE_NAMES];
	size_t count;
	uint64_t freed;
};

/* "DIGEST.sqfs", "DIGEST.json" or "DIGEST.idx"; not what a write left. */
static bool
digest_of_file(const char *file, char digest[DIGEST_HEX])
{
	uint8_t raw[DIGEST_SIZE];
	struct span s = span_str(file);
	struct span end;

	s.len = span_find(s, '.');
	end = span_from(span_str(file), s.len);
	return text_copy(digest, DIGEST_HEX, s) &&
	    hex_parse(s, raw, sizeof(raw)) &&
	    (span_is(end, ".sqfs") || span_is(end, ".json") ||
		span_is(end, ".idx"));
}

static bool
is_needed(const struct sweep *w, int dir, const char *file)
{
	char digest[DIGEST_HEX];

	if (dir == w->store->names) {
		char name[LIMIT_NAME + 1];

		return image_name_of_file(file, name);
	}
	if (!digest_of_file(file, digest))
		return false;
	for (size_t i = 0; i < w->count; i++)
		if (strcmp(w->named[i], digest) == 0)
			return true;
	return w->in_use && w->in_use(w->arg, digest);
}

static void
remove_file(struct sweep *w, int dir, const char *file)
{
	struct stat st;

	if (fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    unlinkat(dir, file, 0) == 0)
		w->freed += (uint64_t)st.st_size;
}

static int
sweep_folder(struct sweep *w, int dir, struct fault *f)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!d)
		return fault_sys(f, "cannot list the image store");
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 &&
		    strcmp(e->d_name, "..") != 0 &&
		    !is_needed(w, dir, e->d_name))
			remove_file(w, dir, e->d_name);
	(void)closedir(d);
	return 0;
}

static int
sweep_locked(const struct image_store *s, image_in_use in_use, void *arg,
    uint64_t *freed, struct fault *f)
{
	struct sweep *w = must_alloc(sizeof(*w));
	struct arena a;
	int r = 0;

	*w = (struct sweep){ .store = s, .in_use = in_use, .arg = arg };
	arena_init(&a, SWEEP_ARENA);
	if (named_digests(s, &a, w->named, &w->count) &&
	    (sweep_folder(w, s->blobs, f) < 0 ||
		sweep_folder(w, s->names, f) < 0))
		r = -1;
	*freed = w->freed;
	arena_release(&a);
	free(w);
	return r;
}

int
image_sweep(const struct image_store *s, image_in_use in_use, void *arg,
    uint64_t *freed, struct fault *f)
{
	int r;

	*freed = 0;
	if (image_store_try_lock(s, f) < 0)
		return -1;
	r = sweep_locked(s, in_use, arg, freed, f);
	image_store_unlock(s);
	return r;
}

int
image_delete(const struct image_store *s, const char *name, image_in_use in_use,
    void *arg, uint64_t *freed, struct fault *f)
{
	char file[LIMIT_NAME + 8];
	int r = 0;

	*freed = 0;
	if (!name_valid(span_str(name), LIMIT_NAME))
		return image_not_found(name, f);
	(void)snprintf(file, sizeof(file), "%s.json", name);
	if (image_store_try_lock(s, f) < 0)
		return -1;
	if (unlinkat(s->names, file, 0) < 0)
		r = errno == ENOENT
		    ? image_not_found(name, f)
		    : fault_sys(f, "cannot delete image '%s'", name);
	if (r == 0) {
		(void)fsync(s->names);
		r = sweep_locked(s, in_use, arg, freed, f);
	}
	image_store_unlock(s);
	return r;
}
