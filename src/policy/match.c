/* SPDX-License-Identifier: Apache-2.0 */
/* One rule, or the first of a list, against one request. */
#include <string.h>

#include "policy/inner.h"

static bool
equal_folded(struct span a, struct span upper)
{
	if (a.len != upper.len)
		return false;
	for (size_t i = 0; i < a.len; i++) {
		uint8_t c = a.ptr[i];

		if ((c >= 'a' && c <= 'z' ? c & ~0x20 : c) != upper.ptr[i])
			return false;
	}
	return true;
}

static bool
method_match(struct span rule, struct span method)
{
	return rule.len == 0 || equal_folded(method, rule) ||
	    (span_is(rule, "GET") && equal_folded(method, SPAN_LIT("HEAD")));
}

/* Allow: present, and all of its values match. Deny: any one matches. */
static bool
constraint_match(const struct policy_query *c, const struct policy_request *r,
    bool deny)
{
	bool some = false;

	for (size_t i = 0; i < r->query_n; i++) {
		bool match;

		if (!span_equal(r->query[i].key, c->key))
			continue;
		match = policy_globs_match(&c->values, r->query[i].value);
		if (match == deny)
			return deny;
		some = true;
	}
	return some && !deny;
}

/* An HTTP rule against this method on the request's path and query. */
static bool
http_match(const struct policy_rule *rule, const struct policy_request *r,
    struct span method, bool deny)
{
	if (!method_match(rule->method, method) ||
	    !policy_glob_match(&rule->path, r->path))
		return false;
	for (size_t i = 0; i < rule->query_n; i++)
		if (!constraint_match(&rule->query[i], r, deny))
			return false;
	return true;
}

static bool
mcp_match(const struct policy_rule *rule, const struct policy_request *r)
{
	bool call = span_is(r->method, POLICY_CALL);

	if (!policy_glob_match(&rule->rpc, r->method))
		return false;
	switch (rule->tools) {
	case POLICY_TOOLS_ANY:
		return true;
	case POLICY_TOOLS_GLOB:
		return call && policy_globs_match(&rule->tool, r->tool);
	case POLICY_TOOLS_NONE:
		return !call;
	}
	return false;
}

static bool
is_strict_byte(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

bool
tool_is_strict(struct span name)
{
	if (name.len == 0 || name.len > 128)
		return false;
	for (size_t i = 0; i < name.len; i++)
		if (!is_strict_byte(name.ptr[i]))
			return false;
	return true;
}

bool
has_encoded_slash(struct span path)
{
	for (size_t i = 0; i + 2 < path.len; i++)
		if (path.ptr[i] == '%' && path.ptr[i + 1] == '2' &&
		    path.ptr[i + 2] == 'F')
			return true;
	return false;
}

/* The first rule of e that has the request under that HTTP method. */
const struct policy_rule *
http_rule(const struct policy_rules *rules, const struct policy_request *r,
    struct span method, bool deny)
{
	for (size_t i = 0; i < rules->n; i++)
		if (http_match(&rules->rule[i], r, method, deny))
			return &rules->rule[i];
	return NULL;
}

const struct policy_rule *
rpc_rule(const struct policy_rules *rules, const struct policy_request *r,
    enum policy_kind kind)
{
	for (size_t i = 0; i < rules->n; i++)
		if (kind == POLICY_MCP
			? mcp_match(&rules->rule[i], r)
			: policy_glob_match(&rules->rule[i].rpc, r->method))
			return &rules->rule[i];
	return NULL;
}
