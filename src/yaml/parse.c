/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From libyaml's events to a tree. What plain YAML leaves out is refused here,
 * at its place, and reading goes on where that makes sense, so that one run
 * shows most of what is wrong. No recursion: the open maps and lists are a
 * stack of YAML_DEPTH frames. The only file that sees libyaml.
 */
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/base.h"
#include "yaml/yaml.h"

/* An open map or list. */
struct frame {
	struct yaml_node *node;
	struct yaml_node *last;
	bool keyed; /* a key waits for its value */
	struct span key;
	uint32_t key_line;
	uint32_t key_column;
};

struct reader {
	yaml_parser_t parser;
	struct arena *arena;
	struct yaml_errors *errors;
	struct yaml_node *root;
	struct frame stack[YAML_DEPTH];
	size_t depth;
	size_t nodes;
	bool document; /* one has begun */
};

/* A scalar or the beginning of a map or list, cut loose from libyaml. */
struct item {
	enum yaml_kind kind;
	bool plain;
	struct span text;
	yaml_mark_t mark;
};

static void
refuse(struct reader *r, yaml_mark_t mark, const char *what)
{
	yaml_error(r->errors, (uint32_t)mark.line + 1,
	    (uint32_t)mark.column + 1, "%s", what);
}

static int
arena_spent(struct fault *f)
{
	return fault_set(f, FAULT_LIMIT, "YAML is too large for its arena");
}

/* Of the map's own keys: the scalar that is one, or why it cannot be. */
static int
key_take(struct reader *r, struct frame *top, const struct item *item,
    struct fault *f)
{
	if (item->kind != YAML_SCALAR) {
		refuse(r, item->mark, "a key must be a scalar");
		return fault_set(f, FAULT_INVALID, "key");
	}
	if (item->plain && span_is(item->text, "<<"))
		refuse(r, item->mark, "merge keys are not supported");
	if (item->plain && item->text.len == 0)
		refuse(r, item->mark, "a key is missing");
	top->key = arena_dup(r->arena, item->text);
	if (!top->key.ptr)
		return arena_spent(f);
	top->keyed = true;
	top->key_line = (uint32_t)item->mark.line + 1;
	top->key_column = (uint32_t)item->mark.column + 1;
	return 0;
}

static void
node_link(struct reader *r, struct yaml_node *node)
{
	struct frame *top = r->depth ? &r->stack[r->depth - 1] : NULL;

	if (!top) {
		r->root = node;
		return;
	}
	if (top->keyed) {
		node->key = top->key;
		node->key_line = top->key_line;
		node->key_column = top->key_column;
		top->keyed = false;
	}
	if (top->last)
		top->last->next = node;
	else
		top->node->first = node;
	top->last = node;
	top->node->count++;
}

static int
node_take(struct reader *r, const struct item *item, struct fault *f)
{
	struct frame *top = r->depth ? &r->stack[r->depth - 1] : NULL;
	struct yaml_node *node;

	if (top && top->node->kind == YAML_MAP && !top->keyed)
		return key_take(r, top, item, f);
	if (r->nodes == YAML_NODES)
		return fault_set(f, FAULT_LIMIT, "YAML has over %d values",
		    YAML_NODES);
	r->nodes++;
	node = arena_get(r->arena, sizeof(*node));
	if (!node)
		return arena_spent(f);
	node->kind = item->kind;
	node->plain = item->plain;
	node->line = (uint32_t)item->mark.line + 1;
	node->column = (uint32_t)item->mark.column + 1;
	if (item->kind == YAML_SCALAR) {
		node->text = arena_dup(r->arena, item->text);
		if (!node->text.ptr)
			return arena_spent(f);
	}
	node_link(r, node);
	if (item->kind == YAML_SCALAR)
		return 0;
	if (r->depth == YAML_DEPTH) {
		refuse(r, item->mark, "maps and lists are nested too deeply");
		return fault_set(f, FAULT_INVALID, "depth");
	}
	r->stack[r->depth++] = (struct frame){ .node = node };
	return 0;
}

/* By length, bytes, place: duplicates become neighbours. */
static int
key_order(const void *a, const void *b)
{
	const struct yaml_node *x = *(const struct yaml_node *const *)a;
	const struct yaml_node *y = *(const struct yaml_node *const *)b;
	int order = 0;

	if (x->key.len != y->key.len)
		return x->key.len < y->key.len ? -1 : 1;
	if (x->key.len)
		order = memcmp(x->key.ptr, y->key.ptr, x->key.len);
	if (order != 0)
		return order;
	if (x->key_line != y->key_line)
		return x->key_line < y->key_line ? -1 : 1;
	return x->key_column < y->key_column ? -1 : 1;
}

static void
duplicates_refuse(struct reader *r, const struct yaml_node *map)
{
	const struct yaml_node **sorted;
	size_t n = 0;

	if (map->count < 2)
		return;
	sorted = must_alloc(map->count * sizeof(const struct yaml_node *));
	for (const struct yaml_node *m = map->first; m; m = m->next)
		sorted[n++] = m;
	qsort(sorted, n, sizeof(const struct yaml_node *), key_order);
	for (size_t i = 1, first = 0; i < n; i++) {
		char name[64];

		if (!span_equal(sorted[first]->key, sorted[i]->key)) {
			first = i;
			continue;
		}
		text_escape(sorted[i]->key, name, sizeof(name));
		yaml_error(r->errors, sorted[i]->key_line,
		    sorted[i]->key_column,
		    "duplicate key '%s', first on line %u", name,
		    (unsigned)sorted[first]->key_line);
	}
	free(sorted);
}

static void
container_end(struct reader *r)
{
	BUG_IF(r->depth == 0);
	r->depth--;
	if (r->stack[r->depth].node->kind == YAML_MAP)
		duplicates_refuse(r, r->stack[r->depth].node);
}

static int
document_begin(struct reader *r, const yaml_event_t *e, struct fault *f)
{
	if (r->document) {
		refuse(r, e->start_mark,
		    "a second document is not supported: write one, "
		    "without '---'");
		return fault_set(f, FAULT_INVALID, "document");
	}
	r->document = true;
	return 0;
}

static void
marks_refuse(struct reader *r, const yaml_event_t *e, const void *anchor,
    const void *tag)
{
	if (anchor)
		refuse(r, e->start_mark, "anchors are not supported");
	if (tag)
		refuse(r, e->start_mark, "explicit tags are not supported");
}

/*
 * One event into the tree. -1 ends reading: errors has the reason, or *f is
 * FAULT_LIMIT.
 */
static int
event_take(struct reader *r, const yaml_event_t *e, struct fault *f)
{
	struct item item = { .mark = e->start_mark };

	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		return document_begin(r, e, f);
	case YAML_ALIAS_EVENT:
		refuse(r, e->start_mark, "aliases are not supported");
		item.text = span_str((const char *)e->data.alias.anchor);
		return node_take(r, &item, f);
	case YAML_SCALAR_EVENT:
		marks_refuse(r, e, e->data.scalar.anchor, e->data.scalar.tag);
		item.plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
		item.text =
		    span_of(e->data.scalar.value, e->data.scalar.length);
		return node_take(r, &item, f);
	case YAML_SEQUENCE_START_EVENT:
		marks_refuse(r, e, e->data.sequence_start.anchor,
		    e->data.sequence_start.tag);
		item.kind = YAML_LIST;
		return node_take(r, &item, f);
	case YAML_MAPPING_START_EVENT:
		marks_refuse(r, e, e->data.mapping_start.anchor,
		    e->data.mapping_start.tag);
		item.kind = YAML_MAP;
		return node_take(r, &item, f);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		container_end(r);
		return 0;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return 0;
	}
	BUG_IF(true);
	return -1;
}

/* Add an error at the byte `at` of text. */
static void
refuse_at(struct reader *r, struct span text, size_t at, const char *what)
{
	yaml_mark_t mark = { 0 };

	for (size_t i = 0; i < at && i < text.len; i++) {
		if (text.ptr[i] == '\n') {
			mark.line++;
			mark.column = 0;
		} else if ((text.ptr[i] & 0xc0) != 0x80) {
			mark.column++;
		}
	}
	refuse(r, mark, what);
}

/* The byte of the character of that index, 0 past the end. */
static uint8_t
byte_of(struct span text, size_t index)
{
	for (size_t i = 0; i < text.len; i++) {
		if ((text.ptr[i] & 0xc0) == 0x80)
			continue;
		if (index-- == 0)
			return text.ptr[i];
	}
	return 0;
}

static void
syntax_refuse(struct reader *r, struct span text)
{
	const yaml_parser_t *p = &r->parser;

	BUG_IF(p->error == YAML_MEMORY_ERROR);
	if (p->error == YAML_READER_ERROR)
		refuse_at(r, text, p->problem_offset, p->problem);
	else if (byte_of(text, p->problem_mark.index) == '\t')
		refuse(r, p->problem_mark, "a tab: use spaces");
	else
		yaml_error(r->errors, (uint32_t)p->problem_mark.line + 1,
		    (uint32_t)p->problem_mark.column + 1, "%s%s%s",
		    p->context ? p->context : "", p->context ? ": " : "",
		    p->problem);
}

static int
events_take(struct reader *r, struct span text, struct fault *f)
{
	yaml_event_type_t type;
	int rc;

	do {
		yaml_event_t e;

		if (!yaml_parser_parse(&r->parser, &e)) {
			syntax_refuse(r, text);
			return fault_set(f, FAULT_INVALID, "syntax");
		}
		type = e.type;
		rc = event_take(r, &e, f);
		yaml_event_delete(&e);
	} while (rc == 0 && type != YAML_STREAM_END_EVENT);
	return rc;
}

/* Length of the UTF-8 sequence s begins with, 0 when it is none. */
static size_t
sequence_length(struct span s)
{
	for (size_t n = 1; n <= 4 && n <= s.len; n++)
		if (utf8_valid(span_of(s.ptr, n)))
			return n;
	return 0;
}

/* Before libyaml guesses an encoding of its own. */
static int
encoding_check(struct reader *r, struct span text, struct fault *f)
{
	size_t at = 0;

	if (text.len >= 2 &&
	    (text.ptr[0] == 0 || text.ptr[1] == 0 || text.ptr[0] >= 0xfe)) {
		refuse_at(r, text, 0, "UTF-16 or UTF-32: save it as UTF-8");
		return fault_set(f, FAULT_INVALID, "encoding");
	}
	if (utf8_valid(text))
		return 0;
	while (sequence_length(span_from(text, at)) > 0)
		at += sequence_length(span_from(text, at));
	refuse_at(r, text, at, "invalid UTF-8");
	return fault_set(f, FAULT_INVALID, "encoding");
}

/* Whether libyaml sees a line begin at `at`. */
static bool
is_line_begin(struct span text, size_t at)
{
	static const char *const breaks[] = { "\n", "\r", "\xc2\x85",
		"\xe2\x80\xa8", "\xe2\x80\xa9" };

	for (size_t i = 0; i < NELEM(breaks); i++) {
		size_t n = strlen(breaks[i]);

		if (at >= n && memcmp(text.ptr + at - n, breaks[i], n) == 0)
			return true;
	}
	return at == 0;
}

/*
 * Before libyaml compares each %TAG with all before it. In a policy no line
 * can begin with a % of another meaning, short of odd multi-line strings.
 */
static int
directives_check(struct reader *r, struct span text, struct fault *f)
{
	for (size_t at = 0; at < text.len; at++)
		if (text.ptr[at] == '%' && is_line_begin(text, at)) {
			refuse_at(r, text, at, "directives are not supported");
			return fault_set(f, FAULT_INVALID, "directive");
		}
	return 0;
}

int
yaml_parse(struct span text, struct arena *a, const struct yaml_node **root,
    struct yaml_errors *errors, struct fault *f)
{
	struct reader r = { .arena = a, .errors = errors };
	int rc;

	yaml_errors_init(errors);
	if (text.len > YAML_BYTES)
		return fault_set(f, FAULT_LIMIT, "YAML is over %d bytes",
		    YAML_BYTES);
	if (span_starts(text, "\xef\xbb\xbf"))
		text = span_from(text, 3);
	rc = encoding_check(&r, text, f);
	if (rc == 0)
		rc = directives_check(&r, text, f);
	if (rc == 0) {
		BUG_IF(!yaml_parser_initialize(&r.parser));
		yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
		yaml_parser_set_input_string(&r.parser, text.ptr, text.len);
		rc = events_take(&r, text, f);
		yaml_parser_delete(&r.parser);
	}
	if (rc != 0 && f->code == FAULT_LIMIT)
		return -1;
	if (rc == 0 && !r.root)
		yaml_error(errors, 1, 1, "nothing but blanks and comments");
	if (errors->count > 0)
		return yaml_fault(errors, FAULT_INVALID, f);
	*root = r.root;
	return 0;
}
