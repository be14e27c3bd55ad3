/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tar writer: one entry as a ustar header, with a PAX header before it
 * where ustar has no room. Pure: it appends to a buffer. The same entries
 * give the same bytes.
 */
#include <stdio.h>
#include <string.h>

#include "image/inner.h"

enum {
	NAME_ROOM = 100,
	ID_ROOM = 07777777, /* what seven octal digits hold */
	HEADER_ROOM = 12,
};

#define SIZE_ROOM UINT64_C(077777777777)

/* "LENGTH KEY=VALUE\n"; the length counts its own digits. */
static int
add_record(struct buf *b, const char *key, struct span value, struct fault *f)
{
	size_t bare = strlen(key) + value.len + 3;
	size_t len = bare + 1;
	char head[HEADER_ROOM * 6 + IMAGE_XATTR_NAME];

	for (size_t power = 10; len >= power; power *= 10)
		len = bare + (size_t)snprintf(NULL, 0, "%zu", len);
	if (!text_fmt(head, sizeof(head), "%zu %s=", len, key))
		return fault_set(f, FAULT_LIMIT, "key '%s' is too long", key);
	if (buf_add(b, head, strlen(head), f) < 0 ||
	    buf_add(b, value.ptr, value.len, f) < 0)
		return -1;
	return buf_add(b, "\n", 1, f);
}

static int
add_number(struct buf *b, const char *key, uint64_t n, struct fault *f)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	return add_record(b, key, span_str(text), f);
}

static int
add_records(struct buf *b, const struct image_tar_entry *e, struct fault *f)
{
	if (e->path.len > NAME_ROOM && add_record(b, "path", e->path, f) < 0)
		return -1;
	if (e->link.len > NAME_ROOM &&
	    add_record(b, "linkpath", e->link, f) < 0)
		return -1;
	if (e->uid > ID_ROOM && add_number(b, "uid", e->uid, f) < 0)
		return -1;
	if (e->gid > ID_ROOM && add_number(b, "gid", e->gid, f) < 0)
		return -1;
	if (e->size > SIZE_ROOM && add_number(b, "size", e->size, f) < 0)
		return -1;
	return buf_add(b, e->xattrs.ptr, e->xattrs.len, f);
}

static void
put_octal(uint8_t *to, size_t width, uint64_t n)
{
	for (size_t i = width - 1; i-- > 0; n >>= 3)
		to[i] = (uint8_t)('0' + (n & 7));
}

static void
put_text(uint8_t *to, struct span s)
{
	memcpy(to, s.ptr, s.len < NAME_ROOM ? s.len : NAME_ROOM);
}

static char
type_of(enum image_kind kind)
{
	switch (kind) {
	case IMAGE_DIR:
		return '5';
	case IMAGE_SYMLINK:
		return '2';
	case IMAGE_FIFO:
		return '6';
	case IMAGE_LINK:
		return '1';
	case IMAGE_FILE:
		return '0';
	case IMAGE_NONE:
	case IMAGE_DEVICE:
	case IMAGE_SOCKET:
	default:
		BUG_IF(true);
	}
}

static int
add_header(struct buf *b, const struct image_tar_entry *e, char type,
    uint64_t size, struct fault *f)
{
	static const uint8_t magic[8] = { 'u', 's', 't', 'a', 'r', 0, '0',
		'0' };
	uint8_t h[IMAGE_TAR_BLOCK] = { 0 };
	unsigned sum = 0;

	if (e->path.len > 0)
		put_text(h, e->path);
	put_octal(h + 100, 8, e->mode);
	put_octal(h + 108, 8, e->uid > ID_ROOM ? 0 : e->uid);
	put_octal(h + 116, 8, e->gid > ID_ROOM ? 0 : e->gid);
	put_octal(h + 124, 12, size > SIZE_ROOM ? 0 : size);
	put_octal(h + 136, 12, e->mtime);
	memset(h + 148, ' ', 8);
	h[156] = (uint8_t)type;
	if (e->link.len > 0)
		put_text(h + 157, e->link);
	memcpy(h + 257, magic, sizeof(magic));
	for (size_t i = 0; i < sizeof(h); i++)
		sum += h[i];
	put_octal(h + 148, 7, sum);
	return buf_add(b, h, sizeof(h), f);
}

int
image_emit_zeros(struct buf *b, size_t n, struct fault *f)
{
	uint8_t *to = buf_room(b, n);

	if (!to)
		return fault_set(f, FAULT_LIMIT, "buffer is full");
	memset(to, 0, n);
	buf_grew(b, n);
	return 0;
}

int
image_emit_xattr(struct buf *b, const char *name, struct span value,
    struct fault *f)
{
	char key[HEADER_ROOM * 4 + IMAGE_XATTR_NAME];

	if (!text_fmt(key, sizeof(key), "SCHILY.xattr.%s", name))
		return fault_set(f, FAULT_LIMIT, "attribute name is too long");
	return add_record(b, key, value, f);
}

/* The records of e as a 'x' entry of its own, if there are any. */
static int
add_extended(struct buf *b, const struct image_tar_entry *e, struct fault *f)
{
	struct image_tar_entry own = { .mode = 0644,
		.path = SPAN_LIT("PaxHeader") };
	struct buf records;
	int r = -1;

	buf_init(&records, IMAGE_TAR_EXTRA);
	if (add_records(&records, e, f) == 0)
		r = 0;
	if (r == 0 && records.len > 0) {
		if (add_header(b, &own, 'x', records.len, f) < 0 ||
		    buf_add(b, buf_ptr(&records), records.len, f) < 0 ||
		    image_emit_zeros(b, image_emit_pad(records.len), f) < 0)
			r = -1;
	}
	buf_release(&records);
	return r;
}

size_t
image_emit_pad(uint64_t size)
{
	return (size_t)(-size & (IMAGE_TAR_BLOCK - 1));
}

int
image_emit_entry(struct buf *b, const struct image_tar_entry *e,
    struct fault *f)
{
	if (add_extended(b, e, f) < 0)
		return -1;
	return add_header(b, e, type_of(e->kind), e->size, f);
}
