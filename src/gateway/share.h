/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places that users of the host and trees of sandboxes share: all trees
 * together have three quarters, one of them has a quarter, so that no tree
 * shuts out the others, nor all of them the host.
 */
#ifndef GATEWAY_SHARE_H
#define GATEWAY_SHARE_H

#include <stdbool.h>
#include <stddef.h>

struct share_tree;

struct share {
	size_t max;
	size_t n;
	size_t in_trees;          /* of them */
	struct share_tree *trees; /* those that have a place */
};

/* tree: id of its root, which is copied; empty: the host. */
bool share_has_room(const struct share *s, const char *tree);
/* Past the limits too: ask before. */
void share_take(struct share *s, const char *tree);
void share_give(struct share *s, const char *tree);

#endif
