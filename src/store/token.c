/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of tokens: what a secret is known by, never the secret. */
#include <string.h>

#include "store/inner.h"

static void
read_row(sqlite3_stmt *q, struct store_token *row)
{
	struct span digest = store_blob_borrow(q, 4);

	memset(row, 0, sizeof(*row));
	store_text(q, 0, row->id, sizeof(row->id));
	store_text(q, 1, row->name, sizeof(row->name));
	store_text(q, 2, row->user, sizeof(row->user));
	store_text(q, 3, row->scopes, sizeof(row->scopes));
	if (digest.len == sizeof(row->digest))
		memcpy(row->digest, digest.ptr, sizeof(row->digest));
	row->created_ms = sqlite3_column_int64(q, 5);
	row->expires_ms = sqlite3_column_int64(q, 6);
}

int
store_token_insert(struct store *s, const struct store_token *row,
    struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_TOKEN_INSERT);

	if (store_begin(s, f) < 0)
		return -1;
	store_bind_text(q, 1, row->id);
	store_bind_text(q, 2, row->name);
	store_bind_text(q, 3, row->user);
	store_bind_text(q, 4, row->scopes);
	store_bind_blob(q, 5, span_of(row->digest, sizeof(row->digest)));
	store_bind_int(q, 6, row->created_ms);
	store_bind_int(q, 7, row->expires_ms);
	return store_done(s, q, "insert a token", f);
}

int
store_token_remove(struct store *s, const char *id, struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_TOKEN_REMOVE);

	if (store_begin(s, f) < 0)
		return -1;
	store_bind_text(q, 1, id);
	return store_done(s, q, "remove a token", f);
}

int
store_token_list(struct store *s, struct arena *a, struct store_token **out,
    size_t *n, struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_TOKEN_LIST);
	int got;

	*n = 0;
	*out = arena_get(a, STORE_TOKENS * sizeof(**out));
	if (*out == NULL) {
		store_end(q);
		return fault_set(f, FAULT_LIMIT, "no room for the tokens");
	}
	while (
	    (got = store_step(s, q, "list tokens", f)) > 0 && *n < STORE_TOKENS)
		read_row(q, &(*out)[(*n)++]);
	store_end(q);
	return got < 0 ? -1 : 0;
}

int
store_token_get(struct store *s, struct store_token *row, bool *found,
    struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_TOKEN_GET);
	int got;

	store_bind_blob(q, 1, span_of(row->digest, sizeof(row->digest)));
	got = store_step(s, q, "find a token", f);
	*found = got > 0;
	if (*found)
		read_row(q, row);
	store_end(q);
	return got < 0 ? -1 : 0;
}
