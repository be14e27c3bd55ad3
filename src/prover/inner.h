/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the room. From the ground up:
 *
 *	box.c     a policy as boxes of such sets, for one act
 *	index.c   the boxes that may meet a given one
 *	diff.c    a box minus boxes, by cutting it up
 *	network.c all boxes of the child against those of the parent
 *	files.c   files, identities, landlock
 *	plain.c   the plainest witness
 *	replay.c  the second evaluator; knows none of the above
 *	tell.c    the witness explained
 *	text.c    results in words
 *	prover.c  sections in order
 *
 * Nothing recurses over input and nothing loops over it without counting
 * steps, so that a proof can stop anywhere and go on later: what needs an
 * answer that is not there yet leaves the search for it with the prover,
 * returns WAIT, and is called again.
 */
#ifndef PROVER_INNER_H
#define PROVER_INNER_H

#include "prover/prover.h"
#include "region/region.h"

/* policy_act, but tools/call apart from the other methods of MCP. */
enum act {
	ACT_OPAQUE,
	ACT_HTTP,
	ACT_UPGRADE,
	ACT_FRAME,
	ACT_RPC,
	ACT_CALL,
	ACT_METHOD,
	ACT_STREAM,
	ACT_ANSWER,
	ACTS,
};

/* --- box.c */

/* What strings of a glob begin with (hosts: end with), for the index. */
struct key {
	const uint8_t *ptr;
	uint32_t n;
	bool whole; /* and are */
};

struct box {
	const struct policy_box *origin;
	uint32_t common; /* literals of the endpoint, in p->literals */
	uint32_t own;    /* and of the rule */
	uint16_t common_n;
	uint16_t n;                           /* all */
	uint32_t hash;                        /* of its own */
	const struct policy_endpoint *judged; /* of the child, where */
	bool denied; /* this deny is in one of the child's */
	struct key host_key;
	struct key path_key;
};

struct boxes {
	struct region_pool box;
	struct index *index;
};

/* A policy being made into boxes for one act. */
struct making {
	struct prover *p;
	const struct policy *of;
	uint32_t *programs_of; /* sets of its entries, + 1; 0: not made yet */
	enum act act;
	struct boxes *out;
	const struct policy_box *origin;
	const struct policy_endpoint *endpoint; /* of the common literals */
	uint32_t common;
	uint32_t common_n;
	const struct policy_entry *entry; /* of programs */
	uint32_t programs;
	const struct policy_range *range; /* of addresses */
	uint32_t addresses;
	struct span method; /* of methods */
	uint32_t methods;
};

struct making making_of(struct prover *p, const struct policy *of, enum act act,
    struct boxes *out);
/* Boxes of b, behind those of m->out; false: spent. */
bool boxes_add(struct making *m, const struct policy_box *b);
/* The allows or denies that have that act, with their index; false: spent. */
bool boxes_of(struct prover *p, const struct policy *of, bool deny,
    enum act act, struct boxes *out);
/* Acts whose containment implies that of all acts of an endpoint. */
bool act_matters(enum policy_kind kind, enum act act);
/* Literal i of b->n. */
const struct region_literal *box_literal(const struct prover *p,
    const struct box *b, uint32_t i);
/* Dimensions in which r may reach out of b, and a literal of b that says so;
 * -1: they are apart. */
int box_open(struct prover *p, const struct region *r, const struct box *b,
    uint16_t *last);
/* Narrow r to b, as region_add() does. */
enum region_found box_enter(struct prover *p, struct region *r,
    const struct box *b);
enum policy_act act_public(enum act act);

/* --- index.c */

bool index_make(struct prover *p, struct boxes *boxes);
/* The boxes that may meet one with these keys, into p->hits. */
void index_find(struct prover *p, const struct boxes *in, struct key host,
    struct key path);

/* --- diff.c */

void diff_init(struct prover *p);
/* r minus the literals of p->cuts and the boxes of p->minus. */
void diff_start(struct prover *p, const struct region *r);
/* SOME: *out is left over, with values that show it; again, until dropped. */
enum region_found diff_run(struct prover *p, struct region *out);
void diff_drop(struct prover *p);

/* --- network.c */

struct network {
	enum act act;
	struct making making; /* of child */
	size_t origin;        /* of q.child->allows */
	uint32_t literals;    /* without those of the origin's boxes */
	bool made;            /* boxes of act */
	struct boxes child;
	struct boxes child_denies;
	struct boxes parent;
	struct boxes parent_denies;
	uint32_t at;               /* box of child */
	struct region region;      /* its */
	struct region_mark mark;   /* with it */
	struct region_pool denies; /* of the parent that may meet it */
	uint32_t deny;
	uint32_t kept;        /* denies before it that do */
	struct region denied; /* what of region is in the deny */
	uint32_t hit;         /* of p->hits */
	uint8_t stage;
};

void network_init(struct prover *p);
/* SOME: p->excess is the plainest. WAIT: it is what was found so far. */
enum region_found network_run(struct prover *p);

/* --- files.c */

void files_prove(struct prover *p);
void process_prove(struct prover *p);
void landlock_prove(struct prover *p);
/* path where the links of the image lead; false: they do not end. */
bool links_resolve(const struct prover_image *image, struct span path,
    char *out, size_t size, struct span *to);

/* --- replay.c */

struct replay {
	const struct policy *p;
	const struct prover_image *image;
	uint64_t fuel; /* comparisons left; at 0 answers mean nothing */
	bool *row;     /* of REPLAY_ROW */
};

enum {
	REPLAY_ROW = POLICY_PATH + 2,
};

bool replay_network(struct replay *r, const struct prover_witness *w);
bool replay_file(struct replay *r, struct span file, bool write);
/* How far w comes at an endpoint; *rule is the one that lets it pass. */
enum policy_reason replay_endpoint(struct replay *r,
    const struct policy_entry *entry, const struct policy_endpoint *e,
    const struct prover_witness *w);

/* --- tell.c */

/* A verdict of a section; false: one of more weight is there already. */
bool tell(struct prover *p, enum prover_verdict v, enum policy_section s);
void tell_unsupported(struct prover *p, enum policy_section s,
    enum prover_code code, struct span place);
/* A policy before the second evaluator. */
struct replay *replay_of(struct prover *p, const struct policy *policy);
/* The excess told of is none, unless the second evaluator agrees. */
bool replay_check(struct prover *p, bool agrees);
/* p->excess is one, if the second evaluator agrees. */
void tell_network(struct prover *p);

/* --- plain.c */

struct excess {
	const struct policy_box *child; /* NULL: there is none */
	const struct policy_box *deny;  /* of the parent; or nothing allows */
	enum act act;
	struct region_least least; /* its query is in p->result */
};

/* All of r is an excess: keep its plainest. False: not yet, a search runs. */
bool excess_keep(struct prover *p, const struct region *r,
    const struct policy_box *child, const struct policy_box *deny);
/* Nothing in r is plainer than the excess at hand. */
bool excess_bounds(struct prover *p, const struct region *r);
void excess_witness(const struct excess *x, struct prover_witness *w);

/* --- the prover */

struct prover {
	struct prover_question q;
	struct region_solver s;
	struct region_pool literals;
	uint32_t *programs;            /* of the child's entries, parent's */
	struct region_pool hits;       /* const struct box * */
	struct region_pool minus;      /* const struct box * */
	struct region_pool cuts;       /* literals to take away first */
	struct region_pool candidates; /* see network.c */
	struct region_pool frames;     /* of diff.c */
	struct network network;
	struct excess excess;
	struct replay replay;
	uint8_t stage;
	struct prover_result result;
};

#endif
