/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jails of host programs, compiled by libseccomp from the .def tables.
 * Everything not named is allowed: these processes hold what they need by
 * descriptor, and the tables take away the ways to more. Calls that are newer
 * than the tables answer ENOSYS, as by a kernel that lacks them. Other
 * architectures' calls (i386, x32) kill. Guests have no use for this file, and
 * the linker drops it and the library there.
 */
#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "confine/inner.h"
#include "confine/newer.h"

enum {
	/* The first that the tables know nothing of: fchmodat2, of Linux 6.6. */
	NEWER = 452,
};

enum kind {
	RULE_KILL,
	RULE_KILL_FLAG,
	RULE_KILL_OVER,
	RULE_KILL_IS,
	RULE_FAIL,
};

struct rule {
	enum kind kind;
	int call;
	unsigned arg;
	uint64_t value; /* of the argument, or the errno */
};

#define KILL(call)                { RULE_KILL, SCMP_SYS(call), 0, 0 },
#define KILL_FLAG(call, arg, bit) { RULE_KILL_FLAG, SCMP_SYS(call), arg, bit },
#define KILL_OVER(call, arg, most) \
 { RULE_KILL_OVER, SCMP_SYS(call), arg, most },
#define KILL_IS(call, arg, value) { RULE_KILL_IS, SCMP_SYS(call), arg, value },
#define FAIL(call, error)         { RULE_FAIL, SCMP_SYS(call), 0, error },

static const struct rule never[] = {
#include "confine/never.def"
};

static const struct rule vmm[] = {
#include "confine/vmm.def"
};

static const struct rule keeper[] = {
#include "confine/keeper.def"
};

static const struct rule importer[] = {
#include "confine/importer.def"
};

/* 0, or a negative errno, as libseccomp says it. */
static int
add_rule(scmp_filter_ctx ctx, const struct rule *r)
{
	struct scmp_arg_cmp test = { .arg = r->arg, .datum_a = r->value };
	uint32_t action = SCMP_ACT_KILL_PROCESS;

	switch (r->kind) {
	case RULE_KILL:
		return seccomp_rule_add_array(ctx, action, r->call, 0, NULL);
	case RULE_FAIL:
		action = SCMP_ACT_ERRNO((uint16_t)r->value);
		return seccomp_rule_add_array(ctx, action, r->call, 0, NULL);
	case RULE_KILL_FLAG:
		test.op = SCMP_CMP_MASKED_EQ;
		test.datum_b = r->value;
		break;
	case RULE_KILL_OVER:
		test.op = SCMP_CMP_GT;
		break;
	case RULE_KILL_IS:
		test.op = SCMP_CMP_EQ;
		break;
	}
	return seccomp_rule_add_array(ctx, action, r->call, 1, &test);
}

static int
add_rules(scmp_filter_ctx ctx, const struct rule *rules, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int r = add_rule(ctx, &rules[i]);

		if (r != 0)
			return r;
	}
	return 0;
}

static const struct sock_filter newer[] = { CONFINE_NEWER(NEWER) };

static int export(scmp_filter_ctx ctx, struct confine_program *p)
{
	size_t size = 0;
	int r = seccomp_export_bpf_mem(ctx, NULL, &size);

	if (r != 0)
		return r;
	p->filter.filter = must_alloc(sizeof(newer) + size);
	p->filter.len =
	    (unsigned short)(NELEM(newer) + size / sizeof(struct sock_filter));
	memcpy(p->filter.filter, newer, sizeof(newer));
	return seccomp_export_bpf_mem(ctx, p->filter.filter + NELEM(newer),
	    &size);
}

static int
compile(struct confine_program *p, const struct rule *rules, size_t n,
    struct fault *f)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int r = -ENOMEM;

	if (ctx)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
		    SCMP_ACT_KILL_PROCESS);
	if (r == 0) /* 2: a tree by call number; QEMU makes many calls */
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r == 0)
		r = add_rules(ctx, never, NELEM(never));
	if (r == 0)
		r = add_rules(ctx, rules, n);
	if (r == 0)
		r = export(ctx, p);
	seccomp_release(ctx);
	if (r == 0)
		return 0;
	errno = -r;
	return fault_sys(f, "cannot compile a system call filter");
}

/* paths NULL: files are not this jail's business. */
static struct confine_program *
prepare(const struct rule *rules, size_t rules_n,
    const struct confine_path *paths, size_t n, struct fault *f)
{
	struct confine_program *p = must_alloc(sizeof(*p));

	p->ruleset = -1;
	if (compile(p, rules, rules_n, f) == 0 &&
	    (!paths || confine_landlock(p, paths, n, true, f) == 0))
		return p;
	confine_program_free(p);
	return NULL;
}

struct confine_program *
confine_vmm(const struct confine_path *paths, size_t n, struct fault *f)
{
	struct confine_program *p = prepare(vmm, NELEM(vmm), paths, n, f);

	if (p)
		p->parent = getpid();
	return p;
}

struct confine_program *
confine_keeper(struct fault *f)
{
	return prepare(keeper, NELEM(keeper), NULL, 0, f);
}

struct confine_program *
confine_importer(const struct confine_path *paths, size_t n, struct fault *f)
{
	return prepare(importer, NELEM(importer), paths, n, f);
}
