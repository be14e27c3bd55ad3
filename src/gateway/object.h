/* SPDX-License-Identifier: Apache-2.0 */
/* A row as the north API shows it. */
#ifndef GATEWAY_OBJECT_H
#define GATEWAY_OBJECT_H

#include "gateway/inner.h"
#include "proto/openshell_v1.pb.h"

/* All of *out lives in a. */
int object_of(const struct store_sandbox *row, struct arena *a,
    openshell_v1_Sandbox *out, struct fault *f) MUST_CHECK;
/* What is kept of a request: metadata and spec, encoded in a. */
int object_keep(const openshell_v1_CreateSandboxRequest *ask, struct arena *a,
    struct span *object, struct span *labels, struct fault *f) MUST_CHECK;
/* Was it never ready, and gave up? */
bool object_is_stillborn(const struct store_sandbox *row);

#endif
