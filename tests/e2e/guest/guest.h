/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guests for the machine's tests: PID 1 that speaks wake frames as the
 * supervisor does, and after LAUNCH answers lines:
 *
 *   echo TEXT     the text
 *   facts         random bytes, boot_id, stack, clock, clock source
 *   time          the clock, ns
 *   up N SIZE     sends N writes of SIZE bytes, then a line
 *   down N        takes N bytes, then answers their sum
 *   drain N       takes N bytes without looking at them
 *   write TEXT    32 bytes to /dev/vdb and back
 *   look          32 bytes of both disks
 *   shout N       N bytes to the console
 *   end           reboot
 */
#ifndef TESTS_E2E_GUEST_H
#define TESTS_E2E_GUEST_H

#include <linux/random.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "wire/wire.h"

#ifndef GUEST_HAS_TSC
# define GUEST_HAS_TSC true
#endif

static int port = -1;

/* How this guest moves bytes once it is launched: raw.c, h2.c. */
static void put(const void *p, size_t n);
static size_t get(void *p, size_t n);
/* Lines of this guest alone; false when it is not one. */
static bool obey_more(const char *line);
static _Noreturn void launched(void);

static _Noreturn void
end(const char *why)
{
	(void)fprintf(stderr, "guest: %s: %s\n", why, strerror(errno));
	sync();
	(void)reboot(RB_AUTOBOOT);
	for (;;)
		(void)pause();
}

/* The port is non-blocking, as the supervisor's is. */
static void
port_put(const void *p, size_t n)
{
	const uint8_t *at = p;

	while (n > 0) {
		struct pollfd wait = { .fd = port, .events = POLLOUT };
		ssize_t k = write(port, at, n);

		if (k > 0) {
			at += k;
			n -= (size_t)k;
		} else if (errno != EAGAIN && errno != EINTR) {
			end("write");
		} else {
			(void)poll(&wait, 1, -1);
		}
	}
}

static size_t
port_get(void *p, size_t n)
{
	for (;;) {
		struct pollfd wait = { .fd = port, .events = POLLIN };
		ssize_t k = read(port, p, n);

		if (k > 0)
			return (size_t)k;
		if (k < 0 && errno != EAGAIN && errno != EINTR)
			end("read");
		(void)poll(&wait, 1, -1);
	}
}

static void
say(const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put(text, (size_t)n);
}

static size_t
file(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	if (fd >= 0)
		(void)close(fd);
	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static void
boot(void)
{
	(void)mount("dev", "/dev", "devtmpfs", 0, NULL);
	(void)mount("proc", "/proc", "proc", 0, NULL);
	(void)mount("sys", "/sys", "sysfs", 0, NULL);
	for (int i = 0; i < 8 && port < 0; i++) {
		char path[] = "/dev/vport0p1";

		path[10] = (char)('0' + i);
		port = open(path, O_RDWR | O_NONBLOCK);
	}
	if (port < 0)
		end("port");
}

static void
woke(enum wire_woke_op op)
{
	struct wire_woke w = { .op = op };
	uint8_t frame[WIRE_WOKE_SIZE];
	char clock[32];

	(void)file("/sys/devices/system/clocksource/clocksource0/"
		   "current_clocksource",
	    clock, sizeof(clock));
	w.tsc = GUEST_HAS_TSC &&
	    (strcmp(clock, "tsc") == 0 || strcmp(clock, "tsc-early") == 0);
	wire_woke_encode(&w, frame);
	port_put(frame, sizeof(frame));
}

static void
rehearse(void)
{
	static const char *const folders[] = { "/m", "/n" };
	int status = 0;
	pid_t pid;

	for (int i = 0; i < 2; i++)
		(void)mkdir(folders[i], 0755);
	if (mount("/dev/vda", "/m", "squashfs", MS_RDONLY, NULL) != 0)
		end("mount image");
	if (mount("/dev/vdb", "/n", "ext4", 0, NULL) != 0)
		end("mount disk");
	pid = fork();
	if (pid == 0) {
		(void)execl("/m/true", "true", NULL);
		_exit(1);
	}
	(void)waitpid(pid, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		end("true");
	if (umount("/n") != 0 || umount("/m") != 0)
		end("umount");
}

static void
wake_once(struct wire_wake *w)
{
	uint8_t frame[WIRE_WAKE_SIZE];
	struct fault f = { 0 };
	struct {
		int bits;
		int bytes;
		uint8_t seed[WIRE_SEED];
	} e = { 8 * WIRE_SEED, WIRE_SEED, { 0 } };
	struct timespec t;
	int fd;

	for (size_t n = 0; n < sizeof(frame);)
		n += port_get(frame + n, sizeof(frame) - n);
	if (wire_wake_decode(frame, w, &f) != 0)
		end(f.text);
	memcpy(e.seed, w->seed, sizeof(e.seed));
	fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);
	if (ioctl(fd, RNDADDENTROPY, &e) != 0 || ioctl(fd, RNDRESEEDCRNG) != 0)
		end("reseed");
	(void)close(fd);
	t.tv_sec = w->time_ns / 1000000000;
	t.tv_nsec = w->time_ns % 1000000000;
	if (clock_settime(CLOCK_REALTIME, &t) != 0)
		end("clock");
}

static void
launch(void)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%d", port);
	(void)execl("/init", "/init", "launch", number, NULL);
	end("exec");
}

static long long
now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void
facts(void)
{
	unsigned char r[32];
	char hex[65];
	char boot_id[64];
	char source[32];

	if (getentropy(r, sizeof(r)) != 0)
		end("entropy");
	for (int i = 0; i < 32; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", r[i]);
	(void)file("/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id));
	(void)file("/sys/devices/system/clocksource/clocksource0/"
		   "current_clocksource",
	    source, sizeof(source));
	say("random=%s boot_id=%s stack=%p map=%p clock=%s time=%lld\n", hex,
	    boot_id, (void *)hex,
	    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	    source, now());
}

static void
up(unsigned long n, unsigned long size)
{
	static uint8_t bytes[1 << 16];

	memset(bytes, 'u', sizeof(bytes));
	if (size > sizeof(bytes))
		size = sizeof(bytes);
	for (unsigned long i = 0; i < n; i++)
		put(bytes, size);
	say("sent %lu\n", n * size);
}

static void
down(unsigned long n)
{
	static uint8_t bytes[1 << 16];
	unsigned long sum = 0;

	while (n > 0) {
		size_t k = get(bytes, n < sizeof(bytes) ? n : sizeof(bytes));

		for (size_t i = 0; i < k; i++)
			sum += bytes[i];
		n -= k;
	}
	say("sum %lu\n", sum);
}

static void
drain(unsigned long n)
{
	static uint8_t bytes[1 << 16];

	while (n > 0)
		n -= get(bytes, n < sizeof(bytes) ? n : sizeof(bytes));
	say("drained\n");
}

static void
disk_write(const char *text)
{
	char back[64] = "";
	int fd = open("/dev/vdb", O_RDWR | O_CLOEXEC);

	if (fd < 0 || pwrite(fd, text, 32, 512) != 32 || fsync(fd) != 0)
		say("write failed: %s\n", strerror(errno));
	else if (pread(fd, back, 32, 512) != 32)
		say("read failed: %s\n", strerror(errno));
	else
		say("wrote %.32s\n", back);
	if (fd >= 0)
		(void)close(fd);
}

static void
look(void)
{
	char a[33] = "";
	char b[33] = "";
	int fd = open("/dev/vda", O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && pread(fd, a, 32, 0) != 32)
		(void)snprintf(a, sizeof(a), "error %d", errno);
	(void)close(fd);
	fd = open("/dev/vdb", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && pread(fd, b, 32, 512) != 32)
		(void)snprintf(b, sizeof(b), "error %d", errno);
	(void)close(fd);
	say("vda=%s vdb=%s\n", a, b);
}

static void
shout(unsigned long n)
{
	int fd = open("/dev/console", O_WRONLY | O_CLOEXEC);

	for (unsigned long i = 0; i < n; i += 64)
		if (write(fd,
			"\033[1mshout-shout-shout-shout-shout-shout-shout-"
			"shout-shout-shout\r\n",
			64) != 64)
			break;
	(void)close(fd);
	say("shouted\n");
}

static void
obey(const char *line)
{
	char text[128];
	unsigned long a = 0;
	unsigned long b = 0;

	if (sscanf(line, "echo %127s", text) == 1)
		say("%s\n", text);
	else if (strcmp(line, "facts") == 0)
		facts();
	else if (strcmp(line, "time") == 0)
		say("%lld\n", now());
	else if (sscanf(line, "up %lu %lu", &a, &b) == 2)
		up(a, b);
	else if (sscanf(line, "down %lu", &a) == 1)
		down(a);
	else if (sscanf(line, "drain %lu", &a) == 1)
		drain(a);
	else if (sscanf(line, "write %127s", text) == 1)
		disk_write(text);
	else if (strcmp(line, "look") == 0)
		look();
	else if (sscanf(line, "shout %lu", &a) == 1)
		shout(a);
	else if (strcmp(line, "end") == 0)
		end("asked to");
	else if (!obey_more(line))
		say("what?\n");
}

static _Noreturn void
obey_lines(void)
{
	char line[256];
	size_t n = 0;

	for (;;) {
		char c;

		(void)get(&c, 1);
		if (c != '\n' && n + 1 < sizeof(line)) {
			line[n++] = c;
			continue;
		}
		line[n] = '\0';
		n = 0;
		obey(line);
	}
}

int
main(int argc, char **argv)
{
	struct wire_wake w;

	if (strcmp(argv[0], "true") == 0)
		return 0;
	if (argc == 3 && strcmp(argv[1], "launch") == 0) {
		(void)sscanf(argv[2], "%d", &port);
		launched();
	}
	boot();
	woke(WIRE_WOKE_READY);
	for (;;) {
		wake_once(&w);
		if (w.op == WIRE_WAKE_LAUNCH)
			launch();
		rehearse();
		woke(WIRE_WOKE_PARKED);
	}
}
#endif
