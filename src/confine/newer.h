/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of a filter that says what is denied, for host programs
 * (seccomp.c) and for guests (tools/mkfilter.c): calls that are newer than its
 * table, from `first` on, answer ENOSYS, as by a kernel that lacks them.
 * libseccomp has no way to say "from this number on". What is of another
 * architecture (x32, too) goes on to what follows, to be killed there.
 */
#ifndef CONFINE_NEWER_H
#define CONFINE_NEWER_H

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <errno.h>
#include <stddef.h>

#define CONFINE_X32 0x40000000

/* clang-format off */
#define CONFINE_NEWER(first) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)), \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 4), \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), \
	BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, CONFINE_X32, 2, 0), \
	BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first, 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)
/* clang-format on */

#endif
