/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attempts and how they end; those on files and those at the runtime. Included
 * by jail.c alone.
 */
#ifndef TESTS_E2E_JAIL_H
#define TESTS_E2E_JAIL_H

#include <linux/capability.h>
#include <linux/random.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NELEM(a) (sizeof(a) / sizeof((a)[0]))

static const char *
errno_name(int error)
{
	static const struct {
		int error;
		const char *name;
	} names[] = {
#define E(name) { name, #name }
		E(EPERM),
		E(ENOENT),
		E(ESRCH),
		E(EINTR),
		E(EIO),
		E(ENXIO),
		E(E2BIG),
		E(ENOEXEC),
		E(EBADF),
		E(ECHILD),
		E(EAGAIN),
		E(ENOMEM),
		E(EACCES),
		E(EFAULT),
		E(ENOTBLK),
		E(EBUSY),
		E(EEXIST),
		E(EXDEV),
		E(ENODEV),
		E(ENOTDIR),
		E(EISDIR),
		E(EINVAL),
		E(EMFILE),
		E(ENOTTY),
		E(ETXTBSY),
		E(ENOSPC),
		E(EROFS),
		E(EMLINK),
		E(ENOSYS),
		E(ELOOP),
		E(ENOTSOCK),
		E(EPROTOTYPE),
		E(EPROTONOSUPPORT),
		E(ESOCKTNOSUPPORT),
		E(EOPNOTSUPP),
		E(EAFNOSUPPORT),
		E(ECONNREFUSED),
#undef E
	};
	static char other[24];

	for (size_t i = 0; i < NELEM(names); i++)
		if (names[i].error == error)
			return names[i].name;
	(void)snprintf(other, sizeof(other), "errno %d", error);
	return other;
}

/* One attempt in a child; "done" when it is not refused. */
static void
show(const char *section, const char *what, long (*act)(const void *arg),
    const void *arg)
{
	int ends[2] = { -1, -1 };
	int error = -1;
	int status = 0;
	pid_t pid;

	if (pipe(ends) != 0)
		exit(3);
	pid = fork();
	if (pid == 0) {
		(void)close(ends[0]);
		errno = 0;
		error = act(arg) < 0 ? errno : 0;
		(void)!write(ends[1], &error, sizeof(error));
		_exit(0);
	}
	(void)close(ends[1]);
	if (read(ends[0], &error, sizeof(error)) != sizeof(error))
		error = -1;
	(void)close(ends[0]);
	(void)waitpid(pid, &status, 0);
	if (error >= 0)
		printf("%s: %s: %s\n", section, what,
		    error ? errno_name(error) : "done");
	else if (WIFSIGNALED(status))
		printf("%s: %s: killed %d\n", section, what, WTERMSIG(status));
	else
		printf("%s: %s: ended %d\n", section, what,
		    WEXITSTATUS(status));
}

/* --- files: a folder holds f, gone, m, x (files), d, gd (folders), p (a
 * program); whoever it is may do anything with them by mode. */
static char path_text[2][256];

static const char *
in(const char *folder, const char *name)
{
	static unsigned turn;
	char *p = path_text[turn++ % 2];

	(void)snprintf(p, sizeof(path_text[0]), "%s/%s", folder, name);
	return p;
}

static long
read_file(const void *d)
{
	return open(in(d, "f"), O_RDONLY);
}
static long
read_dir(const void *d)
{
	return open(in(d, "d"), O_RDONLY | O_DIRECTORY);
}
static long
write_file(const void *d)
{
	return open(in(d, "f"), O_WRONLY);
}
static long
truncate_file(const void *d)
{
	return truncate(in(d, "f"), 0);
}
static long
execute(const void *d)
{
	char name[] = "true";
	char *argv[] = { name, NULL };
	char *env[] = { NULL };
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		(void)execve(in(d, "p"), argv, env);
		_exit(errno);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	errno = WEXITSTATUS(status);
	return errno == 0 ? 0 : -1;
}
static long
make_file(const void *d)
{
	return open(in(d, "new"), O_WRONLY | O_CREAT | O_EXCL, 0600);
}
static long
make_dir(const void *d)
{
	return mkdir(in(d, "newd"), 0700);
}
static long
make_fifo(const void *d)
{
	return mkfifo(in(d, "fifo"), 0600);
}
static long
make_link(const void *d)
{
	return symlink("f", in(d, "sym"));
}
static long
make_socket(const void *d)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s/sock",
	    (const char *)d);
	return bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&to,
	    sizeof(to));
}
static long
make_char(const void *d)
{
	return mknod(in(d, "chr"), S_IFCHR | 0600, makedev(1, 3));
}
static long
make_block(const void *d)
{
	return mknod(in(d, "blk"), S_IFBLK | 0600, makedev(254, 0));
}
static long
remove_file(const void *d)
{
	return unlink(in(d, "gone"));
}
static long
remove_dir(const void *d)
{
	return rmdir(in(d, "gd"));
}
static long
refer(const void *d)
{
	return rename(in(d, "x"), in(d, "d/x"));
}
static long
link_to_work(const void *d)
{
	return link(in(d, "f"), in("/work/linked", strrchr(d, '/')));
}
static long
move_to_work(const void *d)
{
	return rename(in(d, "m"), in("/work/moved", strrchr(d, '/')));
}

static void
show_files(const char *folder)
{
	static const struct {
		const char *name;
		long (*act)(const void *d);
	} rows[] = { { "read_file", read_file }, { "read_dir", read_dir },
		{ "write_file", write_file }, { "truncate", truncate_file },
		{ "execute", execute }, { "make_file", make_file },
		{ "make_dir", make_dir }, { "make_fifo", make_fifo },
		{ "make_sym", make_link }, { "make_sock", make_socket },
		{ "make_char", make_char }, { "make_block", make_block },
		{ "remove_file", remove_file }, { "remove_dir", remove_dir },
		{ "refer", refer }, { "link to /work", link_to_work },
		{ "move to /work", move_to_work } };
	char what[128];

	for (size_t i = 0; i < NELEM(rows); i++) {
		(void)snprintf(what, sizeof(what), "%s %s", folder,
		    rows[i].name);
		show("file", what, rows[i].act, folder);
	}
}

/* --- escapes */
static long
open_to_read(const void *path)
{
	return open(path, O_RDONLY | O_NONBLOCK);
}
static long
open_to_write(const void *path)
{
	return open(path, O_WRONLY | O_NONBLOCK);
}
static long
by_cwd(const void *arg)
{
	(void)arg;
	return chdir("/open") == 0 ? open("f", O_RDONLY) : -1;
}
static long
by_descriptor(const void *arg)
{
	(void)arg;
	return openat(open("/", O_PATH), "open/f", O_RDONLY);
}
static long
by_magic_link(const void *arg)
{
	char link[40];

	(void)arg;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d",
	    open("/open/f", O_PATH));
	return open(link, O_RDONLY);
}
static long
by_symlink(const void *arg)
{
	(void)arg;
	return symlink("/open/f", "/work/out") == 0
	    ? open("/work/out", O_RDONLY)
	    : -1;
}
static long
by_bind_mount(const void *arg)
{
	(void)arg;
	return mount("/open", "/work/d", NULL, MS_BIND, NULL);
}
static long
type_into_terminal(const void *arg)
{
	int unlock = 0;
	int pty = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	char c = 'x';
	int peer;

	(void)arg;
	if (pty < 0 || ioctl(pty, TIOCSPTLCK, &unlock) != 0)
		return 0;
	peer = ioctl(pty, TIOCGPTPEER, O_RDWR);
	if (peer < 0)
		return 0;
	(void)setsid();
	(void)ioctl(peer, TIOCSCTTY, 0);
	return ioctl(peer, TIOCSTI, &c);
}
static long
stop_runtime(const void *arg)
{
	(void)arg;
	return kill(1, SIGSTOP);
}
static long
kill_all(const void *arg)
{
	(void)arg;
	return kill(-1, SIGKILL);
}
static long
trace_runtime(const void *arg)
{
	(void)arg;
	return ptrace(PTRACE_SEIZE, 1, NULL, NULL);
}
static long
read_runtime(const void *arg)
{
	char byte;
	struct iovec to = { &byte, 1 };
	struct iovec from = { (void *)(uintptr_t)0x400000, 1 };

	(void)arg;
	return process_vm_readv(1, &to, 1, &from, 1, 0);
}
/* The file belongs to root and has the bit. */
static long
set_user_id(const void *arg)
{
	char name[] = "suid";
	char whoami[] = "whoami";
	char *argv[] = { name, whoami, NULL };
	int status;
	pid_t pid = fork();

	(void)arg;
	if (pid == 0) {
		(void)execv("/work/suid", argv);
		_exit(1);
	}
	(void)waitpid(pid, &status, 0);
	errno = WEXITSTATUS(status) == 77 ? EPERM : EIO;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}
static long
dump_core(const void *arg)
{
	const struct rlimit any = { RLIM_INFINITY, RLIM_INFINITY };

	(void)arg;
	return setrlimit(RLIMIT_CORE, &any);
}
static long
read_only_device(const void *arg)
{
	int bits;

	(void)arg;
	return ioctl(open("/dev/urandom", O_RDONLY), (int)RNDGETENTCNT, &bits);
}
static long
raise_priority(const void *arg)
{
	(void)arg;
	return setpriority(PRIO_PROCESS, 0, -1);
}

static void
show_escapes(void)
{
	static const char *const to_read[] = { "/", "/open", "/open/f",
		"/proc/../open/f", "/proc/self/root/open/f",
		"/proc/thread-self/root/open/f", "/proc/1/root",
		"/proc/1/root/open/f", "/proc/1/cwd", "/proc/1/exe",
		"/proc/1/fd", "/proc/1/fdinfo", "/proc/1/environ",
		"/proc/1/maps", "/proc/1/mem", "/proc/1/ns/mnt",
		"/proc/1/task/1/root", "/proc/1/syscall", "/proc/1/stack",
		"/proc/timer_list", "/proc/kmsg", "/proc/kcore", "/proc/keys",
		"/proc/vmallocinfo", "/sys", "/sys/kernel", "/sys/firmware",
		"/sys/fs/cgroup", "/dev/vda", "/dev/vdb", "/dev/vport0p1",
		"/dev/mem", "/dev/kmsg", "/dev/console", "/dev/ttyS0", "/low",
		"/up", "/new", "/init", "/sandbox" };
	static const char *const to_write[] = { "/etc/passwd", "/etc/open",
		"/proc/sys/kernel/hostname", "/proc/sys/kernel/core_pattern",
		"/proc/sys/vm/drop_caches", "/proc/sysrq-trigger",
		"/proc/self/oom_score_adj", "/proc/self/uid_map",
		"/proc/self/attr/exec", "/proc/self/mem",
		"/sys/kernel/uevent_helper", "/sys/power/state" };
	static const struct {
		const char *name;
		long (*act)(const void *arg);
	} acts[] = { { "the folder as working folder", by_cwd },
		{ "a descriptor of /", by_descriptor },
		{ "a magic link", by_magic_link },
		{ "a symbolic link", by_symlink },
		{ "a bind mount", by_bind_mount },
		{ "TIOCSTI", type_into_terminal },
		{ "SIGSTOP to the runtime", stop_runtime },
		{ "kill -1", kill_all }, { "trace the runtime", trace_runtime },
		{ "read the runtime's memory", read_runtime },
		{ "a set-user-id program", set_user_id },
		{ "core files", dump_core },
		{ "ioctl of a read-only device", read_only_device },
		{ "a higher priority", raise_priority } };
	char what[128];

	for (size_t i = 0; i < NELEM(to_read); i++) {
		(void)snprintf(what, sizeof(what), "read %s", to_read[i]);
		show("escape", what, open_to_read, to_read[i]);
	}
	for (size_t i = 0; i < NELEM(to_write); i++) {
		(void)snprintf(what, sizeof(what), "write %s", to_write[i]);
		show("escape", what, open_to_write, to_write[i]);
	}
	for (size_t i = 0; i < NELEM(acts); i++)
		show("escape", acts[i].name, acts[i].act, NULL);
}

#endif
