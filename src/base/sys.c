/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors, clocks, random bytes, files; base/sys.h has the contracts. */
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

enum {
	FD_PASS_MAX = 8,
	OPEN_TRIES = 128
};

void
fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	errno = saved;
}

void
fd_cleanup(int *fd)
{
	fd_close(fd);
}

int
fd_open_under(int dir, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = { .flags = (unsigned)flags | O_CLOEXEC,
		.resolve = resolve };
	long fd = -1;

	for (int i = 0; i < OPEN_TRIES; i++) {
		fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return (int)fd;
}

int
fd_take(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

int
fd_nonblock(int fd, struct fault *f)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return fault_sys(f, "cannot make descriptor %d non-blocking",
		    fd);
	return 0;
}

int
fd_cloexec(int fd, bool on, struct fault *f)
{
	if (fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0) < 0)
		return fault_sys(f, "cannot set close-on-exec of %d", fd);
	return 0;
}

int
fd_read_all(int fd, void *p, size_t n, struct fault *f)
{
	uint8_t *at = p;

	while (n > 0) {
		ssize_t k = read(fd, at, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return fault_sys(f, "cannot read");
		if (k == 0)
			return fault_set(f, FAULT_LOST, "input ends early");
		at += k;
		n -= (size_t)k;
	}
	return 0;
}

int
fd_write_all(int fd, const void *p, size_t n, struct fault *f)
{
	const uint8_t *at = p;

	while (n > 0) {
		ssize_t k = write(fd, at, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return fault_sys(f, "cannot write");
		at += k;
		n -= (size_t)k;
	}
	return 0;
}

int
fd_send(int sock, const void *p, size_t n, const int *fds, size_t nfds,
    struct fault *f)
{
	_Alignas(
	    struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
	struct iovec iov = { .iov_len = n };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t k;

	BUG_IF(n == 0 || nfds > FD_PASS_MAX);
	/* sendmsg() only reads, though iov_base is not const. */
	memcpy(&iov.iov_base, &p, sizeof(p));
	if (nfds > 0) {
		struct cmsghdr *head;

		memset(control, 0, sizeof(control));
		msg.msg_control = control;
		msg.msg_controllen = (socklen_t)CMSG_SPACE(sizeof(int) * nfds);
		head = CMSG_FIRSTHDR(&msg);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = (socklen_t)CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(head), fds, sizeof(int) * nfds);
	}
	do
		k = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (k < 0 && errno == EINTR);
	if (k < 0)
		return fault_sys(f, "cannot send descriptors");
	if ((size_t)k < n)
		return fd_write_all(sock, (const uint8_t *)p + k, n - (size_t)k,
		    f);
	return 0;
}

/* musl's CMSG_NXTHDR subtracts in signed arithmetic, by its own macros. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
static struct cmsghdr *
next_header(struct msghdr *msg, struct cmsghdr *c)
{
	return CMSG_NXTHDR(msg, c);
}
#pragma GCC diagnostic pop

int /* NOLINTNEXTLINE(readability-function-size): it is recvmsg() */
fd_receive(int sock, void *p, size_t size, size_t *got, int *fds, size_t *nfds,
    struct fault *f)
{
	_Alignas(
	    struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
	struct iovec iov = { .iov_base = p, .iov_len = size };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	size_t room = *nfds;
	ssize_t k;

	*nfds = 0;
	do
		k = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (k < 0 && errno == EINTR);
	if (k < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return fault_set(f, FAULT_BUSY, "nothing to receive");
	if (k < 0)
		return fault_sys(f, "cannot receive descriptors");
	*got = (size_t)k;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c;
	     c = next_header(&msg, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (*nfds < room)
				fds[(*nfds)++] = fd;
			else
				(void)close(fd);
		}
	}
	return 0;
}

void
fd_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		(void)close(fd);
	for (fd = 0; fd <= STDERR_FILENO; fd++)
		(void)fcntl(fd, F_SETFD, 0);
}

static int64_t
clock_ns(clockid_t id)
{
	struct timespec t;

	BUG_IF(clock_gettime(id, &t) != 0);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t
clock_wall_ms(void)
{
	return clock_ns(CLOCK_REALTIME) / 1000000;
}

int64_t
clock_wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

int64_t
clock_mono_ms(void)
{
	return clock_ns(CLOCK_BOOTTIME) / 1000000;
}

int64_t
clock_mono_us(void)
{
	return clock_ns(CLOCK_BOOTTIME) / 1000;
}

void
random_bytes(void *p, size_t n)
{
	uint8_t *at = p;

	while (n > 0) {
		ssize_t k = getrandom(at, n, 0);

		BUG_IF(k < 0 && errno != EINTR);
		if (k < 0)
			continue;
		at += k;
		n -= (size_t)k;
	}
}

int
file_read(int dirfd, const char *path, struct buf *b, struct fault *f)
{
	with_fd fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return fault_sys(f, "cannot open '%s'", path);
	for (;;) {
		size_t want = buf_left(b) < 65536 ? buf_left(b) : 65536;
		uint8_t extra = 0;
		uint8_t *to = want ? buf_room(b, want) : &extra;
		ssize_t k = read(fd, to, want ? want : 1);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return fault_sys(f, "cannot read '%s'", path);
		if (k == 0)
			return 0;
		if (!want)
			return fault_set(f, FAULT_LIMIT,
			    "'%s' is over %zu bytes", path, b->max);
		buf_grew(b, (size_t)k);
	}
}

int
file_keep(int dirfd, int fd, const char *temp, const char *path,
    struct fault *f)
{
	const char *slash = strrchr(path, '/');
	char folder[LIMIT_PATH] = ".";
	with_fd dir = -1;

	if (fsync(fd) != 0 || renameat(dirfd, temp, dirfd, path) != 0) {
		(void)fault_sys(f, "cannot write '%s'", path);
		(void)unlinkat(dirfd, temp, 0);
		return -1;
	}
	if (slash)
		(void)text_copy(folder, sizeof(folder),
		    span_of(path, slash == path ? 1 : (size_t)(slash - path)));
	dir = openat(dirfd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || fsync(dir) != 0)
		return fault_sys(f, "cannot sync folder of '%s'", path);
	return 0;
}

int
file_write_atomic(int dirfd, const char *path, struct span s, mode_t mode,
    struct fault *f)
{
	char temp[512];
	uint8_t tag[6];
	char hex[13];
	with_fd fd = -1;

	random_bytes(tag, sizeof(tag));
	hex_format(tag, sizeof(tag), hex);
	if (!text_fmt(temp, sizeof(temp), "%s.%s.tmp", path, hex))
		return fault_set(f, FAULT_INVALID, "path is too long");
	fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd < 0)
		return fault_sys(f, "cannot create '%s'", temp);
	if (fd_write_all(fd, s.ptr, s.len, f) != 0) {
		(void)unlinkat(dirfd, temp, 0);
		return fault_prefix(f, "%s", path);
	}
	return file_keep(dirfd, fd, temp, path, f);
}

int
dir_make(const char *path, mode_t mode, struct fault *f)
{
	if (mkdir(path, mode) != 0 && errno != EEXIST)
		return fault_sys(f, "cannot make folder '%s'", path);
	return 0;
}
