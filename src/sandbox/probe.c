/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proof by trying. A throw-away child goes the way of every agent process up
 * to the exec, and then does, for each wall, what must work and what must
 * not. What it says crosses a pipe; a child that dies early has proved
 * nothing and fails the launch.
 */
#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/inner.h"

struct trial {
	const struct sandbox *sb;
	struct probe *p;
	bool has_limit; /* of one process */
};

static bool
say(struct trial *t, const char *what)
{
	(void)text_copy(t->p->detail, sizeof(t->p->detail), span_str(what));
	return false;
}

/* The act must fail, with this errno. */
static bool
is_refused(struct trial *t, long r, int want, const char *act)
{
	if (r >= 0)
		(void)text_fmt(t->p->detail, sizeof(t->p->detail),
		    "%s was possible", act);
	else if (errno != want)
		(void)text_fmt(t->p->detail, sizeof(t->p->detail),
		    "%s fails with errno %d, not %d", act, errno, want);
	else
		return true;
	return false;
}

static bool
is_agent(struct trial *t)
{
	const struct identity *who = &t->sb->who;
	gid_t groups[SANDBOX_GROUPS];
	uid_t u[3];
	gid_t g[3];
	int n = getgroups(SANDBOX_GROUPS, groups);

	if (getresuid(&u[0], &u[1], &u[2]) || getresgid(&g[0], &g[1], &g[2]))
		return say(t, "cannot read the ids");
	for (size_t i = 0; i < 3; i++)
		if (u[i] != who->uid || g[i] != who->gid)
			return say(t, "an id is another one");
	if (n < 0 || (size_t)n != who->groups_n)
		return say(t, "supplementary groups differ");
	(void)text_fmt(t->p->detail, sizeof(t->p->detail), "uid %u gid %u",
	    u[0], g[0]);
	return is_refused(t, syscall(SYS_setuid, 0), EPERM, "setuid(0)");
}

static bool
has_no_caps(struct trial *t)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct d[2];
	int bounding;

	if (syscall(SYS_capget, &head, d) != 0)
		return say(t, "cannot read the sets");
	for (size_t i = 0; i < 2; i++)
		if (d[i].effective || d[i].permitted || d[i].inheritable)
			return say(t, "a set is not empty");
	for (unsigned long c = 0;
	     (bounding = prctl(PR_CAPBSET_READ, c, 0, 0, 0)) >= 0; c++)
		if (bounding ||
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, c, 0, 0) == 1)
			return say(t, "the bounding set is not empty");
	(void)say(t, "five sets empty");
	return is_refused(t, sethostname("probe", 5), EPERM, "sethostname");
}

static bool
has_no_new_privs(struct trial *t)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
	    say(t, "is not set");
}

static bool
makes_no_core(struct trial *t)
{
	struct rlimit r;

	return (getrlimit(RLIMIT_CORE, &r) == 0 && r.rlim_max == 0) ||
	    say(t, "core files are allowed");
}

static bool
has_namespaces(struct trial *t)
{
	static const char *const names[] = { "/proc/self/ns/pid",
		"/proc/self/ns/mnt", "/proc/self/ns/net", "/proc/self/ns/ipc",
		"/proc/self/ns/uts" };

	for (size_t i = 0; i < NELEM(names); i++) {
		struct stat st;

		if (stat(names[i], &st) != 0)
			return say(t, "cannot look at a namespace");
		if (st.st_ino == t->sb->outside[i])
			return say(t, names[i]);
	}
	(void)say(t, "pid mnt net ipc uts are its own");
	return is_refused(t, unshare(CLONE_NEWNS), EPERM, "unshare");
}

static long
datagram_to(const char *address)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	with_fd s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (s < 0 || inet_pton(AF_INET, address, &to.sin_addr) != 1)
		return -1;
	return connect(s, (struct sockaddr *)&to, sizeof(to));
}

static long
message_to(const char *address)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	struct msghdr m = { .msg_name = &to, .msg_namelen = sizeof(to) };
	with_fd s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (s < 0 || inet_pton(AF_INET, address, &to.sin_addr) != 1)
		return -1;
	return sendmsg(s, &m, MSG_NOSIGNAL);
}

static bool
has_loopback_only(struct trial *t)
{
	char text[1024];
	with_fd fd = open("/proc/net/dev", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	unsigned devices = 0;

	if (n < 0)
		return say(t, "cannot list the devices");
	text[n] = '\0';
	for (const char *c = text; *c; c++)
		devices += *c == ':';
	if (devices != 1 || !strstr(text, "lo:"))
		return say(t, "there is a device beside lo");
	if (datagram_to("127.0.0.1") != 0)
		return say(t, "loopback does not work");
	(void)say(t, "lo alone");
	/* Not by connect, which has a verdict before there is a route. */
	return is_refused(t, message_to("192.0.2.1"), ENETUNREACH, "a way out");
}

/* A waiting call gets both of its answers. */
static bool
has_broker(struct trial *t)
{
	if (datagram_to("127.0.0.1") != 0)
		return say(t, "loopback does not go on");
	(void)say(t, "loopback goes on");
	return is_refused(t, datagram_to("192.0.2.1"), EACCES,
	    "to connect outside");
}

static bool
has_own_root(struct trial *t)
{
	struct statfs fs;
	struct stat up;
	struct stat here;
	char link[64];

	if (statfs("/", &fs) != 0 || fs.f_type != OVERLAYFS_SUPER_MAGIC)
		return say(t, "/ is not the image's union");
	if (stat("/..", &up) != 0 || stat("/", &here) != 0 ||
	    up.st_ino != here.st_ino || up.st_dev != here.st_dev)
		return say(t, "there is something above /");
	(void)say(t, "overlay, nothing above");
	return is_refused(t, mount("none", "/proc", "tmpfs", 0, NULL), EPERM,
		   "mount") &&
	    is_refused(t, chroot("/proc"), EPERM, "chroot") &&
	    is_refused(t, readlink("/proc/1/root", link, sizeof(link)), EACCES,
		"/proc/1/root");
}

static bool
is_known_node(const char *name)
{
	static const char *const known[] = { ".", "..", "null", "zero", "full",
		"random", "urandom", "tty", "ptmx", "pts", "shm", "fd", "stdin",
		"stdout", "stderr" };

	for (size_t i = 0; i < NELEM(known); i++)
		if (strcmp(name, known[i]) == 0)
			return true;
	return false;
}

static bool
has_known_devices(struct trial *t)
{
	_Alignas(8) char list[2048];
	with_fd dir = open("/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	with_fd null = open("/dev/null", O_RDWR | O_CLOEXEC);
	long n;

	if (null < 0)
		return say(t, "/dev/null does not open");
	while ((n = syscall(SYS_getdents64, dir, list, sizeof(list))) > 0)
		for (long at = 0; at < n;) {
			const struct dirent *d = (void *)(list + at);

			if (!is_known_node(d->d_name))
				return say(t, d->d_name);
			at += d->d_reclen;
		}
	if (n < 0)
		return say(t, "cannot list /dev");
	(void)say(t, "13 names");
	return is_refused(t, open("/dev/vport0p1", O_RDWR | O_CLOEXEC), ENOENT,
		   "the channel") &&
	    is_refused(t,
		mknod("/dev/shm/probe", S_IFBLK | 0600, makedev(254, 0)),
		EACCES, "mknod");
}

static bool
has_closed_proc(struct trial *t)
{
	struct statfs fs;
	with_fd fd = -1;
	char byte;

	if (access("/proc/self/status", R_OK) != 0)
		return say(t, "/proc does not work");
	if (statfs("/proc/sys", &fs) != 0 || !(fs.f_flags & ST_RDONLY))
		return say(t, "/proc/sys can be written");
	if (statfs("/sys", &fs) != 0 || !(fs.f_flags & ST_RDONLY))
		return say(t, "/sys can be written");
	fd = open("/proc/timer_list", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, &byte, 1) != 0)
		return say(t, "the kernel's timers can be read");
	(void)say(t, "/proc/sys and /sys read-only, the rest covered");
	fd_close(&fd);
	fd = open("/proc/sys/kernel/hostname", O_WRONLY | O_CLOEXEC);
	/* By its mode; or, whoever may by mode, by the mount. */
	return is_refused(t, fd, errno == EROFS ? EROFS : EACCES,
	    "a write below /proc/sys");
}

static bool
cannot_reach_runtime(struct trial *t)
{
	if (kill(getpid(), 0) != 0)
		return say(t, "cannot signal itself");
	return is_refused(t, kill(1, 0), EPERM, "a signal to the runtime") &&
	    is_refused(t, ptrace(PTRACE_ATTACH, 1, NULL, NULL), EPERM,
		"ptrace");
}

static bool
is_in_cgroup(struct trial *t)
{
	char text[64];
	with_fd fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (n < 0)
		return say(t, "cannot read it");
	text[n] = '\0';
	return strncmp(text, "0::/agent/", strlen("0::/agent/")) == 0 ||
	    say(t, "is another one");
}

static bool
is_killable(struct trial *t)
{
	char text[8] = "";
	with_fd fd = -1;
	with_fd up = -1;

	/* As after an exec; else the file is root's. Nobody runs yet. */
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
	up = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return say(t, "cannot read the score");
	if (strcmp(text, "0\n") != 0)
		return say(t, "the score is another one");
	(void)say(t, "0, never less");
	/* A policy may let it write below /proc. */
	if (up < 0)
		return is_refused(t, up, EACCES, "to write the score");
	return is_refused(t, pwrite(up, "-1000", 5, 0), EACCES,
		   "to be exempt when memory is out") &&
	    is_refused(t, pwrite(up, "-1", 2, 0), EACCES, "to be preferred");
}

/*
 * No rule lets make a device node, so Landlock refuses it first (EACCES); the
 * empty capability sets would say EPERM.
 */
static bool
is_in_landlock(struct trial *t)
{
	with_fd status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	if (status < 0)
		return say(t, "the baseline cannot be read");
	(void)text_fmt(t->p->detail, sizeof(t->p->detail), "ABI %d",
	    confine_agent_abi(t->sb->jail));
	return is_refused(t,
	    mknod("/dev/shm/probe", S_IFCHR | 0600, makedev(1, 3)), EACCES,
	    "a device node");
}

/* The kernel itself would say something else to each of these. */
static bool
is_filtered(struct trial *t)
{
	with_fd local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (local < 0)
		return say(t, "no local socket");
	(void)say(t, "memfd_create, clone3, io_uring_setup");
	return is_refused(t, syscall(SYS_memfd_create, "probe", 0), EPERM,
		   "memfd_create") &&
	    is_refused(t, syscall(SYS_clone3, NULL, 0), ENOSYS, "clone3") &&
	    is_refused(t, syscall(SYS_io_uring_setup, 1, NULL), EPERM,
		"io_uring_setup");
}

/* It is alone in the cgroup, which has room for one meanwhile. */
static bool
cannot_multiply(struct trial *t)
{
	pid_t pid = t->has_limit ? fork() : -1;

	if (pid == 0)
		_exit(0);
	if (!t->has_limit)
		return true; /* no cgroup: `cgroup` has failed */
	(void)say(t, "one of one");
	return is_refused(t, pid, EAGAIN, "one process too many");
}

/* clang-format off */
static const struct {
	const char *name;
	bool (*holds)(struct trial *t);
} trials[] = {
	{ "identity",      is_agent },
	{ "capabilities",  has_no_caps },
	{ "no_new_privs",  has_no_new_privs },
	{ "no_core",       makes_no_core },
	{ "namespaces",    has_namespaces },
	{ "network",       has_loopback_only },
	{ "broker",        has_broker },
	{ "root",          has_own_root },
	{ "devices",       has_known_devices },
	{ "proc",          has_closed_proc },
	{ "runtime",       cannot_reach_runtime },
	{ "cgroup",        is_in_cgroup },
	{ "pids",          cannot_multiply },
	{ "out_of_memory", is_killable },
	{ "landlock",      is_in_landlock },
	{ "seccomp",       is_filtered },
};
/* clang-format on */

static _Noreturn void
try_all(const struct sandbox *sb, const struct child_plan *plan)
{
	int32_t stage;
	int error;
	struct probe p = { .name = "launch" };
	struct trial t = { .sb = sb, .p = &p, .has_limit = sb->cgroup >= 0 };

	error = child_confine(plan, &stage);
	if (error != 0) {
		(void)text_fmt(p.detail, sizeof(p.detail),
		    "step %d fails with errno %d", (int)stage, -error);
		(void)!write(plan->report, &p, sizeof(p));
		_exit(1);
	}
	for (size_t i = 0; i < NELEM(trials); i++) {
		memset(&p, 0, sizeof(p));
		(void)text_copy(p.name, sizeof(p.name),
		    span_str(trials[i].name));
		p.passed = trials[i].holds(&t);
		if (write(plan->report, &p, sizeof(p)) != sizeof(p))
			_exit(1);
	}
	_exit(0);
}

static int
start_child(struct sandbox *sb, struct child_plan *plan, struct fault *f)
{
	struct leaf *leaf;
	pid_t pid;

	if (leaf_take(sb, &leaf, f) != 0)
		return -1;
	pid = confine_clone(0, leaf_fd(leaf), NULL);
	if (pid == 0)
		try_all(sb, plan);
	leaf_give(leaf);
	return pid < 0 ? fault_sys(f, "cannot fork for the probes") : 0;
}

/* The child's calls wait for this very process: until the child has said
 * something, or ended. */
static void
answer_meanwhile(struct sandbox *sb, int said)
{
	struct pollfd p[2] = { { .fd = said, .events = POLLIN },
		{ .fd = sb->broker.listener, .events = POLLIN } };

	while (p[0].revents == 0) {
		(void)poll(p, NELEM(p), -1);
		broker_turn(&sb->broker);
	}
}

int
probe_run(struct sandbox *sb, struct probe *out, size_t *n, struct fault *f)
{
	struct child_plan plan = { .who = sb->who,
		.jail = sb->jail,
		.workdir = "/" };
	with_fd null = open("/dev/null", O_RDWR | O_CLOEXEC);
	with_fd ours = -1;
	with_fd theirs = -1;
	int ends[2];

	*n = 0;
	if (null < 0 || pipe2(ends, O_CLOEXEC) != 0)
		return fault_sys(f, "cannot prepare the probes");
	ours = ends[0];
	theirs = ends[1];
	for (int i = 0; i < 3; i++)
		plan.stdio[i] = null;
	plan.report = theirs;
	if (start_child(sb, &plan, f) != 0)
		return -1;
	fd_close(&theirs);
	/* SIGCHLD reaps it. */
	while (*n < NELEM(trials)) {
		answer_meanwhile(sb, ours);
		if (fd_read_all(ours, &out[*n], sizeof(out[*n]), f) != 0)
			return fault_prefix(f, "after %zu probes", *n);
		(*n)++;
	}
	return 0;
}
