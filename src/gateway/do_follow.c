/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FollowAudit and ExportAudit: the record as a stream. A follower holds no
 * rows, only the number of the last one it has told, and reads on when its
 * client has room; so a slow client costs nothing, and one that was cut off
 * goes on from its number. Only what is committed is told: it reads after
 * the commit of a tick, and so much a tick.
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/do.h"
#include "gateway/record.h"
#include "proto/nacre_v1.pb.h"

enum {
	FOLLOWERS = 32,
	LOOK = 250,        /* rows a tick */
	ROOM = 48 << 10,   /* a row and some checkpoints fit */
	ARENA = 256 << 10, /* of one message */
};

struct follower {
	struct gateway *g;
	struct call *call;                /* NULL: it has ended */
	struct store_audit_filter filter; /* its texts are the call's */
	struct arena arena;               /* of the message at hand */
	uint64_t row;                     /* the last one that is dealt with */
	uint64_t end; /* of an export: the head when it began */
	bool is_export;
	bool with_checkpoints;
	struct store_checkpoint at; /* the last one that is dealt with */
	bool full;                  /* wait for the client */
	struct deferred go;
	struct deferred held;
	struct follower *next;
	struct follower *prev;
};

static void
free_follower(void *p)
{
	struct follower *w = p;

	arena_release(&w->arena);
	free(w);
}

static void
forget(struct follower *w)
{
	struct gateway *g = w->g;

	if (w->prev != NULL)
		w->prev->next = w->next;
	else
		g->followers = w->next;
	if (w->next != NULL)
		w->next->prev = w->prev;
	g->followers_n--;
	loop_deferred_drop(g->loop, &w->go);
	loop_deferred_drop(g->loop, &w->held);
	w->call = NULL;
	loop_bury(g->loop, w, free_follower);
}

static void
end(struct follower *w, const struct fault *f)
{
	struct call *c = w->call;

	forget(w);
	call_finish(c, f);
}

static bool
has_room(const struct follower *w)
{
	return w->call->rpc != NULL && rpc_room(w->call->rpc) > ROOM;
}

static int
send_row(struct follower *w, const struct store_audit *row, struct fault *f)
{
	nacre_v1_AuditItem item = nacre_v1_AuditItem_init_zero;

	arena_release(&w->arena);
	item.which_kind = nacre_v1_AuditItem_row_tag;
	if (record_row(row, &w->arena, &item.kind.row, f) < 0)
		return -1;
	if (!w->is_export)
		return call_send(w->call, nacre_v1_AuditRow_fields,
		    &item.kind.row, f);
	return call_send(w->call, nacre_v1_AuditItem_fields, &item, f);
}

static int
send_checkpoint(struct follower *w, const struct store_checkpoint *c,
    struct fault *f)
{
	nacre_v1_AuditItem item = nacre_v1_AuditItem_init_zero;

	arena_release(&w->arena);
	item.which_kind = nacre_v1_AuditItem_checkpoint_tag;
	if (record_checkpoint(c, &w->arena, &item.kind.checkpoint, f) < 0)
		return -1;
	return call_send(w->call, nacre_v1_AuditItem_fields, &item, f);
}

/* Those up to the row that was told last. */
static int
send_checkpoints(struct follower *w, struct fault *f)
{
	struct store_checkpoint c = w->at;
	bool found;

	while (w->with_checkpoints && has_room(w)) {
		if (store_checkpoint_next(w->g->store, &c, &found, f) < 0)
			return -1;
		if (!found || c.row > w->row)
			return 0;
		if (send_checkpoint(w, &c, f) < 0)
			return -1;
		w->at = c;
	}
	w->full = w->with_checkpoints;
	return 0;
}

static int
tell(void *owner, const struct store_audit *row, struct fault *f)
{
	struct follower *w = owner;

	if (!w->full && !has_room(w))
		w->full = true;
	if (w->full)
		return 0;
	if (send_row(w, row, f) < 0)
		return -1;
	w->row = row->row;
	return send_checkpoints(w, f);
}

/* A stretch of rows. */
static int
step(struct follower *w, uint64_t end_row, struct fault *f)
{
	uint64_t last = w->row;

	if (w->row < end_row)
		last = end_row - w->row > LOOK ? w->row + LOOK : end_row;

	w->full = !has_room(w);
	if (!w->full && send_checkpoints(w, f) < 0)
		return -1;
	if (w->full)
		return 0;
	w->filter.after = w->row;
	w->filter.before = last + 1;
	if (store_audit_list(w->g->store, &w->filter, tell, w, f) < 0)
		return -1;
	if (!w->full && w->row < last)
		w->row = last;
	return 0;
}

static void
pump(struct follower *w)
{
	struct fault f = { 0 };
	uint8_t hash[STORE_HASH];
	uint64_t head = w->end;

	/* What this tick still writes is told after its commit. */
	if (store_is_dirty(w->g->store)) {
		loop_later(w->g->loop, &w->go);
		return;
	}
	if (!w->is_export &&
	    store_audit_head(w->g->store, &head, hash, &f) < 0) {
		end(w, &f);
		return;
	}
	if ((w->row < head || w->with_checkpoints) && step(w, head, &f) < 0) {
		end(w, &f);
		return;
	}
	if (w->full)
		return;
	if (w->row < head)
		loop_later(w->g->loop, &w->go);
	else if (w->is_export)
		end(w, NULL);
}

static void
on_held(struct deferred *d)
{
	struct follower *w = CONTAINER_OF(d, struct follower, held);

	if (w->call != NULL)
		pump(w);
}

/* Later in a tick, then after its commit. */
static void
on_go(struct deferred *d)
{
	struct follower *w = CONTAINER_OF(d, struct follower, go);

	loop_held(w->g->loop, &w->held);
}

void
follow_committed(struct gateway *g)
{
	for (struct follower *w = g->followers; w != NULL; w = w->next) {
		if (!w->is_export && !w->full)
			loop_held(g->loop, &w->held);
	}
}

static void
on_writable(struct call *c)
{
	struct follower *w = c->work;

	w->full = false;
	loop_later(w->g->loop, &w->go);
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

static struct follower *
make(struct gateway *g, struct call *c)
{
	struct follower *w = must_alloc(sizeof(*w));

	w->g = g;
	w->call = c;
	w->go.run = on_go;
	w->held.run = on_held;
	arena_init(&w->arena, ARENA);
	w->next = g->followers;
	if (w->next != NULL)
		w->next->prev = w;
	g->followers = w;
	g->followers_n++;
	return w;
}

static int
decide(struct call *c, uint64_t after, const nacre_v1_AuditFilter *ask,
    struct fault *f)
{
	struct store_audit_filter *w = arena_get(&c->arena, sizeof(*w));
	bool is_all;

	BUG_IF(w == NULL);
	c->work = w;
	w->after = after;
	if (after > INT64_MAX)
		return fault_field(f, "after", "no row has such a number");
	if (c->g->followers_n >= FOLLOWERS)
		return fault_set(f, FAULT_BUSY,
		    "%d clients follow the record already", FOLLOWERS);
	if (record_filter(c->g, ask, &c->arena, w, &is_all, f) < 0)
		return -1;
	w->tail = is_all; /* until it is answered */
	return 0;
}

int
do_follow_decide(struct call *c, struct fault *f)
{
	const nacre_v1_FollowAuditRequest *ask = c->ask;

	return decide(c, ask->after, &ask->filter, f);
}

int
do_export_decide(struct call *c, struct fault *f)
{
	const nacre_v1_ExportAuditRequest *ask = c->ask;

	return decide(c, ask->after, &ask->filter, f);
}

static struct follower *
begin(struct call *c, bool is_export, bool from_head)
{
	const struct store_audit_filter *filter = c->work;
	struct follower *w = make(c->g, c);
	uint8_t hash[STORE_HASH];
	struct fault f = { 0 };

	w->filter = *filter;
	w->filter.tail = false;
	w->row = filter->after;
	w->is_export = is_export;
	w->with_checkpoints = is_export && filter->tail;
	call_take(c, &events, w);
	if (store_audit_head(c->g->store, &w->end, hash, &f) < 0) {
		end(w, &f);
		return NULL;
	}
	if (from_head)
		w->row = w->end;
	return w;
}

void
do_follow_answer(struct call *c)
{
	const nacre_v1_FollowAuditRequest *ask = c->ask;
	struct follower *w =
	    begin(c, false, ask->after == 0 && !ask->from_start);

	if (w != NULL)
		loop_later(c->g->loop, &w->go);
}

/* An export begins where the chain does: with what was pruned, if anything. */
void
do_export_answer(struct call *c)
{
	struct follower *w = begin(c, true, false);
	struct store_checkpoint pruned;
	struct fault f = { 0 };
	bool found;

	if (w == NULL)
		return;
	if (store_checkpoint_last_of(c->g->store, AUDIT_PRUNED, &pruned, &found,
		&f) < 0) {
		end(w, &f);
		return;
	}
	if (found && w->row < pruned.row)
		w->row = pruned.row;
	w->at.row = w->row;
	loop_later(c->g->loop, &w->go);
}
