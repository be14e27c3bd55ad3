/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How layers become one tree of names; the rules are those of `umoci unpack`.
 * Names are data here: parents that are symlinks are followed inside the tree
 * (a target is taken from the tree's root, `..` stops there), never on a disk.
 * Pure; image/inner.h has the contracts.
 *
 *  - an entry replaces what is at its path, but a folder onto a folder only
 *    changes its attributes; missing parents appear as root's, mode 0755
 *  - `.wh.x` removes x, `.wh..wh..opq` all of its folder, but neither removes
 *    what the same layer put there
 *  - a hard link names what its target is at that moment
 */
#include <string.h>

#include "image/inner.h"

#define WHITEOUT ".wh."
#define OPAQUE   ".wh..wh..opq"

void
image_merge_init(struct image_merge *m, struct image_tree *t,
    uint64_t bytes_max)
{
	memset(m, 0, sizeof(*m));
	m->tree = t;
	m->layer = 1;
	m->whiteouts = true;
	m->bytes_max = bytes_max;
}

/* Cut the next component off *rest; false when none is left. */
static bool
next_part(struct span *rest, struct span *part)
{
	while (rest->len > 0 && rest->ptr[0] == '/')
		*rest = span_from(*rest, 1);
	*part = *rest;
	part->len = span_find(*rest, '/');
	*rest = span_from(*rest, part->len);
	return part->len > 0;
}

/* Parent and last component of a stranger's path; "." and "//" vanish. */
static int
split(struct span path, struct span *dir, struct span *last, struct fault *f)
{
	struct span rest = path;
	struct span part;

	*last = span_of(NULL, 0);
	if (path.len > IMAGE_PATH)
		return fault_set(f, FAULT_INVALID,
		    "path is longer than %d bytes", IMAGE_PATH);
	while (next_part(&rest, &part)) {
		if (span_is(part, "."))
			continue;
		if (span_is(part, ".."))
			return fault_set(f, FAULT_INVALID,
			    "path has a '..' component");
		if (part.len > IMAGE_COMPONENT)
			return fault_set(f, FAULT_INVALID,
			    "name is longer than %d bytes", IMAGE_COMPONENT);
		*last = part;
	}
	*dir = span_of(path.ptr,
	    last->len > 0 ? (size_t)(last->ptr - path.ptr) : 0);
	return 0;
}

static uint32_t
here(const struct image_merge *m)
{
	return m->depth > 0 ? m->known[m->depth - 1] : IMAGE_ROOT;
}

static void
step_up(struct image_merge *m)
{
	if (m->depth == 0)
		return;
	m->depth--;
	do
		m->out_len -= m->out_len > 0;
	while (m->out_len > 0 && m->out[m->out_len] != '/');
}

static int
step_down(struct image_merge *m, struct span name, uint32_t node,
    struct fault *f)
{
	if (m->depth >= IMAGE_DEPTH || name.len > IMAGE_COMPONENT ||
	    m->out_len + name.len + 1 > IMAGE_PATH)
		return fault_set(f, FAULT_INVALID,
		    "path is too long once its links are followed");
	if (m->depth > 0)
		m->out[m->out_len++] = '/';
	memcpy(m->out + m->out_len, name.ptr, name.len);
	m->out_len += name.len;
	m->known[m->depth++] = node;
	return 0;
}

/* Put text, to be walked next, before what is still to do. */
static int
push_rest(struct image_merge *m, struct span text, struct fault *f)
{
	if (text.len + 1 > m->rest_at)
		return fault_set(f, FAULT_INVALID,
		    "path is too long once its links are followed");
	m->rest[--m->rest_at] = '/';
	m->rest_at -= text.len;
	if (text.len > 0)
		memcpy(m->rest + m->rest_at, text.ptr, text.len);
	return 0;
}

static int
follow(struct image_merge *m, uint32_t node, struct fault *f)
{
	const struct image_tree *t = m->tree;
	uint32_t inode = image_tree_node(t, node)->inode;
	struct span to = image_tree_text(t, image_tree_inode(t, inode)->text);

	if (to.ptr[0] == '/') {
		m->depth = 0;
		m->out_len = 0;
	}
	return push_rest(m, to, f);
}

/* Cut the next component off what is still to do. */
static bool
next_step(struct image_merge *m, struct span *part)
{
	struct span rest =
	    span_of(m->rest + m->rest_at, sizeof(m->rest) - m->rest_at);
	size_t before = rest.len;
	bool is_there = next_part(&rest, part);

	m->rest_at = sizeof(m->rest) - rest.len;
	m->steps += 1 + (before - rest.len) / IMAGE_STEP;
	return is_there;
}

/*
 * Walk a path from the root, links followed: m->out and m->known say where it
 * ends. What does not exist is taken as it is written.
 */
static int
resolve(struct image_merge *m, struct span path, struct fault *f)
{
	unsigned links = 0;
	struct span part;

	m->depth = 0;
	m->out_len = 0;
	m->rest_at = sizeof(m->rest);
	if (push_rest(m, path, f) < 0)
		return -1;
	while (next_step(m, &part)) {
		uint32_t up = here(m);
		uint32_t node = 0;

		if (m->steps > IMAGE_STEPS)
			return fault_set(f, FAULT_LIMIT,
			    "all paths together go through too many folders "
			    "and links");
		if (span_is(part, "."))
			continue;
		if (span_is(part, "..")) {
			step_up(m);
			continue;
		}
		if (up != 0)
			node = image_tree_find(m->tree, up, part);
		if (node == 0 ||
		    image_tree_kind(m->tree, node) != IMAGE_SYMLINK) {
			if (step_down(m, part, node, f) < 0)
				return -1;
			continue;
		}
		if (++links > IMAGE_LINKS)
			return fault_set(f, FAULT_INVALID,
			    "path goes through more than %d links",
			    IMAGE_LINKS);
		if (follow(m, node, f) < 0)
			return -1;
	}
	return 0;
}

/* The folder resolve() ended at, made with its parents where missing. */
static int
make_folder(struct image_merge *m, uint32_t *node, struct fault *f)
{
	struct span rest = span_of(m->out, m->out_len);
	struct span part;

	*node = IMAGE_ROOT;
	for (size_t i = 0; i < m->depth; i++) {
		uint32_t up = *node;

		*node = m->known[i];
		BUG_IF(!next_part(&rest, &part));
		if (*node == 0 &&
		    image_tree_add(m->tree, up, part, node, f) < 0)
			return -1;
		if (image_tree_kind(m->tree, *node) != IMAGE_DIR)
			return fault_set(f, FAULT_INVALID,
			    "a parent of the path is not a folder");
	}
	return 0;
}

static void
touch(struct image_merge *m, uint32_t node)
{
	struct image_node *n;

	do {
		n = image_tree_node(m->tree, node);
		n->touched = m->layer;
		node = n->parent;
	} while (node != 0);
}

/*
 * Remove what is below a folder and not of this layer. Each folder is swept
 * once a layer: after that, all it holds is of this layer.
 */
static void
sweep(struct image_merge *m, uint32_t top)
{
	struct image_tree *t = m->tree;
	uint32_t node = top;

	for (;;) {
		struct image_node *n = image_tree_node(t, node);
		uint32_t next = 0;

		if (n->touched != m->layer && node != top) {
			image_tree_drop(t, node);
		} else if (n->touched != m->layer) {
			image_tree_empty(t, node);
		} else if (n->swept != m->layer) {
			n->swept = m->layer;
			next = image_tree_child(t, node);
		}
		while (next == 0 && node != top) {
			next = image_tree_sibling(t, node);
			node = image_tree_node(t, node)->parent;
		}
		if (next == 0)
			return;
		node = next;
	}
}

/* dir 0 does not exist: there is nothing to remove. */
static int
whiteout(struct image_merge *m, uint32_t dir, struct span name, struct fault *f)
{
	uint32_t node;

	if (span_is(name, OPAQUE)) {
		if (dir != 0)
			sweep(m, dir);
		return 0;
	}
	name = span_from(name, sizeof(WHITEOUT) - 1);
	if (name.len == 0 || span_is(name, ".") || span_is(name, ".."))
		return fault_set(f, FAULT_INVALID, "whiteout without a name");
	node = dir == 0 ? 0 : image_tree_find(m->tree, dir, name);
	if (node == 0)
		return 0;
	if (image_tree_node(m->tree, node)->touched == m->layer)
		sweep(m, node);
	else
		image_tree_drop(m->tree, node);
	return 0;
}

static int
link_target(struct image_merge *m, struct span link, uint32_t *inode,
    struct fault *f)
{
	struct span dir = { 0 };
	struct span last = { 0 };
	uint32_t node = 0;

	if (split(link, &dir, &last, f) < 0 || resolve(m, dir, f) < 0)
		return fault_prefix(f, "hard link");
	if (last.len > 0 && here(m) != 0)
		node = image_tree_find(m->tree, here(m), last);
	if (node == 0)
		return fault_set(f, FAULT_INVALID,
		    "hard link to a name that does not exist");
	*inode = image_tree_node(m->tree, node)->inode;
	if (image_tree_kind(m->tree, node) == IMAGE_DIR)
		return fault_set(f, FAULT_INVALID, "hard link to a folder");
	return 0;
}

static int
fill_inode(struct image_merge *m, const struct image_tar_entry *e,
    struct image_inode *i, struct fault *f)
{
	i->kind = (uint8_t)e->kind;
	i->mode = e->mode;
	i->uid = e->uid;
	i->gid = e->gid;
	i->mtime = e->mtime;
	i->size = e->size;
	i->offset = e->offset;
	i->layer = m->layer;
	i->xattrs = 0;
	if (e->kind == IMAGE_SYMLINK) {
		if (e->link.len == 0 || e->link.len > IMAGE_PATH)
			return fault_set(f, FAULT_INVALID,
			    "link target is empty or longer than %d bytes",
			    IMAGE_PATH);
		i->mode = 0777;
		if (image_tree_add_text(m->tree, e->link, &i->text, f) < 0)
			return -1;
	}
	if (e->xattrs.len > 0 &&
	    image_tree_add_text(m->tree, e->xattrs, &i->xattrs, f) < 0)
		return -1;
	return 0;
}

static int
set_folder(struct image_merge *m, uint32_t node,
    const struct image_tar_entry *e, struct fault *f)
{
	struct image_inode i = { 0 };
	uint32_t id = image_tree_node(m->tree, node)->inode;

	if (fill_inode(m, e, &i, f) < 0)
		return -1;
	if (id != 0)
		*image_tree_inode(m->tree, id) = i;
	else if (image_tree_add_inode(m->tree, &i, &id, f) < 0)
		return -1;
	image_tree_node(m->tree, node)->inode = id;
	touch(m, node);
	return 0;
}

/* The entry at `name` in folder dir, over whatever is there. */
static int
place(struct image_merge *m, uint32_t dir, struct span name,
    const struct image_tar_entry *e, struct fault *f)
{
	struct image_inode i = { 0 };
	uint32_t node = image_tree_find(m->tree, dir, name);
	uint32_t inode = 0;

	if (e->kind == IMAGE_DIR) {
		if (node != 0 && image_tree_kind(m->tree, node) == IMAGE_DIR)
			return set_folder(m, node, e, f);
	}
	if (node != 0)
		image_tree_drop(m->tree, node);
	if (e->kind == IMAGE_LINK) {
		if (link_target(m, e->link, &inode, f) < 0)
			return -1;
	} else if (fill_inode(m, e, &i, f) < 0 ||
	    image_tree_add_inode(m->tree, &i, &inode, f) < 0) {
		return -1;
	}
	if (image_tree_add(m->tree, dir, name, &node, f) < 0)
		return -1;
	image_tree_node(m->tree, node)->inode = inode;
	touch(m, node);
	return 0;
}

static int
count(struct image_merge *m, const struct image_tar_entry *e, struct fault *f)
{
	if (++m->entries > IMAGE_ENTRIES)
		return fault_set(f, FAULT_LIMIT, "more than %d entries",
		    IMAGE_ENTRIES);
	if (e->size > m->bytes_max || m->bytes > m->bytes_max - e->size)
		return fault_set(f, FAULT_LIMIT,
		    "content is over the limit of %llu bytes",
		    (unsigned long long)m->bytes_max);
	if (e->holes > IMAGE_HOLES_MAX - m->holes)
		return fault_set(f, FAULT_LIMIT,
		    "sparse files have holes of more than %llu bytes",
		    (unsigned long long)IMAGE_HOLES_MAX);
	m->bytes += e->size;
	m->holes += e->holes;
	m->xattrs_dropped += e->xattrs_dropped;
	return 0;
}

static int
apply(struct image_merge *m, const struct image_tar_entry *e, struct fault *f)
{
	struct span dir = { 0 };
	struct span last = { 0 };
	uint32_t node;

	if (split(e->path, &dir, &last, f) < 0 || count(m, e, f) < 0)
		return -1;
	if (last.len == 0 && e->kind != IMAGE_DIR)
		return fault_set(f, FAULT_INVALID, "the root must be a folder");
	if (last.len == 0)
		return set_folder(m, IMAGE_ROOT, e, f);
	if (resolve(m, dir, f) < 0)
		return -1;
	if (m->out_len + 1 + last.len > IMAGE_PATH)
		return fault_set(f, FAULT_INVALID,
		    "path is too long once its links are followed");
	if (m->whiteouts && span_starts(last, WHITEOUT))
		return whiteout(m, here(m), last, f);
	if (make_folder(m, &node, f) < 0)
		return -1;
	return place(m, node, last, e, f);
}

int
image_merge_entry(struct image_merge *m, const struct image_tar_entry *e,
    struct fault *f)
{
	char name[96];

	if (apply(m, e, f) == 0)
		return 0;
	text_escape(e->path, name, sizeof(name));
	return fault_prefix(f, "entry '%s'", name);
}

uint32_t
image_merge_lookup(struct image_merge *m, struct span path)
{
	struct fault ignored;

	if (resolve(m, path, &ignored) < 0)
		return 0;
	return here(m);
}
