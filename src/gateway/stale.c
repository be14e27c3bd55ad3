/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sweep over all sandboxes: their ids are taken down once, then each row is
 * read, proved and marked in ticks of its own, link by link. What a row was
 * last judged under is kept with it, so a sweep that is cut short goes on where
 * it was.
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/judge.h"
#include "gateway/object.h"
#include "gateway/plan.h"
#include "gateway/record.h"
#include "gateway/sandbox.h"
#include "gateway/stale.h"
#include "wire/wire.h"

enum {
	ARENA = 192 << 20, /* two policies, an image's index, a prover */
	BATCH = 16,        /* rows without a proof a tick */
	AGAIN_MS = 1000,
};

struct stale {
	struct gateway *g;
	struct deferred go;
	struct timer again; /* too many proofs: later */
	char (*ids)[LIMIT_ID + 1];
	size_t n;
	size_t at;
	bool listed;
	bool is_over; /* all are marked, and their commit is awaited */
	/* of the row at hand */
	struct arena arena;
	struct store_sandbox row;
	struct object_policy was;
	enum proof_link link; /* that is due */
	uint64_t generation;  /* of what is above, as the next four */
	const char *hash;
	bool is_above; /* there is something */
	struct policy above;
	struct store_sandbox parent;
	struct policy policy;
	struct scene scene;
	struct proof proof;
};

static int
take_id(void *owner, struct store_sandbox *row, struct fault *f)
{
	struct stale *s = owner;

	(void)f;
	if (row->state != STATE_DELETING && s->n < GATEWAY_SANDBOXES)
		memcpy(s->ids[s->n++], row->id, sizeof(row->id));
	return 0;
}

static int
list(struct stale *s, struct fault *f)
{
	const struct store_page all = { 0 };

	s->n = s->at = 0;
	s->listed = true;
	s->is_over = false;
	free(s->ids);
	s->ids = must_alloc(GATEWAY_SANDBOXES * sizeof(*s->ids));
	return store_sandbox_list(s->g->store, &all, take_id, s, f);
}

static int
record(struct stale *s, const char *why, struct fault *f)
{
	bool is_parent = s->link == PROOF_PARENT;
	char text[JUDGE_TEXT + 256];
	const struct audit_row row = {
		.verb = "sandbox.stale",
		.sandbox_id = s->row.id,
		.sandbox = s->row.name,
		.verdict = AUDIT_OK,
		.reason = is_parent ? "stale_boundary" : "stale_maximum",
		.detail = text,
	};

	(void)text_fmt(text, sizeof(text),
	    "policy sha256:%s, %s sha256:%s generation %llu, verdict %s",
	    s->was.hash, proof_link_name(s->link), s->hash,
	    (unsigned long long)s->generation, why);
	return record_own(s->g, &row, f);
}

static bool
set(struct stale *s, struct object_policy *p, bool is_stale)
{
	bool *flag =
	    s->link == PROOF_PARENT ? &p->is_stale_boundary : &p->is_stale;
	bool is_news = is_stale && !*flag;

	*flag = is_stale;
	if (s->link == PROOF_PARENT)
		p->boundary_generation = (uint32_t)s->generation;
	else
		p->maximum_generation = s->generation;
	return is_news;
}

/* Both or none, as a call's writes. */
static int
mark(struct stale *s, bool is_stale, const char *why, struct fault *f)
{
	struct object_policy now = s->was;
	bool is_news = set(s, &now, is_stale);

	if (object_mark(&s->row, &now, &s->arena, f) < 0 ||
	    store_mark(s->g->store, f) < 0)
		return -1;
	if (store_sandbox_update(s->g->store, &s->row, f) < 0 ||
	    (is_news && record(s, why, f) < 0)) {
		store_back(s->g->store);
		return -1;
	}
	store_keep(s->g->store);
	return 0;
}

/* Its parent's newest policy; 0: it is judged by that, or has no parent. */
static int
due_parent(struct stale *s, bool *due, struct fault *f)
{
	struct object_policy p;
	struct store_lineage l;

	*due = false;
	if (store_lineage_by_id(s->g->store, s->row.id, &s->arena, &l, f) < 0)
		return -1;
	if (l.parent[0] == '\0')
		return 0;
	if (store_sandbox_by_id(s->g->store, l.parent, &s->arena, &s->parent,
		f) < 0 ||
	    object_policy(&s->parent, &s->arena, &p, f) < 0)
		return -1;
	*due = s->was.boundary_generation != p.generation;
	s->link = PROOF_PARENT;
	s->generation = p.generation;
	s->hash = p.hash;
	s->is_above = true;
	return 0;
}

static int
due_maximum(struct stale *s, bool *due, struct fault *f)
{
	uint64_t now = 0;

	if (maximum_generation(s->g, &now, f) < 0)
		return -1;
	*due = s->was.maximum_generation != now;
	s->link = PROOF_MAXIMUM;
	s->generation = now;
	s->hash = "";
	return 0;
}

/* The row and which link of it is to be judged; false: there is none. */
static bool
load(struct stale *s, const char *id, struct fault *f)
{
	bool due = false;

	arena_release(&s->arena);
	if (store_sandbox_by_id(s->g->store, id, &s->arena, &s->row, f) < 0 ||
	    s->row.state == STATE_DELETING ||
	    object_policy(&s->row, &s->arena, &s->was, f) < 0)
		return false;
	/* Both are gone from the store, or neither. */
	if (due_parent(s, &due, f) < 0)
		return false;
	return due || (due_maximum(s, &due, f) == 0 && due);
}

/* The policy above, after load(). */
static int
read_above(struct stale *s, struct fault *f)
{
	struct maximum m;
	nacre_store_v1_Plan plan;
	char hex[2 * POLICY_HASH + 1];

	if (s->link == PROOF_PARENT) {
		if (sandbox_plan(&s->parent, &s->arena, &plan, f) < 0)
			return -1;
		return plan_policy_text(wire_span(plan.policy), 0, &s->arena,
		    &s->above, f);
	}
	if (maximum_read(s->g, &s->arena, &m, f) < 0)
		return -1;
	s->is_above = m.is_set;
	s->above = m.policy;
	hex_format(m.policy.hash, POLICY_HASH, hex);
	s->hash = arena_str(&s->arena, span_str(hex));
	return s->hash == NULL ? fault_set(f, FAULT_LIMIT, "out of memory") : 0;
}

static void
next(struct stale *s)
{
	s->at++;
	loop_later(s->g->loop, &s->go);
}

/* Marked, unless the world went on meanwhile: then it is judged again. The
 * row is looked at once more in any case: another link may be due. */
static void
on_done(struct proof *p)
{
	struct stale *s = p->owner;
	uint64_t generation = s->generation;
	uint64_t version = s->row.version;
	enum proof_link link = s->link;
	enum prover_verdict verdict = p->result.verdict;
	char id[LIMIT_ID + 1];
	char why[JUDGE_TEXT];
	struct fault f = { 0 };

	memcpy(id, s->row.id, sizeof(id));
	judge_format(p, why, sizeof(why));
	if (load(s, id, &f) && s->generation == generation && s->link == link &&
	    s->row.version == version && read_above(s, &f) == 0)
		(void)!mark(s, verdict != PROVER_WITHIN, why, &f);
	if (f.code == FAULT_NONE) {
		loop_later(s->g->loop, &s->go);
		return;
	}
	if (f.code != FAULT_NOT_FOUND)
		log_warn(&f, "cannot judge sandbox %s anew", id);
	next(s);
}

static int
prove(struct stale *s, struct fault *f)
{
	struct proof *p = &s->proof;
	nacre_store_v1_Plan plan;

	if (sandbox_plan(&s->row, &s->arena, &plan, f) < 0 ||
	    plan_policy_text(wire_span(plan.policy), 0, &s->arena, &s->policy,
		f) < 0 ||
	    scene_of_sandbox(s->g, &s->row, &s->arena, &s->scene, f) < 0)
		return -1;
	memset(p, 0, sizeof(*p));
	p->child = &s->policy;
	p->above[s->link] = &s->above;
	p->image = &s->scene.image;
	p->arena = &s->arena;
	p->done = on_done;
	p->owner = s;
	return proof_begin(s->g, p, f);
}

/* What is to be done about one row: true when it goes on by itself. */
static bool
one(struct stale *s, struct fault *f)
{
	if (!load(s, s->ids[s->at], f) || read_above(s, f) < 0)
		return false;
	if (!s->is_above) {
		(void)!mark(s, false, "", f);
		return false;
	}
	if (prove(s, f) == 0)
		return true;
	if (f->code == FAULT_BUSY) {
		loop_timer_set(s->g->loop, &s->again, AGAIN_MS);
		return true;
	}
	/* What cannot be judged could not be started either. */
	if (mark(s, true, f->text, &(struct fault){ 0 }) == 0) {
		fault_clear(f);
		loop_later(s->g->loop, &s->go);
		return true;
	}
	return false;
}

static void
on_go(struct deferred *d)
{
	struct stale *s = CONTAINER_OF(d, struct stale, go);
	struct fault f = { 0 };

	if (s->g->commit_fault.code != FAULT_NONE) {
		s->listed = false; /* what was marked is not */
		loop_timer_set(s->g->loop, &s->again, AGAIN_MS);
		return;
	}
	if (!s->listed && list(s, &f) < 0)
		log_warn(&f, "cannot list the sandboxes");
	for (int i = 0; i < BATCH && s->at < s->n; i++) {
		fault_clear(&f);
		if (one(s, &f))
			return;
		if (f.code != FAULT_NONE && f.code != FAULT_NOT_FOUND)
			log_warn(&f, "cannot judge sandbox %s anew",
			    s->ids[s->at]);
		s->at++;
	}
	if (s->at < s->n || !s->is_over) {
		s->is_over = s->at == s->n;
		loop_later(s->g->loop, &s->go);
		return;
	}
	arena_release(&s->arena);
}

static void
on_again(struct timer *t)
{
	struct stale *s = CONTAINER_OF(t, struct stale, again);

	loop_later(s->g->loop, &s->go);
}

void
stale_begin(struct gateway *g)
{
	struct stale *s = g->stale;

	if (s == NULL) {
		s = g->stale = must_alloc(sizeof(*s));
		s->g = g;
		s->go.run = on_go;
		s->again.fire = on_again;
		arena_init(&s->arena, ARENA);
	}
	proof_drop(&s->proof);
	loop_timer_clear(&s->again);
	s->listed = false;
	loop_later(g->loop, &s->go);
}

void
stale_close(struct gateway *g)
{
	if (g->stale == NULL)
		return;
	arena_release(&g->stale->arena);
	free(g->stale->ids);
	free(g->stale);
	g->stale = NULL;
}
