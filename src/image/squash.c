/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The far end of pass two: a PAX tar written into tar2sqfs, which makes the
 * squashfs in a file without a name. Until it is published, nothing of it can
 * be left behind by any death.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "image/inner.h"

enum {
	OUT_MAX = 2 << 20, /* one entry's headers beside a full chunk */
	OUT_FULL = 64 << 10,
	PIPE_BYTES = 1 << 20,
	PROBE = 1 << 20,
};

int
image_squash_open(struct image_squash *q, int dir,
    const struct image_tools *tools, struct fault *f)
{
	/* Its stdout is the file, which it opens anew; --quiet says nothing. */
	static const char *const args[] = { "tar2sqfs", "--quiet", "--force",
		"--no-skip", "--no-symlink-retarget", "--compressor", "lz4",
		"--block-size", "131072", "--defaults", "mtime=0",
		"/proc/self/fd/1", NULL };
	int ends[2];
	int r;

	*q = (struct image_squash){ .file = -1, .pipe = -1 };
	buf_init(&q->out, OUT_MAX);
	q->file = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (q->file < 0)
		return fault_sys(f, "cannot make a file in the store");
	if (pipe2(ends, O_CLOEXEC) < 0)
		return fault_sys(f, "cannot make a pipe");
	q->pipe = ends[1];
	(void)fcntl(q->pipe, F_SETPIPE_SZ, PIPE_BYTES);
	r = image_child_start(&q->child, tools->tar2sqfs, args, ends[0],
	    q->file, f);
	(void)close(ends[0]);
	return r;
}

/*
 * The child has ended. It says "I/O error" of a full disk: one more write by
 * ourselves tells what it met.
 */
static int
end_child(struct image_squash *q, struct fault *f)
{
	static const uint8_t probe[PROBE] = { 1 };
	off_t end = lseek(q->file, 0, SEEK_END);
	ssize_t n;

	if (image_child_wait(&q->child, FAULT_SYSTEM, f) == 0)
		return 0;
	n = pwrite(q->file, probe, sizeof(probe), end);
	if (n >= 0 && (size_t)n < sizeof(probe))
		errno = ENOSPC;
	if (n < (ssize_t)sizeof(probe))
		return fault_sys(f, "cannot write the squashfs");
	return -1;
}

/* A broken pipe is told by why the child went. */
static int
write_out(struct image_squash *q, struct span s, struct fault *f)
{
	struct fault why = { 0 };

	if (fd_write_all(q->pipe, s.ptr, s.len, &why) == 0)
		return 0;
	if (why.sys == EPIPE && q->child.pid > 0) {
		fd_close(&q->pipe);
		if (end_child(q, f) < 0)
			return -1;
	}
	*f = why;
	return -1;
}

static int
flush(struct image_squash *q, size_t above, struct fault *f)
{
	if (q->out.len <= above)
		return 0;
	if (write_out(q, buf_span(&q->out), f) < 0)
		return -1;
	buf_clear(&q->out);
	return 0;
}

int
image_squash_entry(struct image_squash *q, const struct image_tar_entry *e,
    struct fault *f)
{
	if (image_emit_entry(&q->out, e, f) < 0)
		return -1;
	return flush(q, OUT_FULL, f);
}

int
image_squash_data(struct image_squash *q, struct span s, struct fault *f)
{
	if (s.len < OUT_FULL) {
		if (buf_add(&q->out, s.ptr, s.len, f) < 0)
			return -1;
		return flush(q, OUT_FULL, f);
	}
	if (flush(q, 0, f) < 0)
		return -1;
	return write_out(q, s, f);
}

int
image_squash_zeros(struct image_squash *q, uint64_t n, struct fault *f)
{
	while (n > 0) {
		size_t some = n < OUT_FULL ? (size_t)n : OUT_FULL;

		if (image_emit_zeros(&q->out, some, f) < 0 ||
		    flush(q, OUT_FULL - 1, f) < 0)
			return -1;
		n -= some;
	}
	return 0;
}

int
image_squash_finish(struct image_squash *q, struct fault *f)
{
	if (image_squash_zeros(q, 2 * (uint64_t)IMAGE_TAR_BLOCK, f) < 0 ||
	    flush(q, 0, f) < 0)
		return -1;
	fd_close(&q->pipe);
	if (end_child(q, f) < 0)
		return -1;
	if (fchmod(q->file, 0400) < 0 || fsync(q->file) < 0)
		return fault_sys(f, "cannot keep the squashfs");
	return 0;
}

void
image_squash_close(struct image_squash *q)
{
	fd_close(&q->pipe);
	image_child_stop(&q->child);
	fd_close(&q->file);
	buf_release(&q->out);
}
