/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: audit tls store */
/*
 * The store on a disk that fails: the Nth write, sync or truncation fails, for
 * every N, as a full disk (once) or as a dead one (from then on). What was
 * acknowledged is there afterwards, whole ticks only, and the chain holds.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/unit.h"
#include "audit/audit.h"
#include "base/base.h"
#include "store/store.h"

enum {
	TICKS = 6,
	MOST = 400, /* operations one run may do */
};

/* A file of the real VFS behind one that counts and fails. */
struct shim_file {
	sqlite3_file base;
	sqlite3_file *real;
};

static sqlite3_vfs shim;
static sqlite3_vfs *real_vfs;
static int until_fault; /* operations that still succeed; -1: all */
static bool stays;      /* after the first fault all fail */
static int operations;

static bool
fails(void)
{
	operations++;
	if (until_fault < 0)
		return false;
	if (until_fault > 0) {
		until_fault--;
		return false;
	}
	if (!stays)
		until_fault = -1;
	return true;
}

static sqlite3_file *
real_of(sqlite3_file *f)
{
	return ((struct shim_file *)(void *)f)->real;
}

static int
shim_close(sqlite3_file *f)
{
	sqlite3_file *real = real_of(f);
	int rc = real->pMethods ? real->pMethods->xClose(real) : SQLITE_OK;

	sqlite3_free(real);
	return rc;
}

static int
shim_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
	return real_of(f)->pMethods->xRead(real_of(f), p, n, at);
}

static int
shim_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	if (fails())
		return SQLITE_FULL;
	return real_of(f)->pMethods->xWrite(real_of(f), p, n, at);
}

static int
shim_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	if (fails())
		return SQLITE_IOERR_TRUNCATE;
	return real_of(f)->pMethods->xTruncate(real_of(f), size);
}

static int
shim_sync(sqlite3_file *f, int flags)
{
	if (fails())
		return SQLITE_IOERR_FSYNC;
	return real_of(f)->pMethods->xSync(real_of(f), flags);
}

static int
shim_size(sqlite3_file *f, sqlite3_int64 *size)
{
	return real_of(f)->pMethods->xFileSize(real_of(f), size);
}

static int
shim_lock(sqlite3_file *f, int level)
{
	return real_of(f)->pMethods->xLock(real_of(f), level);
}

static int
shim_unlock(sqlite3_file *f, int level)
{
	return real_of(f)->pMethods->xUnlock(real_of(f), level);
}

static int
shim_reserved(sqlite3_file *f, int *out)
{
	return real_of(f)->pMethods->xCheckReservedLock(real_of(f), out);
}

static int
shim_control(sqlite3_file *f, int op, void *arg)
{
	return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}

static int
shim_sector(sqlite3_file *f)
{
	return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static int
shim_device(sqlite3_file *f)
{
	return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

/* Version 1: no shared memory, which an exclusive store does not need. */
static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = shim_close,
	.xRead = shim_read,
	.xWrite = shim_write,
	.xTruncate = shim_truncate,
	.xSync = shim_sync,
	.xFileSize = shim_size,
	.xLock = shim_lock,
	.xUnlock = shim_unlock,
	.xCheckReservedLock = shim_reserved,
	.xFileControl = shim_control,
	.xSectorSize = shim_sector,
	.xDeviceCharacteristics = shim_device,
};

static int
shim_open(sqlite3_vfs *v, sqlite3_filename name, sqlite3_file *f, int flags,
    int *out)
{
	struct shim_file *s = (struct shim_file *)(void *)f;
	int rc;

	(void)v;
	s->base.pMethods = NULL;
	s->real = sqlite3_malloc(real_vfs->szOsFile);
	assert_non_null(s->real);
	memset(s->real, 0, (size_t)real_vfs->szOsFile);
	rc = real_vfs->xOpen(real_vfs, name, s->real, flags, out);
	if (rc == SQLITE_OK)
		s->base.pMethods = &methods;
	else
		sqlite3_free(s->real);
	return rc;
}

static int
start_shim(void **state)
{
	(void)state;
	real_vfs = sqlite3_vfs_find(NULL);
	shim = *real_vfs;
	shim.zName = "shim";
	shim.szOsFile = (int)sizeof(struct shim_file);
	shim.xOpen = shim_open;
	return sqlite3_vfs_register(&shim, 1);
}

static char folder[64];
static char path[96];

static void
remove_all(void)
{
	static const char *const ends[] = { "", "-wal", "-journal", "-shm" };
	char name[128];

	for (size_t i = 0; i < NELEM(ends); i++) {
		assert_true(
		    text_fmt(name, sizeof(name), "%s%s", path, ends[i]));
		unlink(name);
	}
}

static int
write_tick(struct store *s, int tick, struct fault *f)
{
	struct store_sandbox row = { .version = 1, .created_ms = tick };
	struct audit_row record = { .caller = "test", .verb = "tick" };

	assert_true(text_fmt(row.id, sizeof(row.id), "id%d", tick));
	assert_true(text_fmt(row.name, sizeof(row.name), "n%d", tick));
	record.sandbox = row.name;
	if (store_sandbox_insert(s, &row, f) < 0 ||
	    audit_append(s, &record, f) < 0)
		return -1;
	return store_commit(s, f);
}

static int
count_row(void *owner, struct store_sandbox *row, struct fault *f)
{
	bool *seen = owner;

	(void)f;
	seen[strtol(row->name + 1, NULL, 10)] = true;
	return 0;
}

static int
count_record(void *owner, const struct store_audit *row, struct fault *f)
{
	bool *seen = owner;

	(void)f;
	seen[strtol(row->sandbox + 1, NULL, 10)] = true;
	return 0;
}

/* The disk is well again: what does the store say? */
static void
check(const bool *acknowledged)
{
	const struct store_page page = { 0 };
	const struct store_audit_filter all = { 0 };
	bool rows[TICKS] = { false };
	bool records[TICKS] = { false };
	const uint8_t pin[STORE_HASH] = { 0 };
	struct audit_walk walk;
	struct fault f = { 0 };
	struct store *s;

	until_fault = -1;
	s = store_open(path, &f);
	if (s == NULL)
		print_error("%s\n", f.text);
	assert_non_null(s);
	assert_int_equal(store_sandbox_list(s, &page, count_row, rows, &f), 0);
	assert_int_equal(store_audit_list(s, &all, count_record, records, &f),
	    0);
	audit_walk_init(&walk, pin, NULL);
	while (!walk.done)
		assert_int_equal(audit_walk_step(&walk, s, 100, &f), 0);
	assert_int_equal(walk.wrong, AUDIT_WHOLE);
	for (int i = 0; i < TICKS; i++) {
		assert_int_equal(rows[i], records[i]);
		if (acknowledged[i])
			assert_true(rows[i]);
	}
	store_close(s);
}

/* One life of the store with a fault after n operations. */
static bool
run(int n, bool dead)
{
	bool acknowledged[TICKS] = { false };
	struct fault f = { 0 };
	struct store *s;
	bool failed = false;

	remove_all();
	operations = 0;
	until_fault = n;
	stays = dead;
	s = store_open(path, &f);
	failed = s == NULL;
	for (int i = 0; i < TICKS && s != NULL; i++) {
		fault_clear(&f);
		acknowledged[i] = write_tick(s, i, &f) == 0;
		if (!acknowledged[i]) {
			failed = true;
			/* As the gateway does: the tick's end rolls back. */
			fault_clear(&f);
			(void)!store_commit(s, &f);
		}
	}
	store_close(s);
	check(acknowledged);
	return failed;
}

static void
every_operation_may_fail(void **state)
{
	int faults = 0;

	(void)state;
	assert_true(text_fmt(folder, sizeof(folder), "/tmp/store-XXXXXX"));
	assert_non_null(mkdtemp(folder));
	assert_true(text_fmt(path, sizeof(path), "%s/store.db", folder));
	for (int dead = 0; dead <= 1; dead++) {
		for (int n = 0; n < MOST; n++) {
			faults += run(n, dead);
			if (until_fault != -1 || operations <= n)
				break;
		}
	}
	assert_in_range(faults, 2 * TICKS, MOST);
	remove_all();
	rmdir(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operation_may_fail),
	};

	return cmocka_run_group_tests(tests, start_shim, NULL);
}
