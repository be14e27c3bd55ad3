/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of confine: the prepared jail. */
#ifndef CONFINE_INNER_H
#define CONFINE_INNER_H

#include <linux/filter.h>

#include "confine/confine.h"

struct confine_program {
	pid_t parent; /* die with this process; 0: with nobody */
	int ruleset;  /* Landlock descriptor, -1: none */
	int abi;      /* of the ruleset, 0: none */
	struct sock_fprog filter;
};

enum {
	CONFINE_CALL_RESTRICT_SELF = 446, /* on every architecture */
};

/* Prepare p->ruleset. Without Landlock in the kernel the paths are only
 * looked at, so that a missing one is a fault everywhere. scoped: neither TCP
 * nor signals nor abstract sockets reach out either. */
int confine_landlock(struct confine_program *p,
    const struct confine_path *paths, size_t n, bool scoped,
    struct fault *f) MUST_CHECK;
/* One more path, by a descriptor. */
int confine_landlock_add(struct confine_program *p, int fd, unsigned rights,
    struct fault *f) MUST_CHECK;
/* Raw. */
int confine_landlock_apply(int ruleset);

#endif
