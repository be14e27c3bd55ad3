/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two disks and their union. The image is a squashfs on the first disk,
 * the writable layer an ext4 on the second or, where that holds none, memory.
 * The block devices are bound since the template; the host has put other
 * files behind them meanwhile, so nothing that was read before counts.
 */
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "supervisor/inner.h"

#define DISK_IMAGE "/dev/vda"
#define DISK_UPPER "/dev/vdb"

int
disks_flush(struct fault *f)
{
	static const char *const paths[] = { DISK_IMAGE, DISK_UPPER };

	for (size_t i = 0; i < NELEM(paths); i++) {
		/* Exclusive: nothing is mounted from it any more. */
		with_fd fd = open(paths[i], O_RDONLY | O_EXCL | O_CLOEXEC);

		if (fd < 0 && errno == ENOENT && i == 1)
			continue;
		if (fd < 0)
			return fault_sys(f, "cannot open '%s'", paths[i]);
		if (ioctl(fd, BLKFLSBUF, 0) != 0)
			return fault_sys(f, "cannot flush '%s'", paths[i]);
	}
	return 0;
}

static int
mount_upper(struct disks *d, struct fault *f)
{
	if (mount(DISK_UPPER, "/up", "ext4", MS_NODEV | MS_NOATIME, NULL) == 0)
		d->on_disk = true;
	else if (mount("upper", "/up", "tmpfs", MS_NODEV, "mode=0755") != 0)
		return fault_sys(f, "cannot mount the writable layer");
	d->upper = true;
	return 0;
}

/*
 * The upper root's owner and mode are what a stranger sees as the owner and
 * mode of /: they must be the image's.
 */
static int
make_layers(struct fault *f)
{
	struct stat st;

	if (stat("/low", &st) != 0)
		return fault_sys(f, "cannot look at the image's root");
	if (mkdir("/up/w", 0700) != 0 && errno != EEXIST)
		return fault_sys(f, "cannot make the work folder");
	if (mkdir("/up/u", 0700) != 0)
		return errno == EEXIST
		    ? 0
		    : fault_sys(f, "cannot make the upper folder");
	if (chown("/up/u", st.st_uid, st.st_gid) != 0 ||
	    chmod("/up/u", st.st_mode & 07777) != 0)
		return fault_sys(f, "cannot give the upper folder its mode");
	return 0;
}

int
disks_mount(struct disks *d, struct fault *f)
{
	if (disks_flush(f) != 0)
		return -1;
	if (mount(DISK_IMAGE, "/low", "squashfs", MS_RDONLY | MS_NODEV, NULL) !=
	    0)
		return fault_sys(f, "cannot mount the image");
	d->image = true;
	if (mount_upper(d, f) != 0 || make_layers(f) != 0)
		return -1;
	if (mount("root", DISKS_ROOT, "overlay", MS_NODEV,
		"lowerdir=/low,upperdir=/up/u,workdir=/up/w,"
		"redirect_dir=off,metacopy=off,index=off") != 0)
		return fault_sys(f, "cannot join image and writable layer");
	d->root = true;
	return 0;
}

static int
take_down(bool *is_up, const char *path, struct fault *f)
{
	if (!*is_up)
		return 0;
	if (umount2(path, 0) != 0)
		return fault_sys(f, "cannot unmount '%s'", path);
	*is_up = false;
	return 0;
}

/* A file that was opened in the sandbox holds the sandbox's mount of the disk,
 * not ours: then ours goes, and nothing is written out. */
static int
check_let_go(struct fault *f)
{
	with_fd fd = open(DISK_UPPER, O_RDONLY | O_EXCL | O_CLOEXEC);

	return fd < 0 ? fault_sys(f, "cannot have '%s' alone", DISK_UPPER) : 0;
}

int
disks_unmount(struct disks *d, struct fault *f)
{
	if (take_down(&d->root, DISKS_ROOT, f) != 0 ||
	    take_down(&d->upper, "/up", f) != 0 ||
	    take_down(&d->image, "/low", f) != 0)
		return -1;
	return d->on_disk ? check_let_go(f) : 0;
}
