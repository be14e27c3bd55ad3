/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MCP endpoint: HTTP requests of three places (the unix socket, 127.0.0.1,
 * doors of sandboxes) become calls of methods.def, and their ends become
 * answers.
 *
 *   mcp         one request and its answer: an exchange
 *   mcp_tool    the face of its calls
 *   mcp_ended   sessions that were deleted
 *   mcp_conn    HTTP/1.1 on a descriptor
 *   mcp_stream  a request on a stream of HTTP/2
 *   mcp_listen  the port on 127.0.0.1; mcp_link  a connection to it
 *   door        what comes from a sandbox
 *   load        what answers that wait may hold
 *   share       how many exchanges whom
 */
#ifndef GATEWAY_MCP_H
#define GATEWAY_MCP_H

#include "gateway/admit.h"
#include "gateway/call.h"
#include "gateway/crowd.h"
#include "gateway/load.h"
#include "gateway/share.h"
#include "mcp/mcp.h"

struct h1_request;

enum mcp_limits {
	MCP_CALLS = 32,          /* of one caller at once */
	MCP_EXCHANGES = 512,     /* of all */
	MCP_CONNECTIONS = 128,   /* of the port; of HTTP/1.1 on the socket */
	MCP_STREAMS = 128,       /* requests of one HTTP/2 connection at once */
	MCP_STREAMS_PLACE = 256, /* of the port; of the socket */
	MCP_STREAMS_STRANGE =
	    64,                /* that only wait to be told who they are not */
	MCP_BODIES = 32 << 20, /* bytes of theirs that are not whole */
	MCP_PRINCIPAL = 64,
	MCP_RANDOMS = 32,      /* requests' worth, asked for at once */
	MCP_OUT = 16 << 20,    /* bytes of one that wait to be taken */
	MCP_BATCHED = 8 << 20, /* of one caller's that wait for their batch */
	MCP_BATCHED_ALL = 64 << 20,
	MCP_STREAM_OUT = 1 << 20, /* of an event stream that nobody reads */
	MCP_SMALL = 64 << 10,     /* arena of an answer to a head */
	MCP_BODY_MS = 10000,      /* to send a body, after its head */
	MCP_IDLE_MS = 75000,      /* of a connection between two requests */
	MCP_WRITE_MS = 30000,     /* to take some of an answer */
	MCP_LINGER_MS = 2000,     /* to close, once told to */
	MCP_STRANGE_MS = 2000,    /* to take a refusal, on HTTP/2 */
	/* Past MCP_WAIT_MS a call that still has no answer gets one. */
	MCP_OVERDUE_MS = MCP_WAIT_MS + 5000,
};

/* Who sent a request, as its place found out. */
struct mcp_who {
	struct caller caller; /* evidence's spans: until mcp_begin() returns */
	enum mcp_side side;
	enum mcp_auth auth;
	char principal[MCP_PRINCIPAL];
	char scopes[STORE_SCOPES + 1]; /* of a token: caller.scopes */
	char tree[LIMIT_ID + 1];       /* of a sandbox: its root */
};

struct mcp;
struct exchange;

/* How an answer leaves. None of them is called after mcp_left(). */
struct mcp_sink {
	/* With its whole body, unless a->stream: pieces follow. */
	void (*head)(void *owner, const struct mcp_answer *a);
	void (*piece)(void *owner, struct span bytes);
	/* It is complete. broken: bytes of it are missing, close. */
	void (*end)(void *owner, bool broken);
};

/* Key and lists; then the port, which mcp_listen.c keeps. */
int mcp_open(struct gateway *g, struct fault *f) MUST_CHECK;
void mcp_close(struct gateway *g);

/* The head is whole: true and *a (in arena) when that is answered now. */
bool mcp_refuse(struct gateway *g, const struct mcp_who *who,
    const struct mcp_head *h, struct arena *arena, struct mcp_answer *a);
/*
 * The request is whole; both are copied. The sink may be called before this
 * returns; NULL: the answer is complete already.
 */
struct exchange *mcp_begin(struct gateway *g, const struct mcp_who *who,
    const struct mcp_head *h, struct span body, const struct mcp_sink *sink,
    void *owner);
/* The client is gone: the second era cancels so, the first does not. */
void mcp_left(struct exchange *x);

/* mcp_tool.c: one call of an exchange. */
struct mcp_run {
	struct exchange *x;
	struct mcp_call *ask;
	struct call *call;  /* NULL before and after it runs */
	struct buf told;    /* its reply's message, encoded */
	struct buf message; /* the response */
};
/* Start it; mcp_run_over() comes later, at the end of a tick. */
void mcp_run_start(struct gateway *g, struct mcp_run *r,
    const struct mcp_who *who);
/* A response that is no call's: it was refused before. */
void mcp_run_refuse(struct mcp_run *r, const struct fault *f, const char *hint);
/* Stop it without a word. */
void mcp_run_cancel(struct mcp_run *r);
/* mcp.c, for mcp_tool.c */
void mcp_run_over(struct mcp_run *r);
void mcp_run_freed(struct mcp_run *r);
void mcp_run_progress(struct mcp_run *r, const struct call_progress *p);
struct arena *mcp_run_arena(struct mcp_run *r);

/* mcp_ended.c: what a DELETE ended stays so, after a restart too. */
void mcp_ended_read(struct gateway *g);
void mcp_ended_keep(struct gateway *g, const struct mcp_session *s);

/* mcp_head.c: a head that HTTP has read, which it borrows. */
void mcp_head_of(const struct h1_request *r, struct mcp_head *h);

/* The requests of one HTTP/2 connection, embedded in its owner. */
struct mcp_streams {
	struct gateway *g;
	const struct mcp_who *who; /* NULL: each request brings a token */
	size_t n;
	bool is_proved; /* one of them was let in; by whom the last one was: */
	char principal[MCP_PRINCIPAL];
	void (*idle)(struct mcp_streams *s); /* the last is gone; or NULL */
};
/*
 * mcp_stream.c: a request came, in that callback of rpc. Past MCP_STREAMS, or
 * what its place has, it is reset with REFUSED_STREAM, so that the client may
 * send it again. Those who bring no good token have few places, of their own.
 */
void mcp_stream_open(struct mcp_streams *of, struct rpc_stream *s,
    const struct h2_header *hs, size_t n);
/* mcp_link.c: serve HTTP/1.1 or HTTP/2 on fd, whichever it begins with; each
 * request brings a token. */
void mcp_link_start(struct gateway *g, int fd);
void mcp_link_close_all(struct gateway *g);

/* mcp_conn.c: serve HTTP/1.1 on fd, which is its own from here on. who NULL:
 * each request brings a token. */
void mcp_conn_start(struct gateway *g, int fd, const struct mcp_who *who);
void mcp_conn_close_all(struct gateway *g);
/* mcp_listen.c */
int mcp_listen_open(struct gateway *g, struct fault *f) MUST_CHECK;
void mcp_listen_close(struct gateway *g);
/* The port on 127.0.0.1; 0: none. */
uint16_t mcp_listen_port(const struct gateway *g);
/* bearer.c: who a token is; *who is whole in any case. */
void bearer_find(struct gateway *g, const struct mcp_head *h,
    struct mcp_who *who);

/* What the files above keep in the gateway. */
struct mcp {
	struct gateway *g;
	struct mcp_server server;
	struct arena arena;
	struct mcp_ended ended;
	struct mcp_key key;
	uint8_t random[MCP_RANDOMS][MCP_RANDOM]; /* of requests to come */
	size_t random_left;
	struct exchange *exchanges;
	struct share shared; /* exchanges, by tree */
	struct mcp_conn *conns;
	struct mcp_link *links;
	size_t streams_port; /* mcp_stream.c: those that were let in */
	size_t streams_socket;
	size_t streams_strange; /* and those that were not */
	size_t bodies;
	struct load to_doors; /* answers that wait */
	struct load to_host;
	struct crowd at_port;
	struct crowd at_socket; /* of HTTP/1.1 on the socket */
	struct watch listener;  /* mcp_listen.c */
	struct timer listen_again;
	uint16_t port;
	struct admit_rate rates[ADMIT_RATES];
};

#endif
