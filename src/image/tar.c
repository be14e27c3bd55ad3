/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tar reader: bytes of a stranger in, entries and content out. It takes
 * v7, ustar, GNU (long names, base-256 numbers, old sparse) and PAX archives,
 * in pieces of any length, and never looks at a file system. Purely lexical:
 * names are passed on as written and judged by merge.c.
 *
 *	BLOCK -> (EXTRA -> BLOCK)* -> [MAP] -> BODY -> PAD -> BLOCK ... -> DONE
 *
 * What stands in a header block is block.c's business.
 */
#include <string.h>

#include "image/inner.h"

enum state {
	BLOCK, /* a header block is being collected */
	EXTRA, /* the body of a PAX or GNU header about the next entry */
	MORE,  /* an extension block of an old GNU sparse map */
	MAP,   /* the map at the start of a PAX 1.0 sparse body */
	BODY,  /* content */
	PAD,   /* up to the next multiple of 512 */
	DONE,  /* after the end mark */
};

enum {
	SPARSE_PAIR = 24,
	SPARSE_HEAD = 4,
	SPARSE_MORE = 21,
	AT_SPARSE = 386,
	AT_SPARSE_MORE = 482,
	AT_SPARSE_SIZE = 483,
	AT_SPARSE_NEXT = 504,
};

void
image_tar_init(struct image_tar *t)
{
	memset(t, 0, sizeof(*t));
	buf_init(&t->extra, IMAGE_TAR_EXTRA);
	buf_init(&t->name, IMAGE_TAR_BLOCK);
	buf_init(&t->long_path, IMAGE_TAR_EXTRA);
	buf_init(&t->long_link, IMAGE_TAR_EXTRA);
	image_pax_init(&t->pax);
}

void
image_tar_release(struct image_tar *t)
{
	buf_release(&t->extra);
	buf_release(&t->name);
	buf_release(&t->long_path);
	buf_release(&t->long_link);
	image_pax_release(&t->pax);
}

/* One more stretch of data of a sparse file; checks order and bounds. */
static int
sparse_add(struct image_tar *t, uint64_t at, uint64_t len, struct fault *f)
{
	if (t->pax.map_count >= IMAGE_TAR_STRETCHES)
		return fault_set(f, FAULT_LIMIT,
		    "a sparse file has more than %d stretches",
		    IMAGE_TAR_STRETCHES);
	return image_pax_stretch(&t->pax, at, len, f);
}

static int
sparse_pairs(struct image_tar *t, size_t from, size_t n, struct fault *f)
{
	for (size_t i = 0; i < n; i++) {
		struct image_field at = { from + i * SPARSE_PAIR, 12 };
		struct image_field len = { from + i * SPARSE_PAIR + 12, 12 };
		uint64_t start = 0;
		uint64_t size = 0;

		if (t->block[at.at] == '\0')
			return 0;
		if (image_block_number(t, at, "sparse map", INT64_MAX, &start,
			f) < 0 ||
		    image_block_number(t, len, "sparse map", INT64_MAX, &size,
			f) < 0 ||
		    sparse_add(t, start, size, f) < 0)
			return -1;
	}
	return 0;
}

/* The map is whole: its stretches must be in order and fill the body. */
static int
sparse_check(struct image_tar *t, struct fault *f)
{
	uint64_t end = 0;
	uint64_t sum = 0;

	for (size_t i = 0; i < t->pax.map_count; i++) {
		struct image_stretch s = image_pax_map(&t->pax, i);

		if (s.at < end || s.len > t->entry.size ||
		    s.at > t->entry.size - s.len)
			return fault_set(f, FAULT_INVALID,
			    "bad sparse map of the tar entry at byte %llu",
			    (unsigned long long)t->header_at);
		end = s.at + s.len;
		sum += s.len;
	}
	if (sum != t->left)
		return fault_set(f, FAULT_INVALID,
		    "sparse map and size differ in the tar entry at byte %llu",
		    (unsigned long long)t->header_at);
	return 0;
}

static int
entry_ready(struct image_tar *t, enum image_tar_event *event, struct fault *f)
{
	if (t->sparse && sparse_check(t, f) < 0)
		return -1;
	if (t->sparse)
		t->entry.holes = t->entry.size - t->left;
	t->entry.offset = t->at;
	t->done = 0;
	t->stretch = 0;
	t->state = BODY;
	*event = IMAGE_TAR_ENTRY;
	return 0;
}

/* The body of a sparse file is shorter than the file: set up the map. */
static int
entry_sparse(struct image_tar *t, enum image_tar_event *event, struct fault *f)
{
	static const struct image_field real = { AT_SPARSE_SIZE, 12 };

	if (t->block[IMAGE_AT_TYPE] == 'S') {
		if (image_block_number(t, real, "real size", INT64_MAX,
			&t->entry.size, f) < 0 ||
		    sparse_pairs(t, AT_SPARSE, SPARSE_HEAD, f) < 0)
			return -1;
		t->sparse = true;
		if (t->block[AT_SPARSE_MORE] != 0) {
			t->state = MORE;
			return 0;
		}
	} else if (t->entry.kind == IMAGE_FILE && t->pax.has_sparse) {
		t->entry.size = t->pax.sparse_size;
		t->sparse = true;
		if (t->pax.sparse_major == 1) {
			t->pax.map_count = 0;
			t->map_want = 0;
			t->map_got = 0;
			t->map_digits = 0;
			t->map_number = 0;
			t->state = MAP;
			return 0;
		}
	}
	return entry_ready(t, event, f);
}

static int
start_entry(struct image_tar *t, enum image_tar_event *event, struct fault *f)
{
	memset(&t->entry, 0, sizeof(t->entry));
	if (image_block_entry(t, f) < 0)
		return -1;
	t->extras = 0;
	t->sparse = false;
	t->left = t->entry.kind == IMAGE_FILE ? t->entry.size : 0;
	t->pad = (uint32_t)(-t->left & (IMAGE_TAR_BLOCK - 1));
	t->entry.size = t->left;
	return entry_sparse(t, event, f);
}

/* A header that speaks about the next one: collect its body. */
static int
start_extra(struct image_tar *t, struct fault *f)
{
	uint64_t size = 0;

	if (image_block_number(t, image_field_size, "size", INT64_MAX, &size,
		f) < 0)
		return -1;
	if (size > IMAGE_TAR_EXTRA || ++t->extras > IMAGE_TAR_EXTRAS)
		return fault_set(f, FAULT_LIMIT,
		    "extended tar header at byte %llu is too long",
		    (unsigned long long)t->header_at);
	buf_clear(&t->extra);
	t->left = size;
	t->pad = (uint32_t)(-size & (IMAGE_TAR_BLOCK - 1));
	t->state = EXTRA;
	return 0;
}

/* Entry memory of the one before is dropped when a new one begins. */
static void
forget_entry(struct image_tar *t)
{
	buf_clear(&t->name);
	buf_clear(&t->long_path);
	buf_clear(&t->long_link);
	image_pax_clear(&t->pax);
}

static int
take_block(struct image_tar *t, enum image_tar_event *event, struct fault *f)
{
	t->have = 0;
	t->header_at = t->at - IMAGE_TAR_BLOCK;
	if (image_block_is_zero(t)) {
		if (t->extras > 0)
			return fault_set(f, FAULT_INVALID,
			    "tar ends after an extended header at byte %llu",
			    (unsigned long long)t->header_at);
		t->state = DONE;
		*event = IMAGE_TAR_END;
		return 0;
	}
	if (image_block_sum(t, f) < 0)
		return -1;
	if (t->extras == 0)
		forget_entry(t);
	switch (t->block[IMAGE_AT_TYPE]) {
	case 'x':
	case 'g':
	case 'L':
	case 'K':
	case 'V':
		return start_extra(t, f);
	default:
		return start_entry(t, event, f);
	}
}

/* GNU long names end at their NUL. */
static int
keep_long(struct image_tar *t, struct buf *to, struct fault *f)
{
	struct span s = buf_span(&t->extra);

	s.len = span_find(s, '\0');
	if (to->len > 0)
		return fault_set(f, FAULT_INVALID,
		    "two long names for one tar entry at byte %llu",
		    (unsigned long long)t->header_at);
	return buf_add(to, s.ptr, s.len, f);
}

static int
take_extra(struct image_tar *t, struct fault *f)
{
	t->state = t->pad > 0 ? PAD : BLOCK;
	switch (t->block[IMAGE_AT_TYPE]) {
	case 'x':
		return image_pax_parse(&t->pax, buf_span(&t->extra),
		    t->header_at, f);
	case 'L':
		return keep_long(t, &t->long_path, f);
	case 'K':
		return keep_long(t, &t->long_link, f);
	default: /* global headers and volume labels say nothing we use */
		if (t->extras == 1)
			t->extras = 0;
		return 0;
	}
}

/* Decimal numbers, one a line: how many stretches, then offset and length. */
static int
take_map(struct image_tar *t, enum image_tar_event *event, struct fault *f)
{
	bool complete = false;

	for (size_t i = 0; i < IMAGE_TAR_BLOCK && !complete; i++) {
		uint8_t c = t->block[i];

		if (c >= '0' && c <= '9' && t->map_digits < 18) {
			t->map_number = t->map_number * 10 + (c - '0');
			t->map_digits++;
			continue;
		}
		if (c != '\n' || t->map_digits == 0)
			return fault_set(f, FAULT_INVALID,
			    "bad sparse map of the tar entry at byte %llu",
			    (unsigned long long)t->header_at);
		if (t->map_got == 0)
			t->map_want = t->map_number;
		else if (t->map_got % 2 == 1)
			t->map_offset = t->map_number;
		else if (sparse_add(t, t->map_offset, t->map_number, f) < 0)
			return -1;
		if (t->map_want > IMAGE_TAR_STRETCHES)
			return fault_set(f, FAULT_LIMIT,
			    "a sparse file has more than %d stretches",
			    IMAGE_TAR_STRETCHES);
		t->map_got++;
		t->map_number = 0;
		t->map_digits = 0;
		complete = t->map_got == 1 + 2 * t->map_want;
	}
	t->have = 0;
	return complete ? entry_ready(t, event, f) : 0;
}

static int
take_more(struct image_tar *t, enum image_tar_event *event, struct fault *f)
{
	t->have = 0;
	if (sparse_pairs(t, 0, SPARSE_MORE, f) < 0)
		return -1;
	return t->block[AT_SPARSE_NEXT] != 0 ? 0 : entry_ready(t, event, f);
}

/* Move up to a block's worth into t->block; true when it is full. */
static bool
collect(struct image_tar *t, struct span in, size_t *used)
{
	size_t n = IMAGE_TAR_BLOCK - t->have;

	if (n > in.len - *used)
		n = in.len - *used;
	memcpy(t->block + t->have, in.ptr + *used, n);
	t->have += n;
	t->at += n;
	*used += n;
	return t->have == IMAGE_TAR_BLOCK;
}

/* A hole up to the next stretch or the end of the file, if we stand at one. */
static uint64_t
hole_here(const struct image_tar *t)
{
	uint64_t next = t->entry.size;

	if (!t->sparse)
		return 0;
	if (t->stretch < t->pax.map_count)
		next = image_pax_map(&t->pax, t->stretch).at;
	return next > t->done ? next - t->done : 0;
}

static uint64_t
stretch_left(struct image_tar *t)
{
	while (t->sparse && t->stretch < t->pax.map_count) {
		struct image_stretch s = image_pax_map(&t->pax, t->stretch);

		if (t->done < s.at + s.len)
			return s.at + s.len - t->done;
		t->stretch++;
	}
	return t->left;
}

static enum image_tar_event
body_event(struct image_tar *t, struct span in, size_t *used)
{
	uint64_t want = stretch_left(t);

	t->hole = hole_here(t);
	if (t->hole > 0) {
		t->done += t->hole;
		return IMAGE_TAR_HOLE;
	}
	if (t->left == 0) {
		t->state = t->pad > 0 ? PAD : BLOCK;
		return IMAGE_TAR_AGAIN;
	}
	if (want > in.len - *used)
		want = in.len - *used;
	if (want == 0)
		return IMAGE_TAR_MORE;
	t->data = span_of(in.ptr + *used, (size_t)want);
	*used += (size_t)want;
	t->at += want;
	t->left -= want;
	t->done += want;
	return IMAGE_TAR_DATA;
}

static int
extra_bytes(struct image_tar *t, struct span in, size_t *used, struct fault *f)
{
	size_t n = in.len - *used;

	if (n > t->left)
		n = (size_t)t->left;
	if (buf_add(&t->extra, in.ptr + *used, n, f) < 0)
		return -1;
	*used += n;
	t->at += n;
	t->left -= n;
	return t->left == 0 ? take_extra(t, f) : 0;
}

static void
pad_bytes(struct image_tar *t, struct span in, size_t *used)
{
	size_t n = in.len - *used;

	if (n > t->pad)
		n = t->pad;
	*used += n;
	t->at += n;
	t->pad -= (uint32_t)n;
	if (t->pad == 0)
		t->state = BLOCK;
}

/* One step: *event is AGAIN when there is nothing to tell yet. */
static int
step(struct image_tar *t, struct span in, size_t *used,
    enum image_tar_event *event, struct fault *f)
{
	switch ((enum state)t->state) {
	case BODY:
		*event = body_event(t, in, used);
		return 0;
	case EXTRA:
		if (t->left == 0)
			return take_extra(t, f);
		return extra_bytes(t, in, used, f);
	case PAD:
		pad_bytes(t, in, used);
		return 0;
	case BLOCK:
		return collect(t, in, used) ? take_block(t, event, f) : 0;
	case MORE:
		return collect(t, in, used) ? take_more(t, event, f) : 0;
	case MAP:
		if (t->have == 0) {
			if (t->left < IMAGE_TAR_BLOCK)
				return fault_set(f, FAULT_INVALID,
				    "sparse map of the tar entry at byte %llu "
				    "is cut",
				    (unsigned long long)t->header_at);
			t->left -= IMAGE_TAR_BLOCK;
		}
		return collect(t, in, used) ? take_map(t, event, f) : 0;
	case DONE:
	default:
		*used = in.len;
		*event = IMAGE_TAR_END;
		return 0;
	}
}

int
image_tar_next(struct image_tar *t, struct span in, size_t *used,
    enum image_tar_event *event, struct fault *f)
{
	*used = 0;
	do {
		bool starved =
		    *used == in.len && t->state != BODY && t->state != DONE;

		if (starved && !(t->state == EXTRA && t->left == 0)) {
			*event = IMAGE_TAR_MORE;
			return 0;
		}
		*event = IMAGE_TAR_AGAIN;
		if (step(t, in, used, event, f) < 0)
			return -1;
	} while (*event == IMAGE_TAR_AGAIN);
	return 0;
}

uint64_t
image_tar_skippable(const struct image_tar *t)
{
	return t->state == BODY && !t->sparse ? t->left : 0;
}

void
image_tar_skip(struct image_tar *t, uint64_t n)
{
	BUG_IF(n > image_tar_skippable(t));
	t->left -= n;
	t->done += n;
	t->at += n;
}

int
image_tar_finish(const struct image_tar *t, struct fault *f)
{
	if (t->state == DONE)
		return 0;
	return fault_set(f, FAULT_INVALID,
	    "tar is truncated: it ends at byte %llu without its end mark",
	    (unsigned long long)t->at);
}
