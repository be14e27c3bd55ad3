/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical text: YAML that reads back as the same policy. Lists are
 * sorted by their own text and equal items are written once, so that neither
 * order nor repetition reaches the hash. What a stranger wrote is quoted.
 */
#include <string.h>

#include "digest/digest.h"
#include "policy/inner.h"

/* Pieces of one list, each printed on its own and then sorted. */
struct pieces {
	struct text *t;
	struct span *piece;
	size_t n;
};

static bool
pieces_open(struct pieces *s, struct text *t, size_t most)
{
	s->t = t;
	s->n = 0;
	s->piece = arena_get(t->a, (most + 1) * sizeof(*s->piece));
	if (!s->piece)
		t->spent = true;
	return s->piece;
}

static struct text
piece_text(const struct pieces *s)
{
	return (struct text){ .a = s->t->a };
}

static void
piece_take(struct pieces *s, const struct text *one)
{
	s->t->spent |= one->spent;
	if (!one->spent)
		s->piece[s->n++] = span_of(one->to, one->n);
}

enum {
	SIMPLE = 1000, /* bytes of a key that YAML takes without a '?' */
};

/* A key and its ':'. In a block it is indented, else it is in braces. */
static void
key_print(struct text *t, struct span key, const char *indent)
{
	struct text one = { .a = t->a };

	text_quoted(&one, key);
	t->spent |= one.spent;
	if (t->spent)
		return;
	text_add(t, indent);
	if (one.n > SIMPLE)
		text_add(t, "? ");
	text_add(t, one.to);
	if (one.n > SIMPLE) {
		text_add(t, *indent ? "\n" : " ");
		text_add(t, indent);
	}
	text_add(t, ":");
}

static void
quoted_list(struct text *t, const struct policy_globs *g)
{
	struct pieces s;

	if (!pieces_open(&s, t, g->n))
		return;
	for (size_t i = 0; i < g->n; i++) {
		struct text one = piece_text(&s);

		text_quoted(&one, g->glob[i].text);
		piece_take(&s, &one);
	}
	text_sorted(t, s.piece, s.n, ", ");
}

/* One glob, also one written twice, is itself; more are {any: [...]}. */
static void
globs_print(struct text *t, const struct policy_globs *g)
{
	size_t alike = 1;

	while (alike < g->n && span_equal(g->glob[alike].text, g->glob[0].text))
		alike++;
	if (alike == g->n) {
		text_quoted(t, g->glob[0].text);
		return;
	}
	text_add(t, "{any: [");
	quoted_list(t, g);
	text_add(t, "]}");
}

/* --- rules */

static void
query_print(struct text *t, const struct policy_rule *rule)
{
	for (size_t i = 0; i < rule->query_n; i++) {
		text_add(t, i ? ", " : "");
		key_print(t, rule->query[i].key, "");
		text_add(t, " ");
		globs_print(t, &rule->query[i].values);
	}
}

/* What stands for everything is left out, but never all of it. */
static void
http_print(struct text *t, const struct policy_rule *rule)
{
	bool all = rule->path.everything &&
	    (rule->method.len > 0 || rule->query_n > 0);

	if (rule->method.len > 0) {
		text_add(t, "method: ");
		text_quoted(t, rule->method);
	}
	if (!all) {
		text_add(t, rule->method.len > 0 ? ", path: " : "path: ");
		text_path(t, rule->path.text);
	}
	if (rule->query_n == 0)
		return;
	text_add(t, rule->method.len > 0 || !all ? ", query: {" : "query: {");
	query_print(t, rule);
	text_add(t, "}");
}

static void
rule_print(struct text *t, enum policy_kind kind,
    const struct policy_rule *rule)
{
	text_add(t, "{");
	if (kind == POLICY_REST || kind == POLICY_WEBSOCKET) {
		http_print(t, rule);
	} else {
		text_add(t, "method: ");
		text_quoted(t, rule->rpc.text);
	}
	if (rule->tools == POLICY_TOOLS_GLOB) {
		text_add(t, ", tool: ");
		globs_print(t, &rule->tool);
	}
	text_add(t, "}");
}

static void
rules_print(struct text *t, const char *head, const char *before,
    const char *after, const struct policy_endpoint *e,
    const struct policy_rules *rules)
{
	struct pieces s;

	if (!pieces_open(&s, t, rules->n))
		return;
	for (size_t i = 0; i < rules->n; i++) {
		struct text one = piece_text(&s);

		if (rules->rule[i].index == POLICY_IMPLIED)
			continue;
		text_add(&one, before);
		rule_print(&one, e->kind, &rules->rule[i]);
		text_add(&one, after);
		piece_take(&s, &one);
	}
	if (s.n == 0)
		return;
	text_add(t, head);
	text_sorted(t, s.piece, s.n, "");
}

/* --- endpoints */

static void
field(struct text *t, const char *key, const char *value)
{
	text_add(t, "      ");
	text_add(t, key);
	text_add(t, ": ");
	text_add(t, value);
	text_add(t, "\n");
}

static void
flag(struct text *t, const char *key, bool on)
{
	if (on)
		field(t, key, "true");
}

static void
quoted_field(struct text *t, const char *key, struct span value)
{
	if (value.len == 0)
		return;
	text_add(t, "      ");
	text_add(t, key);
	text_add(t, ": ");
	text_quoted(t, value);
	text_add(t, "\n");
}

static void
path_field(struct text *t, struct span path)
{
	text_add(t, "      path: ");
	text_path(t, path);
	text_add(t, "\n");
}

static void
ports_print(struct text *t, const struct policy_ports *ports)
{
	const char *between = "";

	text_add(t, "      ports: [");
	for (size_t i = 0; i < ports->n; i++)
		for (uint32_t p = ports->range[i].first;
		     p <= ports->range[i].last; p++) {
			text_add(t, between);
			text_num(t, p);
			between = ", ";
		}
	text_add(t, "]\n");
}

static void
cidr_print(struct text *t, const struct policy_cidr *c)
{
	bool v4 = policy_address_is_v4(c->address) && c->bits >= 96;
	char address[POLICY_ADDRESS];
	char out[POLICY_ADDRESS + 8];

	policy_address_format(c->address, address);
	(void)text_fmt(out, sizeof(out), "\"%s/%u\"", address,
	    (unsigned)(v4 ? c->bits - 96 : c->bits));
	text_add(t, out);
}

static void
allowed_print(struct text *t, const struct policy_allowed *w)
{
	struct pieces s;

	if (!(w->is_any || w->is_public || w->n) ||
	    !pieces_open(&s, t, w->n + 2))
		return;
	if (w->is_any)
		s.piece[s.n++] = span_str("any");
	if (w->is_public)
		s.piece[s.n++] = span_str("public");
	for (size_t i = 0; i < w->n; i++) {
		struct text one = piece_text(&s);

		cidr_print(&one, &w->cidr[i]);
		piece_take(&s, &one);
	}
	text_add(t, "      allowed_ips: [");
	text_sorted(t, s.piece, s.n, ", ");
	text_add(t, "]\n");
}

static void
capabilities_print(struct text *t, const struct policy_capabilities *c)
{
	static const char *const signing[] = { "", "\"sigv4\"",
		"\"sigv4:body\"", "\"sigv4:no_body\"" };

	flag(t, "websocket_credential_rewrite", c->websocket_rewrite);
	flag(t, "request_body_credential_rewrite", c->body_rewrite);
	flag(t, "allow_uninspected_credentials", c->uninspected);
	if (c->signing)
		field(t, "credential_signing", signing[c->signing]);
	quoted_field(t, "signing_service", c->signing_service);
	quoted_field(t, "signing_region", c->signing_region);
	if (c->provider.len > 0) {
		text_add(t, "      credential_binding: {provider: ");
		text_quoted(t, c->provider);
		text_add(t, "}\n");
	}
}

static void
options_print(struct text *t, const struct policy_endpoint *e)
{
	if (e->kind != POLICY_JSON_RPC && e->kind != POLICY_MCP)
		return;
	text_add(t,
	    e->kind == POLICY_MCP ? "      mcp: {max_body_bytes: "
				  : "      json_rpc: {max_body_bytes: ");
	text_num(t, e->capabilities.max_body);
	if (e->kind == POLICY_MCP && !e->strict_tools)
		text_add(t, ", strict_tool_names: false");
	if (e->all_methods)
		text_add(t, ", allow_all_known_mcp_methods: true");
	text_add(t, "}\n");
}

static void
inspection_print(struct text *t, const struct policy_endpoint *e)
{
	static const char *const access[] = { "", "read-only", "read-write",
		"full" };

	field(t, "protocol", policy_kind_name(e->kind));
	field(t, "enforcement", e->audit ? "audit" : "enforce");
	if (!e->path.everything)
		path_field(t, e->path.text);
	flag(t, "allow_encoded_slash", e->encoded_slash);
	if (e->access)
		field(t, "access", access[e->access]);
	else
		rules_print(t, "      rules:\n", "      - allow: ", "\n", e,
		    &e->allows);
	rules_print(t, "      deny_rules:\n", "      - ", "\n", e, &e->denies);
	options_print(t, e);
}

static void
endpoint_print(struct text *t, const struct policy_endpoint *e)
{
	struct span host = e->host.glob.text;

	text_add(t, "    - host: ");
	text_quoted(t, e->host.kind == POLICY_HOST_NONE ? span_str("") : host);
	text_add(t, "\n");
	ports_print(t, &e->ports);
	allowed_print(t, &e->allowed);
	if (e->kind != POLICY_OPAQUE) {
		inspection_print(t, e);
	} else {
		if (e->tcp)
			field(t, "protocol", "tcp");
		if (e->skip_tls)
			field(t, "tls", "skip");
		if (e->audit)
			field(t, "enforcement", "audit");
		flag(t, "allow_encoded_slash", e->encoded_slash);
	}
	capabilities_print(t, &e->capabilities);
}

/* --- entries */

static void
entry_print(struct text *t, const struct policy_entry *entry)
{
	struct pieces s;

	key_print(t, entry->key, "  ");
	text_add(t, "\n");
	if (!span_equal(entry->name, entry->key)) {
		text_add(t, "    name: ");
		text_quoted(t, entry->name);
		text_add(t, "\n");
	}
	if (entry->endpoints_n > 0 && pieces_open(&s, t, entry->endpoints_n)) {
		for (size_t i = 0; i < entry->endpoints_n; i++) {
			struct text one = piece_text(&s);

			endpoint_print(&one, &entry->endpoints[i]);
			piece_take(&s, &one);
		}
		text_add(t, "    endpoints:\n");
		text_sorted(t, s.piece, s.n, "");
	}
	if (!pieces_open(&s, t, entry->programs_n))
		return;
	for (size_t i = 0; i < entry->programs_n; i++) {
		struct text one = piece_text(&s);

		text_add(&one, "    - {path: ");
		text_path(&one, entry->programs[i].glob.text);
		text_add(&one, "}\n");
		piece_take(&s, &one);
	}
	text_add(t, "    binaries:\n");
	text_sorted(t, s.piece, s.n, "");
}

static void
network_print(struct text *t, const struct policy *p)
{
	struct pieces s;

	if (p->entries_n == 0) {
		text_add(t, "network_policies: {}\n");
		return;
	}
	text_add(t, "network_policies:\n");
	if (!pieces_open(&s, t, p->entries_n))
		return;
	for (size_t i = 0; i < p->entries_n; i++) {
		struct text one = piece_text(&s);

		entry_print(&one, &p->entries[i]);
		piece_take(&s, &one);
	}
	text_sorted(t, s.piece, s.n, "");
}

/* --- the other sections */

static bool
is_listed(const struct policy_files *files, struct span path)
{
	for (size_t i = 0; i < files->n; i++)
		if (span_equal(files->file[i].path, path))
			return true;
	return false;
}

/* What may be written may be read: it is not said twice. */
static void
files_print(struct text *t, const char *key, const struct policy_files *files,
    const struct policy_files *without)
{
	struct pieces s;

	if (!pieces_open(&s, t, files->n))
		return;
	for (size_t i = 0; i < files->n; i++) {
		struct text one = piece_text(&s);

		if (without && is_listed(without, files->file[i].path))
			continue;
		text_add(&one, "  - ");
		text_path(&one, files->file[i].path);
		text_add(&one, "\n");
		piece_take(&s, &one);
	}
	if (s.n == 0)
		return;
	text_add(t, key);
	text_sorted(t, s.piece, s.n, "");
}

static void
filesystem_print(struct text *t, const struct policy *p)
{
	text_add(t, "filesystem_policy:\n  include_workdir: ");
	text_add(t, p->include_workdir ? "true\n" : "false\n");
	files_print(t, "  read_only:\n", &p->read_only, &p->read_write);
	files_print(t, "  read_write:\n", &p->read_write, NULL);
}

static void
identity_print(struct text *t, const char *key, const char *value)
{
	if (!*value)
		return;
	text_add(t, key);
	text_quoted(t, span_str(value));
	text_add(t, "\n");
}

static void
process_print(struct text *t, const struct policy *p)
{
	bool some = p->user[0] || p->group[0];

	text_add(t, some ? "process:\n" : "process: {}\n");
	identity_print(t, "  run_as_user: ", p->user);
	identity_print(t, "  run_as_group: ", p->group);
}

int
policy_print(struct policy *p, struct arena *a, struct fault *f)
{
	struct text t = { .a = a };

	text_add(&t, "version: 1\n");
	if (p->has_filesystem)
		filesystem_print(&t, p);
	if (p->has_landlock)
		text_add(&t,
		    p->best_effort
			? "landlock:\n  compatibility: best_effort\n"
			: "landlock:\n  compatibility: hard_requirement\n");
	if (p->has_process)
		process_print(&t, p);
	if (p->has_network)
		network_print(&t, p);
	if (p->has_middlewares)
		text_add(&t, "network_middlewares: {}\n");
	if (t.spent)
		return fault_set(f, FAULT_LIMIT, "policy is too large");
	if (t.n > POLICY_BYTES)
		return fault_set(f, FAULT_LIMIT,
		    "policy is over %d bytes when written out", POLICY_BYTES);
	p->text = span_of(t.to, t.n);
	digest_of(p->text, p->hash);
	return 0;
}
