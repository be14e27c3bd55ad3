/* SPDX-License-Identifier: Apache-2.0 */
/* A create of a child, between the steps of its call. */
#ifndef GATEWAY_CHILD_H
#define GATEWAY_CHILD_H

#include "gateway/boundary.h"
#include "gateway/judge.h"
#include "gateway/which.h"
#include "proto/nacre_store.pb.h"
#include "proto/nacre_v1.pb.h"

struct child_create {
	struct grant_create ask;
	struct which parent;
	struct store_sandbox parent_row;
	struct policy written; /* as asked for; not when nothing was */
	struct fault unread;   /* why it cannot be read */
	struct boundary above; /* the parent's, in force */
	struct policy policy;  /* completed */
	struct scene scene;
	struct judgement judgement;
	struct grant_generations judged;
	unsigned tries;
	uint8_t digest[DIGEST_SIZE]; /* of what was asked */
	bool is_repeat;
	struct store_sandbox row;
	struct store_lineage lineage;
};

/* child_ask.c: the message as the grant room reads it; all in c's arena. */
int child_ask(struct call *c, struct grant_create *to,
    struct fault *f) MUST_CHECK;
/* Its policy; k->unread says what is wrong with it. */
int child_policy(struct call *c, struct child_create *k,
    struct fault *f) MUST_CHECK;

/* do_child.c: the digest of what was asked; was it asked before? Then
 * k->is_repeat and c->sandbox_id say so. Without a parent, of the caller. */
void child_digest(struct child_create *k);
int child_repeat(struct call *c, struct child_create *k,
    struct fault *f) MUST_CHECK;
/* k->row.id was started for it. */
int child_keep_request(struct call *c, const struct child_create *k,
    struct fault *f) MUST_CHECK;
/* do_root.c: go on as the create of a root. */
int do_root_decide(struct call *c, struct child_create *k,
    struct fault *f) MUST_CHECK;

/* child_row.c: its rows from what was judged. Ids and names are set. */
int child_row(struct call *c, struct child_create *k,
    const struct grant_charge *charge, struct fault *f) MUST_CHECK;

#endif
