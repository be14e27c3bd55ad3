/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of names: all paths of all layers in about 110 bytes each, found
 * by a keyed hash of (parent, name). Pure; image/inner.h has the contracts.
 * It must never walk a removed folder: see `born` and `gen` there.
 */
#include <stdlib.h>
#include <string.h>

#include "image/inner.h"

enum {
	FIRST_BUCKETS = 1024
};

static uint64_t
rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static void
sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

/* SipHash-1-3 (Aumasson, Bernstein) of the name, the parent mixed in first. */
static uint32_t
hash(const struct image_tree *t, uint32_t parent, struct span name)
{
	uint64_t v[4] = { t->key[0] ^ 0x736f6d6570736575,
		t->key[1] ^ 0x646f72616e646f6d, t->key[0] ^ 0x6c7967656e657261,
		t->key[1] ^ 0x7465646279746573 };
	uint64_t word = parent;

	v[3] ^= word;
	sip_round(v);
	v[0] ^= word;
	for (size_t i = 0; i < name.len; i += sizeof(word)) {
		size_t n = name.len - i;

		word = (uint64_t)name.len << 56;
		memcpy(&word, name.ptr + i, n < 8 ? n : 8);
		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	word = v[0] ^ v[1] ^ v[2] ^ v[3];
	return (uint32_t)(word ^ word >> 32);
}

struct image_node *
image_tree_node(const struct image_tree *t, uint32_t id)
{
	return (struct image_node *)(void *)t->nodes.base + id;
}

struct image_inode *
image_tree_inode(const struct image_tree *t, uint32_t id)
{
	return (struct image_inode *)(void *)t->inodes.base + id;
}

uint32_t
image_tree_inodes(const struct image_tree *t)
{
	return (uint32_t)(t->inodes.len / sizeof(struct image_inode));
}

static uint32_t
node_count(const struct image_tree *t)
{
	return (uint32_t)(t->nodes.len / sizeof(struct image_node));
}

static uint32_t *
buckets_new(uint32_t n)
{
	return must_alloc((size_t)n * sizeof(uint32_t));
}

/* Room in one of the tables, zeroed; NULL at its cap. */
static void *
table_room(struct buf *b, size_t size)
{
	uint8_t *p = buf_room(b, size);

	if (!p)
		return NULL;
	memset(p, 0, size);
	buf_grew(b, size);
	return p;
}

void
image_tree_init(struct image_tree *t, const uint8_t key[16])
{
	struct image_node *root;

	memset(t, 0, sizeof(*t));
	memcpy(t->key, key, sizeof(t->key));
	buf_init(&t->nodes, IMAGE_NODES * sizeof(struct image_node));
	buf_init(&t->inodes, IMAGE_NODES * sizeof(struct image_inode));
	buf_init(&t->text, IMAGE_TEXT);
	t->mask = FIRST_BUCKETS - 1;
	t->buckets = buckets_new(FIRST_BUCKETS);
	BUG_IF(!table_room(&t->nodes, sizeof(*root)));
	BUG_IF(!table_room(&t->inodes, sizeof(struct image_inode)));
	BUG_IF(!table_room(&t->text, 2)); /* text 0 is empty: the root's name */
	root = table_room(&t->nodes, sizeof(*root));
	BUG_IF(!root);
	root->gen = 1;
	root->born = 1;
}

void
image_tree_release(struct image_tree *t)
{
	buf_release(&t->nodes);
	buf_release(&t->inodes);
	buf_release(&t->text);
	free(t->buckets);
	t->buckets = NULL;
}

static bool
is_alive(const struct image_tree *t, uint32_t id)
{
	const struct image_node *n = image_tree_node(t, id);

	return id == IMAGE_ROOT ||
	    n->born == image_tree_node(t, n->parent)->gen;
}

enum image_kind
image_tree_kind(const struct image_tree *t, uint32_t node)
{
	uint32_t inode = image_tree_node(t, node)->inode;

	if (inode == 0)
		return IMAGE_DIR;
	return (enum image_kind)image_tree_inode(t, inode)->kind;
}

/* The node of that name, alive or not. */
static uint32_t
find_any(const struct image_tree *t, uint32_t parent, struct span name)
{
	uint32_t id = t->buckets[hash(t, parent, name) & t->mask];

	while (id != 0) {
		const struct image_node *n = image_tree_node(t, id);

		if (n->parent == parent &&
		    span_equal(image_tree_text(t, n->name), name))
			return id;
		id = n->chain;
	}
	return 0;
}

uint32_t
image_tree_find(const struct image_tree *t, uint32_t parent, struct span name)
{
	uint32_t id = find_any(t, parent, name);

	return id != 0 && is_alive(t, id) ? id : 0;
}

static void
hash_insert(struct image_tree *t, uint32_t id)
{
	struct image_node *n = image_tree_node(t, id);
	struct span name = image_tree_text(t, n->name);
	uint32_t at = hash(t, n->parent, name) & t->mask;

	n->chain = t->buckets[at];
	t->buckets[at] = id;
}

static void
grow_buckets(struct image_tree *t)
{
	uint32_t count = node_count(t);

	if (count <= t->mask)
		return;
	free(t->buckets);
	t->mask = t->mask * 2 + 1;
	t->buckets = buckets_new(t->mask + 1);
	for (uint32_t id = IMAGE_ROOT + 1; id < count; id++)
		hash_insert(t, id);
}

static int
add_new(struct image_tree *t, uint32_t parent, struct span name, uint32_t *node,
    struct fault *f)
{
	struct image_node *n;
	struct image_node *up;
	uint32_t at;

	if (image_tree_add_text(t, name, &at, f) < 0)
		return -1;
	*node = node_count(t);
	n = table_room(&t->nodes, sizeof(*n));
	if (!n)
		return fault_set(f, FAULT_LIMIT,
		    "the index is full: more than %d names", IMAGE_NODES);
	up = image_tree_node(t, parent);
	n->name = at;
	n->parent = parent;
	n->next = up->child;
	up->child = *node;
	hash_insert(t, *node);
	grow_buckets(t);
	return 0;
}

int
image_tree_add(struct image_tree *t, uint32_t parent, struct span name,
    uint32_t *node, struct fault *f)
{
	struct image_node *n;

	*node = find_any(t, parent, name);
	if (*node == 0 && add_new(t, parent, name, node, f) < 0)
		return -1;
	n = image_tree_node(t, *node);
	n->gen++;
	n->born = image_tree_node(t, parent)->gen;
	n->inode = 0;
	return 0;
}

int
image_tree_add_inode(struct image_tree *t, const struct image_inode *i,
    uint32_t *id, struct fault *f)
{
	struct image_inode *to;

	*id = image_tree_inodes(t);
	to = table_room(&t->inodes, sizeof(*to));
	if (!to)
		return fault_set(f, FAULT_LIMIT,
		    "the index is full: more than %d files", IMAGE_NODES);
	*to = *i;
	return 0;
}

int
image_tree_add_text(struct image_tree *t, struct span s, uint32_t *at,
    struct fault *f)
{
	uint16_t len = (uint16_t)s.len;
	uint8_t *to;

	BUG_IF(s.len > UINT16_MAX);
	*at = (uint32_t)t->text.len;
	to = buf_room(&t->text, sizeof(len) + s.len);
	if (!to)
		return fault_set(f, FAULT_LIMIT,
		    "the index is full: more than %d bytes of names",
		    IMAGE_TEXT);
	memcpy(to, &len, sizeof(len));
	if (s.len > 0)
		memcpy(to + sizeof(len), s.ptr, s.len);
	buf_grew(&t->text, sizeof(len) + s.len);
	return 0;
}

struct span
image_tree_text(const struct image_tree *t, uint32_t at)
{
	const uint8_t *p = t->text.base + at;
	uint16_t len;

	memcpy(&len, p, sizeof(len));
	return span_of(p + sizeof(len), len);
}

struct span
image_tree_name(const struct image_tree *t, uint32_t node)
{
	return image_tree_text(t, image_tree_node(t, node)->name);
}

void
image_tree_drop(struct image_tree *t, uint32_t node)
{
	image_tree_node(t, node)->born = 0;
}

void
image_tree_empty(struct image_tree *t, uint32_t node)
{
	image_tree_node(t, node)->gen++;
}

static uint32_t
first_alive(const struct image_tree *t, uint32_t id)
{
	while (id != 0 && !is_alive(t, id))
		id = image_tree_node(t, id)->next;
	return id;
}

uint32_t
image_tree_child(const struct image_tree *t, uint32_t node)
{
	return first_alive(t, image_tree_node(t, node)->child);
}

uint32_t
image_tree_sibling(const struct image_tree *t, uint32_t node)
{
	return first_alive(t, image_tree_node(t, node)->next);
}

uint32_t
image_tree_walk(const struct image_tree *t, uint32_t node)
{
	uint32_t next = image_tree_child(t, node);

	while (next == 0 && node != IMAGE_ROOT) {
		next = image_tree_sibling(t, node);
		node = image_tree_node(t, node)->parent;
	}
	return next;
}

struct span
image_tree_path(const struct image_tree *t, uint32_t node, char *out)
{
	size_t at = LIMIT_PATH - 1;

	out[at] = '\0';
	for (; node != IMAGE_ROOT; node = image_tree_node(t, node)->parent) {
		struct span name = image_tree_name(t, node);

		if (at < LIMIT_PATH - 1)
			out[--at] = '/';
		BUG_IF(name.len > at);
		at -= name.len;
		memcpy(out + at, name.ptr, name.len);
	}
	memmove(out, out + at, LIMIT_PATH - at);
	return span_of(out, LIMIT_PATH - 1 - at);
}

static int
compare(const struct image_tree *t, uint32_t a, uint32_t b)
{
	struct span x = image_tree_name(t, a);
	struct span y = image_tree_name(t, b);
	int order = memcmp(x.ptr, y.ptr, x.len < y.len ? x.len : y.len);

	if (order != 0)
		return order;
	return (x.len > y.len) - (x.len < y.len);
}

static uint32_t
merge_lists(struct image_tree *t, uint32_t a, uint32_t b)
{
	uint32_t head = 0;
	uint32_t last = 0;

	while (a != 0 || b != 0) {
		bool from_a = b == 0 || (a != 0 && compare(t, a, b) < 0);
		uint32_t take = from_a ? a : b;

		if (from_a)
			a = image_tree_node(t, a)->next;
		else
			b = image_tree_node(t, b)->next;
		if (last == 0)
			head = take;
		else
			image_tree_node(t, last)->next = take;
		last = take;
	}
	if (last != 0)
		image_tree_node(t, last)->next = 0;
	return head;
}

/* Bottom-up merge sort of a list: slot i holds a sorted run of 2^i. */
static uint32_t
sort_list(struct image_tree *t, uint32_t list)
{
	uint32_t run[32] = { 0 };
	uint32_t all = 0;

	while (list != 0) {
		uint32_t one = list;
		size_t i = 0;

		list = image_tree_node(t, one)->next;
		image_tree_node(t, one)->next = 0;
		for (; run[i] != 0; i++) {
			one = merge_lists(t, run[i], one);
			run[i] = 0;
		}
		run[i] = one;
	}
	for (size_t i = 0; i < NELEM(run); i++)
		all = merge_lists(t, run[i], all);
	return all;
}

void
image_tree_freeze(struct image_tree *t)
{
	uint32_t id = IMAGE_ROOT;

	while (id != 0) {
		struct image_node *n = image_tree_node(t, id);

		n->child = sort_list(t, n->child);
		if (n->inode != 0 && image_tree_inode(t, n->inode)->node == 0)
			image_tree_inode(t, n->inode)->node = id;
		id = image_tree_walk(t, id);
	}
}

uint64_t
image_tree_crowd(const struct image_tree *t)
{
	uint64_t crowd = 0;

	for (uint32_t id = IMAGE_ROOT; id != 0; id = image_tree_walk(t, id)) {
		uint64_t n = 0;

		for (uint32_t c = image_tree_child(t, id); c != 0;
		     c = image_tree_sibling(t, c))
			n++;
		crowd += n * n;
	}
	return crowd;
}
