/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PAX records, "LENGTH KEY=VALUE\n" (POSIX pax, "pax Header Block"): what one
 * extended header says of the entry after it. Unknown keys are skipped, known
 * ones are held to their form. Extended attributes are kept as records that
 * can be written again as they are; only security.capability and user.* are
 * kept, the rest is counted.
 */
#include <string.h>

#include "image/inner.h"

#define XATTR_KEY "SCHILY.xattr."

void
image_pax_init(struct image_pax *p)
{
	memset(p, 0, sizeof(*p));
	buf_init(&p->path, IMAGE_TAR_EXTRA);
	buf_init(&p->link, IMAGE_TAR_EXTRA);
	buf_init(&p->xattrs, IMAGE_XATTRS);
	buf_init(&p->map, IMAGE_TAR_STRETCHES * sizeof(struct image_stretch));
}

void
image_pax_clear(struct image_pax *p)
{
	struct image_pax fresh = { .path = p->path,
		.link = p->link,
		.xattrs = p->xattrs,
		.map = p->map };

	buf_clear(&fresh.path);
	buf_clear(&fresh.link);
	buf_clear(&fresh.xattrs);
	buf_clear(&fresh.map);
	*p = fresh;
}

void
image_pax_release(struct image_pax *p)
{
	buf_release(&p->path);
	buf_release(&p->link);
	buf_release(&p->xattrs);
	buf_release(&p->map);
}

struct span
image_pax_path(const struct image_pax *p)
{
	return buf_span(&p->path);
}

struct span
image_pax_link(const struct image_pax *p)
{
	return buf_span(&p->link);
}

int
image_pax_stretch(struct image_pax *p, uint64_t at, uint64_t len,
    struct fault *f)
{
	struct image_stretch s = { at, len };

	if (at > INT64_MAX || len > INT64_MAX)
		return fault_set(f, FAULT_INVALID, "bad sparse map");
	if (buf_add(&p->map, &s, sizeof(s), f) < 0)
		return -1;
	p->map_count++;
	return 0;
}

struct image_stretch
image_pax_map(const struct image_pax *p, size_t i)
{
	struct image_stretch s;

	memcpy(&s, buf_span(&p->map).ptr + i * sizeof(s), sizeof(s));
	return s;
}

static int
keep_text(struct buf *to, struct span value, struct fault *f)
{
	if (span_find(value, '\0') != value.len)
		return fault_set(f, FAULT_INVALID, "a name holds a NUL byte");
	buf_clear(to);
	return buf_add(to, value.ptr, value.len, f);
}

static int
keep_number(struct span value, uint64_t max, uint64_t *out, struct fault *f)
{
	while (value.len > 1 && value.ptr[0] == '0')
		value = span_from(value, 1);
	if (!num_parse(value, max, out))
		return fault_set(f, FAULT_INVALID, "bad number");
	return 0;
}

static int
keep_id(struct span value, bool *has, uint32_t *out, struct fault *f)
{
	uint64_t n;

	if (keep_number(value, IMAGE_ID_MAX, &n, f) < 0)
		return -1;
	*out = (uint32_t)n;
	*has = true;
	return 0;
}

/* Seconds with an optional fraction; before 1970 is 1970. */
static int
keep_time(struct image_pax *p, struct span value, struct fault *f)
{
	uint64_t n = 0;

	p->has_mtime = true;
	p->mtime = 0;
	if (span_starts(value, "-"))
		return 0;
	value.len = span_find(value, '.');
	if (keep_number(value, INT64_MAX, &n, f) < 0)
		return -1;
	p->mtime = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
	return 0;
}

static int
keep_xattr(struct image_pax *p, struct span key, struct span record,
    struct fault *f)
{
	struct span name = span_from(key, sizeof(XATTR_KEY) - 1);

	if (!span_is(name, "security.capability") &&
	    !(span_starts(name, "user.") && name.len <= IMAGE_XATTR_NAME)) {
		p->xattrs_dropped++;
		return 0;
	}
	return buf_add(&p->xattrs, record.ptr, record.len, f);
}

/* "OFFSET,LENGTH,OFFSET,LENGTH": the map of sparse format 0.1. */
static int
keep_map(struct image_pax *p, struct span value, struct fault *f)
{
	p->map_count = 0;
	buf_clear(&p->map);
	while (value.len > 0) {
		uint64_t pair[2];

		for (size_t i = 0; i < NELEM(pair); i++) {
			struct span one = value;

			one.len = span_find(value, ',');
			if (keep_number(one, INT64_MAX, &pair[i], f) < 0)
				return -1;
			value = span_from(value, one.len + 1);
		}
		if (image_pax_stretch(p, pair[0], pair[1], f) < 0)
			return -1;
	}
	return 0;
}

static int
keep_sparse(struct image_pax *p, struct span key, struct span value,
    struct fault *f)
{
	uint64_t n = 0;

	if (span_is(key, "GNU.sparse.name"))
		return keep_text(&p->path, value, f);
	p->has_sparse = true;
	if (span_is(key, "GNU.sparse.map"))
		return keep_map(p, value, f);
	if (keep_number(value, INT64_MAX, &n, f) < 0)
		return -1;
	if (span_is(key, "GNU.sparse.major")) {
		if (n > 1)
			return fault_set(f, FAULT_UNIMPLEMENTED,
			    "sparse format %llu is not known",
			    (unsigned long long)n);
		p->sparse_major = (unsigned)n;
	} else if (span_is(key, "GNU.sparse.realsize") ||
	    span_is(key, "GNU.sparse.size")) {
		p->sparse_size = n;
	} else if (span_is(key, "GNU.sparse.offset")) {
		p->sparse_offset = n;
	} else if (span_is(key, "GNU.sparse.numbytes")) {
		return image_pax_stretch(p, p->sparse_offset, n, f);
	}
	return 0;
}

static int
keep_record(struct image_pax *p, struct span key, struct span value,
    struct span record, struct fault *f)
{
	if (span_is(key, "path"))
		return keep_text(&p->path, value, f);
	if (span_is(key, "linkpath"))
		return keep_text(&p->link, value, f);
	if (span_is(key, "uid"))
		return keep_id(value, &p->has_uid, &p->uid, f);
	if (span_is(key, "gid"))
		return keep_id(value, &p->has_gid, &p->gid, f);
	if (span_is(key, "mtime"))
		return keep_time(p, value, f);
	if (span_is(key, "size")) {
		p->has_size = true;
		return keep_number(value, INT64_MAX, &p->size, f);
	}
	if (span_starts(key, XATTR_KEY))
		return keep_xattr(p, key, record, f);
	if (span_starts(key, "LIBARCHIVE.xattr.") ||
	    span_starts(key, "SCHILY.acl."))
		p->xattrs_dropped++;
	if (span_starts(key, "GNU.sparse."))
		return keep_sparse(p, key, value, f);
	return 0;
}

/* Cut one record off *rest; false when it has not the form of one. */
static bool
next_record(struct span *rest, struct span *record, struct span *key,
    struct span *value)
{
	struct span number = *rest;
	uint64_t len;
	size_t equal;

	number.len = span_find(*rest, ' ');
	if (!num_parse(number, rest->len, &len) || len < number.len + 3 ||
	    rest->ptr[len - 1] != '\n')
		return false;
	*record = span_of(rest->ptr, (size_t)len);
	*rest = span_from(*rest, (size_t)len);
	*key = span_from(*record, number.len + 1);
	key->len--; /* the newline */
	equal = span_find(*key, '=');
	if (equal == 0 || equal == key->len)
		return false;
	*value = span_from(*key, equal + 1);
	key->len = equal;
	return true;
}

int
image_pax_parse(struct image_pax *p, struct span text, uint64_t at,
    struct fault *f)
{
	struct span record;
	struct span key;
	struct span value;

	while (text.len > 0) {
		if (!next_record(&text, &record, &key, &value))
			return fault_set(f, FAULT_INVALID,
			    "bad extended tar header at byte %llu",
			    (unsigned long long)at);
		if (keep_record(p, key, value, record, f) < 0) {
			char name[64];

			text_escape(key, name, sizeof(name));
			return fault_prefix(f,
			    "'%s' of the extended tar header at byte %llu",
			    name, (unsigned long long)at);
		}
	}
	return 0;
}
