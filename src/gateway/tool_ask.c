/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON arguments as request messages. Their form was checked against the
 * tool's schema; what is left is text that C cannot hold (a NUL in it). What
 * values mean is the rows' business.
 */
#include "gateway/tool.h"
#include "json/json.h"
#include "proto/nacre_v1.pb.h"
#include "wire/wire.h"

/* An absent member leaves *out as it is. */
static int
take_text(const struct json_value *v, const char *key, struct arena *a,
    char **out, struct fault *f)
{
	const struct json_value *m = json_get(v, key);
	const char *text;

	if (m == NULL)
		return 0;
	if (!json_cstr(m, &text))
		return fault_field(f, key, "%s must be text without NUL", key);
	*out = arena_str(a, span_str(text));
	return *out != NULL ? 0 : fault_set(f, FAULT_LIMIT, "it is too long");
}

static int
take_texts(const struct json_value *v, const char *key, struct arena *a,
    char ***out, pb_size_t *n, struct fault *f)
{
	const struct json_value *list = json_get(v, key);

	if (list == NULL)
		return 0;
	*out = arena_get(a, (list->count + 1) * sizeof(**out));
	if (*out == NULL)
		return fault_set(f, FAULT_LIMIT, "it is too long");
	for (const struct json_value *m = json_first(list); m;
	     m = json_next(m)) {
		const char *text;

		if (!json_cstr(m, &text))
			return fault_field(f, key,
			    "%s must be texts without NUL", key);
		(*out)[*n] = arena_str(a, span_str(text));
		if ((*out)[*n] == NULL)
			return fault_set(f, FAULT_LIMIT, "it is too long");
		(*n)++;
	}
	return 0;
}

static void
take_number(const struct json_value *v, const char *key, bool *has,
    int64_t *out)
{
	if (json_int(json_get(v, key), INT64_MIN, INT64_MAX, out))
		*has = true;
}

static void
take_limit(const struct json_value *v, uint32_t *out)
{
	uint64_t n;

	if (json_uint(json_get(v, "limit"), UINT32_MAX, &n))
		*out = (uint32_t)n;
}

/* An object, handed on as it was written. */
static int
take_object(const struct json_value *v, const char *key, struct arena *a,
    char **out, struct fault *f)
{
	const struct json_value *m = json_get(v, key);

	if (m == NULL)
		return 0;
	*out = arena_str(a, m->raw);
	return *out != NULL ? 0 : fault_set(f, FAULT_LIMIT, "it is too long");
}

static int
take_environment(const struct json_value *v, struct arena *a,
    nacre_v1_CreateChildSandboxRequest *q, struct fault *f)
{
	const struct json_value *map = json_get(v, "environment");

	if (map == NULL)
		return 0;
	q->environment =
	    arena_get(a, (map->count + 1) * sizeof(*q->environment));
	if (q->environment == NULL)
		return fault_set(f, FAULT_LIMIT, "it is too long");
	for (const struct json_value *m = json_first(map); m;
	     m = json_next(m)) {
		nacre_v1_CreateChildSandboxRequest_EnvironmentEntry *e =
		    &q->environment[q->environment_count];
		const char *text;

		if (span_find(m->key, 0) != m->key.len || !json_cstr(m, &text))
			return fault_field(f, "environment",
			    "environment must be texts without NUL");
		e->key = arena_str(a, m->key);
		e->value = arena_str(a, span_str(text));
		if (e->key == NULL || e->value == NULL)
			return fault_set(f, FAULT_LIMIT, "it is too long");
		q->environment_count++;
	}
	return 0;
}

int
tool_ask_create(const struct json_value *v, void *message, struct arena *a,
    struct fault *f)
{
	nacre_v1_CreateChildSandboxRequest *q = message;

	if (take_text(v, "name", a, &q->name, f) < 0 ||
	    take_text(v, "kind", a, &q->kind, f) < 0 ||
	    take_texts(v, "command", a, &q->command, &q->command_count, f) <
		0 ||
	    take_object(v, "policy", a, &q->policy, f) < 0 ||
	    take_environment(v, a, q, f) < 0 ||
	    take_texts(v, "providers", a, &q->providers, &q->providers_count,
		f) < 0 ||
	    take_text(v, "request_id", a, &q->request_id, f) < 0 ||
	    take_text(v, "parent", a, &q->parent, f) < 0 ||
	    take_text(v, "from", a, &q->from, f) < 0)
		return -1;
	q->has_providers = json_get(v, "providers") != NULL;
	take_number(v, "idle_seconds", &q->has_idle_seconds, &q->idle_seconds);
	take_number(v, "wait_ms", &q->has_wait_ms, &q->wait_ms);
	return 0;
}

int
tool_ask_page(const struct json_value *v, void *message, struct arena *a,
    struct fault *f)
{
	nacre_v1_ListChildrenRequest *q = message;

	q->descendants = true;
	take_limit(v, &q->limit);
	return take_text(v, "cursor", a, &q->cursor, f);
}

int
tool_ask_grants(const struct json_value *v, void *message, struct arena *a,
    struct fault *f)
{
	nacre_v1_ListGrantsRequest *q = message;

	take_limit(v, &q->limit);
	return take_text(v, "cursor", a, &q->cursor, f);
}

int
tool_ask_which(const struct json_value *v, void *message, struct arena *a,
    struct fault *f)
{
	nacre_v1_GetChildRequest *q = message;

	return take_text(v, "id", a, &q->id, f);
}

int
tool_ask_stop(const struct json_value *v, void *message, struct arena *a,
    struct fault *f)
{
	nacre_v1_StopChildRequest *q = message;

	return take_text(v, "id", a, &q->id, f);
}

int
tool_ask_delete(const struct json_value *v, void *message, struct arena *a,
    struct fault *f)
{
	nacre_v1_DeleteChildRequest *q = message;

	return take_text(v, "id", a, &q->id, f);
}

int
tool_ask_policy(const struct json_value *v, void *message, struct arena *a,
    struct fault *f)
{
	nacre_v1_GetPolicyRequest *q = message;

	return take_text(v, "id", a, &q->id, f);
}

int
tool_ask_check(const struct json_value *v, void *message, struct arena *a,
    struct fault *f)
{
	nacre_v1_ProvePolicyRequest *q = message;

	if (take_object(v, "policy", a, &q->policy, f) < 0)
		return -1;
	return take_text(v, "parent", a, &q->sandbox, f);
}

int
tool_ask_exec(const struct json_value *v, void *message, struct arena *a,
    struct fault *f)
{
	nacre_v1_ExecChildSandboxRequest *q = message;
	struct span in = { 0 };

	if (take_text(v, "id", a, &q->id, f) < 0 ||
	    take_texts(v, "argv", a, &q->argv, &q->argv_count, f) < 0)
		return -1;
	take_number(v, "timeout_ms", &q->has_timeout_ms, &q->timeout_ms);
	if (!json_str(json_get(v, "stdin"), &in))
		return 0;
	q->input = wire_bytes(a, in);
	return q->input != NULL ? 0
				: fault_set(f, FAULT_LIMIT, "it is too long");
}

int
tool_ask_file(const struct json_value *v, void *message, struct arena *a,
    struct fault *f)
{
	nacre_v1_GetChildFileRequest *q = message;

	take_number(v, "offset", &q->has_offset, &q->offset);
	take_number(v, "limit", &q->has_limit, &q->limit);
	if (take_text(v, "id", a, &q->id, f) < 0)
		return -1;
	return take_text(v, "path", a, &q->path, f);
}

int
tool_ask_grant_which(const struct json_value *v, void *message, struct arena *a,
    struct fault *f)
{
	nacre_v1_GetGrantRequest *q = message;

	return take_text(v, "sandbox", a, &q->sandbox, f);
}

int
tool_ask_grant_set(const struct json_value *v, void *message, struct arena *a,
    struct fault *f)
{
	nacre_v1_CreateGrantRequest *q = message;

	take_number(v, "max_depth", &q->has_max_depth, &q->max_depth);
	take_number(v, "max_breadth", &q->has_max_breadth, &q->max_breadth);
	take_number(v, "max_total", &q->has_max_total, &q->max_total);
	if (take_text(v, "sandbox", a, &q->sandbox, f) < 0 ||
	    take_text(v, "expires", a, &q->expires, f) < 0)
		return -1;
	return take_texts(v, "programs", a, &q->programs, &q->programs_count,
	    f);
}

int
tool_ask_grant_update(const struct json_value *v, void *message,
    struct arena *a, struct fault *f)
{
	nacre_v1_UpdateGrantRequest *q = message;

	take_number(v, "max_depth", &q->has_max_depth, &q->max_depth);
	take_number(v, "max_breadth", &q->has_max_breadth, &q->max_breadth);
	take_number(v, "max_total", &q->has_max_total, &q->max_total);
	if (take_text(v, "sandbox", a, &q->sandbox, f) < 0 ||
	    take_text(v, "expires", a, &q->expires, f) < 0)
		return -1;
	return take_texts(v, "programs", a, &q->programs, &q->programs_count,
	    f);
}

int
tool_ask_grant_revoke(const struct json_value *v, void *message,
    struct arena *a, struct fault *f)
{
	nacre_v1_RevokeGrantRequest *q = message;

	(void)!json_bool(json_get(v, "stop_children"), &q->stop_children);
	return take_text(v, "sandbox", a, &q->sandbox, f);
}
