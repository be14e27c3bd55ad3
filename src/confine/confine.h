/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process takes away from itself, or from a child between fork and
 * exec. Three kinds of function:
 *
 *   plain  may allocate, takes a fault: prepares a jail in the parent.
 *   raw    only system calls, no allocation, no lock, no fault: 0, or -1 with
 *          errno. These and only these may run between fork and exec.
 *   bare   raw, and writes nothing but its own stack, not even errno: 0, or
 *          -errno. For a child that has little of its parent's memory.
 *
 * A jail is prepared whole before the fork (paths opened, filter compiled)
 * and applied raw. Nothing that was applied can be undone, and all of it is
 * inherited by exec.
 */
#ifndef CONFINE_CONFINE_H
#define CONFINE_CONFINE_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

/* The kernel's Landlock ABI, 0 when it has none (then paths are not guarded:
 * `nacre doctor` says so). Raw. */
int confine_landlock_abi(void);

enum confine_rights {
	CONFINE_READ = 1 << 0,     /* files and folders */
	CONFINE_EXECUTE = 1 << 1,  /* implies no READ */
	CONFINE_WRITE = 1 << 2,    /* what exists: write and truncate */
	CONFINE_MAKE = 1 << 3,     /* create, remove and rename inside */
	CONFINE_DEVICE = 1 << 4,   /* ioctl on a device node */
	CONFINE_OPTIONAL = 1 << 5, /* no fault when the path does not exist */
};

/* A file, or a folder and all below it. */
struct confine_path {
	const char *path;
	unsigned rights;
};

struct confine_program; /* a jail, ready to be applied */

/*
 * The VMM's jail, for the child that will exec it; DESIGN 2. paths: its own
 * file, libraries, firmware (READ | EXECUTE), /dev/kvm when it is used. It
 * dies with the calling process. Leaving kills it: vmm.def has the list.
 */
struct confine_program *confine_vmm(const struct confine_path *paths, size_t n,
    struct fault *f) MUST_CHECK;
/* The keeper's, once its VMM runs: no exec, no unix socket; keeper.def. */
struct confine_program *confine_keeper(struct fault *f) MUST_CHECK;
/* nacre-image's, before it reads a stranger's archive: no socket, and only
 * these paths (source READ, store READ | WRITE | MAKE, helpers READ |
 * EXECUTE); importer.def. */
struct confine_program *confine_importer(const struct confine_path *paths,
    size_t n, struct fault *f) MUST_CHECK;
void confine_program_free(struct confine_program *p); /* NULL is fine */
/*
 * Raw. Die with the parent (if so prepared), harden, Landlock, seccomp. On -1
 * *step says what failed ("landlock") and the process must exit: the jail may
 * be half up.
 */
int confine_apply(const struct confine_program *p, const char **step);
/* Landlock ABI in force in p; 0: paths are not guarded. */
int confine_program_abi(const struct confine_program *p);

/*
 * The agents' jail: Landlock on what confine_agent_allow() names, and the
 * filter of syscalls.def. Prepared once; every agent process applies it last
 * before its exec, after it has become the agent (the filter refuses that).
 */
struct confine_agent;
/* UNIMPLEMENTED when the kernel's Landlock cannot hold truncate (ABI 3). */
struct confine_agent *confine_agent_new(struct fault *f) MUST_CHECK;
/* What fd (O_PATH, borrowed) is open on, and below when it is a folder. Opened
 * by one who may: the agent's own eyes do not count. */
int confine_agent_allow(struct confine_agent *a, int fd, unsigned rights,
    struct fault *f) MUST_CHECK;
/* Bare. no_new_privs, then Landlock, then seccomp. -EINVAL when nothing was
 * allowed: an empty jail is a mistake. */
int confine_agent_apply(const struct confine_agent *a);
int confine_agent_abi(const struct confine_agent *a);
/* For a child that has not all of our memory and descriptors: a copy of so
 * many bytes is as good, and it needs the ruleset's. */
size_t confine_agent_size(void);
int confine_agent_ruleset(const struct confine_agent *a);
void confine_agent_free(struct confine_agent *a); /* NULL is fine */

/*
 * Raw. A Landlock domain that guards no file below the folder `root` (O_PATH,
 * borrowed): nothing in it, now or later, signals a process outside or reaches
 * an abstract socket of one. Those inside may reach each other. ENOSYS before
 * ABI 6.
 */
int confine_scope(int root);
/*
 * Raw. connect, and sendto with an address, wait for the holder of *listener
 * (close-on-exec) from now on, here and in every child that is made later;
 * there can be one listener only. The caller itself must not make them.
 */
int confine_notify(int *listener);
/*
 * Raw. The filters of the guest's own processes, for good: sandbox.def (what
 * it and its children never do; inherited by agents), supervisor.def (all it
 * may do). no_new_privs is set.
 */
int confine_sandbox(void);
int confine_supervisor(void);

/* Raw. no_new_privs, no core file, not dumpable (the last until exec). */
int confine_harden(void);
/* Raw. SIGKILL when the parent ends; -1 ESRCH when it is not `parent` any
 * more. A child in a new pid namespace sees parent 0. */
int confine_die_with_parent(pid_t parent);
/* Raw. Close every descriptor but these (n <= 64, any order, -1 skipped). */
int confine_close_except(const int *keep, size_t n);
/* Raw. All signals to their default, none blocked. */
int confine_signals_reset(void);

/*
 * Raw. A child in new namespaces (CLONE_NEWPID | ... of <sched.h>); 0 in the
 * child, where only raw functions may be called before exec. cgroup_fd: a
 * cgroup v2 folder it is born in, or -1. pidfd (close-on-exec) may be NULL.
 */
pid_t confine_clone(uint64_t namespaces, int cgroup_fd, int *pidfd);
/* Raw. Set lo up in the current network namespace. */
int confine_lo_up(void);

#define CONFINE_CAP(n) ((uint64_t)1 << (n)) /* n: CAP_KILL of the kernel */
/*
 * Raw. Become this user: groups, gid, uid; then keep only the capabilities in
 * `keep` (permitted, effective, bounding) and empty the inheritable and
 * ambient sets. keep 0: none at all, for good. The caller needs SETUID,
 * SETGID and SETPCAP.
 */
int confine_become(uid_t uid, gid_t gid, const gid_t *groups, size_t n,
    uint64_t keep);
/* Raw. The capability part of it alone: same user. */
int confine_capabilities(uint64_t keep);

#endif
