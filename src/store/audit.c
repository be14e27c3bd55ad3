/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the record: appended and read, never changed. The chain over them
 * is the business of audit/.
 */
#include <string.h>

#include "store/inner.h"

int
store_audit_append(struct store *s, const struct store_audit *row,
    struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_AUDIT_APPEND);

	if (store_begin(s, f) < 0)
		return -1;
	store_bind_int(q, 1, (int64_t)row->row);
	store_bind_int(q, 2, row->time_ms);
	store_bind_text(q, 3, row->caller);
	store_bind_text(q, 4, row->program);
	store_bind_text(q, 5, row->parent);
	store_bind_text(q, 6, row->root);
	store_bind_text(q, 7, row->verb);
	store_bind_text(q, 8, row->sandbox_id);
	store_bind_text(q, 9, row->sandbox);
	store_bind_text(q, 10, row->request_id);
	store_bind_text(q, 11, row->verdict);
	store_bind_text(q, 12, row->reason);
	store_bind_text(q, 13, row->detail);
	store_bind_blob(q, 14, span_of(row->hash, sizeof(row->hash)));
	return store_done(s, q, "append to the record", f);
}

static int
read_hash(sqlite3_stmt *q, int at, uint8_t hash[STORE_HASH], struct fault *f)
{
	struct span blob = store_blob_borrow(q, at);

	if (blob.len != STORE_HASH)
		return fault_set(f, FAULT_SYSTEM,
		    "store: a row of the record has no hash");
	memcpy(hash, blob.ptr, STORE_HASH);
	return 0;
}

int
store_audit_head(struct store *s, uint64_t *row, uint8_t hash[STORE_HASH],
    struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_AUDIT_HEAD);
	int got = store_step(s, q, "read the record's head", f);

	*row = 0;
	memset(hash, 0, STORE_HASH);
	if (got > 0) {
		*row = (uint64_t)sqlite3_column_int64(q, 0);
		got = read_hash(q, 1, hash, f);
	}
	store_end(q);
	return got < 0 ? -1 : 0;
}

static int
read_row(sqlite3_stmt *q, struct store_audit *row, struct fault *f)
{
	row->row = (uint64_t)sqlite3_column_int64(q, 0);
	row->time_ms = sqlite3_column_int64(q, 1);
	row->caller = store_text_borrow(q, 2);
	row->program = store_text_borrow(q, 3);
	row->parent = store_text_borrow(q, 4);
	row->root = store_text_borrow(q, 5);
	row->verb = store_text_borrow(q, 6);
	row->sandbox_id = store_text_borrow(q, 7);
	row->sandbox = store_text_borrow(q, 8);
	row->request_id = store_text_borrow(q, 9);
	row->verdict = store_text_borrow(q, 10);
	row->reason = store_text_borrow(q, 11);
	row->detail = store_text_borrow(q, 12);
	return read_hash(q, 13, row->hash, f);
}

static void
bind_filter(sqlite3_stmt *q, const struct store_audit_filter *w)
{
	const char *const texts[] = { w->sandbox, w->verb, w->caller,
		w->verdict, w->root };

	store_bind_int(q, 1, (int64_t)w->after);
	store_bind_int(q, 2, w->before == 0 ? INT64_MAX : (int64_t)w->before);
	for (size_t i = 0; i < NELEM(texts); i++)
		store_bind_text(q, 3 + (int)i,
		    texts[i] == NULL ? "" : texts[i]);
	store_bind_int(q, 8, w->since_ms == 0 ? INT64_MIN : w->since_ms);
	store_bind_int(q, 9, w->until_ms == 0 ? INT64_MAX : w->until_ms);
	store_bind_int(q, 10, w->limit == 0 ? -1 : (int64_t)w->limit);
}

static int
tell(struct store *s, sqlite3_stmt *q, store_audit_each each, void *owner,
    struct fault *f)
{
	struct store_audit row;
	int got;

	while ((got = store_step(s, q, "list the record", f)) > 0) {
		if (read_row(q, &row, f) < 0 || each(owner, &row, f) < 0) {
			got = -1;
			break;
		}
	}
	store_end(q);
	return got < 0 ? -1 : 0;
}

int
store_audit_list(struct store *s, const struct store_audit_filter *filter,
    store_audit_each each, void *owner, struct fault *f)
{
	sqlite3_stmt *q =
	    store_use(s, filter->tail ? STORE_AUDIT_TAIL : STORE_AUDIT_LIST);

	bind_filter(q, filter);
	return tell(s, q, each, owner, f);
}

int
store_audit_walk(struct store *s, uint64_t after, uint32_t limit,
    store_audit_each each, void *owner, struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_AUDIT_WALK);

	store_bind_int(q, 1, (int64_t)after);
	store_bind_int(q, 2, limit == 0 ? -1 : (int64_t)limit);
	return tell(s, q, each, owner, f);
}

int
store_audit_first(struct store *s, uint64_t *row, bool *found, struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_AUDIT_FIRST);
	int got = store_step(s, q, "read the record's first row", f);

	*found = got > 0;
	*row = got > 0 ? (uint64_t)sqlite3_column_int64(q, 0) : 0;
	store_end(q);
	return got < 0 ? -1 : 0;
}

int
store_audit_bytes(struct store *s, uint64_t after, uint64_t to, uint64_t *bytes,
    struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_AUDIT_BYTES);
	int got;

	store_bind_int(q, 1, (int64_t)after);
	store_bind_int(q, 2, (int64_t)to);
	got = store_step(s, q, "measure the record", f);
	if (got > 0)
		*bytes = (uint64_t)sqlite3_column_int64(q, 0);
	store_end(q);
	return got < 0 ? -1 : 0;
}

int
store_audit_prune(struct store *s, uint64_t after, uint64_t to, struct fault *f)
{
	sqlite3_stmt *rows = store_use(s, STORE_AUDIT_DELETE);
	sqlite3_stmt *points = store_use(s, STORE_CHECKPOINT_DELETE);

	if (store_begin(s, f) < 0)
		return -1;
	store_bind_int(rows, 1, (int64_t)after);
	store_bind_int(rows, 2, (int64_t)to);
	store_bind_int(points, 1, (int64_t)to);
	if (store_done(s, rows, "prune the record", f) < 0)
		return -1;
	return store_done(s, points, "prune the checkpoints", f);
}
