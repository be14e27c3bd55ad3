/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: gateway */
/* template.resources as any bytes: sizes are in range, or it is refused. */
#include <stdlib.h>

#include "gateway/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct resources r;
	struct fault f = { 0 };

	if (check_resources(span_of(data, size), &r, &f) < 0 ||
	    check_size(&r, &f) < 0) {
		if (f.code != FAULT_INVALID || f.field[0] == '\0')
			abort();
		return 0;
	}
	if (r.cpus < 1 || r.cpus > LIMIT_CPUS ||
	    r.memory_mib < LIMIT_MEMORY_LEAST_MIB ||
	    r.memory_mib > LIMIT_MEMORY_MIB ||
	    (r.memory_mib & (r.memory_mib - 1)) != 0)
		abort();
	return 0;
}
