/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker: every connect of an agent process waits here for a verdict.
 *
 * The filter (confine_notify) is put on once, on the sandbox itself, before
 * any agent process: all inherit it, with one listener on our loop, and an
 * exec costs nothing more. The sandbox itself never connects.
 *
 * A verdict is an errno, or "go on": the kernel then runs the call as the
 * agent made it, so that blocking, non-blocking and epoll are the kernel's own
 * doing. Between our reading of the address and the kernel's another thread
 * may change it. That is no hole, because nothing is proved by going on: this
 * network namespace has no device but lo and no route out, so a changed
 * address reaches the agent's own processes or nobody.
 *
 * A destination that exists outside is a doorway: before we say "go on" we
 * listen on exactly that address and port. What is accepted there is joined
 * only when its source is the very socket that the waiting call named, which
 * we hold (pidfd_getfd); a stranger on the doorway, or a socket that another
 * thread swapped in, is closed. The doorway closes with its last joiner. The
 * agent has no right to bind below port 1024, so that nothing of its own
 * stands in a doorway there.
 *
 * The bytes of a program are held before its call goes on and it may end
 * (evidence.c). They cannot be while they were changed in this very tick of
 * the file's time, or while somebody may write to them: such a call is looked
 * at again for a while.
 */
#ifndef SANDBOX_BROKER_H
#define SANDBOX_BROKER_H

#include <linux/seccomp.h>

#include <netinet/in.h>

#include "loop/loop.h"
#include "sandbox/evidence.h"

enum broker_limits {
	BROKER_JOINS = 256,   /* from connect until handed over; then EAGAIN */
	BROKER_DOORWAYS = 16, /* addresses listened on at once; then EAGAIN */
	BROKER_ACCEPTS = 16,  /* Accept calls that wait */
	BROKER_JOIN_MS = 10000, /* from "go on" to the connection */
	BROKER_TURN = 32,       /* calls looked at in one tick */
	BROKER_HELD = 32,       /* to be looked at again; then EAGAIN */
	BROKER_HOLD_MS = 10,    /* between two looks at it: a tick of ctime */
	BROKER_LOOKS = 10,      /* then it is told without a digest */
	BROKER_DOOR_PORT = 80,
};
/* The one destination; /etc/hosts names it openshell.local. */
#define BROKER_DOOR      0x7f000050U /* 127.0.0.80 */
#define BROKER_DOOR_TEXT "127.0.0.80"
#define BROKER_DOOR_NAME "openshell.local"

struct sandbox;
struct serving;
struct broker;
struct rpc_call;

struct doorway {
	struct broker *broker;
	struct sockaddr_in at;
	struct watch watch;
	int fd;       /* -1: free */
	size_t joins; /* that wait at it */
};

struct join {
	struct broker *broker;
	struct doorway *doorway; /* until it is joined */
	struct sockaddr_in at;
	int socket; /* the agent's end, until it is joined */
	int end;    /* ours, from then on */
	uint64_t inode;
	bool is_ready; /* the evidence is whole */
	uint64_t order;
	struct evidence evidence;
	struct hash_job hash;
	struct timer timer;
};

/* A call that waits for its program to be looked at again. */
struct held {
	bool is_used;
	unsigned looks;
	struct seccomp_notif call;
};

struct broker {
	struct sandbox *sb;
	struct eyes eyes;
	struct watch watch; /* on the listener */
	int listener;       /* -1: not open */
	struct hasher hasher;
	struct lookups lookups;
	struct held held[BROKER_HELD];
	struct timer look; /* at all of them */
	struct doorway doorways[BROKER_DOORWAYS];
	struct join *joins[BROKER_JOINS];
	uint64_t last_order;
	struct rpc_call *accepts[BROKER_ACCEPTS];
};

/* --- broker.c */
/* While the union's parts are still mounted: hold on to them. */
int broker_prepare(struct broker *b, const char *upper, const char *image,
    struct fault *f) MUST_CHECK;
/* Put the filter on this process and answer from now on. */
int broker_open(struct broker *b, struct sandbox *sb,
    struct fault *f) MUST_CHECK;
void broker_close(struct broker *b); /* fine when it was not opened */
/* Answer what waits now; for those who do not run the loop meanwhile. */
void broker_turn(struct broker *b);

/* --- broker_join.c */
/*
 * Join the socket (ours from here on) that the waiting call named to a
 * doorway at `at`. 0: let the call go on; else the errno that it gets.
 */
int join_open(struct broker *b, const struct sockaddr_in *at, int socket,
    struct evidence *e, struct join **out);
void join_drop(struct join *j);
void join_init(struct broker *b);
/* Hand over what is ready to calls that wait. */
void join_settle(struct broker *b);

/* --- broker_serve.c: its calls of the protocol. */
void broker_accept_serve(struct serving *s, struct span m);
void broker_holders_serve(struct serving *s, struct span m);
void broker_holders_ended(struct serving *s);
/* The connection goes with the call's answer. 0, or -1 and it stays. */
int broker_hand_over(struct broker *b, struct join *j, struct rpc_call *c);
void broker_call_closed(struct broker *b, const struct rpc_call *c);

#endif
