/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the store: one connection and its prepared statements. */
#ifndef STORE_INNER_H
#define STORE_INNER_H

#include <sqlite3.h>

#include "store/store.h"

enum store_sql {
#define SQL(name, text) STORE_##name,
#include "store/sql.def"
#undef SQL
	STORE_SQL_COUNT
};

struct store {
	sqlite3 *db;
	sqlite3_stmt *sql[STORE_SQL_COUNT];
	bool dirty; /* a transaction is open */
};

/* Always -1: what SQLite says about the last call. */
int store_fault(struct store *s, const char *doing, struct fault *f);
/* Open the tick's transaction, unless it is open. */
int store_begin(struct store *s, struct fault *f) MUST_CHECK;
/* A statement ready to be bound; ended by store_done() or store_end(). */
sqlite3_stmt *store_use(struct store *s, enum store_sql which);
void store_end(sqlite3_stmt *q);
/* Step a statement that gives no row, and end it. */
int store_done(struct store *s, sqlite3_stmt *q, const char *doing,
    struct fault *f) MUST_CHECK;
/* Step: 1 a row, 0 no more, -1 a fault. */
int store_step(struct store *s, sqlite3_stmt *q, const char *doing,
    struct fault *f);

void store_bind_text(sqlite3_stmt *q, int at, const char *text);
void store_bind_blob(sqlite3_stmt *q, int at, struct span s);
void store_bind_int(sqlite3_stmt *q, int at, int64_t n);
void store_text(sqlite3_stmt *q, int at, char *out, size_t size);
const char *store_text_borrow(sqlite3_stmt *q, int at);
struct span store_blob_borrow(sqlite3_stmt *q, int at);
/* A row's borrowed bytes, into the arena. LIMIT: it is too small. */
int store_own(struct span *s, struct arena *a, struct fault *f) MUST_CHECK;

#endif
