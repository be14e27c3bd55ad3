/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A refusal, whole: why not, in a form that programs can branch on and agents
 * can act on. Part of the room's door; other rooms include grant/grant.h.
 */
#ifndef GRANT_REFUSAL_H
#define GRANT_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

struct json_out;

enum grant_code {
#define REFUSAL(code, grpc, exit, has) GRANT_##code,
#include "grant/refusals.def"
#undef REFUSAL
	GRANT_CODES
};

enum grant_why { /* of NOT_ALLOWED */
	GRANT_WHY_NONE,
	GRANT_WHY_NO_GRANT,
	GRANT_WHY_PROGRAM, /* the caller's is not in the grant */
	GRANT_WHY_LEAF,    /* a tool child has no children */
	GRANT_WHY_KIND,    /* not with a child of that kind */
	GRANT_WHY_SELF,    /* not with itself */
	GRANT_WHY_SCOPE,   /* beyond what this caller may ever do */
};

enum grant_limit {
	GRANT_DEPTH,
	GRANT_BREADTH,
	GRANT_TOTAL,
	GRANT_LIMITS
};

/* What a code does not have (refusals.def) is never written. */
struct grant_refusal {
	enum grant_code code;
	char message[240]; /* lower case sentence */
	char hint[320];    /* what to do instead, for an agent or its user */
	char field[64];
	enum grant_why why;
	struct span program; /* seen, of WHY_PROGRAM */
	enum grant_limit limit;
	uint32_t used;
	uint32_t max;
	struct span raised_by; /* the user who may raise it */
	int64_t at_ms;
	struct span counterexample; /* a JSON object, written as it is */
	struct span what;
	struct span place;
	struct span name;
	struct span sandbox_id;
	const char *state; /* static */
	int64_t retry_after_ms;
	struct span stage;
	struct span reason;
};

const char *grant_code_name(enum grant_code c); /* "LIMIT_REACHED" */
bool grant_code_find(struct span name, enum grant_code *c);
int grant_code_grpc(enum grant_code c);           /* gRPC status number */
int grant_code_exit(enum grant_code c);           /* CLI exit code */
const char *grant_why_name(enum grant_why w);     /* "no_grant" */
const char *grant_limit_name(enum grant_limit l); /* "depth" */

/* Begin a refusal: code and message, the rest empty. Returns -1. */
int grant_refuse(struct grant_refusal *r, enum grant_code code, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));
/* Set its hint. Returns -1. */
int grant_hint(struct grant_refusal *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A fault as a refusal: INVALID with its field, other codes by their reason;
 * false (nothing written) for a failure of ours. */
bool grant_refuse_fault(struct grant_refusal *r, const struct fault *f);
/* {"code":..,"message":..,"hint":..,...}: one value. */
void grant_refusal_write(const struct grant_refusal *r, struct json_out *o);

#endif
