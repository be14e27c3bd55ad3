/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a sandbox is run, settled once at create from what was asked and what
 * the image says: user, environment, folder, command, policy. Pure but for
 * what it is given.
 */
#ifndef GATEWAY_PLAN_H
#define GATEWAY_PLAN_H

#include "gateway/check.h"
#include "image/image.h"
#include "policy/policy.h"
#include "proto/nacre_store.pb.h"
#include "proto/openshell_v1.pb.h"

/* The policy of a message or of a text, in a; flags: policy_read_flags. What
 * is wrong with it is POLICY_INVALID. m NULL: the policy of those who give
 * none. */
int plan_policy(const struct _openshell_sandbox_v1_SandboxPolicy *m,
    unsigned flags, struct arena *a, struct policy *p,
    struct fault *f) MUST_CHECK;
int plan_policy_text(struct span text, unsigned flags, struct arena *a,
    struct policy *p, struct fault *f) MUST_CHECK;
/* Of a text that is JSON when it begins so, and YAML else. */
int plan_policy_asked(struct span text, unsigned flags, struct arena *a,
    struct policy *p, struct fault *f) MUST_CHECK;
/* Sections that a child takes from its parent, policy_section bits. */
int plan_inherit(char *const *names, size_t n, unsigned *out,
    struct fault *f) MUST_CHECK;
/* policy_complete(); what is too much for it is POLICY_INVALID, too. */
int plan_complete(const struct policy *child, const struct policy *parent,
    unsigned inherit, struct arena *a, struct policy *out,
    struct fault *f) MUST_CHECK;
/* Everything in *plan lives in a. */
int plan_make(const openshell_v1_SandboxSpec *spec,
    const struct image_info *image, const struct policy *p, struct arena *a,
    nacre_store_v1_Plan *plan, struct fault *f) MUST_CHECK;
/* What a process adds to the plan's environment, and what comes of it. */
struct plan_env {
	const struct pair *more; /* may replace */
	size_t more_n;
	bool tty;
	char **env; /* out: n entries, no NULL after them */
	pb_size_t n;
};
int plan_env(const nacre_store_v1_Plan *plan, struct plan_env *e,
    struct arena *a, struct fault *f) MUST_CHECK;

#endif
