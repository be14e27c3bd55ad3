/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns. The queue knows numbers; here is which sandbox each one is. A grant
 * that died while somebody waited is found when its turn comes.
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/fleet.h"
#include "gateway/line.h"
#include "gateway/sandbox.h"
#include "gateway/settle.h"
#include "gateway/tree.h"

struct place {
	char id[LIMIT_ID + 1];
	uint64_t start;
	uint64_t tree;
	bool is_root;
	bool has_turn;
	struct place *next;
};

struct line {
	struct grant_queue queue;
	struct place *places;
	uint64_t numbers;
};

static struct line *
line_of(struct gateway *g)
{
	if (g->line == NULL) {
		g->line = must_alloc(sizeof(*g->line));
		grant_queue_init(&g->line->queue);
	}
	return g->line;
}

const struct grant_queue *
line_queue(struct gateway *g)
{
	return &line_of(g)->queue;
}

static struct place **
find(struct line *l, const char *id)
{
	struct place **at = &l->places;

	while (*at != NULL && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	return at;
}

int
line_join(struct gateway *g, const char *id, uint64_t tree, bool is_root,
    struct grant_refusal *r)
{
	struct line *l = line_of(g);
	struct place **at = find(l, id);
	/* Nobody is taken out by a parent's number here: places are by id. */
	struct grant_ticket t = { ++l->numbers, tree, !is_root };

	if (*at != NULL)
		return 0;
	if (grant_queue_join(&l->queue, &t, r) < 0)
		return -1;
	*at = must_alloc(sizeof(**at));
	(void)text_copy((*at)->id, sizeof((*at)->id), span_str(id));
	(*at)->start = t.start;
	(*at)->tree = tree;
	(*at)->is_root = is_root;
	settle_later(g, id);
	return 0;
}

/* The grant died, or no machine can be had: it never was. */
static int
undo(struct gateway *g, struct store_sandbox *row, const char *reason,
    const char *detail, struct fault *f)
{
	const struct cause why = { .reason = reason, .detail = detail };

	return sandbox_move_own(g, row, EVENT_STOP, &why, f);
}

static int
begin(struct gateway *g, struct store_sandbox *row, struct fault *f)
{
	enum state_verdict verdict;

	crash_at("after_leave");
	if (sandbox_move(g, row, EVENT_TURN, NULL, &verdict, f) < 0)
		return -1;
	fleet_reserve(g, row);
	return store_sandbox_update(g->store, row, f);
}

static int
take_turn(struct gateway *g, const char *id, struct arena *a, struct fault *f)
{
	struct store_sandbox row;
	struct store_lineage l;
	struct tree t;

	if (store_sandbox_by_id(g->store, id, a, &row, f) < 0 ||
	    store_lineage_by_id(g->store, id, a, &l, f) < 0 ||
	    tree_read(g, l.root, a, &t, f) < 0)
		return -1;
	if (row.state != STATE_RESERVED)
		return 0;
	if (l.parent[0] != '\0' &&
	    (t.t.grant == NULL ||
		grant_state_at(&t.grant, tree_now()) != GRANT_LIVE))
		return undo(g, &row, "grant", "its grant died while it waited",
		    f);
	return begin(g, &row, f);
}

int
line_begin(struct gateway *g, struct store_sandbox *row, struct fault *f)
{
	struct line *l = line_of(g);
	struct place *own = *find(l, row->id);
	struct grant_ticket t;

	for (const struct place *p = l->places; p != NULL; p = p->next)
		if (p != own && !p->has_turn)
			return 0;
	if (own == NULL || g->stopping || !grant_queue_next(&l->queue, &t))
		return 0;
	own->has_turn = true;
	return begin(g, row, f);
}

static void
pump(struct gateway *g)
{
	struct line *l = line_of(g);
	struct grant_ticket t;

	while (!g->stopping && grant_queue_next(&l->queue, &t)) {
		struct fault f = { 0 };
		struct place *p = l->places;
		struct arena a;

		while (p != NULL && p->start != t.start)
			p = p->next;
		BUG_IF(p == NULL);
		p->has_turn = true;
		arena_init(&a, GATEWAY_TREE);
		if (take_turn(g, p->id, &a, &f) < 0) {
			log_warn(&f, "cannot start sandbox %s", p->id);
			settle_later(g, p->id);
		}
		arena_release(&a);
	}
}

static void
leave(struct line *l, struct place **at)
{
	struct place *p = *at;

	if (p->has_turn)
		grant_queue_done(&l->queue, p->tree);
	else
		(void)grant_queue_leave(&l->queue, p->tree, p->start);
	*at = p->next;
	free(p);
}

/* Its turn's transaction failed; others may have taken its place. */
static void
wait_anew(struct gateway *g, struct place **at, const char *id)
{
	static const struct cause why = {
		.reason = "busy",
		.detail = "too many starts wait",
	};
	struct grant_refusal r;
	uint64_t tree = (*at)->tree;
	bool is_root = (*at)->is_root;

	leave(line_of(g), at);
	if (line_join(g, id, tree, is_root, &r) < 0)
		sandbox_event(g, id, EVENT_STOP, &why);
}

void
line_settle(struct gateway *g, const char *id, int state)
{
	struct line *l = line_of(g);
	struct place **at = find(l, id);

	if (*at == NULL)
		return;
	if (state == STATE_RESERVED && (*at)->has_turn) {
		wait_anew(g, at, id);
	} else if (state != STATE_RESERVED && state != STATE_STARTING) {
		leave(l, at);
	}
	pump(g);
}

void
line_look(struct gateway *g)
{
	for (const struct place *p = line_of(g)->places; p != NULL; p = p->next)
		if (p->has_turn)
			settle_later(g, p->id);
}

/* --- after a restart */

static int
join_again(void *owner, const struct store_lineage *row, struct fault *f)
{
	struct gateway *g = owner;
	struct grant_refusal r;

	(void)f;
	if (line_join(g, row->id, tree_number(g, row->root),
		row->parent[0] == '\0', &r) < 0)
		log_info("no place for the start of '%s'", row->name);
	return 0;
}

/* Starts whose end nobody knows go on counting. */
static int
adopt(void *owner, const struct store_lineage *row, struct fault *f)
{
	struct gateway *g = owner;
	struct line *l = line_of(g);
	struct place *p;
	struct grant_ticket t;

	if (join_again(owner, row, f) < 0)
		return -1;
	p = *find(l, row->id);
	if (p != NULL && grant_queue_next(&l->queue, &t))
		p->has_turn = true;
	return 0;
}

int
line_open(struct gateway *g, struct fault *f)
{
	if (store_lineage_states(g->store, STATE_STARTING, adopt, g, f) < 0)
		return -1;
	return store_lineage_states(g->store, STATE_RESERVED, join_again, g, f);
}

void
line_close(struct gateway *g)
{
	struct line *l = g->line;

	while (l != NULL && l->places != NULL) {
		struct place *p = l->places;

		l->places = p->next;
		free(p);
	}
	free(l);
	g->line = NULL;
}
