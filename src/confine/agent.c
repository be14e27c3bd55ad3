/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jail of agent processes. What can be prepared is prepared once: the
 * Landlock ruleset here, the filter when the guest was built (syscalls.def,
 * tools/mkfilter.c). What is left for each process are three system calls, in
 * a child that has little of its parent's memory and may write nothing but its
 * own stack.
 */
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"
#include "confine/filters.h"
#include "confine/inner.h"

/* No books and no canary outside the stack. */
#define BARE \
 __attribute__((no_sanitize("address", "undefined"), no_stack_protector))
#define AT(p) ((long)(intptr_t)(p))

enum {
	ABI_LEAST = 3, /* truncate */
};

/* struct sock_fprog, with the const that its call keeps. */
struct filter {
	unsigned short len;
	const struct sock_filter *steps;
};

struct confine_agent {
	struct confine_program jail; /* the ruleset of it */
	size_t rules;
};

struct confine_agent *
confine_agent_new(struct fault *f)
{
	struct confine_agent *a = must_alloc(sizeof(*a));

	a->jail.ruleset = -1;
	if (confine_landlock_abi() < ABI_LEAST)
		(void)fault_set(f, FAULT_UNIMPLEMENTED,
		    "the kernel's landlock is older than ABI %d", ABI_LEAST);
	else if (confine_landlock(&a->jail, NULL, 0, false, f) == 0)
		return a;
	confine_agent_free(a);
	return NULL;
}

int
confine_agent_allow(struct confine_agent *a, int fd, unsigned rights,
    struct fault *f)
{
	if (confine_landlock_add(&a->jail, fd, rights, f) != 0)
		return -1;
	a->rules++;
	return 0;
}

int
confine_agent_abi(const struct confine_agent *a)
{
	return a->jail.abi;
}

size_t
confine_agent_size(void)
{
	return sizeof(struct confine_agent);
}

int
confine_agent_ruleset(const struct confine_agent *a)
{
	return a->jail.ruleset;
}

void
confine_agent_free(struct confine_agent *a)
{
	if (!a)
		return;
	fd_close(&a->jail.ruleset);
	free(a);
}

/* The result as the kernel gives it: -errno. */
BARE static long
bare(long number, long a, long b, long c)
{
	register long none __asm__("r10") = 0;
	register long last __asm__("r8") = 0;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(none),
			 "r"(last)
			 : "rcx", "r11", "memory");
	return r;
}

BARE int
confine_agent_apply(const struct confine_agent *a)
{
	const struct filter filter = { NELEM(filter_agent), filter_agent };
	long r;

	if (a->rules == 0)
		return -EINVAL;
	r = bare(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0);
	if (r == 0)
		r = bare(CONFINE_CALL_RESTRICT_SELF, a->jail.ruleset, 0, 0);
	if (r == 0)
		r = bare(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, AT(&filter));
	return (int)r;
}

static int
install(struct filter filter)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
}

int
confine_sandbox(void)
{
	return install(
	    (struct filter){ NELEM(filter_sandbox), filter_sandbox });
}

int
confine_supervisor(void)
{
	return install(
	    (struct filter){ NELEM(filter_supervisor), filter_supervisor });
}
