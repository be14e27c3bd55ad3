/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A broker and its agents for tests: this process puts the filter on itself,
 * as the sandbox does, and its children connect as they like. A child's tests
 * are its exit code: 0, or the number of the line that failed, modulo 250.
 * Connections come by Accept, over the protocol, like in a guest.
 */
#ifndef TESTS_LIB_AGENTS_H
#define TESTS_LIB_AGENTS_H

#include <netinet/in.h>
#include <unistd.h>

#include "sandbox/inner.h"

/* In children. */
#define WANT(cond)                             \
 do {                                          \
  if (!(cond))                                 \
   _exit(__LINE__ % 250 ? __LINE__ % 250 : 1); \
 } while (0)

/* A connection that the supervisor's side was given. */
struct arrival {
	nacre_sandbox_v1_Connection m;
	struct arena arena;
	int fd;
};

struct agents {
	struct sandbox *sandbox;
	struct loop *loop;
	struct rpc_link *link;
	int pass;
	char self[LIMIT_PATH]; /* this program */
	struct arrival arrivals[512];
	size_t arrivals_n;
	unsigned asked; /* Accept calls that wait */
	/* Each arrival gets "hello" and the end, and one more is asked for. */
	bool answers;
	nacre_sandbox_v1_HoldersReply holders;
	struct arena holders_arena;
	bool has_holders;
};
extern struct agents agents;

/* For a group of tests; needs root. Own network namespace, lo alone. */
int agents_setup(void **state);
int agents_teardown(void **state);
void agents_tick(void);
void agents_forget(void); /* what has arrived */
void agents_ask_accept(void);
void agents_ask_holders(uint64_t socket);
/* A child that runs body; to its end, which must be good; both. */
pid_t agents_begin(void (*body)(void));
void agents_await(pid_t pid);
void agents_run(void (*body)(void));

/* For children. */
struct sockaddr_in at_v4(const char *address, uint16_t port);
struct sockaddr_in6 at_v6(const char *address, uint16_t port);
int tcp_socket(int flags);
/* errno of a connect with a new socket, 0 when it is connected. */
int try_connect(int domain, int type, const void *to, socklen_t n);
/* s is connected to the door: five bytes and the end. */
void hear_hello(int s);
void knock(void); /* at the door, blocking */

#endif
