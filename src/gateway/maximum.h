/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The maximum: the policy that caps every create, start and policy write. One
 * setting of the store, read anew by whoever judges.
 */
#ifndef GATEWAY_MAXIMUM_H
#define GATEWAY_MAXIMUM_H

#include "gateway/inner.h"
#include "policy/policy.h"

struct maximum {
	uint64_t generation; /* 0: none was ever set; raised by each set */
	bool is_set;
	int64_t set_ms;
	const char *set_by;
	struct policy policy; /* when set */
};

/* All of it in a. What is stored and cannot be read is SYSTEM: nothing passes
 * then. */
int maximum_read(struct gateway *g, struct arena *a, struct maximum *m,
    struct fault *f) MUST_CHECK;
/* The generation alone. */
int maximum_generation(struct gateway *g, uint64_t *generation,
    struct fault *f) MUST_CHECK;
/* From m->is_set, set_by and policy; fills in generation and time. */
int maximum_write(struct gateway *g, struct arena *a, struct maximum *m,
    struct fault *f) MUST_CHECK;
/* A maximum as its admin wrote it: all four sections or POLICY_INVALID. */
int maximum_parse(struct span text, struct arena *a, struct policy *p,
    struct fault *f) MUST_CHECK;

#endif
