/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files into the sandbox. Messages come in order; one that needs the sandbox
 * holds back those behind it, and what is held keeps the peer's window, so
 * memory is bounded. The sandbox opens each file as the agent; the bytes go
 * straight into the descriptor that it hands over.
 */
#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/inner.h"

enum {
	HELD_MAX = 2 * LIMIT_WINDOW_ACTIVE,
	MEMORY_STEP = 256 << 10, /* of a memory file, between two looks */
	MEMORY_FILE = 4096,      /* what an empty one takes */
};

struct put {
	struct supervisor *sv;
	struct copy copy;
	struct rpc_call *call; /* NULL once closed */
	char target[LIMIT_PATH];
	char name[256];
	char path[LIMIT_PATH]; /* of the entry in work */
	struct buf held;       /* messages behind their lengths (4 bytes) */
	bool waits;            /* for the sandbox */
	bool closes;           /* likewise, the file before */
	char closing[LIMIT_PATH];
	bool is_done;
	int fd; /* the file being written */
	bool in_memory;
	size_t unseen;   /* bytes in memory since the last look */
	bool ends_empty; /* the file ends in a hole */
	uint32_t mode;
	int64_t mtime_ms;
	uint64_t bytes;
	uint64_t entries;
};

static void work(struct put *p);

/* One question about path to the sandbox; q's path is set here. */
static int
ask_file(struct put *p, nacre_sandbox_v1_FileRequest *q, const char *path,
    box_done done, struct fault *f)
{
	struct arena a;
	int r;

	arena_init(&a, 2 * LIMIT_PATH);
	q->path = wire_bytes(&a, span_str(path));
	r = BOX_CALL(&p->sv->box, "File", FileRequest, q, done, p, f);
	arena_release(&a);
	return r;
}

static void
put_free(void *owner)
{
	struct put *p = owner;

	fd_close(&p->fd);
	attach_copy_remove(p->sv, &p->copy);
	buf_release(&p->held);
	free(p);
}

/* Gone when both the call is closed and the sandbox has answered. */
static void
release(struct put *p)
{
	if (p->call || p->waits || p->closes)
		return;
	p->sv->files--;
	loop_bury(p->sv->loop, p, put_free);
}

static void
finish(struct put *p, const struct fault *f)
{
	if (p->is_done)
		return;
	p->is_done = true;
	attach_done(p->call, f, p->bytes, p->entries);
}

static void
end(struct copy *c, const struct fault *why)
{
	struct put *p = CONTAINER_OF(c, struct put, copy);

	finish(p, why);
	fd_close(&p->fd);
}

static void
file_closed(void *owner, const struct fault *why, struct span m)
{
	nacre_sandbox_v1_FileReply r = nacre_sandbox_v1_FileReply_init_zero;
	struct put *p = owner;
	struct fault f = *why;
	struct arena a;

	p->closes = false;
	arena_init(&a, SUPERVISOR_ARENA);
	/* What is not the agent's keeps its mode; what it took away is its. */
	if (f.code == FAULT_NONE &&
	    WIRE_DECODE(nacre_sandbox_v1_FileReply, &r, m, &a, &f) == 0 &&
	    r.error && r.error != EPERM && r.error != ENOENT)
		(void)attach_errno(&f, r.error, "finish", p->closing);
	arena_release(&a);
	if (f.code != FAULT_NONE)
		finish(p, &f);
	work(p);
	release(p);
}

/*
 * Mode and time last: writing would change the time again. The sandbox sets
 * them, as the agent: with our rights, the descriptor of any file that the
 * agent may write to would be enough.
 */
static int
close_file(struct put *p, struct fault *f)
{
	nacre_sandbox_v1_FileRequest q = nacre_sandbox_v1_FileRequest_init_zero;

	if (p->fd < 0)
		return 0;
	if (p->ends_empty && ftruncate(p->fd, lseek(p->fd, 0, SEEK_CUR)) != 0)
		return fault_sys(f, "cannot write '%s'", p->path);
	p->ends_empty = false;
	fd_close(&p->fd);
	(void)text_copy(p->closing, sizeof(p->closing), span_str(p->path));
	q.verb = nacre_sandbox_v1_FileVerb_FILE_FINISH;
	q.mode = p->mode & 07777;
	q.mtime_ms = p->mtime_ms;
	if (ask_file(p, &q, p->closing, file_closed, f) != 0)
		return -1;
	p->closes = true;
	return 0;
}

/* A path that stays below the target: no "..", no empty part. */
static bool
is_relative(const char *path)
{
	struct span rest = span_str(path);

	while (rest.len > 0) {
		size_t n = span_find(rest, '/');
		struct span part = span_of(rest.ptr, n);

		if (n == 0 || span_is(part, ".") || span_is(part, ".."))
			return false;
		rest = span_from(rest, n + 1);
	}
	return true;
}

static int
take_reply(struct put *p, const struct fault *why, struct span m,
    struct fault *f)
{
	nacre_sandbox_v1_FileReply r = nacre_sandbox_v1_FileReply_init_zero;
	struct arena a;
	struct stat st;
	int got = -1;

	if (why->code != FAULT_NONE) {
		*f = *why;
		return -1;
	}
	arena_init(&a, SUPERVISOR_ARENA);
	if (WIRE_DECODE(nacre_sandbox_v1_FileReply, &r, m, &a, f) == 0) {
		if (r.error)
			(void)attach_errno(f, r.error, "write", p->path);
		else if (r.tag == 0)
			got = 0;
		else
			got = box_take(&p->sv->box, r.tag, &p->fd, 1, f);
	}
	arena_release(&a);
	/* Trust, but look: bytes go into plain files only. */
	if (got == 0 && p->fd >= 0 &&
	    (fstat(p->fd, &st) != 0 || !S_ISREG(st.st_mode)))
		return fault_set(f, FAULT_PROTOCOL, "'%s' is no plain file",
		    p->path);
	p->in_memory = p->fd >= 0 && memory_holds(p->fd, p->sv->disks.on_disk);
	p->unseen += MEMORY_FILE;
	return got;
}

static void
entry_done(void *owner, const struct fault *why, struct span m)
{
	struct put *p = owner;
	struct fault f = { 0 };

	p->waits = false;
	if (take_reply(p, why, m, &f) != 0)
		finish(p, &f);
	else
		p->entries++;
	work(p);
	release(p);
}

static int
take_entry(struct put *p, const nacre_session_v1_Entry *e, struct fault *f)
{
	nacre_sandbox_v1_FileRequest q = nacre_sandbox_v1_FileRequest_init_zero;
	char relative[LIMIT_PATH];

	if (close_file(p, f) != 0)
		return -1;
	if (!wire_path(e->path, relative, sizeof(relative)) ||
	    !is_relative(relative) ||
	    !text_fmt(p->path, sizeof(p->path), "%s%s%s", p->target,
		relative[0] ? "/" : "", relative))
		return fault_field(f, "path", "leaves the target");
	p->mode = e->mode;
	p->mtime_ms = e->mtime_ms > 0 ? e->mtime_ms : 0;
	q.mode = e->mode;
	q.link = e->link;
	q.verb = e->kind == nacre_session_v1_EntryKind_ENTRY_FOLDER
	    ? nacre_sandbox_v1_FileVerb_FILE_FOLDER
	    : e->kind == nacre_session_v1_EntryKind_ENTRY_LINK
	    ? nacre_sandbox_v1_FileVerb_FILE_LINK
	    : nacre_sandbox_v1_FileVerb_FILE_CREATE;
	if (ask_file(p, &q, p->path, entry_done, f) != 0)
		return -1;
	p->waits = true;
	return 0;
}

static bool
is_zero(struct span s)
{
	return s.len > 0 && s.ptr[0] == 0 &&
	    memcmp(s.ptr, s.ptr + 1, s.len - 1) == 0;
}

static int
check_memory(struct put *p, size_t n, struct fault *f)
{
	if (!p->in_memory)
		return 0;
	p->unseen += n;
	if (p->unseen < MEMORY_STEP)
		return 0;
	p->unseen = 0;
	return memory_check(p->sv->bundle.memory_max, f);
}

static int
take_bytes(struct put *p, struct span in, struct fault *f)
{
	if (p->fd < 0)
		return fault_set(f, FAULT_PROTOCOL, "bytes of no file");
	p->bytes += in.len;
	/* The file was empty: what is skipped reads as zeros. */
	p->ends_empty = is_zero(in);
	if (p->ends_empty) {
		if (lseek(p->fd, (off_t)in.len, SEEK_CUR) < 0)
			return fault_sys(f, "cannot write '%s'", p->path);
		return 0;
	}
	if (check_memory(p, in.len, f) != 0 ||
	    fd_write_all(p->fd, in.ptr, in.len, f) != 0)
		return fault_prefix(f, "%s", p->path);
	return 0;
}

static int
take_hole(struct put *p, uint64_t n, struct fault *f)
{
	if (p->fd < 0)
		return fault_set(f, FAULT_PROTOCOL, "a hole in no file");
	if (n > INT64_MAX || lseek(p->fd, (off_t)n, SEEK_CUR) < 0)
		return fault_set(f, FAULT_INVALID, "'%s' is too large",
		    p->path);
	p->bytes += n;
	p->ends_empty = true;
	return 0;
}

/* 0, -1, or 1: the same again once the file before is closed. */
static int
take_message(struct put *p, struct span m, struct fault *f)
{
	nacre_session_v1_AttachDown d = nacre_session_v1_AttachDown_init_zero;
	struct arena a;
	int r = 0;

	arena_init(&a, SUPERVISOR_ARENA);
	if (WIRE_DECODE(nacre_session_v1_AttachDown, &d, m, &a, f) != 0) {
		r = -1;
	} else if (d.which_kind == nacre_session_v1_AttachDown_entry_tag) {
		r = p->closes ? 1 : take_entry(p, &d.kind.entry, f);
	} else if (d.which_kind == nacre_session_v1_AttachDown_in_tag) {
		r = take_bytes(p, wire_span(d.kind.in), f);
	} else if (d.which_kind == nacre_session_v1_AttachDown_hole_tag) {
		r = take_hole(p, d.kind.hole, f);
	} else if (d.which_kind == nacre_session_v1_AttachDown_in_end_tag) {
		r = close_file(p, f);
		if (r == 0 && p->closes)
			r = 1;
		else if (r == 0)
			finish(p, f);
	}
	arena_release(&a);
	return r;
}

/* What is held, as far as it goes. */
static void
work(struct put *p)
{
	while (!p->waits && p->held.len >= 4) {
		struct fault f = { 0 };
		uint32_t n;
		int r = 0;

		memcpy(&n, buf_ptr(&p->held), sizeof(n));
		if (!p->is_done)
			r = take_message(p, span_of(buf_ptr(&p->held) + 4, n),
			    &f);
		if (r > 0)
			return;
		if (r < 0)
			finish(p, &f);
		buf_eat(&p->held, 4 + (size_t)n);
		if (p->call)
			rpc_consume(p->call, n);
	}
}

static void
put_message(struct rpc_call *c, void *owner, struct span m)
{
	struct put *p = owner;
	struct fault f = { 0 };
	uint32_t n = (uint32_t)m.len;

	if (p->is_done) {
		rpc_consume(c, m.len);
		return;
	}
	if (buf_add(&p->held, &n, sizeof(n), &f) != 0 ||
	    buf_add(&p->held, m.ptr, m.len, &f) != 0) {
		finish(p, &f);
		return;
	}
	work(p);
}

/* An end without in_end is a put that was given up. */
static void
put_half_closed(struct rpc_call *c, void *owner)
{
	(void)c;
	(void)owner;
}

static void
put_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct put *p = owner;

	(void)c;
	(void)f;
	(void)detail;
	p->call = NULL;
	p->is_done = true;
	release(p);
}

/* As cp does: into a folder that is there, else under the name given. */
static void
target_known(void *owner, const struct fault *why, struct span m)
{
	struct put *p = owner;
	nacre_sandbox_v1_FileReply r = nacre_sandbox_v1_FileReply_init_zero;
	struct fault f = *why;
	struct arena a;
	size_t n = strlen(p->target);

	p->waits = false;
	arena_init(&a, SUPERVISOR_ARENA);
	if (f.code == FAULT_NONE &&
	    WIRE_DECODE(nacre_sandbox_v1_FileReply, &r, m, &a, &f) == 0 &&
	    r.error == 0 && r.has_node && S_ISDIR(r.node.mode) &&
	    p->name[0] != '\0' &&
	    !text_fmt(p->target + n, sizeof(p->target) - n, "%s%s",
		n > 1 ? "/" : "", p->name))
		(void)fault_field(&f, "path", "is too long");
	arena_release(&a);
	if (f.code != FAULT_NONE)
		finish(p, &f);
	work(p);
	release(p);
}

int
put_open(struct supervisor *sv, const char *id, const nacre_session_v1_Put *q,
    struct fault *f)
{
	static const struct rpc_call_events events = {
		.message = put_message,
		.half_closed = put_half_closed,
		.closed = put_closed,
	};
	nacre_sandbox_v1_FileRequest ask =
	    nacre_sandbox_v1_FileRequest_init_zero;
	const char *name = q->name ? q->name : "";
	struct span path = span_str(q->path);
	struct put *p;

	if (path.len == 0 || path.ptr[0] != '/' || path.len >= LIMIT_PATH)
		return fault_field(f, "path", "is no absolute path");
	if (strchr(name, '/') || !is_relative(name) || strlen(name) > 255)
		return fault_field(f, "name", "is no file name");
	while (path.len > 1 && path.ptr[path.len - 1] == '/')
		path.len--;
	p = must_alloc(sizeof(*p));
	p->sv = sv;
	p->fd = -1;
	p->unseen = MEMORY_STEP;
	buf_init(&p->held, HELD_MAX);
	(void)text_copy(p->target, sizeof(p->target), path);
	(void)text_copy(p->path, sizeof(p->path), path);
	(void)text_copy(p->name, sizeof(p->name), span_str(name));
	ask.verb = nacre_sandbox_v1_FileVerb_FILE_STAT;
	p->call = attach_call(sv, id, &events, p, f);
	if (!p->call) {
		put_free(p);
		return -1;
	}
	sv->files++;
	p->copy.end = end;
	attach_copy_add(sv, &p->copy);
	if (ask_file(p, &ask, p->path, target_known, f) == 0)
		p->waits = true;
	else
		finish(p, f);
	return 0;
}
