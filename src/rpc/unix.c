/* SPDX-License-Identifier: Apache-2.0 */
/* Unix sockets by path. A listener replaces a stale file, never a live peer. */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "rpc/inner.h"

#define BACKLOG 1024

static int
address(const char *path, struct sockaddr_un *a, struct fault *f)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (!text_copy(a->sun_path, sizeof(a->sun_path), span_str(path)))
		return fault_set(f, FAULT_INVALID,
		    "socket path '%s' is over %zu bytes", path,
		    sizeof(a->sun_path) - 1);
	return 0;
}

static int
dial(const char *path, int *fd, struct fault *f)
{
	struct sockaddr_un a;
	with_fd sock = -1;

	if (address(path, &a, f) != 0)
		return -1;
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return fault_sys(f, "cannot make a socket");
	if (connect(sock, (const struct sockaddr *)&a, sizeof(a)) != 0)
		return fault_sys(f, "cannot connect to '%s'", path);
	*fd = fd_take(&sock);
	return 0;
}

int
rpc_connect_unix(const char *path, int *fd, struct fault *f)
{
	if (dial(path, fd, f) != 0)
		return -1;
	if (fd_nonblock(*fd, f) == 0)
		return 0;
	fd_close(fd);
	return -1;
}

/* Take away a socket file that nobody answers on. */
static int
clear_stale(const char *path, struct fault *f)
{
	struct fault why = { 0 };
	struct stat st;
	int fd;

	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 0
				       : fault_sys(f, "cannot see '%s'", path);
	if (!S_ISSOCK(st.st_mode))
		return fault_set(f, FAULT_EXISTS, "'%s' is not a socket", path);
	if (dial(path, &fd, &why) == 0) {
		fd_close(&fd);
		return fault_set(f, FAULT_EXISTS,
		    "another process listens on '%s'", path);
	}
	if (why.sys != ECONNREFUSED) {
		*f = why;
		return -1;
	}
	if (unlink(path) != 0 && errno != ENOENT)
		return fault_sys(f, "cannot remove '%s'", path);
	return 0;
}

int
rpc_listen_unix(const char *path, int *fd, struct fault *f)
{
	struct sockaddr_un a;
	with_fd sock = -1;
	mode_t mask;
	int rc;

	if (address(path, &a, f) != 0 || clear_stale(path, f) != 0)
		return -1;
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		return fault_sys(f, "cannot make a socket");
	mask = umask(0177);
	rc = bind(sock, (const struct sockaddr *)&a, sizeof(a));
	(void)umask(mask);
	if (rc != 0)
		return fault_sys(f, "cannot bind '%s'", path);
	if (listen(sock, BACKLOG) != 0)
		return fault_sys(f, "cannot listen on '%s'", path);
	*fd = fd_take(&sock);
	return 0;
}
