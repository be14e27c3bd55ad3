/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of epochs; epoch.h says it. */
#include "base/base.h"
#include "gateway/epoch.h"

int
epoch_check(uint64_t given, uint64_t confirmed, uint64_t token, uint64_t asked,
    struct fault *f)
{
	if (token != given && (confirmed == 0 || token != confirmed))
		return fault_set(f, FAULT_UNAUTHENTICATED,
		    "the token is superseded");
	if (asked <= given)
		return fault_set(f, FAULT_UNAUTHENTICATED,
		    "a reconnect needs a higher epoch");
	if (asked - given > EPOCH_STEP)
		return fault_set(f, FAULT_INVALID,
		    "the epoch is more than %d ahead", EPOCH_STEP);
	return 0;
}
