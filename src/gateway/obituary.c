/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of the last few; an old one makes room for a new one. */
#include <stdlib.h>
#include <string.h>

#include "gateway/obituary.h"
#include "gateway/state.h"

enum {
	KEPT = 16,
	KEPT_MS = 60000,
};

struct obituary {
	struct store_sandbox row;
	struct buf object;
	int64_t until_ms; /* 0: nobody's */
};

void
obituary_note(struct gateway *g, const struct store_sandbox *row)
{
	struct obituary *o;
	struct fault ignored = { 0 };

	if (g->obituaries == NULL)
		g->obituaries = must_alloc(KEPT * sizeof(*g->obituaries));
	o = &g->obituaries[g->obituaries_n++ % KEPT];
	if (o->until_ms != 0)
		buf_release(&o->object);
	buf_init(&o->object, LIMIT_MESSAGE);
	o->row = *row;
	o->row.state = STATE_FAILED;
	o->row.facts = o->row.plan = o->row.labels = span_of(NULL, 0);
	if (buf_add(&o->object, row->object.ptr, row->object.len, &ignored) < 0)
		buf_clear(&o->object);
	o->row.object = span_of(NULL, 0);
	o->until_ms = clock_mono_ms() + KEPT_MS;
}

bool
obituary_find(const struct gateway *g, const char *name_or_id, struct arena *a,
    struct store_sandbox *row)
{
	for (size_t i = 0; g->obituaries != NULL && i < KEPT; i++) {
		const struct obituary *o = &g->obituaries[i];

		if (o->until_ms < clock_mono_ms() ||
		    (strcmp(o->row.id, name_or_id) != 0 &&
			strcmp(o->row.name, name_or_id) != 0))
			continue;
		*row = o->row;
		row->object = arena_dup(a, buf_span(&o->object));
		return true;
	}
	return false;
}

void
obituary_forget(struct gateway *g, const char *name)
{
	for (size_t i = 0; g->obituaries != NULL && i < KEPT; i++) {
		if (strcmp(g->obituaries[i].row.name, name) == 0)
			g->obituaries[i].until_ms = 1;
	}
}

void
obituary_close(struct gateway *g)
{
	for (size_t i = 0; g->obituaries != NULL && i < KEPT; i++)
		buf_release(&g->obituaries[i].object);
	free(g->obituaries);
	g->obituaries = NULL;
}
