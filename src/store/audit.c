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

int
store_audit_list(struct store *s, const struct store_audit_filter *filter,
    int (*each)(void *owner, const struct store_audit *row, struct fault *f),
    void *owner, struct fault *f)
{
	sqlite3_stmt *q =
	    store_use(s, filter->tail ? STORE_AUDIT_TAIL : STORE_AUDIT_LIST);
	struct store_audit row;
	int got;

	store_bind_int(q, 1, (int64_t)filter->after);
	store_bind_text(q, 2, filter->sandbox == NULL ? "" : filter->sandbox);
	store_bind_text(q, 3, filter->verb == NULL ? "" : filter->verb);
	store_bind_int(q, 4, filter->limit == 0 ? -1 : (int64_t)filter->limit);
	while ((got = store_step(s, q, "list the record", f)) > 0) {
		if (read_row(q, &row, f) < 0 || each(owner, &row, f) < 0) {
			got = -1;
			break;
		}
	}
	store_end(q);
	return got < 0 ? -1 : 0;
}
