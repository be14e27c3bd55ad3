/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that live in memory and have no name: what a VMM maps or reads. A
 * jail needs no path to them, and once sealed nobody can change them, not
 * even through a descriptor that was opened for writing.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "machine/inner.h"

enum {
	COPY_STEP = 256 << 10,
};
#define HOLLOW_BYTES ((uint64_t)1 << 40)

int
memfd_new(const char *name, uint64_t size, struct fault *f)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return fault_sys(f, "cannot make a memory file");
	if (ftruncate(fd, (off_t)size) != 0) {
		(void)fault_sys(f, "cannot size a memory file");
		fd_close(&fd);
	}
	return fd;
}

int
memfd_seal(int fd, struct fault *f)
{
	if (fcntl(fd, F_ADD_SEALS,
		F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
		return fault_sys(f, "cannot seal a memory file");
	return 0;
}

int
memfd_reopen(int fd, int flags, struct fault *f)
{
	char path[64];
	int again;

	(void)text_fmt(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, flags | O_CLOEXEC);
	if (again < 0)
		return fault_sys(f, "cannot reopen a descriptor");
	return again;
}

int
memfd_hollow(int flags, struct fault *f)
{
	with_fd whole = memfd_new("nacre-no-disk", HOLLOW_BYTES, f);

	return whole < 0 ? -1 : memfd_reopen(whole, flags, f);
}

/* All of in, into out and the digest. */
static int
copy_all(int in, int out, struct digest *d, struct fault *f)
{
	static uint8_t bytes[COPY_STEP];

	for (;;) {
		ssize_t n = read(in, bytes, sizeof(bytes));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fault_sys(f, "cannot read");
		if (n == 0)
			return 0;
		digest_update(d, span_of(bytes, (size_t)n));
		if (fd_write_all(out, bytes, (size_t)n, f) != 0)
			return -1;
	}
}

int
memfd_of_file(const char *path, const char *name, char digest[MACHINE_KEY],
    struct fault *f)
{
	with_fd in = open(path, O_RDONLY | O_CLOEXEC);
	with_fd out = -1;
	uint8_t sum[DIGEST_SIZE];
	struct digest d;

	if (in < 0)
		return fault_sys(f, "cannot open '%s'", path);
	out = memfd_new(name, 0, f);
	if (out < 0)
		return -1;
	digest_init(&d);
	if (copy_all(in, out, &d, f) != 0 || memfd_seal(out, f) != 0)
		return fault_prefix(f, "%s", path);
	digest_final(&d, sum);
	hex_format(sum, sizeof(sum), digest);
	return fd_take(&out);
}

/* [from, to) of in to the same place of out. */
static int
copy_extent(int in, int out, off_t from, off_t to, struct fault *f)
{
	while (from < to) {
		off_t at = from;
		ssize_t n = copy_file_range(in, &from, out, &at,
		    (size_t)(to - from), 0);
		uint8_t bytes[16384];
		size_t want = sizeof(bytes);

		if (n > 0 || (n < 0 && errno == EINTR))
			continue;
		/* Other file systems, or an older kernel: by hand. */
		if (to - from < (off_t)want)
			want = (size_t)(to - from);
		n = pread(in, bytes, want, from);
		if (n <= 0)
			return fault_sys(f, "cannot read");
		if (pwrite(out, bytes, (size_t)n, from) != n)
			return fault_sys(f, "cannot write");
		from += n;
	}
	return 0;
}

int
sparse_copy(int in, int out, struct fault *f)
{
	struct stat st;
	off_t at = 0;

	if (fstat(in, &st) != 0 || ftruncate(out, st.st_size) != 0)
		return fault_sys(f, "cannot size a copy");
	while (at < st.st_size) {
		off_t data = lseek(in, at, SEEK_DATA);
		off_t hole;

		if (data < 0 && errno == ENXIO)
			return 0;
		hole = data < 0 ? -1 : lseek(in, data, SEEK_HOLE);
		if (hole < 0)
			return fault_sys(f, "cannot find the data of a file");
		if (copy_extent(in, out, data, hole, f) != 0)
			return -1;
		at = hole;
	}
	return 0;
}

int
machine_disk_in_memory(int blank_fd, struct fault *f)
{
	with_fd out = memfd_new("nacre-scrap-disk", 0, f);

	if (out < 0 || sparse_copy(blank_fd, out, f) != 0)
		return -1;
	return fd_take(&out);
}
