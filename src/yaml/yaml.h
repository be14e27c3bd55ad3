/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain YAML as a tree with places: the syntax of policy files and of the
 * gateway's settings (POLICY.md 1). Refused, with line and column: anchors,
 * aliases, explicit tags, merge keys, directives, a second document, keys that
 * are not scalars, duplicate keys, depth over YAML_DEPTH, anything but UTF-8.
 * What a scalar means is asked later, by yaml_bool() and its kin: nothing is a
 * boolean or a number because of how it looks.
 */
#ifndef YAML_YAML_H
#define YAML_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

enum {
	YAML_DEPTH = 32,        /* maps and lists inside each other */
	YAML_BYTES = 256 << 10, /* of one text */
	YAML_NODES = 1 << 16,   /* of one text; a key is no node */
	YAML_ERRORS = 20,       /* kept; the rest is counted */
	YAML_ERROR_TEXT = 200,
};

enum yaml_kind {
	YAML_SCALAR,
	YAML_LIST,
	YAML_MAP,
};

/* Lines and columns count from 1, columns in characters. */
struct yaml_node {
	enum yaml_kind kind;
	bool plain; /* scalar without quotes, | or > */
	uint32_t line;
	uint32_t column;
	uint32_t key_line; /* of the key before it, in a map; else 0 */
	uint32_t key_column;
	size_t count;     /* items or members */
	struct span key;  /* in a map; else empty */
	struct span text; /* of a scalar; a NUL byte follows */
	const struct yaml_node *first;
	const struct yaml_node *next;
};

/* What is wrong, by place; filled by yaml_parse() and by its callers. */
struct yaml_errors {
	size_t count; /* all that were found; YAML_ERRORS of them are kept */
	struct yaml_error {
		uint32_t line;
		uint32_t column;
		char text[YAML_ERROR_TEXT];
	} list[YAML_ERRORS];
};

/*
 * The tree of text, in a. FAULT_INVALID with errors filled (count >= 1);
 * FAULT_LIMIT past a cap or when the arena is spent. A text without a value
 * (empty, comments only) is INVALID. errors need not be initialised. *root is
 * set on 0 only. Nothing borrows text.
 */
int yaml_parse(struct span text, struct arena *a, const struct yaml_node **root,
    struct yaml_errors *errors, struct fault *f) MUST_CHECK;

/* Questions; node may be NULL (an absent member), which is of no kind. */
bool yaml_is(const struct yaml_node *node, enum yaml_kind kind);
const char *yaml_kind_name(enum yaml_kind kind); /* "map", "list", "scalar" */
/* Nothing, ~ or null, without quotes. */
bool yaml_is_null(const struct yaml_node *node);
/* The member of that name, else NULL; also NULL when node is no map. */
const struct yaml_node *yaml_get(const struct yaml_node *node, const char *key);
const struct yaml_node *yaml_first(const struct yaml_node *node);
const struct yaml_node *yaml_next(const struct yaml_node *node);

/* False, and *out untouched, when node is NULL or not of that form. */
/* A scalar; without quotes it is not null, true or false. */
bool yaml_str(const struct yaml_node *node, struct span *out) MUST_CHECK;
/* true or false, without quotes. */
bool yaml_bool(const struct yaml_node *node, bool *out) MUST_CHECK;
/* Plain decimal up to max, without quotes. */
bool yaml_uint(const struct yaml_node *node, uint64_t max,
    uint64_t *out) MUST_CHECK;

void yaml_errors_init(struct yaml_errors *e);
/* Add one, where its place puts it; the furthest are dropped when full. */
void yaml_error(struct yaml_errors *e, uint32_t line, uint32_t column,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/*
 * All kept errors as one sentence, "3:5: what; 7:1: what; and 4 more", as the
 * text of a fault of that code. Returns -1. e->count is at least 1.
 */
int yaml_fault(const struct yaml_errors *e, enum fault_code code,
    struct fault *f);

#endif
