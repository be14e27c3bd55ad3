/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One endpoint: where, how it is spoken to, and what the proxy may do for it.
 * Its rules are in rule.c.
 */
#include <string.h>

#include "policy/inner.h"

static const char *const keys[] = { "host", "port", "ports", "path", "protocol",
	"tls", "enforcement", "access", "rules", "deny_rules", "allowed_ips",
	"allow_encoded_slash", "websocket_credential_rewrite",
	"request_body_credential_rewrite", "allow_uninspected_credentials",
	"persisted_queries", "graphql_persisted_queries",
	"graphql_max_body_bytes", "credential_signing", "signing_service",
	"signing_region", "credential_binding", "json_rpc", "mcp" };

static const char *const graphql[] = { "persisted_queries",
	"graphql_persisted_queries", "graphql_max_body_bytes" };

const char *
policy_kind_name(enum policy_kind kind)
{
	static const char *const names[] = { "tcp", "rest", "websocket",
		"json-rpc", "mcp" };

	return names[kind];
}

static void
host_read(struct reader *r, const struct yaml_node *node,
    struct policy_endpoint *e)
{
	struct fault f = { 0 };
	struct span s;

	if (!read_text(r, node, "host", &s))
		return;
	enter(r, "host");
	if (policy_host_read(&e->host, s, r->a, &f) != 0)
		read_fault(r, yaml_get(node, "host"), &f);
	leave(r);
}

static bool
protocol_is(struct span s, struct policy_endpoint *e)
{
	e->tcp = span_is(s, "tcp");
	for (unsigned i = 0; i <= POLICY_MCP; i++)
		if (span_is(s, policy_kind_name((enum policy_kind)i))) {
			e->kind = (enum policy_kind)i;
			return true;
		}
	return false;
}

/* False: what else is said cannot be judged. */
static bool
protocol_read(struct reader *r, const struct yaml_node *node,
    struct policy_endpoint *e)
{
	const struct yaml_node *at = yaml_get(node, "protocol");
	struct span s;
	bool later;

	if (!at || (yaml_str(at, &s) && s.len == 0))
		return true;
	if (!read_text(r, node, "protocol", &s))
		return false;
	if (protocol_is(s, e))
		return true;
	later = span_is(s, "graphql") || span_is(s, "sql");
	enter(r, "protocol");
	if (later)
		read_error(r, at,
		    "%.*s is not supported until built: write 'rest' with "
		    "rules, or leave it out",
		    (int)s.len, (const char *)s.ptr);
	else
		read_error(r, at,
		    "must be one of: tcp, rest, websocket, json-rpc, mcp");
	leave(r);
	return false;
}

static void
modes_read(struct reader *r, const struct yaml_node *node,
    struct policy_endpoint *e)
{
	static const char *const tls[] = { "auto", "skip", "terminate",
		"passthrough" };
	static const char *const modes[] = { "enforce", "audit" };
	unsigned word = 0;

	if (read_word(r, node, "tls", tls, NELEM(tls), &word))
		e->skip_tls = word == 1;
	if (e->skip_tls && e->kind != POLICY_OPAQUE) {
		enter(r, "tls");
		read_error(r, yaml_get(node, "tls"),
		    "skip and protocol %s exclude each other: what is not "
		    "decrypted is not inspected",
		    policy_kind_name(e->kind));
		leave(r);
	}
	word = 0;
	if (read_word(r, node, "enforcement", modes, NELEM(modes), &word))
		e->audit = word == 1;
}

static void
scope_read(struct reader *r, const struct yaml_node *node,
    struct policy_endpoint *e)
{
	struct fault f = { 0 };
	struct span s = SPAN_LIT("**");

	if (read_text(r, node, "path", &s) && s.ptr[0] != '/' &&
	    !span_is(s, "**") && !span_starts(s, "**/")) {
		enter(r, "path");
		read_error(r, yaml_get(node, "path"),
		    "must begin with '/' or be '**'");
		leave(r);
		return;
	}
	enter(r, "path");
	if (policy_glob_read(&e->path, POLICY_GLOB_PATH, s, r->a, &f) != 0)
		read_fault(r, yaml_get(node, "path"), &f);
	leave(r);
}

/* --- what the proxy may do */

static void
signing_read(struct reader *r, const struct yaml_node *node,
    struct policy_capabilities *c)
{
	static const char *const words[] = { NULL, "sigv4", "sigv4:body",
		"sigv4:no_body" };
	unsigned word = 0;
	bool named = read_text(r, node, "signing_service", &c->signing_service);

	if (read_text(r, node, "signing_region", &c->signing_region))
		named = true;
	(void)read_word(r, node, "credential_signing", words, NELEM(words),
	    &word);
	c->signing = (enum policy_signing)word;
	if (c->signing == POLICY_SIGNING_NONE && named)
		read_error(r, node,
		    "signing_service and signing_region need "
		    "credential_signing");
	if (c->signing == POLICY_SIGNING_NONE)
		return;
	if (c->signing_service.len == 0)
		read_error(r, node, "credential_signing needs signing_service");
	if (c->body_rewrite)
		read_error(r, node,
		    "credential_signing and request_body_credential_rewrite "
		    "exclude each other");
}

static void
binding_read(struct reader *r, const struct yaml_node *node,
    struct policy_capabilities *c)
{
	static const char *const members[] = { "provider" };
	const struct yaml_node *at = yaml_get(node, "credential_binding");

	if (!at)
		return;
	enter(r, "credential_binding");
	if (read_map(r, at, members, NELEM(members)) &&
	    !read_text(r, at, "provider", &c->provider))
		read_error(r, at, "provider is missing");
	leave(r);
}

static void
capabilities_read(struct reader *r, const struct yaml_node *node,
    struct policy_capabilities *c)
{
	(void)read_flag(r, node, "websocket_credential_rewrite",
	    &c->websocket_rewrite);
	(void)read_flag(r, node, "request_body_credential_rewrite",
	    &c->body_rewrite);
	(void)read_flag(r, node, "allow_uninspected_credentials",
	    &c->uninspected);
	binding_read(r, node, c);
	signing_read(r, node, c);
}

/* json_rpc and mcp: limits and switches; mcp's own limit wins. */
static void
options_read(struct reader *r, const struct yaml_node *node,
    struct policy_endpoint *e)
{
	static const char *const rpc_keys[] = { "max_body_bytes" };
	static const char *const mcp_keys[] = { "max_body_bytes",
		"strict_tool_names", "allow_all_known_mcp_methods" };
	const struct yaml_node *rpc = yaml_get(node, "json_rpc");
	const struct yaml_node *mcp = yaml_get(node, "mcp");
	uint32_t *limit = &e->capabilities.max_body;
	bool framed = e->kind == POLICY_JSON_RPC || e->kind == POLICY_MCP;

	*limit = framed ? POLICY_BODY : 0;
	e->strict_tools = e->kind == POLICY_MCP;
	if (rpc && !framed)
		read_error(r, rpc, "json_rpc needs protocol json-rpc or mcp");
	if (mcp && e->kind != POLICY_MCP)
		read_error(r, mcp, "mcp needs protocol mcp");
	if (rpc && framed) {
		enter(r, "json_rpc");
		if (read_map(r, rpc, rpc_keys, NELEM(rpc_keys)))
			(void)read_number(r, rpc, "max_body_bytes", UINT32_MAX,
			    limit);
		leave(r);
	}
	if (!mcp || e->kind != POLICY_MCP)
		return;
	enter(r, "mcp");
	if (read_map(r, mcp, mcp_keys, NELEM(mcp_keys))) {
		(void)read_number(r, mcp, "max_body_bytes", UINT32_MAX, limit);
		(void)read_flag(r, mcp, "strict_tool_names", &e->strict_tools);
		(void)read_flag(r, mcp, "allow_all_known_mcp_methods",
		    &e->all_methods);
	}
	leave(r);
}

/* --- what does not go together */

static void
forbid(struct reader *r, const struct yaml_node *node, const char *key,
    const char *why)
{
	const struct yaml_node *at = yaml_get(node, key);

	if (!at)
		return;
	enter(r, key);
	read_error(r, at, "%s", why);
	leave(r);
}

static void
opaque_check(struct reader *r, const struct yaml_node *node,
    const struct policy_endpoint *e)
{
	static const char *const inspected[] = { "path", "access", "rules",
		"deny_rules" };
	static const char *const beyond_tcp[] = { "enforcement",
		"allow_encoded_slash", "websocket_credential_rewrite",
		"request_body_credential_rewrite" };

	for (size_t i = 0; i < NELEM(inspected); i++)
		forbid(r, node, inspected[i],
		    "needs a protocol: write 'protocol: rest' to have requests "
		    "inspected");
	for (size_t i = 0; i < NELEM(beyond_tcp) && e->tcp; i++)
		forbid(r, node, beyond_tcp[i],
		    "means nothing under tcp: "
		    "remove it");
	if (e->tcp && e->host.kind != POLICY_HOST_NAME &&
	    e->host.kind != POLICY_HOST_GLOB)
		read_error(r, node,
		    "tcp needs a host name: leave protocol out for an address");
}

static void
host_check(struct reader *r, const struct yaml_node *node,
    const struct policy_endpoint *e)
{
	struct span s;
	bool said = yaml_get(node, "host") &&
	    !(yaml_str(yaml_get(node, "host"), &s) && s.len == 0);

	if (!said && !allowed_given(&e->allowed))
		read_error(r, node,
		    "host is missing: an endpoint without it needs "
		    "allowed_ips");
}

void
endpoint_read(struct reader *r, const struct yaml_node *node,
    struct policy_endpoint *e)
{
	e->place = place_of(node);
	if (!read_map(r, node, keys, NELEM(keys)))
		return;
	for (size_t i = 0; i < NELEM(graphql); i++)
		forbid(r, node, graphql[i],
		    "graphql is not supported until built: remove it");
	host_read(r, node, e);
	ports_read(r, node, &e->ports);
	if (yaml_get(node, "allowed_ips"))
		allowed_read(r, yaml_get(node, "allowed_ips"), &e->allowed);
	host_check(r, node, e);
	addresses_compile(r, node, e);
	scope_read(r, node, e);
	(void)read_flag(r, node, "allow_encoded_slash", &e->encoded_slash);
	capabilities_read(r, node, &e->capabilities);
	if (!protocol_read(r, node, e))
		return;
	modes_read(r, node, e);
	options_read(r, node, e);
	if (e->kind == POLICY_OPAQUE)
		opaque_check(r, node, e);
	else
		rules_read(r, node, e);
}
