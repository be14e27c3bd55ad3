/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tar reader: what each dialect says is read as the same entries, in
 * pieces of any length; what is no tar is refused where it goes wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/unit.h"
#include "image/inner.h"

static struct buf archive;
static struct buf told;

static int
start(void **state)
{
	(void)state;
	buf_init(&archive, 1 << 20);
	assert_non_null(buf_room(&archive, 1 << 20)); /* it never moves */
	buf_init(&told, 1 << 20);
	return 0;
}

static int
stop(void **state)
{
	(void)state;
	buf_release(&archive);
	buf_release(&told);
	return 0;
}

static void
sum(uint8_t *h)
{
	unsigned total = 0;

	memset(h + 148, ' ', 8);
	for (size_t i = 0; i < IMAGE_TAR_BLOCK; i++)
		total += h[i];
	(void)snprintf((char *)h + 148, 8, "%06o", total);
}

/* One v7 header, to be changed and summed by the test. */
static uint8_t *
header(const char *name, char type, unsigned size)
{
	uint8_t *h = buf_room(&archive, IMAGE_TAR_BLOCK);

	assert_non_null(h);
	memset(h, 0, IMAGE_TAR_BLOCK);
	memcpy(h, name, strlen(name));
	(void)snprintf((char *)h + 100, 8, "%07o", 0644);
	(void)snprintf((char *)h + 108, 8, "%07o", 1);
	(void)snprintf((char *)h + 116, 8, "%07o", 2);
	(void)snprintf((char *)h + 124, 12, "%011o", size);
	(void)snprintf((char *)h + 136, 12, "%011o", 3);
	h[156] = (uint8_t)type;
	sum(h);
	buf_grew(&archive, IMAGE_TAR_BLOCK);
	return h;
}

static void
body(const void *p, size_t n)
{
	struct fault f;

	assert_int_equal(buf_add(&archive, p, n, &f), 0);
	assert_int_equal(image_emit_zeros(&archive, image_emit_pad(n), &f), 0);
}

static void
end_mark(void)
{
	struct fault f;

	assert_int_equal(image_emit_zeros(&archive, 1024, &f), 0);
}

static void
tell(const struct image_tar *t, enum image_tar_event event)
{
	const struct image_tar_entry *e = &t->entry;
	int r = 0;

	if (event == IMAGE_TAR_ENTRY)
		r = buf_fmt(&told,
		    "%d %.*s>%.*s m%o u%u g%u s%llu t%u x%zu/%u\n",
		    (int)e->kind, (int)e->path.len, (const char *)e->path.ptr,
		    (int)e->link.len, (const char *)e->link.ptr,
		    (unsigned)e->mode, e->uid, e->gid,
		    (unsigned long long)e->size, e->mtime, e->xattrs.len,
		    e->xattrs_dropped);
	else if (event == IMAGE_TAR_DATA)
		r = buf_add(&told, t->data.ptr, t->data.len,
		    &(struct fault){ 0 });
	else if (event == IMAGE_TAR_HOLE)
		r = buf_fmt(&told, "[%llu]", (unsigned long long)t->hole);
	else if (event == IMAGE_TAR_END)
		r = buf_fmt(&told, "end");
	assert_int_equal(r, 0);
}

/* Read the archive in pieces of that length; what was told is in `told`. */
static int
read_in(size_t piece, struct fault *f)
{
	struct span rest = buf_span(&archive);
	enum image_tar_event event = IMAGE_TAR_MORE;
	struct image_tar t;
	int r = 0;

	buf_clear(&told);
	image_tar_init(&t);
	while (r == 0 && event != IMAGE_TAR_END) {
		struct span some = rest;
		size_t used;

		some.len = some.len < piece ? some.len : piece;
		r = image_tar_next(&t, some, &used, &event, f);
		if (r < 0)
			break;
		tell(&t, event);
		rest = span_from(rest, used);
		if (event == IMAGE_TAR_MORE && rest.len == 0)
			r = image_tar_finish(&t, f);
	}
	image_tar_release(&t);
	return r;
}

static void
check_told(const char *want)
{
	static const size_t pieces[] = { 1 << 20, 1, 7, 511, 512, 513 };
	struct fault f = { 0 };

	for (size_t i = 0; i < NELEM(pieces); i++) {
		if (read_in(pieces[i], &f) < 0)
			fail_msg("%s", f.text);
		if (!span_is(buf_span(&told), want))
			fail_msg("pieces of %zu: %.*s", pieces[i],
			    (int)told.len, (const char *)buf_ptr(&told));
	}
}

static void
check_fault(enum fault_code code, const char *says)
{
	static const size_t pieces[] = { 1 << 20, 1, 511 };

	for (size_t i = 0; i < NELEM(pieces); i++) {
		struct fault f = { 0 };

		assert_int_equal(read_in(pieces[i], &f), -1);
		assert_int_equal(f.code, code);
		if (!strstr(f.text, says))
			fail_msg("%s", f.text);
	}
}

static void
plain_entries_are_read(void **state)
{
	(void)state;
	header("dir/", '\0', 0);
	header("dir/file", '0', 5);
	body("hello", 5);
	memcpy(header("link", '2', 0) + 157, "dir/file", 8);
	sum(archive.base + archive.len - 512);
	header("fifo", '6', 0);
	header("null", '3', 0);
	header("empty", '7', 0);
	end_mark();
	check_told("2 dir/> m644 u1 g2 s0 t3 x0/0\n"
		   "1 dir/file> m644 u1 g2 s5 t3 x0/0\nhello"
		   "3 link>dir/file m644 u1 g2 s0 t3 x0/0\n"
		   "4 fifo> m644 u1 g2 s0 t3 x0/0\n"
		   "5 null> m644 u1 g2 s0 t3 x0/0\n"
		   "1 empty> m644 u1 g2 s0 t3 x0/0\nend");
}

static void
sizes_of_links_are_not_bodies(void **state)
{
	(void)state;
	memcpy(header("b", '1', 4096) + 157, "a", 1);
	sum(archive.base + archive.len - 512);
	header("c", '0', 0);
	end_mark();
	check_told("7 b>a m644 u1 g2 s0 t3 x0/0\n"
		   "1 c> m644 u1 g2 s0 t3 x0/0\nend");
}

static void
gnu_long_names_and_numbers_are_read(void **state)
{
	static const uint8_t big[8] = { 0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xfe };
	uint8_t *h;

	(void)state;
	header("././@LongLink", 'L', 9);
	body("the-name\0", 9);
	header("././@LongLink", 'K', 11);
	body("the-target\0", 11);
	h = header("cut", '2', 0);
	memcpy(h + 108, big, 8);
	memcpy(h + 257, "ustar  \0", 8);
	memcpy(h + 345, "not a prefix", 12);
	sum(h);
	end_mark();
	check_told("3 the-name>the-target m644 u4294967294 g2 s0 t3 x0/0\nend");
}

static void
ustar_prefixes_are_read(void **state)
{
	uint8_t *h = header("name", '0', 0);

	(void)state;
	memcpy(h + 257, "ustar\00000", 8);
	memcpy(h + 345, "some/prefix", 11);
	sum(h);
	end_mark();
	check_told("1 some/prefix/name> m644 u1 g2 s0 t3 x0/0\nend");
}

static void
pax_overrides_one_entry(void **state)
{
	const char *text = "18 path=long/name\n10 uid=77\n14 mtime=9.75\n"
			   "30 SCHILY.xattr.user.note=yes\n"
			   "33 SCHILY.xattr.security.x=noyes\n10 size=4\n"
			   "17 comment=a b c\n";

	(void)state;
	header("PaxHeader", 'x', (unsigned)strlen(text));
	body(text, strlen(text));
	header("short", '0', 0);
	body("data", 4);
	header("next", '0', 0);
	end_mark();
	check_told("1 long/name> m644 u77 g2 s4 t9 x30/1\ndata"
		   "1 next> m644 u1 g2 s0 t3 x0/0\nend");
}

static void
global_headers_and_labels_say_nothing(void **state)
{
	(void)state;
	header("pax_global_header", 'g', 19);
	body("19 path=everywhere\n", 19);
	header("volume", 'V', 0);
	header("a", '0', 0);
	end_mark();
	check_told("1 a> m644 u1 g2 s0 t3 x0/0\nend");
}

static void
old_sparse_files_get_their_holes(void **state)
{
	uint8_t *h = header("s", 'S', 6);

	(void)state;
	memcpy(h + 386, "00000000010\00000000000003\0", 24);
	memcpy(h + 410, "00000000020\00000000000003\0", 24);
	memcpy(h + 483, "00000000030\0", 12);
	sum(h);
	body("abcdef", 6);
	end_mark();
	check_told("1 s> m644 u1 g2 s24 t3 x0/0\n[8]abc[5]def[5]end");
}

static void
pax_sparse_files_get_their_holes(void **state)
{
	static const char text[] = "22 GNU.sparse.major=1\n"
				   "22 GNU.sparse.minor=0\n"
				   "25 GNU.sparse.name=holes\n"
				   "26 GNU.sparse.realsize=20\n";
	char map[IMAGE_TAR_BLOCK] = "2\n5\n3\n10\n3\n";

	(void)state;
	header("PaxHeader", 'x', sizeof(text) - 1);
	body(text, sizeof(text) - 1);
	header("GNUSparseFile/s", '0', IMAGE_TAR_BLOCK + 6);
	body(map, sizeof(map));
	body("abcdef", 6);
	end_mark();
	check_told("1 holes> m644 u1 g2 s20 t3 x0/0\n[5]abc[2]def[7]end");
}

static void
signed_checksums_are_taken(void **state)
{
	uint8_t *h = header("n\xe9", '0', 0);
	int total = 0;

	(void)state;
	memset(h + 148, ' ', 8);
	for (size_t i = 0; i < IMAGE_TAR_BLOCK; i++)
		total += (int8_t)h[i];
	(void)snprintf((char *)h + 148, 8, "%06o", (unsigned)total);
	end_mark();
	check_told("1 n\xe9> m644 u1 g2 s0 t3 x0/0\nend");
}

static void
what_is_no_tar_is_refused(void **state)
{
	(void)state;
	body("this is a letter, not an archive", 33);
	check_fault(FAULT_INVALID, "no tar archive");
}

static void
a_cut_archive_is_refused(void **state)
{
	static const uint8_t content[700];
	struct fault f;
	size_t whole;

	(void)state;
	header("a", '0', sizeof(content));
	body(content, sizeof(content));
	header("b", '0', 0);
	whole = archive.len;
	end_mark();
	for (archive.len = 0; archive.len <= whole; archive.len += 97) {
		assert_int_equal(read_in(1 << 20, &f), -1);
		assert_int_equal(f.code, FAULT_INVALID);
		assert_non_null(strstr(f.text, "truncated"));
	}
	archive.len = whole + 512; /* one zero block is an end too */
	assert_int_equal(read_in(1 << 20, &f), 0);
}

static void
bad_numbers_are_refused(void **state)
{
	uint8_t *h;

	(void)state;
	header("first", '0', 0);
	h = header("a", '0', 0);
	memcpy(h + 124, "00000000009\0", 12);
	sum(h);
	check_fault(FAULT_INVALID,
	    "bad number in the size of the tar header "
	    "at byte 512");
	memset(h + 124, 0xff, 12);
	sum(h);
	check_fault(FAULT_INVALID, "bad number in the size");
	memcpy(h + 124, "00000000000\0", 12);
	memcpy(h + 116, "\x80\0\0\0\xff\xff\xff\xff", 8);
	sum(h);
	check_fault(FAULT_INVALID, "bad number in the gid");
	memcpy(h + 116, "0000000\0", 8);
	header("x", '0', 0)[148] = '7';
	memcpy(h + 124, "00000000000\0", 12);
	sum(h);
	check_fault(FAULT_INVALID,
	    "bad checksum of the tar header at byte "
	    "1024");
}

static void
long_extras_are_refused(void **state)
{
	(void)state;
	header("x", 'x', IMAGE_TAR_EXTRA + 1);
	check_fault(FAULT_LIMIT, "too long");
}

static void
many_extras_are_refused(void **state)
{
	(void)state;
	for (int i = 0; i <= IMAGE_TAR_EXTRAS; i++)
		header("x", 'x', 0);
	check_fault(FAULT_LIMIT, "too long");
}

static void
bad_records_are_refused(void **state)
{
	static const char *const bad[] = { "x", "0 a=b\n", "5 a=b", "7 a=b\n",
		"4 =\n", "6 abc\n", "06 a=b\n", "99999999999999999999 a=b\n",
		"10 uid=-1\n", "18 uid=4294967295\n", "9 path=\0\n" };

	(void)state;
	for (size_t i = 0; i < NELEM(bad); i++) {
		size_t n = i + 1 == NELEM(bad) ? 9 : strlen(bad[i]);

		buf_clear(&archive);
		header("x", 'x', (unsigned)n);
		body(bad[i], n);
		header("a", '0', 0);
		end_mark();
		check_fault(FAULT_INVALID, "extended tar header at byte 0");
	}
}

static void
bad_sparse_maps_are_refused(void **state)
{
	static const char *const bad[] = { "2\n5\n3\n4\n3\n", "x\n",
		"1\n18\n3\n", "99999\n", "1\n0\n5\n" };

	(void)state;
	for (size_t i = 0; i < NELEM(bad); i++) {
		static const char text[] = "22 GNU.sparse.major=1\n"
					   "26 GNU.sparse.realsize=20\n";
		char map[IMAGE_TAR_BLOCK] = { 0 };
		struct fault f = { 0 };

		buf_clear(&archive);
		header("x", 'x', sizeof(text) - 1);
		body(text, sizeof(text) - 1);
		header("s", '0', IMAGE_TAR_BLOCK + 6);
		memcpy(map, bad[i], strlen(bad[i]));
		body(map, sizeof(map));
		body("abcdef", 6);
		end_mark();
		assert_int_equal(read_in(1 << 20, &f), -1);
		assert_non_null(strstr(f.text, "sparse"));
	}
}

static void
what_we_write_we_read(void **state)
{
	char name[300];
	struct image_tar_entry e = { .kind = IMAGE_SYMLINK,
		.mode = 0777,
		.uid = 4000000,
		.gid = 12,
		.mtime = 1700000000,
		.xattrs = SPAN_LIT("30 SCHILY.xattr.user.note=yes\n") };
	struct fault f;

	(void)state;
	memset(name, 'n', sizeof(name));
	e.path = span_of(name, sizeof(name));
	e.link = span_of(name, 101);
	assert_int_equal(image_emit_entry(&archive, &e, &f), 0);
	e = (struct image_tar_entry){ .kind = IMAGE_FILE,
		.path = SPAN_LIT("large"),
		.size = UINT64_C(1) << 40 };
	assert_int_equal(image_emit_entry(&archive, &e, &f), 0);
	assert_int_equal(read_in(1 << 20, &f), -1); /* content is missing */
	assert_int_equal(archive.len % IMAGE_TAR_BLOCK, 0);
	name[299] = '\0';
	assert_non_null(strstr((const char *)buf_ptr(&told), "u4000000 g12"));
	assert_non_null(strstr((const char *)buf_ptr(&told), name));
	assert_non_null(strstr((const char *)buf_ptr(&told),
	    "1 large> m0 u0 g0 "
	    "s1099511627776 "));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(plain_entries_are_read),
		TEST(sizes_of_links_are_not_bodies),
		TEST(gnu_long_names_and_numbers_are_read),
		TEST(ustar_prefixes_are_read),
		TEST(pax_overrides_one_entry),
		TEST(global_headers_and_labels_say_nothing),
		TEST(old_sparse_files_get_their_holes),
		TEST(pax_sparse_files_get_their_holes),
		TEST(signed_checksums_are_taken),
		TEST(what_is_no_tar_is_refused),
		TEST(a_cut_archive_is_refused),
		TEST(bad_numbers_are_refused),
		TEST(long_extras_are_refused),
		TEST(many_extras_are_refused),
		TEST(bad_records_are_refused),
		TEST(bad_sparse_maps_are_refused),
		TEST(what_we_write_we_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
