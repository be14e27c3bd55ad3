/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first boot, before the template is saved: mounts, the channel's port,
 * what this file is. It must not read anything that is drawn from the random
 * generator once (boot_id), because clones of the template would share it.
 */
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "supervisor/inner.h"

enum {
	PORTS = 8,
	DIGEST_STEP = 16384
};

int
boot_write(const char *path, const char *text, struct fault *f)
{
	with_fd fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return fault_sys(f, "cannot open '%s'", path);
	if (fd_write_all(fd, text, strlen(text), f) != 0)
		return fault_prefix(f, "%s", path);
	return 0;
}

int
boot_mounts(struct fault *f)
{
	static const struct {
		const char *type;
		const char *path;
		unsigned long flags;
	} rows[] = {
		{ "devtmpfs", "/dev", MS_NOSUID | MS_NOEXEC },
		{ "proc", "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC },
		{ "sysfs", "/sys", MS_NOSUID | MS_NODEV | MS_NOEXEC },
		{ "cgroup2", "/sys/fs/cgroup",
		    MS_NOSUID | MS_NODEV | MS_NOEXEC },
		{ "tmpfs", "/run", MS_NOSUID | MS_NODEV | MS_NOEXEC },
	};
	static const char *const folders[] = { "/low", "/up", DISKS_ROOT };

	for (size_t i = 0; i < NELEM(rows); i++)
		if (mount(rows[i].type, rows[i].path, rows[i].type,
			rows[i].flags, NULL) != 0)
			return fault_sys(f, "cannot mount '%s'", rows[i].path);
	for (size_t i = 0; i < NELEM(folders); i++)
		if (mkdir(folders[i], 0755) != 0)
			return fault_sys(f, "cannot make '%s'", folders[i]);
	if (boot_write("/sys/fs/cgroup/cgroup.subtree_control",
		"+pids +memory +cpu", f) != 0)
		return -1;
	if (mkdir("/sys/fs/cgroup/agent", 0755) != 0)
		return fault_sys(f, "cannot make the agent's cgroup");
	/* Half of what one task outside has: control answers under load. */
	if (boot_write("/sys/fs/cgroup/agent/cpu.weight", "50", f) != 0)
		return -1;
	/* Its processes live in leaves, see sandbox/leaf.c. */
	if (boot_write("/sys/fs/cgroup/agent/cgroup.subtree_control", "+memory",
		f) != 0)
		return -1;
	/* Open files count as their holder's memory; a number for all that the
	 * agent could use up would be ours to miss. */
	if (boot_write("/proc/sys/fs/file-max", "2147483647", f) != 0)
		return -1;
	/* When memory is out the agent goes, not those who hold it. */
	return boot_write("/proc/self/oom_score_adj", "-1000", f);
}

/*
 * The port opens once and its descriptor lives as long as the machine. The
 * host end shows up a moment after the open: edge-triggered epoll waits for
 * it, where poll() would spin on POLLHUP.
 */
int
boot_port(int *port, struct fault *f)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLET };
	with_fd set = epoll_create1(EPOLL_CLOEXEC);
	with_fd fd = -1;

	for (unsigned i = 0; i < PORTS && fd < 0; i++) {
		char path[] = "/dev/vport0p1";

		path[10] = (char)('0' + i);
		fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	}
	if (fd < 0)
		return fault_sys(f, "there is no channel");
	if (set < 0 || epoll_ctl(set, EPOLL_CTL_ADD, fd, &e) != 0)
		return fault_sys(f, "cannot watch the channel");
	do {
		e.events = 0;
		if (epoll_wait(set, &e, 1, -1) < 0 && errno != EINTR)
			return fault_sys(f, "cannot wait for the channel");
	} while (!(e.events & EPOLLOUT) || (e.events & EPOLLHUP));
	*port = fd_take(&fd);
	return 0;
}

int
boot_digest(char out[DIGEST_HEX], struct fault *f)
{
	uint8_t sum[DIGEST_SIZE];
	uint8_t step[DIGEST_STEP];
	struct digest d;
	with_fd fd = open("/init", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return fault_sys(f, "cannot open '/init'");
	digest_init(&d);
	while ((n = read(fd, step, sizeof(step))) > 0)
		digest_update(&d, span_of(step, (size_t)n));
	if (n < 0)
		return fault_sys(f, "cannot read '/init'");
	digest_final(&d, sum);
	hex_format(sum, sizeof(sum), out);
	return 0;
}

/* tsc-early is the same counter until the kernel has looked at it for a
 * second. */
bool
boot_is_tsc(void)
{
	struct fault f = { 0 };
	struct buf b;
	bool is;

	buf_init(&b, 64);
	is = file_read(AT_FDCWD,
		 "/sys/devices/system/clocksource/clocksource0/"
		 "current_clocksource",
		 &b, &f) == 0 &&
	    (span_is(buf_span(&b), "tsc\n") ||
		/* The same counter, under its name of the first second. */
		span_is(buf_span(&b), "tsc-early\n"));
	buf_release(&b);
	return is;
}

void
boot_set_clock(int64_t wall_ns)
{
	struct timespec t = { .tv_sec = wall_ns / 1000000000,
		.tv_nsec = wall_ns % 1000000000 };

	if (wall_ns > 0)
		(void)clock_settime(CLOCK_REALTIME, &t);
}

void
machine_end(void)
{
	(void)reboot(RB_AUTOBOOT);
	for (;;)
		(void)pause();
}
