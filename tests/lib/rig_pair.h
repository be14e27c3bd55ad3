/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole gateway and the model beside it (rig.h, grant_model.h): what is
 * asked of both has one answer, and then all that both hold is the same.
 */
#ifndef TESTS_LIB_RIG_PAIR_H
#define TESTS_LIB_RIG_PAIR_H

#include "grant_model.h"
#include "rig_ask.h"

enum {
	RIG_PAIR_TREES = 3,
};

struct rig_pair {
	struct rig r;
	struct model m;
	struct {
		char id[LIMIT_ID + 1];
		char full_name[64];
		uint64_t place; /* in the line; 0: before all that have one */
	} box[MODEL_BOXES];
	int root[RIG_PAIR_TREES];
	uint64_t places;
	unsigned roots;
	/* for messages */
	size_t step;
	const char *what;
	int about;
};

bool rig_pair_is(const struct rig_pair *p, int b, const char *state);
/* A root that was asked for and waits for its turn. */
int rig_pair_new_tree(struct rig_pair *p);
/* A box that was asked for is there, under that id. */
int rig_pair_add(struct rig_pair *p, int parent, bool is_tool, int name,
    const char *id);
/* The model's box of an id, or -1. */
int rig_pair_find(const struct rig_pair *p, const char *id, int tree);
void rig_pair_differ(const struct rig_pair *p, const char *real,
    const char *model, const char *more);
/* Fails where they do not agree; true when it is a yes and something new. */
bool rig_pair_agree(const struct rig_pair *p, const struct rig_answer *a,
    const char *model);
/* Stop, delete or "below": all of it. */
void rig_pair_cascade(struct rig_pair *p, int from, const char *how);
/* Small, middling or large, and expiring soon; is_whole: all are given. */
void rig_pair_limits(uint64_t *seed, struct rig_limits *l, bool is_whole);
/* A grant was made, changed or revoked: "create", "update", "revoke". */
void rig_pair_act(struct rig_pair *p, const char *act, int tree,
    const struct rig_limits *l);
/* The gateway comes to what the model says, of all trees or of one (and of
 * those in which somebody waits). */
void rig_pair_compare(struct rig_pair *p, int only);

#endif
