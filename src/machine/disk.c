/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writable disks: one blank ext4 a size, made by mke2fs into the cache, and
 * sparse copies (or reflinks) of it. Both get their names when they are whole
 * and on the disk: a file under its name is never half of one. It is sparse
 * and its inode tables are marked as zeroed, so a guest has no background work
 * to do on it.
 */
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "machine/inner.h"

enum {
	MKE2FS_MS = 60000,
	BLANK_PATH = 512,
	EXT4_MAGIC_AT = 1024 + 56, /* in the first superblock */
};

/* What is written by these options belongs into the file's name. */
#define BLANK_FORMAT "2"

static int
blank_path(const char *cache, uint64_t bytes, char out[BLANK_PATH],
    struct fault *f)
{
	if (bytes < (16U << 20) || bytes & 4095)
		return fault_field(f, "disk", "a disk has at least 16 MiB");
	if (!text_fmt(out, BLANK_PATH, "%s/blank-%s-%llu.ext4", cache,
		BLANK_FORMAT, (unsigned long long)bytes))
		return fault_set(f, FAULT_INVALID,
		    "the cache path is too long");
	return 0;
}

static int
format(const char *path, uint64_t bytes, struct fault *f)
{
	static char features[] = "assume_storage_prezeroed=1,"
				 "lazy_itable_init=1,lazy_journal_init=1";
	static char words[][40] = { "-q", "-F", "-t", "ext4", "-m", "0", "-b",
		"4096", "-O", "^resize_inode", "-U",
		"6e616372-652d-4469-b36b-000000000001", "-E" };
	char tool[64];
	char file[BLANK_PATH];
	char *argv[NELEM(words) + 4] = { tool };
	size_t n = 1;
	with_fd fd = open(path,
	    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (!machine_find_program("mke2fs", tool, sizeof(tool)))
		return fault_set(f, FAULT_START_FAILED,
		    "mke2fs is not installed (apt-get install e2fsprogs)");
	if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
		return fault_sys(f, "cannot make '%s'", path);
	for (size_t i = 0; i < NELEM(words); i++)
		argv[n++] = words[i];
	argv[n++] = features;
	(void)text_copy(file, sizeof(file), span_str(path));
	argv[n++] = file;
	argv[n] = NULL;
	return machine_run(argv, -1, NULL, MKE2FS_MS, f);
}

bool
disk_has(int fd, off_t at, const void *magic, size_t n)
{
	uint8_t got[16];

	BUG_IF(n > sizeof(got));
	return pread(fd, got, n, at) == (ssize_t)n &&
	    memcmp(got, magic, n) == 0;
}

/* A host that lost its power may have left one with holes. */
static bool
is_whole(const char *path, uint64_t bytes)
{
	static const uint8_t magic[] = { 0x53, 0xef };
	with_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 &&
	    (uint64_t)st.st_size == bytes &&
	    disk_has(fd, EXT4_MAGIC_AT, magic, sizeof(magic));
}

int
disk_keep(const char *part, const char *path, struct fault *f)
{
	with_fd fd = open(part, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 || fchmod(fd, 0400) != 0) {
		(void)fault_sys(f, "cannot keep '%s'", path);
		(void)unlink(part);
		return -1;
	}
	return file_keep(AT_FDCWD, fd, part, path, f);
}

int
machine_disk_blank(const char *cache, uint64_t bytes, struct fault *f)
{
	char path[BLANK_PATH];
	char part[BLANK_PATH + 16];

	if (blank_path(cache, bytes, path, f) != 0)
		return -1;
	if (is_whole(path, bytes))
		return 0;
	(void)text_fmt(part, sizeof(part), "%s.%d", path, (int)getpid());
	(void)unlink(part);
	if (format(part, bytes, f) == 0)
		return disk_keep(part, path, f);
	(void)unlink(part);
	return -1;
}

int
disk_blank_open(const char *cache, uint64_t bytes, struct fault *f)
{
	char path[BLANK_PATH];
	int fd;

	if (blank_path(cache, bytes, path, f) != 0)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fault_sys(f, "cannot open '%s'", path);
	return fd;
}

/* All but the name. */
static int
copy_blank(const char *cache, const char *part, uint64_t bytes, int *out,
    struct fault *f)
{
	with_fd in = disk_blank_open(cache, bytes, f);

	if (in < 0)
		return -1;
	/* Of one that was interrupted. */
	(void)unlink(part);
	*out = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
	    0600);
	if (*out < 0)
		return fault_sys(f, "cannot make '%s'", part);
	return ioctl(*out, FICLONE, in) == 0 ? 0 : sparse_copy(in, *out, f);
}

int
machine_disk_make(const char *cache, const char *path, uint64_t bytes,
    struct fault *f)
{
	char part[LIMIT_PATH + 8];
	with_fd out = -1;

	if (!text_fmt(part, sizeof(part), "%s.part", path))
		return fault_set(f, FAULT_INVALID, "the path is too long");
	if (access(path, F_OK) == 0)
		return fault_set(f, FAULT_EXISTS, "'%s' exists", path);
	if (machine_disk_blank(cache, bytes, f) != 0)
		return -1;
	if (copy_blank(cache, part, bytes, &out, f) == 0)
		return file_keep(AT_FDCWD, out, part, path, f);
	(void)unlink(part);
	return -1;
}
