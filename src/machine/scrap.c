/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What clones rehearse on: a tiny squashfs with one program, /true, which is
 * the guest's own file under another name, and a small ext4. Made once into
 * the cache (by tar2sqfs and mke2fs) for each guest file.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "machine/inner.h"

enum {
	BLOCK = 512,
	SCRAP_BYTES = 8 << 20, /* of the guest's file */
	SCRAP_DISK = 64 << 20,
	TAR2SQFS_MS = 60000,
	SCRAP_PATH = 512,
	USED_AT = 40, /* in a squashfs: how long it is */
};

/* One ustar header; size 0 and a name that ends in '/' is a folder. */
static void
tar_header(uint8_t h[BLOCK], const char *name, size_t size)
{
	/* "ustar", NUL, version "00" */
	static const uint8_t ustar[8] = { 'u', 's', 't', 'a', 'r', 0, '0',
		'0' };
	bool folder = name[strlen(name) - 1] == '/';
	unsigned sum = 0;

	memset(h, 0, BLOCK);
	(void)text_copy((char *)h, 100, span_str(name));
	(void)text_fmt((char *)h + 100, 8, "0000755");
	(void)text_fmt((char *)h + 108, 8, "0000000");
	(void)text_fmt((char *)h + 116, 8, "0000000");
	(void)text_fmt((char *)h + 124, 12, "%011zo", size);
	(void)text_fmt((char *)h + 136, 12, "00000000000");
	memset(h + 148, ' ', 8);
	h[156] = folder ? '5' : '0';
	memcpy(h + 257, ustar, sizeof(ustar));
	for (int i = 0; i < BLOCK; i++)
		sum += h[i];
	(void)text_fmt((char *)h + 148, 8, "%06o", sum);
}

/* The archive in a memory file, ready to be read from its start. */
static int
make_tar(const char *guest, struct fault *f)
{
	static const char *const folders[] = { "dev/", "proc/", "sys/", "tmp/",
		"etc/" };
	static const uint8_t zero[2 * BLOCK];
	uint8_t h[BLOCK];
	with_fd out = memfd_new("nacre-scrap", 0, f);
	struct buf b;
	int r = 0;

	if (out < 0)
		return -1;
	buf_init(&b, SCRAP_BYTES);
	if (file_read(AT_FDCWD, guest, &b, f) != 0)
		r = -1;
	for (size_t i = 0; r == 0 && i < NELEM(folders); i++) {
		tar_header(h, folders[i], 0);
		r = fd_write_all(out, h, BLOCK, f);
	}
	tar_header(h, "true", b.len);
	if (r == 0 &&
	    (fd_write_all(out, h, BLOCK, f) != 0 ||
		fd_write_all(out, buf_ptr(&b), b.len, f) != 0 ||
		fd_write_all(out, zero, (BLOCK - b.len % BLOCK) % BLOCK, f) ||
		fd_write_all(out, zero, sizeof(zero), f) != 0))
		r = -1;
	buf_release(&b);
	if (r == 0 && lseek(out, 0, SEEK_SET) != 0)
		r = fault_sys(f, "cannot rewind");
	return r == 0 ? fd_take(&out) : -1;
}

static int
squash(int tar, const char *path, struct fault *f)
{
	static char words[][16] = { "-q", "-f", "-c", "lz4", "-b", "131072" };
	char tool[64];
	char file[SCRAP_PATH];
	char *argv[NELEM(words) + 3] = { tool };
	size_t n = 1;

	if (!machine_find_program("tar2sqfs", tool, sizeof(tool)))
		return fault_set(f, FAULT_START_FAILED,
		    "tar2sqfs is not installed (apt-get install "
		    "squashfs-tools-ng)");
	for (size_t i = 0; i < NELEM(words); i++)
		argv[n++] = words[i];
	(void)text_copy(file, sizeof(file), span_str(path));
	argv[n++] = file;
	argv[n] = NULL;
	return machine_run(argv, tar, NULL, TAR2SQFS_MS, f);
}

static int
make_image(const char *guest, const char *path, struct fault *f)
{
	char part[SCRAP_PATH + 16];
	with_fd tar = make_tar(guest, f);
	int r;

	if (tar < 0)
		return fault_prefix(f, "scrap image");
	(void)text_fmt(part, sizeof(part), "%s.%d", path, (int)getpid());
	r = squash(tar, part, f);
	if (r == 0)
		return disk_keep(part, path, f);
	(void)unlink(part);
	return -1;
}

/* The image, if a whole one is there. */
static int
open_image(const char *path)
{
	static const char magic[] = { 'h', 's', 'q', 's' };
	with_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t bytes = 0;
	struct stat st;

	if (fd < 0 || !disk_has(fd, 0, magic, sizeof(magic)) ||
	    pread(fd, &bytes, sizeof(bytes), USED_AT) != sizeof(bytes) ||
	    fstat(fd, &st) != 0 || bytes > (uint64_t)st.st_size)
		return -1;
	return fd_take(&fd);
}

int
scrap_open(const char *cache, const char *guest, int *image, int *disk,
    struct fault *f)
{
	char digest[MACHINE_KEY];
	char path[SCRAP_PATH];
	with_fd copy = memfd_of_file(guest, "nacre-guest", digest, f);
	with_fd file = -1;
	with_fd blank = -1;

	if (copy < 0)
		return -1;
	if (!text_fmt(path, sizeof(path), "%s/scrap-%.16s.sqfs", cache, digest))
		return fault_set(f, FAULT_INVALID,
		    "the cache path is too long");
	file = open_image(path);
	if (file < 0) {
		if (make_image(guest, path, f) != 0)
			return -1;
		file = open_image(path);
	}
	if (file < 0)
		return fault_sys(f, "cannot open '%s'", path);
	if (machine_disk_blank(cache, SCRAP_DISK, f) != 0)
		return -1;
	blank = disk_blank_open(cache, SCRAP_DISK, f);
	if (blank < 0)
		return -1;
	*image = fd_take(&file);
	*disk = fd_take(&blank);
	return 0;
}
