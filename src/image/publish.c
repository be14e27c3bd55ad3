/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last step of an import: the unnamed squashfs gets its digest for a name,
 * then its facts and its index, then the image's name. Whatever fails before
 * the name is there takes the blob back, unless it was there already.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/inner.h"

static int
hash_file(int fd, const struct image_write *w, char hex[DIGEST_HEX],
    uint64_t *size, struct fault *f)
{
	uint8_t *chunk = must_alloc(IMAGE_CHUNK);
	uint8_t value[DIGEST_SIZE];
	struct digest d;
	ssize_t n;

	*size = 0;
	digest_init(&d);
	do {
		n = pread(fd, chunk, IMAGE_CHUNK, (off_t)*size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n > 0) {
			digest_update(&d, span_of(chunk, (size_t)n));
			*size += (uint64_t)n;
		}
		if (w->ask->progress)
			w->ask->progress(w->ask->arg, "digest", *size,
			    w->entries);
	} while (n > 0 || (n < 0 && errno == EINTR));
	free(chunk);
	if (n < 0)
		return fault_sys(f, "cannot read the squashfs");
	digest_final(&d, value);
	hex_format(value, sizeof(value), hex);
	return 0;
}

/* Give an unnamed file its name; one that is there already is as good. */
static int
link_file(int fd, int dir, const char *name, bool *known, struct fault *f)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*known = false;
	if (linkat(AT_FDCWD, path, dir, name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	if (errno != EEXIST)
		return fault_sys(f, "cannot keep '%s'", name);
	*known = true;
	return 0;
}

/* Before the store is locked: whoever waits for it waits for little. */
static int
make_index(const struct image_store *s, const struct image_write *w, int *fd,
    struct fault *f)
{
	*fd = openat(s->blobs, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0400);
	if (*fd < 0)
		return fault_sys(f, "cannot make a file in the store");
	if (image_index_write(*fd, w, f) < 0)
		return -1;
	return fsync(*fd) < 0 ? fault_sys(f, "cannot keep the index") : 0;
}

static void
out_uint(struct json_out *o, const char *key, uint64_t n)
{
	json_out_key(o, key);
	json_out_uint(o, n);
}

static void
out_text(struct json_out *o, const char *key, const char *s)
{
	json_out_key(o, key);
	json_out_text(o, s);
}

static void
out_accounts(struct json_out *o, const char *key,
    const struct image_account *list, size_t n, bool users)
{
	json_out_key(o, key);
	json_out_array(o);
	for (size_t i = 0; i < n; i++) {
		json_out_object(o);
		out_text(o, "name", list[i].name);
		if (users) {
			out_uint(o, "uid", list[i].uid);
			out_text(o, "home", list[i].home);
		}
		out_uint(o, "gid", list[i].gid);
		json_out_end(o);
	}
	json_out_end(o);
}

static int
facts_text(struct buf *b, const struct image_write *w,
    const struct image_result *r, struct arena *a, struct fault *f)
{
	const struct image_account *users;
	const struct image_account *groups;
	size_t user_count;
	size_t group_count;
	struct json_out o;

	if (image_users_parse(buf_span(&w->passwd), a, &users, &user_count, f) <
		0 ||
	    image_groups_parse(buf_span(&w->group), a, &groups, &group_count,
		f) < 0)
		return -1;
	json_out_init(&o, b);
	json_out_object(&o);
	out_uint(&o, "format", 1);
	out_text(&o, "digest", r->digest);
	out_uint(&o, "size_bytes", r->size_bytes);
	out_uint(&o, "content_bytes", r->content_bytes);
	out_uint(&o, "entries", r->entries);
	out_accounts(&o, "users", users, user_count, true);
	out_accounts(&o, "groups", groups, group_count, false);
	json_out_end(&o);
	return json_out_done(&o, f);
}

static int
put_facts(const struct image_store *s, const struct image_write *w,
    const struct image_result *r, struct fault *f)
{
	char name[DIGEST_HEX + 8];
	struct arena a;
	struct buf b;
	int result;

	arena_init(&a, IMAGE_META);
	buf_init(&b, IMAGE_META);
	(void)snprintf(name, sizeof(name), "%s.json", r->digest);
	result = facts_text(&b, w, r, &a, f);
	if (result == 0)
		result =
		    file_write_atomic(s->blobs, name, buf_span(&b), 0400, f);
	buf_release(&b);
	arena_release(&a);
	return result;
}

static int
put_name(const struct image_store *s, const struct image_write *w,
    const struct image_config *c, const struct image_result *r, struct fault *f)
{
	char name[LIMIT_NAME + 8];
	struct json_out o;
	struct buf b;
	int result;

	buf_init(&b, IMAGE_META);
	json_out_init(&o, &b);
	json_out_object(&o);
	out_uint(&o, "format", 1);
	out_text(&o, "name", w->ask->name);
	out_text(&o, "digest", r->digest);
	out_text(&o, "source", r->source);
	out_text(&o, "source_digest", r->source_digest);
	out_uint(&o, "imported_ms", (uint64_t)clock_wall_ms());
	image_config_write(&o, c);
	json_out_end(&o);
	(void)snprintf(name, sizeof(name), "%s.json", w->ask->name);
	result = json_out_done(&o, f);
	if (result == 0)
		result =
		    file_write_atomic(s->names, name, buf_span(&b), 0600, f);
	buf_release(&b);
	return result;
}

struct files {
	int sqfs;
	int index;
};

static int
put_rest(const struct image_store *s, const struct image_write *w, int index,
    const struct image_config *c, const struct image_result *r, struct fault *f)
{
	char name[DIGEST_HEX + 8];
	bool known;

	(void)snprintf(name, sizeof(name), "%s.idx", r->digest);
	if (link_file(index, s->blobs, name, &known, f) < 0 ||
	    put_facts(s, w, r, f) < 0)
		return -1;
	if (fsync(s->blobs) < 0)
		return fault_sys(f, "cannot keep the image");
	return put_name(s, w, c, r, f);
}

/* Another import of the name may have been quicker. */
static int
check_name(const struct image_store *s, const struct image_import *ask,
    struct fault *f)
{
	char name[LIMIT_NAME + 8];

	(void)snprintf(name, sizeof(name), "%s.json", ask->name);
	if (!ask->is_new ||
	    faccessat(s->names, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return fault_set(f, FAULT_EXISTS, "image '%s' already exists",
	    ask->name);
}

static int
publish_locked(const struct image_store *s, const struct image_write *w,
    const struct files *files, const struct image_config *c,
    struct image_result *out, struct fault *f)
{
	char name[DIGEST_HEX + 8];

	(void)snprintf(name, sizeof(name), "%s.sqfs", out->digest);
	if (check_name(s, w->ask, f) < 0 ||
	    link_file(files->sqfs, s->blobs, name, &out->known, f) < 0)
		return -1;
	if (put_rest(s, w, files->index, c, out, f) == 0)
		return 0;
	if (!out->known)
		image_blob_remove(s, out->digest);
	return -1;
}

int
image_publish(const struct image_store *s, const struct image_write *w,
    int sqfs, const struct image_plan *plan, struct image_result *out,
    struct fault *f)
{
	static const struct image_config none = { .user = "",
		.workdir = "",
		.created = "" };
	with_fd index = -1;
	int r;

	out->content_bytes = w->bytes;
	out->entries = w->entries;
	out->devices_dropped = w->dropped;
	if (plan) {
		char hex[DIGEST_HEX];

		hex_format(plan->config_digest, DIGEST_SIZE, hex);
		(void)snprintf(out->source_digest, sizeof(out->source_digest),
		    "sha256:%s", hex);
	}
	if (hash_file(sqfs, w, out->digest, &out->size_bytes, f) < 0 ||
	    make_index(s, w, &index, f) < 0 || image_store_lock(s, f) < 0)
		return -1;
	r = publish_locked(s, w, &(struct files){ sqfs, index },
	    plan ? &plan->config : &none, out, f);
	image_store_unlock(s);
	return r;
}
