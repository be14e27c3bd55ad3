/* SPDX-License-Identifier: Apache-2.0 */
/* Blank disks and copies of them, with what a host left that lost its power. */
#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "machine/inner.h"

enum {
	BYTES = 16 << 20,
};

static char cache[] = "/tmp/nacre-unit.XXXXXX";
static char blank[128];
static char disk[128];
static char part[128];
static struct fault f;

static int
start(void **state)
{
	(void)state;
	f = (struct fault){ 0 };
	(void)memcpy(cache + sizeof(cache) - 7, "XXXXXX", 6);
	if (!mkdtemp(cache))
		return -1;
	(void)text_fmt(blank, sizeof(blank), "%s/blank-2-%d.ext4", cache,
	    BYTES);
	(void)text_fmt(disk, sizeof(disk), "%s/disk.ext4", cache);
	(void)text_fmt(part, sizeof(part), "%s/disk.ext4.part", cache);
	return 0;
}

static int
end(void **state)
{
	char command[64];

	(void)state;
	(void)text_fmt(command, sizeof(command), "rm -rf %s", cache);
	return system(command); /* NOLINT(cert-env33-c) */
}

static void
put(const char *path, off_t size)
{
	with_fd fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(ftruncate(fd, size), 0);
}

static void
is_a_file_system(const char *path, mode_t mode)
{
	static const uint8_t magic[] = { 0x53, 0xef };
	with_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, BYTES);
	assert_int_equal(st.st_mode & 0777, mode);
	assert_true(disk_has(fd, 1024 + 56, magic, sizeof(magic)));
}

static void
a_blank_with_holes_is_made_anew(void **state)
{
	(void)state;
	put(blank, BYTES);
	assert_int_equal(machine_disk_blank(cache, BYTES, &f), 0);
	is_a_file_system(blank, 0400);
	put(blank, 0);
	assert_int_equal(machine_disk_make(cache, disk, BYTES, &f), 0);
	is_a_file_system(blank, 0400);
	is_a_file_system(disk, 0600);
}

static void
one_that_is_whole_stays(void **state)
{
	struct stat before;
	struct stat after;

	(void)state;
	assert_int_equal(machine_disk_blank(cache, BYTES, &f), 0);
	assert_int_equal(stat(blank, &before), 0);
	assert_int_equal(machine_disk_blank(cache, BYTES, &f), 0);
	assert_int_equal(stat(blank, &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
}

static void
a_copy_that_was_interrupted_is_no_disk(void **state)
{
	(void)state;
	put(part, BYTES);
	assert_int_equal(machine_disk_make(cache, disk, BYTES, &f), 0);
	is_a_file_system(disk, 0600);
	assert_int_equal(access(part, F_OK), -1);
}

/* The last name comes last: nothing is at it while there is no blank. */
static void
nothing_is_left_of_a_copy_that_fails(void **state)
{
	(void)state;
	assert_int_equal(machine_disk_blank(cache, BYTES, &f), 0);
	assert_int_equal(mkdir(part, 0700), 0);
	assert_int_equal(machine_disk_make(cache, disk, BYTES, &f), -1);
	assert_int_equal(access(disk, F_OK), -1);
}

static void
a_disk_is_not_made_over(void **state)
{
	(void)state;
	put(disk, 1);
	assert_int_equal(machine_disk_make(cache, disk, BYTES, &f), -1);
	assert_int_equal(f.code, FAULT_EXISTS);
}

static void
a_scrap_image_that_is_cut_is_made_anew(void **state)
{
	const char *guest = "/etc/passwd";
	char digest[MACHINE_KEY];
	char path[128];
	struct stat st;
	int image;
	int scrap;
	int copy;

	(void)state;
	copy = memfd_of_file(guest, "guest", digest, &f);
	(void)close(copy);
	(void)text_fmt(path, sizeof(path), "%s/scrap-%.16s.sqfs", cache,
	    digest);
	put(path, 4096);
	assert_int_equal(scrap_open(cache, guest, &image, &scrap, &f), 0);
	(void)close(image);
	(void)close(scrap);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(truncate(path, 200), 0);
	assert_int_equal(scrap_open(cache, guest, &image, &scrap, &f), 0);
	assert_int_equal(fstat(image, &st), 0);
	assert_true(st.st_size > 200);
	(void)close(image);
	(void)close(scrap);
}

int
main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, start, end)
	const struct CMUnitTest tests[] = {
		TEST(a_blank_with_holes_is_made_anew),
		TEST(one_that_is_whole_stays),
		TEST(a_copy_that_was_interrupted_is_no_disk),
		TEST(nothing_is_left_of_a_copy_that_fails),
		TEST(a_disk_is_not_made_over),
		TEST(a_scrap_image_that_is_cut_is_made_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
