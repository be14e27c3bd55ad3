/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: base */
/*
 * ask HOST PORT FILE: send the file's bytes as they are, print what comes until
 * the other end closes. Unlike nc it does not half-close, which would say that
 * it has left. HOST is a number.
 */
#include <sys/socket.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"

int
main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct fault f = { 0 };
	uint64_t port = 0;
	char bytes[4096];
	ssize_t n;
	struct buf b;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (argc != 4 || !num_parse(span_str(argv[2]), 65535, &port) ||
	    inet_pton(AF_INET, argv[1], &at.sin_addr) != 1)
		return 2;
	at.sin_port = htons((uint16_t)port);
	buf_init(&b, 4 << 20);
	if (file_read(AT_FDCWD, argv[3], &b, &f) < 0 ||
	    connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    fd_write_all(fd, buf_ptr(&b), b.len, &f) < 0) {
		perror("ask");
		return 1;
	}
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		(void)fwrite(bytes, 1, (size_t)n, stdout);
	buf_release(&b);
	return 0;
}
