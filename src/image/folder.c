/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of the host as an image. No link is followed and no other file
 * system entered: a mount point inside is an empty folder of the image. When
 * we are not root, what is ours is taken as root's, for there could be no
 * other owner. Files that change meanwhile are a fault, not a mixture.
 */
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/inner.h"

/* Files of several names, found again by inode number. */
struct seen {
	uint64_t device;
	uint64_t number;
	uint32_t node;
};

struct walk {
	int root;
	dev_t device;
	struct image_merge *merge;
	const struct image_import *ask;
	struct seen *seen;
	size_t seen_count;
	size_t seen_room; /* a power of two */
	struct buf xattrs;
};

int
image_folder_open(int dir, const char *path, int flags, bool links)
{
	return fd_open_under(dir, *path ? path : ".", flags,
	    RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
		(links ? 0U : RESOLVE_NO_SYMLINKS));
}

static size_t
seen_slot(const struct walk *w, uint64_t device, uint64_t number)
{
	uint64_t h = (number ^ device << 48) * UINT64_C(0x9e3779b97f4a7c15);
	size_t at = (size_t)(h >> 20) & (w->seen_room - 1);

	while (w->seen[at].node != 0 &&
	    (w->seen[at].device != device || w->seen[at].number != number))
		at = (at + 1) & (w->seen_room - 1);
	return at;
}

static void
seen_grow(struct walk *w)
{
	struct seen *old = w->seen;
	size_t room = w->seen_room;

	if (w->seen_count * 2 < room)
		return;
	w->seen_room = room ? room * 2 : 256;
	w->seen = must_alloc(w->seen_room * sizeof(*w->seen));
	for (size_t i = 0; i < room; i++)
		if (old[i].node != 0)
			w->seen[seen_slot(w, old[i].device, old[i].number)] =
			    old[i];
	free(old);
}

static void
fill_kind(const struct stat *st, struct image_tar_entry *e)
{
	switch (st->st_mode & S_IFMT) {
	case S_IFREG:
		e->kind = IMAGE_FILE;
		e->size = (uint64_t)st->st_size;
		break;
	case S_IFDIR:
		e->kind = IMAGE_DIR;
		break;
	case S_IFLNK:
		e->kind = IMAGE_SYMLINK;
		break;
	case S_IFIFO:
		e->kind = IMAGE_FIFO;
		break;
	case S_IFSOCK:
		e->kind = IMAGE_SOCKET;
		break;
	default:
		e->kind = IMAGE_DEVICE;
		break;
	}
}

static void
fill_owner(const struct stat *st, struct image_tar_entry *e)
{
	bool root = geteuid() == 0;

	e->uid = root || st->st_uid != geteuid() ? st->st_uid : 0;
	e->gid = root || st->st_gid != getegid() ? st->st_gid : 0;
	e->mode = (uint16_t)(st->st_mode & 07777);
	e->mtime = st->st_mtime < 0     ? 0
	    : st->st_mtime > UINT32_MAX ? UINT32_MAX
					: (uint32_t)st->st_mtime;
}

/* One attribute as a PAX record, if it is one that images keep. */
static int
add_xattr(struct walk *w, const char *file, const char *name, uint32_t *dropped,
    struct fault *f)
{
	uint8_t value[4096];
	ssize_t n;

	if (strcmp(name, "security.capability") != 0 &&
	    strncmp(name, "user.", 5) != 0) {
		++*dropped;
		return 0;
	}
	n = lgetxattr(file, name, value, sizeof(value));
	if (n < 0 && (errno == ERANGE || errno == ENODATA)) {
		++*dropped;
		return 0;
	}
	if (n < 0)
		return fault_sys(f, "cannot read attribute '%s'", name);
	return image_emit_xattr(&w->xattrs, name, span_of(value, (size_t)n), f);
}

static int
fill_xattrs(struct walk *w, int dir, const char *name,
    struct image_tar_entry *e, struct fault *f)
{
	char file[64 + IMAGE_COMPONENT];
	char names[4096];
	ssize_t n;

	buf_clear(&w->xattrs);
	if (e->kind != IMAGE_FILE && e->kind != IMAGE_DIR)
		return 0;
	if (!text_fmt(file, sizeof(file), "/proc/self/fd/%d/%s", dir, name))
		return fault_set(f, FAULT_INVALID, "name is too long");
	n = llistxattr(file, names, sizeof(names));
	if (n < 0 && (errno == ENOTSUP || errno == ERANGE)) {
		e->xattrs_dropped += errno == ERANGE;
		return 0;
	}
	if (n < 0)
		return fault_sys(f, "cannot list attributes");
	for (const char *at = names; at < names + n; at += strlen(at) + 1)
		if (add_xattr(w, file, at, &e->xattrs_dropped, f) < 0)
			return -1;
	e->xattrs = buf_span(&w->xattrs);
	return 0;
}

/* A file of several names: the second one is a hard link to the first. */
static bool
fill_hard_link(struct walk *w, const struct stat *st, struct image_tar_entry *e,
    char *link)
{
	size_t at;

	if (e->kind != IMAGE_FILE || st->st_nlink < 2)
		return false;
	seen_grow(w);
	at = seen_slot(w, st->st_dev, st->st_ino);
	if (w->seen[at].node == 0)
		return true;
	e->kind = IMAGE_LINK;
	e->size = 0;
	e->link = image_tree_path(w->merge->tree, w->seen[at].node, link);
	return false;
}

static void
remember(struct walk *w, const struct stat *st, struct span path)
{
	size_t at = seen_slot(w, st->st_dev, st->st_ino);

	w->seen[at] = (struct seen){ st->st_dev, st->st_ino,
		image_merge_lookup(w->merge, path) };
	w->seen_count++;
}

/* One name in the folder dir, whose path is in `path` up to len. */
static int
add_name(struct walk *w, int dir, char *path, size_t len, const char *name,
    struct fault *f)
{
	struct image_tar_entry e = { 0 };
	char link[LIMIT_PATH];
	struct stat st;
	bool first;

	if (!text_fmt(path + len, LIMIT_PATH - len, "%s%s", len > 0 ? "/" : "",
		name))
		return fault_set(f, FAULT_INVALID, "path is too long");
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fault_sys(f, "cannot look at it");
	e.path = span_str(path);
	fill_owner(&st, &e);
	fill_kind(&st, &e);
	if (fill_xattrs(w, dir, name, &e, f) < 0)
		return -1;
	if (e.kind == IMAGE_SYMLINK) {
		ssize_t n = readlinkat(dir, name, link, sizeof(link));

		if (n < 0)
			return fault_sys(f, "cannot read the link");
		e.link = span_of(link, (size_t)n);
	}
	first = fill_hard_link(w, &st, &e, link);
	if (image_merge_entry(w->merge, &e, f) < 0)
		return -1;
	if (first)
		remember(w, &st, e.path);
	if (w->ask->progress)
		w->ask->progress(w->ask->arg, "index", w->merge->bytes,
		    w->merge->entries);
	return 0;
}

static int
list_folder(struct walk *w, DIR *d, char *path, size_t len, struct fault *f)
{
	for (;;) {
		const struct dirent *e;

		errno = 0;
		e = readdir(d); /* NOLINT(concurrency-mt-unsafe): one thread */
		if (!e && errno != 0)
			return fault_sys(f, "cannot list folder '%s'", path);
		if (!e)
			return 0;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (add_name(w, dirfd(d), path, len, e->d_name, f) < 0)
			return f->code == FAULT_SYSTEM
			    ? fault_prefix(f, "'%s'", path)
			    : -1;
		path[len] = '\0';
	}
}

static int
list_node(struct walk *w, uint32_t node, struct fault *f)
{
	char path[LIMIT_PATH];
	size_t len = image_tree_path(w->merge->tree, node, path).len;
	struct stat st;
	DIR *d;
	int fd =
	    image_folder_open(w->root, path, O_RDONLY | O_DIRECTORY, false);
	int r;

	if (fd < 0)
		return fault_sys(f, "cannot open folder '/%s'", path);
	if (fstat(fd, &st) < 0 || st.st_dev != w->device) {
		(void)close(fd);
		return 0;
	}
	d = fdopendir(fd);
	BUG_IF(!d);
	r = list_folder(w, d, path, len, f);
	(void)closedir(d);
	return r;
}

static int
add_root(struct walk *w, struct fault *f)
{
	struct image_tar_entry e = { .kind = IMAGE_DIR, .path = SPAN_LIT("/") };
	struct stat st;

	if (fstat(w->root, &st) < 0)
		return fault_sys(f, "cannot look at the folder");
	w->device = st.st_dev;
	fill_owner(&st, &e);
	return image_merge_entry(w->merge, &e, f);
}

int
image_folder_index(int dir, struct image_merge *m,
    const struct image_import *ask, struct fault *f)
{
	struct walk w = { .root = dir, .merge = m, .ask = ask };
	int r = add_root(&w, f);

	m->whiteouts = false;
	buf_init(&w.xattrs, IMAGE_XATTRS);
	for (uint32_t node = IMAGE_ROOT; r == 0 && node != 0;
	     node = image_tree_walk(m->tree, node))
		if (image_tree_kind(m->tree, node) == IMAGE_DIR)
			r = list_node(&w, node, f);
	buf_release(&w.xattrs);
	free(w.seen);
	return r;
}

static int
copy_file(int fd, struct image_write *w, uint8_t *chunk, struct fault *f)
{
	while (w->left > 0) {
		ssize_t n = read(fd, chunk, IMAGE_CHUNK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fault_sys(f, "cannot read");
		if (n == 0)
			break;
		if (image_write_data(w, span_of(chunk, (size_t)n), f) < 0)
			return -1;
	}
	return image_write_end(w, f);
}

static int
write_file(int dir, struct image_write *w, uint32_t inode, uint8_t *chunk,
    struct fault *f)
{
	const struct image_inode *i = image_tree_inode(w->tree, inode);
	char path[LIMIT_PATH];
	struct stat st;
	with_fd fd = -1;

	(void)image_tree_path(w->tree, i->node, path);
	fd = image_folder_open(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY,
	    false);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fault_sys(f, "cannot open '/%s'", path);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != i->size)
		return fault_set(f, FAULT_INVALID,
		    "'/%s' changed while it was imported", path);
	if (image_write_begin(w, inode, f) < 0)
		return -1;
	if (copy_file(fd, w, chunk, f) < 0)
		return fault_prefix(f, "'/%s'", path);
	return 0;
}

/* By name, not by inode: a folder lists in no order that means anything. */
int
image_folder_write(int dir, struct image_write *w, struct fault *f)
{
	uint8_t *chunk = must_alloc(IMAGE_CHUNK);
	uint32_t node = IMAGE_ROOT;
	int r = 0;

	for (; r == 0 && node != 0; node = image_tree_walk(w->tree, node)) {
		uint32_t id = image_tree_node(w->tree, node)->inode;
		const struct image_inode *i = image_tree_inode(w->tree, id);

		if (i->kind == IMAGE_FILE && i->node == node)
			r = write_file(dir, w, id, chunk, f);
	}
	free(chunk);
	return r;
}
