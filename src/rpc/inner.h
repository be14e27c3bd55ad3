/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside rpc.
 *
 *   fd or bytes <-> [tls] <-> h2 <-> item: call or CONNECT stream <-> owner
 *     pump.c                  link.c       call.c client.c server.c stream.c
 *
 * An item is what hangs on one HTTP/2 stream: a call, or a stream of bytes
 * (CONNECT, or a request that is not gRPC). Its life ends in two steps: it
 * is marked with item_end(), and its `later` then tells the owner and buries
 * it, so `closed` never runs inside a call of the owner's. The HTTP/2 stream
 * may live on without an item while its last bytes go out.
 */
#ifndef RPC_INNER_H
#define RPC_INNER_H

#include "base/base.h"
#include "http/http.h"
#include "loop/loop.h"
#include "rpc/rpc.h"

enum {
	RPC_TICK_BYTES = 256 << 10, /* read or written by one link in a tick */
	RPC_TURN_BYTES = 1024,      /* read of one that takes turns */
	RPC_QUEUE = 256 << 10,      /* unsent bytes of a call before BUSY */
	RPC_KEPT = 64 << 10,        /* memory an empty buffer may keep */
	RPC_UP_MS = 30000,          /* for TLS and SETTINGS */
	RPC_PINGS_LOST = 2,
	RPC_HEADERS = 48, /* fields of one of our header blocks */
};

struct item {
	struct rpc_link *link;
	int32_t stream; /* 0 once HTTP/2 is done with it */
	bool is_call;
	bool is_client;
	bool is_ended; /* nothing more is told but closed */
	struct deferred later;
	struct item *next;
	struct item *prev;
};

struct rpc_call {
	struct item item;
	const struct rpc_call_events *events; /* server: NULL until accepted */
	void *owner;
	struct buf in;      /* a message that is not whole yet */
	struct buf out;     /* what http's queue did not take */
	struct buf detail;  /* of the status, either way */
	size_t gathered;    /* of the message in `in`, given back already */
	size_t early;       /* given back before the owner consumed */
	size_t unread;      /* delivered, not consumed */
	size_t held;        /* as counted in link->held */
	bool is_delivering; /* the front of `in` is being told */
	struct timer deadline;
	struct fault status; /* what the owner or the peer is told */
	bool has_headers;    /* server: sent; client: received and sound */
	bool has_finished;   /* rpc_finish() or rpc_half_close() was called */
	bool ends_later;     /* ... and waits for out to drain */
	bool is_starved;     /* rpc_send() said BUSY */
};

struct rpc_stream {
	struct item item;
	const struct rpc_stream_events
	    *events; /* server: NULL until accepted */
	void *owner;
	struct buf in; /* bytes from before it was accepted */
	size_t unread;
	uint32_t error;
	bool is_request;
	bool is_open; /* a request: answered */
	bool peer_ended;
	bool eof_told;
	bool has_ended;
};

struct rpc_link {
	struct loop *loop;
	struct h2 *h2;
	struct tls *tls;
	struct watch watch;
	int fd; /* -1: over bytes */
	bool is_socket;
	struct rpc_bytes bytes;
	struct buf in; /* bytes from fd that TLS has not taken */
	const struct rpc_server *handlers;
	const struct rpc_link_events *events;
	void *owner;
	struct deferred pump;
	struct deferred resume;
	struct deferred end;
	struct timer up_timer;
	struct timer ping_timer;
	int64_t ping_ms;
	uint64_t pings; /* sent */
	uint64_t pongs; /* answered, or seen alive since */
	struct item *items;
	size_t held; /* in all calls' in, or given back early */
	size_t unread_max;
	size_t backlog; /* bytes in all calls' out */
	bool is_server;
	bool takes_turns;
	bool has_asked; /* a request began or ended in what is being read */
	bool in_body;   /* none did, and there was more */
	bool is_up;
	bool is_busy;   /* inside its own reader or writer */
	bool is_paused; /* reading waits for writing */
	bool is_shut;   /* rpc_link_shutdown() was called */
	bool is_dead;
	bool writes_wait; /* the transport takes nothing now */
	struct fault why;
};

/* link.c */
void link_wake(struct rpc_link *l); /* there may be something to write */
/* The end of it, once; why->code FAULT_NONE is a clean one. */
void link_fail(struct rpc_link *l, const struct fault *why);

/* events.c */
extern const struct h2_events link_h2_events;

/* item.c */
void item_init(struct item *it, struct rpc_link *l, int32_t stream,
    void (*later)(struct deferred *d));
void item_end(struct item *it);
/* Mark and forget the HTTP/2 stream; it may still send what is queued. */
void item_detach(struct item *it);
/* Take it off its link and free it when the tick ends. */
void item_bury(struct item *it, void (*release)(void *p));
struct item *item_of(struct rpc_link *l, int32_t stream);

/* pump.c */
void pump_ready(struct watch *w, unsigned events);
void pump_later(struct deferred *d);
void pump_resume(struct deferred *d);
void pump_write(struct rpc_link *l);
/* Bytes from the transport through TLS into HTTP/2; how many were taken. */
size_t pump_feed(struct rpc_link *l, struct span bytes);

/* call.c: both roles */
struct rpc_call *call_new(struct rpc_link *l, int32_t stream);
void call_data(struct rpc_call *c, struct span bytes);
void call_peer_ended(struct rpc_call *c);
void call_writable(struct rpc_call *c);
void call_stream_closed(struct rpc_call *c, uint32_t error);
void call_lost(struct rpc_call *c, const struct fault *why);
void call_end(struct rpc_call *c, const struct fault *why);
/* End our side of the HTTP/2 stream now that nothing waits in `out`. */
void call_end_sending(struct rpc_call *c);

/* client.c */
void client_headers(struct rpc_call *c, const struct h2_header *hs, size_t n,
    bool end);

/* server.c */
void server_headers(struct rpc_link *l, int32_t stream,
    const struct h2_header *hs, size_t n);
int server_answer(struct rpc_call *c, struct fault *f) MUST_CHECK;
void server_trailers(struct rpc_call *c);
/* The peer broke a rule: tell it, and the owner that the call is over. */
void server_refuse(struct rpc_call *c, const struct fault *why);

/* stream.c */
void stream_request(struct rpc_link *l, int32_t id, const struct h2_header *hs,
    size_t n);
void stream_open(struct rpc_link *l, int32_t id, const struct h2_header *hs,
    size_t n);
void stream_headers(struct rpc_stream *s, const struct h2_header *hs, size_t n);
void stream_data(struct rpc_stream *s, struct span bytes);
void stream_peer_ended(struct rpc_stream *s);
void stream_writable(struct rpc_stream *s);
void stream_closed(struct rpc_stream *s, uint32_t error);

/* status.c: text of the gRPC paper; all into caller's memory */
#define STATUS_TEXT   (3 * 240 + 1)
#define STATUS_DETAIL 4096 /* bytes; peers refuse larger header blocks */
struct status_text {
	char number[4];
	char message[STATUS_TEXT];
	char field[65];
	char detail[STATUS_DETAIL * 4 / 3 + 4];
};
size_t status_headers(const struct fault *f, struct span detail,
    struct status_text *t, struct h2_header *hs);
/* false: there is no grpc-status among the headers. */
bool status_parse(const struct h2_header *hs, size_t n, struct fault *f,
    struct buf *detail);
void status_from_http(int http, struct fault *f);
void status_from_reset(uint32_t error, struct fault *f);
bool timeout_parse(struct span s, int64_t *ms);
void timeout_format(int64_t ms, char out[12]);

#define HEADER(n, v) ((struct h2_header){ SPAN_LIT(n), v })

#endif
