/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jails: a child of each tries every way out of its table and dies, and
 * can still do its work.
 */
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "child.h"
#include "confine/confine.h"

enum {
	KILLED = 128 + SIGSYS,
	X32 = 0x40000000,
	NO_JAIL = 99, /* confine_apply() failed */
};

struct attempt {
	const char *name;
	long call;
	unsigned at;  /* which argument is not 0 */
	uint64_t arg; /* its value */
	int answer;   /* KILLED, or the errno */
};

#define KILL(call)                { #call, SYS_##call, 0, 0, KILLED },
#define KILL_FLAG(call, arg, bit) { #call, SYS_##call, arg, bit, KILLED },
#define KILL_OVER(call, arg, most)               \
 { #call, SYS_##call, arg, (most) + 1, KILLED }, \
     { #call, SYS_##call, arg, (uint64_t)1 << 32 | 2, KILLED },
#define KILL_IS(call, arg, value) { #call, SYS_##call, arg, value, KILLED },
#define FAIL(call, error)         { #call, SYS_##call, 0, 0, error },

static const struct attempt vmm_table[] = {
#include "confine/never.def"
#include "confine/vmm.def"
};

static const struct attempt keeper_table[] = {
#include "confine/keeper.def"
#include "confine/never.def"
};

static const struct attempt importer_table[] = {
#include "confine/importer.def"
#include "confine/never.def"
};

static struct fault fault;
static struct confine_program *jail;

static const struct confine_path everywhere[] = {
	{ "/", CONFINE_READ | CONFINE_EXECUTE },
};

static int
enter(void)
{
	const char *step;

	return confine_apply(jail, &step);
}

static int
attempt(void *arg)
{
	const struct attempt *a = arg;
	uint64_t args[6] = { 0 };
	long r;

	if (enter() != 0)
		return NO_JAIL;
	errno = 0;
	args[a->at] = a->arg;
	r = syscall(a->call, args[0], args[1], args[2], args[3], args[4],
	    args[5]);
	return r == -1 ? errno : 0;
}

static void
try_all(const struct attempt *table, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct attempt a = table[i];
		int got = in_child(attempt, &a);

		if (got != a.answer)
			print_error("%s(%llu): %d, not %d\n", a.name,
			    (unsigned long long)a.arg, got, a.answer);
		assert_int_equal(got, a.answer);
	}
}

static int
prepare_vmm(void **state)
{
	(void)state;
	jail = confine_vmm(everywhere, NELEM(everywhere), &fault);
	return jail ? 0 : -1;
}

static int
prepare_keeper(void **state)
{
	(void)state;
	jail = confine_keeper(&fault);
	return jail ? 0 : -1;
}

static int
prepare_importer(void **state)
{
	(void)state;
	jail = confine_importer(everywhere, NELEM(everywhere), &fault);
	return jail ? 0 : -1;
}

static int
leave(void **state)
{
	(void)state;
	confine_program_free(jail);
	jail = NULL;
	return 0;
}

static void
a_vmm_that_leaves_dies(void **state)
{
	(void)state;
	try_all(vmm_table, NELEM(vmm_table));
}

static void
a_keeper_that_leaves_dies(void **state)
{
	(void)state;
	try_all(keeper_table, NELEM(keeper_table));
}

static void
an_importer_that_leaves_dies(void **state)
{
	(void)state;
	try_all(importer_table, NELEM(importer_table));
}

/* Each of these would change a file that no rule of Landlock guards. */
static void
what_is_newer_than_the_tables_is_not_there(void **state)
{
	static const struct attempt newer[] = {
		{ "fchmodat2", 452, 0, 0, ENOSYS },
		{ "mseal", 462, 0, 0, ENOSYS },
		{ "setxattrat", 463, 0, 0, ENOSYS },
		{ "removexattrat", 466, 0, 0, ENOSYS },
		{ "open_tree_attr", 467, 0, 0, ENOSYS },
		{ "file_setattr", 469, 0, 0, ENOSYS },
		{ "the last", X32 - 1, 0, 0, ENOSYS },
	};

	(void)state;
	try_all(newer, NELEM(newer));
}

static int
touch(void *arg)
{
	int fd = (int)syscall(SYS_memfd_create, "m", 1);

	(void)arg;
	if (enter() != 0)
		return NO_JAIL;
	return syscall(SYS_utimensat, fd, NULL, NULL, 0) == 0 ? 0 : 1;
}

static void
times_are_set_by_descriptor_alone(void **state)
{
	(void)state;
	assert_int_equal(in_child(touch, NULL), 0);
}

/* The tables could lose a row; the design's own list may not. */
static void
the_vmm_table_holds_what_the_design_names(void **state)
{
	static const char *const names[] = { "socket", "connect", "bind",
		"listen", "accept", "accept4", "ptrace", "process_vm_readv",
		"process_vm_writev", "pidfd_open", "pidfd_getfd",
		"pidfd_send_signal", "kill", "tkill", "mount", "umount2",
		"pivot_root", "move_mount", "open_tree", "fsopen", "fsconfig",
		"fsmount", "fspick", "mount_setattr", "bpf", "keyctl",
		"add_key", "request_key", "unshare", "setns", "chroot",
		"perf_event_open", "name_to_handle_at", "open_by_handle_at",
		"io_uring_setup", "chmod", "fchmodat", "chown", "truncate",
		"setxattr", "utimensat" };

	(void)state;
	for (size_t i = 0; i < NELEM(names); i++) {
		size_t k = 0;

		while (k < NELEM(vmm_table) &&
		    strcmp(vmm_table[k].name, names[i]) != 0)
			k++;
		assert_true(k < NELEM(vmm_table));
	}
}

static int
call_as_x32(void *arg)
{
	(void)arg;
	if (enter() != 0)
		return NO_JAIL;
	(void)syscall(X32 | SYS_getpid);
	return 0;
}

static int
call_as_i386(void *arg)
{
	long r = 20; /* getpid of i386 */

	(void)arg;
	if (enter() != 0)
		return NO_JAIL;
	__asm__ volatile("int $0x80" : "+a"(r) : : "memory");
	return 0;
}

static void
another_architectures_calls_kill(void **state)
{
	(void)state;
	assert_int_equal(in_child(call_as_x32, NULL), KILLED);
	/* A kernel without i386 answers with SIGSEGV. */
	assert_true(in_child(call_as_i386, NULL) > 128);
}

/* A socket that was there before does not help: connect() itself kills. */
static int
connect_old_socket(void *arg)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)arg;
	(void)snprintf(to.sun_path, sizeof(to.sun_path), "/nonexistent");
	if (enter() != 0)
		return NO_JAIL;
	(void)connect(fd, (struct sockaddr *)&to, sizeof(to));
	return 0;
}

static void
a_vmm_cannot_connect(void **state)
{
	(void)state;
	assert_int_equal(in_child(connect_old_socket, NULL), KILLED);
}

static int
exec_true(void *arg)
{
	char *argv[] = { arg, NULL };

	if (enter() != 0)
		return NO_JAIL;
	(void)execv(arg, argv);
	return 1;
}

static int
thread_main(void *arg)
{
	(void)arg;
	return 0;
}

/* What QEMU does all day: threads, their kicks, memory files, eventfds. */
static int
work_as_vmm(void *arg)
{
	static _Alignas(16) char stack[65536];
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
	    CLONE_THREAD | CLONE_SYSVSEM;

	(void)arg;
	if (enter() != 0)
		return NO_JAIL;
	if (clone(thread_main, stack + sizeof(stack), flags, NULL) < 0)
		return 1;
	if (syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), 0) != 0)
		return 2;
	if (syscall(SYS_memfd_create, "m", 1) < 0 ||
	    syscall(SYS_eventfd2, 0, 0) < 0)
		return 3;
	return open("/dev/null", O_RDWR | O_CLOEXEC) < 0 ? 4 : 0;
}

static void
a_vmm_can_start_and_work(void **state)
{
	char path[] = "/bin/true";

	(void)state;
	assert_int_equal(in_child(exec_true, path), 0);
	assert_int_equal(in_child(work_as_vmm, NULL),
	    confine_landlock_abi() > 0 ? 4 : 0);
}

static int
work_as_keeper(void *arg)
{
	int ends[2];
	char c;

	(void)arg;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 ||
	    enter() != 0)
		return NO_JAIL;
	if (socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0)
		return 1;
	if (socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 &&
	    errno != EAFNOSUPPORT)
		return 2;
	if (write(ends[0], "x", 1) != 1 || read(ends[1], &c, 1) != 1)
		return 3;
	return kill(getpid(), 0) == 0 ? 0 : 4;
}

static void
a_keeper_can_work_but_not_exec(void **state)
{
	char path[] = "/bin/true";

	(void)state;
	assert_int_equal(in_child(work_as_keeper, NULL), 0);
	assert_int_equal(in_child(exec_true, path), KILLED);
}

static void
an_importer_can_run_helpers(void **state)
{
	char path[] = "/bin/true";

	(void)state;
	assert_int_equal(in_child(exec_true, path), 0);
}

static int
enter_as_grandchild(void *arg)
{
	const char *step = "";
	int r;

	(void)arg;
	switch (fork()) {
	case 0:
		r = confine_apply(jail, &step);
		_exit(r == -1 && errno == ESRCH ? 7 : 0);
	case -1:
		return NO_JAIL;
	default:
		break;
	}
	(void)wait(&r);
	return WIFEXITED(r) ? WEXITSTATUS(r) : NO_JAIL;
}

static void
a_vmm_jail_is_only_for_the_preparers_child(void **state)
{
	(void)state;
	assert_int_equal(in_child(enter_as_grandchild, NULL), 7);
}

int
main(void)
{
#define VMM(t)      cmocka_unit_test_setup_teardown(t, prepare_vmm, leave)
#define KEEPER(t)   cmocka_unit_test_setup_teardown(t, prepare_keeper, leave)
#define IMPORTER(t) cmocka_unit_test_setup_teardown(t, prepare_importer, leave)
	const struct CMUnitTest tests[] = {
		VMM(a_vmm_that_leaves_dies),
		VMM(what_is_newer_than_the_tables_is_not_there),
		VMM(times_are_set_by_descriptor_alone),
		VMM(the_vmm_table_holds_what_the_design_names),
		VMM(another_architectures_calls_kill),
		VMM(a_vmm_cannot_connect),
		VMM(a_vmm_can_start_and_work),
		VMM(a_vmm_jail_is_only_for_the_preparers_child),
		KEEPER(a_keeper_that_leaves_dies),
		KEEPER(what_is_newer_than_the_tables_is_not_there),
		KEEPER(a_keeper_can_work_but_not_exec),
		IMPORTER(an_importer_that_leaves_dies),
		IMPORTER(what_is_newer_than_the_tables_is_not_there),
		IMPORTER(times_are_set_by_descriptor_alone),
		IMPORTER(an_importer_can_run_helpers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
