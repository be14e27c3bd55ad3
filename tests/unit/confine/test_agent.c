/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agents' jail: every row of syscalls.def is tried in a child of its own,
 * and what programs live on still works.
 */
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "child.h"
#include "confine/confine.h"

enum {
	KILLED = 128 + SIGSYS,
	X32 = 0x40000000,
	NO_JAIL = 126,
	ARGS_N = 6,
};

/* The call with the arguments that its condition names; -1: any. */
struct attempt {
	const char *name;
	long call;
	int answer;
	struct {
		int arg;
		long first;
		long last;
	} set[2];
};

/* clang-format off */
#define ALWAYS              { -1, 0, 0 }
#define IS(arg, value)      { arg, (long)(value), (long)(value) }
#define HAS(arg, bits)      { arg, bits, bits }
#define NOT(arg, value)     { arg, (value) + 1, (value) + 1 }
#define EACH(arg, from, to) { arg, from, to }
#define ARGS(one, two)      one, two
#define CALL(name, error, when, why) { #name, SYS_##name, error, { when } },
/* clang-format on */

static const struct attempt table[] = {
#include "confine/syscalls.def"
};

static struct fault fault;
static struct confine_agent *jail;

static int
start(void **state)
{
	with_fd root = open("/", O_PATH | O_CLOEXEC);

	(void)state;
	jail = confine_agent_new(&fault);
	if (!jail || root < 0)
		return -1;
	return confine_agent_allow(jail, root,
	    CONFINE_READ | CONFINE_EXECUTE | CONFINE_WRITE | CONFINE_MAKE |
		CONFINE_DEVICE,
	    &fault);
}

static int
end(void **state)
{
	(void)state;
	confine_agent_free(jail);
	return 0;
}

struct one {
	const struct attempt *a;
	long value; /* of the first condition's argument */
	long upper; /* bits over an int */
};

static int
attempt(void *arg)
{
	const struct one *o = arg;
	long v[ARGS_N] = { 0 };
	long r;

	for (size_t i = 0; i < 2; i++)
		if (o->a->set[i].arg >= 0 &&
		    (i == 0 || o->a->set[i].arg != 0 || o->a->set[i].first))
			v[o->a->set[i].arg] =
			    i == 0 ? o->value : o->a->set[i].first;
	if (o->a->set[0].arg >= 0)
		v[o->a->set[0].arg] |= o->upper;
	if (confine_agent_apply(jail) != 0)
		return NO_JAIL;
	errno = 0;
	r = syscall(o->a->call, v[0], v[1], v[2], v[3], v[4], v[5]);
	return r == -1 ? errno : 0;
}

static void
try_one(struct one o)
{
	int got = in_child(attempt, &o);

	if (got != o.a->answer)
		print_error("%s, argument %d = %#lx: %d, not %d\n", o.a->name,
		    o.a->set[0].arg, o.value | o.upper, got, o.a->answer);
	assert_int_equal(got, o.a->answer);
}

static void
every_row_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(table); i++)
		for (long v = table[i].set[0].first; v <= table[i].set[0].last;
		     v++) {
			try_one((struct one){ &table[i], v, 0 });
			/* An int's upper half is noise, and no way past. */
			try_one((struct one){ &table[i], v, 1L << 40 });
		}
}

/* What programs do all day; the number of the first that fails, 0. */
/* Whatever the kernel of a later image can do. */
static void
what_is_newer_than_the_table_is_not_there(void **state)
{
	static const struct attempt newer[] = {
		{ "setxattrat", 463, ENOSYS, { ALWAYS, ALWAYS } },
		{ "open_tree_attr", 467, ENOSYS, { ALWAYS, ALWAYS } },
		{ "file_setattr", 469, ENOSYS, { ALWAYS, ALWAYS } },
		{ "the last", X32 - 1, ENOSYS, { ALWAYS, ALWAYS } },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(newer); i++)
		try_one((struct one){ &newer[i], 0, 0 });
}

static int
live(void *arg)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	uint64_t limit[2];
	int pair[2];
	int pid;

	(void)arg;
	if (confine_agent_apply(jail) != 0)
		return NO_JAIL;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return 1;
	if (socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0)
		return 2;
	if (socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) < 0)
		return 3;
	(void)snprintf(to.sun_path, sizeof(to.sun_path), "/nonexistent");
	if (connect(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
		(struct sockaddr *)&to, sizeof(to)) != -1 ||
	    errno != ENOENT)
		return 4;
	if (kill(getpid(), 0) != 0 || kill(0, 0) != 0)
		return 5;
	if (syscall(SYS_tkill, getpid(), 0) != 0)
		return 6;
	if (syscall(SYS_prlimit64, 0, 7, NULL, limit) != 0)
		return 7;
	if (syscall(SYS_setpriority, 0, 0, 1) != 0)
		return 8;
	if (fcntl(pair[0], F_SETOWN, getpid()) != 0)
		return 9;
	pid = (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		_exit(42);
	return pid > 0 ? 0 : 10;
}

static void
a_program_can_live(void **state)
{
	(void)state;
	assert_int_equal(in_child(live, NULL), 0);
}

static int
call_as_x32(void *arg)
{
	(void)arg;
	if (confine_agent_apply(jail) != 0)
		return NO_JAIL;
	(void)syscall(X32 | SYS_getpid);
	return 0;
}

static int
call_as_i386(void *arg)
{
	long r = 20; /* getpid of i386 */

	(void)arg;
	if (confine_agent_apply(jail) != 0)
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

static int
apply_empty(void *arg)
{
	return -confine_agent_apply(arg);
}

static void
a_jail_without_a_path_is_refused(void **state)
{
	struct confine_agent *empty = confine_agent_new(&fault);

	(void)state;
	assert_non_null(empty);
	assert_int_equal(in_child(apply_empty, empty), EINVAL);
	confine_agent_free(empty);
}

/* --- rights by inode type */
static int
allow(struct confine_agent *a, const char *path, unsigned rights)
{
	with_fd fd = open(path, O_PATH | O_CLOEXEC);

	return fd < 0 ? -1 : confine_agent_allow(a, fd, rights, &fault);
}

static int
look_around(void *arg)
{
	if (confine_agent_apply(arg) != 0)
		return NO_JAIL;
	if (open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0)
		return 1;
	if (open("/etc/group", O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES)
		return 2;
	if (open("/dev/null", O_WRONLY | O_CLOEXEC) < 0)
		return 3;
	if (open("/proc/self/root/etc/group", O_RDONLY | O_CLOEXEC) >= 0)
		return 4;
	if (open("/tmp/nacre-jail", O_CREAT | O_WRONLY | O_CLOEXEC, 0600) >= 0)
		return 5;
	return 0;
}

static void
a_file_gets_the_rights_of_a_file(void **state)
{
	const unsigned all = CONFINE_READ | CONFINE_EXECUTE | CONFINE_WRITE |
	    CONFINE_MAKE | CONFINE_DEVICE;
	struct confine_agent *a = confine_agent_new(&fault);

	(void)state;
	assert_non_null(a);
	assert_int_equal(allow(a, "/etc/passwd", all), 0);
	assert_int_equal(allow(a, "/dev/null", all), 0);
	assert_int_equal(in_child(look_around, a), 0);
	confine_agent_free(a);
}

/* --- the listener: here and in children, and one verdict for each call */
struct notice { /* struct seccomp_notif */
	uint64_t id;
	uint32_t pid;
	uint32_t flags;
	struct seccomp_data data;
};

/* Connect in a child and in the jail, with a broker that says EXDEV. */
static int
ask_broker(void *arg)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct notice n = { 0 };
	struct {
		uint64_t id;
		int64_t value;
		int32_t error;
		uint32_t flags;
	} answer = { .error = -EXDEV };
	int listener = -1;
	int status = 0;
	pid_t pid;

	if (confine_notify(&listener) != 0)
		return NO_JAIL;
	if (listener < 0 || fcntl(listener, F_GETFD) != FD_CLOEXEC)
		return 1;
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		if (confine_agent_apply(arg) != 0)
			_exit(NO_JAIL);
		(void)connect(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
		    (struct sockaddr *)&to, sizeof(to));
		_exit(errno);
	}
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n) != 0)
		return 2;
	if (n.data.nr != SYS_connect || n.pid != (uint32_t)pid)
		return 3;
	answer.id = n.id;
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) != 0)
		return 4;
	if (waitpid(pid, &status, 0) != pid)
		return 5;
	return WEXITSTATUS(status) == EXDEV ? 0 : 6;
}

static void
a_listener_hears_connect_in_the_jail(void **state)
{
	(void)state;
	assert_int_equal(in_child(ask_broker, jail), 0);
}

/* --- the guest's own */
static int
scoped(void *arg)
{
	with_fd root = open("/", O_PATH | O_CLOEXEC);
	char from[] = "/tmp/nacre-scope-XXXXXX";
	char to[] = "/tmp/nacre-scope-XXXXXX";
	char at[2][64];
	pid_t inside;
	int status;

	(void)arg;
	if (!mkdtemp(from) || !mkdtemp(to))
		return NO_JAIL;
	(void)snprintf(at[0], sizeof(at[0]), "%s/d", from);
	(void)snprintf(at[1], sizeof(at[1]), "%s/d", to);
	if (confine_scope(root) != 0)
		return errno == ENOSYS ? 0 : NO_JAIL;
	if (kill(getppid(), 0) != -1 || errno != EPERM)
		return 1;
	inside = fork();
	if (inside == 0)
		_exit(kill(getppid(), 0) == 0 ? 0 : 1);
	if (waitpid(inside, &status, 0) != inside || status != 0)
		return 2;
	/* Files are not its business, nor moves from folder to folder. */
	if (mkdir(at[0], 0700) != 0 || rename(at[0], at[1]) != 0)
		return 3;
	(void)rmdir(at[1]);
	(void)rmdir(from);
	(void)rmdir(to);
	return 0;
}

static void
nothing_in_a_scope_signals_outwards(void **state)
{
	(void)state;
	assert_int_equal(in_child(scoped, NULL), 0);
}

static const struct attempt sandbox_table[] = {
#include "confine/sandbox.def"
};

static int
attempt_in_sandbox(void *arg)
{
	const struct attempt *a = arg;

	if (confine_sandbox() != 0)
		return NO_JAIL;
	errno = 0;
	return syscall(a->call, 0, 0, 0, 0, 0, 0) == -1 ? errno : 0;
}

static void
the_sandbox_gives_up_its_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(sandbox_table); i++) {
		struct attempt a = sandbox_table[i];
		bool is_agents = false;

		assert_int_equal(in_child(attempt_in_sandbox, &a), a.answer);
		/* It must not be harder on agents than their own jail. */
		for (size_t k = 0; k < NELEM(table); k++)
			is_agents |= table[k].call == a.call &&
			    table[k].answer == a.answer &&
			    table[k].set[0].arg == -1;
		assert_true(is_agents);
	}
}

static int
try_supervisor(void)
{
	if (confine_supervisor() != 0)
		return NO_JAIL;
	if (open("/proc/meminfo", O_RDONLY | O_CLOEXEC) < 0)
		return 1;
	if (syscall(SYS_execve, "/bin/true", NULL, NULL) != -1 ||
	    errno != EPERM)
		return 2;
	if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) != -1 || errno != EPERM)
		return 3;
	if (syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0) != -1 ||
	    errno != EPERM)
		return 4;
	if (syscall(SYS_mount, 0, 0, 0, 0, 0) != -1 || errno != EPERM)
		return 5;
	if (syscall(SYS_ptrace, 0, 0, 0, 0) != -1 || errno != EPERM)
		return 6;
	return poll(NULL, 0, 0);
}

static int
live_as_supervisor(void *arg)
{
	(void)arg;
	/* The sanitizer's way out makes calls of its own. */
	return (int)syscall(SYS_exit_group, try_supervisor());
}

static void
the_supervisor_starts_nothing(void **state)
{
	(void)state;
	assert_int_equal(in_child(live_as_supervisor, NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_refused),
		cmocka_unit_test(what_is_newer_than_the_table_is_not_there),
		cmocka_unit_test(a_program_can_live),
		cmocka_unit_test(another_architectures_calls_kill),
		cmocka_unit_test(a_jail_without_a_path_is_refused),
		cmocka_unit_test(a_file_gets_the_rights_of_a_file),
		cmocka_unit_test(a_listener_hears_connect_in_the_jail),
		cmocka_unit_test(nothing_in_a_scope_signals_outwards),
		cmocka_unit_test(the_sandbox_gives_up_its_rows),
		cmocka_unit_test(the_supervisor_starts_nothing),
	};

	return cmocka_run_group_tests(tests, start, end);
}
