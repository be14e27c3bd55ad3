/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agents' jail, from the policy's files section: which files each path
 * means, opened before any right is given up.
 *
 * A path leads where it leads in the image. On a kept disk the agent may have
 * put a link of its own where it could write, and a link must not widen what
 * the policy names: links are followed in the image alone, and what comes of
 * it is opened in the root without following any. Below /dev, /proc and /sys
 * all links are ours or the kernel's.
 */
#include <linux/openat2.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/inner.h"

#define IMAGE "/low"

enum {
	READ = CONFINE_READ | CONFINE_EXECUTE,
	WRITE = READ | CONFINE_WRITE | CONFINE_MAKE | CONFINE_DEVICE,
};

/* Beside what is asked for: our own /dev, to look at, and a process's own
 * terminal. */
static const struct {
	const char *path;
	unsigned rights;
} house[] = {
	{ "/dev", READ },
	{ "/dev/tty", WRITE },
};

int
jail_image(struct sandbox *sb, struct fault *f)
{
	sb->image = open(IMAGE, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return sb->image < 0 ? fault_sys(f, "cannot open the image") : 0;
}

/* An absolute path below the folder `root`, or -1 with errno. */
static int
open_below(int root, const char *path, uint64_t links)
{
	return fd_open_under(root, path, O_PATH,
	    RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | links);
}

static bool
is_ours(const char *path)
{
	struct span s = span_str(path);

	return span_starts(s, "/dev/") || span_starts(s, "/proc/") ||
	    span_starts(s, "/sys/");
}

/*
 * Where the path leads in the image. The mount may be detached by now: then
 * the kernel writes what is below it, else what is below IMAGE.
 */
static bool
resolve(int image, const char *path, char out[LIMIT_PATH])
{
	with_fd fd = open_below(image, path, 0);
	char link[40];
	ssize_t n;

	if (fd < 0 || !text_fmt(link, sizeof(link), "/proc/self/fd/%d", fd))
		return false;
	n = readlink(link, out, LIMIT_PATH - 1);
	if (n <= 0 || n >= LIMIT_PATH - 1)
		return false;
	out[n] = '\0';
	if (strncmp(out, IMAGE "/", sizeof(IMAGE)) == 0)
		memmove(out, out + sizeof(IMAGE) - 1,
		    (size_t)n - (sizeof(IMAGE) - 1) + 1);
	return out[0] == '/';
}

/* -1 with errno; ENOENT when the image and the disk lack it. */
static int
open_path(const struct sandbox *sb, int root, const char *path)
{
	char target[LIMIT_PATH];
	int fd =
	    open_below(root, path, is_ours(path) ? 0 : RESOLVE_NO_SYMLINKS);

	if (fd >= 0 || errno != ELOOP)
		return fd;
	if (!resolve(sb->image, path, target)) {
		errno = ENOENT;
		return -1;
	}
	return open_below(root, target, RESOLVE_NO_SYMLINKS);
}

static int
allow(struct sandbox *sb, int root, const char *path, unsigned rights,
    struct fault *f)
{
	with_fd fd = open_path(sb, root, path);

	if (fd < 0)
		return fault_sys(f, "cannot open '%s'", path);
	if (confine_agent_allow(sb->jail, fd, rights, f) != 0)
		return fault_prefix(f, "'%s' in the jail", path);
	return 0;
}

static int
allow_rule(struct sandbox *sb, int root,
    const nacre_sandbox_v1_ConfirmRequest *q,
    const nacre_sandbox_v1_FileRule *rule, struct fault *f)
{
	struct fault why = { 0 };
	unsigned rights = rule->write ? WRITE : READ;

	if (!rule->path || rule->path[0] != '/' ||
	    strlen(rule->path) >= LIMIT_PATH)
		return fault_field(f, "files", "holds no absolute path");
	if (allow(sb, root, rule->path, rights, &why) == 0 ||
	    (why.sys == ENOENT && rule->is_optional))
		return 0;
	if (why.sys == ENOENT && rule->write) {
		if (root_folder(rule->path, q, f) != 0)
			return -1;
		return allow(sb, root, rule->path, rights, f);
	}
	if (why.sys == ENOENT)
		return fault_set(f, FAULT_START_FAILED,
		    "the policy lets read '%s', which the image lacks",
		    rule->path);
	*f = why;
	return -1;
}

int
jail_make(struct sandbox *sb, const nacre_sandbox_v1_ConfirmRequest *q,
    struct fault *f)
{
	with_fd root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	sb->jail = confine_agent_new(f);
	if (!sb->jail)
		return -1;
	if (root < 0)
		return fault_sys(f, "cannot open the root");
	for (size_t i = 0; i < NELEM(house); i++)
		if (allow(sb, root, house[i].path, house[i].rights, f) != 0)
			return -1;
	for (size_t i = 0; i < q->files_count; i++)
		if (allow_rule(sb, root, q, &q->files[i], f) != 0)
			return -1;
	fd_close(&sb->image);
	return 0;
}
