/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acts on files inside the root, with the agent's own rights: the uid, the
 * groups and no capability that opens files. So a link that the agent plants
 * leads where the agent could go itself, and nowhere else. Paths resolve in
 * the root without magic links; plain files, folders and links only.
 */
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/inner.h"

#ifndef SYS_fchmodat2
# define SYS_fchmodat2 452 /* Linux 6.6 */
#endif

static int
open_in(int root, const char *path, int flags)
{
	return fd_open_under(root, path, flags,
	    RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

/* The kernel's own file systems show this process, not the agent's. */
static int
refuse_kernel(int fd)
{
	static const long refused[] = { PROC_SUPER_MAGIC, SYSFS_MAGIC,
		CGROUP2_SUPER_MAGIC, DEVPTS_SUPER_MAGIC };
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return errno;
	for (size_t i = 0; i < NELEM(refused); i++)
		if ((long)fs.f_type == refused[i])
			return EOPNOTSUPP;
	return 0;
}

/* The folder that holds path's last name, and that name. */
static int
open_parent(int root, const char *path, int *fd, const char **name)
{
	char folder[LIMIT_PATH];
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;

	*name = slash ? slash + 1 : path;
	if (**name == '\0' || strcmp(*name, ".") == 0 ||
	    strcmp(*name, "..") == 0)
		return EINVAL;
	if (!text_copy(folder, sizeof(folder),
		n ? span_of(path, n) : SPAN_LIT("/")))
		return ENAMETOOLONG;
	*fd = open_in(root, folder, O_PATH | O_DIRECTORY);
	if (*fd < 0)
		return errno;
	return refuse_kernel(*fd);
}

static void
set_node(nacre_sandbox_v1_Node *n, const struct stat *st)
{
	n->mode = st->st_mode;
	n->size = (uint64_t)st->st_size;
	n->mtime_ms =
	    (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

static int
act_stat(int root, const char *path, nacre_sandbox_v1_FileReply *r)
{
	with_fd fd = open_in(root, path, O_PATH);
	struct stat st;
	int e;

	if (fd < 0 || fstat(fd, &st) != 0)
		return errno;
	e = refuse_kernel(fd);
	if (e == 0) {
		r->has_node = true;
		set_node(&r->node, &st);
	}
	return e;
}

/* Take a descriptor out if it is a plain file. */
static int
give_plain(int *fd, nacre_sandbox_v1_FileReply *r, int *out)
{
	struct stat st;

	if (*fd < 0 || fstat(*fd, &st) != 0)
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	if (!S_ISREG(st.st_mode))
		return EOPNOTSUPP;
	r->has_node = true;
	set_node(&r->node, &st);
	*out = fd_take(fd);
	return 0;
}

static int
act_open(int root, const char *path, nacre_sandbox_v1_FileReply *r, int *out)
{
	with_fd fd = open_in(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	int e = fd < 0 ? errno : refuse_kernel(fd);

	return e ? e : give_plain(&fd, r, out);
}

static int
act_create(int parent, const char *name, const nacre_sandbox_v1_FileRequest *q,
    nacre_sandbox_v1_FileReply *r, int *out)
{
	with_fd fd = openat(parent, name,
	    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
		O_CLOEXEC,
	    (q->mode & 0777) | 0200);

	return give_plain(&fd, r, out);
}

static int
act_folder(int parent, const char *name, const nacre_sandbox_v1_FileRequest *q)
{
	struct stat st;

	if (mkdirat(parent, name, (q->mode & 01777) | 0700) == 0)
		return 0;
	if (errno != EEXIST)
		return errno;
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno;
	return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
}

/* A link takes the place of a link or a plain file, as it does on the way out;
 * of nothing else. */
static int
act_link(int parent, const char *name, const nacre_sandbox_v1_FileRequest *q)
{
	char link[LIMIT_PATH];
	struct stat st;

	if (!wire_path(q->link, link, sizeof(link)) || link[0] == '\0')
		return EINVAL;
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (S_ISLNK(st.st_mode) || S_ISREG(st.st_mode)) &&
	    unlinkat(parent, name, 0) != 0)
		return errno;
	return symlinkat(link, parent, name) != 0 ? errno : 0;
}

static int
act_finish(int parent, const char *name, const nacre_sandbox_v1_FileRequest *q)
{
	struct timespec t[2] = { { .tv_nsec = UTIME_OMIT },
		{ .tv_sec = q->mtime_ms / 1000,
		    .tv_nsec = q->mtime_ms % 1000 * 1000000 } };
	struct stat st;

	if (q->mtime_ms < 0 ||
	    fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return q->mtime_ms < 0 ? EINVAL : errno;
	if (!S_ISLNK(st.st_mode) &&
	    syscall(SYS_fchmodat2, parent, name, q->mode & 07777,
		AT_SYMLINK_NOFOLLOW) != 0)
		return errno;
	if (q->mtime_ms > 0 &&
	    utimensat(parent, name, t, AT_SYMLINK_NOFOLLOW) != 0)
		return errno;
	return 0;
}

static int
list_node(DIR *d, const struct dirent *e, nacre_sandbox_v1_Node *n,
    struct arena *a)
{
	struct stat st;

	if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno;
	set_node(n, &st);
	n->name = wire_bytes(a, span_str(e->d_name));
	if (S_ISLNK(st.st_mode)) {
		char target[LIMIT_PATH];
		ssize_t got =
		    readlinkat(dirfd(d), e->d_name, target, sizeof(target));

		if (got < 0)
			return errno;
		n->link = wire_bytes(a, span_of(target, (size_t)got));
	}
	return n->name ? 0 : ENOMEM;
}

static size_t
node_bytes(const nacre_sandbox_v1_Node *n)
{
	return wire_span(n->name).len + wire_span(n->link).len;
}

/*
 * A part of the list. The cursor is the file system's own place in the folder,
 * so that no part reads those before it again and an entry that comes or goes
 * moves no other.
 */
static int
list_part(DIR *d, nacre_sandbox_v1_FileReply *r, struct arena *a)
{
	size_t bytes = 0;

	while (r->nodes_count < SANDBOX_LIST && bytes < SANDBOX_LIST_BYTES) {
		nacre_sandbox_v1_Node *n = &r->nodes[r->nodes_count];
		/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
		const struct dirent *at = readdir(d);
		int e;

		if (!at)
			return 0;
		r->cursor = (uint64_t)at->d_off;
		if (strcmp(at->d_name, ".") == 0 ||
		    strcmp(at->d_name, "..") == 0)
			continue;
		e = list_node(d, at, n, a);
		if (e == ENOENT) /* gone meanwhile: no error of the list */
			continue;
		if (e)
			return e;
		bytes += node_bytes(n);
		r->nodes_count++;
	}
	r->more = true;
	return 0;
}

static int
act_list(int root, const char *path, uint64_t cursor,
    nacre_sandbox_v1_FileReply *r, struct arena *a)
{
	with_fd fd = open_in(root, path, O_RDONLY | O_DIRECTORY);
	int e = fd < 0 ? errno : refuse_kernel(fd);
	DIR *d;

	if (e)
		return e;
	r->nodes = arena_get(a, SANDBOX_LIST * sizeof(*r->nodes));
	if (!r->nodes)
		return ENOMEM;
	d = fdopendir(fd);
	if (!d)
		return errno;
	(void)fd_take(&fd);
	if (cursor)
		seekdir(d, (long)cursor);
	e = list_part(d, r, a);
	(void)closedir(d);
	return e;
}

int
file_act(int root, const nacre_sandbox_v1_FileRequest *q,
    nacre_sandbox_v1_FileReply *r, int *fd, struct arena *a)
{
	with_fd parent = -1;
	char path[LIMIT_PATH];
	const char *name;
	int e;

	*fd = -1;
	if (!wire_path(q->path, path, sizeof(path)) || path[0] != '/')
		return EINVAL;
	if (q->verb == nacre_sandbox_v1_FileVerb_FILE_STAT)
		return act_stat(root, path, r);
	if (q->verb == nacre_sandbox_v1_FileVerb_FILE_OPEN)
		return act_open(root, path, r, fd);
	if (q->verb == nacre_sandbox_v1_FileVerb_FILE_LIST)
		return act_list(root, path, q->cursor, r, a);
	e = open_parent(root, path, &parent, &name);
	if (e)
		return e;
	if (q->verb == nacre_sandbox_v1_FileVerb_FILE_CREATE)
		return act_create(parent, name, q, r, fd);
	if (q->verb == nacre_sandbox_v1_FileVerb_FILE_FOLDER)
		return act_folder(parent, name, q);
	if (q->verb == nacre_sandbox_v1_FileVerb_FILE_LINK)
		return act_link(parent, name, q);
	if (q->verb == nacre_sandbox_v1_FileVerb_FILE_REMOVE)
		return remove_act(parent, name, q->all, r);
	if (q->verb == nacre_sandbox_v1_FileVerb_FILE_FINISH)
		return act_finish(parent, name, q);
	return EOPNOTSUPP;
}

static int
as_agent(struct sandbox *sb, const nacre_sandbox_v1_FileRequest *q,
    nacre_sandbox_v1_FileReply *r, int *fd, struct arena *a)
{
	with_fd root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int e;

	*fd = -1;
	if (root < 0 || rights_act_as(&sb->who) != 0)
		return errno;
	e = file_act(root, q, r, fd, a);
	rights_act_end();
	return e;
}

void
file_serve(struct serving *s, struct span m)
{
	nacre_sandbox_v1_FileRequest q = nacre_sandbox_v1_FileRequest_init_zero;
	nacre_sandbox_v1_FileReply r = nacre_sandbox_v1_FileReply_init_zero;
	struct fault f = { 0 };
	struct arena a;
	int fd = -1;

	arena_init(&a, SANDBOX_ARENA);
	if (WIRE_DECODE(nacre_sandbox_v1_FileRequest, &q, m, &a, &f) == 0) {
		r.error = as_agent(s->sb, &q, &r, &fd, &a);
		if (fd >= 0) {
			r.tag = ++s->sb->last_tag;
			if (bulk_pass(s->sb, r.tag, &fd, 1, &f) != 0)
				log_warn(&f, "cannot pass a file");
		}
	}
	if (f.code != FAULT_NONE)
		sandbox_refuse(s->call, &f);
	else
		sandbox_answer(s->call, nacre_sandbox_v1_FileReply_fields, &r);
	arena_release(&a);
}
