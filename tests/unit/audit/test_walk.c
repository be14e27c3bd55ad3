/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over the chain: whoever changes, removes, inserts or cuts, with or
 * without hashing anew, is found, and what was pruned is not missed. The
 * strange hand is a second connection with SQL of its own, between two lives
 * of the store.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "audit/audit.h"
#include "digest/digest.h"
#include "tls/tls.h"

static struct fault fault;
static struct store *store;
static struct tls_key key;
static struct tls_key other;
static char path[128];

static void
make_key(struct tls_key *k, uint8_t fill)
{
	uint8_t secret[TLS_ENTROPY];

	memset(secret, fill, sizeof(secret));
	assert_int_equal(tls_key_make(k, secret, "audit", &fault), 0);
}

static int
set_up(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	fault_clear(&fault);
	make_key(&key, 7);
	make_key(&other, 9);
	(void)snprintf(path, sizeof(path), "%s/nacre-walk.%d.db",
	    tmp == NULL ? "/tmp" : tmp, (int)getpid());
	(void)unlink(path);
	store = store_open(path, &fault);
	return store == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
	char wal[160];

	(void)state;
	store_close(store);
	(void)unlink(path);
	(void)snprintf(wal, sizeof(wal), "%s-wal", path);
	(void)unlink(wal);
	return 0;
}

static void
commit(void)
{
	struct store_checkpoint c;
	bool made;

	assert_int_equal(audit_seal(store, &key, &c, &made, &fault), 0);
	assert_int_equal(store_commit(store, &fault), 0);
}

static void
append_as(const char *verb, int64_t time_ms)
{
	struct audit_row row = {
		.time_ms = time_ms,
		.caller = "uid:1",
		.verb = verb,
		.sandbox = "s",
		.detail = "what was done",
	};

	assert_int_equal(audit_append(store, &row, &fault), 0);
}

static void
append(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		append_as("sandbox.exec", 1000 + i);
		if (i % 10 == 9)
			commit();
	}
	commit();
}

static void
sign(const struct tls_key *k, enum audit_kind kind)
{
	struct store_checkpoint c;

	assert_int_equal(audit_checkpoint(store, k, kind, &c, &fault), 0);
	assert_int_equal(store_commit(store, &fault), 0);
}

/* The store is closed, somebody's SQL is run on it, it is opened again. */
static void
strike(const char *sql)
{
	char command[1024];

	store_close(store);
	(void)snprintf(command, sizeof(command),
	    "/usr/bin/python3 -c 'import sqlite3,sys\n"
	    "d = sqlite3.connect(sys.argv[1])\n"
	    "d.executescript(sys.argv[2])\n"
	    "d.commit()' '%s' \"%s\"",
	    path, sql);
	assert_int_equal(system(command), 0);
	store = store_open(path, &fault);
	assert_non_null(store);
}

static struct audit_walk
walk(const uint8_t *wanted)
{
	struct audit_walk w;

	audit_walk_init(&w, key.pin, wanted);
	for (int i = 0; !w.done; i++) {
		assert_true(i < 10000);
		assert_int_equal(audit_walk_step(&w, store, 37, &fault), 0);
	}
	return w;
}

static void
finds(enum audit_wrong wrong, uint64_t at)
{
	struct audit_walk w = walk(NULL);
	char text[160];

	audit_walk_say(&w, text, sizeof(text));
	if (w.wrong != wrong || w.at != at)
		print_error("%s\n", text);
	assert_string_equal(audit_wrong_name(w.wrong), audit_wrong_name(wrong));
	assert_int_equal(w.at, at);
}

static void
a_whole_record_is_whole(void **state)
{
	struct audit_walk w;

	(void)state;
	finds(AUDIT_WHOLE, 0);
	append(2500);
	w = walk(NULL);
	assert_int_equal(w.wrong, AUDIT_WHOLE);
	assert_int_equal(w.row, 2500);
	assert_int_equal(w.checkpoints, 2);
	assert_int_equal(w.last.row, 2000);
	sign(&key, AUDIT_STOP);
	append_as("gateway.start", 1);
	sign(&key, AUDIT_START);
	w = walk(NULL);
	assert_int_equal(w.wrong, AUDIT_WHOLE);
	assert_int_equal(w.checkpoints, 4);
}

static void
rows_that_come_during_the_walk_are_walked(void **state)
{
	struct audit_walk w;

	(void)state;
	append(995);
	audit_walk_init(&w, key.pin, NULL);
	assert_int_equal(audit_walk_step(&w, store, 995, &fault), 0);
	assert_false(w.done);
	append(1020);
	while (!w.done)
		assert_int_equal(audit_walk_step(&w, store, 100, &fault), 0);
	assert_int_equal(w.wrong, AUDIT_WHOLE);
	assert_int_equal(w.row, 2015);
	assert_int_equal(w.checkpoints, 2);
}

static void
a_changed_row_is_found(void **state)
{
	static const char *const columns[] = { "caller", "program", "parent",
		"root", "verb", "sandbox_id", "sandbox", "request_id",
		"verdict", "reason", "detail" };

	(void)state;
	append(50);
	for (size_t i = 0; i < NELEM(columns); i++) {
		char sql[256];

		(void)snprintf(sql, sizeof(sql),
		    "update audit set %s = %s || 'x' where row = 20",
		    columns[i], columns[i]);
		strike(sql);
		finds(AUDIT_CHANGED, 20);
		(void)snprintf(sql, sizeof(sql),
		    "update audit set %s = rtrim(%s, 'x') where row = 20",
		    columns[i], columns[i]);
		strike(sql);
		finds(AUDIT_WHOLE, 0);
	}
	strike("update audit set time_ms = time_ms + 1 where row = 50");
	finds(AUDIT_CHANGED, 50);
	strike("update audit set time_ms = time_ms - 1 where row = 50;"
	       "update audit set hash = zeroblob(32) where row = 1");
	finds(AUDIT_CHANGED, 1);
}

static void
a_removed_row_is_found(void **state)
{
	(void)state;
	append(50);
	strike("delete from audit where row = 20");
	finds(AUDIT_MISSING, 20);
	/* The same when those behind it are numbered anew. */
	strike("update audit set row = -row where row > 20;"
	       "update audit set row = -row - 1 where row < 0");
	finds(AUDIT_MISSING, 20);
}

static void
the_first_rows_are_missed(void **state)
{
	(void)state;
	append(50);
	strike("delete from audit where row < 5");
	finds(AUDIT_MISSING, 1);
}

#define COPY(from, to)                                                 \
 "insert into audit select " to ", time_ms, caller, program, parent, " \
 "root, 'forged', sandbox_id, sandbox, request_id, verdict, reason, "  \
 "detail, hash from audit where row = " from
#define SHIFT                                  \
 "update audit set row = -row where row > 20;" \
 "update audit set row = 1 - row where row < 0;"

static void
an_inserted_row_is_found(void **state)
{
	(void)state;
	append(50);
	strike(SHIFT COPY("20", "21"));
	finds(AUDIT_INSERTED, 21);
}

/* One that was hashed as it should be, between others. */
static void
an_inserted_row_with_a_good_hash_is_found(void **state)
{
	struct store_audit row = { .row = 21,
		.time_ms = 5,
		.caller = "uid:1",
		.program = "",
		.parent = "",
		.root = "",
		.verb = "forged",
		.sandbox_id = "",
		.sandbox = "",
		.request_id = "",
		.verdict = "ok",
		.reason = "",
		.detail = "" };
	uint8_t before[STORE_HASH];
	uint64_t n;

	(void)state;
	append(20);
	assert_int_equal(store_audit_head(store, &n, before, &fault), 0);
	append(30);
	strike(SHIFT);
	audit_hash(&row, before, row.hash);
	assert_int_equal(store_audit_append(store, &row, &fault), 0);
	assert_int_equal(store_commit(store, &fault), 0);
	finds(AUDIT_INSERTED, 21);
}

static void
rows_before_the_first_are_found(void **state)
{
	(void)state;
	append(50);
	strike(COPY("20", "0"));
	finds(AUDIT_INSERTED, 0);
	strike("delete from audit where row = 0;" COPY("20", "-7"));
	finds(AUDIT_INSERTED, (uint64_t)-7);
}

static void
a_cut_tail_is_found_by_a_checkpoint(void **state)
{
	(void)state;
	append(50);
	sign(&key, AUDIT_STOP);
	strike("delete from audit where row > 40");
	finds(AUDIT_CUT, 41);
	/* Also when the rows are written anew, with good hashes. */
	append(20);
	finds(AUDIT_REWRITTEN, 50);
}

static void
a_cut_tail_is_found_by_a_hash_kept_elsewhere(void **state)
{
	uint8_t head[STORE_HASH];
	uint64_t n;
	struct audit_walk w;

	(void)state;
	append(50);
	assert_int_equal(store_audit_head(store, &n, head, &fault), 0);
	append(3);
	assert_int_equal(walk(head).wrong, AUDIT_WHOLE);
	strike("delete from audit where row > 45; delete from checkpoints");
	finds(AUDIT_WHOLE, 0);
	w = walk(head);
	assert_int_equal(w.wrong, AUDIT_CUT);
	assert_int_equal(w.at, 46);
	append(20);
	assert_int_equal(walk(head).wrong, AUDIT_CUT);
}

static void
a_row_after_the_stop_is_found(void **state)
{
	(void)state;
	append(50);
	sign(&key, AUDIT_STOP);
	append(1);
	finds(AUDIT_INSERTED, 51);
}

/* Whoever cannot sign can call a row as he likes. */
static void
a_start_that_nobody_signed_is_found(void **state)
{
	(void)state;
	/* As of an old gateway, that signed nothing. */
	append_as("gateway.start", 1);
	append(48);
	finds(AUDIT_WHOLE, 0);
	append_as("gateway.stop", 2);
	sign(&key, AUDIT_STOP);
	append_as("gateway.start", 3);
	commit();
	finds(AUDIT_INSERTED, 51);
	append(100);
	finds(AUDIT_INSERTED, 51);
	sign(&key, AUDIT_ROWS);
	finds(AUDIT_INSERTED, 51);
}

static void
a_forged_checkpoint_is_found(void **state)
{
	static const char *const strikes[] = {
		"update checkpoints set hash = zeroblob(32)",
		"update checkpoints set time_ms = time_ms + 1",
		"update checkpoints set bytes = bytes + 1",
		"update checkpoints set kind = 3",
		"update checkpoints set kind = 4",
		"update checkpoints set kind = 99",
		"update checkpoints set signature = zeroblob(64)",
		"update checkpoints set signature = x''",
		"update checkpoints set point = zeroblob(65)",
	};

	(void)state;
	append(50);
	for (size_t i = 0; i < NELEM(strikes); i++) {
		sign(&key, AUDIT_START);
		strike(strikes[i]);
		finds(AUDIT_FORGED, 50);
		strike("delete from checkpoints");
	}
	sign(&other, AUDIT_START);
	finds(AUDIT_FORGED, 50);
	/* One that says more than there is. */
	strike("update checkpoints set row = 60");
	finds(AUDIT_FORGED, 60);
}

static void
a_record_without_its_checkpoints_is_found(void **state)
{
	(void)state;
	append(2500);
	strike("delete from checkpoints where row > 1000");
	finds(AUDIT_UNSIGNED, 1001);
	strike("delete from checkpoints");
	finds(AUDIT_UNSIGNED, 1);
}

static uint64_t
prune(int64_t oldest_ms, uint64_t bytes)
{
	const struct audit_bounds b = { oldest_ms, bytes };
	uint64_t row = 0;
	uint64_t last = 0;

	do {
		assert_int_equal(audit_prune(store, &key, &b, &row, &fault), 0);
		assert_int_equal(store_commit(store, &fault), 0);
		last = row == 0 ? last : row;
	} while (row != 0);
	return last;
}

static void
a_pruned_chain_goes_on(void **state)
{
	struct audit_walk w;

	(void)state;
	append(1900); /* row i has the time 999 + i */
	assert_int_equal(prune(1000, UINT64_MAX), 0);
	assert_int_equal(prune(999 + 701, UINT64_MAX), 700);
	w = walk(NULL);
	assert_int_equal(w.wrong, AUDIT_WHOLE);
	assert_int_equal(w.first, 700);
	assert_int_equal(w.row, 1900);
	/* What no checkpoint covers stays, however old. */
	assert_int_equal(prune(INT64_MAX, UINT64_MAX), 999);
	w = walk(NULL);
	assert_int_equal(w.wrong, AUDIT_WHOLE);
	assert_int_equal(w.first, 999);
	/* Rows that were pruned do not come back, nor more of them go. */
	strike(COPY("1000", "990"));
	finds(AUDIT_INSERTED, 990);
	append(1200);
	assert_int_equal(prune(INT64_MAX, UINT64_MAX), 2999);
	finds(AUDIT_INSERTED, 990);
	strike("delete from audit where row = 990 or row = 3000");
	finds(AUDIT_MISSING, 3000);
	strike("delete from checkpoints where kind = 4");
	finds(AUDIT_MISSING, 1);
}

static void
a_record_that_is_too_large_is_pruned(void **state)
{
	struct store_checkpoint last;
	bool found;
	uint64_t row;

	(void)state;
	append(3000);
	assert_int_equal(store_checkpoint_last(store, &last, &found, &fault),
	    0);
	assert_int_equal(last.row, 3000);
	row = prune(0, last.bytes / 3);
	assert_true(row > 1950 && row < 2050);
	finds(AUDIT_WHOLE, 0);
	assert_int_equal(prune(0, last.bytes / 3), 0);
	append(1000);
	assert_true(prune(0, last.bytes / 3) > row + 900);
	finds(AUDIT_WHOLE, 0);
}

static void
pruning_overtakes_a_walk(void **state)
{
	struct audit_walk w;

	(void)state;
	append(2000);
	audit_walk_init(&w, key.pin, NULL);
	assert_int_equal(audit_walk_step(&w, store, 100, &fault), 0);
	assert_int_equal(prune(999 + 901, UINT64_MAX), 900);
	while (!w.done)
		assert_int_equal(audit_walk_step(&w, store, 100, &fault), 0);
	assert_int_equal(w.wrong, AUDIT_WHOLE);
	assert_int_equal(w.first, 900);
}

static void
pruning_hides_nothing(void **state)
{
	const struct audit_bounds b = { INT64_MAX, UINT64_MAX };
	uint64_t row;

	(void)state;
	append(1100);
	strike("update audit set detail = 'nothing' where row = 100");
	assert_int_equal(audit_prune(store, &key, &b, &row, &fault), -1);
	assert_int_equal(fault.code, FAULT_PROTOCOL);
	finds(AUDIT_CHANGED, 100);
}

static void
refuses_to_prune(int64_t oldest_ms, uint64_t bytes)
{
	const struct audit_bounds b = { oldest_ms, bytes };
	uint64_t row;

	assert_int_equal(audit_prune(store, &key, &b, &row, &fault), -1);
	assert_int_equal(fault.code, FAULT_PROTOCOL);
	fault_clear(&fault);
}

/* Its bytes would have the record pruned as too large, and it with it. */
static void
a_forged_checkpoint_has_nothing_pruned(void **state)
{
	const uint64_t bound = UINT64_C(1) << 30;
	struct store_checkpoint c;
	bool found;

	(void)state;
	append(702);
	sign(&key, AUDIT_STOP);
	assert_int_equal(store_checkpoint_last(store, &c, &found, &fault), 0);
	strike("delete from checkpoints where kind = 3;"
	       "insert into checkpoints values (7, 2, 1, 1, 1 << 61,"
	       " zeroblob(32), zeroblob(65), zeroblob(64))");
	refuses_to_prune(0, bound);
	append_as("gateway.start", 2000);
	sign(&key, AUDIT_START);
	assert_int_equal(prune(0, bound), 0);
	refuses_to_prune(0, c.bytes / 2);
	refuses_to_prune(INT64_MAX, bound);
	finds(AUDIT_FORGED, 2);
	/* One from which the chain is to go on, and one that is far ahead. */
	strike("update checkpoints set kind = 4 where row = 2");
	refuses_to_prune(INT64_MAX, bound);
	strike("update checkpoints set kind = 1, row = 9999 where row = 2");
	refuses_to_prune(INT64_MAX, bound);
	finds(AUDIT_FORGED, 9999);
	strike("delete from checkpoints where row = 9999");
	finds(AUDIT_WHOLE, 0);
	assert_int_equal(store_checkpoint_last(store, &c, &found, &fault), 0);
	assert_true(c.bytes < bound);
	assert_true(prune(0, c.bytes / 2) > 300);
	finds(AUDIT_WHOLE, 0);
}

static void
pruning_hides_no_rewriting(void **state)
{
	(void)state;
	append(50);
	sign(&key, AUDIT_ROWS);
	strike("delete from audit");
	for (int i = 0; i < 100; i++)
		append_as("sandbox.exec", 1);
	sign(&key, AUDIT_ROWS);
	refuses_to_prune(INT64_MAX, UINT64_MAX);
	finds(AUDIT_REWRITTEN, 50);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_whole_record_is_whole),
		TEST(rows_that_come_during_the_walk_are_walked),
		TEST(a_changed_row_is_found),
		TEST(a_removed_row_is_found),
		TEST(the_first_rows_are_missed),
		TEST(an_inserted_row_is_found),
		TEST(an_inserted_row_with_a_good_hash_is_found),
		TEST(rows_before_the_first_are_found),
		TEST(a_cut_tail_is_found_by_a_checkpoint),
		TEST(a_cut_tail_is_found_by_a_hash_kept_elsewhere),
		TEST(a_row_after_the_stop_is_found),
		TEST(a_start_that_nobody_signed_is_found),
		TEST(a_forged_checkpoint_is_found),
		TEST(a_record_without_its_checkpoints_is_found),
		TEST(a_pruned_chain_goes_on),
		TEST(a_record_that_is_too_large_is_pruned),
		TEST(pruning_overtakes_a_walk),
		TEST(pruning_hides_nothing),
		TEST(a_forged_checkpoint_has_nothing_pruned),
		TEST(pruning_hides_no_rewriting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
