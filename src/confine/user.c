/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who a process is: user, groups, capabilities. By system calls, because the
 * C library's wrappers signal all threads and take locks, which a child after
 * fork must not, and because libcap would be one library more in the guest.
 */
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <errno.h>
#include <unistd.h>

#include "confine/confine.h"

enum {
	CAPS_MAX = 64,
};

static int
drop_bounding(uint64_t keep)
{
	for (unsigned long cap = 0; cap < CAPS_MAX; cap++) {
		/* -1: a capability that this kernel does not have. */
		int held = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (held == 1 && !(keep >> cap & 1) &&
		    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0)
			return -1;
	}
	return 0;
}

static int
set_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct sets[2] = {
		{ .effective = (uint32_t)keep, .permitted = (uint32_t)keep },
		{ .effective = (uint32_t)(keep >> 32),
		    .permitted = (uint32_t)(keep >> 32) },
	};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
		return -1;
	return (int)syscall(SYS_capset, &head, sets);
}

int
confine_capabilities(uint64_t keep)
{
	if (drop_bounding(keep) != 0)
		return -1;
	return set_capabilities(keep);
}

int
confine_become(uid_t uid, gid_t gid, const gid_t *groups, size_t n,
    uint64_t keep)
{
	if (drop_bounding(keep) != 0 ||
	    syscall(SYS_setgroups, n, groups) != 0 ||
	    syscall(SYS_setresgid, gid, gid, gid) != 0)
		return -1;
	/* Leaving uid 0 empties the permitted set unless this is said; exec
	 * forgets it. */
	if (prctl(PR_SET_KEEPCAPS, keep != 0, 0, 0, 0) != 0 ||
	    syscall(SYS_setresuid, uid, uid, uid) != 0)
		return -1;
	return set_capabilities(keep);
}
