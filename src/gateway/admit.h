/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may call a tool at all, and how often: the first steps of GRANTS.md 2,
 * before the arguments are looked at.
 */
#ifndef GATEWAY_ADMIT_H
#define GATEWAY_ADMIT_H

#include "gateway/call.h"

enum admit_limits {
	ADMIT_RATES = 64, /* users that are remembered */
};

struct admit_rate {
	char user[LIMIT_ID + 1];
	struct grant_bucket bucket;
	int64_t used_ms; /* 0: free */
};

/* -1: c is refused; its program, its rate, or no grant. */
int admit(struct call *c, struct fault *f) MUST_CHECK;

#endif
