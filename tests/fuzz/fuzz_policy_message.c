/* rooms: policy wire */
/* SPDX-License-Identifier: Apache-2.0 */
/* A message is a policy whose text reads back, or is refused with a reason. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "policy/policy.h"
#include "proto/openshell_sandbox_v1.pb.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	openshell_sandbox_v1_SandboxPolicy m =
	    openshell_sandbox_v1_SandboxPolicy_init_zero;
	struct policy policy;
	struct policy again;
	struct yaml_errors errors;
	struct arena a;
	struct fault f = { 0 };
	unsigned flags = n > 0 ? p[0] & 7u : 0;

	arena_init(&a, 64 << 20);
	if (WIRE_DECODE(openshell_sandbox_v1_SandboxPolicy, &m,
		span_from(span_of(p, n), 1), &a, &f) != 0) {
		arena_release(&a);
		return 0;
	}
	if (policy_read_message(&m, flags, &a, &policy, &errors, &f) == 0) {
		BUG_IF(policy_read_yaml(policy.text, flags, &a, &again, &errors,
			   &f) != 0);
		BUG_IF(!span_equal(policy.text, again.text));
	} else {
		BUG_IF(f.code == FAULT_INVALID && errors.count == 0);
	}
	arena_release(&a);
	return 0;
}
