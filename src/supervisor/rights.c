/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rights of the supervisor itself, once its sandbox runs and the disks are
 * mounted: from then on it opens nothing new, starts nothing and reads what
 * strangers send. Landlock is no part of it: a process in a Landlock domain
 * may not unmount, and the disk must be left clean.
 */
#include <linux/capability.h>

#include "confine/confine.h"
#include "supervisor/inner.h"

/* clang-format off */
static const struct {
	unsigned cap;
} kept[] = {
	{ CAP_SYS_ADMIN }, /* unmount; let the disks go */
	{ CAP_SYS_BOOT },  /* the machine's end */
	{ CAP_SYS_TIME },  /* the clock, as the keeper says it */
	{ CAP_KILL },      /* the sandbox, which has a uid of its own */
};
/* clang-format on */

/*
 * No way back: no_new_privs, no core, not dumpable; four capabilities; the
 * calls of confine/supervisor.def.
 */
int
rights_narrow(struct fault *f)
{
	uint64_t keep = 0;

	for (size_t i = 0; i < NELEM(kept); i++)
		keep |= CONFINE_CAP(kept[i].cap);
	if (confine_harden() != 0 || confine_capabilities(keep) != 0)
		return fault_sys(f, "cannot give up rights");
	if (confine_supervisor() != 0)
		return fault_sys(f, "cannot filter system calls");
	return 0;
}
