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

/* Prepare p->ruleset. Without Landlock in the kernel the paths are only
 * looked at, so that a missing one is a fault everywhere. */
int confine_landlock(struct confine_program *p,
    const struct confine_path *paths, size_t n, struct fault *f) MUST_CHECK;
/* Raw. */
int confine_landlock_apply(int ruleset);

#endif
