/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door: http://openshell.local in the guest. The sandbox hands over each
 * connection with the evidence of who made it; here is HTTP/1.1 on it, one
 * request at a time, and with each whole request the caller it came from.
 *
 *   door        connections from the sandbox, their number, their callers
 *   door_conn   one connection: bytes in, bytes out, times
 *   door_front  what a head alone is answered
 *   door_serve  what is answered
 *
 * Everything a caller says of itself is overwritten by what is known here.
 */
#ifndef SUPERVISOR_DOOR_H
#define SUPERVISOR_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "digest/digest.h"
#include "http/http.h"
#include "loop/loop.h"
#include "proto/nacre_sandbox.pb.h"

enum door_limits {
	DOOR_CONNECTIONS = 64, /* an idle one leaves for a new one */
	DOOR_ASKS = 8,         /* Accept calls that wait in the sandbox */
	DOOR_BODIES = 4,       /* bodies that are here at once; others wait */
	DOOR_HEAD_MS = 10000,  /* to send the header fields */
	DOOR_TURN_MS = 30000,  /* to wait for that */
	DOOR_BODY_MS = 10000,  /* to send the body */
	DOOR_IDLE_MS = 75000,  /* between two requests */
	DOOR_SPARE_MS = 2000,  /* idle for that long it may leave */
	DOOR_WRITE_MS = 30000, /* to take some bytes of an answer */
	DOOR_LINGER_MS = 2000, /* from our end of it to theirs */
	DOOR_READ = 16384,     /* bytes of one read */
	DOOR_OUT = 2 << 20,    /* bytes of an answer that wait to be taken */
};

struct supervisor;
struct door;

/* Who connected, as of then. It lives as long as its connection. */
struct door_caller {
	struct arena arena;
	int32_t pid; /* in the agent's namespace */
	uint64_t start_ticks;
	const char *program; /* from the agent's root; may be "" */
	nacre_sandbox_v1_ProgramState state;
	bool in_image; /* its digest is the import's */
	bool has_digest;
	uint8_t digest[DIGEST_SIZE];
	uint64_t device;
	uint64_t inode;
	const char **ancestors; /* nearest first */
	size_t ancestors_n;
	bool is_cut; /* there are more ancestors */
	/* Looked up for each request: a process with another executable holds
	 * the connection too, or not all holders could be seen. */
	bool is_shared;
};

enum door_phase {
	DOOR_READING,
	DOOR_WAITING, /* for its turn to send a body */
	DOOR_LOOKING, /* who holds it? */
	DOOR_SERVING, /* the answer is being made */
	DOOR_CLOSING, /* our end has gone */
};

struct door_conn {
	struct door *door;
	struct door_caller caller;
	uint64_t socket; /* inode of the agent's end */
	int fd;
	struct watch watch;
	struct timer timer;
	struct deferred more; /* look at `in` again */
	enum door_phase phase;
	struct h1 *reader;
	struct buf in; /* came, not yet taken by the reader */
	struct buf out;
	bool has_body_turn;
	bool is_kept;      /* goes on after this answer */
	bool is_begun;     /* the head of an answer is out */
	bool is_streaming; /* and its body is not whole */
	bool in_chunks;    /* which it comes in, but for HTTP/1.0 */
	bool is_looked_up; /* a lookup is on its way */
	bool is_gone;      /* closed; freed when nothing is on its way */
	bool is_deaf;      /* bytes wait behind the request that is served */
	bool is_told;      /* the log says who asks, */
	bool told_shared;  /* and that it was so */
	int64_t idle_since_ms;
	int64_t waits_since_ms; /* while DOOR_WAITING */
	struct door_conn *next_looking;
	void *serving; /* door_serve's, while DOOR_SERVING */
};

struct door {
	struct supervisor *sv;
	struct door_conn *conns[DOOR_CONNECTIONS];
	unsigned live;
	unsigned asks;
	unsigned bodies;
	struct rpc_call *looks; /* Holders; NULL: not open */
	void *spare;            /* door_serve's: a call opened ahead */
	struct timer spare_due;
	struct door_conn *looking; /* whose holders are not known yet */
	struct timer crowded;      /* full: who is idle by now? */
};

/* --- door.c */
/* The sandbox is confirmed: take connections from now on. */
void door_open(struct door *d, struct supervisor *sv);
/* Ask for as many as there is room for. */
void door_ask(struct door *d);
/* The request is whole: look who holds the connection, then door_serve(). */
void door_look(struct door_conn *c);

/* --- door_conn.c */
/* The descriptor and the caller's arena are its own from here on. */
void door_conn_start(struct door *d, int fd, uint64_t socket,
    const struct door_caller *caller);
void door_conn_close(struct door_conn *c);
/* Idle between two requests, so that it may be closed for a new one. */
bool door_conn_is_idle(const struct door_conn *c);
/* The holders are known. */
void door_conn_looked(struct door_conn *c);
/*
 * Answer the request of a connection that is DOOR_SERVING: at once or later,
 * whole or, when r->streams, piece by piece until door_end().
 */
void door_reply(struct door_conn *c, const struct h1_reply *r);
void door_piece(struct door_conn *c, struct span piece);
void door_end(struct door_conn *c);
/* The request's body is on its way to the gateway: the next one's turn. */
void door_body_sent(struct door_conn *c);

/* --- door_front.c */
/* The head is there: an answer that needs no body (true: *r is it, in a). */
bool door_refuse_early(const struct h1_request *q, struct arena *a,
    struct h1_reply *r);
/* To what the reader refused with that status. */
void door_refuse_malformed(int status, struct h1_reply *r);

/* --- door_serve.c */
/* Serve the whole request: door_reply() comes of it. */
void door_serve(struct door_conn *c);
/* Time to open the call of the next request. */
void door_spare(struct timer *t);
/* What c had to send is sent: there is room for more. */
void door_drained(struct door_conn *c);
/* The connection was lost before its answer: c is about to go. */
void door_forget(struct door_conn *c);

#endif
