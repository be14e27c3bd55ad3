/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a start; await.h has the contracts. */
#include <stdlib.h>
#include <string.h>

#include "gateway/await.h"
#include "gateway/refusal.h"
#include "gateway/sandbox.h"
#include "gateway/tree.h"
#include "proto/nacre_v1.pb.h"

struct await {
	struct call *call;
	char id[LIMIT_ID + 1];
	bool for_rest;
	const struct pb_msgdesc_s *fields;
	const void *message;         /* of a rest; NULL: what is so then */
	void (*run)(struct call *c); /* of a start; NULL: that is the answer */
	struct timer timer;
	struct deferred held;
	struct await *next;
	struct await *prev;
};

static const char *
hint_of(const struct store_lineage *l)
{
	enum state s = l->is_there ? (enum state)l->state : STATE_REMOVED;

	if (s == STATE_RESERVED || s == STATE_STARTING)
		return "call get_sandbox until it says running";
	if (s == STATE_STOPPED || s == STATE_FAILED)
		return "a tool starts again on exec";
	return "";
}

void
await_tell(const struct store_lineage *l, struct arena *a, nacre_v1_Child *out)
{
	enum state s = l->is_there ? (enum state)l->state : STATE_REMOVED;

	*out = (nacre_v1_Child)nacre_v1_Child_init_zero;
	out->id = arena_str(a, span_str(l->id));
	out->name = arena_str(a, span_str(l->name));
	out->full_name = arena_str(a, span_str(l->full_name));
	out->kind = arena_str(a,
	    l->kind == GRANT_TOOL ? SPAN_LIT("tool") : SPAN_LIT("agent"));
	out->state = arena_str(a,
	    s == STATE_REMOVED ? SPAN_LIT("deleted") : span_str(state_name(s)));
	out->parent = arena_str(a, span_str(l->parent));
	out->root = arena_str(a, span_str(l->root));
	out->has_depth = l->kind == GRANT_AGENT;
	out->depth = l->depth;
	out->policy_hash = arena_str(a, span_str(l->policy_hash));
	out->created_ms = l->created_ms;
	out->ended_ms = l->ended_ms;
	out->has_exit = l->has_exit;
	out->exit_code = l->exit_code;
	out->reason = arena_str(a, span_str(l->is_there ? l->reason : l->why));
	out->hint = arena_str(a, span_str(hint_of(l)));
	out->user = arena_str(a, span_str(l->user));
	out->grant = arena_str(a, span_str(l->grant));
}

int
await_describe(struct call *c, const char *id, nacre_v1_Child *out,
    struct fault *f)
{
	struct store_lineage l;

	if (store_lineage_by_id(c->g->store, id, &c->arena, &l, f) < 0)
		return -1;
	await_tell(&l, &c->arena, out);
	return 0;
}

static void
free_await(void *p)
{
	free(p);
}

static void
forget(struct await *w)
{
	struct gateway *g = w->call->g;

	if (w->prev != NULL)
		w->prev->next = w->next;
	else
		g->awaits = w->next;
	if (w->next != NULL)
		w->next->prev = w->prev;
	loop_timer_clear(&w->timer);
	loop_deferred_drop(g->loop, &w->held);
	w->call = NULL;
	loop_bury(g->loop, w, free_await);
}

/* It is gone before it ran, and left why. */
static void
never_ran(struct await *w, const struct store_lineage *l)
{
	struct call *c = w->call;
	nacre_v1_Refusal *more = refusal_of(c);
	struct fault f = { 0 };

	if (more != NULL) {
		more->stage = arena_str(&c->arena, SPAN_LIT("start"));
		more->reason = arena_str(&c->arena, span_str(l->why));
	}
	fault_set(&f, FAULT_START_FAILED, "the sandbox did not start: %s",
	    l->why);
	forget(w);
	call_finish(c, &f);
}

static void
reply(struct await *w, const struct store_lineage *l)
{
	nacre_v1_ChildReply r = nacre_v1_ChildReply_init_zero;
	struct call *c = w->call;
	struct fault f = { 0 };

	r.has_sandbox = true;
	await_tell(l, &c->arena, &r.sandbox);
	forget(w);
	if (call_send(c, nacre_v1_ChildReply_fields, &r, &f) < 0)
		call_finish(c, &f);
	else
		call_finish(c, NULL);
}

/* What the effect had to say already. */
static void
reply_kept(struct await *w)
{
	struct call *c = w->call;
	struct fault f = { 0 };

	forget(w);
	if (call_send(c, w->fields, w->message, &f) < 0)
		call_finish(c, &f);
	else
		call_finish(c, NULL);
}

static void
look_for_rest(struct await *w, const struct store_lineage *l)
{
	if (l->is_there && l->state != STATE_STOPPED &&
	    l->state != STATE_FAILED && l->state != STATE_OVER)
		return;
	if (w->message != NULL) {
		if (!l->is_there)
			reply_kept(w);
		return;
	}
	reply(w, l);
}

static bool
is_under_way(const struct store_lineage *l)
{
	return l->is_there &&
	    (l->state == STATE_RESERVED || l->state == STATE_STARTING ||
		(l->state == STATE_DELETING && !l->began));
}

static void
go_on(struct await *w)
{
	void (*run)(struct call * c) = w->run;
	struct call *c = w->call;

	forget(w);
	run(c);
}

/* A start again that did not come to anything, or takes too long. */
static void
not_running(struct await *w, const struct store_lineage *l)
{
	enum state s = l->is_there ? (enum state)l->state : STATE_REMOVED;
	struct call *c = w->call;
	nacre_v1_Refusal *more = refusal_of(c);
	struct fault f = { 0 };

	if (more != NULL)
		more->state = arena_str(&c->arena, span_str(state_name(s)));
	fault_set(&f, FAULT_NOT_READY, "sandbox '%s' is %s", l->name,
	    state_name(s));
	forget(w);
	call_finish(c, &f);
}

/* To a client that asked for it. It may find that the client has left: w is
 * gone then. */
static void
tell(struct await *w, const struct store_lineage *l)
{
	struct call_progress p = { .done = 1, .total = 3 };

	p.what = "waiting for its turn";
	if (l->state == STATE_STARTING) {
		p.done = 2;
		p.what = "its machine is starting";
	}
	call_progress(w->call, &p);
}

static void
look(struct await *w, bool is_late)
{
	struct call *c = w->call;
	struct store_lineage l;
	struct fault f = { 0 };

	if (store_lineage_by_id(c->g->store, w->id, &c->arena, &l, &f) < 0) {
		forget(w);
		call_finish(c, &f);
	} else if (w->for_rest) {
		look_for_rest(w, &l);
	} else if (!l.is_there && !l.began) {
		never_ran(w, &l);
	} else if (w->run != NULL && l.is_there && l.state == STATE_RUNNING) {
		go_on(w);
	} else if (w->run != NULL && (is_late || !is_under_way(&l))) {
		not_running(w, &l);
	} else if (is_late || !is_under_way(&l)) {
		reply(w, &l);
	} else {
		tell(w, &l);
	}
}

static void
on_held(struct deferred *d)
{
	struct await *w = CONTAINER_OF(d, struct await, held);

	if (w->call != NULL && w->call->g->commit_fault.code == FAULT_NONE)
		look(w, false);
}

static void
on_timer(struct timer *t)
{
	look(CONTAINER_OF(t, struct await, timer), true);
}

void
await_undo(struct call *c)
{
	static const struct cause why = {
		.reason = "cancelled",
		.detail = "its caller left before it ran",
	};
	struct store_lineage l;
	struct fault f = { 0 };

	if (store_lineage_by_id(c->g->store, c->sandbox_id, &c->arena, &l,
		&f) == 0 &&
	    !l.began && is_under_way(&l))
		sandbox_event(c->g, l.id,
		    l.parent[0] == '\0' ? EVENT_DELETE : EVENT_STOP, &why);
}

static void
on_gone(struct call *c)
{
	struct await *w = c->work;

	if (!w->for_rest)
		await_undo(c);
	forget(w);
}

static const struct call_events events = {
	.gone = on_gone,
};

void
await_changed(struct gateway *g, const char *id)
{
	for (struct await *w = g->awaits; w != NULL; w = w->next)
		if (strcmp(w->id, id) == 0)
			loop_held(g->loop, &w->held);
}

static struct await *
begin(struct call *c)
{
	struct await *w = must_alloc(sizeof(*w));

	w->call = c;
	(void)text_copy(w->id, sizeof(w->id), span_str(c->sandbox_id));
	w->held.run = on_held;
	w->timer.fire = on_timer;
	w->next = c->g->awaits;
	if (w->next != NULL)
		w->next->prev = w;
	c->g->awaits = w;
	call_take(c, &events, w);
	return w;
}

void
await_start(struct call *c, int64_t wait_ms)
{
	struct await *w = begin(c);

	wait_ms = call_left_of_ms(c, wait_ms);
	if (wait_ms > 0)
		loop_timer_set(c->g->loop, &w->timer, wait_ms);
	look(w, wait_ms == 0);
}

void
await_running(struct call *c, void (*run)(struct call *c))
{
	struct await *w = begin(c);
	int64_t wait_ms = call_left_of_ms(c, GRANT_WAIT_MS);

	w->run = run;
	if (wait_ms > 0)
		loop_timer_set(c->g->loop, &w->timer, wait_ms);
	look(w, wait_ms == 0);
}

void
await_rest(struct call *c, const struct pb_msgdesc_s *fields,
    const void *message)
{
	struct await *w = begin(c);

	w->for_rest = true;
	w->fields = fields;
	w->message = message;
	look(w, false);
}
