/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WatchSandbox. A watcher holds no events: it holds what it has not told yet
 * ("the status changed", a place in the log) and reads it when its client has
 * room. So a slow client gets the newest status and every line that is still
 * kept, and costs nothing. Lines go before the status, so that whoever sees
 * an exit code has seen the output.
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/do.h"
#include "gateway/journal.h"
#include "gateway/obituary.h"
#include "gateway/object.h"
#include "gateway/open.h"
#include "gateway/tail.h"
#include "gateway/view.h"
#include "gateway/watch.h"
#include "proto/openshell_v1.pb.h"
#include "wire/wire.h"

enum {
	TAIL_DEFAULT = 200,
	TAIL_MOST = 2000,
};

struct watcher {
	struct gateway *g;
	struct call *call;
	char id[LIMIT_ID + 1];
	bool waits_for_end; /* DeleteSandbox: tells nothing but that */
	bool status;
	bool logs;
	bool until_settled;
	bool status_due;
	bool logs_due;
	bool removed;
	struct span last; /* of a removed one: its last object, encoded */
	struct buf last_bytes;
	struct tail tail;
	struct journal_reader reader;
	struct deferred held;
	struct watcher *next;
	struct watcher *prev;
};

static void
free_watcher(void *p)
{
	struct watcher *w = p;

	journal_reader_release(&w->reader);
	buf_release(&w->last_bytes);
	free(w);
}

static void
forget(struct watcher *w)
{
	if (w->prev != NULL)
		w->prev->next = w->next;
	else
		w->g->watchers = w->next;
	if (w->next != NULL)
		w->next->prev = w->prev;
	loop_deferred_drop(w->g->loop, &w->held);
	w->call = NULL;
	loop_bury(w->g->loop, w, free_watcher);
}

static void
end(struct watcher *w, const struct fault *f)
{
	struct call *c = w->call;

	forget(w);
	call_finish(c, f);
}

static bool
has_room(const struct watcher *w)
{
	return w->call->rpc != NULL && rpc_room(w->call->rpc) > 0;
}

static bool
send_line(void *owner, const struct journal_line *line)
{
	struct watcher *w = owner;
	openshell_v1_SandboxStreamEvent e =
	    openshell_v1_SandboxStreamEvent_init_zero;
	struct fault f = { 0 };
	struct arena a;
	int rc;

	if (tail_passes_over(&w->tail, line))
		return true;
	if (!has_room(w))
		return false;
	arena_init(&a, 8 * JOURNAL_LINE);
	e.which_payload = openshell_v1_SandboxStreamEvent_log_tag;
	tail_line(w->id, line, &a, &e.payload.log);
	rc = call_send(w->call, openshell_v1_SandboxStreamEvent_fields, &e, &f);
	arena_release(&a);
	return rc == 0;
}

static int
send_status(struct watcher *w, const struct store_sandbox *row, struct fault *f)
{
	openshell_v1_SandboxStreamEvent e =
	    openshell_v1_SandboxStreamEvent_init_zero;
	struct arena a;
	int rc;

	arena_init(&a, 8 * LIMIT_MESSAGE);
	e.which_payload = openshell_v1_SandboxStreamEvent_sandbox_tag;
	rc = object_of(row, &a, &e.payload.sandbox, f);
	if (rc == 0)
		rc = call_send(w->call, openshell_v1_SandboxStreamEvent_fields,
		    &e, f);
	arena_release(&a);
	return rc;
}

static bool
is_settled(const struct store_sandbox *row)
{
	return row->state == STATE_RUNNING || row->state == STATE_ENDED ||
	    row->state == STATE_STOPPED || row->state == STATE_FAILED ||
	    row->state == STATE_OVER;
}

/* False: it has ended, one way or the other. */
static bool
pump_status(struct watcher *w)
{
	struct store_sandbox row;
	struct fault f = { 0 };
	struct arena a;
	bool over = false;
	int rc;

	arena_init(&a, 4 * LIMIT_MESSAGE);
	rc = store_sandbox_by_id(w->g->store, w->id, &a, &row, &f);
	if (rc == 0) {
		w->status_due = false;
		rc = send_status(w, &row, &f);
		over = w->until_settled && is_settled(&row);
	} else if (f.code == FAULT_NOT_FOUND) {
		w->status_due = false; /* its removal is told in a moment */
		rc = 0;
	}
	arena_release(&a);
	if (rc < 0 || over)
		end(w, rc < 0 ? &f : NULL);
	return rc == 0 && !over;
}

static void
end_removed(struct watcher *w)
{
	struct fault f = { 0 };

	if (w->last_bytes.len > 0 &&
	    rpc_send(w->call->rpc, buf_span(&w->last_bytes), &f) < 0)
		log_debug("a watcher missed the end: %s", f.text);
	end(w, NULL);
}

static void
pump(struct watcher *w)
{
	struct fault f = { 0 };

	if (w->logs_due && !w->removed) {
		if (!has_room(w))
			return;
		w->logs_due = false;
		if (journal_read(w->g, &w->reader, w->status_due, send_line, w,
			&f) < 0) {
			end(w, &f);
			return;
		}
		if (!has_room(w)) {
			w->logs_due = true;
			return;
		}
		w->tail.skip = 0;
	}
	if (w->status_due && w->status && !w->removed) {
		if (!has_room(w) || !pump_status(w))
			return;
	}
	if (w->removed && has_room(w))
		end_removed(w);
}

static void
on_held(struct deferred *d)
{
	struct watcher *w = CONTAINER_OF(d, struct watcher, held);

	if (w->call == NULL)
		return;
	if (w->g->commit_fault.code != FAULT_NONE)
		w->removed = false; /* it was not: it is looked at again */
	if (!w->waits_for_end) {
		pump(w);
		return;
	}
	if (w->removed) {
		openshell_v1_DeleteSandboxResponse reply =
		    openshell_v1_DeleteSandboxResponse_init_zero;
		struct fault f = { 0 };

		reply.deleted = true;
		if (call_send(w->call,
			openshell_v1_DeleteSandboxResponse_fields, &reply,
			&f) < 0)
			end(w, &f);
		else
			end(w, NULL);
	}
}

static void
due(struct watcher *w)
{
	loop_held(w->g->loop, &w->held);
}

void
watch_changed(struct gateway *g, const char *id)
{
	view_due(g, id);
	for (struct watcher *w = g->watchers; w != NULL; w = w->next) {
		if (strcmp(w->id, id) == 0) {
			w->status_due = true;
			due(w);
		}
	}
}

void
watch_logs(struct gateway *g, const char *id)
{
	view_due(g, id);
	for (struct watcher *w = g->watchers; w != NULL; w = w->next) {
		if (w->logs && strcmp(w->id, id) == 0) {
			w->logs_due = true;
			due(w);
		}
	}
}

/* A launch that failed shows why, in an object that says ERROR. */
static void
keep_last(struct watcher *w, const struct store_sandbox *row)
{
	openshell_v1_SandboxStreamEvent e =
	    openshell_v1_SandboxStreamEvent_init_zero;
	struct store_sandbox last = *row;
	struct fault f = { 0 };
	struct arena a;

	if (!object_is_stillborn(row) || !w->status)
		return;
	last.state = STATE_FAILED;
	arena_init(&a, 8 * LIMIT_MESSAGE);
	e.which_payload = openshell_v1_SandboxStreamEvent_sandbox_tag;
	if (object_of(&last, &a, &e.payload.sandbox, &f) < 0 ||
	    WIRE_ENCODE(openshell_v1_SandboxStreamEvent, &e, &w->last_bytes,
		&f) < 0)
		log_warn(&f, "cannot tell why '%s' failed", row->name);
	arena_release(&a);
}

void
watch_removed(struct gateway *g, const struct store_sandbox *row)
{
	view_due(g, row->id);
	if (object_is_stillborn(row))
		obituary_note(g, row);
	for (struct watcher *w = g->watchers; w != NULL; w = w->next) {
		if (strcmp(w->id, row->id) != 0)
			continue;
		if (!w->waits_for_end && w->last_bytes.len == 0)
			keep_last(w, row);
		w->removed = true;
		due(w);
	}
}

static void
on_writable(struct call *c)
{
	struct watcher *w = c->work;

	if (!w->waits_for_end)
		pump(w);
}

static void
on_gone(struct call *c)
{
	forget(c->work);
}

static const struct call_events events = {
	.writable = on_writable,
	.gone = on_gone,
};

static struct watcher *
make(struct call *c)
{
	struct watcher *w = must_alloc(sizeof(*w));

	w->g = c->g;
	w->call = c;
	(void)text_copy(w->id, sizeof(w->id), span_str(c->sandbox_id));
	journal_reader_init(&w->reader, w->id);
	buf_init(&w->last_bytes, LIMIT_MESSAGE);
	w->held.run = on_held;
	w->next = c->g->watchers;
	if (w->next != NULL)
		w->next->prev = w;
	c->g->watchers = w;
	return w;
}

void
watch_deleted(struct call *c)
{
	struct watcher *w = make(c);
	struct store_sandbox row;
	struct fault f = { 0 };

	w->waits_for_end = true;
	/* It may have gone between the effect and now. */
	if (store_sandbox_by_id(c->g->store, w->id, &c->arena, &row, &f) < 0 &&
	    f.code == FAULT_NOT_FOUND) {
		w->removed = true;
		due(w);
	}
	call_take(c, &events, w);
}

int
do_watch_decide(struct call *c, struct fault *f)
{
	const openshell_v1_WatchSandboxRequest *ask = c->ask;
	struct store_sandbox *row = arena_get(&c->arena, sizeof(*row));

	BUG_IF(row == NULL);
	if (open_id(c, ask->id, row, f) == 0)
		return 0;
	if (f->code != FAULT_NOT_FOUND ||
	    !obituary_find(c->g, ask->id, &c->arena, row))
		return -1;
	fault_clear(f);
	(void)text_copy(c->sandbox_id, sizeof(c->sandbox_id),
	    span_str(row->id));
	c->work = row; /* all there is to tell */
	return 0;
}

static void
tell_obituary(struct watcher *w, const struct store_sandbox *row)
{
	struct fault f = { 0 };
	int rc = send_status(w, row, &f);

	end(w, rc < 0 ? &f : NULL);
}

void
do_watch_answer(struct call *c)
{
	const openshell_v1_WatchSandboxRequest *ask = c->ask;
	const struct store_sandbox *gone = c->work;
	struct watcher *w = make(c);
	uint32_t lines =
	    ask->log_tail_lines == 0 ? TAIL_DEFAULT : ask->log_tail_lines;
	struct fault f = { 0 };

	w->status = ask->follow_status;
	w->logs = ask->follow_logs;
	w->until_settled = ask->stop_on_terminal;
	if (lines > TAIL_MOST)
		lines = TAIL_MOST;
	call_take(c, &events, w);
	if (gone != NULL) {
		tell_obituary(w, gone);
		return;
	}
	tail_init(&w->tail, lines, ask->log_since_ms,
	    (const char *const *)ask->log_sources, ask->log_sources_count);
	if (w->logs && tail_count(c->g, w->id, &w->tail, &f) < 0) {
		end(w, &f);
		return;
	}
	/* The first event is the object, whatever is followed. */
	w->status_due = true;
	if (!has_room(w) || !pump_status(w))
		return;
	w->logs_due = w->logs;
	pump(w);
}
