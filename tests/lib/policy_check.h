/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold of any policy that was read, and of any that was refused. For
 * the fuzzers, whatever they read from.
 */
#ifndef TESTS_LIB_POLICY_CHECK_H
#define TESTS_LIB_POLICY_CHECK_H

#include "base/base.h"
#include "policy/policy.h"

/* It has a text that says the same, as YAML and as a message; its requests can
 * be decided. Else it is a bug. */
void policy_check(const struct policy *p, struct arena *a);
/* It is refused with at least one place, each with a text. */
void policy_errors_check(const struct yaml_errors *e, const struct fault *f);

#endif
