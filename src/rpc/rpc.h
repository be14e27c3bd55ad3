/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC over HTTP/2, both roles, on the loop (gRPC wire format: the public
 * "gRPC over HTTP2" paper). A link is one connection: bytes [TLS] HTTP/2.
 * Its bytes come from a descriptor (rpc_link_open_fd) or from any other
 * byte stream, such as a CONNECT stream of another link (rpc_link_open_bytes).
 *
 * Messages are already encoded bytes here (wire_encode / wire_decode do
 * protobuf), at most LIMIT_MESSAGE. No compression.
 *
 * Back-pressure: rpc_send() takes a whole message or none of it (BUSY past
 * 256 KiB queued); `writable` says when to go on, also to one who stopped at
 * rpc_room() with over half of that queued. Received messages hold the peer's
 * stream window until rpc_consume(call, bytes).
 *
 * Life: a call is valid from rpc_call()/`open` until its `closed` callback
 * has returned; closed is called exactly once, never from inside a function
 * that the owner calls on that call.
 */
#ifndef RPC_RPC_H
#define RPC_RPC_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fault.h"

struct loop;
struct tls;
struct h2_header;
struct rpc_link;
struct rpc_call;
struct rpc_stream;

struct rpc_call_events {
	/* One whole message, valid during the callback. Counts as unread until
	 * rpc_consume(call, message.len). */
	void (*message)(struct rpc_call *c, void *owner, struct span message);
	/* The peer will send no more messages (server: half-close). */
	void (*half_closed)(struct rpc_call *c, void *owner);
	void (*writable)(struct rpc_call *c, void *owner);
	/* The end. Client: f->code FAULT_NONE is OK, else the peer's status
	 * (refusal details in `detail`, a nacre.v1.Refusal, may be empty) or
	 * FAULT_LOST. Server: FAULT_NONE after our own finish, FAULT_CANCELLED
	 * or FAULT_LOST when the peer left first. */
	void (*closed)(struct rpc_call *c, void *owner, const struct fault *f,
	    struct span detail);
};

/* Server: a path was called. Inside the callback either rpc_call_accept() it,
 * then finish it at any time, or rpc_finish() it with a fault. */
struct rpc_request {
	struct span path;          /* "/pkg.Service/Method" */
	struct span authorization; /* "Bearer x" or empty */
	int64_t timeout_ms;        /* grpc-timeout, -1 none */
	const struct h2_header *headers;
	size_t headers_n;
};

struct rpc_server {
	/* Optional where `request` is set. */
	void (*open)(void *owner, struct rpc_link *link, struct rpc_call *c,
	    const struct rpc_request *r);
	/* Optional: a CONNECT request. Inside the callback rpc_stream_accept(),
	 * rpc_stream_refuse() or rpc_stream_await() it. Unset: 501. */
	void (*connect)(void *owner, struct rpc_link *link,
	    struct rpc_stream *s, struct span authority,
	    const struct h2_header *headers, size_t n);
	/* Optional: a request that is not gRPC; any, when there is no `open`.
	 * Inside the callback rpc_stream_reset() it, or rpc_stream_await() it
	 * and rpc_stream_answer() it at any time; its body comes as bytes and
	 * eof. Unset: 405 or 415. */
	void (*request)(void *owner, struct rpc_link *link,
	    struct rpc_stream *s, const struct h2_header *headers, size_t n);
	void *owner;
};

struct rpc_link_events {
	/* The connection is ready (TLS done, SETTINGS seen); optional. */
	void (*up)(struct rpc_link *l, void *owner);
	/* Lost or finished; called once; all calls were closed before. The
	 * link is freed by the loop's grave after the callback. */
	void (*down)(struct rpc_link *l, void *owner, const struct fault *f);
};

struct rpc_link_options {
	bool server;     /* role in HTTP/2 */
	struct tls *tls; /* NULL: plaintext; owned by the link */
	const struct rpc_server *handlers;    /* server role; borrowed */
	const struct rpc_link_events *events; /* may be NULL; borrowed */
	void *owner;
	int64_t ping_ms; /* > 0: PING this often, LOST after 2 misses */
	/* What the peer may leave in our memory, twice: bytes that owners have
	 * not consumed, and messages that are not whole. The call that asks for
	 * more fails. 0: LIMIT_UNREAD; else over LIMIT_MESSAGE. */
	size_t unread_max;
	/* Calls and streams that the peer may have open. 0: LIMIT_STREAMS. */
	uint32_t streams_max;
	/* Server, over a socket: a few requests a tick, so that the answers of
	 * the first leave while the peer goes on, and others have their turn;
	 * more when they share a commit (loop_should_yield). */
	bool takes_turns;
};

/* fd becomes the link's (non-blocking, closed at the end), also on -1. */
struct rpc_link *rpc_link_open_fd(struct loop *loop, int fd,
    const struct rpc_link_options *o, struct fault *f) MUST_CHECK;

/*
 * Over another byte stream. The link hands out bytes by `write` (returns how
 * many were taken; less: call rpc_link_writable() later) and is told of
 * incoming bytes by rpc_link_feed() (returns how many were taken; less: it
 * calls `resume` when it can take more) and of the end by rpc_link_eof().
 */
struct rpc_bytes {
	size_t (*write)(void *owner, struct span bytes);
	void (*resume)(void *owner);
	/* The link is finished with the stream. */
	void (*close)(void *owner);
	void *owner;
};
struct rpc_link *rpc_link_open_bytes(struct loop *loop,
    const struct rpc_bytes *bytes, const struct rpc_link_options *o,
    struct fault *f) MUST_CHECK;
size_t rpc_link_feed(struct rpc_link *l, struct span bytes);
void rpc_link_writable(struct rpc_link *l);
void rpc_link_eof(struct rpc_link *l);

/* Finish: GOAWAY, let what runs end; `down` follows. */
void rpc_link_shutdown(struct rpc_link *l);
/* Drop at once; calls close with FAULT_LOST, `down` follows in this tick. */
void rpc_link_drop(struct rpc_link *l, const struct fault *why);
void *rpc_link_owner(struct rpc_link *l);
bool rpc_link_is_up(const struct rpc_link *l);
/* Unix peer of a descriptor link: SO_PEERCRED; false when there is none. */
bool rpc_link_peer(const struct rpc_link *l, uid_t *uid, gid_t *gid,
    pid_t *pid);
/* The link's descriptor (-1 for byte links): for SO_PEERPIDFD, watching. */
int rpc_link_fd(const struct rpc_link *l);

/* Client: start a call. authorization may be empty. timeout_ms -1: none.
 * NULL with *f set when the link is down or has too many streams. */
struct rpc_call *rpc_call(struct rpc_link *l, const char *path,
    struct span authorization, int64_t timeout_ms,
    const struct rpc_call_events *events, void *owner,
    struct fault *f) MUST_CHECK;
/* Client: one request message, one answer: send, half-close. */
int rpc_call_unary(struct rpc_call *c, struct span message,
    struct fault *f) MUST_CHECK;
void rpc_half_close(struct rpc_call *c);
/* Either: what is queued is dropped, the stream reset, a finished one's too.
 * closed follows with CANCELLED. */
void rpc_cancel(struct rpc_call *c);

/* Server: take the call; from now on its events go to owner. */
void rpc_call_accept(struct rpc_call *c, const struct rpc_call_events *events,
    void *owner);
/* Server: status and the end. f NULL or FAULT_NONE: OK. detail: bytes for
 * grpc-status-details-bin, may be empty. closed follows. */
void rpc_finish(struct rpc_call *c, const struct fault *f, struct span detail);

/* Either: queue one message (copied). -1 FAULT_BUSY when over the queue
 * limit, FAULT_LOST when the call has ended, FAULT_LIMIT when too large. */
int rpc_send(struct rpc_call *c, struct span message,
    struct fault *f) MUST_CHECK;
size_t rpc_room(const struct rpc_call *c); /* bytes before BUSY, 0 if over */
void rpc_consume(struct rpc_call *c, size_t n);
struct rpc_link *rpc_call_link(const struct rpc_call *c);

/*
 * CONNECT streams: plain bytes on an HTTP/2 stream (RFC 9113 8.5). Requests
 * that are not gRPC, on the server's side, are streams that are answered.
 */
struct rpc_stream_events {
	/* Client: 200 came. */
	void (*opened)(struct rpc_stream *s, void *owner);
	/* Client: another status came; body follows as `bytes`, then closed. */
	void (*refused)(struct rpc_stream *s, void *owner, int status);
	/* Give back with rpc_stream_consume(). */
	void (*bytes)(struct rpc_stream *s, void *owner, struct span b);
	void (*eof)(struct rpc_stream *s, void *owner);
	void (*writable)(struct rpc_stream *s, void *owner);
	/* Once, never inside a function that the owner calls on that stream:
	 * both ends are through (error 0), or it was reset, or the link ended. */
	void (*closed)(struct rpc_stream *s, void *owner, uint32_t error);
};
struct rpc_stream *rpc_connect(struct rpc_link *l, const char *authority,
    const struct h2_header *extra, size_t n,
    const struct rpc_stream_events *events, void *owner,
    struct fault *f) MUST_CHECK;
void rpc_stream_accept(struct rpc_stream *s,
    const struct rpc_stream_events *events, void *owner);
/* Server: to be accepted or refused later. Of the events only closed can come
 * until then, when the peer did not wait; bytes are kept, up to the window. */
void rpc_stream_await(struct rpc_stream *s,
    const struct rpc_stream_events *events, void *owner);
void rpc_stream_refuse(struct rpc_stream *s, int status, struct span json);
/* A request: the head of its answer, once; end: that is all of it. The body is
 * what is written then, up to rpc_stream_end(); the rest of the request's own
 * body is not waited for. */
int rpc_stream_answer(struct rpc_stream *s, const struct h2_header *hs,
    size_t n, bool end, struct fault *f) MUST_CHECK;
/* A request, before that: "100 Continue". */
void rpc_stream_go_on(struct rpc_stream *s);
size_t rpc_stream_write(struct rpc_stream *s, struct span b);
void rpc_stream_consume(struct rpc_stream *s, size_t n);
void rpc_stream_end(struct rpc_stream *s);
void rpc_stream_reset(struct rpc_stream *s, uint32_t error);

/* Listening unix socket: 0600 in its folder, stale file removed, -1 with
 * FAULT_EXISTS when a live peer answers there. */
int rpc_listen_unix(const char *path, int *fd, struct fault *f) MUST_CHECK;
int rpc_connect_unix(const char *path, int *fd, struct fault *f) MUST_CHECK;

#endif
