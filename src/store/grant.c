/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of grants, in the order of GRANT_COLUMNS in sql.def, and the ledger of
 * request ids.
 */
#include <string.h>

#include "store/inner.h"

static void
bind_row(sqlite3_stmt *q, const struct store_grant *row)
{
	store_bind_text(q, 1, row->id);
	store_bind_text(q, 2, row->root);
	store_bind_text(q, 3, row->set_by);
	store_bind_int(q, 4, (int64_t)row->generation);
	for (int i = 0; i < 3; i++)
		store_bind_int(q, 5 + i, row->max[i]);
	store_bind_int(q, 8, row->used_total);
	store_bind_int(q, 9, row->created_ms);
	store_bind_int(q, 10, row->expires_ms);
	store_bind_int(q, 11, row->ended_ms);
	store_bind_int(q, 12, row->state);
	store_bind_blob(q, 13, row->programs);
}

/* programs is borrowed from the statement. */
static void
read_row(sqlite3_stmt *q, struct store_grant *row)
{
	memset(row, 0, sizeof(*row));
	store_text(q, 0, row->id, sizeof(row->id));
	store_text(q, 1, row->root, sizeof(row->root));
	store_text(q, 2, row->set_by, sizeof(row->set_by));
	row->generation = (uint64_t)sqlite3_column_int64(q, 3);
	for (int i = 0; i < 3; i++)
		row->max[i] = (uint32_t)sqlite3_column_int64(q, 4 + i);
	row->used_total = (uint32_t)sqlite3_column_int64(q, 7);
	row->created_ms = sqlite3_column_int64(q, 8);
	row->expires_ms = sqlite3_column_int64(q, 9);
	row->ended_ms = sqlite3_column_int64(q, 10);
	row->state = (uint32_t)sqlite3_column_int64(q, 11);
	row->programs = store_blob_borrow(q, 12);
}

int
store_grant_insert(struct store *s, const struct store_grant *row,
    struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_GRANT_INSERT);

	if (store_begin(s, f) < 0)
		return -1;
	bind_row(q, row);
	return store_done(s, q, "insert a grant", f);
}

int
store_grant_update(struct store *s, const struct store_grant *row,
    struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_GRANT_UPDATE);

	if (store_begin(s, f) < 0)
		return -1;
	bind_row(q, row);
	if (store_done(s, q, "update a grant", f) < 0)
		return -1;
	if (sqlite3_changes(s->db) != 1)
		return fault_set(f, FAULT_NOT_FOUND, "no grant '%s'", row->id);
	return 0;
}

int
store_grant_newest(struct store *s, const char *root, struct arena *a,
    struct store_grant *row, struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_GRANT_NEWEST);
	int got;

	store_bind_text(q, 1, root);
	got = store_step(s, q, "find a grant", f);
	if (got > 0) {
		read_row(q, row);
		got = store_own(&row->programs, a, f) < 0 ? -1 : 1;
	}
	store_end(q);
	if (got == 0)
		return fault_set(f, FAULT_NOT_FOUND, "no grant");
	return got < 0 ? -1 : 0;
}

int
store_grant_list(struct store *s, const struct store_grant_page *page,
    int (*each)(void *owner, uint64_t place, const struct store_grant *row,
	struct fault *f),
    void *owner, struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_GRANT_LIST);
	struct store_grant row;
	int got;

	store_bind_int(q, 1, (int64_t)page->after);
	store_bind_int(q, 2, page->limit == 0 ? -1 : (int64_t)page->limit);
	store_bind_text(q, 3, page->user);
	while ((got = store_step(s, q, "list grants", f)) > 0) {
		read_row(q, &row);
		if (each(owner, (uint64_t)sqlite3_column_int64(q, 13), &row,
			f) < 0) {
			got = -1;
			break;
		}
	}
	store_end(q);
	return got < 0 ? -1 : 0;
}

/* --- request ids */

static void
bind_key(sqlite3_stmt *q, const struct store_request *r)
{
	store_bind_text(q, 1, r->parent);
	store_bind_text(q, 2, r->caller);
	store_bind_text(q, 3, r->request_id);
}

int
store_request_put(struct store *s, const struct store_request *r,
    struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_REQUEST_PUT);

	if (store_begin(s, f) < 0)
		return -1;
	bind_key(q, r);
	store_bind_blob(q, 4, span_of(r->digest, sizeof(r->digest)));
	store_bind_text(q, 5, r->child);
	return store_done(s, q, "keep a request id", f);
}

int
store_request_get(struct store *s, struct store_request *r, bool *found,
    struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_REQUEST_GET);
	int got;

	bind_key(q, r);
	got = store_step(s, q, "find a request id", f);
	*found = got > 0;
	if (got > 0) {
		struct span digest = store_blob_borrow(q, 0);

		if (digest.len == sizeof(r->digest))
			memcpy(r->digest, digest.ptr, digest.len);
		else
			got = fault_set(f, FAULT_SYSTEM,
			    "store: a request id has no digest");
		store_text(q, 1, r->child, sizeof(r->child));
	}
	store_end(q);
	return got < 0 ? -1 : 0;
}

static int
drop(struct store *s, enum store_sql which, const char *key, struct fault *f)
{
	sqlite3_stmt *q = store_use(s, which);

	if (store_begin(s, f) < 0)
		return -1;
	store_bind_text(q, 1, key);
	return store_done(s, q, "forget a request id", f);
}

int
store_request_free(struct store *s, const char *child, struct fault *f)
{
	return drop(s, STORE_REQUEST_FREE, child, f);
}

int
store_request_forget(struct store *s, const char *parent, struct fault *f)
{
	return drop(s, STORE_REQUEST_FORGET, parent, f);
}
