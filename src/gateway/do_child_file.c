/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GetChildFile: a part of one plain file of a child, in one answer. The
 * sandbox resolves the path inside its root with its agent's rights; the
 * record has the path and nothing of the content.
 */
#include <string.h>

#include "gateway/check.h"
#include "gateway/do.h"
#include "gateway/refuse.h"
#include "gateway/session.h"
#include "gateway/vm.h"
#include "gateway/which.h"
#include "proto/nacre_v1.pb.h"
#include "wire/wire.h"

enum {
	MOST = 900 << 10, /* what fits one message */
	ASKED_MOST = 1 << 20,
};

struct child_file {
	struct which w;
	struct store_sandbox row;
	struct call *call;
	struct attach *attach;
	uint64_t offset;
	uint64_t limit;
	uint64_t size; /* of the file, as told in its entry */
	uint64_t at;   /* bytes that came */
	bool has_entry;
	bool is_done;
	struct buf data;
};

static int
check(const nacre_v1_GetChildFileRequest *ask, struct child_file *x,
    struct fault *f)
{
	if (ask->path == NULL || *ask->path == '\0')
		return fault_field(f, "path", "the path is missing");
	if (check_folder(ask->path, "path", f) < 0)
		return -1;
	if (ask->has_offset && ask->offset < 0)
		return fault_field(f, "offset", "offset must not be negative");
	if (ask->has_limit && (ask->limit < 1 || ask->limit > ASKED_MOST))
		return fault_field(f, "limit", "limit must be 1 to %d",
		    ASKED_MOST);
	x->offset = ask->has_offset ? (uint64_t)ask->offset : 0;
	x->limit = ask->has_limit ? (uint64_t)ask->limit : MOST;
	if (x->limit > MOST)
		x->limit = MOST;
	return 0;
}

int
do_child_file_decide(struct call *c, struct fault *f)
{
	const nacre_v1_GetChildFileRequest *ask = c->ask;
	struct child_file *x = arena_get(&c->arena, sizeof(*x));
	struct grant_refusal r;

	BUG_IF(x == NULL);
	c->work = x;
	call_note(c, "%s", ask->path == NULL ? "" : ask->path);
	if (which_open(c, ask->id, "id", &x->w, f) < 0 || check(ask, x, f) < 0)
		return -1;
	if (grant_may_get_file(&x->w.ask, x->w.node, &r) < 0)
		return refuse(c, &r, f);
	return which_row(c, &x->w, &x->row, f);
}

static void
end(struct child_file *x, const struct fault *f)
{
	struct call *c = x->call;

	x->is_done = true;
	if (x->attach != NULL)
		attach_finish(x->attach);
	x->attach = NULL;
	buf_release(&x->data);
	if (c != NULL)
		call_finish(c, f);
}

/* The rest of it is not wanted. */
static void
drop_stream(struct child_file *x)
{
	if (x->attach != NULL)
		attach_cancel(x->attach);
	x->attach = NULL;
}

static void
reply(struct child_file *x)
{
	const nacre_v1_GetChildFileRequest *ask = x->call->ask;
	nacre_v1_GetChildFileReply r = nacre_v1_GetChildFileReply_init_zero;
	struct fault f = { 0 };

	r.path = ask->path;
	r.data = wire_bytes(&x->call->arena, buf_span(&x->data));
	r.size = x->size;
	r.offset = x->offset;
	r.eof = x->offset + x->data.len >= x->size;
	if (call_send(x->call, nacre_v1_GetChildFileReply_fields, &r, &f) < 0)
		end(x, &f);
	else
		end(x, NULL);
}

static void
take_data(struct child_file *x, struct span s)
{
	struct fault f = { 0 };
	uint64_t from = x->at;

	x->at += s.len;
	if (x->at <= x->offset)
		return;
	if (from < x->offset)
		s = span_from(s, (size_t)(x->offset - from));
	if (s.len > x->limit - x->data.len)
		s.len = (size_t)(x->limit - x->data.len);
	if (s.len > 0 && buf_add(&x->data, s.ptr, s.len, &f) < 0) {
		drop_stream(x);
		end(x, &f);
	} else if (x->data.len == x->limit) {
		drop_stream(x);
		reply(x);
	}
}

static void
take_entry(struct child_file *x, const nacre_session_v1_Entry *e)
{
	struct fault f = { 0 };

	if (e->kind != nacre_session_v1_EntryKind_ENTRY_FILE) {
		fault_field(&f, "path", "it is no plain file");
		drop_stream(x);
		end(x, &f);
		return;
	}
	x->has_entry = true;
	x->size = e->size;
	if (x->offset >= x->size) {
		drop_stream(x);
		reply(x);
	}
}

static void
take_done(struct child_file *x, const nacre_session_v1_Done *d)
{
	struct fault f = { 0 };
	enum fault_code code;

	if (d->code == NULL || *d->code == '\0') {
		reply(x);
		return;
	}
	code = fault_from_reason(d->code);
	fault_set(&f, code == FAULT_NONE ? FAULT_SYSTEM : code, "%.200s",
	    d->text == NULL ? "it failed in the sandbox" : d->text);
	end(x, &f);
}

static void
on_opened(struct attach *a, void *owner)
{
	(void)a;
	(void)owner;
}

static void
on_message(struct attach *a, void *owner, const nacre_session_v1_AttachUp *up,
    size_t size)
{
	struct child_file *x = owner;

	attach_consume(a, size);
	if (x->is_done || x->call == NULL)
		return;
	if (up->which_kind == nacre_session_v1_AttachUp_entry_tag)
		take_entry(x, &up->kind.entry);
	else if (up->which_kind == nacre_session_v1_AttachUp_out_tag)
		take_data(x, wire_span(up->kind.out));
	else if (up->which_kind == nacre_session_v1_AttachUp_done_tag)
		take_done(x, &up->kind.done);
}

static void
on_closed(struct attach *a, void *owner, const struct fault *f)
{
	struct child_file *x = owner;
	struct fault lost = *f;

	(void)a;
	if (x->is_done)
		return;
	x->attach = NULL;
	if (lost.code == FAULT_NONE)
		fault_set(&lost, FAULT_LOST,
		    "the sandbox closed the stream before its end");
	end(x, &lost);
}

static const struct attach_events attach_events = {
	.opened = on_opened,
	.message = on_message,
	.closed = on_closed,
};

static void
on_gone(struct call *c)
{
	struct child_file *x = c->work;

	x->call = NULL;
	x->is_done = true;
	drop_stream(x);
	buf_release(&x->data);
}

static const struct call_events events = {
	.gone = on_gone,
};

void
do_child_file_answer(struct call *c)
{
	const nacre_v1_GetChildFileRequest *ask = c->ask;
	struct child_file *x = c->work;
	nacre_session_v1_Open open = nacre_session_v1_Open_init_zero;
	struct fault f = { 0 };

	x->call = c;
	buf_init(&x->data, MOST);
	open.which_kind = nacre_session_v1_Open_get_tag;
	open.kind.get.path = ask->path;
	x->attach =
	    attach_open(vm_of(c->g, &x->row), &open, &attach_events, x, &f);
	call_take(c, &events, x);
	if (x->attach == NULL)
		end(x, &f);
}
