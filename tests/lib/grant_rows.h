/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a gateway keeps for src/grant, in memory: rows of several trees, their
 * grants, rates, queue and ledger, and the effects of what was allowed. Boxes
 * are numbered through all trees, in the order in which they were made.
 */
#ifndef TESTS_LIB_GRANT_ROWS_H
#define TESTS_LIB_GRANT_ROWS_H

#include "base/base.h"
#include "grant/grant.h"

enum {
	ROWS_BOXES = 8192,
	ROWS_TREES = 256,
	ROWS_USERS = 4,
	ROWS_OF_TREE = 4096,
};

struct rows_tree {
	struct grant_node node[ROWS_OF_TREE];
	int box[ROWS_OF_TREE]; /* number of each node */
	struct grant grant;
	struct grant_tree t;
	struct grant_bucket rate;
	int user;
};

struct rows_first {
	struct grant_first f;
	int parent;
	int caller;
	int request_id;
	int child;
};

struct rows {
	struct grant_now now;
	int boxes;
	int trees;
	struct rows_tree *tree[ROWS_TREES];
	int tree_of[ROWS_BOXES];
	uint32_t index[ROWS_BOXES]; /* in its tree */
	struct grant_bucket sandbox[ROWS_BOXES];
	struct grant_bucket outside[ROWS_BOXES];
	struct grant_bucket user[ROWS_USERS];
	bool began[ROWS_BOXES]; /* its first instruction has run once */
	bool ends[ROWS_BOXES];  /* its main process is over */
	struct grant_queue queue;
	struct rows_first first[ROWS_BOXES];
	size_t firsts;
};

extern const char *const rows_users[ROWS_USERS];
extern const char *const rows_names[6]; /* the first is none */

void rows_init(struct rows *r);
void rows_release(struct rows *r);
struct rows_tree *rows_tree_of(struct rows *r, int box);
struct grant_node *rows_node(struct rows *r, int box);
uint64_t rows_queue_tree(const struct rows *r, int box);
int rows_new_tree(struct rows *r, int user); /* the root's box */
/* The child that a charge was allowed for: reserved, charged, queued. */
int rows_add(struct rows *r, int parent, const struct grant_charge *c,
    enum grant_kind kind, int name);
/* A stopped one, allowed to start again. */
void rows_restart(struct rows *r, int box, const struct grant_charge *c);
struct rows_first *rows_find_first(struct rows *r, int parent, int caller,
    int request_id);
/* The next start of the queue, or -1. */
int rows_next(struct rows *r);
/* A start came to its first instruction, or it failed. */
void rows_started(struct rows *r, int box, bool ran);
/* The first transaction of a cascade. */
void rows_mark(struct rows *r, int from, bool with_itself);
/* One sandbox of a cascade is down. */
void rows_stopped(struct rows *r, int box, bool is_delete);
void rows_set_grant(struct rows *r, int tree, const struct grant_wish *w);
/* What dead grants end. */
void rows_sweep(struct rows *r);
/* The gateway dies and comes back: only rows are left. */
void rows_crash(struct rows *r);

#endif
