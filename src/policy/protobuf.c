/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decoded message as the tree that the validator walks. What is empty or
 * zero on the wire was not said; the validator's own names are the places.
 */
#include <stdio.h>
#include <string.h>

#include "policy/inner.h"
#include "proto/openshell_sandbox_v1.pb.h"

typedef openshell_sandbox_v1_L7Allow allow_message;
typedef openshell_sandbox_v1_L7DenyRule deny_message;
typedef openshell_sandbox_v1_L7Allow_QueryEntry query_message;

/* Deny rules and params are allow rules and queries under other names. */
_Static_assert(sizeof(allow_message) == sizeof(deny_message) &&
	offsetof(allow_message, params) == offsetof(deny_message, params) &&
	sizeof(query_message) ==
	    sizeof(openshell_sandbox_v1_L7DenyRule_ParamsEntry),
    "one layout");

struct builder {
	struct arena *a;
	bool spent;
};

struct tree { /* a map or a list that grows */
	struct yaml_node *node;
	const struct yaml_node **end;
};

static struct yaml_node *
make(struct builder *b, enum yaml_kind kind)
{
	static struct yaml_node spare; /* never read: the arena is spent */
	struct yaml_node *node = arena_get(b->a, sizeof(*node));

	if (!node) {
		b->spent = true;
		spare = (struct yaml_node){ .kind = kind };
		return &spare;
	}
	node->kind = kind;
	return node;
}

static void
append(struct tree *t, const char *key, struct yaml_node *node)
{
	node->key = span_str(key);
	*t->end = node;
	t->end = &node->next;
	t->node->count++;
}

static struct tree
open_top(struct builder *b)
{
	struct yaml_node *node = make(b, YAML_MAP);

	return (struct tree){ node, &node->first };
}

static struct tree
open_in(struct builder *b, struct tree *t, const char *key, enum yaml_kind kind)
{
	struct yaml_node *node = make(b, kind);

	append(t, key, node);
	return (struct tree){ node, &node->first };
}

/* A string, empty or not. */
static void
put_item(struct builder *b, struct tree *t, const char *key, const char *s)
{
	struct yaml_node *node = make(b, YAML_SCALAR);

	node->text = span_str(s ? s : "");
	append(t, key, node);
}

static void
put_text(struct builder *b, struct tree *t, const char *key, const char *s)
{
	if (s && *s)
		put_item(b, t, key, s);
}

static void
put_plain(struct builder *b, struct tree *t, const char *key, const char *s)
{
	struct yaml_node *node = make(b, YAML_SCALAR);

	node->plain = true;
	node->text = span_str(s);
	append(t, key, node);
}

static void
put_flag(struct builder *b, struct tree *t, const char *key, bool on)
{
	if (on)
		put_plain(b, t, key, "true");
}

static void
put_number(struct builder *b, struct tree *t, const char *key, uint32_t n)
{
	char *digits = arena_fmt(b->a, "%lu", (unsigned long)n);

	if (digits)
		put_plain(b, t, key, digits);
	else
		b->spent = true;
}

static void
put_texts(struct builder *b, struct tree *t, const char *key, char *const *list,
    size_t n)
{
	struct tree items;

	if (n == 0)
		return;
	items = open_in(b, t, key, YAML_LIST);
	for (size_t i = 0; i < n; i++)
		put_item(b, &items, NULL, list[i]);
}

/* --- rules */

/* {glob} is the glob, {any} stays one; neither is an empty any. */
static void
put_queries(struct builder *b, struct tree *t, const char *key,
    const query_message *list, size_t n)
{
	struct tree map;

	if (n == 0)
		return;
	map = open_in(b, t, key, YAML_MAP);
	for (size_t i = 0; i < n; i++) {
		const openshell_sandbox_v1_L7QueryMatcher *m = &list[i].value;
		const char *name = list[i].key ? list[i].key : "";
		struct tree any;

		if (m->any_count == 0 && m->glob && *m->glob) {
			put_item(b, &map, name, m->glob);
			continue;
		}
		any = open_in(b, &map, name, YAML_MAP);
		put_texts(b, &any, "any", m->any, m->any_count);
		put_text(b, &any, "glob", m->glob); /* both: no such key */
	}
}

static void
put_rule(struct builder *b, struct tree *t, const allow_message *m)
{
	put_text(b, t, "method", m->method);
	put_text(b, t, "path", m->path);
	put_text(b, t, "command", m->command);
	put_queries(b, t, "query", m->query, m->query_count);
	put_text(b, t, "operation_type", m->operation_type);
	put_text(b, t, "operation_name", m->operation_name);
	put_texts(b, t, "fields", m->fields, m->fields_count);
	put_queries(b, t, "params",
	    (const query_message *)(const void *)m->params, m->params_count);
}

static void
put_rules(struct builder *b, struct tree *t,
    const openshell_sandbox_v1_NetworkEndpoint *m)
{
	struct tree list;

	if (m->rules_count > 0)
		list = open_in(b, t, "rules", YAML_LIST);
	for (size_t i = 0; i < m->rules_count; i++) {
		struct tree rule = open_in(b, &list, NULL, YAML_MAP);
		struct tree allow;

		if (!m->rules[i].has_allow)
			continue;
		allow = open_in(b, &rule, "allow", YAML_MAP);
		put_rule(b, &allow, &m->rules[i].allow);
	}
	if (m->deny_rules_count > 0)
		list = open_in(b, t, "deny_rules", YAML_LIST);
	for (size_t i = 0; i < m->deny_rules_count; i++) {
		struct tree rule = open_in(b, &list, NULL, YAML_MAP);

		put_rule(b, &rule,
		    (const allow_message *)(const void *)&m->deny_rules[i]);
	}
}

/* --- endpoints */

static void
put_options(struct builder *b, struct tree *t,
    const openshell_sandbox_v1_NetworkEndpoint *m)
{
	const openshell_sandbox_v1_McpOptions *o = &m->mcp;
	struct tree map;

	if (m->json_rpc_max_body_bytes > 0) {
		map = open_in(b, t, "json_rpc", YAML_MAP);
		put_number(b, &map, "max_body_bytes",
		    m->json_rpc_max_body_bytes);
	}
	if (m->has_mcp) {
		map = open_in(b, t, "mcp", YAML_MAP);
		if (o->has_strict_tool_names)
			put_plain(b, &map, "strict_tool_names",
			    o->strict_tool_names ? "true" : "false");
		if (o->has_allow_all_known_mcp_methods)
			put_plain(b, &map, "allow_all_known_mcp_methods",
			    o->allow_all_known_mcp_methods ? "true" : "false");
	}
	if (m->has_credential_binding) {
		map = open_in(b, t, "credential_binding", YAML_MAP);
		put_text(b, &map, "provider", m->credential_binding.provider);
	}
}

/* Of a client: what only the control plane writes is no key of it. */
static void
put_marks(struct builder *b, struct tree *t,
    const openshell_sandbox_v1_NetworkEndpoint *m, unsigned flags)
{
	if (flags & POLICY_READ_PROVIDER)
		return;
	put_flag(b, t, "advisor_proposed", m->advisor_proposed);
	put_flag(b, t, "provider_credentialed", m->provider_credentialed);
}

static void
put_endpoint(struct builder *b, struct tree *t,
    const openshell_sandbox_v1_NetworkEndpoint *m)
{
	put_text(b, t, "host", m->host);
	if (m->port > 0)
		put_number(b, t, "port", m->port);
	if (m->ports_count > 0) {
		struct tree ports = open_in(b, t, "ports", YAML_LIST);

		for (size_t i = 0; i < m->ports_count; i++)
			put_number(b, &ports, NULL, m->ports[i]);
	}
	put_text(b, t, "path", m->path);
	put_text(b, t, "protocol", m->protocol);
	put_text(b, t, "tls", m->tls);
	put_text(b, t, "enforcement", m->enforcement);
	put_text(b, t, "access", m->access);
	put_rules(b, t, m);
	put_texts(b, t, "allowed_ips", m->allowed_ips, m->allowed_ips_count);
	put_flag(b, t, "allow_encoded_slash", m->allow_encoded_slash);
	put_flag(b, t, "websocket_credential_rewrite",
	    m->websocket_credential_rewrite);
	put_flag(b, t, "request_body_credential_rewrite",
	    m->request_body_credential_rewrite);
	put_flag(b, t, "allow_uninspected_credentials",
	    m->allow_uninspected_credentials);
	put_text(b, t, "persisted_queries", m->persisted_queries);
	if (m->graphql_persisted_queries_count > 0)
		(void)open_in(b, t, "graphql_persisted_queries", YAML_MAP);
	if (m->graphql_max_body_bytes > 0)
		put_number(b, t, "graphql_max_body_bytes",
		    m->graphql_max_body_bytes);
	put_text(b, t, "credential_signing", m->credential_signing);
	put_text(b, t, "signing_service", m->signing_service);
	put_text(b, t, "signing_region", m->signing_region);
	put_options(b, t, m);
}

static void
put_entry(struct builder *b, struct tree *t,
    const openshell_sandbox_v1_NetworkPolicyRule *m, unsigned flags)
{
	struct tree list;

	put_text(b, t, "name", m->name);
	if (m->endpoints_count > 0)
		list = open_in(b, t, "endpoints", YAML_LIST);
	for (size_t i = 0; i < m->endpoints_count; i++) {
		struct tree map = open_in(b, &list, NULL, YAML_MAP);

		put_endpoint(b, &map, &m->endpoints[i]);
		put_marks(b, &map, &m->endpoints[i], flags);
	}
	if (m->binaries_count > 0)
		list = open_in(b, t, "binaries", YAML_LIST);
	for (size_t i = 0; i < m->binaries_count; i++) {
		struct tree map = open_in(b, &list, NULL, YAML_MAP);

		put_text(b, &map, "path", m->binaries[i].path);
	}
}

/* --- the top */

static void
put_sections(struct builder *b, struct tree *t,
    const openshell_sandbox_v1_SandboxPolicy *m)
{
	struct tree map;

	if (m->version > 0)
		put_number(b, t, "version", m->version);
	if (m->has_filesystem) {
		map = open_in(b, t, "filesystem_policy", YAML_MAP);
		put_flag(b, &map, "include_workdir",
		    m->filesystem.include_workdir);
		put_texts(b, &map, "read_only", m->filesystem.read_only,
		    m->filesystem.read_only_count);
		put_texts(b, &map, "read_write", m->filesystem.read_write,
		    m->filesystem.read_write_count);
	}
	if (m->has_landlock) {
		map = open_in(b, t, "landlock", YAML_MAP);
		put_text(b, &map, "compatibility", m->landlock.compatibility);
	}
	if (m->has_process) {
		map = open_in(b, t, "process", YAML_MAP);
		put_text(b, &map, "run_as_user", m->process.run_as_user);
		put_text(b, &map, "run_as_group", m->process.run_as_group);
	}
}

/*
 * An absent map is an empty one here. In a child it grants nothing; in a root,
 * where both mean the same, it stays absent.
 */
static void
put_network(struct builder *b, struct tree *t,
    const openshell_sandbox_v1_SandboxPolicy *m, unsigned flags)
{
	struct tree map;

	if (m->network_policies_count > 0 ||
	    (flags & (POLICY_READ_CHILD | POLICY_READ_MAXIMUM)))
		map = open_in(b, t, "network_policies", YAML_MAP);
	for (size_t i = 0; i < m->network_policies_count; i++) {
		const char *key = m->network_policies[i].key;
		struct tree entry = open_in(b, &map, key ? key : "", YAML_MAP);

		put_entry(b, &entry, &m->network_policies[i].value, flags);
	}
	if (m->network_middlewares_count == 0)
		return;
	map = open_in(b, t, "network_middlewares", YAML_MAP);
	for (size_t i = 0; i < m->network_middlewares_count; i++) {
		const char *key = m->network_middlewares[i].key;

		(void)open_in(b, &map, key ? key : "", YAML_MAP);
	}
}

int
policy_read_message(const openshell_sandbox_v1_SandboxPolicy *m, unsigned flags,
    struct arena *a, struct policy *p, struct yaml_errors *errors,
    struct fault *f)
{
	struct reader r = { .a = a,
		.errors = errors,
		.source = READ_MESSAGE,
		.flags = flags };
	struct builder b = { .a = a };
	struct tree top = open_top(&b);

	yaml_errors_init(errors);
	put_sections(&b, &top, m);
	put_network(&b, &top, m, flags);
	if (b.spent)
		return fault_set(f, FAULT_LIMIT, "policy is too large");
	return policy_compile(&r, top.node, p, f);
}
