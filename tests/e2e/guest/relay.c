/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: base */
/*
 * relay HOST PORT: requests as they are, each on a connection of its own. In
 * and out the same: 4 bytes of length, the higher ones first, and as many more.
 * An answer is what comes until the other end closes. HOST is a number.
 */
#include <sys/socket.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <unistd.h>

#include "base/base.h"

enum {
	MOST = 8 << 20,
};

/* False at the end of the input. */
static bool
read_whole(uint8_t *to, size_t n)
{
	return fread(to, 1, n, stdin) == n;
}

static int
exchange(const struct sockaddr_in *at, struct span request, struct buf *answer,
    struct fault *f)
{
	with_fd fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint8_t bytes[16384];
	ssize_t n;

	if (fd < 0 || connect(fd, (const struct sockaddr *)at, sizeof(*at)) < 0)
		return fault_sys(f, "cannot connect");
	if (fd_write_all(fd, request.ptr, request.len, f) < 0)
		return -1;
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		if (buf_add(answer, bytes, (size_t)n, f) < 0)
			return -1;
	return 0;
}

static int
tell(struct span answer, struct fault *f)
{
	const uint8_t head[4] = { (uint8_t)(answer.len >> 24),
		(uint8_t)(answer.len >> 16), (uint8_t)(answer.len >> 8),
		(uint8_t)answer.len };

	if (fd_write_all(1, head, sizeof(head), f) < 0)
		return -1;
	return fd_write_all(1, answer.ptr, answer.len, f);
}

int
main(int argc, char **argv)
{
	static uint8_t request[MOST];
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct fault f = { 0 };
	struct buf answer;
	uint64_t port = 0;
	uint8_t head[4];

	if (argc != 3 || !num_parse(span_str(argv[2]), 65535, &port) ||
	    inet_pton(AF_INET, argv[1], &at.sin_addr) != 1)
		return 2;
	at.sin_port = htons((uint16_t)port);
	buf_init(&answer, MOST);
	while (read_whole(head, sizeof(head))) {
		size_t n = (size_t)head[0] << 24 | (size_t)head[1] << 16 |
		    (size_t)head[2] << 8 | head[3];

		buf_clear(&answer);
		if (n > MOST || !read_whole(request, n) ||
		    exchange(&at, span_of(request, n), &answer, &f) < 0 ||
		    tell(buf_span(&answer), &f) < 0) {
			(void)fprintf(stderr, "relay: %s\n", f.text);
			return 1;
		}
	}
	buf_release(&answer);
	return 0;
}
