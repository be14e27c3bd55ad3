/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store through its door: import a folder, find, list, share, delete. It
 * runs tar2sqfs; what is in the result is looked at in tests/e2e/70-images.sh.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "image/inner.h"

static char top[64];
static char root_path[96];
#define NOWHERE                     \
 "00000000000000000000000000000000" \
 "00000000000000000000000000000000"

static struct image_store store;

static void
put(const char *path, const char *text, mode_t mode)
{
	char full[160];
	struct fault f;
	int fd;

	(void)snprintf(full, sizeof(full), "%s/%s", root_path, path);
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text), &f), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	(void)close(fd);
}

static int
start(void **state)
{
	char path[160];
	struct fault f = { 0 };

	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)snprintf(top, sizeof(top), "/tmp/nacre-store.XXXXXX");
	assert_non_null(mkdtemp(top));
	(void)snprintf(root_path, sizeof(root_path), "%s/root", top);
	assert_int_equal(mkdir(root_path, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/etc", root_path);
	assert_int_equal(mkdir(path, 0755), 0);
	put("etc/passwd", "root:x:0:0::/root:/bin/sh\nme:x:5:6::/me:/bin/sh\n",
	    0644);
	put("etc/group", "us:x:7:\n", 0644);
	put("run", "#!/bin/sh\n", 0755);
	put("data", "ELF\n", 0755);
	(void)snprintf(path, sizeof(path), "%s/link", root_path);
	assert_int_equal(symlink("run", path), 0);
	(void)snprintf(path, sizeof(path), "%s/store", top);
	if (image_store_open(&store, path, &f) < 0)
		fail_msg("%s", f.text);
	return 0;
}

/* Everything below a folder, which is then gone too. */
static void
remove_all(const char *path)
{
	DIR *d = opendir(path);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		char full[512];

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		(void)snprintf(full, sizeof(full), "%s/%s", path, e->d_name);
		if (unlink(full) < 0)
			remove_all(full);
	}
	if (d)
		(void)closedir(d);
	(void)rmdir(path);
}

static int
stop(void **state)
{
	(void)state;
	image_store_close(&store);
	remove_all(top);
	return 0;
}

static size_t
files_in(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fdopendir(fd);
	const struct dirent *e;
	size_t n = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	(void)closedir(d);
	return n;
}

static int
import(const char *name, const char *path, struct image_result *r,
    struct fault *f)
{
	struct image_import ask = { .name = name,
		.path = path,
		.bytes_max = IMAGE_BYTES_MAX };

	memset(f, 0, sizeof(*f));
	return image_import(&store, &ask, r, f);
}

static void
must_import(const char *name, struct image_result *r)
{
	struct fault f;

	if (import(name, root_path, r, &f) < 0)
		fail_msg("%s", f.text);
}

static void
an_import_can_be_found(void **state)
{
	struct image_result r;
	struct image_info i;
	struct image_info blob;
	struct image_account who;
	struct image_index index;
	struct arena a;
	struct stat st;
	struct fault f;
	with_fd fd = -1;

	(void)state;
	must_import("one", &r);
	assert_false(r.known);
	assert_string_equal(r.source, "folder");
	assert_int_equal(r.entries, 7);
	arena_init(&a, 1 << 20);
	assert_int_equal(image_find(&store, "one", &a, &i, &f), 0);
	assert_string_equal(i.name, "one");
	assert_string_equal(i.digest, r.digest);
	assert_int_equal(i.size_bytes, r.size_bytes);
	assert_int_equal(i.user_count, 2);
	assert_int_equal(image_user_resolve(&i, "me:us", &who, &f), 0);
	assert_int_equal(who.uid, 5);
	assert_int_equal(who.gid, 7);
	assert_null(i.config.env[0]);
	assert_int_equal(image_find_blob(&store, r.digest, &a, &blob, &f), 0);
	assert_string_equal(blob.name, "");
	assert_int_equal(blob.user_count, 2);
	assert_int_equal(blob.size_bytes, r.size_bytes);
	memset(&f, 0, sizeof(f));
	assert_int_equal(image_find_blob(&store, "", &a, &blob, &f), -1);
	memset(&f, 0, sizeof(f));
	assert_int_equal(image_find_blob(&store, NOWHERE, &a, &blob, &f), -1);
	assert_int_equal(f.code, FAULT_NOT_FOUND);
	assert_int_equal(image_open_blob(&store, i.digest, &fd, &f), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0400);
	assert_int_equal(st.st_size, i.size_bytes);
	assert_int_equal(image_index_read(&store, i.digest, &a, &index, &f), 0);
	assert_int_equal(index.symlink_count, 1);
	assert_int_equal(index.program_count, 1);
	assert_non_null(image_index_program(&index, span_str("/run")));
	assert_null(image_index_program(&index, span_str("/data")));
	arena_release(&a);
}

static void
equal_content_is_one_blob(void **state)
{
	struct image_page p = { .after = "", .most = 501 };
	struct image_result r;
	struct arena a;
	struct fault f;
	uint64_t freed;

	(void)state;
	must_import("b", &r);
	must_import("a", &r);
	assert_true(r.known);
	assert_int_equal(files_in(store.blobs), 3);
	arena_init(&a, 1 << 20);
	assert_int_equal(image_list(&store, &p, &a, &f), 0);
	assert_int_equal(p.count, 2);
	assert_string_equal(p.list[0].name, "a");
	assert_string_equal(p.list[1].name, "b");
	arena_release(&a);
	assert_int_equal(image_delete(&store, "a", NULL, NULL, &freed, &f), 0);
	assert_int_equal(freed, 0);
	assert_int_equal(files_in(store.blobs), 3);
	assert_int_equal(image_delete(&store, "b", NULL, NULL, &freed, &f), 0);
	assert_true(freed >= r.size_bytes);
	assert_int_equal(files_in(store.blobs), 0);
	assert_int_equal(files_in(store.names), 0);
	assert_int_equal(image_delete(&store, "b", NULL, NULL, &freed, &f), -1);
	assert_int_equal(f.code, FAULT_NOT_FOUND);
}

static void
a_long_list_needs_little_room(void **state)
{
	struct image_page p = { .after = "", .most = 501 };
	struct image_result r;
	struct arena a;
	struct fault f;

	(void)state;
	must_import("first", &r);
	for (int i = 0; i < 500; i++) {
		char name[LIMIT_NAME + 8];

		(void)snprintf(name, sizeof(name), "copy%d.json", i);
		assert_int_equal(
		    linkat(store.names, "first.json", store.names, name, 0), 0);
	}
	arena_init(&a, 1004 * 640);
	assert_int_equal(image_list(&store, &p, &a, &f), 0);
	assert_int_equal(p.count, 501);
	assert_string_equal(p.list[500].name, "first");
	assert_false(p.has_more);
	p.after = "copy497";
	p.most = 2;
	assert_int_equal(image_list(&store, &p, &a, &f), 0);
	assert_int_equal(p.count, 2);
	assert_string_equal(p.list[0].name, "copy498");
	assert_true(p.has_more);
	arena_release(&a);
}

static bool
always(void *arg, const char *digest)
{
	assert_string_equal(arg, digest);
	return true;
}

static void
a_blob_in_use_stays(void **state)
{
	struct image_result r;
	struct fault f;
	uint64_t freed;

	(void)state;
	must_import("a", &r);
	assert_int_equal(
	    image_delete(&store, "a", always, r.digest, &freed, &f), 0);
	assert_int_equal(freed, 0);
	assert_int_equal(files_in(store.blobs), 3);
}

static void
a_delete_does_not_wait_for_a_publisher(void **state)
{
	struct image_store other;
	struct image_result r;
	struct fault f = { 0 };
	uint64_t freed;
	char path[160];

	(void)state;
	must_import("a", &r);
	(void)snprintf(path, sizeof(path), "%s/store", top);
	assert_int_equal(image_store_open(&other, path, &f), 0);
	assert_int_equal(image_store_lock(&other, &f), 0);
	assert_int_equal(image_delete(&store, "a", NULL, NULL, &freed, &f), -1);
	assert_int_equal(f.code, FAULT_BUSY);
	assert_int_equal(files_in(store.names), 1);
	image_store_unlock(&other);
	assert_int_equal(image_delete(&store, "a", NULL, NULL, &freed, &f), 0);
	image_store_close(&other);
}

static void
the_same_folder_gives_the_same_digest(void **state)
{
	struct image_result r;
	char first[DIGEST_HEX];

	(void)state;
	must_import("a", &r);
	memcpy(first, r.digest, sizeof(first));
	put("run", "#!/bin/ash\n", 0755);
	must_import("a", &r);
	assert_string_not_equal(first, r.digest);
	assert_int_equal(files_in(store.names), 1);
}

static void
bad_asks_leave_nothing(void **state)
{
	struct image_result r;
	struct fault f;
	char path[160];

	(void)state;
	assert_int_equal(import("Bad_Name", root_path, &r, &f), -1);
	assert_string_equal(f.field, "name");
	assert_int_equal(import("twenty-letters-abcde", root_path, &r, &f), -1);
	assert_string_equal(f.field, "name");
	assert_int_equal(import("a", "/no/such/path", &r, &f), -1);
	assert_int_equal(f.code, FAULT_NOT_FOUND);
	assert_string_equal(f.field, "path");
	(void)snprintf(path, sizeof(path), "%s/etc/passwd", root_path);
	assert_int_equal(import("a", path, &r, &f), -1);
	assert_int_equal(f.code, FAULT_INVALID);
	assert_int_equal(import("a", "/dev/null", &r, &f), -1);
	assert_int_equal(f.code, FAULT_INVALID);
	assert_int_equal(files_in(store.blobs), 0);
	assert_int_equal(files_in(store.names), 0);
}

static void
a_damaged_store_is_told(void **state)
{
	struct image_result r;
	struct image_info i;
	struct arena a;
	struct fault f;
	int fd;

	(void)state;
	must_import("a", &r);
	fd = openat(store.names, "a.json", O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, "{}", 2, &f), 0);
	(void)close(fd);
	arena_init(&a, 1 << 20);
	assert_int_equal(image_find(&store, "a", &a, &i, &f), -1);
	assert_int_equal(f.code, FAULT_INVALID);
	assert_int_equal(image_find(&store, "../a", &a, &i, &f), -1);
	assert_int_equal(f.code, FAULT_NOT_FOUND);
	arena_release(&a);
}

static void
a_sweep_takes_what_nothing_needs(void **state)
{
	struct image_result kept;
	struct image_result lost;
	char temp[DIGEST_HEX + 32];
	struct fault f;
	uint64_t freed;

	(void)state;
	must_import("kept", &kept);
	put("run", "#!/bin/ash\n", 0755);
	must_import("lost", &lost);
	assert_int_equal(unlinkat(store.names, "lost.json", 0), 0);
	(void)snprintf(temp, sizeof(temp), "%s.json.12345.tmp", kept.digest);
	assert_int_equal(mknodat(store.blobs, temp, S_IFREG, 0), 0);
	assert_int_equal(mknodat(store.names, "x.json.12345.tmp", S_IFREG, 0),
	    0);
	assert_int_equal(files_in(store.blobs), 7);
	assert_int_equal(image_sweep(&store, NULL, NULL, &freed, &f), 0);
	assert_true(freed >= lost.size_bytes);
	assert_int_equal(files_in(store.blobs), 3);
	assert_int_equal(files_in(store.names), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_import_can_be_found),
		TEST(equal_content_is_one_blob),
		TEST(a_long_list_needs_little_room),
		TEST(a_blob_in_use_stays),
		TEST(a_delete_does_not_wait_for_a_publisher),
		TEST(the_same_folder_gives_the_same_digest),
		TEST(bad_asks_leave_nothing),
		TEST(a_damaged_store_is_told),
		TEST(a_sweep_takes_what_nothing_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
