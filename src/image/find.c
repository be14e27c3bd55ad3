/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One program of an image, found in its index on the disk by bisection: some
 * twenty lines are read of however many there are, and nothing is kept.
 */
#include <sys/stat.h>

#include <string.h>
#include <unistd.h>

#include "image/inner.h"

enum {
	STEP = 1024,       /* read at once; most lines are shorter */
	WINDOW = 64 << 10, /* holds the longest line and the end of another */
	ARENA = 1 << 20,
};

/* Where the line that is looked for begins, if it is there: in [lo, hi). */
struct find {
	int fd;
	uint64_t size;
	uint64_t lo; /* of a line */
	uint64_t hi;
	uint8_t *window;
	struct arena arena;
};

static int
look(const struct find *l, uint64_t at, size_t n, struct span *out,
    struct fault *f)
{
	size_t got = 0;

	*out = span_of(l->window, 0);
	while (got < n) {
		ssize_t r =
		    pread(l->fd, l->window + got, n - got, (off_t)(at + got));

		if (r < 0)
			return fault_sys(f, "cannot read an image's index");
		if (r == 0)
			break;
		got += (size_t)r;
	}
	out->len = got;
	return 0;
}

/* From `at` to the end of its line; the newline is none of *line. */
static int
read_line(const struct find *l, uint64_t at, struct span *line, struct fault *f)
{
	static const size_t sizes[] = { STEP, WINDOW };

	for (size_t i = 0; i < NELEM(sizes); i++) {
		size_t n;

		if (look(l, at, sizes[i], line, f) < 0)
			return -1;
		n = span_find(*line, '\n');
		if (n < line->len) {
			line->len = n;
			return 0;
		}
	}
	return fault_set(f, FAULT_INVALID, "image index is damaged");
}

/* Look at the first line that begins in the upper half. */
static int
halve(struct find *l, struct span path, struct image_line *row, int *order,
    struct fault *f)
{
	uint64_t mid = l->lo + (l->hi - l->lo) / 2;
	uint64_t at = mid;
	struct span line;

	if (at > l->lo) {
		if (read_line(l, at - 1, &line, f) < 0)
			return -1;
		at += line.len;
	}
	if (at >= l->hi) {
		l->hi = mid;
		*order = -1;
		return 0;
	}
	if (read_line(l, at, &line, f) < 0)
		return -1;
	if (!image_index_line(line, &l->arena, row))
		return fault_set(f, FAULT_INVALID, "image index is damaged");
	*order = image_path_order(path, row->path);
	if (*order < 0)
		l->hi = at;
	else
		l->lo = at + line.len + 1;
	return 0;
}

static int
search(struct find *l, struct span path, uint8_t digest[DIGEST_SIZE],
    bool *found, struct fault *f)
{
	struct image_line row;
	struct span header;
	int order = 1;

	if (read_line(l, 0, &header, f) < 0)
		return -1;
	l->lo = header.len + 1;
	l->hi = l->size;
	while (order != 0 && l->lo < l->hi)
		if (halve(l, path, &row, &order, f) < 0)
			return -1;
	*found = order == 0 && !row.is_link;
	if (*found)
		memcpy(digest, row.digest, DIGEST_SIZE);
	return 0;
}

int
image_index_search(int fd, struct span path, uint8_t digest[DIGEST_SIZE],
    bool *found, struct fault *f)
{
	struct find l = { .fd = fd };
	struct stat st;
	int rc;

	*found = false;
	if (fstat(fd, &st) < 0)
		return fault_sys(f, "cannot read an image's index");
	l.size = (uint64_t)st.st_size;
	arena_init(&l.arena, ARENA);
	l.window = arena_get(&l.arena, WINDOW);
	BUG_IF(l.window == NULL);
	rc = search(&l, path, digest, found, f);
	arena_release(&l.arena);
	return rc;
}
