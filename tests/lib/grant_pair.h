/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows that src/grant judges and the model beside them: each function
 * does one thing on both sides, and ends the test where they do not answer
 * alike.
 */
#ifndef TESTS_LIB_GRANT_PAIR_H
#define TESTS_LIB_GRANT_PAIR_H

#include "grant_model.h"
#include "grant_rows.h"

enum {
	PAIR_CASCADES = 8,
	PAIR_REPEATS = GRANT_CODES,
	PAIR_YES,
	PAIR_KINDS,
};

struct pair {
	struct rows r;
	struct model m;
	struct {
		int from;
		enum grant_cascade how;
	} cascade[PAIR_CASCADES];
	size_t cascades;
	size_t step; /* for messages */
	size_t seen[PAIR_KINDS];
	size_t limits[GRANT_LIMITS];
	char answer[64];
};

/* A caller as both see it, asking about one box. */
struct pair_asker {
	struct model_caller c;
	struct grant_caller caller;
	struct grant_ask ask;
};

struct pair_wanted {
	int parent;
	int name;
	int request_id; /* 0: none */
	int arguments;
	bool is_tool;
};

/* Keeps what was seen. */
void pair_init(struct pair *p);
void pair_release(struct pair *p);
int pair_new_tree(struct pair *p, int user); /* the root */
void pair_about(struct pair *p, struct pair_asker *a, int box);
/* Caller, program and rate of a call. */
bool pair_call(struct pair *p, struct pair_asker *a, int box);
/* A create up to its proof, and from there to the queue. */
bool pair_create(struct pair *p, struct pair_asker *a,
    const struct pair_wanted *w);
void pair_reserve(struct pair *p, struct pair_asker *a,
    const struct pair_wanted *w);
void pair_start(struct pair *p, struct pair_asker *a, int box);
/* Look, read a file, exec, which may start it. */
void pair_use(struct pair *p, struct pair_asker *a, int box);
void pair_next(struct pair *p);
void pair_outcome(struct pair *p, int box, bool ran);
void pair_stop(struct pair *p, struct pair_asker *a, int box,
    enum grant_cascade how);
/* The main process of an agent is over. */
void pair_end(struct pair *p, int box);
/* The next level of one cascade under way. */
void pair_level(struct pair *p, size_t i);
void pair_act(struct pair *p, struct pair_asker *a, enum grant_act act, int box,
    const struct grant_wish *w);
void pair_set_grant(struct pair *p, int tree, const struct grant_wish *w);
void pair_pass_time(struct pair *p, int64_t ms, int64_t wall_jump_ms);
void pair_crash(struct pair *p);
/* All states, and the counters of one tree and one box. */
void pair_compare(struct pair *p, int tree, int box);

#endif
