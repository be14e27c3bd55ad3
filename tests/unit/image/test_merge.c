/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of layers, one row a rule: layers as lines of text, and the tree
 * that they must give. The same rules are held against umoci in
 * tests/e2e/70-images.sh; here each is small enough to be read.
 *
 *	d PATH    folder          l PATH TARGET   symlink
 *	f PATH    file            h PATH TARGET   hard link
 *	p PATH    fifo            c PATH          device
 *	-                         next layer
 *
 * A file is shown with the number of the entry that its content comes from.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/unit.h"
#include "image/inner.h"

static const struct {
	const char *rule;
	const char *layers;
	const char *tree; /* or the sentence of the fault, after "!" */
} rows[] = {
	{ "entries appear", "d a\nf a/b\nl a/c b\np q", //
	    "d a\nf a/b 2\nl a/c b\np q\n" },
	{ "parents appear by themselves", "f a/b/c",
	    "d a\nd a/b\nf a/b/c 1\n" },
	{ "written forms are one name", "f ./a\nf /a\nf .//a", "f a 3\n" },
	{ "the root may be named", "d ./\nd /\nd .", "" },
	{ "a whiteout removes a file", "f a\nf b\n-\nf .wh.a", "f b 2\n" },
	{ "a whiteout removes a folder", "f a/b\nf c\n-\nf .wh.a", "f c 2\n" },
	{ "a whiteout of nothing is nothing", "f a\n-\nf .wh.b\nf x/.wh.y",
	    "f a 1\n" },
	{ "a whiteout spares its own layer", "f a/b\n-\nf a/c\nf .wh.a",
	    "d a\nf a/c 2\n" },
	{ "a whiteout spares what is named after it",
	    "f a/b\n-\nf .wh.a\nf a/c", "d a\nf a/c 3\n" },
	{ "an opaque folder is emptied", "f a/b\nf a/c/d\n-\nf a/.wh..wh..opq",
	    "d a\n" },
	{ "but not of its own layer",
	    "f a/b\nf a/c/d\n-\nf a/c/e\nf a/.wh..wh..opq\nf a/f",
	    "d a\nd a/c\nf a/c/e 3\nf a/f 5\n" },
	{ "an opaque root is emptied", "f a\nf b/c\n-\nf .wh..wh..opq\nf d",
	    "f d 4\n" },
	{ "an opaque folder twice",
	    "f a/b\n-\nf a/c\nf a/.wh..wh..opq\nf a/.wh..wh..opq\n-\n"
	    "f a/.wh..wh..opq",
	    "d a\n" },
	{ "what was removed can return", "f a/b\n-\nf .wh.a\n-\nf a/c",
	    "d a\nf a/c 3\n" },
	{ "what was removed stays away when its folder returns",
	    "f a/b/c\n-\nf .wh.a\n-\nd a/b", "d a\nd a/b\n" },
	{ "a file replaces a folder", "f a/b\n-\nf a", "f a 2\n" },
	{ "a folder replaces a file", "f a\n-\nd a\nf a/b", "d a\nf a/b 3\n" },
	{ "a folder keeps what is in it", "f a/b\n-\nd a", "d a\nf a/b 1\n" },
	{ "a folder replaces a symlink", "d b\nl a b\n-\nd a\nf a/x",
	    "d a\nf a/x 4\nd b\n" },
	{ "a symlink replaces a folder", "f a/x\nd b\n-\nl a b\nf a/y",
	    "l a b\nd b\nf b/y 4\n" },
	{ "a parent may be a symlink", "d usr/lib\nl lib usr/lib\nf lib/x",
	    "l lib usr/lib\nd usr\nd usr/lib\nf usr/lib/x 3\n" },
	{ "also an absolute one", "d usr\nl a /usr\nf a/x",
	    "l a /usr\nd usr\nf usr/x 3\n" },
	{ "`..` of a link stops at the root", "d e\nl a ../../e\nf a/x",
	    "l a ../../e\nd e\nf e/x 3\n" },
	{ "links follow links", "d e\nl a b\nl b c/../e\nf a/x",
	    "l a b\nl b c/../e\nd e\nf e/x 4\n" },
	{ "a link to nowhere is a place", "l a n/m\nf a/x",
	    "l a n/m\nd n\nd n/m\nf n/m/x 2\n" },
	{ "a whiteout works through links", "f e/x\nl a e\n-\nf a/.wh.x",
	    "l a e\nd e\n" },
	{ "a whiteout of a link spares its target", "f e/x\nl a e\n-\nf .wh.a",
	    "d e\nf e/x 1\n" },
	{ "a hard link is a second name", "f a\nh b a", "f a 1\nf b 1\n" },
	{ "a hard link reaches into lower layers", "f a\n-\nh b /a",
	    "f a 1\nf b 1\n" },
	{ "a hard link outlives its target", "f a\n-\nh b a\n-\nf .wh.a",
	    "f b 1\n" },
	{ "a hard link keeps the old content", "f a\n-\nh b a\n-\nf a",
	    "f a 3\nf b 1\n" },
	{ "a hard link to a symlink is one", "l a x\nh b a", "l a x\nl b x\n" },
	{ "a hard link works through links", "f e/x\nl a e\nh y a/x",
	    "l a e\nd e\nf e/x 1\nf y 1\n" },
	{ "a later entry wins", "f a\nf a\np a", "p a\n" },
	{ "a device takes a name and is gone", "f a\n-\nc a", "" },
	{ "`..` is refused", "f a/../b", "!path has a '..' component" },
	{ "also in a hard link", "f a\nh b ../a", "!'..' component" },
	{ "a hard link needs its target", "h b a", "!does not exist" },
	{ "and may not be its own", "f a\nh a a", "!does not exist" },
	{ "nor a folder", "d a\nh b a", "!hard link to a folder" },
	{ "a file has nothing below it", "f a\nf a/b", "!not a folder" },
	{ "the root stays a folder", "l / x", "!root must be a folder" },
	{ "links end", "l a b\nl b a\nf a/x", "!more than 255 links" },
	{ "a whiteout has a name", "f a/.wh.", "!without a name" },
	{ "and not that of its folder", "f a/x\n-\nf a/.wh..", "!without a" },
	{ "nor of the one above", "f a/x\n-\nf a/.wh...", "!without a" },
};

static enum image_kind
kind_of(char c)
{
	switch (c) {
	case 'd':
		return IMAGE_DIR;
	case 'f':
		return IMAGE_FILE;
	case 'l':
		return IMAGE_SYMLINK;
	case 'h':
		return IMAGE_LINK;
	case 'p':
		return IMAGE_FIFO;
	case 'c':
		return IMAGE_DEVICE;
	default:
		fail_msg("unknown kind %c", c);
		return IMAGE_NONE;
	}
}

/* Each entry's size is its number, so that content can be told apart. */
static int
apply(struct image_merge *m, const char *layers, struct fault *f)
{
	struct span rest = span_str(layers);
	uint64_t number = 0;

	while (rest.len > 0) {
		struct image_tar_entry e = { .mode = 0644, .mtime = 1 };
		struct span line = rest;

		line.len = span_find(rest, '\n');
		rest = span_from(rest, line.len + 1);
		if (span_is(line, "-")) {
			m->layer++;
			continue;
		}
		e.kind = kind_of((char)line.ptr[0]);
		e.path = span_from(line, 2);
		e.path.len = span_find(e.path, ' ');
		e.link = span_from(line, 2 + e.path.len + 1);
		number++;
		e.size = e.kind == IMAGE_FILE ? number : 0;
		if (image_merge_entry(m, &e, f) < 0)
			return -1;
	}
	return 0;
}

static void
list(struct image_tree *t, struct buf *out)
{
	image_tree_freeze(t);
	for (uint32_t n = image_tree_walk(t, IMAGE_ROOT); n != 0;
	     n = image_tree_walk(t, n)) {
		uint32_t id = image_tree_node(t, n)->inode;
		const struct image_inode *i = image_tree_inode(t, id);
		struct span to = image_tree_text(t, i->text);
		char path[LIMIT_PATH];
		int r = 0;

		(void)image_tree_path(t, n, path);
		if (image_tree_kind(t, n) == IMAGE_DIR)
			r = buf_fmt(out, "d %s\n", path);
		else if (i->kind == IMAGE_FILE)
			r = buf_fmt(out, "f %s %llu\n", path,
			    (unsigned long long)i->size);
		else if (i->kind == IMAGE_SYMLINK)
			r = buf_fmt(out, "l %s %.*s\n", path, (int)to.len,
			    (const char *)to.ptr);
		else if (i->kind == IMAGE_FIFO)
			r = buf_fmt(out, "p %s\n", path);
		assert_int_equal(r, 0);
	}
}

static void
check_row(size_t row)
{
	static const uint8_t key[16] = { 1, 2, 3 };
	struct image_merge *m = must_alloc(sizeof(*m));
	struct image_tree t;
	struct fault f = { 0 };
	struct buf out;
	int r;

	image_tree_init(&t, key);
	image_merge_init(m, &t, UINT64_MAX / 2);
	buf_init(&out, 4096);
	r = apply(m, rows[row].layers, &f);
	if (rows[row].tree[0] == '!') {
		if (r == 0 || !strstr(f.text, rows[row].tree + 1))
			fail_msg("%s: %s", rows[row].rule, f.text);
		assert_int_equal(f.code, FAULT_INVALID);
	} else {
		if (r != 0)
			fail_msg("%s: %s", rows[row].rule, f.text);
		list(&t, &out);
		if (!span_is(buf_span(&out), rows[row].tree))
			fail_msg("%s:\n%.*s", rows[row].rule, (int)out.len,
			    out.len ? (const char *)buf_ptr(&out) : "");
	}
	buf_release(&out);
	image_tree_release(&t);
	free(m);
}

static void
layers_merge_by_the_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++)
		check_row(i);
}

static void
a_folder_takes_its_last_attributes(void **state)
{
	static const uint8_t key[16] = { 0 };
	struct image_merge *m = must_alloc(sizeof(*m));
	struct image_tar_entry e = { .kind = IMAGE_DIR,
		.path = SPAN_LIT("d"),
		.mode = 0755,
		.uid = 1 };
	const struct image_inode *i;
	struct image_tree t;
	struct fault f;
	uint32_t node;

	(void)state;
	image_tree_init(&t, key);
	image_merge_init(m, &t, 1);
	assert_int_equal(image_merge_entry(m, &e, &f), 0);
	e.mode = 01777;
	e.uid = 7;
	assert_int_equal(image_merge_entry(m, &e, &f), 0);
	node = image_merge_lookup(m, span_str("d"));
	assert_int_not_equal(node, 0);
	i = image_tree_inode(&t, image_tree_node(&t, node)->inode);
	assert_int_equal(i->mode, 01777);
	assert_int_equal(i->uid, 7);
	assert_int_equal(image_tree_inodes(&t), 2);
	image_tree_release(&t);
	free(m);
}

static void
content_is_capped_over_all_layers(void **state)
{
	static const uint8_t key[16] = { 0 };
	struct image_merge *m = must_alloc(sizeof(*m));
	struct image_tar_entry e = { .kind = IMAGE_FILE,
		.path = SPAN_LIT("a"),
		.size = 60 };
	struct image_tree t;
	struct fault f;

	(void)state;
	image_tree_init(&t, key);
	image_merge_init(m, &t, 100);
	assert_int_equal(image_merge_entry(m, &e, &f), 0);
	assert_int_equal(image_merge_entry(m, &e, &f), -1);
	assert_int_equal(f.code, FAULT_LIMIT);
	assert_string_equal(f.text,
	    "entry 'a': content is over the limit of 100 bytes");
	image_tree_release(&t);
	free(m);
}

static void
a_path_that_links_make_too_long_is_refused(void **state)
{
	static const uint8_t key[16] = { 0 };
	struct image_merge *m = must_alloc(sizeof(*m));
	struct image_tar_entry e = { .kind = IMAGE_SYMLINK,
		.path = SPAN_LIT("s") };
	char target[4001];
	char path[258] = "s/";
	struct image_tree t;
	struct fault f = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(target); i++)
		target[i] = i % 2 ? '/' : 'x';
	memset(path + 2, 'n', 255);
	image_tree_init(&t, key);
	image_merge_init(m, &t, 1);
	e.link = span_of(target, sizeof(target));
	assert_int_equal(image_merge_entry(m, &e, &f), 0);
	e = (struct image_tar_entry){ .kind = IMAGE_FILE,
		.path = span_str(path) };
	assert_int_equal(image_merge_entry(m, &e, &f), -1);
	assert_int_equal(f.code, FAULT_INVALID);
	image_tree_release(&t);
	free(m);
}

/* A folder that comes and goes 20 000 times, with all its children each time,
 * costs what its entries cost. */
static void
replacing_a_large_folder_is_cheap(void **state)
{
	static const uint8_t key[16] = { 0 };
	struct image_merge *m = must_alloc(sizeof(*m));
	struct image_tree t;
	struct fault f;

	(void)state;
	image_tree_init(&t, key);
	image_merge_init(m, &t, UINT64_MAX / 2);
	for (int i = 0; i < 50000; i++) {
		struct image_tar_entry e = { .kind = IMAGE_FILE };
		char path[32];

		(void)snprintf(path, sizeof(path), "d/%d", i);
		e.path = span_str(path);
		assert_int_equal(image_merge_entry(m, &e, &f), 0);
	}
	for (int i = 0; i < 20000; i++) {
		struct image_tar_entry e = { .path = SPAN_LIT("d") };

		e.kind = i % 2 ? IMAGE_DIR : IMAGE_FIFO;
		assert_int_equal(image_merge_entry(m, &e, &f), 0);
		e = (struct image_tar_entry){ .kind = IMAGE_FILE,
			.path = SPAN_LIT(".wh.d") };
		assert_int_equal(image_merge_entry(m, &e, &f), 0);
	}
	image_tree_release(&t);
	free(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layers_merge_by_the_rules),
		cmocka_unit_test(a_folder_takes_its_last_attributes),
		cmocka_unit_test(content_is_capped_over_all_layers),
		cmocka_unit_test(a_path_that_links_make_too_long_is_refused),
		cmocka_unit_test(replacing_a_large_folder_is_cheap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
