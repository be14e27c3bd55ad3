/* SPDX-License-Identifier: Apache-2.0 */
/* The store: rows come back as they went in, ticks are whole, marks go back. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "store/store.h"

static char folder[64];
static char path[96];
static struct fault fault;
static struct arena arena;

static int
set_up(void **state)
{
	(void)state;
	assert_true(text_fmt(folder, sizeof(folder), "/tmp/store-XXXXXX"));
	assert_non_null(mkdtemp(folder));
	assert_true(text_fmt(path, sizeof(path), "%s/store.db", folder));
	arena_init(&arena, 1 << 20);
	fault_clear(&fault);
	return 0;
}

static int
tear_down(void **state)
{
	char other[128];

	(void)state;
	unlink(path);
	assert_true(text_fmt(other, sizeof(other), "%s-wal", path));
	unlink(other);
	rmdir(folder);
	arena_release(&arena);
	return 0;
}

static struct store *
open_store(void)
{
	struct store *s = store_open(path, &fault);

	if (s == NULL)
		print_error("%s\n", fault.text);
	assert_non_null(s);
	return s;
}

static struct store_sandbox
row_of(const char *name, int64_t created_ms)
{
	struct store_sandbox row = {
		.state = 1,
		.cpus = 2,
		.memory_mib = 512,
		.created_ms = created_ms,
		.version = 1,
		.labels = SPAN_LIT("\na=b\nteam=red\n"),
		.object = SPAN_LIT("\0object\0"),
		.reason = "because",
	};

	assert_true(text_fmt(row.id, sizeof(row.id), "id-%s", name));
	assert_true(text_fmt(row.name, sizeof(row.name), "%s", name));
	assert_true(text_fmt(row.image, sizeof(row.image), "base"));
	assert_true(
	    text_fmt(row.image_digest, sizeof(row.image_digest), "%064d", 7));
	return row;
}

static void
rows_come_back(void **state)
{
	struct store *s = open_store();
	struct store_sandbox row = row_of("one", 5);
	struct store_sandbox got;

	(void)state;
	assert_int_equal(store_sandbox_insert(s, &row, &fault), 0);
	row.state = 3;
	row.has_exit = true;
	row.exit_code = -7;
	assert_int_equal(store_sandbox_update(s, &row, &fault), 0);
	assert_int_equal(store_commit(s, &fault), 0);
	store_close(s);
	s = open_store();
	assert_int_equal(store_sandbox_by_name(s, "one", &arena, &got, &fault),
	    0);
	assert_string_equal(got.id, "id-one");
	assert_int_equal(got.state, 3);
	assert_int_equal(got.version, 2);
	assert_int_equal(got.exit_code, -7);
	assert_true(got.has_exit);
	assert_string_equal(got.reason, "because");
	assert_true(span_equal(got.object, row.object));
	assert_int_equal(got.facts.len, 0);
	assert_int_equal(store_sandbox_by_id(s, "id-two", &arena, &got, &fault),
	    -1);
	assert_int_equal(fault.code, FAULT_NOT_FOUND);
	store_close(s);
}

static void
a_name_is_taken_once(void **state)
{
	struct store *s = open_store();
	struct store_sandbox row = row_of("one", 5);

	(void)state;
	assert_int_equal(store_sandbox_insert(s, &row, &fault), 0);
	assert_true(text_fmt(row.id, sizeof(row.id), "other"));
	assert_int_equal(store_sandbox_insert(s, &row, &fault), -1);
	assert_int_equal(fault.code, FAULT_EXISTS);
	assert_int_equal(store_commit(s, &fault), 0);
	store_close(s);
}

static void
an_uncommitted_tick_is_nothing(void **state)
{
	struct store *s = open_store();
	struct store_sandbox row = row_of("one", 5);
	uint32_t n = 9;

	(void)state;
	assert_false(store_is_dirty(s));
	assert_int_equal(store_sandbox_insert(s, &row, &fault), 0);
	assert_true(store_is_dirty(s));
	store_close(s);
	s = open_store();
	assert_int_equal(store_sandbox_total(s, &n, &fault), 0);
	assert_int_equal(n, 0);
	store_close(s);
}

static void
a_mark_takes_back_its_own_writes_only(void **state)
{
	struct store *s = open_store();
	struct store_sandbox one = row_of("one", 5);
	struct store_sandbox two = row_of("two", 6);
	uint32_t n = 9;

	(void)state;
	assert_int_equal(store_sandbox_insert(s, &one, &fault), 0);
	assert_int_equal(store_mark(s, &fault), 0);
	assert_int_equal(store_sandbox_insert(s, &two, &fault), 0);
	store_back(s);
	assert_int_equal(store_mark(s, &fault), 0);
	store_keep(s);
	assert_int_equal(store_commit(s, &fault), 0);
	assert_int_equal(store_sandbox_count(s, 1, &n, &fault), 0);
	assert_int_equal(n, 1);
	store_close(s);
}

struct names {
	char text[256];
};

static int
note_name(void *owner, struct store_sandbox *row, struct fault *f)
{
	struct names *n = owner;

	(void)f;
	assert_true(text_fmt(n->text + strlen(n->text),
	    sizeof(n->text) - strlen(n->text), "%s ", row->name));
	return 0;
}

static void
pages_keep_one_order(void **state)
{
	struct store *s = open_store();
	const struct span labels[] = { SPAN_LIT("team=red"), SPAN_LIT("a=b") };
	const struct span none[] = { SPAN_LIT("team=re") };
	struct store_page page = { .offset = 1, .limit = 2 };
	struct names names = { "" };

	(void)state;
	for (int i = 0; i < 4; i++) {
		const char *const name[] = { "d", "c", "b", "a" };
		struct store_sandbox row = row_of(name[i], i / 2);

		assert_int_equal(store_sandbox_insert(s, &row, &fault), 0);
	}
	assert_int_equal(
	    store_sandbox_list(s, &page, note_name, &names, &fault), 0);
	assert_string_equal(names.text, "d a ");
	page = (struct store_page){ .labels = labels, .labels_n = 2 };
	names.text[0] = '\0';
	assert_int_equal(
	    store_sandbox_list(s, &page, note_name, &names, &fault), 0);
	assert_string_equal(names.text, "c d a b ");
	page = (struct store_page){ .labels = none, .labels_n = 1 };
	names.text[0] = '\0';
	assert_int_equal(
	    store_sandbox_list(s, &page, note_name, &names, &fault), 0);
	assert_string_equal(names.text, "");
	store_close(s);
}

static void
an_image_in_use_is_known(void **state)
{
	struct store *s = open_store();
	struct store_sandbox row = row_of("one", 5);
	char name[LIMIT_NAME + 1] = "";
	bool used = true;

	(void)state;
	assert_int_equal(
	    store_sandbox_uses(s, row.image_digest, &used, name, &fault), 0);
	assert_false(used);
	assert_int_equal(store_sandbox_insert(s, &row, &fault), 0);
	assert_int_equal(
	    store_sandbox_uses(s, row.image_digest, &used, name, &fault), 0);
	assert_true(used);
	assert_string_equal(name, "one");
	assert_int_equal(store_sandbox_remove(s, row.id, &fault), 0);
	assert_int_equal(store_sandbox_remove(s, row.id, &fault), -1);
	assert_int_equal(fault.code, FAULT_NOT_FOUND);
	store_close(s);
}

/* A row without its blobs would be written back so. */
static void
a_row_that_finds_no_room_is_a_fault(void **state)
{
	static uint8_t large[4000];
	struct store *s = open_store();
	struct store_sandbox row = row_of("one", 5);
	struct store_sandbox got;
	struct span value;
	struct arena small;

	(void)state;
	row.plan = span_of(large, sizeof(large));
	assert_int_equal(store_sandbox_insert(s, &row, &fault), 0);
	assert_int_equal(store_setting_put(s, "k", row.plan, &fault), 0);
	for (size_t room = 16; room < sizeof(large); room *= 2) {
		arena_init(&small, room);
		assert_int_equal(
		    store_sandbox_by_id(s, row.id, &small, &got, &fault), -1);
		assert_int_equal(fault.code, FAULT_LIMIT);
		assert_int_equal(
		    store_setting_get(s, "k", &small, &value, &fault), -1);
		assert_int_equal(fault.code, FAULT_LIMIT);
		arena_release(&small);
	}
	assert_int_equal(store_sandbox_by_id(s, row.id, &arena, &got, &fault),
	    0);
	assert_int_equal(got.plan.len, sizeof(large));
	store_close(s);
}

static void
settings_are_replaced(void **state)
{
	struct store *s = open_store();
	struct span value;

	(void)state;
	assert_int_equal(store_setting_get(s, "k", &arena, &value, &fault), -1);
	assert_int_equal(fault.code, FAULT_NOT_FOUND);
	assert_int_equal(store_setting_put(s, "k", SPAN_LIT("one"), &fault), 0);
	assert_int_equal(store_setting_put(s, "k", SPAN_LIT("two"), &fault), 0);
	assert_int_equal(store_commit(s, &fault), 0);
	assert_int_equal(store_setting_get(s, "k", &arena, &value, &fault), 0);
	assert_true(span_is(value, "two"));
	store_close(s);
}

static void
a_second_process_is_kept_out(void **state)
{
	struct store *s = open_store();

	(void)state;
	assert_null(store_open(path, &fault));
	assert_int_equal(fault.code, FAULT_SYSTEM);
	store_close(s);
}

static void
a_file_that_is_no_store_is_refused(void **state)
{
	struct span junk = SPAN_LIT("this is not a database, it is text");

	(void)state;
	assert_int_equal(file_write_atomic(-100, path, junk, 0600, &fault), 0);
	assert_null(store_open(path, &fault));
	assert_non_null(strstr(fault.text, "not a database"));
}

static struct store_lineage
lineage_of(const char *id, const char *parent, const char *root)
{
	struct store_lineage l = { .depth = parent[0] != '\0',
		.counted = true };

	(void)text_copy(l.id, sizeof(l.id), span_str(id));
	(void)text_copy(l.name, sizeof(l.name), span_str(id));
	(void)text_copy(l.parent, sizeof(l.parent), span_str(parent));
	(void)text_copy(l.root, sizeof(l.root), span_str(root));
	return l;
}

static int
note_ids(void *owner, const struct store_lineage *row, struct fault *f)
{
	(void)f;
	return buf_fmt(owner, "%s%s ", row->id, row->is_there ? "+" : "-");
}

static int
count(void *owner, const struct store_lineage *row, struct fault *f)
{
	(void)row;
	(void)f;
	(*(size_t *)owner)++;
	return 0;
}

static void
expect_page(struct store *s, const char *root, const char *after, size_t limit,
    size_t want)
{
	struct store_tree_page page = { root, after, limit };
	size_t n = 0;

	assert_int_equal(store_lineage_tree(s, &page, count, &n, &fault), 0);
	assert_int_equal(n, want);
}

static void
lineage_outlives_its_sandbox(void **state)
{
	struct store *s = open_store();
	struct store_sandbox row = row_of("a", 1);
	struct store_lineage root = lineage_of(row.id, "", row.id);
	struct store_lineage child = lineage_of("b", row.id, row.id);
	struct store_lineage got;
	char want[128];
	struct buf b;

	(void)state;
	buf_init(&b, 256);
	assert_int_equal(store_sandbox_insert(s, &row, &fault), 0);
	assert_int_equal(store_lineage_insert(s, &root, &fault), 0);
	assert_int_equal(store_lineage_insert(s, &child, &fault), 0);
	assert_int_equal(store_lineage_tree(s,
			     &(struct store_tree_page){ row.id, "", 9 },
			     note_ids, &b, &fault),
	    0);
	assert_true(text_fmt(want, sizeof(want), "%s+ b- ", row.id));
	assert_true(span_is(buf_span(&b), want));
	expect_page(s, row.id, "", 1, 1);
	expect_page(s, row.id, row.id, 9, 1);
	expect_page(s, row.id, "b", 9, 0);
	expect_page(s, "b", "", 9, 0);
	child.counted = false;
	child.ended_ms = 7;
	assert_int_equal(store_lineage_update(s, &child, &fault), 0);
	assert_int_equal(store_sandbox_remove(s, row.id, &fault), 0);
	assert_int_equal(store_lineage_by_id(s, "b", &arena, &got, &fault), 0);
	assert_int_equal(got.ended_ms, 7);
	assert_false(got.counted);
	assert_int_equal(store_lineage_by_id(s, row.id, &arena, &got, &fault),
	    0);
	assert_false(got.is_there);
	assert_int_equal(store_lineage_by_id(s, "nobody", &arena, &got, &fault),
	    -1);
	assert_int_equal(fault.code, FAULT_NOT_FOUND);
	buf_release(&b);
	store_close(s);
}

static void
expect_there(struct store *s, const char *root, const char *want)
{
	struct buf b;

	buf_init(&b, 256);
	assert_int_equal(store_lineage_there(s, root, note_ids, &b, &fault), 0);
	assert_true(span_is(buf_span(&b), want));
	buf_release(&b);
}

/* Also of a store from before it knew: what was deleted then stays so. */
static void
a_tree_knows_who_of_it_is_there(void **state)
{
	static const char *const names[] = { "root", "one", "two", "three" };
	struct store *s = open_store();
	struct store_sandbox row;
	sqlite3 *db;

	(void)state;
	for (size_t i = 0; i < NELEM(names); i++) {
		struct store_lineage l =
		    lineage_of("", i == 0 ? "" : "id-root", "id-root");

		row = row_of(names[i], (int64_t)i);
		(void)text_copy(l.id, sizeof(l.id), span_str(row.id));
		assert_int_equal(store_sandbox_insert(s, &row, &fault), 0);
		assert_int_equal(store_lineage_insert(s, &l, &fault), 0);
	}
	expect_there(s, "id-root", "id-root+ id-one+ id-two+ id-three+ ");
	assert_int_equal(store_sandbox_remove(s, "id-one", &fault), 0);
	expect_there(s, "id-root", "id-root+ id-two+ id-three+ ");
	assert_int_equal(store_commit(s, &fault), 0);
	store_close(s);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
			     "DROP TRIGGER lineage_removed;"
			     "DROP TRIGGER lineage_forgotten;"
			     "DROP INDEX lineage_there;"
			     "DROP INDEX lineage_gone;"
			     "DROP INDEX lineage_roots;"
			     "ALTER TABLE lineage DROP COLUMN removed;"
			     "PRAGMA user_version = 4",
			     NULL, NULL, NULL),
	    SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	s = open_store();
	expect_there(s, "id-root", "id-root+ id-two+ id-three+ ");
	assert_int_equal(store_sandbox_remove(s, "id-two", &fault), 0);
	expect_there(s, "id-root", "id-root+ id-three+ ");
	store_close(s);
}

/* Names are free again when their sandbox is gone, so the newest counts. */
static void
a_deleted_root_is_found_by_its_name(void **state)
{
	struct store *s = open_store();
	struct store_sandbox row = row_of("a", 1);
	struct store_lineage first = lineage_of("first", "", "first");
	struct store_lineage second = lineage_of("second", "", "second");
	struct store_lineage third = lineage_of("third", "", "third");
	struct store_lineage below = lineage_of("below", "first", "first");
	struct store_lineage live = lineage_of(row.id, "", row.id);
	struct store_lineage *all[] = { &first, &second, &third, &below,
		&live };
	struct store_lineage got;

	(void)state;
	for (size_t i = 0; i < NELEM(all); i++) {
		assert_true(text_copy(all[i]->name, sizeof(all[i]->name),
		    SPAN_LIT("lead")));
		assert_true(text_copy(all[i]->user, sizeof(all[i]->user),
		    i == 2 ? SPAN_LIT("uid:8") : SPAN_LIT("uid:7")));
		assert_int_equal(store_lineage_insert(s, all[i], &fault), 0);
	}
	assert_int_equal(store_sandbox_insert(s, &row, &fault), 0);
	assert_int_equal(
	    store_lineage_gone(s, "lead", "uid:7", &arena, &got, &fault), 0);
	assert_string_equal(got.id, "second");
	assert_int_equal(
	    store_lineage_gone(s, "lead", "", &arena, &got, &fault), 0);
	assert_string_equal(got.id, "third");
	assert_int_equal(
	    store_lineage_gone(s, "lead", "uid:9", &arena, &got, &fault), -1);
	assert_int_equal(fault.code, FAULT_NOT_FOUND);
	store_close(s);
}

/* As the first gateway left it: sandboxes, and no trees. */
static void
an_older_store_is_brought_to_this_form(void **state)
{
	struct store *s = open_store();
	struct store_sandbox a = row_of("a", 2);
	struct store_sandbox b = row_of("b", 1);
	struct store_sandbox row;
	struct store_lineage got;
	struct store_grant none;
	sqlite3 *db;

	(void)state;
	assert_int_equal(store_sandbox_insert(s, &a, &fault), 0);
	assert_int_equal(store_sandbox_insert(s, &b, &fault), 0);
	assert_int_equal(store_commit(s, &fault), 0);
	store_close(s);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(db,
		"DROP TABLE lineage; DROP TABLE grants; DROP TABLE requests;"
		"DROP TABLE checkpoints; DROP TABLE tokens;"
		"DROP TRIGGER lineage_removed;"
		"PRAGMA user_version = 1",
		NULL, NULL, NULL),
	    SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	/* Twice: what is brought up once stays as it is. */
	for (int i = 0; i < 2; i++) {
		s = open_store();
		assert_int_equal(
		    store_sandbox_by_name(s, "a", &arena, &row, &fault), 0);
		assert_string_equal(row.id, a.id);
		assert_int_equal(
		    store_lineage_by_name(s, "b", &arena, &got, &fault), 0);
		assert_string_equal(got.id, b.id);
		assert_string_equal(got.root, b.id);
		assert_string_equal(got.parent, "");
		assert_int_equal(got.depth, 0);
		assert_true(got.began && got.is_there && !got.counted);
		fault_clear(&fault);
		assert_int_equal(
		    store_grant_newest(s, a.id, &arena, &none, &fault), -1);
		assert_int_equal(fault.code, FAULT_NOT_FOUND);
		fault_clear(&fault);
		store_close(s);
	}
}

static int
note_grant(void *owner, uint64_t place, const struct store_grant *row,
    struct fault *f)
{
	(void)place;
	(void)f;
	return buf_fmt(owner, "%s ", row->id);
}

static void
the_newest_grant_counts(void **state)
{
	struct store *s = open_store();
	struct store_grant g = { .id = "g1", .root = "r", .max = { 1, 2, 3 } };
	struct store_lineage l = lineage_of("r", "", "r");
	const struct store_grant_page all = { .user = "" };
	const struct store_grant_page own = { .user = "uid:7" };
	const struct store_grant_page others = { .user = "uid:8" };
	struct store_grant got;
	struct buf b;

	(void)state;
	buf_init(&b, 256);
	(void)text_copy(l.user, sizeof(l.user), SPAN_LIT("uid:7"));
	assert_int_equal(store_lineage_insert(s, &l, &fault), 0);
	g.programs = SPAN_LIT("p");
	assert_int_equal(store_grant_newest(s, "r", &arena, &got, &fault), -1);
	assert_int_equal(fault.code, FAULT_NOT_FOUND);
	fault_clear(&fault);
	assert_int_equal(store_grant_insert(s, &g, &fault), 0);
	(void)text_copy(g.id, sizeof(g.id), SPAN_LIT("g2"));
	assert_int_equal(store_grant_insert(s, &g, &fault), 0);
	g.used_total = 9;
	assert_int_equal(store_grant_update(s, &g, &fault), 0);
	assert_int_equal(store_grant_newest(s, "r", &arena, &got, &fault), 0);
	assert_string_equal(got.id, "g2");
	assert_int_equal(got.used_total, 9);
	assert_int_equal(got.max[2], 3);
	assert_true(span_is(got.programs, "p"));
	assert_int_equal(store_grant_list(s, &all, note_grant, &b, &fault), 0);
	assert_true(span_is(buf_span(&b), "g2 "));
	/* No page is spent on those of others, nor on roots that are gone. */
	(void)text_copy(g.id, sizeof(g.id), SPAN_LIT("g3"));
	(void)text_copy(g.root, sizeof(g.root), SPAN_LIT("gone"));
	assert_int_equal(store_grant_insert(s, &g, &fault), 0);
	assert_int_equal(store_grant_list(s, &own, note_grant, &b, &fault), 0);
	assert_int_equal(store_grant_list(s, &others, note_grant, &b, &fault),
	    0);
	assert_true(span_is(buf_span(&b), "g2 g2 "));
	buf_release(&b);
	store_close(s);
}

static void
record_at(struct store *s, uint64_t number, int64_t time_ms)
{
	const struct store_audit row = { .row = number,
		.time_ms = time_ms,
		.caller = "",
		.program = "",
		.parent = "",
		.root = "",
		.verb = "",
		.sandbox_id = "",
		.sandbox = "",
		.request_id = "",
		.verdict = "",
		.reason = "",
		.detail = "" };

	assert_int_equal(store_audit_append(s, &row, &fault), 0);
}

static void
expect_lineage(struct store *s, const char *id, bool is_kept)
{
	struct store_lineage got;

	assert_int_equal(store_lineage_by_id(s, id, &arena, &got, &fault),
	    is_kept ? 0 : -1);
	fault_clear(&fault);
}

static void
lineage_goes_with_the_record_that_tells_of_it(void **state)
{
	static const char *const names[] = { "old", "asked", "new", "here" };
	const struct store_request asked = { .parent = "id-here",
		.caller = "uid:7",
		.request_id = "r",
		.child = "id-asked" };
	struct store_grant g = { .id = "g", .root = "id-old" };
	struct store *s = open_store();

	(void)state;
	for (size_t i = 0; i < NELEM(names); i++) {
		struct store_sandbox row = row_of(names[i], (int64_t)i);
		struct store_lineage l = lineage_of(row.id, "", row.id);

		row.deleted_ms = 100 * (int64_t)i + 100;
		assert_int_equal(store_sandbox_insert(s, &row, &fault), 0);
		assert_int_equal(store_lineage_insert(s, &l, &fault), 0);
		if (i < 3)
			assert_int_equal(
			    store_sandbox_remove(s, row.id, &fault), 0);
	}
	assert_int_equal(store_grant_insert(s, &g, &fault), 0);
	assert_int_equal(store_request_put(s, &asked, &fault), 0);
	record_at(s, 1, 50);
	record_at(s, 2, 250);
	assert_int_equal(store_lineage_forget(s, 10, &fault), 0);
	expect_lineage(s, "id-old", true);
	assert_int_equal(store_audit_prune(s, 0, 1, &fault), 0);
	assert_int_equal(store_lineage_forget(s, 10, &fault), 0);
	expect_lineage(s, "id-old", false);
	assert_int_equal(store_grant_newest(s, "id-old", &arena, &g, &fault),
	    -1);
	fault_clear(&fault);
	expect_lineage(s, "id-new", true);
	expect_lineage(s, "id-here", true);
	/* It is the answer to a create that may be sent again. */
	expect_lineage(s, "id-asked", true);
	assert_int_equal(store_request_forget(s, "id-here", &fault), 0);
	assert_int_equal(store_lineage_forget(s, 10, &fault), 0);
	expect_lineage(s, "id-asked", false);
	store_close(s);
}

static void
a_token_is_found_by_what_its_secret_hashes_to(void **state)
{
	struct store *s = open_store();
	struct store_token a = { .id = "a",
		.name = "a",
		.user = "uid:1",
		.scopes = "x",
		.digest = { 1 },
		.expires_ms = 7 };
	struct store_token b = { .id = "b",
		.name = "b",
		.user = "uid:2",
		.digest = { 2 } };
	struct store_token got = { .digest = { 2 } };
	bool found;

	(void)state;
	assert_int_equal(store_token_get(s, &got, &found, &fault), 0);
	assert_false(found);
	assert_int_equal(store_token_insert(s, &a, &fault), 0);
	assert_int_equal(store_token_insert(s, &b, &fault), 0);
	assert_int_equal(store_token_get(s, &got, &found, &fault), 0);
	assert_true(found);
	assert_string_equal(got.id, "b");
	got.digest[0] = 1;
	assert_int_equal(store_token_get(s, &got, &found, &fault), 0);
	assert_true(found);
	assert_string_equal(got.user, "uid:1");
	assert_int_equal(got.expires_ms, 7);
	assert_int_equal(store_token_remove(s, "a", &fault), 0);
	assert_int_equal(store_token_get(s, &got, &found, &fault), 0);
	assert_false(found);
	store_close(s);
}

static void
a_request_id_is_one_of_its_parent_and_caller(void **state)
{
	struct store *s = open_store();
	struct store_request r = { .parent = "p",
		.caller = "uid:1",
		.request_id = "x",
		.child = "c" };
	struct store_request other = { .parent = "p",
		.caller = "uid:2",
		.request_id = "x" };
	bool found;

	(void)state;
	assert_int_equal(store_request_put(s, &r, &fault), 0);
	assert_int_equal(store_request_put(s, &r, &fault), -1);
	assert_int_equal(fault.code, FAULT_EXISTS);
	fault_clear(&fault);
	assert_int_equal(store_request_get(s, &other, &found, &fault), 0);
	assert_false(found);
	r.child[0] = '\0';
	assert_int_equal(store_request_get(s, &r, &found, &fault), 0);
	assert_true(found);
	assert_string_equal(r.child, "c");
	assert_int_equal(store_request_free(s, "c", &fault), 0);
	assert_int_equal(store_request_get(s, &r, &found, &fault), 0);
	assert_false(found);
	store_close(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rows_come_back, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(a_name_is_taken_once, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(an_uncommitted_tick_is_nothing,
		    set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_mark_takes_back_its_own_writes_only, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pages_keep_one_order, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(an_image_in_use_is_known,
		    set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_row_that_finds_no_room_is_a_fault, set_up, tear_down),
		cmocka_unit_test_setup_teardown(settings_are_replaced, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(a_second_process_is_kept_out,
		    set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_file_that_is_no_store_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lineage_outlives_its_sandbox,
		    set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_tree_knows_who_of_it_is_there,
		    set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_deleted_root_is_found_by_its_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    an_older_store_is_brought_to_this_form, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    lineage_goes_with_the_record_that_tells_of_it, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(the_newest_grant_counts, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(
		    a_token_is_found_by_what_its_secret_hashes_to, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(
		    a_request_id_is_one_of_its_parent_and_caller, set_up,
		    tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
