/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Templates on disk that were not used for longest go when there are too
 * many: each kernel, guest and VMM makes new ones. A folder's time is when it
 * was last loaded. Half-made ones of processes that died go after an hour.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "machine/inner.h"

enum {
	KEEP = 12,
	SEEN = 256, /* looked at in one go */
	PART_SECONDS = 3600,
};

struct entry {
	char name[MACHINE_KEY + 16];
	time_t used;
};

void
template_touch(int dir)
{
	(void)futimens(dir, NULL);
}

static bool
is_key(const char *name)
{
	return strlen(name) == MACHINE_KEY - 1;
}

/* Whole templates into out; half-made ones that nobody works on are removed. */
static size_t
list(const char *cache, const char *path, struct entry *out)
{
	DIR *dir = opendir(path);
	const struct dirent *e;
	time_t now = time(NULL);
	size_t n = 0;

	/* One thread, one stream: readdir is safe. */
	while (dir && n < SEEN &&
	    (e = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe) */
		struct stat st;

		if (e->d_name[0] == '.' ||
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) !=
			0 ||
		    !text_copy(out[n].name, sizeof(out[n].name),
			span_str(e->d_name)))
			continue;
		out[n].used = st.st_mtime;
		if (is_key(e->d_name))
			n++;
		else if (now - st.st_mtime > PART_SECONDS)
			machine_template_forget(cache, e->d_name);
	}
	if (dir)
		(void)closedir(dir);
	return n;
}

void
template_drop_old(const char *cache)
{
	static struct entry all[SEEN];
	char path[512];
	size_t n;

	if (!text_fmt(path, sizeof(path), "%s/templates", cache))
		return;
	n = list(cache, path, all);
	while (n > KEEP) {
		size_t oldest = 0;

		for (size_t i = 1; i < n; i++)
			if (all[i].used < all[oldest].used)
				oldest = i;
		machine_template_forget(cache, all[oldest].name);
		all[oldest] = all[--n];
	}
}
