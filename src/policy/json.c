/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON policy as the tree that the validator walks. Strings become quoted
 * scalars; true, 443 and null plain ones. A place is line 0 and the byte,
 * counted from 1 so that it is never 0:0.
 */
#include <string.h>

#include "json/json.h"
#include "policy/inner.h"

struct walk {
	struct arena *a;
	size_t depth;
	bool spent;
	bool too_deep;
};

static struct yaml_node *convert(struct walk *w, const struct json_value *v);

static void
convert_items(struct walk *w, const struct json_value *v,
    struct yaml_node *node)
{
	const struct yaml_node **end = &node->first;

	if (w->depth == YAML_DEPTH) {
		w->too_deep = true;
		return;
	}
	w->depth++;
	for (v = json_first(v); v; v = json_next(v)) {
		struct yaml_node *item = convert(w, v);

		if (!item)
			break;
		item->key = v->key;
		item->key_column = (uint32_t)v->key_offset + 1;
		*end = item;
		end = &item->next;
		node->count++;
	}
	w->depth--;
}

/* No deeper than YAML_DEPTH. */
static struct yaml_node *
convert(struct walk *w, const struct json_value *v)
{
	static const enum yaml_kind kinds[] = { [JSON_NULL] = YAML_SCALAR,
		[JSON_BOOL] = YAML_SCALAR,
		[JSON_NUMBER] = YAML_SCALAR,
		[JSON_STRING] = YAML_SCALAR,
		[JSON_ARRAY] = YAML_LIST,
		[JSON_OBJECT] = YAML_MAP };
	struct yaml_node *node = arena_get(w->a, sizeof(*node));

	if (!node) {
		w->spent = true;
		return NULL;
	}
	node->kind = kinds[v->kind];
	node->column = (uint32_t)v->offset + 1;
	node->plain = v->kind != JSON_STRING;
	node->text =
	    v->kind == JSON_STRING || v->kind == JSON_NUMBER ? v->text : v->raw;
	if (node->kind != YAML_SCALAR) {
		node->text = span_of(NULL, 0);
		convert_items(w, v, node);
	}
	return node;
}

/* The one mistake that the text's syntax has; its sentence has the place. */
static int
syntax(struct yaml_errors *errors, const struct fault *f)
{
	if (f->code == FAULT_INVALID)
		yaml_error(errors, 0, 0, "%s", f->text);
	return -1;
}

int
policy_read_json(struct span text, unsigned flags, struct arena *a,
    struct policy *p, struct yaml_errors *errors, struct fault *f)
{
	struct reader r = { .a = a,
		.errors = errors,
		.source = READ_JSON,
		.flags = flags };
	struct walk w = { .a = a };
	const struct json_value *v;
	const struct yaml_node *root;

	yaml_errors_init(errors);
	if (text.len > POLICY_BYTES)
		return fault_set(f, FAULT_LIMIT, "policy is over %d bytes",
		    POLICY_BYTES);
	if (json_parse(text, a, &v, f) != 0)
		return syntax(errors, f);
	root = convert(&w, v);
	if (w.too_deep) {
		(void)fault_set(f, FAULT_INVALID, "nesting is deeper than %d",
		    YAML_DEPTH);
		return syntax(errors, f);
	}
	if (w.spent || !root)
		return fault_set(f, FAULT_LIMIT, "policy is too large");
	return policy_compile(&r, root, p, f);
}
