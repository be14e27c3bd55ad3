/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree of sandboxes with its grant, as the store has them now, in the form
 * that the grant room judges. What is gone is left out.
 */
#ifndef GATEWAY_TREE_H
#define GATEWAY_TREE_H

#include "gateway/inner.h"
#include "gateway/state.h"
#include "grant/grant.h"

/* The calls of one sandbox, by programs of the grant and by others. */
struct tree_member {
	char id[LIMIT_ID + 1];
	struct grant_bucket inside;
	struct grant_bucket outside;
	struct tree_member *next;
};

/* What is known of a tree only while this gateway runs. */
struct tree_memory {
	char root[LIMIT_ID + 1];
	uint64_t number; /* in the line of starts; never 0 */
	struct grant_worth worth;
	struct grant_bucket rate;
	struct tree_member *members; /* that have called */
	/* of which grant the deadline is */
	char grant[LIMIT_ID + 1];
	int64_t expires_ms;
	int64_t deadline_ms;
	bool is_over; /* and that is written down, or it is not live */
	struct tree_memory *next;
};

struct tree {
	struct grant_tree t;             /* t.grant: &grant, or NULL */
	struct grant grant;              /* the newest */
	const struct store_lineage *row; /* of each node */
	struct tree_memory *memory;
};

struct grant_now tree_now(void);
/* In the line of starts; never 0. */
uint64_t tree_number(struct gateway *g, const char *root);
/* Its time for proofs; NULL: it has none to spend, for nobody asked yet. */
struct grant_worth *tree_worth(struct gateway *g, const char *root);
/* All of it in a. NOT_FOUND when the root is gone. */
int tree_read(struct gateway *g, const char *root, struct arena *a,
    struct tree *t, struct fault *f) MUST_CHECK;
/* The node of that id, or GRANT_NOBODY. */
uint32_t tree_find(const struct tree *t, const char *id);
/* Of a sandbox that calls. */
struct tree_member *tree_member(struct tree *t, const char *id);
/* Write its grant, changed in place; or a new one, whose id is in id. */
int tree_keep_grant(struct gateway *g, struct tree *t,
    struct fault *f) MUST_CHECK;
/* What is known of a root that is gone is forgotten. */
void tree_forget(struct gateway *g, const char *root);
int tree_add_grant(struct gateway *g, struct tree *t, const struct grant *made,
    struct fault *f) MUST_CHECK;
enum grant_life tree_life(enum state s);
void tree_close(struct gateway *g);

#endif
