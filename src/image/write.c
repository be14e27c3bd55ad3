/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass two. Folders, symlinks and fifos are written from the tree alone;
 * files follow in the order of their layers, whatever that is; hard links
 * come last, when what they name is there. On the way the programs get their
 * digests, and /etc/passwd and /etc/group are kept.
 */
#include <stdlib.h>
#include <string.h>

#include "image/inner.h"

enum {
	KEPT = 64 << 10, /* of passwd and group; more is passed over */
	LINE = 32 << 10, /* the longest of the index */
};

static uint32_t
inode_at(struct image_tree *t, const char *path)
{
	struct image_merge *m = must_alloc(sizeof(*m));
	uint32_t node;
	uint32_t inode = 0;

	image_merge_init(m, t, 0);
	node = image_merge_lookup(m, span_str(path));
	if (node != 0 && image_tree_kind(t, node) == IMAGE_FILE)
		inode = image_tree_node(t, node)->inode;
	free(m);
	return inode;
}

void
image_write_init(struct image_write *w, struct image_tree *t,
    struct image_squash *q, const struct image_import *ask)
{
	memset(w, 0, sizeof(*w));
	w->squash = q;
	w->tree = t;
	w->ask = ask;
	buf_init(&w->digests, (size_t)IMAGE_NODES * DIGEST_SIZE);
	buf_init(&w->passwd, KEPT);
	buf_init(&w->group, KEPT);
	buf_init(&w->line, LINE);
	w->passwd_inode = inode_at(t, "etc/passwd");
	w->group_inode = inode_at(t, "etc/group");
}

void
image_write_release(struct image_write *w)
{
	buf_release(&w->digests);
	buf_release(&w->passwd);
	buf_release(&w->group);
	buf_release(&w->line);
}

static void
tell(const struct image_write *w)
{
	if (w->ask->progress)
		w->ask->progress(w->ask->arg, "write", w->bytes, w->entries);
}

/* What the tree knows of an inode, under one of its names. */
static int
write_entry(struct image_write *w, uint32_t node, enum image_kind kind,
    struct span link, struct fault *f)
{
	static const struct image_inode implicit = { .kind = IMAGE_DIR,
		.mode = 0755 };
	uint32_t id = image_tree_node(w->tree, node)->inode;
	const struct image_inode *i =
	    id ? image_tree_inode(w->tree, id) : &implicit;
	char path[LIMIT_PATH];
	struct image_tar_entry e = { .kind = kind,
		.mode = i->mode,
		.uid = i->uid,
		.gid = i->gid,
		.mtime = i->mtime,
		.link = link };

	e.path = image_tree_path(w->tree, node, path);
	if (node == IMAGE_ROOT)
		e.path = SPAN_LIT("./");
	if (i->xattrs != 0 && kind != IMAGE_LINK)
		e.xattrs = image_tree_text(w->tree, i->xattrs);
	if (kind == IMAGE_FILE)
		e.size = i->size;
	w->entries++;
	tell(w);
	return image_squash_entry(w->squash, &e, f);
}

int
image_write_names(struct image_write *w, struct fault *f)
{
	struct span none = { 0 };

	for (uint32_t node = IMAGE_ROOT; node != 0;
	     node = image_tree_walk(w->tree, node)) {
		enum image_kind kind = image_tree_kind(w->tree, node);
		struct span to = none;

		if (kind == IMAGE_DEVICE || kind == IMAGE_SOCKET)
			w->dropped++;
		if (kind == IMAGE_SYMLINK) {
			uint32_t id = image_tree_node(w->tree, node)->inode;

			to = image_tree_text(w->tree,
			    image_tree_inode(w->tree, id)->text);
		}
		if (image_index_count(w, node, f) < 0)
			return -1;
		if ((kind == IMAGE_DIR || kind == IMAGE_SYMLINK ||
			kind == IMAGE_FIFO) &&
		    write_entry(w, node, kind, to, f) < 0)
			return -1;
	}
	return 0;
}

int
image_write_begin(struct image_write *w, uint32_t inode, struct fault *f)
{
	const struct image_inode *i = image_tree_inode(w->tree, inode);
	struct span none = { 0 };

	w->inode = inode;
	w->left = i->size;
	w->head_len = 0;
	digest_init(&w->digest);
	return write_entry(w, i->node, IMAGE_FILE, none, f);
}

static struct buf *
kept(struct image_write *w)
{
	if (w->inode == w->passwd_inode)
		return &w->passwd;
	return w->inode == w->group_inode ? &w->group : NULL;
}

int
image_write_data(struct image_write *w, struct span s, struct fault *f)
{
	struct buf *keep = kept(w);
	size_t n;

	if (s.len > w->left)
		return fault_set(f, FAULT_INVALID,
		    "a file has grown while it was imported");
	w->left -= s.len;
	w->bytes += s.len;
	if (image_tree_inode(w->tree, w->inode)->mode & 0111)
		digest_update(&w->digest, s);
	for (n = 0; n < s.len && w->head_len < sizeof(w->head); n++)
		w->head[w->head_len++] = s.ptr[n];
	if (keep) {
		n = s.len < buf_left(keep) ? s.len : buf_left(keep);
		if (buf_add(keep, s.ptr, n, f) < 0)
			return -1;
	}
	tell(w);
	return image_squash_data(w->squash, s, f);
}

int
image_write_hole(struct image_write *w, uint64_t n, struct fault *f)
{
	static const uint8_t zeros[64 << 10];

	while (n > 0) {
		size_t some = n < sizeof(zeros) ? (size_t)n : sizeof(zeros);

		if (image_write_data(w, span_of(zeros, some), f) < 0)
			return -1;
		n -= some;
	}
	return 0;
}

/* execve(2) runs ELF files and scripts; others are no programs to us. */
static bool
is_program(const struct image_write *w)
{
	const struct image_inode *i = image_tree_inode(w->tree, w->inode);

	if (!(i->mode & 0111))
		return false;
	return (w->head_len >= 4 && memcmp(w->head, "\177ELF", 4) == 0) ||
	    (w->head_len >= 2 && memcmp(w->head, "#!", 2) == 0);
}

int
image_write_end(struct image_write *w, struct fault *f)
{
	struct image_inode *i = image_tree_inode(w->tree, w->inode);

	if (w->left != 0)
		return fault_set(f, FAULT_INVALID,
		    "a file has shrunk while it was imported");
	if (is_program(w)) {
		uint8_t value[DIGEST_SIZE];

		digest_final(&w->digest, value);
		if (buf_add(&w->digests, value, sizeof(value), f) < 0)
			return -1;
		i->text = (uint32_t)(w->digests.len / DIGEST_SIZE);
		if (image_index_count(w, i->node, f) < 0)
			return -1;
	}
	return image_squash_zeros(w->squash, image_emit_pad(i->size), f);
}

/* Second names of files. */
int
image_write_links(struct image_write *w, struct fault *f)
{
	char to[LIMIT_PATH];

	for (uint32_t node = IMAGE_ROOT; node != 0;
	     node = image_tree_walk(w->tree, node)) {
		uint32_t id = image_tree_node(w->tree, node)->inode;
		uint32_t first = image_tree_inode(w->tree, id)->node;

		if (image_tree_kind(w->tree, node) != IMAGE_FILE ||
		    first == node)
			continue;
		if (image_index_count(w, node, f) < 0 ||
		    write_entry(w, node, IMAGE_LINK,
			image_tree_path(w->tree, first, to), f) < 0)
			return -1;
	}
	return 0;
}
