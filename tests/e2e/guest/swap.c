/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: base */
/*
 * An agent that wants to be taken for another program: one runs and connects,
 * another is in its file a moment later.
 *
 *   swap quick         connect descriptor 3 to the door, no more
 *   swap tick FILE     FILE, a copy of this program, has a last byte: it runs
 *                      with 'e' there, and has 'b' when it has ended, in the
 *                      same tick of the file's time where that can be done
 *   swap mapped FILE   likewise, but 'b' is written through a mapping from
 *                      before it ran, at which nobody looks
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

enum {
	SOCKET = 3,
	TRIES = 60,
	MAPPED = 5,
};

static void
quick(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(80) };

	(void)inet_pton(AF_INET, "127.0.0.80", &a.sin_addr);
	_exit(connect(SOCKET, (void *)&a, sizeof(a)) == 0 ? 0 : 1);
}

/* What the supervisor tells of comes with a request. */
static void
ask(int s)
{
	static const char q[] =
	    "POST /mcp HTTP/1.1\r\nHost: openshell.local\r\n"
	    "Connection: close\r\nContent-Length: 2\r\n\r\n{}";
	char text[256];

	(void)send(s, q, sizeof(q) - 1, MSG_NOSIGNAL);
	while (recv(s, text, sizeof(text), 0) > 0) {
	}
}

static void
next_tick(void)
{
	struct timespec was;
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &was);
	do
		(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	while (now.tv_nsec == was.tv_nsec);
}

static bool
put_last(const char *path, char c, struct stat *st)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && fstat(fd, st) == 0 &&
	    pwrite(fd, &c, 1, st->st_size - 1) == 1 && fstat(fd, st) == 0;

	(void)close(fd);
	return done;
}

static pid_t
run_quick(const char *path)
{
	pid_t pid = vfork();

	if (pid == 0) {
		(void)execl(path, path, "quick", NULL);
		_exit(2);
	}
	return pid;
}

static void
tick(const char *path)
{
	int same = 0;
	int joined = 0;

	for (int i = 0; i < TRIES; i++) {
		int s = socket(AF_INET, SOCK_STREAM, 0);
		struct stat before;
		struct stat after;
		int status = -1;

		(void)dup2(s, SOCKET);
		next_tick();
		if (!put_last(path, 'e', &before))
			break;
		(void)waitpid(run_quick(path), &status, 0);
		if (!put_last(path, 'b', &after))
			break;
		same += before.st_ctim.tv_sec == after.st_ctim.tv_sec &&
		    before.st_ctim.tv_nsec == after.st_ctim.tv_nsec;
		joined += status == 0;
		ask(s);
		(void)close(s);
	}
	fprintf(stderr, "%d in the same tick\n", same);
	printf("%d connected\n", joined);
}

static void
mapped(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	int joined = 0;
	struct stat st;
	char *last;

	if (fd < 0 || fstat(fd, &st) != 0)
		return;
	last = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
	    MAP_SHARED, fd, 0);
	(void)close(fd);
	if (last == MAP_FAILED)
		return;
	last += st.st_size - 1;
	for (int i = 0; i < MAPPED; i++) {
		int s = socket(AF_INET, SOCK_STREAM, 0);
		int status = -1;

		(void)dup2(s, SOCKET);
		*last = 'e';
		next_tick();
		next_tick();
		(void)waitpid(run_quick(path), &status, 0);
		*last = 'b';
		joined += status == 0;
		ask(s);
		(void)close(s);
	}
	printf("%d connected\n", joined);
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "quick") == 0)
		quick();
	if (argc == 3 && strcmp(argv[1], "tick") == 0)
		tick(argv[2]);
	if (argc == 3 && strcmp(argv[1], "mapped") == 0)
		mapped(argv[2]);
	return 0;
}
