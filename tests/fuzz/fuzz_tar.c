/* rooms: image */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stranger's layers, from bytes to the tree of names and out again. The
 * first byte is the length of the pieces that the reader gets; archives follow
 * one another as layers; a block with '#' where its checksum would begin gets
 * the right one, so that the fuzzer gets past it. What survives must walk, stay within its caps, and be
 * read back as the same names.
 */
#include <stdlib.h>
#include <string.h>

#include "image/inner.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void
sum(uint8_t *block)
{
	unsigned total = 0;

	memset(block + 148, ' ', 8);
	for (size_t i = 0; i < IMAGE_TAR_BLOCK; i++)
		total += block[i];
	for (size_t i = 6; i-- > 0; total >>= 3)
		block[148 + i] = (uint8_t)('0' + (total & 7));
}

/* The next archive of the input into the merge; false when it went wrong. */
static bool
read_layer(struct image_merge *m, struct span *rest, size_t piece)
{
	enum image_tar_event event = IMAGE_TAR_MORE;
	struct image_tar t;
	struct fault f;
	bool ok = true;

	image_tar_init(&t);
	while (ok && event != IMAGE_TAR_END) {
		struct span some = *rest;
		size_t used;

		some.len = some.len < piece ? some.len : piece;
		ok = image_tar_next(&t, some, &used, &event, &f) == 0;
		if (!ok)
			break;
		*rest = span_from(*rest, used);
		if (event == IMAGE_TAR_MORE && rest->len == 0)
			ok = image_tar_finish(&t, &f) == 0;
		if (event == IMAGE_TAR_ENTRY) {
			ok = image_merge_entry(m, &t.entry, &f) == 0;
			image_tar_skip(&t,
			    image_tar_skippable(&t) < rest->len
				? image_tar_skippable(&t)
				: 0);
		}
	}
	image_tar_release(&t);
	return ok;
}

static struct image_tar_entry
entry_of(const struct image_tree *t, uint32_t node, char *path)
{
	uint32_t id = image_tree_node(t, node)->inode;
	const struct image_inode *i = image_tree_inode(t, id);
	struct image_tar_entry e = { .kind = image_tree_kind(t, node),
		.mode = i->mode,
		.uid = i->uid,
		.gid = i->gid,
		.mtime = i->mtime };

	e.path = image_tree_path(t, node, path);
	if (i->xattrs != 0)
		e.xattrs = image_tree_text(t, i->xattrs);
	if (e.kind == IMAGE_SYMLINK)
		e.link = image_tree_text(t, i->text);
	return e;
}

static void
check_same(const struct image_tar_entry *a, const struct image_tar_entry *b)
{
	BUG_IF(a->kind != b->kind || a->mode != b->mode || a->uid != b->uid ||
	    a->gid != b->gid || a->mtime != b->mtime);
	BUG_IF(!span_equal(a->path, b->path) || !span_equal(a->link, b->link));
	BUG_IF(!span_equal(a->xattrs, b->xattrs));
}

/* Write one surviving name, and read it. */
static void
round_trip(const struct image_tree *t, uint32_t node)
{
	enum image_tar_event event;
	struct image_tar again;
	struct image_tar_entry e;
	struct buf b;
	struct fault f;
	char path[LIMIT_PATH];
	size_t used;

	e = entry_of(t, node, path);
	BUG_IF(e.path.len > IMAGE_PATH);
	if (e.kind == IMAGE_DEVICE)
		return;
	buf_init(&b, 4 << 20);
	BUG_IF(image_emit_entry(&b, &e, &f) < 0);
	image_tar_init(&again);
	BUG_IF(image_tar_next(&again, buf_span(&b), &used, &event, &f) < 0);
	BUG_IF(event != IMAGE_TAR_ENTRY || used != b.len);
	check_same(&e, &again.entry);
	image_tar_release(&again);
	buf_release(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const uint8_t key[16] = { 1 };
	struct image_merge *m;
	struct image_tree t;
	struct span rest;
	uint8_t *copy;
	size_t names = 0;

	if (n == 0)
		return 0;
	copy = must_alloc(n);
	memcpy(copy, p + 1, n - 1);
	for (size_t at = 0; at + IMAGE_TAR_BLOCK < n; at += IMAGE_TAR_BLOCK)
		if (copy[at + 148] == '#')
			sum(copy + at);
	rest = span_of(copy, n - 1);
	m = must_alloc(sizeof(*m));
	image_tree_init(&t, key);
	image_merge_init(m, &t, IMAGE_BYTES_MAX);
	while (rest.len > 0 && m->layer < 8) {
		bool ok = read_layer(m, &rest, (size_t)p[0] + 1);

		if (!ok)
			break;
		m->layer++;
	}
	image_tree_freeze(&t);
	for (uint32_t id = image_tree_walk(&t, IMAGE_ROOT); id != 0;
	     id = image_tree_walk(&t, id))
		if (names++ < 64)
			round_trip(&t, id);
	image_tree_release(&t);
	free(m);
	free(copy);
	return 0;
}
