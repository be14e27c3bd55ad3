/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: base */
/*
 * rounds N: N reads by the door on one connection, one line of microseconds
 * each, a while apart so that no rate is met. For figures.
 */
#include <sys/socket.h>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

#define BODY                                                \
 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"," \
 "\"params\":{\"name\":\"get_sandbox\",\"arguments\":{},"   \
 "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"  \
 "\"2026-07-28\",\"io.modelcontextprotocol/"                \
 "clientCapabilities\":{}}}}"

enum {
	APART_US = 110000, /* ten calls a second are let through */
};

static int64_t
now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* One answer, whole; false when it is none. */
static bool
take_answer(int fd)
{
	static const char key[] = "\r\nContent-Length: ";
	char text[16384];
	size_t len = 0;

	for (;;) {
		ssize_t n = recv(fd, text + len, sizeof(text) - 1 - len, 0);
		uint64_t body = 0;
		const char *end;
		const char *at;
		struct span digits;

		if (n <= 0)
			return false;
		len += (size_t)n;
		text[len] = '\0';
		end = strstr(text, "\r\n\r\n");
		at = strcasestr(text, key);
		if (end == NULL || at == NULL)
			continue;
		digits = span_str(at + sizeof(key) - 1);
		digits.len = span_find(digits, '\r');
		if (!num_parse(digits, sizeof(text), &body))
			return false;
		if (len >= (size_t)(end + 4 - text) + body)
			return strstr(text, "\"state\":\"running\"") != NULL;
	}
}

int
main(int argc, char **argv)
{
	struct sockaddr_in door = { .sin_family = AF_INET,
		.sin_port = htons(80) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t n = 0;
	char ask[1024];

	(void)inet_pton(AF_INET, "127.0.0.80", &door.sin_addr);
	if (argc != 2 || !num_parse(span_str(argv[1]), 1000, &n) ||
	    connect(fd, (struct sockaddr *)&door, sizeof(door)) != 0)
		return 2;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 },
	    sizeof(int));
	(void)text_fmt(ask, sizeof(ask),
	    "POST /mcp HTTP/1.1\r\nHost: openshell.local\r\n"
	    "Content-Type: application/json\r\n"
	    "MCP-Protocol-Version: 2026-07-28\r\n"
	    "Mcp-Method: tools/call\r\nMcp-Name: get_sandbox\r\n"
	    "Content-Length: %zu\r\n\r\n" BODY,
	    strlen(BODY));
	for (; n > 0; n--) {
		int64_t began = now_us();

		if (send(fd, ask, strlen(ask), MSG_NOSIGNAL) < 0 ||
		    !take_answer(fd))
			return 1;
		printf("%lld\n", (long long)(now_us() - began));
		(void)usleep(APART_US);
	}
	return 0;
}
