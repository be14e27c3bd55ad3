/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies and proofs as JSON. The one text of a policy is its canonical
 * YAML; as JSON it has the same members, and reads back as the same policy.
 */
#include <string.h>

#include "gateway/tool.h"
#include "json/json.h"
#include "proto/nacre_v1.pb.h"
#include "yaml/yaml.h"

static void
scalar_write(const struct yaml_node *n, struct json_out *o)
{
	uint64_t number;
	bool truth;

	if (yaml_is_null(n))
		json_out_null(o);
	else if (yaml_bool(n, &truth))
		json_out_bool(o, truth);
	else if (yaml_uint(n, INT64_MAX, &number))
		json_out_uint(o, number);
	else
		json_out_str(o, n->text);
}

/* No deeper than YAML_DEPTH, which the reader has seen to. */
static int
node_write(const struct yaml_node *n, struct arena *a, struct json_out *o,
    struct fault *f)
{
	if (yaml_is(n, YAML_SCALAR)) {
		scalar_write(n, o);
		return 0;
	}
	if (yaml_is(n, YAML_MAP))
		json_out_object(o);
	else
		json_out_array(o);
	for (const struct yaml_node *m = yaml_first(n); m; m = yaml_next(m)) {
		if (yaml_is(n, YAML_MAP)) {
			const char *key = arena_str(a, m->key);

			if (key == NULL)
				return fault_set(f, FAULT_LIMIT,
				    "the policy is too big");
			json_out_key(o, key);
		}
		if (node_write(m, a, o, f) < 0)
			return -1;
	}
	json_out_end(o);
	return 0;
}

int
tool_yaml(const char *text, struct arena *a, struct json_out *o,
    struct fault *f)
{
	struct yaml_errors *errors = arena_get(a, sizeof(*errors));
	const struct yaml_node *root = NULL;

	if (errors == NULL)
		return fault_set(f, FAULT_LIMIT, "the policy is too big");
	if (yaml_parse(span_str(text), a, &root, errors, f) < 0)
		return -1;
	return node_write(root, a, o, f);
}

static void
text_member(struct json_out *o, const char *key, const char *text)
{
	if (text == NULL || *text == '\0')
		return;
	json_out_key(o, key);
	json_out_text(o, text);
}

static void
query_write(const nacre_v1_Counterexample *x, struct json_out *o)
{
	if (x->query_count == 0)
		return;
	json_out_key(o, "query");
	json_out_array(o);
	for (size_t i = 0; i < x->query_count; i++) {
		json_out_object(o);
		json_out_key(o, "key");
		json_out_text(o, x->query[i].key);
		json_out_key(o, "value");
		json_out_text(o, x->query[i].value);
		json_out_end(o);
	}
	json_out_end(o);
}

void
tool_counterexample(const nacre_v1_Counterexample *x, struct json_out *o)
{
	json_out_object(o);
	text_member(o, "section", x->section);
	text_member(o, "witness", x->witness);
	text_member(o, "child", x->child);
	text_member(o, "parent", x->parent);
	text_member(o, "program", x->program);
	text_member(o, "host", x->host);
	if (x->port != 0) {
		json_out_key(o, "port");
		json_out_uint(o, x->port);
	}
	text_member(o, "address", x->address);
	text_member(o, "act", x->act);
	text_member(o, "method", x->method);
	text_member(o, "path", x->path);
	query_write(x, o);
	text_member(o, "tool", x->tool);
	text_member(o, "file", x->file);
	text_member(o, "access", x->access);
	json_out_end(o);
}

int
tool_tell_policy(const void *message, struct arena *a, struct json_out *o,
    struct fault *f)
{
	const nacre_v1_PolicyInForce *r = message;

	json_out_object(o);
	json_out_key(o, "policy");
	if (tool_yaml(r->policy, a, o, f) < 0)
		return -1;
	json_out_key(o, "policy_hash");
	json_out_text(o, r->hash);
	json_out_key(o, "generation");
	json_out_uint(o, r->generation);
	json_out_end(o);
	return 0;
}

/* The code of what is not within. */
static const char *
proof_code(const nacre_v1_Proof *p)
{
	if (strcmp(p->verdict, "exceeds") != 0)
		return "POLICY_UNSUPPORTED";
	return p->link != NULL && strcmp(p->link, "maximum") == 0
	    ? "POLICY_EXCEEDS_MAXIMUM"
	    : "POLICY_EXCEEDS_PARENT";
}

int
tool_tell_proof(const void *message, struct arena *a, struct json_out *o,
    struct fault *f)
{
	const nacre_v1_Proof *p = message;
	bool allowed = p->verdict != NULL && strcmp(p->verdict, "within") == 0;

	json_out_object(o);
	json_out_key(o, "allowed");
	json_out_bool(o, allowed);
	if (p->completed != NULL && *p->completed != '\0') {
		json_out_key(o, "policy");
		if (tool_yaml(p->completed, a, o, f) < 0)
			return -1;
	}
	text_member(o, "policy_hash", p->hash);
	if (!allowed && p->verdict != NULL)
		text_member(o, "code", proof_code(p));
	if (p->has_counterexample) {
		json_out_key(o, "counterexample");
		tool_counterexample(&p->counterexample, o);
	}
	text_member(o, "hint", p->hint);
	text_member(o, "place", p->place);
	json_out_end(o);
	return 0;
}
