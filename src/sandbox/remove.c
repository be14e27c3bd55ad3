/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removal of a file or a folder with all that is in it, a part a call: no
 * more than SANDBOX_REMOVE names and folders that are gone into, so that
 * nobody waits for a large tree. No link is followed: each folder is opened
 * below the one before it. What the agent moves meanwhile is left or removed,
 * as it could do itself.
 *
 * Each part begins at the top, so in a deep tree each would be as long as the
 * way down. What lies CUT folders deep is moved up into the top: the way is
 * never longer, unless the agent may not move it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/inner.h"

enum {
	CUT = 16,
	DEPTH_MAX = 4096 /* of what cannot be moved: as deep as a path can be */
};

/* What was left of a folder when its files were gone. */
enum left {
	LEFT_NOTHING,
	LEFT_FOLDER, /* its name is in name */
	LEFT_MORE,   /* the budget is used up */
};

struct removal {
	unsigned budget;
	unsigned names; /* that are gone */
	bool has_begun; /* there is less to do for the next call */
	int error;
	char name[NAME_MAX + 1];
};

static void
spend(struct removal *r)
{
	if (r->budget > 0)
		r->budget--;
}

static void
count(struct removal *r)
{
	spend(r);
	r->names++;
	r->has_begun = true;
}

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
		if (r->budget == 0 && r->has_begun)
			return LEFT_MORE;
		if (unlinkat(dirfd(d), at->d_name, 0) == 0) {
			count(r);
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

static DIR *
open_folder(struct removal *r, int above)
{
	int fd = openat(above, r->name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	spend(r);
	if (d)
		return d;
	r->error = errno;
	fd_close(&fd);
	return NULL;
}

/* The folder that is next on the way, up into the top, where nothing has its
 * name. An image's own cannot be moved, nor what the agent may not. */
static bool
move_up(struct removal *r, int above, int top, unsigned depth)
{
	uint8_t random[8];
	char to[2 * sizeof(random) + 1];

	if (depth % CUT != 0)
		return false;
	random_bytes(random, sizeof(random));
	hex_format(random, sizeof(random), to);
	spend(r);
	if (renameat(above, r->name, top, to) == 0) {
		r->has_begun = true;
		return true;
	}
	if (depth >= DEPTH_MAX)
		r->error = errno;
	return false;
}

/* The folder that was asked for, or the deepest in it, is empty. */
static bool
remove_empty(struct removal *r, int above, const char *name)
{
	if (unlinkat(above, name, AT_REMOVEDIR) == 0) {
		count(r);
		return true;
	}
	r->error = errno;
	return false;
}

/* Go down to a folder that holds no other, and remove it. True: it was the
 * one that was asked for. */
static bool
remove_deepest(struct removal *r, int parent, const char *name)
{
	with_fd above = fcntl(parent, F_DUPFD_CLOEXEC, 3);
	with_fd top = -1;

	(void)text_copy(r->name, sizeof(r->name), span_str(name));
	for (unsigned depth = 0; above >= 0; depth++) {
		char here[NAME_MAX + 1];
		enum left left;
		DIR *d = NULL;

		if (depth > 1 && move_up(r, above, top, depth - 1))
			return false;
		if (r->error == 0)
			d = open_folder(r, above);
		if (!d)
			return false;
		(void)text_copy(here, sizeof(here), span_str(r->name));
		left = empty(r, d);
		if (left == LEFT_FOLDER) {
			fd_close(&above);
			above = fcntl(dirfd(d), F_DUPFD_CLOEXEC, 3);
			if (depth == 0)
				top = fcntl(dirfd(d), F_DUPFD_CLOEXEC, 3);
		}
		(void)closedir(d);
		if (left == LEFT_MORE)
			return false;
		if (left == LEFT_NOTHING)
			return remove_empty(r, above, here) && depth == 0;
	}
	r->error = EMFILE;
	return false;
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
	reply->removed = r.names;
	reply->more = !is_done && r.error == 0;
	return r.error;
}
