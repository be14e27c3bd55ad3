/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's call joined to a stream into its sandbox: messages are
 * translated, queued and sent on as the receiver takes them. Credit goes back
 * to a sender only when what it sent has left here, so a slow side slows the
 * other and nothing grows.
 */
#ifndef GATEWAY_PIPE_H
#define GATEWAY_PIPE_H

#include "gateway/call.h"
#include "gateway/session.h"

struct pipe;

struct pipe_ops {
	/* One message of the client. -1: the call fails with *f. */
	int (
	    *from_client)(struct pipe *p, struct span message, struct fault *f);
	/* The client will send no more. */
	int (*client_ended)(struct pipe *p, struct fault *f);
	/* One message of the sandbox. */
	int (*from_sandbox)(struct pipe *p, const nacre_session_v1_AttachUp *up,
	    struct fault *f);
	/* The stream is open; may be NULL. */
	void (*opened)(struct pipe *p);
};

struct pipe {
	struct gateway *g;
	struct call *call;     /* NULL once it has ended */
	struct attach *attach; /* NULL once it has ended */
	const struct pipe_ops *ops;
	const void *exec; /* what the ops want to know; in the call's arena */
	struct buf down;  /* frames for the sandbox: 4 bytes length, message */
	struct buf up;    /* frames for the client */
	size_t owed_client;
	size_t owed_sandbox;
	bool is_open;
	bool is_finished; /* the call ends when `up` is empty */
};

/* From an answer, as its last act: open the stream and take the call over. */
void pipe_start(struct call *c, struct vm *vm, nacre_session_v1_Open *open,
    const struct pipe_ops *ops, const void *exec);
int pipe_down(struct pipe *p, const nacre_session_v1_AttachDown *m,
    struct fault *f) MUST_CHECK;
/* Bytes as `in` messages of at most LIMIT_CHUNK. */
int pipe_down_bytes(struct pipe *p, struct span s, struct fault *f) MUST_CHECK;
int pipe_up(struct pipe *p, const struct pb_msgdesc_s *fields,
    const void *message, struct fault *f) MUST_CHECK;
/* For ops of a client that sends its request and no more. */
int pipe_no_message(struct pipe *p, struct span message, struct fault *f);
int pipe_no_end(struct pipe *p, struct fault *f);
/* How the sandbox says it ended: -1 with its words. */
int pipe_check_done(const nacre_session_v1_Done *d, struct fault *f) MUST_CHECK;
/* The call has succeeded; it ends when what is queued has left. */
void pipe_finish(struct pipe *p);

#endif
