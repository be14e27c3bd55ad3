/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One header block of a tar: numbers, checksum, kind and names, in the forms
 * of v7, ustar (POSIX.1-1988), star and GNU (tar(5)). Pure; image/inner.h has
 * the contracts.
 */
#include <string.h>

#include "image/inner.h"

enum {
	AT_MAGIC = 257,
	AT_STAR_MARK = 508,
};

static const struct image_field field_name = { 0, 100 };
static const struct image_field field_mode = { 100, 8 };
static const struct image_field field_uid = { 108, 8 };
static const struct image_field field_gid = { 116, 8 };
const struct image_field image_field_size = { 124, 12 };
static const struct image_field field_mtime = { 136, 12 };
static const struct image_field field_sum = { 148, 8 };
static const struct image_field field_link = { 157, 100 };
static const struct image_field field_prefix = { 345, 155 };
static const struct image_field field_star_prefix = { 345, 131 };

static struct span
field_text(const struct image_tar *t, struct image_field at)
{
	struct span s = span_of(t->block + at.at, at.len);

	s.len = span_find(s, '\0');
	return s;
}

/* GNU base-256: the top bit of the first byte set, big endian after it. */
static bool
parse_binary(struct span s, bool *negative, uint64_t *out)
{
	uint64_t n = s.ptr[0] & 0x3f;

	*negative = (s.ptr[0] & 0x40) != 0;
	for (size_t i = 1; i < s.len; i++) {
		if (n >> 55)
			return *negative;
		n = n << 8 | s.ptr[i];
	}
	*out = n;
	return true;
}

static bool
parse_octal(struct span s, uint64_t *out)
{
	uint64_t n = 0;

	while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\0'))
		s = span_from(s, 1);
	while (
	    s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\0'))
		s.len--;
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] < '0' || s.ptr[i] > '7' || n >> 60)
			return false;
		n = n << 3 | (uint64_t)(s.ptr[i] - '0');
	}
	*out = n;
	return true;
}

int
image_block_number(const struct image_tar *t, struct image_field at,
    const char *what, uint64_t max, uint64_t *out, struct fault *f)
{
	struct span s = span_of(t->block + at.at, at.len);
	bool negative = false;
	bool ok;

	ok = s.ptr[0] & 0x80 ? parse_binary(s, &negative, out)
			     : parse_octal(s, out);
	if (!ok || negative || *out > max)
		return fault_set(f, FAULT_INVALID,
		    "bad number in the %s of the tar header at byte %llu", what,
		    (unsigned long long)t->header_at);
	return 0;
}

/* Times before 1970 are 1970; squashfs has 32 bits of seconds. */
static int
field_time(const struct image_tar *t, uint32_t *out, struct fault *f)
{
	uint64_t n = 0;

	if (t->block[field_mtime.at] == 0xff) {
		*out = 0;
		return 0;
	}
	if (image_block_number(t, field_mtime, "time", UINT64_MAX, &n, f) < 0)
		return -1;
	*out = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
	return 0;
}

/* Some old writers summed signed bytes: both sums are taken. */
int
image_block_sum(const struct image_tar *t, struct fault *f)
{
	uint64_t want = 0;
	uint64_t plain = 0;
	int64_t is_signed = 0;

	if (image_block_number(t, field_sum, "checksum", UINT32_MAX, &want, f) <
	    0)
		want = UINT64_MAX;
	for (size_t i = 0; i < IMAGE_TAR_BLOCK; i++) {
		bool own =
		    i >= field_sum.at && i < field_sum.at + field_sum.len;
		uint8_t byte = own ? ' ' : t->block[i];

		plain += byte;
		is_signed += (int8_t)byte;
	}
	if (want == plain || (int64_t)want == is_signed)
		return 0;
	if (t->header_at == 0)
		return fault_set(f, FAULT_INVALID, "this is no tar archive");
	return fault_set(f, FAULT_INVALID,
	    "bad checksum of the tar header at byte %llu",
	    (unsigned long long)t->header_at);
}

bool
image_block_is_zero(const struct image_tar *t)
{
	for (size_t i = 0; i < IMAGE_TAR_BLOCK; i++)
		if (t->block[i] != 0)
			return false;
	return true;
}

/* The name a plain header gives: ustar has a part of it in a prefix. */
static int
header_name(struct image_tar *t, struct span *out, struct fault *f)
{
	struct span name = field_text(t, field_name);
	struct span prefix = span_of(NULL, 0);

	if (memcmp(t->block + AT_MAGIC, "ustar\0", 6) == 0)
		prefix = field_text(t,
		    memcmp(t->block + AT_STAR_MARK, "tar\0", 4) == 0
			? field_star_prefix
			: field_prefix);
	if (prefix.len > 0 &&
	    (buf_add(&t->name, prefix.ptr, prefix.len, f) < 0 ||
		buf_add(&t->name, "/", 1, f) < 0))
		return -1;
	if (buf_add(&t->name, name.ptr, name.len, f) < 0)
		return -1;
	*out = buf_span(&t->name);
	return 0;
}

static int
entry_kind(struct image_tar *t, struct fault *f)
{
	struct image_tar_entry *e = &t->entry;
	char type = (char)t->block[IMAGE_AT_TYPE];

	switch (type) {
	case '\0':
		e->kind = e->path.len > 0 && e->path.ptr[e->path.len - 1] == '/'
		    ? IMAGE_DIR
		    : IMAGE_FILE;
		return 0;
	case '0':
	case '7':
	case 'S':
		e->kind = IMAGE_FILE;
		return 0;
	case '1':
		e->kind = IMAGE_LINK;
		return 0;
	case '2':
		e->kind = IMAGE_SYMLINK;
		return 0;
	case '3':
	case '4':
		e->kind = IMAGE_DEVICE;
		return 0;
	case '5':
		e->kind = IMAGE_DIR;
		return 0;
	case '6':
		e->kind = IMAGE_FIFO;
		return 0;
	default:
		return fault_set(f, FAULT_INVALID,
		    "unknown type 0x%02x in the tar header at byte %llu",
		    (unsigned)(uint8_t)type, (unsigned long long)t->header_at);
	}
}

/* Numbers of the header, then what a PAX header said of this entry. */
static int
entry_numbers(struct image_tar *t, struct fault *f)
{
	struct image_tar_entry *e = &t->entry;
	uint64_t mode = 0;
	uint64_t uid = 0;
	uint64_t gid = 0;
	uint64_t size = 0;

	if (image_block_number(t, field_mode, "mode", UINT32_MAX, &mode, f) <
		0 ||
	    field_time(t, &e->mtime, f) < 0)
		return -1;
	if (!t->pax.has_uid &&
	    image_block_number(t, field_uid, "uid", IMAGE_ID_MAX, &uid, f) < 0)
		return -1;
	if (!t->pax.has_gid &&
	    image_block_number(t, field_gid, "gid", IMAGE_ID_MAX, &gid, f) < 0)
		return -1;
	if (!t->pax.has_size &&
	    image_block_number(t, image_field_size, "size", INT64_MAX, &size,
		f) < 0)
		return -1;
	e->mode = (uint16_t)(mode & 07777);
	e->uid = t->pax.has_uid ? t->pax.uid : (uint32_t)uid;
	e->gid = t->pax.has_gid ? t->pax.gid : (uint32_t)gid;
	e->size = t->pax.has_size ? t->pax.size : size;
	if (t->pax.has_mtime)
		e->mtime = t->pax.mtime;
	return 0;
}

static int
entry_names(struct image_tar *t, struct fault *f)
{
	struct image_tar_entry *e = &t->entry;

	e->path = image_pax_path(&t->pax);
	if (t->long_path.len > 0)
		e->path = buf_span(&t->long_path);
	else if (e->path.len == 0 && header_name(t, &e->path, f) < 0)
		return -1;
	e->link = image_pax_link(&t->pax);
	if (t->long_link.len > 0)
		e->link = buf_span(&t->long_link);
	else if (e->link.len == 0)
		e->link = field_text(t, field_link);
	e->xattrs = buf_span(&t->pax.xattrs);
	e->xattrs_dropped = t->pax.xattrs_dropped;
	return 0;
}

int
image_block_entry(struct image_tar *t, struct fault *f)
{
	if (entry_names(t, f) < 0 || entry_kind(t, f) < 0)
		return -1;
	return entry_numbers(t, f);
}
