/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter whose calls wait for a broker's answer. A process puts it on
 * itself before its children, so that they all have it with one listener;
 * hence the process itself must never make these calls: nobody would answer.
 *
 * The addresses of sendmsg and sendmmsg are behind a pointer: each call would
 * have to wait, also those without one. They are not taken.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <stddef.h>
#include <unistd.h>

#include "base/base.h"
#include "confine/confine.h"

enum {
	/* linux/seccomp.h; NEW_LISTENER and WAIT_KILLABLE_RECV of 5.19 */
	FLAGS = 1 << 3 | 1 << 5,
	SENDTO_ADDRESS = 4, /* its argument */
};

/* Both halves of an argument. */
#define FIELD(name) ((uint32_t)offsetof(struct seccomp_data, name))
#define LOW(n)      (FIELD(args) + 8 * (n))
#define HIGH(n)     (FIELD(args) + 8 * (n) + 4)

int
confine_notify(int *listener)
{
	/* clang-format off */
	static struct sock_filter code[] = {
		/* 0 */ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(arch)),
		/* 1 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			    AUDIT_ARCH_X86_64, 0, 7),
		/* 2 */ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(nr)),
		/* 3 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 6, 0),
		/* 4 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendto, 0, 4),
		/* 5 */ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW(SENDTO_ADDRESS)),
		/* 6 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
		/* 7 */ BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			    HIGH(SENDTO_ADDRESS)),
		/* 8 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
		/* 9 */ BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		/* 10 */ BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	};
	/* clang-format on */
	static struct sock_fprog filter = { NELEM(code), code };
	long r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, FLAGS, &filter);
	if (r < 0)
		return -1;
	*listener = (int)r;
	return 0;
}
