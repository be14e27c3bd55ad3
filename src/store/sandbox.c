/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of sandboxes. The order of columns is that of SANDBOX_COLUMNS in
 * sql.def; bind_row() and read_row() are the only two that know it.
 */
#include <string.h>

#include "store/inner.h"

static void
bind_row(sqlite3_stmt *q, const struct store_sandbox *row)
{
	store_bind_text(q, 1, row->id);
	store_bind_text(q, 2, row->name);
	store_bind_int(q, 3, row->state);
	store_bind_text(q, 4, row->image);
	store_bind_text(q, 5, row->image_digest);
	store_bind_int(q, 6, row->cpus);
	store_bind_int(q, 7, row->memory_mib);
	store_bind_int(q, 8, row->created_ms);
	store_bind_int(q, 9, row->started_ms);
	store_bind_int(q, 10, row->deleted_ms);
	store_bind_int(q, 11, (int64_t)row->version);
	store_bind_int(q, 12, (int64_t)row->launches);
	store_bind_int(q, 13, (int64_t)row->epoch);
	store_bind_text(q, 14, row->launch);
	store_bind_text(q, 15, row->machine);
	store_bind_int(q, 16, row->has_exit);
	store_bind_int(q, 17, row->exit_code);
	store_bind_text(q, 18, row->reason);
	store_bind_text(q, 19, row->detail);
	store_bind_blob(q, 20, row->labels);
	store_bind_blob(q, 21, row->object);
	store_bind_blob(q, 22, row->plan);
	store_bind_blob(q, 23, row->facts);
}

/* The spans are borrowed from the statement. */
static void
read_row(sqlite3_stmt *q, struct store_sandbox *row)
{
	memset(row, 0, sizeof(*row));
	store_text(q, 0, row->id, sizeof(row->id));
	store_text(q, 1, row->name, sizeof(row->name));
	row->state = (uint32_t)sqlite3_column_int64(q, 2);
	store_text(q, 3, row->image, sizeof(row->image));
	store_text(q, 4, row->image_digest, sizeof(row->image_digest));
	row->cpus = (uint32_t)sqlite3_column_int64(q, 5);
	row->memory_mib = (uint32_t)sqlite3_column_int64(q, 6);
	row->created_ms = sqlite3_column_int64(q, 7);
	row->started_ms = sqlite3_column_int64(q, 8);
	row->deleted_ms = sqlite3_column_int64(q, 9);
	row->version = (uint64_t)sqlite3_column_int64(q, 10);
	row->launches = (uint64_t)sqlite3_column_int64(q, 11);
	row->epoch = (uint64_t)sqlite3_column_int64(q, 12);
	store_text(q, 13, row->launch, sizeof(row->launch));
	store_text(q, 14, row->machine, sizeof(row->machine));
	row->has_exit = sqlite3_column_int(q, 15) != 0;
	row->exit_code = sqlite3_column_int(q, 16);
	store_text(q, 17, row->reason, sizeof(row->reason));
	store_text(q, 18, row->detail, sizeof(row->detail));
	row->labels = store_blob_borrow(q, 19);
	row->object = store_blob_borrow(q, 20);
	row->plan = store_blob_borrow(q, 21);
	row->facts = store_blob_borrow(q, 22);
}

int
store_sandbox_insert(struct store *s, const struct store_sandbox *row,
    struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_SANDBOX_INSERT);

	if (store_begin(s, f) < 0)
		return -1;
	bind_row(q, row);
	return store_done(s, q, "insert a sandbox", f);
}

int
store_sandbox_update(struct store *s, struct store_sandbox *row,
    struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_SANDBOX_UPDATE);

	if (store_begin(s, f) < 0)
		return -1;
	row->version++;
	bind_row(q, row);
	if (store_done(s, q, "update a sandbox", f) < 0)
		return -1;
	if (sqlite3_changes(s->db) != 1)
		return fault_set(f, FAULT_NOT_FOUND, "no sandbox '%s'",
		    row->id);
	return 0;
}

int
store_sandbox_remove(struct store *s, const char *id, struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_SANDBOX_REMOVE);

	if (store_begin(s, f) < 0)
		return -1;
	store_bind_text(q, 1, id);
	if (store_done(s, q, "remove a sandbox", f) < 0)
		return -1;
	if (sqlite3_changes(s->db) != 1)
		return fault_set(f, FAULT_NOT_FOUND, "no sandbox '%s'", id);
	return 0;
}

static int
find(struct store *s, sqlite3_stmt *q, const char *key, struct arena *a,
    struct store_sandbox *row, struct fault *f)
{
	int got;

	store_bind_text(q, 1, key);
	got = store_step(s, q, "find a sandbox", f);
	if (got > 0) {
		read_row(q, row);
		if (store_own(&row->labels, a, f) < 0 ||
		    store_own(&row->object, a, f) < 0 ||
		    store_own(&row->plan, a, f) < 0 ||
		    store_own(&row->facts, a, f) < 0)
			got = -1;
	}
	store_end(q);
	return got;
}

int
store_sandbox_by_name(struct store *s, const char *name, struct arena *a,
    struct store_sandbox *row, struct fault *f)
{
	int got = find(s, store_use(s, STORE_SANDBOX_BY_NAME), name, a, row, f);

	if (got == 0)
		return fault_set(f, FAULT_NOT_FOUND, "sandbox not found");
	return got < 0 ? -1 : 0;
}

int
store_sandbox_by_id(struct store *s, const char *id, struct arena *a,
    struct store_sandbox *row, struct fault *f)
{
	int got = find(s, store_use(s, STORE_SANDBOX_BY_ID), id, a, row, f);

	if (got == 0)
		return fault_set(f, FAULT_NOT_FOUND, "sandbox not found");
	return got < 0 ? -1 : 0;
}

/* labels is "\n" and lines; a pair is there when "\npair\n" is in it. */
static bool
has_label(struct span labels, struct span pair)
{
	for (size_t at = 0; at + pair.len + 2 <= labels.len; at++) {
		if (labels.ptr[at] == '\n' &&
		    labels.ptr[at + pair.len + 1] == '\n' &&
		    memcmp(labels.ptr + at + 1, pair.ptr, pair.len) == 0)
			return true;
	}
	return false;
}

static bool
is_selected(const struct store_page *page, const struct store_sandbox *row)
{
	for (size_t i = 0; i < page->labels_n; i++) {
		if (!has_label(row->labels, page->labels[i]))
			return false;
	}
	return true;
}

int
store_sandbox_list(struct store *s, const struct store_page *page,
    int (*each)(void *owner, struct store_sandbox *row, struct fault *f),
    void *owner, struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_SANDBOX_LIST);
	struct store_sandbox row;
	uint32_t skipped = 0;
	uint32_t given = 0;
	int got;

	while ((got = store_step(s, q, "list sandboxes", f)) > 0) {
		read_row(q, &row);
		if (!is_selected(page, &row))
			continue;
		if (skipped < page->offset) {
			skipped++;
			continue;
		}
		if (each(owner, &row, f) < 0) {
			got = -1;
			break;
		}
		if (++given == page->limit)
			break;
	}
	store_end(q);
	return got < 0 ? -1 : 0;
}

static int
count(struct store *s, sqlite3_stmt *q, uint32_t *n, struct fault *f)
{
	int got = store_step(s, q, "count sandboxes", f);

	if (got > 0)
		*n = (uint32_t)sqlite3_column_int64(q, 0);
	store_end(q);
	return got > 0 ? 0 : -1;
}

int
store_sandbox_count(struct store *s, uint32_t state, uint32_t *n,
    struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_SANDBOX_COUNT);

	store_bind_int(q, 1, state);
	return count(s, q, n, f);
}

int
store_sandbox_total(struct store *s, uint32_t *n, struct fault *f)
{
	return count(s, store_use(s, STORE_SANDBOX_TOTAL), n, f);
}

int
store_sandbox_uses(struct store *s, const char *image_digest, bool *used,
    char name[LIMIT_NAME + 1], struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_SANDBOX_USES);
	int got;

	store_bind_text(q, 1, image_digest);
	got = store_step(s, q, "look for users of an image", f);
	*used = got > 0;
	if (got > 0)
		store_text(q, 0, name, LIMIT_NAME + 1);
	store_end(q);
	return got < 0 ? -1 : 0;
}
