/* SPDX-License-Identifier: Apache-2.0 */
/* Files that come out: their names, and where they may land. */
#include <sys/stat.h>

#include <stdlib.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "cli/unpack.h"

static void
a_copy_is_named_as_cp_names_it(void **state)
{
	static const struct {
		const char *path;
		const char *name;
	} rows[] = {
		{ "proj", "proj" },
		{ "./proj/", "proj" },
		{ "/a/b//", "b" },
		{ "a/b", "b" },
		{ ".hidden/", ".hidden" },
		{ "...", "..." },
		{ ".", "" },
		{ "./", "" },
		{ "..", "" },
		{ "a/../", "" },
		{ "a/.", "" },
		{ "/", "" },
		{ "//", "" },
	};
	struct fault f = { 0 };
	char name[8];

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		assert_int_equal(
		    unpack_name(rows[i].path, name, sizeof(name), &f), 0);
		assert_string_equal(name, rows[i].name);
	}
	assert_int_equal(unpack_name("a/12345678", name, sizeof(name), &f), -1);
}

/* One entry into a copy of "/x" to `to`, below a new folder. */
static int
land(const char *to, nacre_v1_EntryKind kind, const char *path, struct fault *f)
{
	struct unpack u = UNPACK_NONE;
	struct {
		pb_size_t n;
		uint8_t bytes[64];
	} room[2];
	nacre_v1_FileChunk m = nacre_v1_FileChunk_init_zero;
	const char *texts[] = { path, "/elsewhere" };
	int rc;

	for (size_t i = 0; i < NELEM(room); i++) {
		room[i].n = (pb_size_t)strlen(texts[i]);
		memcpy(room[i].bytes, texts[i], room[i].n);
	}
	m.which_kind = nacre_v1_FileChunk_entry_tag;
	m.kind.entry.kind = kind;
	m.kind.entry.mode = 0644;
	m.kind.entry.path = (pb_bytes_array_t *)&room[0];
	m.kind.entry.link = (pb_bytes_array_t *)&room[1];
	rc = unpack_open(&u, to, "/x", f);
	if (rc == 0)
		rc = unpack_take(&u, &m, f);
	unpack_finish(&u);
	unpack_close(&u);
	return rc;
}

static void
what_comes_stays_below_the_target(void **state)
{
	static const char *const bad[] = { "..", "../a", "a/../../b", "/etc",
		"a//b", "a/", "." };
	struct fault f = { 0 };

	(void)state;
	for (size_t i = 0; i < NELEM(bad); i++)
		for (int kind = nacre_v1_EntryKind_ENTRY_FILE;
		     kind <= nacre_v1_EntryKind_ENTRY_LINK; kind++) {
			fault_clear(&f);
			assert_int_equal(
			    land("in", (nacre_v1_EntryKind)kind, bad[i], &f),
			    -1);
			assert_int_equal(f.code, FAULT_PROTOCOL);
		}
	assert_int_equal(symlink("/tmp", "in/way"), 0);
	assert_int_equal(
	    land("in/.", nacre_v1_EntryKind_ENTRY_FILE, "../y", &f), -1);
	assert_int_equal(rename("in/way", "in/x"), 0);
	assert_int_equal(land("in", nacre_v1_EntryKind_ENTRY_FILE, "y", &f),
	    -1);
	assert_int_equal(land("in", nacre_v1_EntryKind_ENTRY_FOLDER, "", &f),
	    -1);
	assert_int_equal(unlink("in/x"), 0);
}

static void
a_link_takes_the_place_of_all_but_a_folder(void **state)
{
	struct fault f = { 0 };
	struct stat st;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(
		    land("in", nacre_v1_EntryKind_ENTRY_LINK, "", &f), 0);
	assert_int_equal(unlink("in/x"), 0);
	assert_int_equal(land("in", nacre_v1_EntryKind_ENTRY_FILE, "", &f), 0);
	assert_int_equal(land("in", nacre_v1_EntryKind_ENTRY_LINK, "", &f), 0);
	assert_int_equal(lstat("in/x", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(unlink("in/x"), 0);
	assert_int_equal(land("in", nacre_v1_EntryKind_ENTRY_FOLDER, "", &f),
	    0);
	assert_int_equal(land("in", nacre_v1_EntryKind_ENTRY_LINK, "", &f), -1);
	assert_int_equal(rmdir("in/x"), 0);
}

static void
a_slash_behind_a_new_name_wants_a_folder(void **state)
{
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(land("in/new/", nacre_v1_EntryKind_ENTRY_FILE, "", &f),
	    -1);
	assert_int_equal(f.code, FAULT_INVALID);
	assert_int_equal(
	    land("in/new/", nacre_v1_EntryKind_ENTRY_FOLDER, "", &f), 0);
	assert_int_equal(rmdir("in/new"), 0);
}

static int
enter(void **state)
{
	static char folder[] = "/tmp/nacre-unpack.XXXXXX";

	*state = folder;
	return mkdtemp(folder) && chdir(folder) == 0 ? mkdir("in", 0700) : -1;
}

static int
leave(void **state)
{
	return rmdir("in") == 0 && rmdir(*state) == 0 ? 0 : -1;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_is_named_as_cp_names_it),
		cmocka_unit_test(what_comes_stays_below_the_target),
		cmocka_unit_test(a_link_takes_the_place_of_all_but_a_folder),
		cmocka_unit_test(a_slash_behind_a_new_name_wants_a_folder),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
