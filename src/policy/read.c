/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking a tree: where we are, what is wrong there, and values by kind. What
 * a stranger wrote is escaped and cut when it is repeated in a sentence.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "policy/inner.h"

enum {
	CRUMB_TEXT = 48, /* of a key in a message */
};

static void
push(struct reader *r, struct crumb c)
{
	BUG_IF(r->depth == CRUMBS);
	r->crumbs[r->depth++] = c;
}

void
enter(struct reader *r, const char *name)
{
	push(r, (struct crumb){ span_str(name), 0 });
}

void
enter_key(struct reader *r, struct span name)
{
	push(r, (struct crumb){ name.len ? name : span_str("\"\""), 0 });
}

void
enter_index(struct reader *r, uint32_t index)
{
	push(r, (struct crumb){ { NULL, 0 }, index });
}

void
leave(struct reader *r)
{
	BUG_IF(r->depth == 0);
	r->depth--;
}

struct policy_place
place_of(const struct yaml_node *node)
{
	return (struct policy_place){ node->line, node->column };
}

/* "network_policies.api.endpoints[0].ports[1]: " */
static void
path_format(const struct reader *r, char *out, size_t size)
{
	size_t used = 0;
	char name[CRUMB_TEXT];

	out[0] = '\0';
	for (size_t i = 0; i < r->depth; i++) {
		const struct crumb *c = &r->crumbs[i];

		text_escape(c->name, name, sizeof(name));
		if (c->name.len > 0)
			(void)text_fmt(out + used, size - used, "%s%s",
			    i ? "." : "", name);
		else
			(void)text_fmt(out + used, size - used, "[%u]",
			    (unsigned)c->index);
		used = strlen(out);
	}
	if (r->depth > 0)
		(void)text_fmt(out + used, size - used, ": ");
}

static void
note(struct reader *r, struct policy_place at, const char *what)
{
	char path[YAML_ERROR_TEXT];

	path_format(r, path, sizeof(path));
	yaml_error(r->errors, at.line, at.column, "%s%s", path, what);
}

void
read_error(struct reader *r, const struct yaml_node *node, const char *fmt, ...)
{
	char what[YAML_ERROR_TEXT];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	note(r, place_of(node), what);
}

void
read_fault(struct reader *r, const struct yaml_node *node,
    const struct fault *f)
{
	if (f->code == FAULT_LIMIT)
		r->spent = true;
	else
		note(r, place_of(node), f->text);
}

void *
read_room(struct reader *r, size_t n, size_t size)
{
	void *room = arena_get(r->a, (n ? n : 1) * size);

	if (!room)
		r->spent = true;
	return room;
}

static const char *
kind_of(const struct yaml_node *node)
{
	return yaml_is_null(node) ? "nothing" : yaml_kind_name(node->kind);
}

bool
read_list(struct reader *r, const struct yaml_node *node)
{
	if (node->kind == YAML_LIST)
		return true;
	read_error(r, node, "expected list, found %s", kind_of(node));
	return false;
}

/* Bytes put in, left out or changed that part two names, at most `most` + 1. */
static size_t
distance(struct span a, const char *b, size_t most)
{
	size_t n = strlen(b);
	size_t row[CRUMB_TEXT];
	size_t least = 0;

	if (n >= CRUMB_TEXT || a.len > n + most || n > a.len + most)
		return most + 1;
	for (size_t k = 0; k <= n; k++)
		row[k] = k;
	for (size_t i = 0; i < a.len && least <= most; i++) {
		size_t corner = row[0];

		least = row[0] = i + 1;
		for (size_t k = 0; k < n; k++) {
			size_t change = corner + (a.ptr[i] != (uint8_t)b[k]);
			size_t other =
			    (row[k] < row[k + 1] ? row[k] : row[k + 1]) + 1;

			corner = row[k + 1];
			row[k + 1] = change < other ? change : other;
			if (row[k + 1] < least)
				least = row[k + 1];
		}
	}
	return least > most ? most + 1 : row[n];
}

/* The key that was meant, perhaps; NULL: none is near. */
static const char *
nearest(struct span key, const char *const *keys, size_t n)
{
	size_t most = key.len < 5 ? 1 : 2;
	const char *best = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t d = distance(key, keys[i], most);

		if (d <= most) {
			best = keys[i];
			most = d - 1; /* d > 0: it is not known */
		}
	}
	return best;
}

static void
unknown(struct reader *r, const struct yaml_node *node, const char *const *keys,
    size_t n)
{
	const char *meant = nearest(node->key, keys, n);
	char name[CRUMB_TEXT];
	char what[3 * CRUMB_TEXT];

	text_escape(node->key, name, sizeof(name));
	(void)text_fmt(what, sizeof(what), "unknown key '%s': %s%s%s", name,
	    meant ? "write '" : "remove it", meant ? meant : "",
	    meant ? "'" : "");
	note(r, (struct policy_place){ node->key_line, node->key_column },
	    what);
}

static bool
is_known(struct span key, const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (span_is(key, keys[i]))
			return true;
	return false;
}

bool
read_map(struct reader *r, const struct yaml_node *node,
    const char *const *keys, size_t n)
{
	if (node->kind != YAML_MAP) {
		read_error(r, node, "expected map, found %s", kind_of(node));
		return false;
	}
	for (node = node->first; node; node = node->next)
		if (!is_known(node->key, keys, n))
			unknown(r, node, keys, n);
	return true;
}

static bool
has_control(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] < ' ' || s.ptr[i] == 0x7f)
			return true;
	return false;
}

bool
read_string(struct reader *r, const struct yaml_node *node, struct span *out)
{
	struct span s;

	/* In JSON a number is no string, though both are scalars here. */
	if (!yaml_str(node, &s) || (r->source == READ_JSON && node->plain)) {
		read_error(r, node, "expected string, found %s",
		    node->kind == YAML_SCALAR && !yaml_is_null(node)
			? "another value"
			: kind_of(node));
		return false;
	}
	if (s.len > POLICY_PATTERN) {
		read_error(r, node, "over %d bytes", POLICY_PATTERN);
		return false;
	}
	if (has_control(s) || !utf8_valid(s)) {
		read_error(r, node,
		    "control bytes and broken UTF-8 are "
		    "not supported");
		return false;
	}
	*out = s;
	return true;
}

bool
read_text(struct reader *r, const struct yaml_node *map, const char *key,
    struct span *out)
{
	const struct yaml_node *node = yaml_get(map, key);
	struct span s;
	bool ok;

	if (!node)
		return false;
	enter(r, key);
	ok = read_string(r, node, &s) && s.len > 0;
	leave(r);
	if (ok)
		*out = s;
	return ok;
}

bool
read_flag(struct reader *r, const struct yaml_node *map, const char *key,
    bool *out)
{
	const struct yaml_node *node = yaml_get(map, key);
	bool ok;

	if (!node)
		return false;
	enter(r, key);
	ok = yaml_bool(node, out);
	if (!ok)
		read_error(r, node, "must be true or false");
	leave(r);
	return ok;
}

bool
read_number(struct reader *r, const struct yaml_node *map, const char *key,
    uint32_t max, uint32_t *out)
{
	const struct yaml_node *node = yaml_get(map, key);
	uint64_t value;
	bool ok;

	if (!node)
		return false;
	enter(r, key);
	ok = yaml_uint(node, max, &value) && value > 0;
	if (ok)
		*out = (uint32_t)value;
	else
		read_error(r, node, "must be a number 1..%lu",
		    (unsigned long)max);
	leave(r);
	return ok;
}

static void
words_error(struct reader *r, const struct yaml_node *node,
    const char *const *words, size_t n)
{
	char list[YAML_ERROR_TEXT] = "";
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		if (!words[i] || !*words[i])
			continue;
		(void)text_fmt(list + used, sizeof(list) - used, "%s%s",
		    used ? ", " : "", words[i]);
		used = strlen(list);
	}
	read_error(r, node, "must be one of: %s", list);
}

bool
read_word(struct reader *r, const struct yaml_node *map, const char *key,
    const char *const *words, size_t n, unsigned *out)
{
	struct span s;
	bool found = false;

	if (!read_text(r, map, key, &s))
		return false;
	for (unsigned i = 0; i < n; i++)
		if (words[i] && span_is(s, words[i])) {
			*out = i;
			found = true;
		}
	if (found)
		return true;
	enter(r, key);
	words_error(r, yaml_get(map, key), words, n);
	leave(r);
	return false;
}
