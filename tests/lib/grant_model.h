/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GRANTS.md once more, as simply as it can be said: boxes in an array, every
 * number counted anew each time it is asked for, answers as words. It shares
 * no code and no type with src/grant, and must stay slow and plain.
 */
#ifndef TESTS_LIB_GRANT_MODEL_H
#define TESTS_LIB_GRANT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MODEL_BOXES = 8192,
	MODEL_TREES = 1024,
	MODEL_GRANTS = 4096,
	MODEL_USERS = 4,
	MODEL_FIRSTS = 8192,
};

struct model_caller {
	int box; /* -1: on the host */
	int user;
	bool is_admin;
	bool has_scope;
	bool is_outside; /* its program is not in the grant */
};

struct model_box {
	int tree;
	int parent; /* -1: a root */
	bool is_tool;
	int name;          /* 0: one that nobody asks for */
	const char *state; /* as GRANTS.md spells it */
	bool began;        /* its first instruction has run once */
	int launches;      /* counted by who calls model_started() */
	bool ends;         /* its main process is over: not stopped but ended */
	int counted_in;    /* the grant whose total it is part of, or -1 */
	int64_t rate;
	int64_t rate_outside;
};

struct model_grant {
	int max_depth;
	int max_breadth;
	int max_total;
	int64_t expires;  /* wall */
	int64_t deadline; /* monotonic */
	const char *state;
};

struct model_tree {
	int root;
	int user;
	int grant; /* the newest, or -1 */
	int64_t rate;
};

struct model_first {
	int parent;
	int caller; /* box, or -1 - user */
	int request_id;
	int arguments;
	int child;
};

struct model {
	int64_t wall;
	int64_t mono;
	int boxes;
	int trees;
	int grants;
	int firsts;
	struct model_box box[MODEL_BOXES];
	struct model_tree tree[MODEL_TREES];
	struct model_grant grant[MODEL_GRANTS];
	struct model_first first[MODEL_FIRSTS];
	int64_t user_rate[MODEL_USERS];
	char answer[64];
};

/* Questions: "ok", "start", "repeat N", or a code with what explains it. */
const char *model_call(struct model *m, const struct model_caller *c);
const char *model_see(struct model *m, const struct model_caller *c, int box);
const char *model_stop(struct model *m, const struct model_caller *c, int box);
const char *model_exec(struct model *m, const struct model_caller *c, int box);
const char *model_file(struct model *m, const struct model_caller *c, int box);
const char *model_create(struct model *m, const struct model_caller *c,
    int parent, bool is_tool);
const char *model_reserve(struct model *m, const struct model_caller *c,
    int parent, bool is_tool, int name);
const char *model_start(struct model *m, const struct model_caller *c, int box);
const char *model_restart(struct model *m, const struct model_caller *c,
    int box);
const char *model_repeat(struct model *m, const struct model_caller *c,
    int parent, int request_id, int arguments);
const char *model_act(struct model *m, const struct model_caller *c,
    const char *act, int box);

/* Effects. */
int model_new_tree(struct model *m, int user); /* its root runs */
int model_add(struct model *m, int parent, bool is_tool, int name);
void model_remember(struct model *m, const struct model_caller *c, int parent,
    int request_id, int arguments, int child);
void model_set_grant(struct model *m, int tree, int depth, int breadth,
    int total, int64_t expires);
void model_started(struct model *m, int box, bool ran);
void model_mark(struct model *m, int from, bool with_itself);
/* How deep below `from` a cascade has its next level; -1: it is over. */
int model_level(const struct model *m, int from, const char *how);
bool model_is_next(const struct model *m, int from, const char *how, int level,
    int box);
void model_stopped(struct model *m, int box, bool is_delete);
/* What a dead grant ends: all that waits in its tree. */
void model_sweep(struct model *m);
/* The gateway comes back: rates are full, deadlines are counted from now. */
void model_restarted(struct model *m);

/* Numbers. */
int model_used_total(const struct model *m, int tree);
int model_used_breadth(const struct model *m, int box);
int model_waiting(const struct model *m, int tree);
int model_starting(const struct model *m, int tree); /* -1: of all */
bool model_is_live(const struct model *m, int box);

#endif
