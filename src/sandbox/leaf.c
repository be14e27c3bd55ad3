/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves: cgroups below the agent's, one a process that exec starts. The
 * limits are the agent's as a whole, on the folder above; when they are
 * reached, one leaf dies and no other process of the agent.
 *
 * A leaf is made once and used again when it is empty, which costs an exec no
 * mkdir. Processes that outlive their exec stay in its leaf. When no leaf is
 * empty, an exec joins the processes that were left behind in one.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/inner.h"

/* The number behind a key of a flat keyed file, 0 where there is none. */
static uint64_t
read_count(int folder, const char *file, const char *key)
{
	char text[512];
	uint64_t n = 0;
	const char *at;
	with_fd fd = openat(folder, file, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (got <= 0)
		return 0;
	text[got] = '\0';
	at = strstr(text, key);
	if (at) {
		struct span digits = span_str(at + strlen(key));

		digits.len = span_find(digits, '\n');
		(void)num_parse(digits, UINT64_MAX, &n);
	}
	return n;
}

static int
leaf_open(const struct sandbox *sb, struct leaf *l, struct fault *f)
{
	char name[16];
	with_fd group = -1;
	with_fd fd = -1;

	(void)text_fmt(name, sizeof(name), "%zu", (size_t)(l - sb->leaves));
	if (mkdirat(sb->cgroup, name, 0755) != 0 && errno != EEXIST)
		return fault_sys(f, "cannot make a cgroup");
	fd = openat(sb->cgroup, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		group = openat(fd, "memory.oom.group", O_WRONLY | O_CLOEXEC);
	if (group < 0)
		return fault_sys(f, "cannot open a cgroup");
	if (fd_write_all(group, "1", 1, f) != 0)
		return fault_prefix(f, "memory.oom.group");
	l->fd = fd_take(&fd);
	l->is_open = true;
	return 0;
}

int
leaf_take(struct sandbox *sb, struct leaf **out, struct fault *f)
{
	struct leaf *full = NULL;

	*out = NULL;
	if (sb->cgroup < 0)
		return 0;
	for (size_t i = 0; i < SANDBOX_LEAVES && !*out; i++) {
		struct leaf *l = &sb->leaves[i];

		if (l->is_used)
			continue;
		if (!l->is_open && leaf_open(sb, l, f) != 0)
			return -1;
		if (read_count(l->fd, "cgroup.events", "populated ") == 0)
			*out = l;
		else if (!full)
			full = l;
	}
	if (!*out)
		*out = full;
	/* There are more leaves than execs. */
	BUG_IF(!*out);
	(*out)->is_used = true;
	return 0;
}

void
leaf_give(struct leaf *l)
{
	if (l)
		l->is_used = false;
}

int
leaf_fd(const struct leaf *l)
{
	return l ? l->fd : -1;
}

/* memory.events: oom_kill counts processes that a limit killed. */
uint64_t
leaf_ooms(const struct leaf *l)
{
	return l ? read_count(l->fd, "memory.events", "oom_kill ") : 0;
}
