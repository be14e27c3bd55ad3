/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share. */
#ifndef GRANT_INNER_H
#define GRANT_INNER_H

#include "base/base.h"
#include "digest/digest.h"
#include "grant/grant.h"
#include "json/json.h"

/* A span as the two arguments of "%.*s", cut at 128 bytes. */
#define SHOWN(s) (int)((s).len < 128 ? (s).len : 128), (const char *)(s).ptr

enum {
	GRANT_MAX_DEPTH = 16,
	GRANT_MAX_BREADTH = 256,
	GRANT_MAX_TOTAL = 4096,
	AGAIN_MS = 100,       /* a judgement that was overtaken */
	QUEUE_FULL_MS = 1000, /* about the time of a start */
};

/* The end of a grant as a user writes it; INVALID names "expires". */
int grant_expiry_parse(struct span s, int64_t wall_ms, int64_t *ms,
    struct fault *f) MUST_CHECK;
/* PATH or PATH@sha256:HEX; INVALID names field. */
int grant_program_parse(struct span s, const char *field,
    struct grant_program *p, struct fault *f) MUST_CHECK;

/* Refusals that several questions share. Each returns -1. */
int grant_refuse_not_found(struct grant_refusal *r);
int grant_refuse_not_ready(struct grant_refusal *r, const struct grant_node *n);
int grant_refuse_no_grant(struct grant_refusal *r, const struct grant_tree *t);
int grant_refuse_dead(struct grant_refusal *r, const struct grant_tree *t,
    enum grant_state state);
int grant_refuse_why(struct grant_refusal *r, enum grant_why why,
    const char *message, const char *hint);
int grant_refuse_limit(struct grant_refusal *r, const struct grant_tree *t,
    enum grant_limit l, uint32_t used);
int grant_refuse_retry(struct grant_refusal *r, enum grant_code code,
    int64_t ms, const char *message);
int grant_refuse_queue_full(struct grant_refusal *r);

/* The grant lets something start now. */
int grant_is_usable(const struct grant_ask *ask,
    struct grant_refusal *r) MUST_CHECK;
/* May the caller know of this node at all? */
bool grant_sees(const struct grant_ask *ask, uint32_t node);

#endif
