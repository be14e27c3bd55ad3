/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is done today about a policy, section by section, said to whoever
 * creates a sandbox or looks at one.
 */
#ifndef GATEWAY_ENFORCED_H
#define GATEWAY_ENFORCED_H

#include "base/base.h"
#include "proto/nacre_store.pb.h"
#include "proto/openshell_v1.pb.h"

enum {
	ENFORCED_SECTIONS = 4,
};

/* ENFORCED_SECTIONS of them in a; NULL when that is spent. m may be NULL: no
 * policy was given. */
openshell_v1_PolicyEnforcement *enforced_today(const nacre_store_v1_Plan *plan,
    const struct _openshell_sandbox_v1_SandboxPolicy *m, struct arena *a);

#endif
