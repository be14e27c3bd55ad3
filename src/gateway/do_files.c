/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PutFiles, GetFiles, ListFiles, RemoveFiles: entries and bytes pass through as they come; paths
 * are the sandbox's to judge, inside its root. The record has the path and
 * nothing of the content.
 */
#include <string.h>

#include "gateway/check.h"
#include "gateway/do.h"
#include "gateway/open.h"
#include "gateway/pipe.h"
#include "gateway/vm.h"
#include "proto/nacre_v1.pb.h"
#include "wire/wire.h"

_Static_assert(sizeof(nacre_v1_Entry) == sizeof(nacre_session_v1_Entry),
    "one form of entries");

static int
open_files(struct call *c, const char *sandbox, const char *path,
    struct fault *f)
{
	struct store_sandbox row;
	struct vm *vm;

	call_note(c, "%s", path == NULL ? "" : path);
	if (path == NULL || *path == '\0')
		return fault_field(f, "path", "the path is missing");
	if (strlen(path) >= LIMIT_PATH)
		return fault_field(f, "path", "the path is over %d bytes",
		    LIMIT_PATH - 1);
	if (open_name(c, sandbox, &row, f) < 0 ||
	    open_running(c, &row, &vm, f) < 0)
		return -1;
	c->work = vm;
	return 0;
}

int
do_put_decide(struct call *c, struct fault *f)
{
	const nacre_v1_FileChunk *first = c->ask;

	if (first->which_kind != nacre_v1_FileChunk_start_tag)
		return fault_field(f, "start", "the first message is start");
	return open_files(c, first->kind.start.sandbox, first->kind.start.path,
	    f);
}

static int
put_from_client(struct pipe *p, struct span message, struct fault *f)
{
	nacre_session_v1_AttachDown down =
	    nacre_session_v1_AttachDown_init_zero;
	nacre_v1_FileChunk m = nacre_v1_FileChunk_init_zero;
	struct arena a;
	int rc;

	arena_init(&a, 4 * LIMIT_MESSAGE);
	rc = WIRE_DECODE(nacre_v1_FileChunk, &m, message, &a, f);
	if (rc == 0 && m.which_kind == nacre_v1_FileChunk_data_tag) {
		rc = pipe_down_bytes(p, wire_span(m.kind.data), f);
	} else if (rc == 0 && m.which_kind == nacre_v1_FileChunk_hole_tag) {
		down.which_kind = nacre_session_v1_AttachDown_hole_tag;
		down.kind.hole = m.kind.hole;
		rc = pipe_down(p, &down, f);
	} else if (rc == 0 && m.which_kind == nacre_v1_FileChunk_entry_tag) {
		down.which_kind = nacre_session_v1_AttachDown_entry_tag;
		memcpy(&down.kind.entry, &m.kind.entry, sizeof(m.kind.entry));
		rc = pipe_down(p, &down, f);
	} else if (rc == 0) {
		rc = fault_field(f, "start", "start comes once");
	}
	arena_release(&a);
	return rc;
}

static int
put_ended(struct pipe *p, struct fault *f)
{
	nacre_session_v1_AttachDown down =
	    nacre_session_v1_AttachDown_init_zero;

	down.which_kind = nacre_session_v1_AttachDown_in_end_tag;
	down.kind.in_end = true;
	return pipe_down(p, &down, f);
}

static int
put_from_sandbox(struct pipe *p, const nacre_session_v1_AttachUp *up,
    struct fault *f)
{
	nacre_v1_FilesReply reply = nacre_v1_FilesReply_init_zero;

	if (up->which_kind != nacre_session_v1_AttachUp_done_tag)
		return 0;
	if (pipe_check_done(&up->kind.done, f) < 0)
		return -1;
	reply.bytes = up->kind.done.bytes;
	reply.entries = up->kind.done.entries;
	pipe_finish(p);
	return pipe_up(p, nacre_v1_FilesReply_fields, &reply, f);
}

static const struct pipe_ops put_ops = {
	.from_client = put_from_client,
	.client_ended = put_ended,
	.from_sandbox = put_from_sandbox,
};

void
do_put_answer(struct call *c)
{
	const nacre_v1_FileChunk *first = c->ask;
	nacre_session_v1_Open open = nacre_session_v1_Open_init_zero;

	open.which_kind = nacre_session_v1_Open_put_tag;
	open.kind.put.path = first->kind.start.path;
	open.kind.put.is_folder = first->kind.start.is_folder;
	open.kind.put.name = first->kind.start.name;
	pipe_start(c, c->work, &open, &put_ops, NULL);
}

int
do_get_files_decide(struct call *c, struct fault *f)
{
	const nacre_v1_GetFilesRequest *ask = c->ask;

	return open_files(c, ask->sandbox, ask->path, f);
}

static int
get_from_sandbox(struct pipe *p, const nacre_session_v1_AttachUp *up,
    struct fault *f)
{
	nacre_v1_FileChunk m = nacre_v1_FileChunk_init_zero;

	switch (up->which_kind) {
	case nacre_session_v1_AttachUp_entry_tag:
		m.which_kind = nacre_v1_FileChunk_entry_tag;
		memcpy(&m.kind.entry, &up->kind.entry, sizeof(m.kind.entry));
		break;
	case nacre_session_v1_AttachUp_out_tag:
		m.which_kind = nacre_v1_FileChunk_data_tag;
		m.kind.data = up->kind.out;
		break;
	case nacre_session_v1_AttachUp_hole_tag:
		m.which_kind = nacre_v1_FileChunk_hole_tag;
		m.kind.hole = up->kind.hole;
		break;
	case nacre_session_v1_AttachUp_done_tag:
		if (pipe_check_done(&up->kind.done, f) < 0)
			return -1;
		pipe_finish(p);
		return 0;
	default:
		return 0;
	}
	return pipe_up(p, nacre_v1_FileChunk_fields, &m, f);
}

static const struct pipe_ops get_ops = {
	.from_client = pipe_no_message,
	.client_ended = pipe_no_end,
	.from_sandbox = get_from_sandbox,
};

void
do_get_files_answer(struct call *c)
{
	const nacre_v1_GetFilesRequest *ask = c->ask;
	nacre_session_v1_Open open = nacre_session_v1_Open_init_zero;

	open.which_kind = nacre_session_v1_Open_get_tag;
	open.kind.get.path = ask->path;
	open.kind.get.holes = ask->holes;
	pipe_start(c, c->work, &open, &get_ops, NULL);
}

int
do_list_files_decide(struct call *c, struct fault *f)
{
	const nacre_v1_ListFilesRequest *ask = c->ask;

	return open_files(c, ask->sandbox, ask->path, f);
}

void
do_list_files_answer(struct call *c)
{
	const nacre_v1_ListFilesRequest *ask = c->ask;
	nacre_session_v1_Open open = nacre_session_v1_Open_init_zero;

	open.which_kind = nacre_session_v1_Open_get_tag;
	open.kind.get.path = ask->path;
	open.kind.get.part = ask->only_itself
	    ? nacre_session_v1_GetPart_GET_ITSELF
	    : nacre_session_v1_GetPart_GET_NAMES;
	pipe_start(c, c->work, &open, &get_ops, NULL);
}

int
do_remove_files_decide(struct call *c, struct fault *f)
{
	const nacre_v1_RemoveFilesRequest *ask = c->ask;

	return open_files(c, ask->sandbox, ask->path, f);
}

static const struct pipe_ops remove_ops = {
	.from_client = pipe_no_message,
	.client_ended = pipe_no_end,
	.from_sandbox = put_from_sandbox,
};

void
do_remove_files_answer(struct call *c)
{
	const nacre_v1_RemoveFilesRequest *ask = c->ask;
	nacre_session_v1_Open open = nacre_session_v1_Open_init_zero;

	open.which_kind = nacre_session_v1_Open_remove_tag;
	open.kind.remove.path = ask->path;
	open.kind.remove.all = ask->recursive;
	pipe_start(c, c->work, &open, &remove_ops, NULL);
}
