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

/* In a; NULL when that is spent. rules: whether the policy has any network
 * policy. */
openshell_v1_PolicyEnforcement *enforced_today(const nacre_store_v1_Plan *plan,
    bool rules, struct arena *a);

#endif
