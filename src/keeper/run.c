/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/inner.h"
int
keeper_run(const struct machine_args *a)
{
	(void)a;
	return 1;
}
