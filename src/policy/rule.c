/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One allow or deny rule. rest and websocket match method, path and query;
 * json-rpc the RPC method; mcp the RPC method and, of tools/call, the tool.
 */
#include <string.h>

#include "policy/inner.h"

bool
is_http(const struct policy_endpoint *e)
{
	return e->kind == POLICY_REST || e->kind == POLICY_WEBSOCKET;
}

void
glob_set(struct reader *r, struct policy_glob *g, enum policy_glob_kind kind,
    const char *text)
{
	struct fault f = { 0 };

	if (policy_glob_read(g, kind, span_str(text), r->a, &f) != 0)
		r->spent = true;
}

/* --- values: a glob, or {any: [globs]} */

static void
one_glob(struct reader *r, const struct yaml_node *node, struct policy_glob *g,
    struct policy_globs *to)
{
	struct fault f = { 0 };
	struct span s;

	if (!read_string(r, node, &s))
		return;
	if (policy_glob_read(g, POLICY_GLOB_WORD, s, r->a, &f) != 0)
		read_fault(r, node, &f);
	else
		to->n++;
}

static void
globs_read(struct reader *r, const struct yaml_node *node,
    struct policy_globs *to)
{
	static const char *const keys[] = { "any" };
	const struct yaml_node *any = yaml_get(node, "any");
	struct policy_glob *g;
	uint32_t i = 0;

	if (node->kind != YAML_MAP) {
		to->glob = g = read_room(r, 1, sizeof(*g));
		if (g)
			one_glob(r, node, g, to);
		return;
	}
	if (!read_map(r, node, keys, NELEM(keys)))
		return;
	if (!any || any->count == 0) {
		read_error(r, node, "any is empty: write at least one value");
		return;
	}
	enter(r, "any");
	g = read_list(r, any) ? read_room(r, any->count, sizeof(*g)) : NULL;
	to->glob = g;
	for (any = any->first; any && g; any = any->next) {
		enter_index(r, i++);
		one_glob(r, any, &g[to->n], to);
		leave(r);
	}
	leave(r);
}

static int
by_key(const void *x, const void *y)
{
	const struct policy_query *a = x;
	const struct policy_query *b = y;
	size_t n = a->key.len < b->key.len ? a->key.len : b->key.len;
	int c = n ? memcmp(a->key.ptr, b->key.ptr, n) : 0;

	return c ? c : (a->key.len > b->key.len) - (a->key.len < b->key.len);
}

static void
query_read(struct reader *r, const struct yaml_node *node,
    struct policy_rule *to)
{
	const struct yaml_node *map = node;
	struct policy_query *list;
	size_t n = 0;

	if (node->kind != YAML_MAP) {
		(void)read_map(r, node, NULL, 0);
		return;
	}
	list = read_room(r, node->count, sizeof(*list));
	for (node = node->first; node && list; node = node->next) {
		struct yaml_node key = { .kind = YAML_SCALAR,
			.text = node->key,
			.line = node->key_line,
			.column = node->key_column };
		struct span checked;

		enter_key(r, node->key);
		list[n].key = arena_dup(r->a, node->key);
		if (!list[n].key.ptr)
			r->spent = true;
		if (read_string(r, &key, &checked))
			globs_read(r, node, &list[n++].values);
		leave(r);
	}
	if (!list)
		return;
	qsort(list, n, sizeof(*list), by_key);
	for (size_t i = 1; i < n; i++)
		if (span_equal(list[i - 1].key, list[i].key)) {
			read_error(r, map, "the same key twice");
			break;
		}
	to->query = list;
	to->query_n = n;
}

/* --- HTTP */

static bool
is_token(struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.ptr[i];
		bool alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
		    (c >= 'a' && c <= 'z');

		if (!alnum && !(c && strchr("!#$%&'+-.^_`|~", c)))
			return false;
	}
	return true;
}

static void
method_read(struct reader *r, const struct yaml_node *node,
    const struct policy_endpoint *e, struct policy_rule *to)
{
	const struct yaml_node *at = yaml_get(node, "method");
	struct span s;
	char *upper;

	if (!read_text(r, node, "method", &s) || span_is(s, "*"))
		return;
	enter(r, "method");
	upper = arena_str(r->a, s);
	if (!upper)
		r->spent = true;
	for (size_t i = 0; upper && i < s.len; i++)
		if (upper[i] >= 'a' && upper[i] <= 'z')
			upper[i] = (char)(upper[i] & ~0x20);
	to->method = span_str(upper);
	if (!is_token(s))
		read_error(r, at, "must be a method, or '*' for any");
	else if (e->kind == POLICY_WEBSOCKET && !span_is(to->method, "GET") &&
	    !span_is(to->method, "WEBSOCKET_TEXT"))
		read_error(r, at, "must be GET, WEBSOCKET_TEXT or '*'");
	leave(r);
}

static void
path_read(struct reader *r, const struct yaml_node *node,
    struct policy_rule *to)
{
	struct fault f = { 0 };
	struct span s = SPAN_LIT("**");
	bool bad = read_text(r, node, "path", &s) && s.ptr[0] != '/' &&
	    !span_is(s, "**") && !span_starts(s, "**/");

	enter(r, "path");
	if (bad)
		read_error(r, yaml_get(node, "path"),
		    "must begin with '/' or be '**'");
	else if (policy_glob_read(&to->path, POLICY_GLOB_PATH, s, r->a, &f) !=
	    0)
		read_fault(r, yaml_get(node, "path"), &f);
	leave(r);
}

static void
http_read(struct reader *r, const struct yaml_node *node,
    const struct policy_endpoint *e, struct policy_rule *to)
{
	const struct yaml_node *query = yaml_get(node, "query");

	method_read(r, node, e, to);
	path_read(r, node, to);
	glob_set(r, &to->rpc, POLICY_GLOB_WORD, "*");
	if (!query)
		return;
	enter(r, "query");
	query_read(r, query, to);
	leave(r);
}

/* --- RPC */

/* As a decoded message may have it. */
static bool
is_twice(const struct yaml_node *map, const char *key)
{
	const struct yaml_node *node = yaml_get(map, key);

	if (node)
		node = node->next;
	while (node && !span_is(node->key, key))
		node = node->next;
	return node;
}

static void
tool_read(struct reader *r, const struct yaml_node *node,
    struct policy_rule *to)
{
	static const char *const names[] = { "name" };
	const struct yaml_node *tool = yaml_get(node, "tool");
	const struct yaml_node *params = yaml_get(node, "params");

	if (tool && params) {
		read_error(r, node,
		    "tool and params are both there: write tool only");
	} else if (tool) {
		enter(r, "tool");
		globs_read(r, tool, &to->tool);
		leave(r);
	} else if (params) {
		enter(r, "params");
		if (read_map(r, params, names, NELEM(names)) &&
		    yaml_get(params, "name")) {
			enter(r, "name");
			globs_read(r, yaml_get(params, "name"), &to->tool);
			if (is_twice(params, "name"))
				read_error(r, params, "the same key twice");
			leave(r);
		}
		leave(r);
	}
	if (to->tool.n > 0)
		to->tools = POLICY_TOOLS_GLOB;
}

/* An omitted method stands for what the rest says, if all are allowed. */
static void
rpc_read(struct reader *r, const struct yaml_node *node,
    const struct policy_endpoint *e, struct policy_rule *to)
{
	bool calls = to->tools == POLICY_TOOLS_GLOB;
	struct fault f = { 0 };
	struct span s = SPAN_LIT("*");

	if (calls)
		s = SPAN_LIT(POLICY_CALL);
	if (!read_text(r, node, "method", &s) && !yaml_get(node, "method") &&
	    !e->all_methods)
		read_error(r, node, "method is missing: write 'method: %s'",
		    calls ? POLICY_CALL : "*");
	if (calls && !span_is(s, POLICY_CALL))
		read_error(r, node, "a tool needs 'method: " POLICY_CALL "'");
	enter(r, "method");
	if (policy_glob_read(&to->rpc, POLICY_GLOB_WORD, s, r->a, &f) != 0)
		read_fault(r, yaml_get(node, "method"), &f);
	leave(r);
	glob_set(r, &to->path, POLICY_GLOB_PATH, "**");
}

static void
wildcard_check(struct reader *r, const struct yaml_node *node,
    const struct policy_endpoint *e, const struct policy_rule *rule)
{
	for (size_t i = 0; i < rule->tool.n && !e->strict_tools; i++)
		if (!rule->tool.glob[i].literal) {
			read_error(r, node,
			    "a wildcard tool needs strict_tool_names");
			return;
		}
}

/* --- one rule */

static const char *const http_keys[] = { "method", "path", "query" };
static const char *const rpc_keys[] = { "method" };
static const char *const mcp_keys[] = { "method", "tool", "params" };
static const char *const all_keys[] = { "method", "path", "query", "tool",
	"params", "command", "operation_type", "operation_name", "fields" };

static bool
is_in(struct span key, const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (span_is(key, keys[i]))
			return true;
	return false;
}

/* Keys of other protocols are told apart from keys that nobody has. */
static void
fields_check(struct reader *r, const struct yaml_node *node,
    const struct policy_endpoint *e)
{
	const char *const *keys = is_http(e) ? http_keys
	    : e->kind == POLICY_MCP          ? mcp_keys
					     : rpc_keys;
	size_t n = keys == rpc_keys ? NELEM(rpc_keys) : NELEM(http_keys);

	_Static_assert(NELEM(http_keys) == NELEM(mcp_keys), "one length");
	for (node = node->first; node; node = node->next) {
		if (!is_in(node->key, all_keys, NELEM(all_keys)) ||
		    is_in(node->key, keys, n))
			continue;
		enter_key(r, node->key);
		if (is_in(node->key, all_keys, 5))
			read_error(r, node, "means nothing under %s: remove it",
			    policy_kind_name(e->kind));
		else
			read_error(r, node,
			    "graphql and sql are not supported until built: "
			    "remove it");
		leave(r);
	}
}

static bool
says_nothing(const struct yaml_node *node)
{
	for (node = node->first; node; node = node->next)
		if (node->count > 0 ||
		    (node->kind == YAML_SCALAR && node->text.len > 0))
			return false;
	return true;
}

void
rule_read(struct reader *r, const struct yaml_node *node,
    const struct policy_endpoint *e, struct policy_rule *to)
{
	to->place = place_of(node);
	if (!read_map(r, node, all_keys, NELEM(all_keys)))
		return;
	fields_check(r, node, e);
	if (says_nothing(node)) {
		read_error(r, node, "a rule needs a field: %s",
		    is_http(e) ? "'path: \"**\"' is everything"
			       : "'method: \"*\"' is everything");
		return;
	}
	if (is_http(e)) {
		http_read(r, node, e, to);
		return;
	}
	if (e->kind == POLICY_MCP)
		tool_read(r, node, to);
	rpc_read(r, node, e, to);
	wildcard_check(r, node, e, to);
}
