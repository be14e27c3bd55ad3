/* rooms: policy */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text in YAML is a policy or has at least one error with a place. What is a
 * policy has a text that says the same, as YAML and as a message.
 */
#include <stddef.h>
#include <stdint.h>

#include "../lib/policy_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct policy policy;
	struct yaml_errors errors;
	struct arena a;
	struct fault f = { 0 };

	arena_init(&a, 256 << 20);
	if (policy_parse(span_of(p, n), &a, &policy, &errors, &f) == 0)
		policy_check(&policy, &a);
	else
		policy_errors_check(&errors, &f);
	arena_release(&a);
	return 0;
}
