/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's root. The supervisor has mounted the union of image and
 * writable layer; this process, alone in its mount namespace, puts /proc,
 * /sys and /dev into it, moves it onto / and goes in. rootfs cannot be
 * pivoted away, so it stays below, covered, and holds two programs that are
 * no secret. Everything else of the old view is detached first.
 *
 * The image is a stranger's: each place where something is mounted is opened
 * without following a link, and mounts are attached by descriptor.
 */
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/inner.h"

struct setting {
	const char *key;
	const char *value;
};

/* A folder of the image, made when it is missing; never through a link. */
static int
open_place(int root, const char *path, mode_t mode, struct fault *f)
{
	int fd;

	if (mkdirat(root, path, mode) != 0 && errno != EEXIST)
		return fault_sys(f, "cannot make '/%s'", path);
	fd = fd_open_under(root, path, O_PATH | O_DIRECTORY,
	    RESOLVE_NO_SYMLINKS | RESOLVE_IN_ROOT);
	if (fd < 0)
		return fault_sys(f, "'/%s' of the image is no folder", path);
	return fd;
}

/* A new file system of a type, mounted on the folder `at`. */
static int
mount_new(const char *type, const struct setting *settings, size_t n,
    unsigned attributes, int at, struct fault *f)
{
	with_fd fs = (int)syscall(SYS_fsopen, type, 1U /* FSOPEN_CLOEXEC */);
	with_fd mnt = -1;

	if (fs < 0)
		return fault_sys(f, "cannot open a %s", type);
	for (size_t i = 0; i < n; i++)
		if (syscall(SYS_fsconfig, fs,
			settings[i].value ? FSCONFIG_SET_STRING
					  : FSCONFIG_SET_FLAG,
			settings[i].key, settings[i].value, 0) != 0)
			return fault_sys(f, "cannot set %s of %s",
			    settings[i].key, type);
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
		return fault_sys(f, "cannot create a %s", type);
	mnt =
	    (int)syscall(SYS_fsmount, fs, 1U /* FSMOUNT_CLOEXEC */, attributes);
	if (mnt < 0 ||
	    syscall(SYS_move_mount, mnt, "", at, "",
		MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
		return fault_sys(f, "cannot mount a %s", type);
	return 0;
}

/* Cover path below `root` by itself, read-only. Absent is fine. */
static int
make_read_only(int root, const char *path, struct fault *f)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	with_fd tree = (int)syscall(SYS_open_tree, root, path,
	    1U /* OPEN_TREE_CLONE */ | O_CLOEXEC | AT_SYMLINK_NOFOLLOW);

	if (tree < 0 && errno == ENOENT)
		return 0;
	if (tree < 0 ||
	    syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr,
		sizeof(attr)) != 0 ||
	    syscall(SYS_move_mount, tree, "", root, path,
		MOVE_MOUNT_F_EMPTY_PATH) != 0)
		return fault_sys(f, "cannot make '%s' read-only", path);
	return 0;
}

/* Reopen a folder by name: what is mounted on it, not what it covers. */
static int
reopen(int root, const char *path, struct fault *f)
{
	int fd =
	    openat(root, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return fault_sys(f, "cannot enter '/%s'", path);
	return fd;
}

/* The readonlyPaths of the OCI runtimes' default. */
static int
mount_proc(int root, struct fault *f)
{
	static const char *const read_only[] = { "sys", "bus", "fs", "irq",
		"sysrq-trigger" };
	const unsigned flags =
	    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	with_fd at = open_place(root, "proc", 0555, f);
	with_fd proc = -1;

	if (at < 0 || mount_new("proc", NULL, 0, flags, at, f) != 0)
		return -1;
	proc = reopen(root, "proc", f);
	if (proc < 0)
		return -1;
	for (size_t i = 0; i < NELEM(read_only); i++)
		if (make_read_only(proc, read_only[i], f) != 0)
			return -1;
	return 0;
}

static int
mount_sys(int root, struct fault *f)
{
	const unsigned flags = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
	    MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY;
	with_fd at = open_place(root, "sys", 0555, f);

	return at < 0 ? -1 : mount_new("sysfs", NULL, 0, flags, at, f);
}

/* A folder becomes an empty one, a file the null device. */
static int
cover(int root, const char *path, struct fault *f)
{
	const unsigned flags = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
	    MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY;
	with_fd at = openat(root, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	with_fd null = -1;
	struct stat st;

	if (at < 0 && errno == ENOENT)
		return 0;
	if (at < 0 || fstat(at, &st) != 0)
		return fault_sys(f, "cannot look at '/%s'", path);
	if (S_ISDIR(st.st_mode))
		return mount_new("tmpfs", NULL, 0, flags, at, f);
	null = (int)syscall(SYS_open_tree, root, "dev/null",
	    1U /* OPEN_TREE_CLONE */ | O_CLOEXEC);
	if (null < 0 ||
	    syscall(SYS_move_mount, null, "", at, "",
		MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
		return fault_sys(f, "cannot cover '/%s'", path);
	return 0;
}

/* The maskedPaths of the OCI runtimes' default, and more of /sys. */
static int
cover_all(int root, struct fault *f)
{
	static const char *const covered[] = { "proc/acpi", "proc/asound",
		"proc/interrupts", "proc/kcore", "proc/keys",
		"proc/latency_stats", "proc/timer_list", "proc/timer_stats",
		"proc/sched_debug", "proc/scsi", "sys/firmware", "sys/kernel",
		"sys/devices/virtual/powercap" };

	for (size_t i = 0; i < NELEM(covered); i++)
		if (cover(root, covered[i], f) != 0)
			return -1;
	return 0;
}

static int
make_nodes(int dev, struct fault *f)
{
	static const struct {
		const char *name;
		unsigned minor;
		unsigned major;
	} nodes[] = { { "null", 3, 1 }, { "zero", 5, 1 }, { "full", 7, 1 },
		{ "random", 8, 1 }, { "urandom", 9, 1 }, { "tty", 0, 5 } };
	static const struct {
		const char *name;
		const char *target;
	} links[] = { { "ptmx", "pts/ptmx" }, { "fd", "/proc/self/fd" },
		{ "stdin", "/proc/self/fd/0" }, { "stdout", "/proc/self/fd/1" },
		{ "stderr", "/proc/self/fd/2" } };

	for (size_t i = 0; i < NELEM(nodes); i++)
		if (mknodat(dev, nodes[i].name, S_IFCHR | 0666,
			makedev(nodes[i].major, nodes[i].minor)) != 0)
			return fault_sys(f, "cannot make '/dev/%s'",
			    nodes[i].name);
	for (size_t i = 0; i < NELEM(links); i++)
		if (symlinkat(links[i].target, dev, links[i].name) != 0)
			return fault_sys(f, "cannot make '/dev/%s'",
			    links[i].name);
	return 0;
}

static int
mount_dev(int root, struct fault *f)
{
	static const struct setting dev_set[] = { { "mode", "0755" },
		{ "size", "64k" }, { "nr_inodes", "64" } };
	static const struct setting pts_set[] = { { "newinstance", NULL },
		{ "ptmxmode", "0666" }, { "mode", "0620" } };
	static const struct setting shm_set[] = { { "mode", "1777" } };
	const unsigned quiet = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
	with_fd at = open_place(root, "dev", 0755, f);
	with_fd dev = -1;
	with_fd pts = -1;
	with_fd shm = -1;

	if (at < 0 ||
	    mount_new("tmpfs", dev_set, NELEM(dev_set), quiet, at, f) != 0)
		return -1;
	dev = reopen(root, "dev", f);
	if (dev < 0 || make_nodes(dev, f) != 0)
		return -1;
	pts = open_place(dev, "pts", 0755, f);
	if (pts < 0 ||
	    mount_new("devpts", pts_set, NELEM(pts_set), quiet, pts, f) != 0)
		return -1;
	shm = open_place(dev, "shm", 01777, f);
	if (shm < 0)
		return -1;
	return mount_new("tmpfs", shm_set, NELEM(shm_set),
	    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, shm, f);
}

/* /tmp is the image's; without one it lives in memory. */
static int
mount_tmp(int root, struct fault *f)
{
	static const struct setting set[] = { { "mode", "1777" } };
	struct stat st;
	with_fd at = -1;

	if (fstatat(root, "tmp", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	at = open_place(root, "tmp", 01777, f);
	if (at < 0)
		return -1;
	return mount_new("tmpfs", set, NELEM(set),
	    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, at, f);
}

static int
enter(const char *old_root, int root, struct fault *f)
{
	static const char *const old[] = { "/sys/fs/cgroup", "/sys", "/proc",
		"/dev", "/run", "/up", "/low" };

	for (size_t i = 0; i < NELEM(old); i++)
		if (umount2(old[i], MNT_DETACH | UMOUNT_NOFOLLOW) != 0 &&
		    errno != EINVAL && errno != ENOENT)
			return fault_sys(f, "cannot detach '%s'", old[i]);
	if (fchdir(root) != 0 || mount(".", "/", NULL, MS_MOVE, NULL) != 0)
		return fault_sys(f, "cannot move '%s' onto /", old_root);
	if (chroot(".") != 0 || chdir("/") != 0)
		return fault_sys(f, "cannot enter the new root");
	return 0;
}

int
root_build(struct sandbox *sb, const nacre_sandbox_v1_ConfirmRequest *q,
    struct fault *f)
{
	with_fd root = -1;

	if (!name_valid(span_str(q->host_name), LIMIT_NAME))
		return fault_field(f, "host_name", "is no name");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return fault_sys(f, "cannot make the mounts private");
	root = open(sb->root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (root < 0)
		return fault_sys(f, "cannot open '%s'", sb->root);
	if (mount_proc(root, f) != 0 || mount_sys(root, f) != 0 ||
	    mount_dev(root, f) != 0 || mount_tmp(root, f) != 0 ||
	    cover_all(root, f) != 0)
		return -1;
	if (sethostname(q->host_name, strlen(q->host_name)) != 0)
		return fault_sys(f, "cannot set the host name");
	return enter(sb->root, root, f);
}
