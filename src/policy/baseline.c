/* SPDX-License-Identifier: Apache-2.0 */
/* What every sandbox may access, whatever its policy (POLICY.md 2). */
#include "policy/inner.h"

const struct policy_baseline policy_baseline[POLICY_BASELINE] = {
	{ "/usr", false },
	{ "/lib", false },
	{ "/lib64", false },
	{ "/bin", false },
	{ "/sbin", false },
	{ "/etc", false },
	{ "/app", false },
	{ "/var/log", false },
	{ "/proc", false },
	{ "/dev/zero", false },
	{ "/dev/full", false },
	{ "/dev/random", false },
	{ "/dev/urandom", false },
	{ "/dev/tty", false },
	{ "/tmp", true },
	{ "/dev/null", true },
	{ "/dev/shm", true },
	{ "/dev/pts", true },
};
