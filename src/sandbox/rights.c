/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rights of the sandbox process itself. Once the root is built it keeps
 * what the table lists, under a uid that nobody else has, and can never get
 * more: the bounding set is empty, root means nothing, no_new_privs is set,
 * its filter (confine/sandbox.def) and its Landlock scope stand. No path is
 * closed to it: it serves the agent's files, with the agent's rights, and what
 * was not the agent's root is unmounted. What an agent process inherits is
 * therefore little, and child.c drops it.
 */
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <unistd.h>

#include "sandbox/inner.h"

enum {
	CAPS_WORDS = 2
};

/* clang-format off */
static const struct {
	unsigned cap;
	bool for_files; /* taken off while acting on files as the agent */
} kept[] = {
	{ CAP_SYS_PTRACE, true },        /* read what an agent process asks for */
	{ CAP_SETUID, false },           /* become the agent */
	{ CAP_SETGID, false },
	{ CAP_SETPCAP, false },          /* drop a child's capabilities */
	{ CAP_KILL, false },             /* signal agent processes */
	{ CAP_NET_BIND_SERVICE, false }, /* listen where an agent connects */
	{ CAP_CHOWN, true },             /* terminals for the agent */
	{ CAP_DAC_OVERRIDE, true },      /* the agent's cgroup */
	{ CAP_LEASE, false },            /* no writers while a digest is made */
};
/* clang-format on */

static int
set_caps(bool with_files)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[CAPS_WORDS] = { { 0, 0, 0 } };

	for (size_t i = 0; i < NELEM(kept); i++) {
		uint32_t bit = 1U << (kept[i].cap % 32);

		data[kept[i].cap / 32].permitted |= bit;
		if (with_files || !kept[i].for_files)
			data[kept[i].cap / 32].effective |= bit;
	}
	return (int)syscall(SYS_capset, &head, data);
}

/*
 * When memory is out the agent goes before the supervisor, which is exempt. The
 * kernel holds as a process's least score what it was given last with
 * CAP_SYS_RESOURCE, and children inherit it: with 0 here, none of them can
 * exempt itself. It cannot be another one for us alone, as a child before its
 * exec shares our memory and with it the score.
 */
static int
be_killable(struct fault *f)
{
	with_fd fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return fault_sys(f, "cannot open the score");
	return fd_write_all(fd, "0", 1, f);
}

int
rights_reduce(struct fault *f)
{
	const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
	    SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
	    SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
	    SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
	with_fd root = -1;

	if (be_killable(f) != 0)
		return -1;
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0;
	     cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0)
			return fault_sys(f, "cannot drop capability %lu", cap);
	if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) != 0 ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
	    setgroups(0, NULL) != 0 ||
	    setresgid(SANDBOX_UID, SANDBOX_UID, SANDBOX_UID) != 0 ||
	    setresuid(SANDBOX_UID, SANDBOX_UID, SANDBOX_UID) != 0 ||
	    set_caps(true) != 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return fault_sys(f, "cannot give up rights");
	/* Agents are one scope with it, each in a domain of its own below. */
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || confine_scope(root) != 0)
		return fault_sys(f, "cannot enter a landlock scope");
	if (confine_sandbox() != 0)
		return fault_sys(f, "cannot filter system calls");
	return 0;
}

int
rights_act_as(const struct identity *who)
{
	gid_t groups[SANDBOX_GROUPS];

	for (size_t i = 0; i < who->groups_n; i++)
		groups[i] = who->groups[i];
	if (syscall(SYS_setgroups, who->groups_n, groups) != 0)
		return -1;
	(void)syscall(SYS_setfsgid, who->gid);
	(void)syscall(SYS_setfsuid, who->uid);
	if (syscall(SYS_setfsgid, -1) == (long)who->gid &&
	    syscall(SYS_setfsuid, -1) == (long)who->uid && set_caps(false) == 0)
		return 0;
	rights_act_end();
	errno = EPERM;
	return -1;
}

void
rights_act_end(void)
{
	(void)syscall(SYS_setfsuid, SANDBOX_UID);
	(void)syscall(SYS_setfsgid, SANDBOX_UID);
	BUG_IF(set_caps(true) != 0);
	(void)syscall(SYS_setgroups, 0, NULL);
}
