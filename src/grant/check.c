/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of the arguments of a create, GRANTS.md 2, one function each. All
 * of them hold without looking at any sandbox.
 */
#include <string.h>

#include "grant/inner.h"

enum {
	VARIABLE_NAME = 256,
	PROVIDER_NAME = 256,
};

static bool
has_nul(struct span s)
{
	return span_find(s, 0) < s.len;
}

int
grant_name_check(struct span name, const char *field, struct fault *f)
{
	if (name_valid(name, GRANT_NAME))
		return 0;
	return fault_field(f, field,
	    "%s must be 1 to %d of a-z, 0-9 and '-', without '-' at an end or "
	    "'--'",
	    field, GRANT_NAME);
}

int
grant_request_id_check(struct span id, struct fault *f)
{
	bool good = id.len > 0 && id.len <= GRANT_REQUEST_ID;

	for (size_t i = 0; i < id.len && good; i++) {
		uint8_t c = id.ptr[i];

		good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    (c >= '0' && c <= '9') || (c != 0 && strchr("._:-", c));
	}
	if (good)
		return 0;
	return fault_field(f, "request_id",
	    "request_id must be 1 to %d of letters, digits and '._:-'",
	    GRANT_REQUEST_ID);
}

/* Who names parents and images: callers on the host, and never both. */
static int
check_place(const struct grant_create *c, bool is_sandbox, struct fault *f)
{
	if (is_sandbox && c->has_parent)
		return fault_field(f, "parent",
		    "parent is for callers on the host; a sandbox creates "
		    "children of its own");
	if (is_sandbox && c->has_from)
		return fault_field(f, "from",
		    "from is for callers on the host; a child runs its "
		    "parent's image");
	if (is_sandbox)
		return 0;
	if (c->has_parent && c->has_from)
		return fault_field(f, "from",
		    "from goes without parent; a child runs its parent's "
		    "image");
	if (!c->has_parent && !c->has_from)
		return fault_field(f, "from",
		    "from must name an image when there is no parent");
	if (!c->has_parent && c->kind == GRANT_TOOL)
		return fault_field(f, "kind", "a tool needs a parent");
	if (c->has_parent && (c->parent.len == 0 || has_nul(c->parent)))
		return fault_field(f, "parent", "parent must name a sandbox");
	if (c->has_from && (c->from.len == 0 || has_nul(c->from)))
		return fault_field(f, "from", "from must name an image");
	return 0;
}

static int
check_arguments(const struct grant_create *c, struct fault *f)
{
	size_t bytes = 0;
	char field[32];

	if (c->command_n == 0 || c->command_n > LIMIT_ARGS)
		return fault_field(f, "command",
		    "command must have 1 to %d arguments", LIMIT_ARGS);
	if (c->command[0].len == 0)
		return fault_field(f, "command[0]",
		    "command[0]: the program is empty");
	for (size_t i = 0; i < c->command_n; i++) {
		(void)text_fmt(field, sizeof(field), "command[%zu]", i);
		if (has_nul(c->command[i]))
			return fault_field(f, field, "%s holds a NUL byte",
			    field);
		bytes += c->command[i].len + 1;
	}
	if (bytes > LIMIT_ARGS_BYTES)
		return fault_field(f, "command", "command: over %d bytes",
		    LIMIT_ARGS_BYTES);
	return 0;
}

static int
check_command(const struct grant_create *c, struct fault *f)
{
	if (c->kind == GRANT_AGENT)
		return check_arguments(c, f);
	if (c->has_command)
		return fault_field(f, "command",
		    "command must be absent for a tool; run commands with "
		    "exec");
	return 0;
}

static bool
is_identifier(struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			c == '_' || (i > 0 && c >= '0' && c <= '9')))
			return false;
	}
	return s.len > 0 && s.len <= VARIABLE_NAME;
}

static int
check_variable(const struct grant_create *c, size_t i, struct fault *f)
{
	struct span name = c->environment[i].name;
	struct span value = c->environment[i].value;

	if (!is_identifier(name))
		return fault_field(f, "environment",
		    "environment: a name is 1 to %d of letters, digits and "
		    "'_', with no digit first",
		    VARIABLE_NAME);
	if (span_starts(name, "OPENSHELL_") || span_starts(name, "NACRE_"))
		return fault_field(f, "environment",
		    "environment: '%.*s' is reserved", SHOWN(name));
	if (value.len > LIMIT_ENV_VALUE || has_nul(value))
		return fault_field(f, "environment",
		    "environment: the value of '%.*s' must be at most %d bytes "
		    "without NUL",
		    SHOWN(name), LIMIT_ENV_VALUE);
	for (size_t j = 0; j < i; j++)
		if (span_equal(c->environment[j].name, name))
			return fault_field(f, "environment",
			    "environment: '%.*s' is there twice", SHOWN(name));
	return 0;
}

static int
check_environment(const struct grant_create *c, struct fault *f)
{
	if (c->environment_n > LIMIT_ENV)
		return fault_field(f, "environment",
		    "environment: over %d entries", LIMIT_ENV);
	for (size_t i = 0; i < c->environment_n; i++)
		if (check_variable(c, i, f) < 0)
			return -1;
	return 0;
}

static int
check_providers(const struct grant_create *c, struct fault *f)
{
	char field[32];

	if (c->providers_n > GRANT_PROVIDERS)
		return fault_field(f, "providers", "providers: over %d names",
		    GRANT_PROVIDERS);
	for (size_t i = 0; i < c->providers_n; i++) {
		struct span name = c->providers[i];

		if (name.len > 0 && name.len <= PROVIDER_NAME && !has_nul(name))
			continue;
		(void)text_fmt(field, sizeof(field), "providers[%zu]", i);
		return fault_field(f, field,
		    "%s must be a name of 1 to %d bytes", field, PROVIDER_NAME);
	}
	return 0;
}

static int
check_idle(const struct grant_create *c, struct fault *f)
{
	if (!c->has_idle)
		return 0;
	if (c->kind != GRANT_TOOL)
		return fault_field(f, "idle_seconds",
		    "idle_seconds is for a tool; an agent ends with its main "
		    "process");
	if (c->idle_seconds < GRANT_IDLE_LEAST_S ||
	    c->idle_seconds > GRANT_IDLE_MOST_S)
		return fault_field(f, "idle_seconds",
		    "idle_seconds must be %d to %d", GRANT_IDLE_LEAST_S,
		    GRANT_IDLE_MOST_S);
	return 0;
}

int
grant_create_check(const struct grant_create *c, bool is_sandbox,
    struct fault *f)
{
	if (check_place(c, is_sandbox, f) < 0 ||
	    (c->has_name && grant_name_check(c->name, "name", f) < 0) ||
	    check_command(c, f) < 0 || check_environment(c, f) < 0 ||
	    check_providers(c, f) < 0 || check_idle(c, f) < 0 ||
	    (c->has_request_id && grant_request_id_check(c->request_id, f) < 0))
		return -1;
	if (c->wait_ms < 0 || c->wait_ms > GRANT_WAIT_MS)
		return fault_field(f, "wait_ms", "wait_ms must be 0 to %d",
		    GRANT_WAIT_MS);
	return 0;
}
