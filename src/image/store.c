/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store as its readers see it: names, blobs, and what is known of them.
 * A lock on the store's folder makes "is this blob still named?" and "name
 * this blob" exclude each other; readers need none, as files appear whole.
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
	SWEEP_ARENA = 256 << 20, /* all facts of all images, at most */
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

int
image_store_lock(const struct image_store *s, struct fault *f)
{
	while (flock(s->dir, LOCK_EX) < 0)
		if (errno != EINTR)
			return fault_sys(f, "cannot lock the image store");
	return 0;
}

void
image_store_unlock(const struct image_store *s)
{
	(void)flock(s->dir, LOCK_UN);
}

static int
read_json(int dir, const char *file, struct arena *a,
    const struct json_value **out, struct fault *f)
{
	struct buf text;
	int r = -1;

	buf_init(&text, IMAGE_META);
	if (file_read(dir, file, &text, f) == 0) {
		struct span kept = arena_dup(a, buf_span(&text));

		r = kept.ptr
		    ? json_parse(kept, a, out, f)
		    : fault_set(f, FAULT_LIMIT, "no room for '%s'", file);
	}
	buf_release(&text);
	return r;
}

static int
read_uint(const struct json_value *v, const char *key, uint64_t *out,
    struct fault *f)
{
	if (json_uint(json_get(v, key), INT64_MAX, out))
		return 0;
	return fault_set(f, FAULT_INVALID, "'%s' is missing", key);
}

static int
read_accounts(const struct json_value *v, const char *key, struct arena *a,
    const struct image_account **out, size_t *count, struct fault *f)
{
	const struct json_value *list;
	struct image_account *row;

	if (json_need(v, key, JSON_ARRAY, &list, f) < 0)
		return -1;
	row = arena_get(a, (list->count + 1) * sizeof(*row));
	if (!row)
		return fault_set(f, FAULT_LIMIT, "too many users");
	*out = row;
	*count = list->count;
	for (const struct json_value *i = json_first(list); i;
	     i = json_next(i), row++) {
		uint64_t uid = 0;
		uint64_t gid = 0;

		row->home = "";
		if (!json_cstr(json_get(i, "name"), &row->name) ||
		    !json_uint(json_get(i, "gid"), UINT32_MAX, &gid))
			return fault_set(f, FAULT_INVALID, "a bad '%s'", key);
		if (json_get(i, "home") &&
		    (!json_cstr(json_get(i, "home"), &row->home) ||
			!json_uint(json_get(i, "uid"), UINT32_MAX, &uid)))
			return fault_set(f, FAULT_INVALID, "a bad '%s'", key);
		row->uid = (uint32_t)uid;
		row->gid = (uint32_t)gid;
	}
	return 0;
}

static int
read_blob_facts(const struct image_store *s, struct arena *a,
    struct image_info *out, struct fault *f)
{
	const struct json_value *v = NULL;
	char file[DIGEST_HEX + 8];

	(void)snprintf(file, sizeof(file), "%s.json", out->digest);
	if (read_json(s->blobs, file, a, &v, f) < 0 ||
	    read_uint(v, "size_bytes", &out->size_bytes, f) < 0 ||
	    read_uint(v, "content_bytes", &out->content_bytes, f) < 0 ||
	    read_uint(v, "entries", &out->entries, f) < 0 ||
	    read_accounts(v, "users", a, &out->users, &out->user_count, f) <
		0 ||
	    read_accounts(v, "groups", a, &out->groups, &out->group_count, f) <
		0)
		return -1;
	out->blob = arena_fmt(a, "blobs/%s.sqfs", out->digest);
	out->index = arena_fmt(a, "blobs/%s.idx", out->digest);
	if (!out->blob || !out->index)
		return fault_set(f, FAULT_LIMIT, "no room for an image");
	return 0;
}

static int
read_digest(const struct json_value *v, struct image_info *out, struct fault *f)
{
	uint8_t raw[DIGEST_SIZE];
	struct span hex = { 0 };

	if (!json_str(json_get(v, "digest"), &hex) ||
	    !hex_parse(hex, raw, sizeof(raw)))
		return fault_set(f, FAULT_INVALID, "'digest' is missing");
	hex_format(raw, sizeof(raw), out->digest);
	return 0;
}

static int
read_name(const struct image_store *s, const char *name, struct arena *a,
    struct image_info *out, struct fault *f)
{
	const struct json_value *v = NULL;
	uint64_t imported = 0;
	char file[LIMIT_NAME + 8];

	memset(out, 0, sizeof(*out));
	(void)snprintf(file, sizeof(file), "%s.json", name);
	if (read_json(s->names, file, a, &v, f) < 0 ||
	    read_digest(v, out, f) < 0 ||
	    read_uint(v, "imported_ms", &imported, f) < 0 ||
	    image_config_read(v, a, &out->config, f) < 0)
		return -1;
	if (!json_cstr(json_get(v, "source"), &out->source) ||
	    !json_cstr(json_get(v, "source_digest"), &out->source_digest))
		return fault_set(f, FAULT_INVALID, "'source' is missing");
	out->imported_ms = (int64_t)imported;
	out->name = arena_str(a, span_str(name));
	if (!out->name)
		return fault_set(f, FAULT_LIMIT, "no room for an image");
	return read_blob_facts(s, a, out, f);
}

static int
not_found(const char *name, struct fault *f)
{
	char shown[64];

	text_escape(span_str(name), shown, sizeof(shown));
	return fault_set(f, FAULT_NOT_FOUND,
	    "no image '%s': see 'nacre image list'", shown);
}

int
image_find(const struct image_store *s, const char *name, struct arena *a,
    struct image_info *out, struct fault *f)
{
	if (!name_valid(span_str(name), LIMIT_NAME))
		return not_found(name, f);
	if (read_name(s, name, a, out, f) == 0)
		return 0;
	if (f->code == FAULT_SYSTEM && f->sys == ENOENT)
		return not_found(name, f);
	return fault_prefix(f, "image '%s'", name);
}

/* "NAME.json" -> NAME; false for anything else that lies about. */
static bool
name_of_file(const char *file, char name[LIMIT_NAME + 1])
{
	struct span s = span_str(file);

	if (s.len <= 5 || !span_is(span_from(s, s.len - 5), ".json"))
		return false;
	s.len -= 5;
	return name_valid(s, LIMIT_NAME) && text_copy(name, LIMIT_NAME + 1, s);
}

static int
order_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* All names, sorted, in the arena. */
static int
list_names(const struct image_store *s, struct arena *a,
    char (**out)[LIMIT_NAME + 1], size_t *count, struct fault *f)
{
	int fd = openat(s->names, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	*count = 0;
	if (!d)
		return fault_sys(f, "cannot list the image store");
	*out = arena_get(a, IMAGE_NAMES * sizeof(**out));
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
	while (*out && *count < IMAGE_NAMES && (e = readdir(d)))
		if (name_of_file(e->d_name, (*out)[*count]))
			++*count;
	(void)closedir(d);
	if (!*out)
		return fault_set(f, FAULT_LIMIT, "no room for a list");
	qsort(*out, *count, sizeof(**out), order_names);
	return 0;
}

int
image_list(const struct image_store *s, struct arena *a,
    struct image_info **out, size_t *count, struct fault *f)
{
	char(*names)[LIMIT_NAME + 1];
	struct image_info *list;
	size_t n;

	*count = 0;
	if (list_names(s, a, &names, &n, f) < 0)
		return -1;
	list = arena_get(a, (n + 1) * sizeof(*list));
	if (!list)
		return fault_set(f, FAULT_LIMIT, "no room for a list");
	for (size_t i = 0; i < n; i++) {
		struct fault why;

		if (read_name(s, names[i], a, &list[*count], &why) == 0)
			++*count;
		else if (why.code != FAULT_SYSTEM || why.sys != ENOENT)
			log_warn(&why, "image '%s' is not listed", names[i]);
	}
	*out = list;
	return 0;
}

int
image_open_blob(const struct image_store *s, const char *digest, int *fd,
    struct fault *f)
{
	char file[DIGEST_HEX + 8];
	uint8_t raw[DIGEST_SIZE];

	if (!hex_parse(span_str(digest), raw, sizeof(raw)))
		return fault_set(f, FAULT_INVALID, "not a digest");
	(void)snprintf(file, sizeof(file), "%s.sqfs", digest);
	*fd = openat(s->blobs, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (*fd >= 0)
		return 0;
	if (errno == ENOENT)
		return fault_set(f, FAULT_NOT_FOUND, "no image of digest %s",
		    digest);
	return fault_sys(f, "cannot open image %s", digest);
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
	buf_init(&text, IMAGE_INDEX);
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
	if (list_names(s, a, &names, &n, &ignored) < 0 || n >= IMAGE_NAMES)
		return false;
	for (size_t i = 0; i < n; i++) {
		struct image_info info = { 0 };

		if (read_name(s, names[i], a, &info, &ignored) < 0)
			return false;
		digests[*count] = arena_str(a, span_str(info.digest));
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

		return name_of_file(file, name);
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
	if (image_store_lock(s, f) < 0)
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
		return not_found(name, f);
	(void)snprintf(file, sizeof(file), "%s.json", name);
	if (image_store_lock(s, f) < 0)
		return -1;
	if (unlinkat(s->names, file, 0) < 0)
		r = errno == ENOENT
		    ? not_found(name, f)
		    : fault_sys(f, "cannot delete image '%s'", name);
	if (r == 0) {
		(void)fsync(s->names);
		r = sweep_locked(s, in_use, arg, freed, f);
	}
	image_store_unlock(s);
	return r;
}
