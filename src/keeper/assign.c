/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The disks of an assignment. They are opened below the folders that the
 * keeper was started for, without following links out of them, and the
 * writable one is locked: two machines never write one disk.
 */
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "keeper/inner.h"

/* path below the folder `dir`, whose text is `name`; anywhere without one. */
static int
open_below(int dir, const char *name, const char *path, int flags,
    struct fault *f)
{
	int fd;

	if (dir < 0 || !name) {
		fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW);
	} else {
		size_t n = strlen(name);

		while (n > 0 && name[n - 1] == '/')
			n--;
		if (strncmp(path, name, n) != 0 || path[n] != '/')
			return fault_set(f, FAULT_INVALID,
			    "'%s' is not below '%s'", path, name);
		n += strspn(path + n, "/");
		fd = fd_open_under(dir, path + n, flags,
		    RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
	}
	if (fd < 0)
		return fault_sys(f, "cannot open '%s'", path);
	return fd;
}

static int
check_regular(int fd, const char *path, struct fault *f)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return fault_sys(f, "cannot look at '%s'", path);
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return fault_set(f, FAULT_INVALID, "'%s' is no disk", path);
	return 0;
}

int
assign_open_image(struct keeper *k, const char *path, struct fault *f)
{
	with_fd fd =
	    open_below(k->read_dir, k->args->read_dir, path, O_RDONLY, f);

	if (fd < 0 || check_regular(fd, path, f) != 0)
		return -1;
	return fd_take(&fd);
}

int
assign_open_disk(struct keeper *k, const char *path, struct fault *f)
{
	with_fd fd =
	    open_below(k->disk_dir, k->args->disk_dir, path, O_RDWR, f);

	if (fd < 0 || check_regular(fd, path, f) != 0)
		return -1;
	/* The lock is the open file's, which the VMM shares: it holds as long
	 * as either of us lives. */
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		return errno == EWOULDBLOCK
		    ? fault_set(f, FAULT_BUSY,
			  "'%s' is in use by another machine", path)
		    : fault_sys(f, "cannot lock '%s'", path);
	return fd_take(&fd);
}
