/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees out of the store; tree.h has the contracts. A deadline is set when a
 * grant's expiry is first seen and kept in memory, so that a wall clock that
 * is set back lengthens nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/lapse.h"
#include "gateway/tree.h"
#include "proto/nacre_store.pb.h"
#include "prover/prover.h"
#include "wire/wire.h"

enum {
	ROWS = 16,            /* of a tree, to begin with */
	TICKS_PER_MS_OF = 10, /* a slice of a proof is 10 ms worth */
};

struct grant_now
tree_now(void)
{
	return (struct grant_now){ clock_wall_ms(), clock_mono_ms() };
}

enum grant_life
tree_life(enum state s)
{
	switch (s) {
	case STATE_RESERVED:
		return GRANT_RESERVED;
	case STATE_STARTING:
		return GRANT_STARTING;
	case STATE_RUNNING:
		return GRANT_RUNNING;
	case STATE_STOPPING:
	case STATE_DELETING:
		return GRANT_STOPPING;
	case STATE_STOPPED:
	case STATE_FAILED:
		return GRANT_STOPPED;
	case STATE_ENDED: /* its machine may go on; its children do not */
	case STATE_OVER:
		return GRANT_ENDED;
	case STATE_REMOVED:
		break;
	}
	return GRANT_DELETED;
}

static struct tree_memory *
find_memory(struct gateway *g, const char *root)
{
	struct tree_memory *m = g->trees;

	while (m != NULL && strcmp(m->root, root) != 0)
		m = m->next;
	return m;
}

static struct tree_memory *
memory_of(struct gateway *g, const char *root)
{
	struct tree_memory *m = find_memory(g, root);

	if (m != NULL)
		return m;
	m = must_alloc(sizeof(*m));
	(void)text_copy(m->root, sizeof(m->root), span_str(root));
	m->number = ++g->tree_numbers;
	grant_worth_init(&m->worth, PROVER_TICK / TICKS_PER_MS_OF,
	    clock_mono_ms());
	grant_bucket_init(&m->rate, GRANT_RATE_TREE, clock_mono_ms());
	m->next = g->trees;
	g->trees = m;
	return m;
}

uint64_t
tree_number(struct gateway *g, const char *root)
{
	return memory_of(g, root)->number;
}

struct grant_worth *
tree_worth(struct gateway *g, const char *root)
{
	struct tree_memory *m = find_memory(g, root);

	return m == NULL ? NULL : &m->worth;
}

/* --- rows */

struct reader {
	struct arena *a;
	struct store_lineage *row;
	uint32_t n;
	uint32_t room;
};

static int
add(void *owner, const struct store_lineage *row, struct fault *f)
{
	struct reader *r = owner;

	if (!row->is_there)
		return 0;
	if (r->n == r->room) {
		uint32_t room = r->room == 0 ? ROWS : 2 * r->room;
		struct store_lineage *grown =
		    arena_get(r->a, room * sizeof(*grown));

		if (grown == NULL)
			return fault_set(f, FAULT_LIMIT, "the tree is too big");
		if (r->n > 0)
			memcpy(grown, r->row, r->n * sizeof(*grown));
		r->row = grown;
		r->room = room;
	}
	r->row[r->n] = *row;
	r->row[r->n].program = arena_str(r->a, span_str(row->program));
	r->n++;
	return 0;
}

uint32_t
tree_find(const struct tree *t, const char *id)
{
	for (uint32_t i = 0; i < t->t.n; i++)
		if (strcmp(t->row[i].id, id) == 0)
			return i;
	return GRANT_NOBODY;
}

static int
make_nodes(const struct reader *r, struct tree *t, struct fault *f)
{
	struct grant_node *node = arena_get(r->a, r->n * sizeof(*node));

	if (node == NULL)
		return fault_set(f, FAULT_LIMIT, "the tree is too big");
	t->row = r->row;
	t->t.node = node;
	for (uint32_t i = 0; i < r->n; i++) {
		const struct store_lineage *l = &r->row[i];

		t->t.n = i; /* parents stand before their children */
		node[i] = (struct grant_node){
			.id = span_str(l->id),
			.name = span_str(l->name),
			.parent = l->parent[0] == '\0'
			    ? GRANT_NOBODY
			    : tree_find(t, l->parent),
			.depth = l->depth,
			.kind = (enum grant_kind)l->kind,
			.life = tree_life((enum state)l->state),
			.is_counted = l->counted,
		};
	}
	t->t.n = r->n;
	t->t.user = span_str(r->row[0].user);
	return 0;
}

/* --- the grant */

static int
read_programs(const struct store_grant *row, struct arena *a, struct grant *to,
    struct fault *f)
{
	nacre_store_v1_Programs p = nacre_store_v1_Programs_init_zero;

	if (WIRE_DECODE(nacre_store_v1_Programs, &p, row->programs, a, f) < 0)
		return fault_prefix(f, "grant %s", row->id);
	for (pb_size_t i = 0; i < p.programs_count && i < GRANT_PROGRAMS; i++) {
		struct span sha = wire_span(p.programs[i].sha256);
		struct grant_program *one = &to->programs[i];

		one->path = span_str(p.programs[i].path);
		one->resolved = span_str(p.programs[i].resolved);
		one->is_pinned = p.programs[i].is_pinned;
		one->has_sha256 = sha.len == DIGEST_SIZE;
		if (one->has_sha256)
			memcpy(one->sha256, sha.ptr, DIGEST_SIZE);
		to->programs_n++;
	}
	return 0;
}

static void
arm(struct gateway *g, struct tree_memory *m, struct grant *to, const char *id)
{
	if (strcmp(m->grant, id) == 0 && m->expires_ms == to->expires_ms) {
		to->deadline_ms = m->deadline_ms;
		return;
	}
	grant_arm(to, tree_now());
	(void)text_copy(m->grant, sizeof(m->grant), span_str(id));
	m->expires_ms = to->expires_ms;
	m->deadline_ms = to->deadline_ms;
	m->is_over = false;
	lapse_changed(g);
}

static int
read_grant(struct gateway *g, const char *root, struct arena *a, struct tree *t,
    struct fault *f)
{
	struct store_grant *row = arena_get(a, sizeof(*row));

	if (row == NULL)
		return fault_set(f, FAULT_LIMIT, "the tree is too big");
	if (store_grant_newest(g->store, root, a, row, f) < 0) {
		if (f->code != FAULT_NOT_FOUND)
			return -1;
		fault_clear(f);
		return 0;
	}
	t->grant = (struct grant){
		.id = span_str(row->id),
		.set_by = span_str(row->set_by),
		.generation = row->generation,
		.used_total = row->used_total,
		.created_ms = row->created_ms,
		.expires_ms = row->expires_ms,
		.ended_ms = row->ended_ms,
		.state = (enum grant_state)row->state,
	};
	for (int l = 0; l < GRANT_LIMITS; l++)
		t->grant.max[l] = row->max[l];
	if (read_programs(row, a, &t->grant, f) < 0)
		return -1;
	arm(g, t->memory, &t->grant, row->id);
	t->t.grant = &t->grant;
	return 0;
}

int
tree_read(struct gateway *g, const char *root, struct arena *a, struct tree *t,
    struct fault *f)
{
	struct reader r = { .a = a };

	memset(t, 0, sizeof(*t));
	if (store_lineage_there(g->store, root, add, &r, f) < 0)
		return -1;
	if (r.n == 0)
		return fault_set(f, FAULT_NOT_FOUND, "sandbox not found");
	if (make_nodes(&r, t, f) < 0)
		return -1;
	t->memory = memory_of(g, root);
	return read_grant(g, root, a, t, f);
}

static int
encode_programs(const struct grant *g, struct arena *a, struct buf *b,
    struct fault *f)
{
	nacre_store_v1_Programs p = nacre_store_v1_Programs_init_zero;

	p.programs = arena_get(a, g->programs_n * sizeof(*p.programs));
	if (p.programs == NULL && g->programs_n > 0)
		return fault_set(f, FAULT_LIMIT, "the grant is too big");
	for (size_t i = 0; i < g->programs_n; i++) {
		const struct grant_program *one = &g->programs[i];

		p.programs[i].path = arena_str(a, one->path);
		p.programs[i].resolved = arena_str(a, one->resolved);
		p.programs[i].is_pinned = one->is_pinned;
		if (one->has_sha256)
			p.programs[i].sha256 = wire_bytes(a,
			    span_of(one->sha256, sizeof(one->sha256)));
		p.programs_count++;
	}
	return WIRE_ENCODE(nacre_store_v1_Programs, &p, b, f);
}

static int
keep(struct gateway *g, const char *root, const struct grant *from, bool is_new,
    struct fault *f)
{
	struct store_grant row = {
		.generation = from->generation,
		.used_total = from->used_total,
		.created_ms = from->created_ms,
		.expires_ms = from->expires_ms,
		.ended_ms = from->ended_ms,
		.state = from->state,
	};
	struct arena a;
	struct buf b;
	int rc;

	(void)text_copy(row.id, sizeof(row.id), from->id);
	(void)text_copy(row.root, sizeof(row.root), span_str(root));
	(void)text_copy(row.set_by, sizeof(row.set_by), from->set_by);
	for (int l = 0; l < GRANT_LIMITS; l++)
		row.max[l] = from->max[l];
	arena_init(&a, LIMIT_MESSAGE);
	buf_init(&b, LIMIT_MESSAGE);
	rc = encode_programs(from, &a, &b, f);
	row.programs = buf_span(&b);
	if (rc == 0)
		rc = is_new ? store_grant_insert(g->store, &row, f)
			    : store_grant_update(g->store, &row, f);
	buf_release(&b);
	arena_release(&a);
	return rc;
}

/* Now, not when it is read: the clock may be set in between. */
static void
arm_kept(struct gateway *g, struct tree *t)
{
	char id[LIMIT_ID + 1];

	(void)text_copy(id, sizeof(id), t->grant.id);
	arm(g, t->memory, &t->grant, id);
}

int
tree_keep_grant(struct gateway *g, struct tree *t, struct fault *f)
{
	if (keep(g, t->row[0].id, &t->grant, false, f) < 0)
		return -1;
	arm_kept(g, t);
	return 0;
}

int
tree_add_grant(struct gateway *g, struct tree *t, const struct grant *made,
    struct fault *f)
{
	if (keep(g, t->row[0].id, made, true, f) < 0)
		return -1;
	t->grant = *made;
	t->t.grant = &t->grant;
	arm_kept(g, t);
	return 0;
}

struct tree_member *
tree_member(struct tree *t, const char *id)
{
	struct tree_member *m = t->memory->members;
	int64_t now = clock_mono_ms();

	while (m != NULL && strcmp(m->id, id) != 0)
		m = m->next;
	if (m != NULL)
		return m;
	m = must_alloc(sizeof(*m));
	(void)text_copy(m->id, sizeof(m->id), span_str(id));
	grant_bucket_init(&m->inside, GRANT_RATE_SANDBOX, now);
	grant_bucket_init(&m->outside, GRANT_RATE_OUTSIDE, now);
	m->next = t->memory->members;
	t->memory->members = m;
	return m;
}

static void
drop_first(struct tree_memory **at)
{
	struct tree_memory *m = *at;

	*at = m->next;
	while (m->members != NULL) {
		struct tree_member *one = m->members;

		m->members = one->next;
		free(one);
	}
	free(m);
}

void
tree_forget(struct gateway *g, const char *root)
{
	struct tree_memory **at = &g->trees;

	while (*at != NULL && strcmp((*at)->root, root) != 0)
		at = &(*at)->next;
	if (*at != NULL)
		drop_first(at);
}

void
tree_close(struct gateway *g)
{
	while (g->trees != NULL)
		drop_first(&g->trees);
}
