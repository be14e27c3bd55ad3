/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A face of the calls: how a request is read and an answer leaves. The walk in
 * call.c is the same for all of them; call_rpc.c is gRPC's face, mcp_tool.c
 * the one of tools.
 */
#ifndef GATEWAY_FACE_H
#define GATEWAY_FACE_H

#include "gateway/call.h"

struct call_face {
	size_t most; /* of all calls at once, before one more is refused */
	/* Before the row is asked whether such a caller may: may this one call,
	 * now? NULL: any. */
	int (*admit)(struct call *c, struct fault *f);
	/* The request's message into c->ask, which is there and zeroed. A fault
	 * in the arguments may be left in c->ask_fault instead: it is told
	 * after the caller is admitted. */
	int (*decode)(struct call *c, struct fault *f);
	/* Keep one message of the answer as it will leave; the one before it
	 * is forgotten. What it points to may go afterwards. */
	int (*write)(struct call *c, const struct pb_msgdesc_s *fields,
	    const void *message, struct fault *f);
	/* What was written is told. BUSY: later. */
	int (*send)(struct call *c, struct fault *f);
	/* The end, c->fault says how; not told to a client that has left. */
	void (*finish)(struct call *c);
	/* How far it is; NULL: nobody wants to know. */
	void (*progress)(struct call *c, const struct call_progress *p);
	/* c is about to be freed. May be NULL. */
	void (*freed)(struct call *c);
};

/* A message that came before the answer took the call over. */
struct early {
	struct early *next;
	struct span message;
};

/* At CALL_READ; call_step() walks. client is the face's own. */
struct call *call_make(struct gateway *g, const struct call_face *face,
    void *client, const struct method *m, const struct caller *caller);
void call_step(struct call *c);
/* The client is gone: what c does is undone or goes on by itself, nothing is
 * told any more, and c is freed in its time. */
void call_left(struct call *c);

#endif
