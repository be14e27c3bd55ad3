/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removal in the sandbox, which does a part of it a call, as the agent. A
 * client that leaves ends it after the part that is under way.
 */
#include <stdlib.h>
#include <string.h>

#include "supervisor/inner.h"

struct removal {
	struct supervisor *sv;
	struct rpc_call *call; /* NULL once closed */
	char path[LIMIT_PATH];
	bool all;
	bool waits;
	bool is_done;
	uint64_t names;
};

static void removed(void *owner, const struct fault *why, struct span m);

static int
ask(struct removal *r, struct fault *f)
{
	nacre_sandbox_v1_FileRequest q = nacre_sandbox_v1_FileRequest_init_zero;
	struct arena a;
	int rc;

	arena_init(&a, 2 * LIMIT_PATH);
	q.verb = nacre_sandbox_v1_FileVerb_FILE_REMOVE;
	q.path = wire_bytes(&a, span_str(r->path));
	q.all = r->all;
	rc = BOX_CALL(&r->sv->box, "File", FileRequest, &q, removed, r, f);
	arena_release(&a);
	r->waits = rc == 0;
	return rc;
}

static void
release(struct removal *r)
{
	if (r->call || r->waits)
		return;
	r->sv->files--;
	loop_bury(r->sv->loop, r, free);
}

static void
finish(struct removal *r, const struct fault *f)
{
	if (r->is_done)
		return;
	r->is_done = true;
	attach_done(r->call, f, 0, r->names);
}

static void
removed(void *owner, const struct fault *why, struct span m)
{
	nacre_sandbox_v1_FileReply reply = nacre_sandbox_v1_FileReply_init_zero;
	struct removal *r = owner;
	struct fault f = *why;
	struct arena a;

	r->waits = false;
	arena_init(&a, SUPERVISOR_ARENA);
	if (f.code == FAULT_NONE &&
	    WIRE_DECODE(nacre_sandbox_v1_FileReply, &reply, m, &a, &f) == 0) {
		r->names += reply.removed;
		if (reply.error)
			(void)attach_errno(&f, reply.error, "remove", r->path);
	}
	arena_release(&a);
	if (f.code != FAULT_NONE || !reply.more || !r->call || ask(r, &f) != 0)
		finish(r, &f);
	release(r);
}

static void
remove_message(struct rpc_call *c, void *owner, struct span m)
{
	(void)owner;
	rpc_consume(c, m.len);
}

static void
/* cppcheck-suppress constParameter ; a callback's type */
remove_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct removal *r = owner;

	(void)c;
	(void)f;
	(void)detail;
	r->call = NULL;
	r->is_done = true;
	release(r);
}

int
remove_open(struct supervisor *sv, const char *id,
    const nacre_session_v1_Remove *q, struct fault *f)
{
	static const struct rpc_call_events events = {
		.message = remove_message,
		.closed = remove_closed,
	};
	struct span path = span_str(q->path);
	struct removal *r;

	while (path.len > 1 && path.ptr[path.len - 1] == '/')
		path.len--;
	if (path.len < 2 || path.ptr[0] != '/' || path.len >= LIMIT_PATH)
		return fault_field(f, "path",
		    "is no absolute path, or the root");
	if (sv->files == SUPERVISOR_RUNS)
		return fault_set(f, FAULT_LIMIT, "%d copies run already",
		    SUPERVISOR_RUNS);
	r = must_alloc(sizeof(*r));
	r->sv = sv;
	r->all = q->all;
	(void)text_copy(r->path, sizeof(r->path), path);
	r->call = attach_call(sv, id, &events, r, f);
	if (!r->call) {
		free(r);
		return -1;
	}
	sv->files++;
	if (ask(r, f) != 0)
		finish(r, f);
	return 0;
}
