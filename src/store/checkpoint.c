/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signed points of the record's chain: put and read. They are judged, like
 * the rows, by audit/; what is read here may be anybody's.
 */
#include <string.h>

#include "store/inner.h"

int
store_checkpoint_put(struct store *s, const struct store_checkpoint *c,
    struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_CHECKPOINT_PUT);

	if (store_begin(s, f) < 0)
		return -1;
	store_bind_int(q, 1, (int64_t)c->row);
	store_bind_int(q, 2, c->time_ms);
	store_bind_int(q, 3, c->kind);
	store_bind_int(q, 4, (int64_t)c->bytes);
	store_bind_blob(q, 5, span_of(c->hash, sizeof(c->hash)));
	store_bind_blob(q, 6, span_of(c->point, sizeof(c->point)));
	store_bind_blob(q, 7, span_of(c->signature, sizeof(c->signature)));
	return store_done(s, q, "put a checkpoint", f);
}

/* What has another length is zeroed: no signature holds over it. */
static void
read_bytes(sqlite3_stmt *q, int at, uint8_t *out, size_t n)
{
	struct span blob = store_blob_borrow(q, at);

	if (blob.len == n)
		memcpy(out, blob.ptr, n);
}

static int
read_one(struct store *s, sqlite3_stmt *q, struct store_checkpoint *c,
    bool *found, struct fault *f)
{
	int got = store_step(s, q, "read a checkpoint", f);

	memset(c, 0, sizeof(*c));
	*found = got > 0;
	if (got > 0) {
		c->row = (uint64_t)sqlite3_column_int64(q, 0);
		c->time_ms = sqlite3_column_int64(q, 1);
		c->kind = (uint32_t)sqlite3_column_int64(q, 2);
		c->bytes = (uint64_t)sqlite3_column_int64(q, 3);
		read_bytes(q, 4, c->hash, sizeof(c->hash));
		read_bytes(q, 5, c->point, sizeof(c->point));
		read_bytes(q, 6, c->signature, sizeof(c->signature));
		c->seq = (uint64_t)sqlite3_column_int64(q, 7);
	}
	store_end(q);
	return got < 0 ? -1 : 0;
}

int
store_checkpoint_last(struct store *s, struct store_checkpoint *c, bool *found,
    struct fault *f)
{
	return read_one(s, store_use(s, STORE_CHECKPOINT_LAST), c, found, f);
}

int
store_checkpoint_last_of(struct store *s, uint32_t kind,
    struct store_checkpoint *c, bool *found, struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_CHECKPOINT_LAST_OF);

	store_bind_int(q, 1, kind);
	return read_one(s, q, c, found, f);
}

int
store_checkpoint_next(struct store *s, struct store_checkpoint *c, bool *found,
    struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_CHECKPOINT_NEXT);

	store_bind_int(q, 1, (int64_t)c->row);
	store_bind_int(q, 2, (int64_t)c->seq);
	return read_one(s, q, c, found, f);
}
