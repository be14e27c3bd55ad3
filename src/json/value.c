/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a tree that is built; json/json.h has the contracts. */
#include "base/base.h"
#include "json/inner.h"

bool
json_is(const struct json_value *v, enum json_kind kind)
{
	return v && v->kind == kind;
}

const char *
json_kind_name(enum json_kind kind)
{
	static const char *const names[] = {
		[JSON_NULL] = "null",
		[JSON_BOOL] = "boolean",
		[JSON_NUMBER] = "number",
		[JSON_STRING] = "string",
		[JSON_ARRAY] = "array",
		[JSON_OBJECT] = "object",
	};

	return names[kind];
}

const struct json_value *
json_first(const struct json_value *v)
{
	return v ? v->first : NULL;
}

const struct json_value *
json_next(const struct json_value *v)
{
	return v ? v->next : NULL;
}

const struct json_value *
json_get(const struct json_value *v, const char *key)
{
	if (!json_is(v, JSON_OBJECT))
		return NULL;
	for (v = v->first; v; v = v->next)
		if (span_is(v->key, key))
			return v;
	return NULL;
}

bool
json_str(const struct json_value *v, struct span *out)
{
	if (!json_is(v, JSON_STRING))
		return false;
	*out = v->text;
	return true;
}

bool
json_cstr(const struct json_value *v, const char **out)
{
	if (!json_is(v, JSON_STRING) || span_find(v->text, '\0') != v->text.len)
		return false;
	*out = (const char *)v->text.ptr;
	return true;
}

bool
json_bool(const struct json_value *v, bool *out)
{
	if (!json_is(v, JSON_BOOL))
		return false;
	*out = v->truth;
	return true;
}

bool
json_int(const struct json_value *v, int64_t min, int64_t max, int64_t *out)
{
	bool negative;
	uint64_t size;
	int64_t n;

	if (!json_is(v, JSON_NUMBER))
		return false;
	negative = v->text.ptr[0] == '-';
	if (!num_parse(span_from(v->text, negative),
		(uint64_t)INT64_MAX + negative, &size) ||
	    (negative && size == 0))
		return false;
	/* -(size - 1) - 1, for INT64_MIN has no positive twin */
	n = negative ? -(int64_t)(size - 1) - 1 : (int64_t)size;
	if (n < min || n > max)
		return false;
	*out = n;
	return true;
}

bool
json_uint(const struct json_value *v, uint64_t max, uint64_t *out)
{
	return json_is(v, JSON_NUMBER) && num_parse(v->text, max, out);
}

static int
kind_check(const struct json_value *v, const char *name, enum json_kind kind,
    struct fault *f)
{
	if (v->kind == kind)
		return 0;
	return fault_field(f, name, "%s%sexpected %s, found %s at byte %zu",
	    name, *name ? ": " : "", json_kind_name(kind),
	    json_kind_name(v->kind), v->offset);
}

static bool
key_known(struct span key, const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (span_is(key, keys[i]))
			return true;
	return false;
}

int
json_only(const struct json_value *v, const char *const *keys, size_t n,
    struct fault *f)
{
	char name[64];

	if (kind_check(v, "", JSON_OBJECT, f) != 0)
		return -1;
	for (v = v->first; v; v = v->next) {
		if (key_known(v->key, keys, n))
			continue;
		text_escape(v->key, name, sizeof(name));
		return fault_field(f, name, "unknown key '%s' at byte %zu",
		    name, v->key_offset);
	}
	return 0;
}

int
json_want(const struct json_value *v, const char *key, enum json_kind kind,
    const struct json_value **out, struct fault *f)
{
	const struct json_value *found;

	if (kind_check(v, "", JSON_OBJECT, f) != 0)
		return -1;
	found = json_get(v, key);
	if (found && kind_check(found, key, kind, f) != 0)
		return -1;
	*out = found;
	return 0;
}

int
json_need(const struct json_value *v, const char *key, enum json_kind kind,
    const struct json_value **out, struct fault *f)
{
	const struct json_value *found;

	if (json_want(v, key, kind, &found, f) != 0)
		return -1;
	if (!found)
		return fault_field(f, key, "'%s' is missing at byte %zu", key,
		    v->offset);
	*out = found;
	return 0;
}
