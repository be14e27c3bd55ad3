/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removal of a file or a folder with all that is in it, a part a call: no
 * more than SANDBOX_REMOVE names, so that nobody waits for a large tree. No
 * link is followed: each folder is opened below the one before it. What the
 * agent moves meanwhile is left or removed, as it could do itself.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/inner.h"

/* What was left of a folder when its files were gone. */
enum left {
	LEFT_NOTHING,
	LEFT_FOLDER, /* its name is in name */
	LEFT_MORE,   /* the budget is used up */
};

struct removal {
	unsigned budget;
	int error;
	char name[NAME_MAX + 1];
};

/* Remove the plain names of a folder up to the first folder in it. */
static enum left
empty(struct removal *r, DIR *d)
{
	const struct dirent *at;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
	while ((at = readdir(d))) {
		if (strcmp(at->d_name, ".") == 0 ||
		    strcmp(at->d_name, "..") == 0)
			continue;
		if (r->budget == 0)
			return LEFT_MORE;
		if (unlinkat(dirfd(d), at->d_name, 0) == 0) {
			r->budget--;
			continue;
		}
		if (errno == EISDIR) {
			(void)text_copy(r->name, sizeof(r->name),
			    span_str(at->d_name));
			return LEFT_FOLDER;
		}
		if (errno != ENOENT) {
			r->error = errno;
			return LEFT_MORE;
		}
	}
	return LEFT_NOTHING;
}

/* Go down to a folder that holds no other, and remove it. True: it was the
 * one that was asked for. */
static bool
remove_deepest(struct removal *r, int parent, const char *name)
{
	with_fd above = fcntl(parent, F_DUPFD_CLOEXEC, 3);
	bool is_top = true;

	(void)text_copy(r->name, sizeof(r->name), span_str(name));
	for (;;) {
		char here[NAME_MAX + 1];
		enum left left;
		DIR *d;
		int fd = openat(above, r->name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		(void)text_copy(here, sizeof(here), span_str(r->name));
		d = fd >= 0 ? fdopendir(fd) : NULL;
		if (!d) {
			r->error = errno;
			fd_close(&fd);
			return false;
		}
		left = empty(r, d);
		if (left == LEFT_FOLDER) {
			fd_close(&above);
			above = fcntl(dirfd(d), F_DUPFD_CLOEXEC, 3);
			is_top = false;
		}
		(void)closedir(d);
		if (left == LEFT_MORE || above < 0)
			return false;
		if (left == LEFT_FOLDER)
			continue;
		if (unlinkat(above, here, AT_REMOVEDIR) != 0)
			r->error = errno;
		else if (r->budget > 0)
			r->budget--;
		return r->error == 0 && is_top;
	}
}

int
remove_act(int parent, const char *name, bool all,
    nacre_sandbox_v1_FileReply *reply)
{
	struct removal r = { .budget = SANDBOX_REMOVE };
	bool is_done = false;

	if (unlinkat(parent, name, 0) == 0) {
		reply->removed = 1;
		return 0;
	}
	if (errno != EISDIR)
		return errno;
	if (!all) {
		if (unlinkat(parent, name, AT_REMOVEDIR) != 0)
			return errno;
		reply->removed = 1;
		return 0;
	}
	while (!is_done && r.error == 0 && r.budget > 0)
		is_done = remove_deepest(&r, parent, name);
	reply->removed = SANDBOX_REMOVE - r.budget;
	reply->more = !is_done && r.error == 0;
	return r.error;
}
