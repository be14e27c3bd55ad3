/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values against shapes: what tools/list told a client is what holds. The fault
 * names the member by its path, "command[3]".
 */
#include <string.h>

#include "mcp/inner.h"

/* Where in the arguments we are; a member without a name is "". */
struct place {
	char path[64];
	size_t len;
};

static void
place_put(struct place *p, const char *text)
{
	(void)text_copy(p->path + p->len, sizeof(p->path) - p->len,
	    span_str(text));
	p->len += strlen(p->path + p->len);
}

static void
place_add(struct place *p, const char *before, struct span name)
{
	char shown[40];

	text_escape(name, shown, sizeof(shown));
	place_put(p, before);
	place_put(p, name.len > 0 ? shown : "\"\"");
}

static void
place_index(struct place *p, size_t i)
{
	(void)text_fmt(p->path + p->len, sizeof(p->path) - p->len, "[%zu]", i);
	p->len = strlen(p->path);
}

static void
place_back(struct place *p, size_t len)
{
	p->len = len;
	p->path[len] = '\0';
}

static int
kind_wrong(const struct place *p, const struct json_value *v, const char *want,
    struct fault *f)
{
	return fault_field(f, p->path, "'%s' must be %s, not %s", p->path, want,
	    json_kind_name(v->kind));
}

static int
count_check(const struct place *p, size_t n, const char *unit,
    const struct mcp_field_row *row, struct fault *f)
{
	if (row->min > 0 && n < (size_t)row->min)
		return fault_field(f, p->path,
		    "'%s' has %zu %s, at least %lld are wanted", p->path, n,
		    unit, (long long)row->min);
	if (row->max > 0 && n > (size_t)row->max)
		return fault_field(f, p->path,
		    "'%s' has %zu %s, at most %lld are taken", p->path, n, unit,
		    (long long)row->max);
	return 0;
}

static int
text_check(const struct place *p, const struct json_value *v, bool bytes,
    struct fault *f)
{
	struct span s;

	if (!json_str(v, &s))
		return kind_wrong(p, v, "a string", f);
	if (!bytes && span_find(s, '\0') != s.len)
		return fault_field(f, p->path, "'%s' holds a NUL", p->path);
	return 0;
}

static int
word_check(const struct place *p, const struct json_value *v,
    const struct mcp_field_row *row, struct fault *f)
{
	struct span rest = span_str(row->words);
	struct span s;

	if (!json_str(v, &s))
		return kind_wrong(p, v, "a string", f);
	while (rest.len > 0) {
		size_t n = span_find(rest, ' ');

		if (span_equal(span_of(rest.ptr, n), s))
			return 0;
		rest = span_from(rest, n + 1);
	}
	return fault_field(f, p->path, "'%s' must be one of: %s", p->path,
	    row->words);
}

static int
integer_check(const struct place *p, const struct json_value *v,
    const struct mcp_field_row *row, struct fault *f)
{
	int64_t n;

	if (!json_is(v, JSON_NUMBER))
		return kind_wrong(p, v, "an integer", f);
	if (json_int(v, row->min, row->max, &n))
		return 0;
	if (row->max == INT64_MAX)
		return fault_field(f, p->path,
		    "'%s' must be an integer from %lld on", p->path,
		    (long long)row->min);
	return fault_field(f, p->path, "'%s' must be an integer, %lld to %lld",
	    p->path, (long long)row->min, (long long)row->max);
}

/* Items of an array, or members of an object, that are strings. */
static int
texts_check(struct place *p, const struct json_value *v,
    const struct mcp_field_row *row, struct fault *f)
{
	bool map = row->kind == MCP_MAP;
	size_t len = p->len;
	size_t i = 0;

	if (!json_is(v, map ? JSON_OBJECT : JSON_ARRAY))
		return kind_wrong(p, v, map ? "an object" : "an array", f);
	if (count_check(p, v->count, map ? "members" : "items", row, f) != 0)
		return -1;
	for (const struct json_value *m = json_first(v); m; m = json_next(m)) {
		if (map)
			place_add(p, ".", m->key);
		else
			place_index(p, i++);
		if (map && span_find(m->key, '\0') != m->key.len)
			return fault_field(f, p->path, "'%s' holds a NUL",
			    p->path);
		if (text_check(p, m, false, f) != 0)
			return -1;
		place_back(p, len);
	}
	return 0;
}

static int shape_check(struct place *p, enum mcp_shape shape,
    enum mcp_side side, const struct json_value *v, struct fault *f);

static int
shapes_check(struct place *p, const struct mcp_field_row *row,
    enum mcp_side side, const struct json_value *v, struct fault *f)
{
	size_t len = p->len;
	size_t i = 0;

	if (!json_is(v, JSON_ARRAY))
		return kind_wrong(p, v, "an array", f);
	for (const struct json_value *m = json_first(v); m; m = json_next(m)) {
		place_index(p, i++);
		if (shape_check(p, row->of, side, m, f) != 0)
			return -1;
		place_back(p, len);
	}
	return 0;
}

static int
field_check(struct place *p, const struct mcp_field_row *row,
    enum mcp_side side, const struct json_value *v, struct fault *f)
{
	switch (row->kind) {
	case MCP_TEXT:
	case MCP_BYTES:
		if (text_check(p, v, row->kind == MCP_BYTES, f) != 0)
			return -1;
		return count_check(p, v->text.len, "bytes", row, f);
	case MCP_WORD:
		return word_check(p, v, row, f);
	case MCP_INTEGER:
		return integer_check(p, v, row, f);
	case MCP_TRUTH:
		return json_is(v, JSON_BOOL) ? 0
					     : kind_wrong(p, v, "a boolean", f);
	case MCP_TEXTS:
	case MCP_MAP:
		return texts_check(p, v, row, f);
	case MCP_OBJECT:
		return json_is(v, JSON_OBJECT)
		    ? 0
		    : kind_wrong(p, v, "an object", f);
	case MCP_MANY:
		return shapes_check(p, row, side, v, f);
	case MCP_ONE:
	default:
		return shape_check(p, row->of, side, v, f);
	}
}

/* The members that the shape has; others are not looked at. */
static int
shape_check(struct place *p, enum mcp_shape shape, enum mcp_side side,
    const struct json_value *v, struct fault *f)
{
	const struct mcp_field_row *row = NULL;
	size_t len = p->len;

	if (!json_is(v, JSON_OBJECT))
		return kind_wrong(p, v, "an object", f);
	while ((row = mcp_field_next(shape, side, row)) != NULL) {
		const struct json_value *m = json_get(v, row->name);

		place_add(p, len > 0 ? "." : "", span_str(row->name));
		if (m && field_check(p, row, side, m, f) != 0)
			return -1;
		if (!m && mcp_field_needed(row, side))
			return fault_field(f, p->path, "'%s' is missing",
			    p->path);
		place_back(p, len);
	}
	return 0;
}

static const struct mcp_field_row *
field_find(enum mcp_shape shape, enum mcp_side side, struct span name)
{
	const struct mcp_field_row *row = NULL;

	while ((row = mcp_field_next(shape, side, row)) != NULL)
		if (span_is(name, row->name))
			return row;
	return NULL;
}

static int
known_check(const struct mcp_tool *t, enum mcp_side side,
    const struct json_value *arguments, struct fault *f)
{
	for (const struct json_value *m = json_first(arguments); m;
	     m = json_next(m)) {
		struct place p = { 0 };

		if (field_find(t->in, side, m->key))
			continue;
		place_add(&p, "", m->key);
		if (field_find(t->in, MCP_HOST, m->key))
			return fault_field(f, p.path,
			    "'%s' is not for callers inside a sandbox", p.path);
		return fault_field(f, p.path, "%s has no argument '%s'",
		    t->name, p.path);
	}
	return 0;
}

/* {} for those who left the arguments out. */
static const struct json_value nothing = { .kind = JSON_OBJECT };

int
mcp_arguments_check(const struct mcp_tool *t, enum mcp_side side,
    const struct json_value *arguments, struct fault *f)
{
	struct place p = { 0 };

	if (t->in == MCP_SHAPE_ANY)
		return 0;
	if (!arguments)
		arguments = &nothing;
	if (known_check(t, side, arguments, f) != 0)
		return -1;
	return shape_check(&p, t->in, side, arguments, f);
}

int
mcp_output_check(const struct mcp_tool *t, const struct json_value *value,
    struct fault *f)
{
	struct place p = { 0 };

	if (t->out == MCP_SHAPE_ANY)
		return 0;
	return shape_check(&p, t->out, MCP_HOST, value, f);
}
