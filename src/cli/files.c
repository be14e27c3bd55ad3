/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre sandbox cp, both ways: files, folders and symbolic links, no tar.
 * What comes out of a sandbox is written by unpack.c.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/unpack.h"
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
	struct unpack unpack; /* get */
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
	char own[256];
	struct stat st;

	if (unpack_name(from, own, sizeof(own), f) != 0)
		return -1;
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
	m.kind.start.name = arena_str(&k->arena, span_str(own));
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

static bool
get_message(struct client_stream *s, struct span message)
{
	struct copy *k = s->owner;
	nacre_v1_FileChunk m = nacre_v1_FileChunk_init_zero;
	int rc =
	    WIRE_DECODE(nacre_v1_FileChunk, &m, message, &k->arena, &s->fault);

	if (rc == 0)
		rc = unpack_take(&k->unpack, &m, &s->fault);
	arena_release(&k->arena);
	k->bytes = k->unpack.bytes;
	k->entries = k->unpack.entries;
	return rc == 0;
}

static int
get(struct copy *k, const char *name, const char *from, const char *to,
    struct fault *f)
{
	nacre_v1_GetFilesRequest ask = nacre_v1_GetFilesRequest_init_zero;

	if (unpack_open(&k->unpack, to, from, f) != 0)
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
	unpack_finish(&k->unpack);
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
	struct copy k = { .unpack = UNPACK_NONE };
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
	unpack_close(&k.unpack);
	client_close(&k.client);
	arena_release(&k.arena);
	return rc == 0 ? 0 : cli_fail(&f, k.client.hint);
}
