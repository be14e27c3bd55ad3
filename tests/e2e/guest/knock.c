/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: base */
/*
 * Agent programs that connect, each an argument; one line an outcome. Plain
 * C library calls, as any program makes them.
 */
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

#define NAME "openshell.local"

enum {
	MANY = 200
};

static struct sockaddr_in
at(const char *address, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port) };

	(void)inet_pton(AF_INET, address, &a.sin_addr);
	return a;
}

/* As /etc/hosts says. */
static struct sockaddr_in
door(void)
{
	struct addrinfo want = { .ai_family = AF_INET,
		.ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	struct sockaddr_in a = { 0 };

	if (getaddrinfo(NAME, "80", &want, &found) == 0) {
		memcpy(&a, found->ai_addr, sizeof(a));
		freeaddrinfo(found);
	}
	return a;
}

static const char *
error_name(int error)
{
	static const struct {
		int error;
		const char *name;
	} names[] = { { EACCES, "EACCES" }, { EAGAIN, "EAGAIN" },
		{ ECONNREFUSED, "ECONNREFUSED" },
		{ EINPROGRESS, "EINPROGRESS" }, { ENETUNREACH, "ENETUNREACH" },
		{ ETIMEDOUT, "ETIMEDOUT" } };

	for (size_t i = 0; i < NELEM(names); i++)
		if (names[i].error == error)
			return names[i].name;
	return strerror(error);
}

static const char *
outcome(int r)
{
	return r == 0 ? "connected" : error_name(errno);
}

static void
print_peer(int s)
{
	struct sockaddr_in a = { 0 };
	socklen_t n = sizeof(a);

	if (getpeername(s, (struct sockaddr *)&a, &n) != 0)
		printf("no peer\n");
	else
		printf("peer %s:%d\n", inet_ntoa(a.sin_addr),
		    ntohs(a.sin_port));
}

static void
ask(int s)
{
	static const char q[] =
	    "POST /mcp HTTP/1.1\r\nHost: " NAME "\r\nConnection: close\r\n"
	    "Content-Length: 2\r\n\r\n{}";

	(void)!send(s, q, sizeof(q) - 1, MSG_NOSIGNAL);
}

/* Status of the answer, 0 without one. */
static int
answer(int s)
{
	char text[1024];
	size_t len = 0;

	for (;;) {
		struct pollfd p = { .fd = s, .events = POLLIN };
		ssize_t n;

		(void)poll(&p, 1, 20000);
		n = recv(s, text + len, sizeof(text) - 1 - len, 0);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
	return len > 12 && strstr(text, "no_session") ? atoi(text + 9) : 0;
}

static void
blocking(void)
{
	struct sockaddr_in a = door();
	int s = socket(AF_INET, SOCK_STREAM, 0);

	printf("%s\n", outcome(connect(s, (void *)&a, sizeof(a))));
	print_peer(s);
	ask(s);
	printf("status %d\n", answer(s));
	(void)close(s);
}

static void
unblocked(void)
{
	struct sockaddr_in a = door();
	int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int twin = dup(s);
	int ep = epoll_create1(0);
	struct epoll_event e = { .events = EPOLLOUT | EPOLLIN | EPOLLET };
	int error = -1;
	socklen_t n = sizeof(error);

	(void)epoll_ctl(ep, EPOLL_CTL_ADD, s, &e);
	(void)epoll_wait(ep, &e, 1, 0);
	printf("%s\n", outcome(connect(s, (void *)&a, sizeof(a))));
	printf("events %d\n", epoll_wait(ep, &e, 1, 20000));
	(void)getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &n);
	printf("error %d\n", error);
	print_peer(twin);
	ask(twin);
	printf("status %d\n", answer(s));
}

static void
refused(void)
{
	static const struct {
		const char *address;
		int port;
	} rows[] = { { "192.0.2.1", 443 }, { "10.0.2.2", 22 },
		{ "127.0.0.80", 443 }, { "8.8.8.8", 53 } };

	for (size_t i = 0; i < NELEM(rows); i++) {
		struct sockaddr_in a = at(rows[i].address, rows[i].port);
		int s = socket(AF_INET, SOCK_STREAM, 0);
		int u = socket(AF_INET, SOCK_DGRAM, 0);
		int r = connect(s, (void *)&a, sizeof(a));

		printf("%s:%d tcp %s", rows[i].address, rows[i].port,
		    outcome(r));
		r = sendto(u, "x", 1, 0, (void *)&a, sizeof(a)) == 1 ? 0 : -1;
		printf(" udp %s\n", outcome(r));
		(void)close(s);
		(void)close(u);
	}
}

static void
loopback(void)
{
	struct sockaddr_in a = at("127.0.0.1", 0);
	socklen_t n = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0);
	char c = 0;
	pid_t pid;
	int end;

	if (bind(l, (void *)&a, n) != 0 || listen(l, 1) != 0)
		printf("%s\n", outcome(-1));
	(void)getsockname(l, (void *)&a, &n);
	pid = fork();
	if (pid == 0) {
		int s = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(s, (void *)&a, n) == 0)
			(void)!write(s, "x", 1);
		_exit(0);
	}
	end = accept(l, NULL, NULL);
	printf("%s\n", read(end, &c, 1) == 1 && c == 'x' ? "heard" : "silent");
	(void)waitpid(pid, NULL, 0);
}

static void
many(void)
{
	struct sockaddr_in a = door();
	int s[MANY];
	int connected = 0;
	int answered = 0;

	for (int i = 0; i < MANY; i++) {
		s[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		/* Past the cap it is told to come again. */
		while (connect(s[i], (void *)&a, sizeof(a)) != 0 &&
		    errno == EAGAIN)
			(void)poll(NULL, 0, 1);
		connected += errno == EINPROGRESS;
		ask(s[i]);
	}
	for (int i = 0; i < MANY; i++)
		answered += answer(s[i]) == 503;
	printf("%d connected, %d answered\n", connected, answered);
}

static struct sockaddr_in moving;
static volatile int is_over;

static void *
rewrite(void *arg)
{
	struct sockaddr_in places[] = { door(), at("192.0.2.1", 80),
		at("127.0.0.1", 80), door() };

	(void)arg;
	for (unsigned i = 0; !is_over; i++)
		*(volatile in_addr_t *)&moving.sin_addr.s_addr =
		    places[i % 4].sin_addr.s_addr;
	return NULL;
}

/* What is connected is the door and answers, or is closed: nothing else. */
static void
cheat(void)
{
	int odd = 0;
	int joined = 0;
	pthread_t t;

	moving = door();
	if (pthread_create(&t, NULL, rewrite, NULL) != 0)
		return;
	for (int i = 0; i < 300; i++) {
		int s = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(s, (void *)&moving, sizeof(moving)) == 0) {
			ask(s);
			joined += answer(s) == 503;
		} else if (errno != EACCES && errno != ECONNREFUSED &&
		    errno != ENETUNREACH) {
			printf("%s\n", outcome(-1));
			odd++;
		}
		(void)close(s);
	}
	is_over = 1;
	(void)pthread_join(t, NULL);
	printf("%s, %d odd\n", joined > 0 ? "some joined" : "none joined", odd);
}

/* The socket goes to another program too, which says when it runs. */
static void
share(void)
{
	struct sockaddr_in a = door();
	int s = socket(AF_INET, SOCK_STREAM, 0);
	int in[2];
	int out[2];
	char c;

	if (pipe(in) != 0 || pipe(out) != 0 ||
	    connect(s, (void *)&a, sizeof(a)) != 0)
		printf("%s\n", outcome(-1));
	if (fork() == 0) {
		(void)dup2(in[0], 0);
		(void)dup2(out[1], 1);
		(void)close(in[1]);
		(void)execl("/bin/cat", "cat", NULL);
		_exit(1);
	}
	(void)!write(in[1], "x", 1);
	(void)!read(out[0], &c, 1);
	ask(s);
	printf("status %d\n", answer(s));
	(void)close(in[1]);
	(void)wait(NULL);
}

/* Take one's own name away, then knock. */
static void
nameless(void)
{
	char path[128];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	if (unlink(path) != 0)
		printf("%s\n", outcome(-1));
	blocking();
}

/* Whose memory and descriptors are nobody's business: they are root's. */
static void
hidden(void)
{
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	blocking();
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = { { "blocking", blocking }, { "unblocked", unblocked },
		{ "refused", refused }, { "loopback", loopback },
		{ "many", many }, { "cheat", cheat }, { "share", share },
		{ "nameless", nameless }, { "hidden", hidden } };

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; argc > 1 && i < NELEM(modes); i++)
		if (strcmp(argv[1], modes[i].name) == 0)
			modes[i].run();
	return 0;
}
