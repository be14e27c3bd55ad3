/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User and capabilities, as the kernel then tells them. Nobody but root may
 * change them, so for others the tests show that it fails whole.
 */
#include <linux/capability.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "child.h"
#include "confine/confine.h"

enum {
	AGENT = 1000
};

static struct fault fault;

/* Value of a line of /proc/self/status, "" when it is not there. */
static void
status_line(const char *name, char *out, size_t size)
{
	struct buf b;
	char *at;

	buf_init(&b, 8192);
	out[0] = '\0';
	if (file_read(AT_FDCWD, "/proc/self/status", &b, &fault) != 0 ||
	    buf_add(&b, "", 1, &fault) != 0)
		return;
	at = strstr((char *)buf_ptr(&b), name);
	if (at) {
		at += strlen(name);
		at += strspn(at, ":\t ");
		(void)text_copy(out, size, span_of(at, strcspn(at, "\n")));
	}
	buf_release(&b);
}

static bool
is_line(const char *name, const char *value)
{
	char now[128];

	status_line(name, now, sizeof(now));
	if (strcmp(now, value) == 0)
		return true;
	(void)fprintf(stderr, "%s is '%s', not '%s'\n", name, now, value);
	return false;
}

static bool
all_sets_are(const char *held, const char *inheritable)
{
	return is_line("CapInh", inheritable) && is_line("CapPrm", held) &&
	    is_line("CapEff", held) && is_line("CapBnd", held) &&
	    is_line("CapAmb", inheritable);
}

static int
become_agent(void *arg)
{
	static const gid_t groups[] = { 7, 8 };

	(void)arg;
	if (confine_become(AGENT, AGENT, groups, NELEM(groups), 0) != 0)
		return 1;
	if (!is_line("Uid", "1000\t1000\t1000\t1000") ||
	    !is_line("Gid", "1000\t1000\t1000\t1000") ||
	    !is_line("Groups", "7 8 "))
		return 2;
	if (!all_sets_are("0000000000000000", "0000000000000000"))
		return 3;
	/* And there is no way back. */
	if (setuid(0) == 0 || setgid(0) == 0 || setgroups(0, NULL) == 0)
		return 4;
	return confine_become(0, 0, NULL, 0, 0) == -1 ? 0 : 5;
}

static void
an_agent_has_no_capability(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		assert_int_equal(in_child(become_agent, NULL), 1);
		return;
	}
	assert_int_equal(in_child(become_agent, NULL), 0);
}

static int
become_sandbox(void *arg)
{
	uint64_t keep = CONFINE_CAP(CAP_KILL) | CONFINE_CAP(CAP_SETUID) |
	    CONFINE_CAP(CAP_SYS_ADMIN) | CONFINE_CAP(CAP_SETPCAP);

	(void)arg;
	if (confine_become(AGENT, AGENT, NULL, 0, keep) != 0)
		return 1;
	if (!is_line("Uid", "1000\t1000\t1000\t1000"))
		return 2;
	if (!all_sets_are("00000000002001a0", "0000000000000000"))
		return 3;
	/* SYS_ADMIN goes once the root is built. */
	keep &= ~CONFINE_CAP(CAP_SYS_ADMIN);
	if (confine_capabilities(keep) != 0)
		return 4;
	if (!all_sets_are("00000000000001a0", "0000000000000000"))
		return 5;
	return confine_capabilities(keep | CONFINE_CAP(CAP_SYS_ADMIN)) == -1
	    ? 0
	    : 6;
}

static void
a_sandbox_keeps_only_what_it_names(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		assert_int_equal(in_child(become_sandbox, NULL), 1);
		return;
	}
	assert_int_equal(in_child(become_sandbox, NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_agent_has_no_capability),
		cmocka_unit_test(a_sandbox_keeps_only_what_it_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
