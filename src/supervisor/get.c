/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files out of the sandbox: the target, and below a folder everything in it,
 * depth first. The sandbox lists and opens as the agent. One request to it is
 * under way at a time; a stream without room holds the walk.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/inner.h"

enum {
	DEPTH = 64
};

/* One folder on the way: the nodes of its last answer. */
struct level {
	struct arena arena;
	nacre_sandbox_v1_FileReply list;
	size_t next;
	size_t path_len; /* of the folder within get->path */
};
struct get {
	struct supervisor *sv;
	struct copy copy;
	struct rpc_call *call;
	nacre_session_v1_GetPart part;
	bool tells_holes;
	char path[LIMIT_PATH]; /* where the walk is */
	size_t base_len;       /* of the target */
	struct level *levels[DEPTH];
	size_t depth;
	bool waits;
	bool is_done;
	enum {
		GET_STAT,
		GET_OPEN,
		GET_LIST
	} asked;
	int fd;
	uint64_t left; /* of the file, as told in its entry */
	uint64_t bytes;
	uint64_t entries;
};

static void walk(struct get *g);

static void
pop(struct get *g)
{
	struct level *l = g->levels[--g->depth];

	arena_release(&l->arena);
	free(l);
}

static void
get_free(void *owner)
{
	struct get *g = owner;

	while (g->depth)
		pop(g);
	fd_close(&g->fd);
	attach_copy_remove(g->sv, &g->copy);
	free(g);
}

static void
release(struct get *g)
{
	if (g->call || g->waits)
		return;
	g->sv->files--;
	loop_bury(g->sv->loop, g, get_free);
}

static void
finish(struct get *g, const struct fault *f)
{
	if (g->is_done)
		return;
	g->is_done = true;
	attach_done(g->call, f, g->bytes, g->entries);
}

static void
end(struct copy *c, const struct fault *why)
{
	struct get *g = CONTAINER_OF(c, struct get, copy);

	finish(g, why);
	fd_close(&g->fd);
}

static int
tell_entry(struct get *g, const nacre_sandbox_v1_Node *n, struct fault *f)
{
	nacre_session_v1_AttachUp up = nacre_session_v1_AttachUp_init_zero;
	nacre_session_v1_Entry *e = &up.kind.entry;
	size_t from = g->base_len;
	struct arena a;
	int r;

	while (g->path[from] == '/')
		from++;
	arena_init(&a, 2 * LIMIT_PATH);
	up.which_kind = nacre_session_v1_AttachUp_entry_tag;
	e->path = wire_bytes(&a, span_str(g->path + from));
	e->kind = S_ISDIR(n->mode) ? nacre_session_v1_EntryKind_ENTRY_FOLDER
	    : S_ISLNK(n->mode)     ? nacre_session_v1_EntryKind_ENTRY_LINK
	    : S_ISREG(n->mode)     ? nacre_session_v1_EntryKind_ENTRY_FILE
				   : nacre_session_v1_EntryKind_ENTRY_OTHER;
	e->mode = n->mode & 07777;
	e->size = S_ISREG(n->mode) ? n->size : 0;
	e->link = n->link;
	e->mtime_ms = n->mtime_ms;
	g->entries++;
	r = attach_send(g->call, &up, f);
	arena_release(&a);
	return r;
}

static void replied(void *owner, const struct fault *why, struct span m);

static int
ask(struct get *g, int what, uint64_t cursor, struct fault *f)
{
	static const nacre_sandbox_v1_FileVerb verbs[] = {
		[GET_STAT] = nacre_sandbox_v1_FileVerb_FILE_STAT,
		[GET_OPEN] = nacre_sandbox_v1_FileVerb_FILE_OPEN,
		[GET_LIST] = nacre_sandbox_v1_FileVerb_FILE_LIST,
	};
	nacre_sandbox_v1_FileRequest q = nacre_sandbox_v1_FileRequest_init_zero;
	struct arena a;
	int r;

	arena_init(&a, 2 * LIMIT_PATH);
	q.verb = verbs[what];
	q.path = wire_bytes(&a, span_str(g->path));
	q.cursor = cursor;
	r = BOX_CALL(&g->sv->box, "File", FileRequest, &q, replied, g, f);
	arena_release(&a);
	if (r != 0)
		return -1;
	g->asked = what;
	g->waits = true;
	return 0;
}

static int
push(struct get *g, struct fault *f)
{
	struct level *l;

	if (g->depth == DEPTH)
		return fault_set(f, FAULT_LIMIT, "'%s' is over %d folders deep",
		    g->path, DEPTH);
	l = must_alloc(sizeof(*l));
	arena_init(&l->arena, SUPERVISOR_ARENA);
	l->path_len = strlen(g->path);
	g->levels[g->depth++] = l;
	return ask(g, GET_LIST, 0, f);
}

/* A node that is no link: tell it and go into it. */
static int
enter(struct get *g, const nacre_sandbox_v1_Node *n, struct fault *f)
{
	bool is_last = g->part == nacre_session_v1_GetPart_GET_ITSELF ||
	    (g->part == nacre_session_v1_GetPart_GET_NAMES &&
		(g->depth > 0 || !S_ISDIR(n->mode)));

	if (is_last)
		return tell_entry(g, n, f);
	if (S_ISREG(n->mode))
		return ask(g, GET_OPEN, 0, f);
	if (!S_ISDIR(n->mode) && g->depth == 0)
		return attach_errno(f, EOPNOTSUPP, "read", g->path);
	if (!S_ISDIR(n->mode))
		return 0; /* sockets, pipes and devices stay behind */
	if (tell_entry(g, n, f) != 0)
		return -1;
	return push(g, f);
}

static int
take_open(struct get *g, const nacre_sandbox_v1_FileReply *r, struct fault *f)
{
	if (box_take(&g->sv->box, r->tag, &g->fd, 1, f) != 0 ||
	    tell_entry(g, &r->node, f) != 0)
		return -1;
	g->left = r->node.size;
	return 0;
}

static int
act_on(struct get *g, const nacre_sandbox_v1_FileReply *r, struct fault *f)
{
	/* Gone since it was listed: not an error of the copy. */
	if (r->error == ENOENT && g->depth > 0 && g->asked == GET_OPEN)
		return 0;
	if (r->error)
		return attach_errno(f, r->error, "read", g->path);
	if (g->asked == GET_OPEN)
		return take_open(g, r, f);
	return g->asked == GET_STAT ? enter(g, &r->node, f) : 0;
}

/* Nobody waits any more; a descriptor has come all the same. */
static int
take_in_vain(struct get *g, const nacre_sandbox_v1_FileReply *r,
    struct fault *f)
{
	int got = 0;

	if (r->tag)
		got = box_take(&g->sv->box, r->tag, &g->fd, 1, f);
	fd_close(&g->fd);
	return got;
}

static int
take_reply(struct get *g, struct span m, struct fault *f)
{
	nacre_sandbox_v1_FileReply r = nacre_sandbox_v1_FileReply_init_zero;
	struct level *l = g->asked == GET_LIST ? g->levels[g->depth - 1] : NULL;
	struct arena mine = { 0 };
	struct arena *a = l ? &l->arena : &mine;
	int got = -1;

	arena_init(&mine, SUPERVISOR_ARENA);
	if (WIRE_DECODE(nacre_sandbox_v1_FileReply, &r, m, a, f) == 0)
		got = g->is_done ? take_in_vain(g, &r, f) : act_on(g, &r, f);
	if (l && got == 0) {
		l->list = r;
		l->next = 0;
	}
	arena_release(&mine);
	return got;
}

static void
replied(void *owner, const struct fault *why, struct span m)
{
	struct get *g = owner;
	struct fault f = *why;

	g->waits = false;
	if (f.code != FAULT_NONE || take_reply(g, m, &f) != 0)
		finish(g, &f);
	walk(g);
	release(g);
}

/* What is skipped here is told as its length. */
static uint64_t
skip_hole(struct get *g)
{
	off_t at = lseek(g->fd, 0, SEEK_CUR);
	off_t data = g->tells_holes ? lseek(g->fd, at, SEEK_DATA) : at;
	uint64_t n = 0;

	if (data > at)
		n = (uint64_t)(data - at);
	else if (data < 0 && errno == ENXIO)
		n = g->left;
	if (n > g->left)
		n = g->left;
	(void)lseek(g->fd, at + (off_t)n, SEEK_SET);
	return n;
}

static int
send_hole(struct get *g, uint64_t n, struct fault *f)
{
	nacre_session_v1_AttachUp up = nacre_session_v1_AttachUp_init_zero;

	up.which_kind = nacre_session_v1_AttachUp_hole_tag;
	up.kind.hole = n;
	g->left -= n;
	g->bytes += n;
	return attach_send(g->call, &up, f);
}

/* One chunk of the open file. */
static int
send_chunk(struct get *g, struct fault *f)
{
	nacre_session_v1_AttachUp up = nacre_session_v1_AttachUp_init_zero;
	NOT_ZEROED uint8_t bytes[LIMIT_CHUNK];
	uint64_t hole = g->left ? skip_hole(g) : 0;
	size_t want = g->left < sizeof(bytes) ? (size_t)g->left : sizeof(bytes);
	ssize_t n;
	struct arena a;
	int r;

	if (hole)
		return send_hole(g, hole, f);
	n = want ? read(g->fd, bytes, want) : 0;
	if (n < 0 && errno == EINTR)
		return 0;
	if (n < 0)
		return fault_sys(f, "cannot read '%s'", g->path);
	if (n == 0) {
		/* A file that shrank is short; the receiver sees the size. */
		fd_close(&g->fd);
		return 0;
	}
	arena_init(&a, 2 * LIMIT_CHUNK);
	up.which_kind = nacre_session_v1_AttachUp_out_tag;
	up.kind.out = wire_bytes(&a, span_of(bytes, (size_t)n));
	r = attach_send(g->call, &up, f);
	arena_release(&a);
	g->left -= (uint64_t)n;
	g->bytes += (uint64_t)n;
	return r;
}

/* The next node of the innermost folder. */
static int
step(struct get *g, struct fault *f)
{
	struct level *l = g->levels[g->depth - 1];
	const nacre_sandbox_v1_Node *n;
	char name[LIMIT_PATH];

	g->path[l->path_len] = '\0';
	if (l->next == l->list.nodes_count) {
		if (!l->list.more) {
			pop(g);
			return 0;
		}
		arena_release(&l->arena);
		l->list.nodes_count = 0;
		l->next = 0;
		return ask(g, GET_LIST, l->list.cursor, f);
	}
	n = &l->list.nodes[l->next++];
	if (!wire_path(n->name, name, sizeof(name)) ||
	    !text_fmt(g->path + l->path_len, sizeof(g->path) - l->path_len,
		"%s%s", l->path_len > 1 ? "/" : "", name))
		return fault_set(f, FAULT_LIMIT,
		    "a path below '%s' is too long", g->path);
	if (S_ISLNK(n->mode))
		return tell_entry(g, n, f);
	return enter(g, n, f);
}

static void
walk(struct get *g)
{
	struct fault f = { 0 };

	while (!g->waits && !g->is_done && g->call) {
		int r;

		if (!attach_has_room(g->call))
			return;
		if (g->fd >= 0)
			r = send_chunk(g, &f);
		else if (g->depth > 0)
			r = step(g, &f);
		else
			r = 1;
		if (r != 0)
			finish(g, &f);
	}
}

static void
get_message(struct rpc_call *c, void *owner, struct span m)
{
	(void)owner;
	rpc_consume(c, m.len);
}

static void
get_writable(struct rpc_call *c, void *owner)
{
	(void)c;
	walk(owner);
}

static void
get_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct get *g = owner;

	(void)c;
	(void)f;
	(void)detail;
	g->call = NULL;
	g->is_done = true;
	release(g);
}

int
get_open(struct supervisor *sv, const char *id, const nacre_session_v1_Get *q,
    struct fault *f)
{
	static const struct rpc_call_events events = {
		.message = get_message,
		.writable = get_writable,
		.closed = get_closed,
	};
	struct span path = span_str(q->path);
	struct get *g;

	if (path.len == 0 || path.ptr[0] != '/' || path.len >= LIMIT_PATH)
		return fault_field(f, "path", "is no absolute path");
	while (path.len > 1 && path.ptr[path.len - 1] == '/')
		path.len--;
	g = must_alloc(sizeof(*g));
	g->sv = sv;
	g->part = q->part;
	g->tells_holes = q->holes;
	g->fd = -1;
	(void)text_copy(g->path, sizeof(g->path), path);
	g->base_len = path.len;
	g->call = attach_call(sv, id, &events, g, f);
	if (!g->call) {
		free(g);
		return -1;
	}
	sv->files++;
	g->copy.end = end;
	attach_copy_add(sv, &g->copy);
	if (ask(g, GET_STAT, 0, f) != 0)
		finish(g, f);
	return 0;
}
