/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON, strict RFC 8259 both ways. A text is checked whole before a tree is
 * built, so whoever holds a tree holds valid JSON: one value, valid UTF-8, no
 * lone surrogate, no duplicate key, bounded depth and number of values. Reading
 * takes time linear in the text (n log n in the members of one object). A byte
 * order mark is refused.
 */
#ifndef JSON_JSON_H
#define JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

enum {
	JSON_DEPTH = 64,        /* containers inside each other, both ways */
	JSON_TOKENS = 1 << 16,  /* values and keys of one text */
	JSON_BYTES = 256 << 20, /* longest text looked at; callers cap lower */
};

enum json_kind {
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

/*
 * One value. Everything lives in the arena of json_parse(), except raw, which
 * borrows the text. Decoded text is followed by a NUL byte, and may hold NUL
 * bytes itself: "\u0000" is valid JSON. Use json_cstr() where that is wrong.
 */
struct json_value {
	enum json_kind kind;
	bool truth;    /* of JSON_BOOL */
	size_t count;  /* items of an array, members of an object */
	size_t offset; /* of the value's first byte in the text */
	size_t key_offset;
	struct span key;  /* decoded, of a member of an object; else empty */
	struct span text; /* decoded string; a number as written; else empty */
	struct span raw;  /* the value as written */
	const struct json_value *first;
	const struct json_value *next;
};

/*
 * Syntax alone, no memory used. FAULT_INVALID, or FAULT_LIMIT past a cap; the
 * sentence ends in "at byte N". Duplicate keys are not looked for.
 */
int json_check(struct span text, struct fault *f) MUST_CHECK;
/*
 * Check text and build its tree in a. As json_check(), and FAULT_INVALID for a
 * duplicate key, FAULT_LIMIT when the arena is spent. *root is set on 0 only.
 */
int json_parse(struct span text, struct arena *a,
    const struct json_value **root, struct fault *f) MUST_CHECK;

/* Questions; v may be NULL (an absent member), which is of no kind. */
bool json_is(const struct json_value *v, enum json_kind kind);
const char *json_kind_name(enum json_kind kind); /* "string", "object" */
/* The member of that name, else NULL; also NULL when v is no object. */
const struct json_value *json_get(const struct json_value *v, const char *key);
/* Walk the items of an array or the members of an object, in text order. */
const struct json_value *json_first(const struct json_value *v);
const struct json_value *json_next(const struct json_value *v);

/* False, and *out untouched, when v is NULL, of another kind or outside. */
bool json_str(const struct json_value *v, struct span *out) MUST_CHECK;
/* A string without NUL bytes; the pointer lives in the arena. */
bool json_cstr(const struct json_value *v, const char **out) MUST_CHECK;
bool json_bool(const struct json_value *v, bool *out) MUST_CHECK;
/* Plain integers only: "1.0", "1e3" and "-0" are none. */
bool json_int(const struct json_value *v, int64_t min, int64_t max,
    int64_t *out) MUST_CHECK;
bool json_uint(const struct json_value *v, uint64_t max,
    uint64_t *out) MUST_CHECK;

/*
 * v is an object and has none but these n keys, else FAULT_INVALID with the
 * unknown key as field and its offset in the sentence.
 */
int json_only(const struct json_value *v, const char *const *keys, size_t n,
    struct fault *f) MUST_CHECK;
/* The member of that name and kind, or FAULT_INVALID naming it. */
int json_need(const struct json_value *v, const char *key, enum json_kind kind,
    const struct json_value **out, struct fault *f) MUST_CHECK;
/* As json_need(), but *out is NULL and 0 is returned when it is absent. */
int json_want(const struct json_value *v, const char *key, enum json_kind kind,
    const struct json_value **out, struct fault *f) MUST_CHECK;

/*
 * Writer: compact text appended to a buffer. A full buffer is remembered and
 * told once, by json_out_done(). Calls out of order (a value without its key,
 * an end too many) are our own mistakes and abort.
 *
 *	json_out_init(&o, &b);
 *	json_out_object(&o);
 *	json_out_key(&o, "name");
 *	json_out_str(&o, name);
 *	json_out_end(&o);
 *	return json_out_done(&o, f);
 */
struct json_out {
	struct buf *buf; /* borrowed */
	size_t start;    /* length of buf at json_out_init() */
	unsigned depth;
	bool full;
	bool keyed;         /* a key waits for its value */
	bool some;          /* the open container, or the text, has a value */
	uint64_t is_object; /* one bit a depth */
};

void json_out_init(struct json_out *o, struct buf *b);
void json_out_object(struct json_out *o);
void json_out_array(struct json_out *o);
void json_out_end(struct json_out *o); /* of the innermost container */
void json_out_key(struct json_out *o, const char *key);
/* Each byte that is not part of valid UTF-8 is written as U+FFFD. */
void json_out_str(struct json_out *o, struct span s);
void json_out_text(struct json_out *o, const char *s); /* NULL: "" */
void json_out_int(struct json_out *o, int64_t n);
void json_out_uint(struct json_out *o, uint64_t n);
void json_out_bool(struct json_out *o, bool truth);
void json_out_null(struct json_out *o);
/* One value that is known to be valid JSON, byte for byte. */
void json_out_raw(struct json_out *o, struct span s);
/*
 * The text is one complete value, or FAULT_LIMIT and the buffer is back at its
 * length before json_out_init(). Unclosed containers abort.
 */
int json_out_done(struct json_out *o, struct fault *f) MUST_CHECK;

#endif
