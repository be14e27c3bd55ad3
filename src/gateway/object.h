/* SPDX-License-Identifier: Apache-2.0 */
/* A row as the north API shows it. */
#ifndef GATEWAY_OBJECT_H
#define GATEWAY_OBJECT_H

#include "gateway/inner.h"
#include "proto/openshell_v1.pb.h"

/* All of *out lives in a. */
int object_of(const struct store_sandbox *row, struct arena *a,
    openshell_v1_Sandbox *out, struct fault *f) MUST_CHECK;
/* What is said about the policy of one sandbox: not in lists. */
int object_tell_policy(const struct store_sandbox *row, struct arena *a,
    openshell_v1_Sandbox *out, struct fault *f) MUST_CHECK;
/*
 * What the object keeps about its policy. The policy itself is in the plan;
 * here is the message that clients get back.
 */
struct object_policy {
	uint32_t generation;          /* from 1, raised by each write */
	uint64_t maximum_generation;  /* it was last judged under; 0: none */
	bool is_stale;                /* exceeds the maximum of now */
	uint32_t boundary_generation; /* of its parent's policy, likewise */
	bool is_stale_boundary;       /* exceeds what that one is now */
	const char *hash;             /* hex SHA-256 of the canonical text */
	/* What was written; NULL: nothing was. object_mark() leaves what is
	 * there then. */
	const struct _openshell_sandbox_v1_SandboxPolicy *message;
};
/* What is kept of a request: metadata and spec, encoded in a. */
int object_keep(const openshell_v1_CreateSandboxRequest *ask,
    const struct object_policy *p, struct arena *a, struct span *object,
    struct span *labels, struct fault *f) MUST_CHECK;
int object_policy(const struct store_sandbox *row, struct arena *a,
    struct object_policy *out, struct fault *f) MUST_CHECK;
/* Into row->object, in a; the row is not written. */
int object_mark(struct store_sandbox *row, const struct object_policy *p,
    struct arena *a, struct fault *f) MUST_CHECK;
/* Was it never ready, and gave up? */
bool object_is_stillborn(const struct store_sandbox *row);

#endif
