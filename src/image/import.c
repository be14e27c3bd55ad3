/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One import, from what the user named to the published blob. It owns the
 * order of the two passes and all that is open meanwhile; what is in a source
 * is other files' business.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/inner.h"

/* Bytes of headers and padding that all layers may have besides. */
#define OVERHEAD (UINT64_C(4) << 30)

struct job {
	const struct image_store *store;
	const struct image_import *ask;
	struct image_tools tools;
	struct image_tree tree;
	struct image_merge *merge;
	struct image_plan plan;  /* of an archive with layers */
	struct image_blob whole; /* the file itself */
	struct image_write write;
	struct image_squash squash;
	struct image_budget budget; /* of one pass over all layers */
	const char *kind;
	bool is_image; /* the archive holds an image, it is not one */
	int fd;        /* the file or folder */
	int unpacked;  /* or -1 */
};

static void
tell_index(const struct job *j)
{
	if (j->ask->progress)
		j->ask->progress(j->ask->arg, "index", j->merge->bytes,
		    j->merge->entries);
}

static void
fresh_tree(struct job *j)
{
	uint8_t key[16];

	image_tree_release(&j->tree);
	random_bytes(key, sizeof(key));
	image_tree_init(&j->tree, key);
	image_merge_init(j->merge, &j->tree, j->ask->bytes_max);
}

static void
fresh_budget(struct job *j)
{
	j->budget =
	    (struct image_budget){ .max = j->ask->bytes_max + OVERHEAD };
}

static void
job_init(struct job *j, const struct image_store *s,
    const struct image_import *ask)
{
	memset(j, 0, sizeof(*j));
	j->store = s;
	j->ask = ask;
	j->fd = -1;
	j->unpacked = -1;
	j->squash.file = -1;
	j->squash.pipe = -1;
	j->merge = must_alloc(sizeof(*j->merge));
	image_plan_init(&j->plan);
	fresh_tree(j);
}

static void
job_release(struct job *j)
{
	image_squash_close(&j->squash);
	image_write_release(&j->write);
	image_plan_release(&j->plan);
	image_tree_release(&j->tree);
	free(j->merge);
	fd_close(&j->fd);
	fd_close(&j->unpacked);
}

/* Pass one over one archive. */
static int
index_blob(struct job *j, const struct image_blob *b, struct fault *f)
{
	struct image_stream s;
	enum image_tar_event event = IMAGE_TAR_MORE;
	int r = image_stream_open(&s, b, &j->tools, true, &j->budget, f);

	while (r == 0 && event != IMAGE_TAR_END) {
		r = image_stream_next(&s, &event, f);
		if (r == 0 && event == IMAGE_TAR_ENTRY) {
			r = image_merge_entry(j->merge, &s.tar.entry, f);
			tell_index(j);
			image_stream_skip(&s);
		}
	}
	image_stream_close(&s);
	return r;
}

/* Pass two over one archive. */
struct reading {
	struct job *job;
	struct image_stream stream;
	uint32_t at; /* next inode that may be written, over all archives */
	uint16_t layer;
	bool taken; /* the entry at hand is being written */
};

/* The next live file of that layer; 0 when there is none. */
static uint32_t
next_file(struct reading *r)
{
	const struct image_tree *t = &r->job->tree;

	for (; r->at < image_tree_inodes(t); ++r->at) {
		const struct image_inode *i = image_tree_inode(t, r->at);

		if (i->kind != IMAGE_FILE || i->node == 0 ||
		    i->layer < r->layer)
			continue;
		return i->layer == r->layer ? r->at : 0;
	}
	return 0;
}

static int
changed(struct fault *f)
{
	return fault_set(f, FAULT_INVALID,
	    "the archive changed while it was imported");
}

/* Is this entry the next file that is wanted? */
static int
take_entry(struct reading *r, struct fault *f)
{
	const struct image_tar_entry *e = &r->stream.tar.entry;
	uint32_t id = next_file(r);
	const struct image_inode *i;

	if (id == 0)
		return 0;
	i = image_tree_inode(&r->job->tree, id);
	if (e->offset < i->offset)
		return 0;
	if (e->offset > i->offset || e->kind != IMAGE_FILE ||
	    e->size != i->size || e->mode != i->mode)
		return changed(f);
	r->taken = true;
	++r->at;
	return image_write_begin(&r->job->write, id, f);
}

/* What one event of the stream means for the squashfs. */
static int
take_event(struct reading *r, enum image_tar_event event, struct fault *f)
{
	struct image_write *w = &r->job->write;

	if (event == IMAGE_TAR_DATA && r->taken)
		return image_write_data(w, r->stream.tar.data, f);
	if (event == IMAGE_TAR_HOLE && r->taken)
		return image_write_hole(w, r->stream.tar.hole, f);
	if (event != IMAGE_TAR_ENTRY && event != IMAGE_TAR_END)
		return 0;
	if (r->taken && image_write_end(w, f) < 0)
		return -1;
	r->taken = false;
	if (event == IMAGE_TAR_END)
		return next_file(r) == 0 ? 0 : changed(f);
	if (take_entry(r, f) < 0)
		return -1;
	if (!r->taken)
		image_stream_skip(&r->stream);
	return 0;
}

static int
read_again(struct reading *r, const struct image_blob *b, struct fault *f)
{
	enum image_tar_event event = IMAGE_TAR_MORE;
	int result = image_stream_open(&r->stream, b, &r->job->tools, false,
	    &r->job->budget, f);

	while (result == 0 && event != IMAGE_TAR_END) {
		result = image_stream_next(&r->stream, &event, f);
		if (result == 0)
			result = take_event(r, event, f);
	}
	image_stream_close(&r->stream);
	return result;
}

/* Content of the archive(s), in the order of their layers. */
static int
write_archives(struct job *j, struct fault *f)
{
	struct reading r = { .job = j, .at = 1, .layer = 1 };

	fresh_budget(j);
	if (!j->is_image)
		return next_file(&r) == 0 ? 0 : read_again(&r, &j->whole, f);
	for (size_t i = 0; i < j->plan.count; i++) {
		r.layer = (uint16_t)(i + 1);
		if (next_file(&r) == 0)
			continue; /* none of its files survives */
		if (read_again(&r, &j->plan.layers[i], f) < 0)
			return fault_prefix(f, "layer %zu", i + 1);
	}
	return 0;
}

static bool
has_file(struct job *j, const char *path)
{
	uint32_t node = image_merge_lookup(j->merge, span_str(path));

	return node != 0 && image_tree_kind(&j->tree, node) == IMAGE_FILE;
}

static bool
has_name(struct job *j, const char *name)
{
	return image_tree_find(&j->tree, IMAGE_ROOT, span_str(name)) != 0;
}

/* An archive that holds an image, rather than a root that has such names. */
static bool
holds_image(struct job *j)
{
	if (has_name(j, "etc") || has_name(j, "usr") || has_name(j, "bin"))
		return false;
	return has_file(j, "manifest.json") ||
	    (has_file(j, "oci-layout") && has_file(j, "index.json"));
}

/* Members of an archive, by the tree that pass one made of it. */
static int
archive_member(void *arg, const char *path, struct image_blob *out, int *owned,
    struct fault *f)
{
	struct job *j = arg;
	uint32_t node = image_merge_lookup(j->merge, span_str(path));
	const struct image_inode *i;

	*owned = -1;
	if (node == 0 || image_tree_kind(&j->tree, node) != IMAGE_FILE)
		return fault_set(f, FAULT_INVALID, "the archive lacks '%.100s'",
		    path);
	i = image_tree_inode(&j->tree, image_tree_node(&j->tree, node)->inode);
	*out = (struct image_blob){ .at = i->offset,
		.size = i->size,
		.fd = j->unpacked >= 0 ? j->unpacked : j->fd };
	return 0;
}

static int
folder_member(void *arg, const char *path, struct image_blob *out, int *owned,
    struct fault *f)
{
	struct job *j = arg;
	struct stat st;

	*owned = image_folder_open(j->fd, path,
	    O_RDONLY | O_NONBLOCK | O_NOCTTY, true);
	if (*owned < 0 && errno == ENOENT)
		return fault_set(f, FAULT_INVALID, "the folder lacks '%.100s'",
		    path);
	if (*owned < 0 || fstat(*owned, &st) < 0)
		return fault_sys(f, "cannot open '%.100s'", path);
	if (!S_ISREG(st.st_mode))
		return fault_set(f, FAULT_INVALID, "'%.100s' is not a file",
		    path);
	*out =
	    (struct image_blob){ .size = (uint64_t)st.st_size, .fd = *owned };
	return 0;
}

/* Layers are read from the middle: a packed archive is unpacked, unnamed. */
static int
unpack_whole(struct job *j, struct fault *f)
{
	struct image_source s;
	uint8_t *chunk;
	size_t got = 0;
	int r;

	fresh_budget(j);
	if (image_source_open(&s, &j->whole, &j->tools, false, &j->budget, f) <
	    0)
		return -1;
	chunk = must_alloc(IMAGE_CHUNK);
	r = 0;
	if (s.packing != IMAGE_PLAIN) {
		j->unpacked = openat(j->store->dir, ".",
		    O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (j->unpacked < 0)
			r = fault_sys(f, "cannot make a file in the store");
		do {
			if (r == 0)
				r = image_source_read(&s, chunk, IMAGE_CHUNK,
				    &got, f);
			if (r == 0)
				r = fd_write_all(j->unpacked, chunk, got, f);
		} while (r == 0 && got > 0);
	}
	free(chunk);
	image_source_close(&s);
	return r;
}

static int
make_plan(struct job *j, image_member find, bool is_docker, struct fault *f)
{
	const char *ref = j->ask->ref;
	int r = is_docker ? image_plan_docker(&j->plan, find, j, ref, f)
			  : image_plan_oci(&j->plan, find, j, ref, f);

	j->is_image = true;
	j->kind = j->plan.kind;
	return r;
}

static int
index_layers(struct job *j, struct fault *f)
{
	fresh_tree(j);
	fresh_budget(j);
	for (size_t i = 0; i < j->plan.count; i++) {
		j->merge->layer = (uint16_t)(i + 1);
		if (index_blob(j, &j->plan.layers[i], f) < 0)
			return fault_prefix(f, "layer %zu", i + 1);
	}
	return 0;
}

static int
index_archive(struct job *j, uint64_t size, struct fault *f)
{
	j->kind = "rootfs";
	j->whole = (struct image_blob){ .fd = j->fd, .size = size };
	j->merge->whiteouts = false;
	fresh_budget(j);
	if (index_blob(j, &j->whole, f) < 0)
		return -1;
	if (!holds_image(j))
		return 0;
	if (unpack_whole(j, f) < 0 ||
	    make_plan(j, archive_member, has_file(j, "manifest.json"), f) < 0)
		return -1;
	return index_layers(j, f);
}

static bool
folder_has(const struct job *j, const char *name)
{
	return faccessat(j->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int
index_folder(struct job *j, struct fault *f)
{
	bool is_root = folder_has(j, "etc") || folder_has(j, "usr") ||
	    folder_has(j, "bin");
	bool is_docker = !is_root && folder_has(j, "manifest.json");
	bool is_oci = !is_root && folder_has(j, "oci-layout") &&
	    folder_has(j, "index.json");

	j->kind = "folder";
	if (!is_docker && !is_oci)
		return image_folder_index(j->fd, j->merge, j->ask, f);
	if (make_plan(j, folder_member, is_docker, f) < 0)
		return -1;
	return index_layers(j, f);
}

static int
pass_one(struct job *j, struct fault *f)
{
	struct stat st;

	j->fd =
	    open(j->ask->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (j->fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return fault_set(f, FAULT_NOT_FOUND, "it does not exist");
	if (j->fd < 0 || fstat(j->fd, &st) < 0)
		return fault_sys(f, "cannot open it");
	if (S_ISDIR(st.st_mode))
		return index_folder(j, f);
	if (!S_ISREG(st.st_mode))
		return fault_field(f, "path", "it is neither file nor folder");
	return index_archive(j, (uint64_t)st.st_size, f);
}

static int
write_content(struct job *j, struct fault *f)
{
	if (strcmp(j->kind, "folder") == 0)
		return image_folder_write(j->fd, &j->write, f);
	return write_archives(j, f);
}

static int
pass_two(struct job *j, struct fault *f)
{
	image_tree_freeze(&j->tree);
	if (image_tree_crowd(&j->tree) > IMAGE_CROWD)
		return fault_set(f, FAULT_LIMIT,
		    "folders hold too many names each");
	if (image_squash_open(&j->squash, j->store->dir, &j->tools, f) < 0)
		return -1;
	image_write_init(&j->write, &j->tree, &j->squash, j->ask);
	if (image_write_names(&j->write, f) < 0 || write_content(j, f) < 0 ||
	    image_write_links(&j->write, f) < 0)
		return -1;
	return image_squash_finish(&j->squash, f);
}

static int
run(struct job *j, struct image_result *out, struct fault *f)
{
	if (!name_valid(span_str(j->ask->name), LIMIT_NAME))
		return fault_field(f, "name",
		    "name must be 1 to %d of a-z, 0-9 and single '-'",
		    LIMIT_NAME);
	if (image_tools_find(&j->tools, f) < 0)
		return -1;
	if (pass_one(j, f) < 0 || pass_two(j, f) < 0) {
		char path[96];

		text_escape(span_str(j->ask->path), path, sizeof(path));
		if (fault_kind(f->code) != FAULT_KIND_SYSTEM && !f->field[0])
			(void)text_copy(f->field, sizeof(f->field),
			    SPAN_LIT("path"));
		return fault_prefix(f, "'%s'", path);
	}
	out->source = j->kind;
	out->layers = j->plan.count;
	out->xattrs_dropped = j->merge->xattrs_dropped;
	return image_publish(j->store, &j->write, j->squash.file,
	    j->is_image ? &j->plan : NULL, out, f);
}

int
image_import(const struct image_store *s, const struct image_import *ask,
    struct image_result *out, struct fault *f)
{
	struct job *j = must_alloc(sizeof(*j));
	int r;

	memset(out, 0, sizeof(*out));
	job_init(j, s, ask);
	r = run(j, out, f);
	job_release(j);
	free(j);
	return r;
}
