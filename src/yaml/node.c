/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to a tree that is built; yaml/yaml.h has the contracts. */
#include "base/base.h"
#include "yaml/yaml.h"

bool
yaml_is(const struct yaml_node *node, enum yaml_kind kind)
{
	return node && node->kind == kind;
}

const char *
yaml_kind_name(enum yaml_kind kind)
{
	static const char *const names[] = {
		[YAML_SCALAR] = "scalar",
		[YAML_LIST] = "list",
		[YAML_MAP] = "map",
	};

	return names[kind];
}

bool
yaml_is_null(const struct yaml_node *node)
{
	return yaml_is(node, YAML_SCALAR) && node->plain &&
	    (node->text.len == 0 || span_is(node->text, "~") ||
		span_is(node->text, "null"));
}

const struct yaml_node *
yaml_first(const struct yaml_node *node)
{
	return node ? node->first : NULL;
}

const struct yaml_node *
yaml_next(const struct yaml_node *node)
{
	return node ? node->next : NULL;
}

const struct yaml_node *
yaml_get(const struct yaml_node *node, const char *key)
{
	if (!yaml_is(node, YAML_MAP))
		return NULL;
	for (node = node->first; node; node = node->next)
		if (span_is(node->key, key))
			return node;
	return NULL;
}

bool
yaml_bool(const struct yaml_node *node, bool *out)
{
	bool truth;

	if (!yaml_is(node, YAML_SCALAR) || !node->plain)
		return false;
	truth = span_is(node->text, "true");
	if (!truth && !span_is(node->text, "false"))
		return false;
	*out = truth;
	return true;
}

bool
yaml_str(const struct yaml_node *node, struct span *out)
{
	bool truth;

	if (!yaml_is(node, YAML_SCALAR) || yaml_is_null(node) ||
	    yaml_bool(node, &truth))
		return false;
	*out = node->text;
	return true;
}

bool
yaml_uint(const struct yaml_node *node, uint64_t max, uint64_t *out)
{
	return yaml_is(node, YAML_SCALAR) && node->plain &&
	    num_parse(node->text, max, out);
}
