/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes out of a sandbox is a stranger's: names are checked and nothing
 * is written through a link (openat2 RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS).
 */
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/unpack.h"
#include "wire/wire.h"

/* Where the last part of a path begins. */
static size_t
last_part(struct span path)
{
	size_t n = path.len;

	while (n > 0 && path.ptr[n - 1] != '/')
		n--;
	return n;
}

static struct span
without_slashes(struct span path)
{
	while (path.len > 1 && path.ptr[path.len - 1] == '/')
		path.len--;
	return path;
}

int
unpack_name(const char *path, char *out, size_t size, struct fault *f)
{
	struct span s = without_slashes(span_str(path));

	s = span_from(s, last_part(s));
	if (span_is(s, ".") || span_is(s, ".."))
		s.len = 0;
	if (!text_copy(out, size, s))
		return fault_set(f, FAULT_INVALID,
		    "the name of '%s' is too long", path);
	return 0;
}

/* Relative, no "..", no empty part. */
static bool
path_is_plain(const char *p)
{
	struct span s = span_str(p);

	if (s.len == 0)
		return true;
	while (s.len > 0) {
		size_t n = span_find(s, '/');
		struct span part = span_of(s.ptr, n);

		if (n == 0 || span_is(part, ".") || span_is(part, ".."))
			return false;
		if (n + 1 == s.len)
			return false;
		s = span_from(s, n + 1);
	}
	return true;
}

int
unpack_open(struct unpack *u, const char *to, const char *from, struct fault *f)
{
	struct stat st;
	char folder[LIMIT_PATH] = ".";
	struct span path = without_slashes(span_str(to));
	struct span above = span_of(path.ptr, last_part(path));
	struct span name = span_from(path, above.len);

	if (stat(to, &st) == 0 && S_ISDIR(st.st_mode)) {
		above = path;
		if (unpack_name(from, u->target, sizeof(u->target), f) != 0)
			return -1;
	} else if (name.len == 0 ||
	    !text_copy(u->target, sizeof(u->target), name) ||
	    !path_is_plain(u->target)) {
		return fault_set(f, FAULT_INVALID, "cannot copy to '%s'", to);
	} else {
		u->wants_folder = to[path.len] == '/';
	}
	if (above.len > 0 && !text_copy(folder, sizeof(folder), above))
		return fault_set(f, FAULT_INVALID, "cannot copy to '%s'", to);
	u->base = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (u->base < 0)
		return fault_sys(f, "cannot open folder '%s'", folder);
	return 0;
}

static int
open_below(int dir, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)flags,
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
		    RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

void
unpack_finish(struct unpack *u)
{
	struct timespec times[2] = {
		{ .tv_nsec = UTIME_NOW },
		{ .tv_sec = u->mtime_ms / 1000,
		    .tv_nsec = u->mtime_ms % 1000 * 1000000 },
	};

	if (u->file < 0)
		return;
	/* Never setuid, setgid or sticky from a sandbox. */
	(void)fchmod(u->file, u->mode & 0777);
	if (u->mtime_ms > 0)
		(void)futimens(u->file, times);
	fd_close(&u->file);
}

/* The folder that path is in. */
static int
open_parent(struct unpack *u, const char *path, int *dir, struct fault *f)
{
	char folder[LIMIT_PATH] = ".";
	size_t n = last_part(span_str(path));

	if (n > 0)
		(void)text_copy(folder, sizeof(folder), span_of(path, n - 1));
	*dir =
	    open_below(u->base, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	return *dir >= 0 ? 0 : fault_sys(f, "cannot open folder of '%s'", path);
}

static int
take_file(struct unpack *u, const char *path, const nacre_v1_Entry *e,
    struct fault *f)
{
	u->mode = e->mode;
	u->mtime_ms = e->mtime_ms;
	u->file = open_below(u->base, path,
	    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	return u->file >= 0 ? 0 : fault_sys(f, "cannot write '%s'", path);
}

static int
take_folder(struct unpack *u, const char *path, const nacre_v1_Entry *e,
    struct fault *f)
{
	const char *name = path + last_part(span_str(path));
	struct stat st;
	with_fd dir = -1;

	if (open_parent(u, path, &dir, f) != 0)
		return -1;
	if (mkdirat(dir, name, 0700 | (e->mode & 0777)) == 0)
		return 0;
	if (errno == EEXIST &&
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISDIR(st.st_mode))
			return 0;
		errno = ENOTDIR;
	}
	return fault_sys(f, "cannot make folder '%s'", path);
}

/* A link takes the place of what is there, but not of a folder. */
static int
take_link(struct unpack *u, const char *path, const nacre_v1_Entry *e,
    struct fault *f)
{
	const char *name = path + last_part(span_str(path));
	char link[LIMIT_PATH];
	with_fd dir = -1;

	if (!wire_path(e->link, link, sizeof(link)))
		return fault_set(f, FAULT_PROTOCOL, "a link leads nowhere");
	if (open_parent(u, path, &dir, f) != 0)
		return -1;
	if (symlinkat(link, dir, name) == 0)
		return 0;
	if (errno == EEXIST && unlinkat(dir, name, 0) == 0 &&
	    symlinkat(link, dir, name) == 0)
		return 0;
	return fault_sys(f, "cannot make link '%s'", path);
}

static int
take_entry(struct unpack *u, const nacre_v1_Entry *e, struct fault *f)
{
	bool is_folder = e->kind == nacre_v1_EntryKind_ENTRY_FOLDER;
	char path[LIMIT_PATH];
	char full[LIMIT_PATH];

	unpack_finish(u);
	if (!wire_path(e->path, path, sizeof(path)) || !path_is_plain(path))
		return fault_set(f, FAULT_PROTOCOL,
		    "the sandbox sent a path that leaves the copy");
	if (!text_fmt(full, sizeof(full), "%s%s%s", u->target,
		*u->target && *path ? "/" : "", path))
		return fault_set(f, FAULT_LIMIT, "path is too long");
	if (*path == '\0' && u->wants_folder && !is_folder)
		return fault_set(f, FAULT_INVALID,
		    "cannot make '%s/': what is copied is no folder", full);
	u->entries++;
	/* What is in a folder goes into one that is there. */
	if (*full == '\0' && is_folder)
		return 0;
	if (*full == '\0')
		return fault_set(f, FAULT_PROTOCOL,
		    "the sandbox sent a file that has no name");
	if (is_folder)
		return take_folder(u, full, e, f);
	if (e->kind == nacre_v1_EntryKind_ENTRY_FILE)
		return take_file(u, full, e, f);
	return take_link(u, full, e, f);
}

/* The file ends where it was written to, or where the last hole does. */
static int
take_hole(struct unpack *u, uint64_t n, struct fault *f)
{
	off_t at;

	if (u->file < 0)
		return fault_set(f, FAULT_PROTOCOL, "a hole in no file");
	at = n > INT64_MAX ? -1 : lseek(u->file, (off_t)n, SEEK_CUR);
	if (at < 0 || ftruncate(u->file, at) != 0)
		return fault_sys(f, "cannot write '%s'", u->target);
	u->bytes += n;
	return 0;
}

static int
take_data(struct unpack *u, struct span data, struct fault *f)
{
	if (u->file < 0)
		return fault_set(f, FAULT_PROTOCOL, "bytes of no file");
	u->bytes += data.len;
	return fd_write_all(u->file, data.ptr, data.len, f);
}

int
unpack_take(struct unpack *u, const nacre_v1_FileChunk *m, struct fault *f)
{
	if (m->which_kind == nacre_v1_FileChunk_entry_tag)
		return take_entry(u, &m->kind.entry, f);
	if (m->which_kind == nacre_v1_FileChunk_hole_tag)
		return take_hole(u, m->kind.hole, f);
	if (m->which_kind == nacre_v1_FileChunk_data_tag)
		return take_data(u, wire_span(m->kind.data), f);
	return 0;
}

void
unpack_close(struct unpack *u)
{
	fd_close(&u->file);
	fd_close(&u->base);
}
