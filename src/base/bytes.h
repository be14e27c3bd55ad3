/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes in the house (STYLE 9): a span borrows, a buf grows to a stated
 * maximum, an arena belongs to one call and vanishes whole.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/fault.h"

struct span {
	const uint8_t *ptr; /* borrowed; may be NULL only when len is 0 */
	size_t len;
};

#define SPAN_LIT(s) ((struct span){ (const uint8_t *)(s), sizeof(s) - 1 })

/* These are in each parser's inner loop; with a literal they cost what a
 * comparison of so many bytes does. */
static inline struct span
span_of(const void *ptr, size_t len)
{
	return (struct span){ (const uint8_t *)ptr, len };
}

/* NULL counts as empty. */
#ifdef __clang_analyzer__ /* or it takes each of them for one that may be so */
struct span span_str(const char *s);
#else
static inline struct span
span_str(const char *s)
{
	return (struct span){ (const uint8_t *)s, s ? strlen(s) : 0 };
}
#endif

static inline bool
span_equal(struct span a, struct span b)
{
	return a.len == b.len &&
	    (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool
span_is(struct span a, const char *s)
{
	/* Most are another from their first byte on. */
	if (a.len > 0 && (s == NULL || (uint8_t)s[0] != a.ptr[0]))
		return false;
	return span_equal(a, span_str(s));
}

static inline bool
span_starts(struct span a, const char *prefix)
{
	size_t n = strlen(prefix);

	return a.len >= n && (n == 0 || memcmp(a.ptr, prefix, n) == 0);
}

/* The part from `from` on; empty when from >= len. */
static inline struct span
span_from(struct span a, size_t from)
{
	if (from >= a.len)
		return (struct span){ a.len ? a.ptr + a.len : a.ptr, 0 };
	return (struct span){ a.ptr + from, a.len - from };
}

/* Position of byte c, or a.len. */
size_t span_find(struct span a, uint8_t c);

/*
 * Growable bytes with a hard maximum; contents are the window
 * [off, off+len). Memory comes from malloc, at most twice max when bytes are
 * eaten in front; running out of memory aborts.
 */
struct buf {
	uint8_t *base;
	size_t off;
	size_t len;
	size_t cap;
	size_t max;
};

void buf_init(struct buf *b, size_t max); /* no allocation yet */
void buf_release(struct buf *b);          /* frees; usable again after init */
/* Append n bytes; -1 with FAULT_LIMIT when len would pass max. */
int buf_add(struct buf *b, const void *p, size_t n, struct fault *f) MUST_CHECK;
/* A place to write n bytes, to be followed by buf_grew(); NULL past max. */
uint8_t *buf_room(struct buf *b, size_t n);
void buf_grew(struct buf *b, size_t n);
void buf_eat(struct buf *b, size_t n); /* drop n bytes from the front */
void buf_clear(struct buf *b);
size_t buf_left(const struct buf *b); /* bytes until max */
struct span buf_span(const struct buf *b);
uint8_t *buf_ptr(struct buf *b);
/* Append text; -1 when it does not fit. */
int buf_fmt(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3))) MUST_CHECK;

/*
 * Bump memory of one call with a hard cap. arena_get() returns zeroed,
 * 16-aligned memory or NULL when the cap is spent.
 */
struct arena_block;
struct arena {
	struct arena_block *blocks;
	size_t used;
	size_t cap;
};

void arena_init(struct arena *a, size_t cap);
void *arena_get(struct arena *a, size_t n);
char *arena_str(struct arena *a, struct span s); /* NUL-terminated copy */
struct span arena_dup(struct arena *a, struct span s);
char *arena_fmt(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* frees all; usable again, same cap, unless it was in one of its own blocks */
void arena_release(struct arena *a);
/* n zeroed bytes for what lives in an arena of its own: *a is that arena, to be
 * kept in there, with room for `more`. Aborts when memory is out. */
void *arena_home(struct arena *a, size_t n, size_t more);
/* How many blocks of arenas that were released the process keeps for the next
 * ones, instead of giving them back to the system: 4, at most 64. */
void arena_keep(size_t blocks);

/* Small fixed allocations: zeroed, abort when memory is out. */
void *must_alloc(size_t n);
char *must_dup(const char *s);

/* Secrets: wipe that the compiler keeps; compare in constant time. */
void secret_wipe(void *p, size_t n);
bool secret_equal(const void *a, const void *b, size_t n);

#endif
