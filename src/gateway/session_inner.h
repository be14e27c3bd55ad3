/* SPDX-License-Identifier: Apache-2.0 */
/* What session.c (bytes) and control.c (words) share. */
#ifndef GATEWAY_SESSION_INNER_H
#define GATEWAY_SESSION_INNER_H

#include "digest/digest.h"
#include "gateway/load.h"
#include "gateway/session.h"

struct session {
	struct gateway *g;
	struct vm *vm; /* NULL once the machine is gone */
	struct session *next;
	struct session *prev;
	/* bytes */
	struct rpc_call *tunnel;
	struct rpc_link *link;
	struct rpc_server handlers;
	struct buf in;       /* from the tunnel, not yet taken by the link */
	size_t owed;         /* to be given back to the tunnel's sender */
	struct load answers; /* of the door (door.c) */
	char tree[LIMIT_ID + 1]; /* its root; empty: not looked up yet */
	bool opened;
	bool ended;
	/* words */
	struct rpc_call *control; /* the Session call */
	bool has_claims;          /* it came with a token, and what it said */
	struct identity_claims claims;
	bool greeted;  /* Hello came */
	bool accepted; /* and was answered */
	bool launches; /* the answer is a Bundle */
	bool taken;    /* the guest has said that it holds its tokens */
	bool is_lost;  /* dropped; what still comes is not heard */
	uint64_t epoch;
	char launch[LIMIT_ID + 1];
	struct buf first; /* the answer, until the commit */
	struct deferred held;
	struct deferred ack;
	/* gateway tokens that are good: the last one, and the one before for as
	 * long as calls that carry it may be under way */
	uint8_t token[DIGEST_SIZE];
	uint8_t token_before[DIGEST_SIZE];
	/* likewise the door's */
	uint8_t door[DIGEST_SIZE];
	uint8_t door_before[DIGEST_SIZE];
	int64_t before_until_ms;
	struct identity_claims issued; /* what the last one says */
	int64_t half_life_ms; /* mono; from then on a Refresh is in time */
	int64_t until_ms;     /* mono; the last one's end */
};

void session_init(struct session *s);
/* End the Session call with f. */
void session_refuse(struct session *s, const struct fault *f);
/* hello.c: the first word. -1: it is refused. */
int session_greet(struct session *s, const nacre_session_v1_Hello *h,
    struct arena *a, struct fault *f) MUST_CHECK;
/* Its epoch is durable, or was not: answer. */
void session_greeted(struct session *s);
/* report.c: every later word; message is its encoding. */
void session_report(struct session *s, const nacre_session_v1_Up *up,
    struct span message, struct arena *a);
void session_acknowledge(struct session *s);
/* A method was called in it. */
void session_called(void *owner, struct rpc_link *link, struct rpc_call *c,
    const struct rpc_request *r);
/* Its link is down. */
void session_lost(struct session *s);
/* Make the three tokens of this session's launch and epoch; texts in a. */
int session_tokens(struct session *s, struct arena *a,
    nacre_session_v1_Tokens *out, struct fault *f) MUST_CHECK;
/* Is this the Authorization of a call that may be served? */
int session_authorise(struct session *s, struct span authorization,
    struct identity_claims *out, struct fault *f) MUST_CHECK;
/* Is this the token of a request that came to its door? */
int session_authorise_door(struct session *s, struct span token,
    struct fault *f) MUST_CHECK;
/* door.c: the supervisor called Door. */
void door_accept(struct session *s, struct rpc_call *call);

#endif
