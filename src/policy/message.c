/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy as the message that reads back as it: what clients of the wire ask
 * for, and what our own client sends. Presets stay presets.
 */
#include <string.h>

#include "policy/inner.h"
#include "proto/openshell_sandbox_v1.pb.h"

typedef openshell_sandbox_v1_L7Allow allow_message;
typedef openshell_sandbox_v1_L7DenyRule deny_message;
typedef openshell_sandbox_v1_L7Allow_QueryEntry query_message;
typedef openshell_sandbox_v1_L7Allow_ParamsEntry params_message;

struct writer {
	struct arena *a;
	bool spent;
};

/* n zeroed structs, or (spent) NULL. */
static void *
room(struct writer *w, size_t n, size_t size)
{
	void *p = arena_get(w->a, (n ? n : 1) * size);

	if (!p)
		w->spent = true;
	return p;
}

static char *
text(struct writer *w, struct span s)
{
	char *p;

	if (s.len == 0)
		return NULL;
	p = arena_str(w->a, s);
	if (!p)
		w->spent = true;
	return p;
}

static char *
word(struct writer *w, const char *s)
{
	return text(w, span_str(s));
}

/* An empty glob is only told in the list. */
static openshell_sandbox_v1_L7QueryMatcher
matcher(struct writer *w, const struct policy_globs *g)
{
	openshell_sandbox_v1_L7QueryMatcher m =
	    openshell_sandbox_v1_L7QueryMatcher_init_zero;

	if (g->n == 1 && g->glob[0].text.len > 0) {
		m.glob = text(w, g->glob[0].text);
		return m;
	}
	m.any = room(w, g->n, sizeof(*m.any));
	for (size_t i = 0; m.any && i < g->n; i++) {
		m.any[i] = arena_str(w->a, g->glob[i].text);
		w->spent |= !m.any[i];
	}
	m.any_count = (pb_size_t)g->n;
	return m;
}

static void
rule_put(struct writer *w, enum policy_kind kind,
    const struct policy_rule *rule, allow_message *m)
{
	bool http = kind == POLICY_REST || kind == POLICY_WEBSOCKET;

	m->method = !http      ? text(w, rule->rpc.text)
	    : rule->method.len ? text(w, rule->method)
			       : word(w, "*");
	if (http)
		m->path = text(w, rule->path.text);
	m->query =
	    rule->query_n ? room(w, rule->query_n, sizeof(*m->query)) : NULL;
	for (size_t i = 0; m->query && i < rule->query_n; i++) {
		m->query[i].key = arena_str(w->a, rule->query[i].key);
		w->spent |= !m->query[i].key;
		m->query[i].has_value = true;
		m->query[i].value = matcher(w, &rule->query[i].values);
	}
	m->query_count = (pb_size_t)rule->query_n;
	if (rule->tools != POLICY_TOOLS_GLOB)
		return;
	m->params = room(w, 1, sizeof(*m->params));
	if (!m->params)
		return;
	m->params_count = 1;
	m->params[0].key = word(w, "name");
	m->params[0].has_value = true;
	m->params[0].value = matcher(w, &rule->tool);
}

static void
rules_put(struct writer *w, const struct policy_endpoint *e,
    openshell_sandbox_v1_NetworkEndpoint *m)
{
	allow_message as_allow;

	if (e->access == POLICY_ACCESS_RULES && e->allows.n > 0) {
		m->rules = room(w, e->allows.n, sizeof(*m->rules));
		for (size_t i = 0; m->rules && i < e->allows.n; i++) {
			if (e->allows.rule[i].index == POLICY_IMPLIED)
				continue;
			m->rules[m->rules_count].has_allow = true;
			rule_put(w, e->kind, &e->allows.rule[i],
			    &m->rules[m->rules_count++].allow);
		}
	}
	if (e->denies.n == 0)
		return;
	m->deny_rules = room(w, e->denies.n, sizeof(*m->deny_rules));
	for (size_t i = 0; m->deny_rules && i < e->denies.n; i++) {
		memset(&as_allow, 0, sizeof(as_allow));
		rule_put(w, e->kind, &e->denies.rule[i], &as_allow);
		/* One layout: protobuf.c holds the compiler to it. */
		memcpy(&m->deny_rules[i], &as_allow, sizeof(as_allow));
	}
	m->deny_rules_count = (pb_size_t)e->denies.n;
}

static void
allowed_put(struct writer *w, const struct policy_allowed *a,
    openshell_sandbox_v1_NetworkEndpoint *m)
{
	size_t n = a->n + a->is_any + a->is_public;
	char address[POLICY_ADDRESS];
	char cidr[POLICY_ADDRESS + 8];

	if (n == 0)
		return;
	m->allowed_ips = room(w, n, sizeof(*m->allowed_ips));
	if (!m->allowed_ips)
		return;
	if (a->is_any)
		m->allowed_ips[m->allowed_ips_count++] = word(w, "any");
	if (a->is_public)
		m->allowed_ips[m->allowed_ips_count++] = word(w, "public");
	for (size_t i = 0; i < a->n; i++) {
		const struct policy_cidr *c = &a->cidr[i];
		bool v4 = policy_address_is_v4(c->address) && c->bits >= 96;

		policy_address_format(c->address, address);
		(void)text_fmt(cidr, sizeof(cidr), "%s/%u", address,
		    (unsigned)(v4 ? c->bits - 96 : c->bits));
		m->allowed_ips[m->allowed_ips_count++] = word(w, cidr);
	}
}

static void
ports_put(struct writer *w, const struct policy_ports *ports,
    openshell_sandbox_v1_NetworkEndpoint *m)
{
	size_t n = 0;

	for (size_t i = 0; i < ports->n; i++)
		n += (size_t)(ports->range[i].last - ports->range[i].first) + 1;
	m->ports = room(w, n, sizeof(*m->ports));
	if (!m->ports)
		return;
	for (size_t i = 0; i < ports->n; i++)
		for (uint32_t p = ports->range[i].first;
		     p <= ports->range[i].last; p++)
			m->ports[m->ports_count++] = p;
	m->port = m->ports[0];
}

static void
capabilities_put(struct writer *w, const struct policy_endpoint *e,
    openshell_sandbox_v1_NetworkEndpoint *m)
{
	static const char *const signing[] = { "", "sigv4", "sigv4:body",
		"sigv4:no_body" };
	const struct policy_capabilities *c = &e->capabilities;

	m->websocket_credential_rewrite = c->websocket_rewrite;
	m->request_body_credential_rewrite = c->body_rewrite;
	m->allow_uninspected_credentials = c->uninspected;
	m->credential_signing = word(w, signing[c->signing]);
	m->signing_service = text(w, c->signing_service);
	m->signing_region = text(w, c->signing_region);
	m->has_credential_binding = c->provider.len > 0;
	m->credential_binding.provider = text(w, c->provider);
	m->json_rpc_max_body_bytes = c->max_body;
	m->has_mcp = e->kind == POLICY_MCP;
	m->mcp.has_strict_tool_names = m->has_mcp;
	m->mcp.strict_tool_names = e->strict_tools;
	m->mcp.has_allow_all_known_mcp_methods = e->all_methods;
	m->mcp.allow_all_known_mcp_methods = e->all_methods;
}

static void
endpoint_put(struct writer *w, const struct policy_endpoint *e,
    openshell_sandbox_v1_NetworkEndpoint *m)
{
	static const char *const access[] = { "", "read-only", "read-write",
		"full" };
	bool opaque = e->kind == POLICY_OPAQUE;

	m->host = text(w, e->host.glob.text);
	ports_put(w, &e->ports, m);
	m->protocol =
	    opaque && !e->tcp ? NULL : word(w, policy_kind_name(e->kind));
	m->tls = e->skip_tls ? word(w, "skip") : NULL;
	m->enforcement = e->audit ? word(w, "audit")
	    : opaque              ? NULL
				  : word(w, "enforce");
	if (!e->path.everything)
		m->path = text(w, e->path.text);
	m->allow_encoded_slash = e->encoded_slash;
	m->access = word(w, access[e->access]);
	rules_put(w, e, m);
	allowed_put(w, &e->allowed, m);
	capabilities_put(w, e, m);
}

static void
entry_put(struct writer *w, const struct policy_entry *entry,
    openshell_sandbox_v1_NetworkPolicyRule *m)
{
	m->name = text(w, entry->name);
	m->endpoints = room(w, entry->endpoints_n, sizeof(*m->endpoints));
	for (size_t i = 0; m->endpoints && i < entry->endpoints_n; i++)
		endpoint_put(w, &entry->endpoints[i], &m->endpoints[i]);
	m->endpoints_count = (pb_size_t)entry->endpoints_n;
	m->binaries = room(w, entry->programs_n, sizeof(*m->binaries));
	for (size_t i = 0; m->binaries && i < entry->programs_n; i++)
		m->binaries[i].path = text(w, entry->programs[i].glob.text);
	m->binaries_count = (pb_size_t)entry->programs_n;
}

static char **
files_put(struct writer *w, const struct policy_files *files, pb_size_t *n)
{
	char **list = room(w, files->n, sizeof(*list));

	for (size_t i = 0; list && i < files->n; i++)
		list[i] = text(w, files->file[i].path);
	*n = (pb_size_t)files->n;
	return list;
}

static void
sections_put(struct writer *w, const struct policy *p,
    openshell_sandbox_v1_SandboxPolicy *m)
{
	m->version = 1;
	m->has_filesystem = p->has_filesystem;
	if (p->has_filesystem) {
		m->filesystem.include_workdir = p->include_workdir;
		m->filesystem.read_only =
		    files_put(w, &p->read_only, &m->filesystem.read_only_count);
		m->filesystem.read_write = files_put(w, &p->read_write,
		    &m->filesystem.read_write_count);
	}
	m->has_landlock = p->has_landlock;
	if (p->has_landlock)
		m->landlock.compatibility = word(w,
		    p->best_effort ? "best_effort" : "hard_requirement");
	m->has_process = p->has_process;
	m->process.run_as_user = word(w, p->user);
	m->process.run_as_group = word(w, p->group);
}

int
policy_message(const struct policy *p, struct arena *a,
    openshell_sandbox_v1_SandboxPolicy *out, struct fault *f)
{
	struct writer w = { .a = a };
	openshell_sandbox_v1_SandboxPolicy m =
	    openshell_sandbox_v1_SandboxPolicy_init_zero;

	sections_put(&w, p, &m);
	m.network_policies =
	    room(&w, p->entries_n, sizeof(*m.network_policies));
	for (size_t i = 0; m.network_policies && i < p->entries_n; i++) {
		m.network_policies[i].key = text(&w, p->entries[i].key);
		m.network_policies[i].has_value = true;
		entry_put(&w, &p->entries[i], &m.network_policies[i].value);
	}
	m.network_policies_count = (pb_size_t)p->entries_n;
	if (w.spent)
		return fault_set(f, FAULT_LIMIT, "policy is too large");
	*out = m;
	return 0;
}
