/* SPDX-License-Identifier: Apache-2.0 */
/* What of the file system a sandbox's policy opens to it. */
#ifndef GATEWAY_FILES_H
#define GATEWAY_FILES_H

#include "base/base.h"
#include "proto/nacre_session.pb.h"
#include "proto/nacre_store.pb.h"

/* b->files and b->best_effort, in a, from the plan's policy. */
int files_of(const nacre_store_v1_Plan *plan, struct arena *a,
    nacre_session_v1_Bundle *b, struct fault *f) MUST_CHECK;

#endif
