/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small gRPC server for tests, made of rpc. Methods of nacre.test.Peer:
 *   Echo     unary: the message comes back
 *   Count    stream: the request is "N SIZE"; N messages of SIZE bytes
 *   Chat     both ways: every message comes back, as fast as it is taken
 *   Sink     client stream: the answer is the number of bytes; a message
 *            that begins with "stall" is never consumed
 *   Sleep    never answers
 *   Refuse   INVALID with a text, a field and a detail
 * CONNECT echo:1 echoes, tunnel:1 is a link of its own, all else is 403.
 * After rpc_peer_take_requests(), requests that are not gRPC, by path:
 *   /echo    200 at once, then what comes comes back
 *   /count   200 and the number of bytes, once all have come
 *   /go      the same, with "100 Continue" before
 *   /early   413, whatever comes
 *   /hold    never answered
 *   else     404
 */
#ifndef TESTS_LIB_RPC_PEER_H
#define TESTS_LIB_RPC_PEER_H

#include "loop/loop.h"
#include "rpc/rpc.h"

struct tls_key;

struct rpc_peer {
	struct loop *loop;
	struct rpc_server handlers;
	struct rpc_link_options options;
	const struct tls_key *key; /* for links in a tunnel; NULL: plain */
	int listener;
	struct watch watch;
	unsigned opened;
	unsigned closed;
	unsigned cancelled;
	unsigned lost;
	unsigned stalled;
	uint32_t error;    /* of the request that was closed last */
	bool accepts_late; /* CONNECT to echo:1 is accepted a tick later */
};

void rpc_peer_init(struct rpc_peer *p, struct loop *loop);
void rpc_peer_take_requests(struct rpc_peer *p);
/* Accept links on a listening descriptor; it becomes the peer's. */
void rpc_peer_listen(struct rpc_peer *p, int fd);
void rpc_peer_close(struct rpc_peer *p);
/* A link over one end of a socketpair; *other is the other end. */
struct rpc_link *rpc_peer_pair(struct rpc_peer *p, int *other);

#endif
