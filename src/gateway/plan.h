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
#include "proto/nacre_store.pb.h"
#include "proto/openshell_v1.pb.h"

/* Everything in *plan lives in a. */
int plan_make(const openshell_v1_SandboxSpec *spec,
    const struct image_info *image, struct arena *a, nacre_store_v1_Plan *plan,
    struct fault *f) MUST_CHECK;
/* The environment of one process: the plan's, what is added (may replace),
 * and TERM. *env ends with no NULL: it has *n entries. */
int plan_env(const nacre_store_v1_Plan *plan, const struct pair *more,
    size_t more_n, bool tty, struct arena *a, char ***env, pb_size_t *n,
    struct fault *f) MUST_CHECK;

#endif
