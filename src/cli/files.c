/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre sandbox cp, both ways: files, folders and symbolic links, no tar.
 * What comes out of a sandbox is a stranger's: names are checked and nothing
 * is written through a link (openat2 RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS).
 */
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/inner.h"
#include "proto/nacre_v1.pb.h"
#include "wire/wire.h"

enum {
	COPY_DEPTH = 64
};

struct copy {
	struct client client;
	struct client_stream stream;
	struct arena arena; /* of one message */
	uint64_t bytes;
	uint64_t entries;
	char doing[200];
	/* put */
	bool answered;
	/* get */
	int base;                /* folder that everything stays below */
	char target[LIMIT_PATH]; /* name of the copy in it */
	int file;                /* being written, -1 none */
	uint32_t mode;
	int64_t mtime_ms;
};

/* "NAME:PATH": the name has no slash. */
static bool
is_remote(const char *word, char *name, size_t size, const char **path)
{
	const char *colon = strchr(word, ':');
	const char *slash = strchr(word, '/');

	if (!colon || (slash && slash < colon))
		return false;
	*path = colon + 1;
	return text_copy(name, size, span_of(word, (size_t)(colon - word)));
}

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Wait until one more chunk fits. */
static int
wait_room(struct copy *k, struct fault *f)
{
	while (k->stream.call && rpc_room(k->stream.call) < LIMIT_CHUNK + 8192)
		if (loop_tick(k->client.loop, -1, f) != 0)
			return -1;
	if (k->stream.call)
		return 0;
	if (k->stream.fault.code == FAULT_NONE)
		return fault_set(f, FAULT_LOST, "the gateway closed the copy");
	*f = k->stream.fault;
	return -1;
}

static int
send_chunk(struct copy *k, const nacre_v1_FileChunk *m, struct fault *f)
{
	int rc = wait_room(k, f);

	if (rc == 0)
		rc = client_stream_send(&k->stream, nacre_v1_FileChunk_fields,
		    m, f);
	arena_release(&k->arena);
	return rc;
}

/* The zeros ahead that take no room are told as their length, once. */
static int
send_hole(struct copy *k, int fd, struct fault *f)
{
	nacre_v1_FileChunk m = nacre_v1_FileChunk_init_zero;
	off_t at = lseek(fd, 0, SEEK_CUR);
	off_t data = at < 0 ? at : lseek(fd, at, SEEK_DATA);

	if (at >= 0 && data < 0 && errno == ENXIO)
		data = lseek(fd, 0, SEEK_END);
	if (data <= at)
		return at < 0 || lseek(fd, at, SEEK_SET) == at
		    ? 0
		    : fault_sys(f, "cannot read on");
	m.which_kind = nacre_v1_FileChunk_hole_tag;
	m.kind.hole = (uint64_t)(data - at);
	k->bytes += m.kind.hole;
	return send_chunk(k, &m, f);
}

static int
send_file(struct copy *k, int fd, const char *path, struct fault *f)
{
	uint8_t chunk[LIMIT_CHUNK];

	for (;;) {
		nacre_v1_FileChunk m = nacre_v1_FileChunk_init_zero;
		ssize_t n;

		if (send_hole(k, fd, f) != 0)
			return -1;
		n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fault_sys(f, "cannot read '%s'", path);
		if (n == 0)
			return 0;
		m.which_kind = nacre_v1_FileChunk_data_tag;
		m.kind.data = wire_bytes(&k->arena, span_of(chunk, (size_t)n));
		if (send_chunk(k, &m, f) != 0)
			return -1;
		k->bytes += (uint64_t)n;
	}
}

static int
send_entry(struct copy *k, const char *path, const struct stat *st,
    const char *link, struct fault *f)
{
	nacre_v1_FileChunk m = nacre_v1_FileChunk_init_zero;
	nacre_v1_Entry *e = &m.kind.entry;

	m.which_kind = nacre_v1_FileChunk_entry_tag;
	e->path = wire_bytes(&k->arena, span_str(path));
	e->kind = S_ISDIR(st->st_mode) ? nacre_v1_EntryKind_ENTRY_FOLDER
	    : S_ISLNK(st->st_mode)     ? nacre_v1_EntryKind_ENTRY_LINK
				       : nacre_v1_EntryKind_ENTRY_FILE;
	e->mode = st->st_mode & 07777;
	e->size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
	e->link = link ? wire_bytes(&k->arena, span_str(link)) : NULL;
	e->mtime_ms =
	    (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
	k->entries++;
	return send_chunk(k, &m, f);
}

static int send_folder(struct copy *k, int fd, const char *path, int depth,
    struct fault *f);

/* One name below dir; path is what the sandbox is told. */
static int
send_one(struct copy *k, int dir, const char *name, const char *path, int depth,
    struct fault *f)
{
	struct stat st;
	with_fd fd = -1;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return fault_sys(f, "cannot look at '%s'", name);
	if (S_ISLNK(st.st_mode)) {
		char link[LIMIT_PATH];
		ssize_t n = readlinkat(dir, name, link, sizeof(link) - 1);

		if (n < 0)
			return fault_sys(f, "cannot read link '%s'", name);
		link[n] = '\0';
		return send_entry(k, path, &st, link, f);
	}
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		(void)fprintf(stderr, "nacre: skipped '%s': not a file\n",
		    name);
		return 0;
	}
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fault_sys(f, "cannot open '%s'", name);
	if (send_entry(k, path, &st, NULL, f) != 0)
		return -1;
	if (S_ISREG(st.st_mode))
		return send_file(k, fd, name, f);
	return send_folder(k, fd_take(&fd), path, depth + 1, f);
}

/* Takes fd. */
static int
send_folder(struct copy *k, int fd, const char *path, int depth,
    struct fault *f)
{
	DIR *dir = fdopendir(fd);
	struct dirent *d;
	char below[LIMIT_PATH];
	int rc = 0;

	if (!dir) {
		(void)fault_sys(f, "cannot read folder '%s'", path);
		(void)close(fd);
		return -1;
	}
	if (depth > COPY_DEPTH)
		rc = fault_set(f, FAULT_LIMIT, "'%s' is over %d folders deep",
		    path, COPY_DEPTH);
	/* One thread: readdir's buffer is this loop's own. */
	while (rc == 0 &&
	    (d = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe) */
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (!text_fmt(below, sizeof(below), "%s%s%s", path,
			*path ? "/" : "", d->d_name)) {
			rc = fault_set(f, FAULT_LIMIT, "path is too long");
			break;
		}
		rc = send_one(k, dirfd(dir), d->d_name, below, depth, f);
	}
	(void)closedir(dir);
	return rc;
}

static bool
put_message(struct client_stream *s, struct span message)
{
	struct copy *k = s->owner;
	nacre_v1_FilesReply a = nacre_v1_FilesReply_init_zero;

	if (WIRE_DECODE(nacre_v1_FilesReply, &a, message, &k->arena,
		&s->fault) != 0)
		return false;
	k->answered = true;
	k->bytes = a.bytes;
	k->entries = a.entries;
	return true;
}

static int
put(struct copy *k, const char *from, const char *name, const char *to,
    struct fault *f)
{
	nacre_v1_FileChunk m = nacre_v1_FileChunk_init_zero;
	struct stat st;

	if (stat(from, &st) != 0) {
		(void)fault_sys(f, "cannot open '%s'", from);
		f->code = FAULT_NOT_FOUND;
		return -1;
	}
	k->stream.message = put_message;
	k->stream.owner = k;
	if (client_stream_open(&k->client, &k->stream,
		"/nacre.v1.Nacre/PutFiles", f) != 0)
		return -1;
	m.which_kind = nacre_v1_FileChunk_start_tag;
	m.kind.start.sandbox = arena_str(&k->arena, span_str(name));
	m.kind.start.path = arena_str(&k->arena, span_str(to));
	m.kind.start.is_folder = S_ISDIR(st.st_mode);
	m.kind.start.name = arena_str(&k->arena, span_str(base_name(from)));
	if (send_chunk(k, &m, f) != 0 ||
	    send_one(k, AT_FDCWD, from, "", 0, f) != 0)
		return -1;
	rpc_half_close(k->stream.call);
	if (client_stream_run(&k->stream, f) != 0)
		return -1;
	return k->answered
	    ? 0
	    : fault_set(f, FAULT_PROTOCOL, "the copy was not confirmed");
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

/* Close the file being written; give it its mode and time. */
static void
finish_file(struct copy *k)
{
	struct timespec times[2] = {
		{ .tv_nsec = UTIME_NOW },
		{ .tv_sec = k->mtime_ms / 1000,
		    .tv_nsec = k->mtime_ms % 1000 * 1000000 },
	};

	if (k->file < 0)
		return;
	/* Never setuid, setgid or sticky from a sandbox. */
	(void)fchmod(k->file, k->mode & 0777);
	if (k->mtime_ms > 0)
		(void)futimens(k->file, times);
	fd_close(&k->file);
}

static int
take_entry(struct copy *k, const nacre_v1_Entry *e, struct fault *f)
{
	char path[LIMIT_PATH];
	char full[LIMIT_PATH];
	char folder[LIMIT_PATH];
	char *slash;
	with_fd dir = -1;

	finish_file(k);
	if (!wire_path(e->path, path, sizeof(path)) || !path_is_plain(path))
		return fault_set(f, FAULT_PROTOCOL,
		    "the sandbox sent a path that leaves the copy");
	if (!text_fmt(full, sizeof(full), "%s%s%s", k->target, *path ? "/" : "",
		path))
		return fault_set(f, FAULT_LIMIT, "path is too long");
	k->entries++;
	if (e->kind == nacre_v1_EntryKind_ENTRY_FILE) {
		k->mode = e->mode;
		k->mtime_ms = e->mtime_ms;
		k->file = open_below(k->base, full,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
		if (k->file < 0)
			return fault_sys(f, "cannot write '%s'", full);
		return 0;
	}
	(void)text_copy(folder, sizeof(folder), span_str(full));
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	dir = open_below(k->base, slash ? folder : ".",
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (dir < 0)
		return fault_sys(f, "cannot open folder of '%s'", full);
	if (e->kind == nacre_v1_EntryKind_ENTRY_FOLDER) {
		if (mkdirat(dir, base_name(full), 0700 | (e->mode & 0777)) !=
			0 &&
		    errno != EEXIST)
			return fault_sys(f, "cannot make folder '%s'", full);
		return 0;
	}
	if (!wire_path(e->link, folder, sizeof(folder)))
		return fault_set(f, FAULT_PROTOCOL, "a link leads nowhere");
	if (symlinkat(folder, dir, base_name(full)) != 0)
		return fault_sys(f, "cannot make link '%s'", full);
	return 0;
}

/* The file ends where it was written to, or where the last hole does. */
static int
take_hole(struct copy *k, uint64_t n, struct fault *f)
{
	off_t at;

	if (k->file < 0)
		return fault_set(f, FAULT_PROTOCOL, "a hole in no file");
	at = n > INT64_MAX ? -1 : lseek(k->file, (off_t)n, SEEK_CUR);
	if (at < 0 || ftruncate(k->file, at) != 0)
		return fault_sys(f, "cannot write '%s'", k->target);
	k->bytes += n;
	return 0;
}

static bool
get_message(struct client_stream *s, struct span message)
{
	struct copy *k = s->owner;
	nacre_v1_FileChunk m = nacre_v1_FileChunk_init_zero;
	struct span data;
	int rc = 0;

	if (WIRE_DECODE(nacre_v1_FileChunk, &m, message, &k->arena,
		&s->fault) != 0)
		return false;
	if (m.which_kind == nacre_v1_FileChunk_entry_tag) {
		rc = take_entry(k, &m.kind.entry, &s->fault);
	} else if (m.which_kind == nacre_v1_FileChunk_hole_tag) {
		rc = take_hole(k, m.kind.hole, &s->fault);
	} else if (m.which_kind == nacre_v1_FileChunk_data_tag) {
		data = wire_span(m.kind.data);
		k->bytes += data.len;
		rc = k->file < 0
		    ? fault_set(&s->fault, FAULT_PROTOCOL, "bytes of no file")
		    : fd_write_all(k->file, data.ptr, data.len, &s->fault);
	}
	arena_release(&k->arena);
	return rc == 0;
}

/* Where the copy goes: into an existing folder, or under the given name. */
static int
open_target(struct copy *k, const char *to, const char *from, struct fault *f)
{
	struct stat st;
	char folder[LIMIT_PATH] = ".";
	const char *name = base_name(to);

	if (stat(to, &st) == 0 && S_ISDIR(st.st_mode)) {
		(void)text_copy(folder, sizeof(folder), span_str(to));
		name = base_name(from);
	} else if (name != to) {
		(void)text_copy(folder, sizeof(folder),
		    span_of(to, (size_t)(name - to)));
	}
	if (!text_copy(k->target, sizeof(k->target), span_str(name)) ||
	    !path_is_plain(k->target) || k->target[0] == '\0')
		return fault_set(f, FAULT_INVALID, "cannot copy to '%s'", to);
	k->base = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (k->base < 0)
		return fault_sys(f, "cannot open folder '%s'", folder);
	return 0;
}

static int
get(struct copy *k, const char *name, const char *from, const char *to,
    struct fault *f)
{
	nacre_v1_GetFilesRequest ask = nacre_v1_GetFilesRequest_init_zero;

	if (open_target(k, to, from, f) != 0)
		return -1;
	k->stream.message = get_message;
	k->stream.owner = k;
	if (client_stream_open(&k->client, &k->stream,
		"/nacre.v1.Nacre/GetFiles", f) != 0)
		return -1;
	ask.sandbox = arena_str(&k->client.cli->arena, span_str(name));
	ask.path = arena_str(&k->client.cli->arena, span_str(from));
	ask.holes = true;
	if (client_stream_send(&k->stream, nacre_v1_GetFilesRequest_fields,
		&ask, f) != 0)
		return -1;
	rpc_half_close(k->stream.call);
	if (client_stream_run(&k->stream, f) != 0)
		return -1;
	finish_file(k);
	return 0;
}

static void
print_copied(const struct copy *k)
{
	char size[32];

	cli_bytes(k->bytes, size);
	if (k->client.cli->json)
		(void)printf("{\"bytes\":%llu,\"entries\":%llu}\n",
		    (unsigned long long)k->bytes,
		    (unsigned long long)k->entries);
	else
		(void)printf("copied %s, %llu entries\n", size,
		    (unsigned long long)k->entries);
}

int
cmd_cp(struct cli *c, char **argv)
{
	struct copy k = { .base = -1, .file = -1 };
	struct cli_words w;
	struct fault f = { 0 };
	char name[LIMIT_NAME + 16];
	const char *path;
	int rc;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0 ||
	    cli_want(&w, 2, "sandbox cp FROM TO", &f) != 0 ||
	    client_open(&k.client, c, &f) != 0)
		return cli_fail(&f, NULL);
	arena_init(&k.arena, 4 * LIMIT_MESSAGE);
	(void)snprintf(k.doing, sizeof(k.doing), "copying '%s'", w.word[0]);
	client_doing(&k.client, k.doing);
	if (is_remote(w.word[1], name, sizeof(name), &path))
		rc = put(&k, w.word[0], name, path, &f);
	else if (is_remote(w.word[0], name, sizeof(name), &path))
		rc = get(&k, name, path, w.word[1], &f);
	else
		rc = fault_set(&f, FAULT_INVALID,
		    "one of the two must be NAME:PATH");
	if (rc == 0)
		print_copied(&k);
	fd_close(&k.file);
	fd_close(&k.base);
	client_close(&k.client);
	arena_release(&k.arena);
	return rc == 0 ? 0 : cli_fail(&f, k.client.hint);
}
