/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From text to tree: check.c has vetted and counted it, jsmn says where tokens
 * begin and end, and one walk over the tokens links the values. With parent
 * links jsmn is linear; without them closing a bracket searches backwards
 * through all tokens. Tokens live in a scratch arena that goes before we return.
 */
#define JSMN_STATIC
#define JSMN_STRICT
#define JSMN_PARENT_LINKS
#include <jsmn.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "json/inner.h"

/* What is known of a token: a key's text, or a value and its last child. */
struct slot {
	struct span key;
	struct json_value *value;
	struct json_value *last;
};

struct tree {
	struct span text;
	jsmntok_t *tokens;
	size_t ntokens;
	struct slot *slots;        /* one a token */
	struct json_value *values; /* in text order */
	size_t nvalues;
	uint8_t *strings; /* where the next decoded string goes */
};

/* A lone number or word has no delimiter, which strict jsmn insists on. */
static bool
lone_scalar(struct span text, jsmntok_t *token)
{
	static const char blanks[] = " \t\n\r";
	size_t begin = 0;
	size_t end = text.len;

	while (strchr(blanks, text.ptr[begin]))
		begin++;
	while (strchr(blanks, text.ptr[end - 1]))
		end--;
	if (strchr("{[\"", text.ptr[begin]))
		return false;
	*token = (jsmntok_t){
		.type = JSMN_PRIMITIVE,
		.start = (int)begin,
		.end = (int)end,
		.parent = -1,
	};
	return true;
}

static void
tokenize(struct tree *t)
{
	jsmn_parser parser;
	int n;

	if (lone_scalar(t->text, &t->tokens[0]))
		return;
	jsmn_init(&parser);
	n = jsmn_parse(&parser, (const char *)t->text.ptr, t->text.len,
	    t->tokens, (unsigned)t->ntokens);
	BUG_IF(n < 0 || (size_t)n != t->ntokens);
}

static struct span
token_span(const struct tree *t, const jsmntok_t *token)
{
	return span_of(t->text.ptr + token->start,
	    (size_t)(token->end - token->start));
}

static struct span
decode(struct tree *t, const jsmntok_t *token)
{
	uint8_t *to = t->strings;
	size_t n = json_string_decode(token_span(t, token), to);

	to[n] = '\0';
	t->strings += n + 1;
	return span_of(to, n);
}

static void
value_fill(struct tree *t, const jsmntok_t *token, struct json_value *v)
{
	struct span raw = token_span(t, token);

	switch (token->type) {
	case JSMN_OBJECT:
		v->kind = JSON_OBJECT;
		break;
	case JSMN_ARRAY:
		v->kind = JSON_ARRAY;
		break;
	case JSMN_STRING:
		v->kind = JSON_STRING;
		v->text = decode(t, token);
		raw = span_of(raw.ptr - 1, raw.len + 2);
		break;
	case JSMN_PRIMITIVE:
		v->truth = raw.ptr[0] == 't';
		v->kind = raw.ptr[0] == 'n'         ? JSON_NULL
		    : v->truth || raw.ptr[0] == 'f' ? JSON_BOOL
						    : JSON_NUMBER;
		if (v->kind == JSON_NUMBER)
			v->text = raw;
		break;
	case JSMN_UNDEFINED:
	default:
		BUG_IF(true);
	}
	v->raw = raw;
	v->offset = (size_t)(raw.ptr - t->text.ptr);
}

/* Link the value of token i below the container it stands in. */
static void
value_link(struct tree *t, size_t i, struct json_value *v)
{
	int parent = t->tokens[i].parent;
	struct slot *above;

	if (parent < 0)
		return;
	if (t->tokens[parent].type == JSMN_STRING) {
		v->key = t->slots[parent].key;
		v->key_offset = (size_t)t->tokens[parent].start - 1;
		parent = t->tokens[parent].parent;
	}
	above = &t->slots[parent];
	if (above->last)
		above->last->next = v;
	else
		above->value->first = v;
	above->last = v;
	above->value->count++;
}

static bool
is_key(const struct tree *t, size_t i)
{
	int parent = t->tokens[i].parent;

	return parent >= 0 && t->tokens[parent].type == JSMN_OBJECT;
}

static void
build(struct tree *t)
{
	for (size_t i = 0; i < t->ntokens; i++) {
		struct json_value *v;

		if (is_key(t, i)) {
			t->slots[i].key = decode(t, &t->tokens[i]);
			continue;
		}
		v = &t->values[t->nvalues++];
		t->slots[i].value = v;
		value_fill(t, &t->tokens[i], v);
		value_link(t, i, v);
	}
}

/* By length, bytes, place: duplicates become neighbours. */
static int
key_order(const void *a, const void *b)
{
	const struct json_value *x = *(const struct json_value *const *)a;
	const struct json_value *y = *(const struct json_value *const *)b;
	int order = 0;

	if (x->key.len != y->key.len)
		return x->key.len < y->key.len ? -1 : 1;
	if (x->key.len)
		order = memcmp(x->key.ptr, y->key.ptr, x->key.len);
	if (order != 0)
		return order;
	return x->key_offset < y->key_offset ? -1 : 1;
}

/* The first member of v whose key was there before, else NULL. */
static const struct json_value *
duplicate_find(const struct json_value *v, const struct json_value **sorted)
{
	const struct json_value *found = NULL;
	size_t n = 0;

	for (const struct json_value *m = v->first; m; m = m->next)
		sorted[n++] = m;
	qsort(sorted, n, sizeof(*sorted), key_order);
	for (size_t i = 1; i < n; i++)
		if (span_equal(sorted[i - 1]->key, sorted[i]->key) &&
		    (!found || sorted[i]->key_offset < found->key_offset))
			found = sorted[i];
	return found;
}

static int
duplicates_refuse(const struct tree *t, const struct json_value **sorted,
    struct fault *f)
{
	for (size_t i = 0; i < t->nvalues; i++) {
		const struct json_value *v = &t->values[i];
		const struct json_value *twice;
		char name[64];

		if (v->kind != JSON_OBJECT || v->count < 2)
			continue;
		twice = duplicate_find(v, sorted);
		if (!twice)
			continue;
		text_escape(twice->key, name, sizeof(name));
		return fault_field(f, name, "duplicate key '%s' at byte %zu",
		    name, twice->key_offset);
	}
	return 0;
}

int
json_parse(struct span text, struct arena *a, const struct json_value **root,
    struct fault *f)
{
	struct json_count n;
	struct tree t = { .text = text };
	struct arena scratch;
	const struct json_value **sorted;
	int rc;

	if (json_scan(text, &n, f) != 0)
		return -1;
	t.ntokens = n.values + n.keys;
	t.values = arena_get(a, n.values * sizeof(*t.values));
	t.strings = arena_get(a, n.string_bytes);
	if (!t.values || !t.strings)
		return fault_set(f, FAULT_LIMIT,
		    "JSON of %zu values is too large for its arena", n.values);
	arena_init(&scratch, SIZE_MAX / 2);
	t.tokens = arena_get(&scratch, t.ntokens * sizeof(*t.tokens));
	t.slots = arena_get(&scratch, t.ntokens * sizeof(*t.slots));
	sorted = arena_get(&scratch, n.keys * sizeof(*sorted));
	BUG_IF(!t.tokens || !t.slots || !sorted);
	tokenize(&t);
	build(&t);
	rc = duplicates_refuse(&t, sorted, f);
	arena_release(&scratch);
	if (rc == 0)
		*root = t.values;
	return rc;
}
