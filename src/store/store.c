/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection: opening, schema, and the one transaction of a tick. A
 * commit that fails rolls back, so memory may ask the store again what is
 * true. The lock is exclusive: WAL then needs no shared-memory file, and a
 * second process cannot open the same store.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/inner.h"

enum {
	STORE_VERSION = 6,
};

static const char schema[] =
    "CREATE TABLE settings (key TEXT PRIMARY KEY, value BLOB NOT NULL)"
    " STRICT, WITHOUT ROWID;"
    "CREATE TABLE sandboxes ("
    " id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    " state INTEGER NOT NULL, image TEXT NOT NULL,"
    " image_digest TEXT NOT NULL, cpus INTEGER NOT NULL,"
    " memory_mib INTEGER NOT NULL, created_ms INTEGER NOT NULL,"
    " started_ms INTEGER NOT NULL, deleted_ms INTEGER NOT NULL,"
    " version INTEGER NOT NULL, launches INTEGER NOT NULL,"
    " epoch INTEGER NOT NULL, launch TEXT NOT NULL, machine TEXT NOT NULL,"
    " has_exit INTEGER NOT NULL, exit_code INTEGER NOT NULL,"
    " reason TEXT NOT NULL, detail TEXT NOT NULL, labels BLOB NOT NULL,"
    " object BLOB NOT NULL, plan BLOB NOT NULL, facts BLOB NOT NULL) STRICT;"
    "CREATE INDEX sandboxes_order ON sandboxes (created_ms, name);"
    "CREATE INDEX sandboxes_image ON sandboxes (image_digest);"
    "CREATE TABLE audit ("
    " row INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL,"
    " caller TEXT NOT NULL, program TEXT NOT NULL, parent TEXT NOT NULL,"
    " root TEXT NOT NULL, verb TEXT NOT NULL, sandbox_id TEXT NOT NULL,"
    " sandbox TEXT NOT NULL, request_id TEXT NOT NULL,"
    " verdict TEXT NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL,"
    " hash BLOB NOT NULL) STRICT;";

/* Trees: who opened whom, under which grant, and what was asked twice. Those
 * that were there before are roots of their own. */
static const char schema_2[] =
    "CREATE TABLE lineage ("
    " seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " name TEXT NOT NULL, parent TEXT NOT NULL, root TEXT NOT NULL,"
    " depth INTEGER NOT NULL, kind INTEGER NOT NULL,"
    " grant_id TEXT NOT NULL, user TEXT NOT NULL, program TEXT NOT NULL,"
    " sha256 TEXT NOT NULL, policy_hash TEXT NOT NULL,"
    " created_ms INTEGER NOT NULL, ended_ms INTEGER NOT NULL,"
    " why TEXT NOT NULL, idle_seconds INTEGER NOT NULL,"
    " counted INTEGER NOT NULL, began INTEGER NOT NULL,"
    " cascade TEXT NOT NULL) STRICT;"
    "CREATE INDEX lineage_root ON lineage (root, seq);"
    "CREATE TABLE grants ("
    " seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " root TEXT NOT NULL, set_by TEXT NOT NULL,"
    " generation INTEGER NOT NULL, depth INTEGER NOT NULL,"
    " breadth INTEGER NOT NULL, total INTEGER NOT NULL,"
    " used_total INTEGER NOT NULL, created_ms INTEGER NOT NULL,"
    " expires_ms INTEGER NOT NULL, ended_ms INTEGER NOT NULL,"
    " state INTEGER NOT NULL, programs BLOB NOT NULL) STRICT;"
    "CREATE INDEX grants_root ON grants (root, seq);"
    "CREATE TABLE requests ("
    " parent TEXT NOT NULL, caller TEXT NOT NULL, request_id TEXT NOT NULL,"
    " digest BLOB NOT NULL, child TEXT NOT NULL,"
    " PRIMARY KEY (parent, caller, request_id)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX requests_child ON requests (child);"
    "INSERT INTO lineage (id, name, parent, root, depth, kind, grant_id, user,"
    " program, sha256, policy_hash, created_ms, ended_ms, why, idle_seconds,"
    " counted, began, cascade)"
    " SELECT id, name, '', id, 0, 0, '', '', '', '', '', created_ms, 0, '',"
    " 0, 0, 1, '' FROM sandboxes ORDER BY created_ms, name;";

/* Signed points of the record's chain. */
static const char schema_3[] =
    "CREATE TABLE checkpoints ("
    " seq INTEGER PRIMARY KEY, row INTEGER NOT NULL,"
    " time_ms INTEGER NOT NULL, kind INTEGER NOT NULL,"
    " bytes INTEGER NOT NULL, hash BLOB NOT NULL, point BLOB NOT NULL,"
    " signature BLOB NOT NULL) STRICT;"
    "CREATE INDEX checkpoints_row ON checkpoints (row, seq);";

/* Bearer tokens of users, by digest. */
static const char schema_4[] =
    "CREATE TABLE tokens ("
    " seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " name TEXT NOT NULL, user TEXT NOT NULL, scopes TEXT NOT NULL,"
    " digest BLOB NOT NULL, created_ms INTEGER NOT NULL,"
    " expires_ms INTEGER NOT NULL, UNIQUE (user, name)) STRICT;";

/* Which of a tree are there: of an agent that has opened and deleted thousands
 * the others are not to be read with each of its calls. */
static const char schema_5[] =
    "ALTER TABLE lineage ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;"
    "UPDATE lineage SET removed = 1"
    " WHERE id NOT IN (SELECT id FROM sandboxes);"
    "CREATE INDEX lineage_there ON lineage (root, seq) WHERE removed = 0;"
    "CREATE TRIGGER lineage_removed AFTER DELETE ON sandboxes BEGIN"
    " UPDATE lineage SET removed = 1 WHERE id = old.id; END;";

/* Lineage is kept as long as the record tells of it: `removed` is when. A root
 * takes its grants along. */
static const char schema_6[] =
    "UPDATE lineage SET removed = max(ended_ms, created_ms, 1)"
    " WHERE removed = 1;"
    "DROP TRIGGER lineage_removed;"
    "CREATE TRIGGER lineage_removed AFTER DELETE ON sandboxes BEGIN"
    " UPDATE lineage SET removed = max(old.deleted_ms, 1)"
    " WHERE id = old.id; END;"
    "CREATE TRIGGER lineage_forgotten AFTER DELETE ON lineage"
    " WHEN old.parent = '' BEGIN"
    " DELETE FROM grants WHERE root = old.id; END;"
    "CREATE INDEX lineage_gone ON lineage (removed) WHERE removed > 0;"
    "CREATE INDEX lineage_roots ON lineage (name, seq) WHERE parent = '';";

static const char *const schemas[STORE_VERSION] = { schema, schema_2, schema_3,
	schema_4, schema_5, schema_6 };

int
store_fault(struct store *s, const char *doing, struct fault *f)
{
	int code = sqlite3_extended_errcode(s->db);
	const char *text = sqlite3_errmsg(s->db);

	if (code == SQLITE_CONSTRAINT_UNIQUE ||
	    code == SQLITE_CONSTRAINT_PRIMARYKEY)
		return fault_set(f, FAULT_EXISTS, "%s: already there", doing);
	fault_set(f, FAULT_SYSTEM, "store: %s: %s", doing, text);
	if ((code & 0xff) == SQLITE_FULL)
		f->sys = ENOSPC;
	else
		f->sys = sqlite3_system_errno(s->db);
	return -1;
}

static int
run(struct store *s, const char *text, struct fault *f)
{
	if (sqlite3_exec(s->db, text, NULL, NULL, NULL) != SQLITE_OK)
		return store_fault(s, "set up", f);
	return 0;
}

static int
read_version(struct store *s, int *version, struct fault *f)
{
	sqlite3_stmt *q = NULL;
	int got;

	if (sqlite3_prepare_v2(s->db, "PRAGMA user_version", -1, &q, NULL) !=
	    SQLITE_OK)
		return store_fault(s, "read the version", f);
	got = store_step(s, q, "read the version", f);
	if (got > 0)
		*version = sqlite3_column_int(q, 0);
	sqlite3_finalize(q);
	return got > 0 ? 0 : -1;
}

static int
set_up(struct store *s, struct fault *f)
{
	int version = 0;

	if (run(s,
		"PRAGMA locking_mode = EXCLUSIVE;"
		"PRAGMA journal_mode = WAL;"
		"PRAGMA synchronous = FULL;",
		f) < 0)
		return -1;
	if (read_version(s, &version, f) < 0)
		return -1;
	if (version > STORE_VERSION)
		return fault_set(f, FAULT_SYSTEM,
		    "store: version %d was written by a newer gateway (this "
		    "one knows %d)",
		    version, STORE_VERSION);
	if (version == STORE_VERSION)
		return 0;
	if (run(s, "BEGIN IMMEDIATE", f) < 0)
		return -1;
	for (int i = version < 0 ? 0 : version; i < STORE_VERSION; i++) {
		if (run(s, schemas[i], f) < 0)
			return -1;
	}
	return run(s, "PRAGMA user_version = 6; COMMIT", f);
}

static int
prepare(struct store *s, struct fault *f)
{
	static const char *const text[] = {
#define SQL(name, sql) [STORE_##name] = (sql),
#include "store/sql.def"
#undef SQL
	};

	for (size_t i = 0; i < NELEM(text); i++) {
		if (sqlite3_prepare_v3(s->db, text[i], -1,
			SQLITE_PREPARE_PERSISTENT, &s->sql[i],
			NULL) != SQLITE_OK)
			return store_fault(s, "prepare", f);
	}
	return 0;
}

struct store *
store_open(const char *path, struct fault *f)
{
	struct store *s = must_alloc(sizeof(*s));

	if (sqlite3_open_v2(path, &s->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
		    SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW,
		NULL) != SQLITE_OK) {
		if (s->db != NULL)
			store_fault(s, "open", f);
		else
			fault_set(f, FAULT_SYSTEM, "store: out of memory");
		store_close(s);
		return NULL;
	}
	if (set_up(s, f) < 0 || prepare(s, f) < 0) {
		fault_prefix(f, "cannot open '%s'", path);
		store_close(s);
		return NULL;
	}
	return s;
}

void
store_close(struct store *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < NELEM(s->sql); i++)
		sqlite3_finalize(s->sql[i]);
	sqlite3_close(s->db);
	free(s);
}

sqlite3_stmt *
store_use(struct store *s, enum store_sql which)
{
	return s->sql[which];
}

void
store_end(sqlite3_stmt *q)
{
	sqlite3_reset(q);
	sqlite3_clear_bindings(q);
}

int
store_step(struct store *s, sqlite3_stmt *q, const char *doing, struct fault *f)
{
	int rc = sqlite3_step(q);

	if (rc == SQLITE_ROW)
		return 1;
	if (rc == SQLITE_DONE)
		return 0;
	return store_fault(s, doing, f);
}

int
store_done(struct store *s, sqlite3_stmt *q, const char *doing, struct fault *f)
{
	int got = store_step(s, q, doing, f);

	store_end(q);
	return got < 0 ? -1 : 0;
}

int
store_begin(struct store *s, struct fault *f)
{
	/* Rolled back by itself, as on ENOSPC: what follows would be kept at
	 * once, and yet be told as lost by the commit. */
	if (s->dirty && sqlite3_get_autocommit(s->db))
		return fault_set(f, FAULT_SYSTEM,
		    "store: the transaction was rolled back");
	if (s->dirty)
		return 0;
	if (store_done(s, store_use(s, STORE_BEGIN), "begin", f) < 0)
		return -1;
	s->dirty = true;
	return 0;
}

static void
roll_back(struct store *s)
{
	struct fault ignored = { 0 };

	/* SQLite may have rolled back by itself, as it does on ENOSPC. */
	if (!sqlite3_get_autocommit(s->db) &&
	    store_done(s, store_use(s, STORE_ROLLBACK), "roll back", &ignored) <
		0)
		log_warn(&ignored, "store keeps a failed transaction");
	s->dirty = false;
}

int
store_commit(struct store *s, struct fault *f)
{
	if (!s->dirty)
		return 0;
	if (sqlite3_get_autocommit(s->db)) {
		s->dirty = false;
		return fault_set(f, FAULT_SYSTEM,
		    "store: the transaction was rolled back");
	}
	if (store_done(s, store_use(s, STORE_COMMIT), "commit", f) < 0) {
		roll_back(s);
		return -1;
	}
	s->dirty = false;
	return 0;
}

bool
store_is_dirty(const struct store *s)
{
	return s->dirty;
}

int
store_mark(struct store *s, struct fault *f)
{
	if (store_begin(s, f) < 0)
		return -1;
	return store_done(s, store_use(s, STORE_MARK), "mark", f);
}

/* Both may find that SQLite has rolled the whole transaction back by itself;
 * the commit then fails and tells. */
void
store_keep(struct store *s)
{
	struct fault ignored = { 0 };

	if (!sqlite3_get_autocommit(s->db) &&
	    store_done(s, store_use(s, STORE_KEEP), "keep", &ignored) < 0)
		log_warn(&ignored, "store cannot keep a call's writes");
}

void
store_back(struct store *s)
{
	struct fault ignored = { 0 };

	if (!sqlite3_get_autocommit(s->db) &&
	    store_done(s, store_use(s, STORE_BACK), "go back", &ignored) < 0)
		log_warn(&ignored, "store cannot take a call's writes back");
	store_keep(s);
}

void
store_bind_text(sqlite3_stmt *q, int at, const char *text)
{
	sqlite3_bind_text(q, at, text, -1, SQLITE_STATIC);
}

void
store_bind_blob(sqlite3_stmt *q, int at, struct span s)
{
	if (s.len == 0)
		sqlite3_bind_zeroblob(q, at, 0);
	else
		sqlite3_bind_blob64(q, at, s.ptr, s.len, SQLITE_STATIC);
}

void
store_bind_int(sqlite3_stmt *q, int at, int64_t n)
{
	sqlite3_bind_int64(q, at, n);
}

const char *
store_text_borrow(sqlite3_stmt *q, int at)
{
	const unsigned char *p = sqlite3_column_text(q, at);

	return p == NULL ? "" : (const char *)p;
}

void
store_text(sqlite3_stmt *q, int at, char *out, size_t size)
{
	(void)text_copy(out, size, span_str(store_text_borrow(q, at)));
}

struct span
store_blob_borrow(sqlite3_stmt *q, int at)
{
	const void *p = sqlite3_column_blob(q, at);

	return span_of(p, p == NULL ? 0 : (size_t)sqlite3_column_bytes(q, at));
}

int
store_own(struct span *s, struct arena *a, struct fault *f)
{
	struct span own = arena_dup(a, *s);

	if (own.len != s->len)
		return fault_set(f, FAULT_LIMIT,
		    "a row of %zu bytes has no room", s->len);
	*s = own;
	return 0;
}

int
store_setting_put(struct store *s, const char *key, struct span value,
    struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_SETTING_PUT);

	if (store_begin(s, f) < 0)
		return -1;
	store_bind_text(q, 1, key);
	store_bind_blob(q, 2, value);
	return store_done(s, q, "write a setting", f);
}

int
store_setting_get(struct store *s, const char *key, struct arena *a,
    struct span *value, struct fault *f)
{
	sqlite3_stmt *q = store_use(s, STORE_SETTING_GET);
	int got;

	store_bind_text(q, 1, key);
	got = store_step(s, q, "read a setting", f);
	if (got > 0) {
		*value = store_blob_borrow(q, 0);
		got = store_own(value, a, f) < 0 ? -1 : 1;
	}
	store_end(q);
	if (got == 0)
		return fault_set(f, FAULT_NOT_FOUND, "no setting '%s'", key);
	return got < 0 ? -1 : 0;
}
