/* SPDX-License-Identifier: Apache-2.0 */
/* How many, and which tree has how many; share.h has the contracts. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "gateway/share.h"

struct share_tree {
	struct share_tree *next;
	size_t n;
	char root[LIMIT_ID + 1];
};

static struct share_tree *
find(const struct share *s, const char *root)
{
	struct share_tree *t = s->trees;

	while (t != NULL && strcmp(t->root, root) != 0)
		t = t->next;
	return t;
}

bool
share_has_room(const struct share *s, const char *tree)
{
	const struct share_tree *t;

	if (s->n >= s->max || *tree == '\0')
		return s->n < s->max;
	if (s->in_trees >= s->max / 4 * 3)
		return false;
	t = find(s, tree);
	return t == NULL || t->n < s->max / 4;
}

void
share_take(struct share *s, const char *tree)
{
	struct share_tree *t;

	s->n++;
	if (*tree == '\0')
		return;
	s->in_trees++;
	t = find(s, tree);
	if (t == NULL) {
		t = must_alloc(sizeof(*t));
		(void)text_copy(t->root, sizeof(t->root), span_str(tree));
		t->next = s->trees;
		s->trees = t;
	}
	t->n++;
}

void
share_give(struct share *s, const char *tree)
{
	struct share_tree *t;
	struct share_tree **at = &s->trees;

	s->n--;
	if (*tree == '\0')
		return;
	s->in_trees--;
	t = find(s, tree);
	if (--t->n > 0)
		return;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	free(t);
}
