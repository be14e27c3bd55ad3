/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of lineage. The order of columns is that of LINEAGE_COLUMNS in sql.def;
 * bind_row() and read_row() are the only two that know it.
 */
#include <string.h>

#include "store/inner.h"

enum {
	SANDBOX = 18, /* first column of the sandbox's own */
};

static void
bind_row(sqlite3_stmt *q, const struct store_lineage *row)
{
	store_bind_text(q, 1, row->id);
	store_bind_text(q, 2, row->name);
	store_bind_text(q, 3, row->parent);
	store_bind_text(q, 4, row->root);
	store_bind_int(q, 5, row->depth);
	store_bind_int(q, 6, row->kind);
	store_bind_text(q, 7, row->grant);
	store_bind_text(q, 8, row->user);
	store_bind_text(q, 9, row->program == NULL ? "" : row->program);
	store_bind_text(q, 10, row->sha256);
	store_bind_text(q, 11, row->policy_hash);
	store_bind_int(q, 12, row->created_ms);
	store_bind_int(q, 13, row->ended_ms);
	store_bind_text(q, 14, row->why);
	store_bind_int(q, 15, row->idle_seconds);
	store_bind_int(q, 16, row->counted);
	store_bind_int(q, 17, row->began);
	store_bind_text(q, 18, row->cascade);
}

static void
read_sandbox(sqlite3_stmt *q, struct store_lineage *row)
{
	row->is_there = sqlite3_column_type(q, SANDBOX) != SQLITE_NULL;
	if (!row->is_there)
		return;
	row->state = (uint32_t)sqlite3_column_int64(q, SANDBOX);
	row->has_exit = sqlite3_column_int(q, SANDBOX + 1) != 0;
	row->exit_code = sqlite3_column_int(q, SANDBOX + 2);
	store_text(q, SANDBOX + 3, row->reason, sizeof(row->reason));
	store_text(q, SANDBOX + 4, row->full_name, sizeof(row->full_name));
}

/* program is borrowed from the statement. */
static void
read_row(sqlite3_stmt *q, struct store_lineage *row)
{
	memset(row, 0, sizeof(*row));
	store_text(q, 0, row->id, sizeof(row->id));
	store_text(q, 1, row->name, sizeof(row->name));
	store_text(q, 2, row->parent, sizeof(row->parent));
	store_text(q, 3, row->root, sizeof(row->root));
	row->depth = (uint32_t)sqlite3_column_int64(q, 4);
	row->kind = (uint32_t)sqlite3_column_int64(q, 5);
	store_text(q, 6, row->grant, sizeof(row->grant));
	store_text(q, 7, row->user, sizeof(row->user));
	row->program = store_text_borrow(q, 8);
	store_text(q, 9, row->sha256, sizeof(row->sha256));
	store_text(q, 10, row->policy_hash, sizeof(row->policy_hash));
	row->created_ms = sqlite3_column_int64(q, 11);
	row->ended_ms = sqlite3_column_int64(q, 12);
	store_text(q, 13, row->why, sizeof(row->why));
	row->idle_seconds = (uint32_t)sqlite3_column_int64(q, 14);
	row->counted = sqlite3_column_int(q, 15) != 0;
	row->began = sqlite3_column_int(q, 16) != 0;
	store_text(q, 17, row->cascade, sizeof(row->cascade));
	read_sandbox(q, row);
}

int
store_lineage_insert(struct store *s, const struct store_lineage *row,
    struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_LINEAGE_INSERT);

	if (store_begin(s, f) < 0)
		return -1;
	bind_row(q, row);
	return store_done(s, q, "insert a lineage", f);
}

int
store_lineage_update(struct store *s, const struct store_lineage *row,
    struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_LINEAGE_UPDATE);

	if (store_begin(s, f) < 0)
		return -1;
	store_bind_text(q, 1, row->id);
	store_bind_int(q, 2, row->ended_ms);
	store_bind_text(q, 3, row->why);
	store_bind_int(q, 4, row->counted);
	store_bind_int(q, 5, row->began);
	store_bind_text(q, 6, row->cascade);
	store_bind_text(q, 7, row->policy_hash);
	if (store_done(s, q, "update a lineage", f) < 0)
		return -1;
	if (sqlite3_changes(s->db) != 1)
		return fault_set(f, FAULT_NOT_FOUND, "no lineage of '%s'",
		    row->id);
	return 0;
}

static int
take(struct store *s, sqlite3_stmt *q, struct arena *a,
    struct store_lineage *row, struct fault *f)
{
	int got = store_step(s, q, "find a lineage", f);

	if (got > 0) {
		read_row(q, row);
		row->program = arena_str(a, span_str(row->program));
		if (row->program == NULL)
			got = fault_set(f, FAULT_LIMIT, "a row has no room");
	}
	store_end(q);
	if (got == 0)
		return fault_set(f, FAULT_NOT_FOUND, "sandbox not found");
	return got < 0 ? -1 : 0;
}

static int
find(struct store *s, enum store_sql which, const char *key, struct arena *a,
    struct store_lineage *row, struct fault *f)
{
	sqlite3_stmt *q = store_use(s, which);

	store_bind_text(q, 1, key);
	return take(s, q, a, row, f);
}

int
store_lineage_by_id(struct store *s, const char *id, struct arena *a,
    struct store_lineage *row, struct fault *f)
{
	return find(s, STORE_LINEAGE_BY_ID, id, a, row, f);
}

int
store_lineage_by_name(struct store *s, const char *name, struct arena *a,
    struct store_lineage *row, struct fault *f)
{
	return find(s, STORE_LINEAGE_BY_NAME, name, a, row, f);
}

int
store_lineage_gone(struct store *s, const char *name, const char *user,
    struct arena *a, struct store_lineage *row, struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_LINEAGE_GONE);

	store_bind_text(q, 1, name);
	store_bind_text(q, 2, user);
	return take(s, q, a, row, f);
}

static int
list(struct store *s, sqlite3_stmt *q, store_lineage_each each, void *owner,
    struct fault *f)
{
	struct store_lineage row;
	int got;

	while ((got = store_step(s, q, "list a lineage", f)) > 0) {
		read_row(q, &row);
		if (each(owner, &row, f) < 0) {
			got = -1;
			break;
		}
	}
	store_end(q);
	return got < 0 ? -1 : 0;
}

int
store_lineage_tree(struct store *s, const struct store_tree_page *page,
    store_lineage_each each, void *owner, struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_LINEAGE_TREE);

	store_bind_text(q, 1, page->root);
	store_bind_text(q, 2, page->after);
	store_bind_int(q, 3, (int64_t)page->limit);
	return list(s, q, each, owner, f);
}

int
store_lineage_there(struct store *s, const char *root, store_lineage_each each,
    void *owner, struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_LINEAGE_THERE);

	store_bind_text(q, 1, root);
	return list(s, q, each, owner, f);
}

int
store_lineage_states(struct store *s, uint32_t state, store_lineage_each each,
    void *owner, struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_LINEAGE_STATES);

	store_bind_int(q, 1, state);
	return list(s, q, each, owner, f);
}

int
store_lineage_forget(struct store *s, uint32_t limit, struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_LINEAGE_FORGET);

	if (store_begin(s, f) < 0)
		return -1;
	store_bind_int(q, 1, limit);
	return store_done(s, q, "forget lineage", f);
}
