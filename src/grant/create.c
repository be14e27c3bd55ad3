/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of create_sandbox as JSON: names and types only. Whether they
 * may be is check.c's, which every surface asks.
 */
#include <string.h>

#include "grant/inner.h"

void
grant_create_init(struct grant_create *c)
{
	*c = (struct grant_create){ .kind = GRANT_AGENT,
		.idle_seconds = GRANT_IDLE_S,
		.wait_ms = GRANT_WAIT_MS };
}

static int
read_text(const struct json_value *v, const char *key, bool *has,
    struct span *out, struct fault *f)
{
	const struct json_value *m;

	if (json_want(v, key, JSON_STRING, &m, f) < 0)
		return -1;
	*has = m != NULL;
	if (m)
		*out = m->text;
	return 0;
}

/* Whole numbers of any size become one outside every range. */
static int
read_number(const struct json_value *v, const char *key, bool *has,
    int64_t *out, struct fault *f)
{
	const struct json_value *m = json_get(v, key);

	*has = m != NULL;
	if (!m || json_int(m, INT32_MIN, INT32_MAX, out))
		return 0;
	return fault_field(f, key, "%s must be a whole number", key);
}

static int
read_kind(struct grant_create *c, const struct json_value *v, struct fault *f)
{
	struct span kind;
	bool has;

	if (read_text(v, "kind", &has, &kind, f) < 0)
		return -1;
	if (!has || span_is(kind, "agent"))
		return 0;
	if (!span_is(kind, "tool"))
		return fault_field(f, "kind", "kind must be agent or tool");
	c->kind = GRANT_TOOL;
	return 0;
}

static int
out_of_memory(struct fault *f)
{
	return fault_set(f, FAULT_LIMIT, "the arguments take too much memory");
}

/* A list of texts: has is set when it is present. */
static int
read_list(const struct json_value *v, const char *key, struct arena *a,
    const struct span **out, size_t *n, struct fault *f)
{
	const struct json_value *list;
	struct span *to;

	*n = 0;
	if (json_want(v, key, JSON_ARRAY, &list, f) < 0)
		return -1;
	if (!list || list->count == 0)
		return 0;
	to = arena_get(a, list->count * sizeof(*to));
	if (!to)
		return out_of_memory(f);
	for (const struct json_value *m = json_first(list); m;
	     m = json_next(m)) {
		if (!json_str(m, &to[*n])) {
			char field[64];

			(void)text_fmt(field, sizeof(field), "%s[%zu]", key,
			    *n);
			return fault_field(f, field, "%s must be text, not %s",
			    field, json_kind_name(m->kind));
		}
		++*n;
	}
	*out = to;
	return 0;
}

static int
read_environment(struct grant_create *c, const struct json_value *v,
    struct arena *a, struct fault *f)
{
	const struct json_value *map;
	struct grant_variable *to;

	if (json_want(v, "environment", JSON_OBJECT, &map, f) < 0)
		return -1;
	if (!map || map->count == 0)
		return 0;
	to = arena_get(a, map->count * sizeof(*to));
	if (!to)
		return out_of_memory(f);
	c->environment = to;
	for (const struct json_value *m = json_first(map); m;
	     m = json_next(m), to++) {
		to->name = m->key;
		if (!json_str(m, &to->value))
			return fault_field(f, "environment",
			    "environment: the value of '%.*s' must be text",
			    SHOWN(m->key));
		c->environment_n++;
	}
	return 0;
}

static int
read_policy(struct grant_create *c, const struct json_value *v, struct fault *f)
{
	const struct json_value *policy;

	if (json_want(v, "policy", JSON_OBJECT, &policy, f) < 0)
		return -1;
	c->has_policy = policy != NULL;
	if (policy)
		c->policy = policy->raw;
	return 0;
}

static int
read_lists(struct grant_create *c, const struct json_value *v, struct arena *a,
    struct fault *f)
{
	c->has_command = json_get(v, "command") != NULL;
	c->has_providers = json_get(v, "providers") != NULL;
	if (read_list(v, "command", a, &c->command, &c->command_n, f) < 0 ||
	    read_list(v, "providers", a, &c->providers, &c->providers_n, f) < 0)
		return -1;
	return read_environment(c, v, a, f);
}

static int
read_texts(struct grant_create *c, const struct json_value *v, struct fault *f)
{
	if (read_text(v, "name", &c->has_name, &c->name, f) < 0 ||
	    read_text(v, "request_id", &c->has_request_id, &c->request_id, f) <
		0 ||
	    read_text(v, "parent", &c->has_parent, &c->parent, f) < 0)
		return -1;
	return read_text(v, "from", &c->has_from, &c->from, f);
}

int
grant_create_read(struct grant_create *c, const struct json_value *v,
    struct arena *a, struct fault *f)
{
	static const char *const keys[] = { "name", "kind", "command", "policy",
		"environment", "providers", "idle_seconds", "request_id",
		"wait_ms", "parent", "from" };
	bool has_wait;

	grant_create_init(c);
	if (json_only(v, keys, NELEM(keys), f) < 0 || read_texts(c, v, f) < 0 ||
	    read_kind(c, v, f) < 0 || read_lists(c, v, a, f) < 0 ||
	    read_policy(c, v, f) < 0 ||
	    read_number(v, "idle_seconds", &c->has_idle, &c->idle_seconds, f) <
		0)
		return -1;
	return read_number(v, "wait_ms", &has_wait, &c->wait_ms, f);
}
