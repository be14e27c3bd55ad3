/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small worlds: a family is a way to write policies, by chance, and the list of
 * all requests that matter to them.
 */
#ifndef TESTS_LIB_WORLDS_H
#define TESTS_LIB_WORLDS_H

#include "base/base.h"
#include "policy/policy.h"

enum {
	REQUESTS = 1 << 14,
	FAMILIES = 5,
};

struct world {
	struct policy_request request[REQUESTS];
	size_t n;
	struct arena arena;
};

/* Text being written; too much of it fails the test. */
struct text {
	char *to;
	size_t n;
	size_t size;
};

void add(struct text *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

void worlds_seed(uint64_t to);
/* 0..n-1 */
uint32_t chance(uint32_t n);

#define PICK(list) (list)[chance(NELEM(list))]

struct family {
	const char *name;
	void (*world)(void);          /* see world_init() */
	void (*line)(struct text *t); /* in short hand (short.h) */
	uint32_t lines;               /* of a policy, at most */
	uint32_t pools;
};

extern const struct family families[FAMILIES];

void world_init(struct world *w, const struct family *of);
void world_release(struct world *w);

#endif
