/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of an endpoint as lists. A preset (access) and
 * allow_all_known_mcp_methods become rules here.
 */
#include <string.h>

#include "policy/inner.h"

static bool
count(struct reader *r, const struct yaml_node *node)
{
	if (r->rules == POLICY_RULES)
		read_error(r, node, "over %d rules of requests in one policy",
		    POLICY_RULES);
	return ++r->rules <= POLICY_RULES;
}

static void
allow_read(struct reader *r, const struct yaml_node *node,
    const struct policy_endpoint *e, struct policy_rule *to)
{
	static const char *const keys[] = { "allow" };
	const struct yaml_node *allow = yaml_get(node, "allow");

	if (!read_map(r, node, keys, NELEM(keys)))
		return;
	if (!allow) {
		read_error(r, node, "allow is missing: '- allow: {...}'");
		return;
	}
	enter(r, "allow");
	rule_read(r, allow, e, to);
	leave(r);
}

static void
list_read(struct reader *r, const struct yaml_node *endpoint, const char *key,
    const struct policy_endpoint *e, struct policy_rules *to)
{
	const struct yaml_node *node = yaml_get(endpoint, key);
	bool is_allow = strcmp(key, "rules") == 0;
	struct policy_rule *list;
	uint16_t i = 0;

	if (!node)
		return;
	enter(r, key);
	list = read_list(r, node) ? read_room(r, node->count, sizeof(*list))
				  : NULL;
	if (list && node->count == 0)
		read_error(r, node, "is empty: leave it out");
	for (node = node->first; node && list; node = node->next) {
		if (!count(r, node))
			break;
		enter_index(r, i);
		list[i].index = i;
		if (is_allow)
			allow_read(r, node, e, &list[i]);
		else
			rule_read(r, node, e, &list[i]);
		leave(r);
		i++;
	}
	leave(r);
	*to = (struct policy_rules){ list, i };
}

/* --- presets */

static void
preset_make(struct reader *r, struct policy_endpoint *e)
{
	static const char *const rest[] = { "GET", "HEAD", "OPTIONS", "POST",
		"PUT", "PATCH" };
	static const char *const websocket[] = { "GET", "WEBSOCKET_TEXT" };
	bool is_rest = e->kind == POLICY_REST;
	size_t n = e->access == POLICY_ACCESS_FULL  ? 1
	    : e->access == POLICY_ACCESS_READ_WRITE ? (is_rest ? 6 : 2)
						    : (is_rest ? 3 : 1);
	struct policy_rule *list = read_room(r, n, sizeof(*list));

	for (size_t i = 0; list && i < n; i++) {
		list[i].place = e->place;
		list[i].index = (uint16_t)i;
		if (e->access != POLICY_ACCESS_FULL)
			list[i].method =
			    span_str(is_rest ? rest[i] : websocket[i]);
		glob_set(r, &list[i].path, POLICY_GLOB_PATH, "**");
		glob_set(r, &list[i].rpc, POLICY_GLOB_WORD, "*");
	}
	if (list)
		e->allows = (struct policy_rules){ list, n };
}

static void
access_read(struct reader *r, const struct yaml_node *node,
    struct policy_endpoint *e)
{
	static const char *const words[] = { NULL, "read-only", "read-write",
		"full" };
	unsigned word = 0;

	(void)read_word(r, node, "access", words, NELEM(words), &word);
	e->access = (enum policy_access)word;
	if (e->access == POLICY_ACCESS_RULES)
		return;
	if (!is_http(e))
		read_error(r, node,
		    "access means nothing under %s: write rules",
		    policy_kind_name(e->kind));
	else if (yaml_get(node, "rules"))
		read_error(r, node,
		    "access and rules exclude each other: write the preset "
		    "as rules");
	else
		preset_make(r, e);
}

/* --- mcp */

static bool
has_tools(const struct policy_rules *rules)
{
	for (size_t i = 0; i < rules->n; i++)
		if (rules->rule[i].tools == POLICY_TOOLS_GLOB)
			return true;
	return false;
}

/* Beside rules with tools, a rule that has every call makes them vain. */
static void
broad_check(struct reader *r, const struct yaml_node *node,
    const struct policy_rules *rules)
{
	for (size_t i = 0; i < rules->n; i++)
		if (rules->rule[i].tools == POLICY_TOOLS_ANY &&
		    rules->rule[i].rpc.steps &&
		    policy_glob_match(&rules->rule[i].rpc,
			span_str(POLICY_CALL))) {
			read_error(r, node,
			    "rule %zu allows every tool beside rules that name "
			    "tools: remove one of them",
			    i);
			return;
		}
}

static void
imply(struct reader *r, struct policy_endpoint *e)
{
	struct policy_rule *list = read_room(r, e->allows.n + 1, sizeof(*list));
	struct policy_rule *all;

	if (!list)
		return;
	if (e->allows.n > 0)
		memcpy(list, e->allows.rule, e->allows.n * sizeof(*list));
	all = &list[e->allows.n];
	all->place = e->place;
	all->index = POLICY_IMPLIED;
	all->tools =
	    has_tools(&e->allows) ? POLICY_TOOLS_NONE : POLICY_TOOLS_ANY;
	glob_set(r, &all->rpc, POLICY_GLOB_WORD, "*");
	glob_set(r, &all->path, POLICY_GLOB_PATH, "**");
	e->allows = (struct policy_rules){ list, e->allows.n + 1 };
}

void
rules_read(struct reader *r, const struct yaml_node *endpoint,
    struct policy_endpoint *e)
{
	bool has_rules = yaml_get(endpoint, "rules");
	size_t before;

	list_read(r, endpoint, "rules", e, &e->allows);
	list_read(r, endpoint, "deny_rules", e, &e->denies);
	before = r->errors->count;
	access_read(r, endpoint, e);
	/* A wrong preset has been told of; an empty one is none. */
	has_rules = has_rules || e->access || r->errors->count > before;
	if (e->kind == POLICY_MCP && has_tools(&e->allows))
		broad_check(r, endpoint, &e->allows);
	if (e->kind == POLICY_MCP && e->all_methods)
		imply(r, e);
	if (has_rules || e->all_methods)
		return;
	read_error(r, endpoint, "protocol %s needs rules: for all write '%s'",
	    policy_kind_name(e->kind),
	    is_http(e)                  ? "access: full"
		: e->kind == POLICY_MCP ? "mcp: {allow_all_known_mcp_methods: "
					  "true}"
					: "rules: [{allow: {method: \"*\"}}]");
}
