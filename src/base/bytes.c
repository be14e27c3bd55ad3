/* SPDX-License-Identifier: Apache-2.0 */
/* Spans, capped buffers and arenas; base/bytes.h has the contracts. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

/* Not where use after release is looked for. */
#if defined(__SANITIZE_ADDRESS__)
# define KEEPS_SPARES false
#elif defined(__has_feature)
# if __has_feature(address_sanitizer)
#  define KEEPS_SPARES false
# endif
#endif
#ifndef KEEPS_SPARES
# define KEEPS_SPARES true
#endif

enum {
	BUF_FIRST = 1024,
	BUF_SPARES = 64, /* rooms of that size kept */
	ARENA_BLOCK = 8192,
	SPARES = 4,        /* blocks kept, unless more are asked for */
	SPARES_MOST = 64,  /* may be */
	SPARE_MAX = 65536, /* bytes of one */
	ARENA_ALIGN = 16,
	FIND_NEAR = 16, /* bytes; memchr() begins with more than that costs */
};

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t size;
	_Alignas(16) uint8_t data[];
};

size_t
span_find(struct span a, uint8_t c)
{
	size_t near = a.len < FIND_NEAR ? a.len : FIND_NEAR;
	const uint8_t *p;

	for (size_t i = 0; i < near; i++)
		if (a.ptr[i] == c)
			return i;
	if (near == a.len)
		return a.len;
	p = memchr(a.ptr + near, c, a.len - near);
	return p ? (size_t)(p - a.ptr) : a.len;
}

void
buf_init(struct buf *b, size_t max)
{
	memset(b, 0, sizeof(*b));
	b->max = max;
}

/*
 * Rooms of the first size that were given back, for the next buffers, as
 * arenas have their blocks (below).
 */
static uint8_t *rooms[BUF_SPARES];
static size_t rooms_n;

void
buf_release(struct buf *b)
{
	size_t max = b->max;

	if (KEEPS_SPARES && b->cap == BUF_FIRST && rooms_n < BUF_SPARES)
		rooms[rooms_n++] = b->base;
	else
		free(b->base);
	buf_init(b, max);
}

static uint8_t *
room_grown(struct buf *b, size_t want)
{
	uint8_t *grown;

	if (!b->base && want == BUF_FIRST && rooms_n > 0)
		return rooms[--rooms_n];
	grown = realloc(b->base, want);
	BUG_IF(!grown);
	return grown;
}

/*
 * What was eaten stays in front while more than that would have to move: a
 * queue of which each turn takes a little is not moved in each turn, for
 * twice its room at most.
 */
static void
grow(struct buf *b, size_t n)
{
	size_t most = b->off ? 2 * b->max : b->max;
	size_t want = b->cap ? b->cap : BUF_FIRST;

	while (want < b->off + b->len + n)
		want = want > most / 2 ? most : want * 2;
	b->base = room_grown(b, want);
	b->cap = want;
}

uint8_t *
buf_room(struct buf *b, size_t n)
{
	if (n > b->max - b->len)
		return NULL;
	if (b->off + b->len + n <= b->cap && b->base)
		return b->base + b->off + b->len;
	if (b->base && b->off > 0 && b->off >= b->len) {
		memcpy(b->base, b->base + b->off, b->len);
		b->off = 0;
	}
	if (!b->base || b->off + b->len + n > b->cap)
		grow(b, n);
	return b->base + b->off + b->len;
}

void
buf_grew(struct buf *b, size_t n)
{
	BUG_IF(b->off + b->len + n > b->cap);
	b->len += n;
}

int
buf_add(struct buf *b, const void *p, size_t n, struct fault *f)
{
	uint8_t *to;

	if (n == 0)
		return 0;
	to = buf_room(b, n);
	if (!to)
		return fault_set(f, FAULT_LIMIT, "buffer of %zu bytes is full",
		    b->max);
	memcpy(to, p, n);
	buf_grew(b, n);
	return 0;
}

void
buf_eat(struct buf *b, size_t n)
{
	BUG_IF(n > b->len);
	b->off += n;
	b->len -= n;
	if (b->len == 0)
		b->off = 0;
}

void
buf_clear(struct buf *b)
{
	b->off = 0;
	b->len = 0;
}

size_t
buf_left(const struct buf *b)
{
	return b->max - b->len;
}

struct span
buf_span(const struct buf *b)
{
	return (struct span){ b->base ? b->base + b->off : NULL, b->len };
}

uint8_t *
buf_ptr(struct buf *b)
{
	return b->base ? b->base + b->off : NULL;
}

int
buf_fmt(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	va_list again;
	int n;
	uint8_t *to;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	to = n < 0 ? NULL : buf_room(b, (size_t)n + 1);
	if (to) {
		(void)vsnprintf((char *)to, (size_t)n + 1, fmt, again);
		buf_grew(b, (size_t)n);
	}
	va_end(again);
	return to ? 0 : -1;
}

/*
 * Blocks that were given back, for the next arenas: empty, and all zero. The C
 * library would have the kernel unmap them and map new ones, page by page,
 * which in a guest is a good part of the time that a message takes.
 */
static struct arena_block *spares[SPARES_MOST];
static size_t spares_n;
static size_t spares_most = SPARES;

void
arena_keep(size_t blocks)
{
	spares_most = blocks < SPARES_MOST ? blocks : SPARES_MOST;
}

static struct arena_block *
block_new(size_t size)
{
	struct arena_block *b;

	for (size_t i = spares_n; i > 0; i--) {
		b = spares[i - 1];
		if (b->size < size)
			continue;
		spares[i - 1] = spares[--spares_n];
		return b;
	}
	b = must_alloc(sizeof(*b) + size);
	b->size = size;
	return b;
}

static void
block_free(struct arena_block *b)
{
	if (KEEPS_SPARES && spares_n < spares_most && b->size <= SPARE_MAX) {
		secret_wipe(b->data, b->used);
		b->used = 0;
		spares[spares_n++] = b;
		return;
	}
	free(b);
}

void
arena_init(struct arena *a, size_t cap)
{
	*a = (struct arena){ .cap = cap };
}

void *
arena_get(struct arena *a, size_t n)
{
	struct arena_block *block = a->blocks;
	size_t need;

	if (n > a->cap)
		return NULL;
	need = (n + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	if (need > a->cap - a->used)
		return NULL;
	if (!block || block->size - block->used < need) {
		size_t size = need > ARENA_BLOCK ? need : ARENA_BLOCK;
		block = block_new(size);
		block->next = a->blocks;
		a->blocks = block;
	}
	a->used += need;
	block->used += need;
	return block->data + block->used - need;
}

void *
arena_home(struct arena *a, size_t n, size_t more)
{
	void *p;

	arena_init(a, n + ARENA_ALIGN + more);
	p = arena_get(a, n);
	BUG_IF(!p);
	return p;
}

char *
arena_str(struct arena *a, struct span s)
{
	char *to = s.len < SIZE_MAX ? arena_get(a, s.len + 1) : NULL;

	if (to && s.len)
		memcpy(to, s.ptr, s.len);
	return to;
}

struct span
arena_dup(struct arena *a, struct span s)
{
	char *to = arena_str(a, s);

	return to ? span_of(to, s.len) : span_of(NULL, 0);
}

char *
arena_fmt(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	va_list again;
	int n;
	char *to = NULL;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n >= 0)
		to = arena_get(a, (size_t)n + 1);
	if (to)
		(void)vsnprintf(to, (size_t)n + 1, fmt, again);
	va_end(again);
	return to;
}

void
arena_release(struct arena *a)
{
	struct arena_block *b = a->blocks;

	a->blocks = NULL;
	a->used = 0;
	while (b) {
		struct arena_block *next = b->next;

		block_free(b); /* perhaps the one that *a is in */
		b = next;
	}
}

void *
must_alloc(size_t n)
{
	void *p = calloc(1, n ? n : 1);

	BUG_IF(!p);
	return p;
}

char *
must_dup(const char *s)
{
	size_t n = strlen(s) + 1;
	char *to = must_alloc(n);

	memcpy(to, s, n);
	return to;
}

void
secret_wipe(void *p, size_t n)
{
	if (n > 0)
		memset(p, 0, n);
	/* The compiler must think that somebody looks at it. */
	__asm__ volatile("" : : "r"(p) : "memory");
}

bool
secret_equal(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a;
	const uint8_t *y = b;
	unsigned diff = 0;

	for (size_t i = 0; i < n; i++)
		diff |= (unsigned)(x[i] ^ y[i]);
	return diff == 0;
}
