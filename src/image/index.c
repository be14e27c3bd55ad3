/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of an image: where its symlinks lead and what its programs hash
 * to, one line each, sorted by path (PROTOCOL.md). Written in one walk of the
 * frozen tree, read whole into an arena.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/inner.h"

enum {
	OUT_MAX = 128 << 10, /* more than one line and OUT_FULL */
	OUT_FULL = 64 << 10,
	/* What a line takes of the total beside its bytes: who reads it has as
	 * much to do for it, however short it is. */
	LINE = 32,
};

#define HEADER "nacre-index 1 "

/* Blanks, control bytes, DEL and '%' become %XX. */
static int
add_escaped(struct buf *b, struct span s, struct fault *f)
{
	static const char hex[] = "0123456789ABCDEF";

	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.ptr[i];
		char out[3] = { '%', hex[c >> 4], hex[c & 15] };
		bool plain = c > ' ' && c != 0x7f && c != '%';

		if (buf_add(b, plain ? (const void *)&c : out, plain ? 1 : 3,
			f) < 0)
			return -1;
	}
	return 0;
}

static int
add_symlink(struct buf *b, struct span path, struct span target,
    struct fault *f)
{
	if (buf_add(b, "l /", 3, f) < 0 || add_escaped(b, path, f) < 0 ||
	    buf_add(b, " ", 1, f) < 0 || add_escaped(b, target, f) < 0)
		return -1;
	return buf_add(b, "\n", 1, f);
}

static int
add_program(struct buf *b, struct span path, const uint8_t *digest,
    struct fault *f)
{
	char hex[DIGEST_HEX];

	hex_format(digest, DIGEST_SIZE, hex);
	if (buf_add(b, "x /", 3, f) < 0 || add_escaped(b, path, f) < 0 ||
	    buf_add(b, " ", 1, f) < 0 || buf_add(b, hex, strlen(hex), f) < 0)
		return -1;
	return buf_add(b, "\n", 1, f);
}

static int
add_node(struct buf *b, const struct image_write *w, uint32_t node,
    struct fault *f)
{
	const struct image_inode *i =
	    image_tree_inode(w->tree, image_tree_node(w->tree, node)->inode);
	char path[LIMIT_PATH];

	if (i->kind == IMAGE_SYMLINK)
		return add_symlink(b, image_tree_path(w->tree, node, path),
		    image_tree_text(w->tree, i->text), f);
	if (i->kind != IMAGE_FILE || i->text == 0)
		return 0;
	return add_program(b, image_tree_path(w->tree, node, path),
	    buf_span(&w->digests).ptr + (size_t)(i->text - 1) * DIGEST_SIZE, f);
}

int
image_index_count(struct image_write *w, uint32_t node, struct fault *f)
{
	size_t size;

	buf_clear(&w->line);
	if (add_node(&w->line, w, node, f) < 0)
		return -1;
	size = w->line.len;
	if (size == 0)
		return 0;
	if (buf_ptr(&w->line)[0] == 'l')
		w->symlinks++;
	else
		w->programs++;
	w->index_bytes += size + LINE;
	if (w->index_bytes <= IMAGE_INDEX)
		return 0;
	return fault_set(f, FAULT_LIMIT,
	    "the image has too many links and programs: their index is over "
	    "%d bytes",
	    IMAGE_INDEX);
}

static int
write_all(int fd, struct buf *b, const struct image_write *w, struct fault *f)
{
	if (buf_fmt(b, HEADER "%llu %llu\n", (unsigned long long)w->symlinks,
		(unsigned long long)w->programs) < 0)
		return fault_set(f, FAULT_LIMIT, "index is too long");
	for (uint32_t n = IMAGE_ROOT; n; n = image_tree_walk(w->tree, n)) {
		if (add_node(b, w, n, f) < 0)
			return -1;
		if (b->len < OUT_FULL)
			continue;
		if (fd_write_all(fd, buf_ptr(b), b->len, f) < 0)
			return -1;
		buf_clear(b);
	}
	return fd_write_all(fd, buf_ptr(b), b->len, f);
}

int
image_index_write(int fd, const struct image_write *w, struct fault *f)
{
	struct buf b;
	int r;

	buf_init(&b, OUT_MAX);
	r = write_all(fd, &b, w, f);
	buf_release(&b);
	return r;
}

int
image_path_order(struct span a, struct span b)
{
	size_t n = a.len < b.len ? a.len : b.len;

	for (size_t i = 0; i < n; i++) {
		int x = a.ptr[i] == '/' ? 0 : a.ptr[i] + 1;
		int y = b.ptr[i] == '/' ? 0 : b.ptr[i] + 1;

		if (x != y)
			return x - y;
	}
	return (a.len > b.len) - (a.len < b.len);
}

/* Undo the escapes, in the arena. */
static bool
unescape(struct span s, struct arena *a, struct span *out)
{
	uint8_t *to = arena_get(a, s.len + 1);
	size_t n = 0;

	if (!to)
		return false;
	for (size_t i = 0; i < s.len; i++, n++) {
		to[n] = s.ptr[i];
		if (s.ptr[i] != '%')
			continue;
		if (!hex_parse(span_of(s.ptr + i + 1, s.len - i > 2 ? 2 : 0),
			&to[n], 1))
			return false;
		i += 2;
	}
	*out = span_of(to, n);
	return true;
}

bool
image_index_line(struct span line, struct arena *a, struct image_line *out)
{
	struct span path = span_from(line, 2);
	struct span value;

	path.len = span_find(path, ' ');
	value = span_from(line, 2 + path.len + 1);
	out->is_link = span_starts(line, "l /");
	if (!unescape(path, a, &out->path))
		return false;
	if (out->is_link)
		return unescape(value, a, &out->target);
	return span_starts(line, "x /") &&
	    hex_parse(value, out->digest, DIGEST_SIZE);
}

static bool
parse_lines(struct span text, struct arena *a, struct image_symlink *links,
    size_t link_count, struct image_program *programs, size_t program_count)
{
	size_t l = 0;
	size_t p = 0;

	while (text.len > 0) {
		struct image_line row;
		struct span line = text;

		line.len = span_find(text, '\n');
		text = span_from(text, line.len + 1);
		if (!image_index_line(line, a, &row))
			return false;
		if (row.is_link && l < link_count) {
			links[l++] =
			    (struct image_symlink){ row.path, row.target };
		} else if (!row.is_link && p < program_count) {
			programs[p].path = row.path;
			memcpy(programs[p++].digest, row.digest, DIGEST_SIZE);
		} else {
			return false;
		}
	}
	return l == link_count && p == program_count;
}

/* The header's two counts are bounded by the length of what follows. */
static bool
parse_header(struct span *text, uint64_t *links, uint64_t *programs)
{
	struct span line = *text;
	struct span first;

	line.len = span_find(*text, '\n');
	*text = span_from(*text, line.len + 1);
	if (!span_starts(line, HEADER))
		return false;
	line = span_from(line, sizeof(HEADER) - 1);
	first = line;
	first.len = span_find(line, ' ');
	return num_parse(first, text->len, links) &&
	    num_parse(span_from(line, first.len + 1), text->len, programs);
}

int
image_index_parse(struct span text, struct arena *a, struct image_index *out,
    struct fault *f)
{
	struct image_symlink *links;
	struct image_program *programs;
	uint64_t l;
	uint64_t p;

	if (!parse_header(&text, &l, &p))
		return fault_set(f, FAULT_INVALID, "not an image index");
	links = arena_get(a, (size_t)l * sizeof(*links));
	programs = arena_get(a, (size_t)p * sizeof(*programs));
	if (!links || !programs)
		return fault_set(f, FAULT_LIMIT, "image index is too long");
	if (!parse_lines(text, a, links, (size_t)l, programs, (size_t)p))
		return fault_set(f, FAULT_INVALID,
		    "image index is damaged or too long");
	*out = (struct image_index){ links, (size_t)l, programs, (size_t)p };
	return 0;
}

static int
symlink_order(const void *key, const void *row)
{
	const struct image_symlink *s = row;

	return image_path_order(*(const struct span *)key, s->path);
}

static int
program_order(const void *key, const void *row)
{
	const struct image_program *p = row;

	return image_path_order(*(const struct span *)key, p->path);
}

const struct image_symlink *
image_index_symlink(const struct image_index *i, struct span path)
{
	return bsearch(&path, i->symlinks, i->symlink_count,
	    sizeof(*i->symlinks), symlink_order);
}

const struct image_program *
image_index_program(const struct image_index *i, struct span path)
{
	return bsearch(&path, i->programs, i->program_count,
	    sizeof(*i->programs), program_order);
}
