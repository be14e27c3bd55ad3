/* SPDX-License-Identifier: Apache-2.0 */
/* What users and sandboxes ask of a gateway under a test; rig.h has the rest. */
#ifndef TESTS_LIB_RIG_ASK_H
#define TESTS_LIB_RIG_ASK_H

#include "rig.h"

enum {
	RIG_ROWS = 600, /* of one tree */
};

/* The only program of every grant here, but of one "for others". */
#define RIG_PROGRAM "/bin/pi"
#define RIG_OTHER   "/bin/other"

struct rig_child {
	const char *parent;     /* id; of a user's call; NULL: a root */
	const char *name;       /* NULL: none */
	const char *request_id; /* NULL: none */
	const char *word;       /* makes arguments differ */
	bool is_tool;
	int64_t wait_ms;
};

struct rig_limits {
	int64_t max[3]; /* depth, breadth, total; below 0: not given */
	int64_t life_s; /* 0: not given */
};

struct rig_row {
	char id[LIMIT_ID + 1];
	char parent[LIMIT_ID + 1];
	char full_name[64];
	char state[16];
	uint32_t depth;
	bool is_tool;
};

struct rig_grant {
	bool is_there;
	char state[16];
	uint32_t max[3];
	uint32_t used_total;
};

/* These do not wait. */
void rig_call_root(struct rig *r, struct rig_answer *a, const char *name);
void rig_call_child(struct rig *r, struct rig_answer *a,
    const struct rig_child *c);
void rig_door_child(struct rig_guest *g, struct rig_answer *a,
    const struct rig_child *c, const char *program);
/* Until a call is answered, and the answer is yes: released. */
void rig_must(struct rig *r, struct rig_answer *a, const char *what);
/* By id. */
void rig_call_stop(struct rig *r, struct rig_answer *a, const char *id);
void rig_call_delete(struct rig *r, struct rig_answer *a, const char *id);
void rig_call_start(struct rig *r, struct rig_answer *a, const char *full_name);

/* StopGateway, with the sandboxes. */
void rig_call_end(struct rig *r, struct rig_answer *a);

/* These do. act: "create", "create for others", "update", "revoke", "revoke
 * with children". */
void rig_ask_grant(struct rig *r, struct rig_answer *a, const char *act,
    const char *root, const struct rig_limits *l);
void rig_ask_get(struct rig *r, struct rig_answer *a, const char *id);
/* All below a root, parents first; "": all that are there. */
size_t rig_list(struct rig *r, const char *root, struct rig_row out[RIG_ROWS]);
void rig_grant_of(struct rig *r, const char *root, struct rig_grant *out);

/* Rows of the record; NULL: any. */
struct rig_wanted {
	const char *root;
	const char *id;
	const char *verb;
	const char *reason;
};
size_t rig_rows(struct rig *r, const struct rig_wanted *w);

/* How many are in that state, or in any (NULL). */
size_t rig_count(struct rig *r, const char *root, const char *state);
/* A child that a user asks for: it is on its way. */
void rig_new_child(struct rig *r, const char *parent, bool is_tool,
    char id[LIMIT_ID + 1]);
/* A root that runs, with its guest. */
struct rig_guest *rig_new_root(struct rig *r, const char *name);
/* Until the guest of that sandbox has been launched. */
struct rig_guest *rig_launched(struct rig *r, const char *sandbox);

#endif
