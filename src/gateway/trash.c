/* SPDX-License-Identifier: Apache-2.0 */
/* One child at a time; what came while it ran is done by the next. */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "confine/confine.h"
#include "gateway/trash.h"

static bool
trash_path(const struct gateway *g, const char *id, char *out, size_t size)
{
	return text_fmt(out, size, "%s/trash%s%s", g->state,
	    *id != '\0' ? "/" : "", id);
}

/* In the child: every file of every folder, then the folders. */
static void
empty_one(int trash, const char *name)
{
	int fd = openat(trash, name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (dir == NULL)
		return;
	while ((d = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe) */
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			(void)unlinkat(dirfd(dir), d->d_name, 0);
	}
	(void)closedir(dir);
	(void)unlinkat(trash, name, AT_REMOVEDIR);
}

static _Noreturn void
empty_all(const char *path)
{
	const int keep[] = { 0, 1, 2 };
	struct dirent *d;
	DIR *dir;

	/* Not the lock: the next gateway need not wait for this child. */
	(void)confine_close_except(keep, NELEM(keep));
	dir = opendir(path);
	if (dir == NULL)
		_exit(1);
	while ((d = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe) */
		if (d->d_name[0] != '.')
			empty_one(dirfd(dir), d->d_name);
	}
	_exit(0);
}

static void
start(struct gateway *g)
{
	char path[LIMIT_PATH];
	struct fault f = { 0 };
	pid_t pid;

	g->trash_again = false;
	if (!trash_path(g, "", path, sizeof(path)))
		return;
	pid = fork();
	if (pid == 0)
		empty_all(path);
	if (pid < 0 || loop_child(g->loop, &g->trash, pid, &f) < 0)
		log_info("the trash is emptied later");
}

static void
on_exited(struct child *c, int status)
{
	struct gateway *g = CONTAINER_OF(c, struct gateway, trash);

	(void)status;
	if (g->trash_again)
		start(g);
}

int
trash_open(struct gateway *g, struct fault *f)
{
	char path[LIMIT_PATH];

	g->trash.exited = on_exited;
	if (!trash_path(g, "", path, sizeof(path)))
		return fault_set(f, FAULT_SYSTEM, "the path is too long");
	if (dir_make(path, 0700, f) < 0)
		return -1;
	start(g);
	return 0;
}

int
trash_put(struct gateway *g, const char *id, struct fault *f)
{
	char from[LIMIT_PATH];
	char to[LIMIT_PATH];

	if (!sandbox_path(g, id, "", from, sizeof(from)) ||
	    !trash_path(g, id, to, sizeof(to)))
		return fault_set(f, FAULT_SYSTEM, "the path is too long");
	if (rename(from, to) < 0 && errno != ENOENT)
		return fault_sys(f, "cannot remove '%s'", from);
	trash_empty(g);
	return 0;
}

void
trash_hold(struct gateway *g, const char *name, const char *path)
{
	char folder[LIMIT_PATH];
	char file[LIMIT_PATH];

	if (!trash_path(g, name, folder, sizeof(folder)) ||
	    !text_fmt(file, sizeof(file), "%s/file", folder))
		return;
	(void)mkdir(folder, 0700);
	if (link(path, file) < 0 && errno != EEXIST)
		log_debug("'%s' is unlinked at once", path);
}

void
trash_empty(struct gateway *g)
{
	if (g->trash.exited == NULL) /* trash_open() will */
		return;
	if (g->trash.pid != 0)
		g->trash_again = true;
	else
		start(g);
}

void
trash_close(struct gateway *g)
{
	loop_child_forget(&g->trash);
}
