/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compile the guest's system call filters, at build time: a guest has neither
 * the library nor the milliseconds. The tables of src/confine are compiled
 * in; what comes out on standard output is C:
 *
 *   static const struct sock_filter filter_NAME[] = { ... };
 *
 * The filters are binary trees by call number. A call of another architecture
 * kills the process. One that is newer than the guest's kernel, and so than a
 * table of what is denied, is answered ENOSYS, whatever kernel runs.
 */
#include <err.h>
#include <errno.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "confine/newer.h"

#define NELEM(a) (sizeof(a) / sizeof((a)[0]))

enum how {
	HOW_ALWAYS,
	HOW_IS,
	HOW_HAS,
	HOW_NOT,
	HOW_EACH,
};

struct test {
	enum how how;
	unsigned arg;
	uint32_t value; /* the first of EACH */
	uint32_t last;
};

struct row {
	int call;
	int error;
	struct test tests[2]; /* both hold; ALWAYS adds nothing */
	const char *why;
};

/* clang-format off */
#define ALWAYS              { HOW_ALWAYS, 0, 0, 0 }
#define IS(arg, value)      { HOW_IS, arg, (uint32_t)(value), 0 }
#define HAS(arg, bits)      { HOW_HAS, arg, bits, 0 }
#define NOT(arg, value)     { HOW_NOT, arg, value, 0 }
#define EACH(arg, from, to) { HOW_EACH, arg, from, to }
#define ARGS(one, two)      one, two
#define CALL(name, error, when, why) { SCMP_SYS(name), error, { when }, why },
#define ALLOW(name, why)    { SCMP_SYS(name), 0, { ALWAYS }, why },
/* clang-format on */

static const struct row agent[] = {
#include "confine/syscalls.def"
};
static const struct row sandbox[] = {
#include "confine/sandbox.def"
};
static const struct row supervisor[] = {
#include "confine/supervisor.def"
};

static void
check(int r, const char *what)
{
	if (r != 0) {
		errno = -r;
		err(1, "%s", what);
	}
}

static struct scmp_arg_cmp
compare(const struct test *t, uint32_t value)
{
	struct scmp_arg_cmp c = { .arg = t->arg,
		.op = SCMP_CMP_MASKED_EQ,
		.datum_a = UINT32_MAX,
		.datum_b = value };

	if (t->how == HOW_HAS)
		c.datum_a = value;
	if (t->how == HOW_NOT) {
		c.op = SCMP_CMP_NE;
		c.datum_a = value;
		c.datum_b = 0;
	}
	return c;
}

static void
add_row(scmp_filter_ctx ctx, const struct row *r, uint32_t action)
{
	const struct test *each = &r->tests[0];
	struct scmp_arg_cmp c[2];
	unsigned n = 0;

	for (size_t i = 0; i < NELEM(r->tests); i++)
		if (r->tests[i].how != HOW_ALWAYS)
			c[n++] = compare(&r->tests[i], r->tests[i].value);
	if (each->how != HOW_EACH) {
		check(seccomp_rule_add_array(ctx, action, r->call, n, c),
		    r->why);
		return;
	}
	for (uint32_t v = each->value; v <= each->last; v++) {
		c[0] = compare(each, v);
		check(seccomp_rule_add_array(ctx, action, r->call, n, c),
		    r->why);
	}
}

static scmp_filter_ctx
begin(uint32_t otherwise)
{
	scmp_filter_ctx ctx = seccomp_init(otherwise);

	if (!ctx)
		errx(1, "no memory");
	check(seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
		  SCMP_ACT_KILL_PROCESS),
	    "other architectures");
	check(seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2), "a tree");
	return ctx;
}

static void
deny(scmp_filter_ctx ctx, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add_row(ctx, &rows[i], SCMP_ACT_ERRNO((uint16_t)rows[i].error));
}

enum {
	NEWER = 463, /* setxattrat, of Linux 6.13 */
};

static const struct sock_filter newer[] = { CONFINE_NEWER(NEWER) };

static void
print(const struct sock_filter *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("\t{ 0x%04x, %u, %u, 0x%08x },\n", f[i].code, f[i].jt,
		    f[i].jf, f[i].k);
}

static void
finish(scmp_filter_ctx ctx, const char *name, bool is_open)
{
	size_t size = 0;
	struct sock_filter *f;

	check(seccomp_export_bpf_mem(ctx, NULL, &size), "export");
	f = malloc(size);
	if (!f)
		errx(1, "no memory");
	check(seccomp_export_bpf_mem(ctx, f, &size), "export");
	printf("static const struct sock_filter filter_%s[] = {\n", name);
	if (is_open)
		print(newer, NELEM(newer));
	print(f, size / sizeof(*f));
	printf("};\n");
	free(f);
	seccomp_release(ctx);
}

int
main(void)
{
	scmp_filter_ctx ctx = begin(SCMP_ACT_ALLOW);

	(void)puts("#include <linux/filter.h>");
	deny(ctx, agent, NELEM(agent));
	finish(ctx, "agent", true);
	ctx = begin(SCMP_ACT_ALLOW);
	deny(ctx, sandbox, NELEM(sandbox));
	finish(ctx, "sandbox", true);
	ctx = begin(SCMP_ACT_ERRNO(EPERM));
	for (size_t i = 0; i < NELEM(supervisor); i++)
		add_row(ctx, &supervisor[i], SCMP_ACT_ALLOW);
	finish(ctx, "supervisor", false);
	if (fflush(stdout) != 0)
		err(1, "cannot write");
	return 0;
}
