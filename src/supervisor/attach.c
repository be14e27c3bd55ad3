/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that the gateway asks for with Down.open: the supervisor opens an
 * Attach call and names the id. Execs, puts and gets are beside, the input of
 * the main process, and what runs.
 */
#include <errno.h>
#include <string.h>

#include "supervisor/inner.h"

int
attach_send(struct rpc_call *call, const nacre_session_v1_AttachUp *up,
    struct fault *f)
{
	/* Kept: one of this size is mapped and unmapped by each use. */
	static struct buf b;
	int r = -1;

	b.max = LIMIT_MESSAGE;
	buf_clear(&b);
	if (WIRE_ENCODE(nacre_session_v1_AttachUp, up, &b, f) == 0)
		r = rpc_send(call, buf_span(&b), f);
	return r;
}

bool
attach_has_room(struct rpc_call *call)
{
	struct fault f = { 0 };

	if (rpc_room(call) > 0)
		return true;
	/* A message that is refused is what orders the `writable`. */
	return rpc_send(call, span_of(NULL, 0), &f) == 0;
}

struct rpc_call *
attach_call(struct supervisor *sv, const char *id,
    const struct rpc_call_events *events, void *owner, struct fault *f)
{
	nacre_session_v1_AttachUp up = nacre_session_v1_AttachUp_init_zero;
	char name[SUPERVISOR_ID + 1];
	struct rpc_call *c;

	if (!sv->tunnel.link) {
		(void)fault_set(f, FAULT_LOST, "there is no session");
		return NULL;
	}
	c = rpc_call(sv->tunnel.link, "/nacre.session.v1.Session/Attach",
	    session_bearer(&sv->session), -1, events, owner, f);
	if (!c)
		return NULL;
	(void)text_copy(name, sizeof(name), span_str(id));
	up.which_kind = nacre_session_v1_AttachUp_attach_id_tag;
	up.kind.attach_id = name;
	/* The first message of a new call has room. */
	if (attach_send(c, &up, f) != 0)
		log_warn(f, "cannot name a stream");
	return c;
}

void
attach_done(struct rpc_call *call, const struct fault *f, uint64_t bytes,
    uint64_t entries)
{
	nacre_session_v1_AttachUp up = nacre_session_v1_AttachUp_init_zero;
	struct fault why = { 0 };
	char code[32] = "";
	char text[sizeof(f->text)] = "";

	if (!call)
		return;
	if (f->code != FAULT_NONE) {
		(void)text_copy(code, sizeof(code),
		    span_str(fault_reason(f->code)));
		(void)text_copy(text, sizeof(text), span_str(f->text));
	}
	up.which_kind = nacre_session_v1_AttachUp_done_tag;
	up.kind.done.code = code;
	up.kind.done.text = text;
	up.kind.done.bytes = bytes;
	up.kind.done.entries = entries;
	if (attach_send(call, &up, &why) != 0)
		log_warn(&why, "cannot tell the end of a stream");
	rpc_half_close(call);
}

int
attach_errno(struct fault *f, int error, const char *what, const char *path)
{
	enum fault_code code = error == ENOENT || error == ENOTDIR
	    ? FAULT_NOT_FOUND
	    : error == EACCES || error == EPERM || error == EROFS ||
		error == ENOTEMPTY
	    ? FAULT_REFUSED
	    : error == EOPNOTSUPP || error == ELOOP || error == EISDIR
	    ? FAULT_INVALID
	    : FAULT_SYSTEM;

	if (error == EOPNOTSUPP)
		return fault_set(f, code, "'%s' is no plain file or folder",
		    path);
	errno = error;
	(void)fault_sys(f, "cannot %s '%s'", what, path);
	f->code = code;
	return -1;
}

void
attach_copy_add(struct supervisor *sv, struct copy *c)
{
	c->next = sv->copies;
	sv->copies = c;
}

void
attach_copy_remove(struct supervisor *sv, const struct copy *c)
{
	struct copy **at = &sv->copies;

	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
}

void
attach_copies_end(struct supervisor *sv, const struct fault *why)
{
	for (struct copy *c = sv->copies; c; c = c->next)
		c->end(c, why);
}

int
attach_check(const struct supervisor *sv, const nacre_session_v1_Open *o,
    struct fault *f)
{
	if (!o->attach_id || o->attach_id[0] == '\0' ||
	    strlen(o->attach_id) > SUPERVISOR_ID)
		return fault_field(f, "attach_id", "is empty or too long");
	if (sv->phase != PHASE_RUNNING)
		return fault_set(f, FAULT_NOT_READY, "the sandbox is %s",
		    sv->phase < PHASE_RUNNING ? "starting" : "ending");
	if (sv->brake.is_on)
		return fault_set(f, FAULT_BUSY, "the sandbox is frozen: %s",
		    sv->brake.why.text);
	return 0;
}

int
attach_open(struct supervisor *sv, const nacre_session_v1_Open *o,
    struct fault *f)
{
	if (attach_check(sv, o, f) != 0)
		return -1;
	if (o->which_kind == nacre_session_v1_Open_exec_tag)
		return exec_open(sv, o->attach_id, &o->kind.exec, f);
	if (o->which_kind == nacre_session_v1_Open_main_tag)
		return attach_main(sv, o->attach_id, f);
	if (o->which_kind == nacre_session_v1_Open_remove_tag)
		return remove_open(sv, o->attach_id, &o->kind.remove, f);
	if (o->which_kind == nacre_session_v1_Open_top_tag)
		return top_open(sv, o->attach_id, f);
	if (o->which_kind != nacre_session_v1_Open_put_tag &&
	    o->which_kind != nacre_session_v1_Open_get_tag)
		return fault_set(f, FAULT_UNIMPLEMENTED, "stream is not known");
	if (sv->files == SUPERVISOR_RUNS)
		return fault_set(f, FAULT_LIMIT, "%d copies run already",
		    SUPERVISOR_RUNS);
	return o->which_kind == nacre_session_v1_Open_put_tag
	    ? put_open(sv, o->attach_id, &o->kind.put, f)
	    : get_open(sv, o->attach_id, &o->kind.get, f);
}
