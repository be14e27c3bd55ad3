/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves: cgroups below the agent's, one a process that exec starts. The
 * limits are the agent's as a whole, on the folder above; when they are
 * reached, one leaf dies and no other process of the agent.
 *
 * A leaf is made once and used again when it is empty, which costs an exec no
 * mkdir. Processes that outlive their exec stay in its leaf. When no leaf is
 * empty, an exec joins the processes that were left behind in one.
 *
 * A spare waits in a leaf, as moving a process between cgroups costs more than
 * making one. It is no process of the agent's: while it waits the limit is one
 * more.
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

bool
leaf_is_empty(const struct leaf *l)
{
	return !l || read_count(l->fd, "cgroup.events", "populated ") == 0;
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
		if (leaf_is_empty(l))
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

static int
write_pids(const struct sandbox *sb, uint64_t max, struct fault *f)
{
	char text[24];

	(void)text_fmt(text, sizeof(text), "%llu", (unsigned long long)max);
	if (pwrite(sb->pids_limit, text, strlen(text), 0) < 0)
		return fault_sys(f, "pids.max");
	return 0;
}

int
leaf_limit_pids(struct sandbox *sb, uint32_t max, struct fault *f)
{
	if (max == 0)
		return 0;
	sb->pids_limit = openat(sb->cgroup, "pids.max", O_WRONLY | O_CLOEXEC);
	sb->pids_now = openat(sb->cgroup, "pids.current", O_RDONLY | O_CLOEXEC);
	if (sb->pids_limit < 0 || sb->pids_now < 0)
		return fault_sys(f, "cannot open 'pids.max'");
	sb->pids_max = max;
	return 0;
}

int
leaf_count_spare(struct sandbox *sb, bool is_there, struct fault *f)
{
	return sb->pids_max == 0
	    ? 0
	    : write_pids(sb, (uint64_t)sb->pids_max + is_there, f);
}

bool
leaf_is_full(const struct sandbox *sb)
{
	char text[24];
	uint64_t n = 0;
	ssize_t got;

	if (sb->pids_max == 0)
		return false;
	got = pread(sb->pids_now, text, sizeof(text), 0);
	/* Who cannot be counted is too many. */
	return got <= 1 ||
	    !num_parse(span_of(text, (size_t)got - 1), UINT64_MAX, &n) ||
	    n > sb->pids_max;
}
