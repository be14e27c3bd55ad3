/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first bytes of a connection, looked at and left where they are: HTTP/2
 * begins with "PRI " (RFC 9113 3.4), a request of HTTP/1.1 never does.
 */
#ifndef GATEWAY_FIRST_H
#define GATEWAY_FIRST_H

#include "loop/loop.h"

enum first_words {
	FIRST_HTTP1,
	FIRST_HTTP2,
	FIRST_GONE, /* the peer left, or said nothing for FIRST_MS */
};

enum {
	FIRST_MS = 10000,
};

/* Embedded in its owner, which sets tell. */
struct first {
	/* Once. fd is the owner's from here on, not watched; -1: it is gone. */
	void (*tell)(struct first *f, enum first_words words, int fd);
	struct loop *loop;
	int fd;
	struct watch watch;
	struct timer patience;
	int64_t until_ms;
};

/* fd, not blocking, is its own until it tells; that may be inside this call. */
void first_begin(struct first *f, struct loop *l, int fd);
/* It is not wanted any more; fine when it has told. */
void first_drop(struct first *f);

#endif
