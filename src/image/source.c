/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stretch of a file as a stream of plain bytes. gzip and zstd run as
 * children; their pipes are served in turn, so that neither side waits for
 * the other. The digest of the bytes, as stored or as unpacked, is checked at
 * the end. Nothing is written to disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/inner.h"

enum {
	PIPE_BYTES = 1 << 20, /* F_SETPIPE_SZ; less is fine too */
	MAGIC = 6,
};

static int
check_budget(const struct image_source *s, struct fault *f)
{
	const struct image_budget *b = s->budget;

	if (b->read <= b->max && b->told <= b->max)
		return 0;
	return fault_set(f, FAULT_LIMIT,
	    "archive is over the limit of %llu%s bytes",
	    (unsigned long long)b->max, b->told > b->max ? " unpacked" : "");
}

static int
read_raw(struct image_source *s, void *p, size_t size, size_t *got,
    struct fault *f)
{
	uint64_t left = s->blob->size - s->at;
	ssize_t n;

	if (size > left)
		size = (size_t)left;
	do
		n = pread(s->blob->fd, p, size, (off_t)(s->blob->at + s->at));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return fault_sys(f, "cannot read");
	s->at += (uint64_t)n;
	s->budget->read += (uint64_t)n;
	if (n == 0)
		s->at = s->blob->size; /* the file has become shorter */
	*got = (size_t)n;
	if (s->hashing && s->blob->check_raw)
		digest_update(&s->digest, span_of(p, (size_t)n));
	return check_budget(s, f);
}

static int
find_packing(struct image_source *s, struct fault *f)
{
	uint8_t m[MAGIC] = { 0 };

	if (pread(s->blob->fd, m, s->blob->size < MAGIC ? 0 : MAGIC,
		(off_t)s->blob->at) < 0)
		return fault_sys(f, "cannot read");
	s->packing = IMAGE_PLAIN;
	if (m[0] == 0x1f && m[1] == 0x8b)
		s->packing = IMAGE_GZIP;
	else if (memcmp(m, "\x28\xb5\x2f\xfd", 4) == 0)
		s->packing = IMAGE_ZSTD;
	else if (memcmp(m,
		     "\xfd"
		     "7zXZ\0",
		     6) == 0)
		return fault_set(f, FAULT_UNIMPLEMENTED,
		    "xz is not taken: unpack it with 'xz -d' first");
	else if (memcmp(m, "BZh", 3) == 0)
		return fault_set(f, FAULT_UNIMPLEMENTED,
		    "bzip2 is not taken: unpack it with 'bzip2 -d' first");
	return 0;
}

static int
start_child(struct image_source *s, const struct image_tools *tools,
    struct fault *f)
{
	static const char *const gzip[] = { "gzip", "-dc", NULL };
	static const char *const zstd[] = { "zstd", "-dcq", "--single-thread",
		NULL };
	bool is_gzip = s->packing == IMAGE_GZIP;
	const char *path = is_gzip ? tools->gzip : tools->zstd;
	int down[2];
	int up[2];
	int r;

	if (!path[0])
		return fault_set(f, FAULT_SYSTEM,
		    "cannot find '%s': install it to read this archive",
		    is_gzip ? "gzip" : "zstd");
	if (pipe2(down, O_CLOEXEC) < 0)
		return fault_sys(f, "cannot make a pipe");
	if (pipe2(up, O_CLOEXEC) < 0) {
		(void)close(down[0]);
		(void)close(down[1]);
		return fault_sys(f, "cannot make a pipe");
	}
	s->to = down[1];
	s->from = up[0];
	(void)fcntl(s->to, F_SETPIPE_SZ, PIPE_BYTES);
	(void)fcntl(s->from, F_SETPIPE_SZ, PIPE_BYTES);
	r = image_child_start(&s->child, path, is_gzip ? gzip : zstd, down[0],
	    up[1], f);
	(void)close(down[0]);
	(void)close(up[1]);
	if (r < 0 || fd_nonblock(s->to, f) < 0 || fd_nonblock(s->from, f) < 0)
		return -1;
	s->raw = must_alloc(IMAGE_CHUNK);
	return 0;
}

int
image_source_open(struct image_source *s, const struct image_blob *b,
    const struct image_tools *tools, bool hashing, struct image_budget *budget,
    struct fault *f)
{
	*s = (struct image_source){ .blob = b,
		.hashing = hashing && (b->check_raw || b->check_plain),
		.budget = budget,
		.to = -1,
		.from = -1 };
	digest_init(&s->digest);
	if (find_packing(s, f) < 0)
		return -1;
	if (s->packing == IMAGE_PLAIN)
		return 0;
	if (start_child(s, tools, f) == 0)
		return 0;
	image_source_close(s);
	return -1;
}

static int
check_digest(const struct image_source *s, struct fault *f)
{
	uint8_t got[DIGEST_SIZE];
	char want[DIGEST_HEX];

	if (!s->hashing)
		return 0;
	digest_final(&s->digest, got);
	if (memcmp(got, s->blob->want, sizeof(got)) == 0)
		return 0;
	hex_format(s->blob->want, DIGEST_SIZE, want);
	return fault_set(f, FAULT_INVALID, "content is not that of sha256:%s",
	    want);
}

/* Feed the child until its pipe is full or all is in. */
static int
feed(struct image_source *s, struct fault *f)
{
	ssize_t n;

	if (s->raw_at == s->raw_len) {
		s->raw_at = 0;
		if (read_raw(s, s->raw, IMAGE_CHUNK, &s->raw_len, f) < 0)
			return -1;
		if (s->raw_len == 0) {
			fd_close(&s->to);
			return 0;
		}
	}
	n = write(s->to, s->raw + s->raw_at, s->raw_len - s->raw_at);
	if (n >= 0)
		s->raw_at += (size_t)n;
	else if (errno == EPIPE)
		fd_close(&s->to); /* its exit status says why */
	else if (errno != EAGAIN && errno != EINTR)
		return fault_sys(f, "cannot write to '%s'", s->child.what);
	return 0;
}

/* The rest of the blob still counts for its digest. */
static int
finish_child(struct image_source *s, struct fault *f)
{
	size_t got = 1;

	fd_close(&s->to);
	fd_close(&s->from);
	if (image_child_wait(&s->child, FAULT_INVALID, f) < 0)
		return -1;
	while (s->hashing && s->blob->check_raw && got > 0)
		if (read_raw(s, s->raw, IMAGE_CHUNK, &got, f) < 0)
			return -1;
	return check_digest(s, f);
}

static int
read_unpacked(struct image_source *s, void *p, size_t size, size_t *got,
    struct fault *f)
{
	for (;;) {
		struct pollfd ready[2] = { { .fd = s->from, .events = POLLIN },
			{ .fd = s->to, .events = POLLOUT } };
		ssize_t n;

		if (s->from < 0) {
			*got = 0;
			return 0;
		}
		if (poll(ready, 2, -1) < 0 && errno != EINTR)
			return fault_sys(f, "cannot poll");
		if (ready[1].revents != 0 && feed(s, f) < 0)
			return -1;
		if (ready[0].revents == 0)
			continue;
		n = read(s->from, p, size);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return fault_sys(f, "cannot read from '%s'",
			    s->child.what);
		if (n == 0 && finish_child(s, f) < 0)
			return -1;
		if (n >= 0) {
			*got = (size_t)n;
			return 0;
		}
	}
}

int
image_source_read(struct image_source *s, void *p, size_t size, size_t *got,
    struct fault *f)
{
	if (s->packing != IMAGE_PLAIN) {
		if (read_unpacked(s, p, size, got, f) < 0)
			return -1;
	} else {
		bool more = s->at < s->blob->size;

		if (read_raw(s, p, size, got, f) < 0)
			return -1;
		if (more && *got == 0)
			return fault_set(f, FAULT_INVALID,
			    "the file became shorter while it was read");
	}
	if (s->hashing && s->blob->check_plain)
		digest_update(&s->digest, span_of(p, *got));
	s->budget->told += *got;
	if (check_budget(s, f) < 0)
		return -1;
	if (*got == 0 && s->packing == IMAGE_PLAIN)
		return check_digest(s, f);
	return 0;
}

bool
image_source_skip(struct image_source *s, uint64_t n)
{
	if (s->packing != IMAGE_PLAIN || s->hashing ||
	    n > s->blob->size - s->at)
		return false;
	s->at += n;
	return true;
}

void
image_source_close(struct image_source *s)
{
	fd_close(&s->to);
	fd_close(&s->from);
	image_child_stop(&s->child);
	free(s->raw);
	s->raw = NULL;
}
