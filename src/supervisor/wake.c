/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wake frames (wire/PROTOCOL.md): where the template is saved and where a
 * clone waits. Before LAUNCH there is no secret in this process; after it the
 * process is another one, with its own address layout, stack guard and random
 * state, and only the port's descriptor is the same.
 */
#include <linux/random.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/inner.h"

enum stage {
	STAGE_SEED = 100,
	STAGE_REHEARSE = 101,
	STAGE_FLUSH = 102,
	STAGE_EXEC = 103,
};
enum {
	HOST_AWAY_MS = 2000 /* a restore may reconnect the host's end */
};

/* Blocking read of one frame; a host end that stays away is the end. */
static int
read_frame(int port, uint8_t frame[WIRE_WAKE_SIZE], struct fault *f)
{
	size_t n = 0;

	while (n < WIRE_WAKE_SIZE) {
		struct pollfd p = { .fd = port, .events = POLLIN };
		ssize_t k = read(port, frame + n, WIRE_WAKE_SIZE - n);

		if (k > 0) {
			n += (size_t)k;
			continue;
		}
		if (k < 0 && errno != EAGAIN && errno != EINTR)
			return fault_sys(f, "cannot read the channel");
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return fault_sys(f, "cannot wait for the channel");
		if (!(p.revents & POLLHUP) || (p.revents & POLLIN))
			continue;
		/* Bound the wait for the host by a descriptor-less poll. */
		p.fd = -1;
		(void)poll(&p, 1, HOST_AWAY_MS);
		p.fd = port;
		if (poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) &&
		    !(p.revents & POLLIN))
			return fault_set(f, FAULT_LOST, "the host is gone");
	}
	return 0;
}

static int
write_frame(int port, const struct wire_woke *w, struct fault *f)
{
	uint8_t frame[WIRE_WOKE_SIZE];
	size_t n = 0;

	wire_woke_encode(w, frame);
	while (n < sizeof(frame)) {
		struct pollfd p = { .fd = port, .events = POLLOUT };
		ssize_t k = write(port, frame + n, sizeof(frame) - n);

		if (k > 0) {
			n += (size_t)k;
			continue;
		}
		if (k < 0 && errno != EAGAIN && errno != EINTR)
			return fault_sys(f, "cannot write to the channel");
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return fault_sys(f, "cannot wait for the channel");
	}
	return 0;
}

/*
 * RNDADDENTROPY alone leaves the generator's key as the template had it, so
 * that clones draw equal bytes; RNDRESEEDCRNG takes the seed in at once.
 */
static int
reseed(const uint8_t seed[WIRE_SEED], struct fault *f)
{
	/* struct rand_pool_info: bits, bytes, then the bytes. */
	int entropy[2 + WIRE_SEED / sizeof(int)] = { 8 * WIRE_SEED, WIRE_SEED };
	with_fd fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);
	int r;

	if (fd < 0)
		return fault_sys(f, "cannot open '/dev/urandom'");
	memcpy(&entropy[2], seed, WIRE_SEED);
	r = ioctl(fd, RNDADDENTROPY, entropy);
	secret_wipe(entropy, sizeof(entropy));
	if (r != 0 || ioctl(fd, RNDRESEEDCRNG) != 0)
		return fault_sys(f, "cannot reseed");
	return 0;
}

/* In a process and a mount namespace of its own; nothing of it stays. */
static int
rehearse(struct fault *f)
{
	static char name[] = "/init";
	static char role[] = "rehearse";
	static char *const argv[] = { name, role, NULL };
	static char *const env[] = { NULL };
	int status = 0;
	pid_t pid = fork();
	pid_t got;

	if (pid < 0)
		return fault_sys(f, "cannot fork");
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) != 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
			_exit(1);
		(void)execve("/init", argv, env);
		_exit(2);
	}
	do
		got = waitpid(-1, &status, 0);
	while (got != pid && (got > 0 || errno == EINTR));
	if (got != pid)
		return fault_sys(f, "cannot wait for the rehearsal");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return fault_set(f, FAULT_START_FAILED,
		    "the rehearsal ended with status %d", status);
	return 0;
}

static int
launch(const struct boot *b, int64_t at_us, struct fault *f)
{
	static char name[] = "/init";
	static char role[] = "launch";
	static char *const env[] = { NULL };
	char port[16];
	char at[32];
	char digest[DIGEST_HEX];
	char *argv[] = { name, role, port, at, digest, NULL };

	if (fd_cloexec(b->port, false, f) != 0 ||
	    !text_fmt(port, sizeof(port), "%d", b->port) ||
	    !text_fmt(at, sizeof(at), "%lld", (long long)at_us) ||
	    !text_copy(digest, sizeof(digest), span_str(b->digest)))
		return -1;
	(void)execve("/init", argv, env);
	return fault_sys(f, "cannot execute '/init'");
}

static uint32_t
serve(const struct boot *b, const struct wire_wake *w, int64_t at_us,
    struct fault *f)
{
	if (reseed(w->seed, f) != 0)
		return STAGE_SEED;
	boot_set_clock(w->time_ns);
	if (w->op == WIRE_WAKE_LAUNCH && launch(b, at_us, f) != 0)
		return STAGE_EXEC;
	if (rehearse(f) != 0)
		return STAGE_REHEARSE;
	if (disks_flush(f) != 0)
		return STAGE_FLUSH;
	return 0;
}

int
wake_wait(const struct boot *b, struct fault *f)
{
	struct wire_woke woke = { .op = WIRE_WOKE_READY, .tsc = b->tsc };

	for (;;) {
		uint8_t frame[WIRE_WAKE_SIZE];
		struct wire_wake wake;
		struct fault why = { 0 };
		int64_t at_us;

		if (write_frame(b->port, &woke, f) != 0 ||
		    read_frame(b->port, frame, f) != 0)
			return -1;
		at_us = clock_mono_us();
		if (wire_wake_decode(frame, &wake, f) != 0)
			return -1;
		secret_wipe(frame, sizeof(frame));
		woke.stage = serve(b, &wake, at_us, &why);
		secret_wipe(&wake, sizeof(wake));
		woke.op = woke.stage ? WIRE_WOKE_FAILED : WIRE_WOKE_PARKED;
		woke.value = (uint32_t)(why.sys ? why.sys : 0);
		if (woke.stage)
			log_warn(&why, "wake frame failed at %u", woke.stage);
	}
}
