/* rooms: yaml */
/* SPDX-License-Identifier: Apache-2.0 */
/* A text is a tree or at least one error with a place. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "yaml/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static size_t
tree_count(const struct yaml_node *node)
{
	size_t members = 0;
	size_t all = 1;

	BUG_IF(node->line == 0 || node->column == 0);
	for (const struct yaml_node *m = node->first; m; m = m->next) {
		members++;
		all += tree_count(m); /* no deeper than YAML_DEPTH */
		BUG_IF(node->kind == YAML_MAP &&
		    (m->key_line == 0 || !m->key.ptr));
	}
	BUG_IF(members != node->count);
	BUG_IF(node->kind == YAML_SCALAR && node->text.ptr[node->text.len]);
	return all;
}

static void
errors_check(const struct yaml_errors *e, const struct fault *f)
{
	if (f->code == FAULT_LIMIT)
		return;
	BUG_IF(e->count == 0);
	for (size_t i = 0; i < e->count && i < YAML_ERRORS; i++)
		BUG_IF(e->list[i].line == 0 || e->list[i].text[0] == '\0');
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	const struct yaml_node *root;
	struct yaml_errors errors;
	struct arena a;
	struct fault f = { 0 };

	arena_init(&a, 64 << 20);
	if (yaml_parse(span_of(p, n), &a, &root, &errors, &f) == 0)
		BUG_IF(tree_count(root) > YAML_NODES);
	else
		errors_check(&errors, &f);
	arena_release(&a);
	return 0;
}
