/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: base */
/*
 * An agent that tries to call the door as a program that it is not. It stands
 * in the image twice, under the name that the grant has and under another.
 *
 *   hostile ask TOOL ARGUMENTS [FIELD...]  as any client; fields of its own
 *   hostile on FD TOOL ARGUMENTS           on a connection that it inherited
 *   hostile taken|alone TOOL ARGUMENTS     on one that comes by descriptor 3
 *   hostile HOW OTHER TOOL ARGUMENTS       connect, and hand it to OTHER:
 *     pass, leave        by SCM_RIGHTS; pass stays, leave ends meanwhile
 *     fork, orphan       by fork and exec; fork stays, orphan ends meanwhile
 *     become             by exec in its own place
 *     late               ask alone, then with OTHER holding it too
 *     shade              the same, OTHER's first thread having ended
 *   hostile memfd OTHER TOOL ARGUMENTS     OTHER from memory
 *   hostile name OTHER TOOL ARGUMENTS      call its own executable OTHER
 *   hostile hold TOOL ARGUMENTS            connect, say so, ask at end of input
 *   hostile reach OTHER PID                into a process that holds one
 *
 * The answer's body goes to stdout, or the errno of what was refused.
 */
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

#define META                                               \
 "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":" \
 "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"

enum {
	MOST = 4 << 20, /* bytes of an answer */
};

static _Noreturn void
die(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

static const char *
error_name(int r)
{
	if (r >= 0)
		return "done";
	switch (errno) {
	case EPERM:
		return "EPERM";
	case EACCES:
		return "EACCES";
	case ENOENT:
		return "ENOENT";
	case ENXIO: /* a socket, by its name */
		return "ENXIO";
	default:
		return strerror(errno);
	}
}

static int
joined(void)
{
	struct sockaddr_in door = { .sin_family = AF_INET,
		.sin_port = htons(80) };
	int s = socket(AF_INET, SOCK_STREAM, 0);

	(void)inet_pton(AF_INET, "127.0.0.80", &door.sin_addr);
	if (connect(s, (struct sockaddr *)&door, sizeof(door)) != 0)
		die("connect");
	return s;
}

static void
ask(int s, const char *tool, const char *arguments, char **fields)
{
	struct fault f = { 0 };
	struct buf body;
	struct buf all;

	buf_init(&body, MOST);
	buf_init(&all, MOST);
	if (buf_fmt(&body,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
		"\"params\":{\"name\":\"%s\",\"arguments\":%s," META "}}",
		tool, arguments) < 0 ||
	    buf_fmt(&all,
		"POST /mcp HTTP/1.1\r\nHost: openshell.local\r\n"
		"Content-Type: application/json\r\n"
		"MCP-Protocol-Version: 2026-07-28\r\n"
		"Mcp-Method: tools/call\r\nMcp-Name: %s\r\n"
		"Content-Length: %zu\r\n",
		tool, body.len) < 0)
		exit(1);
	for (; fields && *fields; fields++)
		if (buf_fmt(&all, "%s\r\n", *fields) < 0)
			exit(1);
	if (buf_fmt(&all, "\r\n") < 0 ||
	    buf_add(&all, buf_ptr(&body), body.len, &f) < 0 ||
	    send(s, buf_ptr(&all), all.len, MSG_NOSIGNAL) != (ssize_t)all.len)
		die("send");
	buf_release(&body);
	buf_release(&all);
}

/* Bytes of the whole answer, once its head is there. */
static size_t
wanted(const char *text)
{
	static const char key[] = "\r\nContent-Length: ";
	const char *end = strstr(text, "\r\n\r\n");
	const char *at = strcasestr(text, key);

	if (end == NULL || at == NULL || at > end)
		return 0;
	return (size_t)(end + 4 - text) +
	    strtoul(at + sizeof(key) - 1, NULL, 10);
}

static void
tell(int s)
{
	char *text = calloc(1, MOST + 1);
	const char *body;
	size_t len = 0;
	ssize_t n = 1;

	while (text && len < MOST &&
	    (wanted(text) == 0 || len < wanted(text)) &&
	    (n = recv(s, text + len, MOST - len, 0)) > 0)
		len += (size_t)n;
	body = text ? strstr(text, "\r\n\r\n") : NULL;
	printf("%s\n", body ? body + 4 : len > 0 ? text : "closed");
	(void)fflush(stdout);
	free(text);
}

/* The rest of argv is the tool and its arguments. */
static _Noreturn void
other_on(const char *other, int s, char **rest)
{
	char number[16];

	(void)text_fmt(number, sizeof(number), "%d", s);
	(void)execl(other, other, "on", number, rest[0], rest[1], NULL);
	die("exec");
}

/* --- a connection handed over */
union passing {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static void
give(int pair, int s)
{
	union passing p = { 0 };
	char x = 0;
	struct iovec one = { &x, 1 };
	struct msghdr m = { .msg_iov = &one,
		.msg_iovlen = 1,
		.msg_control = &p,
		.msg_controllen = sizeof(p) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
		.cmsg_len = CMSG_LEN(sizeof(int)) };
	memcpy(CMSG_DATA(c), &s, sizeof(s));
	if (sendmsg(pair, &m, 0) != 1)
		die("sendmsg");
}

static int
take(int pair)
{
	union passing p = { 0 };
	char x;
	struct iovec one = { &x, 1 };
	struct msghdr m = { .msg_iov = &one,
		.msg_iovlen = 1,
		.msg_control = &p,
		.msg_controllen = sizeof(p) };
	int s = -1;

	if (recvmsg(pair, &m, 0) != 1 || CMSG_FIRSTHDR(&m) == NULL)
		die("recvmsg");
	memcpy(&s, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(s));
	return s;
}

/* Descriptor 3 is where OTHER finds it. */
static void
pass(const char *other, char **rest, bool stays)
{
	int pair[2];

	(void)close(3);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		die("socketpair");
	if (fork() == 0) {
		(void)close(pair[1]);
		(void)dup2(pair[0], 3);
		(void)execl(other, other, stays ? "taken" : "alone", rest[0],
		    rest[1], NULL);
		die("exec");
	}
	give(pair[1], joined());
	if (stays)
		(void)wait(NULL);
}

static void
hand_on(const char *other, char **rest, bool stays)
{
	int s = joined();
	int alone[2];
	char c;

	if (pipe(alone) != 0)
		die("pipe");
	if (fork() == 0) {
		(void)close(alone[1]);
		/* Until the parent has ended. */
		if (!stays)
			(void)!read(alone[0], &c, 1);
		other_on(other, s, rest);
	}
	if (stays)
		(void)wait(NULL);
}

static void *
outlive(void *first)
{
	void *none;

	(void)pthread_join(*(pthread_t *)first, &none);
	(void)!write(1, "x", 1);
	(void)pause();
	return NULL;
}

/* A process whose first thread has ended, and which goes on. */
static void
outlived(void)
{
	static pthread_t first;
	pthread_t t;

	first = pthread_self();
	if (pthread_create(&t, NULL, outlive, &first) != 0)
		_exit(1);
	pthread_exit(NULL);
}

static void
late(const char *other, char **rest, const char *how)
{
	int s = joined();
	int end[2];
	pid_t pid;

	ask(s, rest[0], rest[1], NULL);
	tell(s);
	if (pipe(end) != 0)
		die("pipe");
	pid = fork();
	if (pid == 0) {
		(void)dup2(end[1], 1);
		(void)execl(other, other, how, NULL);
		_exit(1);
	}
	(void)close(end[1]);
	(void)!read(end[0], &(char){ 0 }, 1); /* it runs */
	ask(s, rest[0], rest[1], NULL);
	tell(s);
	(void)kill(pid, SIGKILL);
	(void)wait(NULL);
}

/* --- another executable */
static void
from_memory(const char *other, char **rest)
{
	char name[] = "other";
	char how[] = "ask";
	char *argv[] = { name, how, rest[0], rest[1], NULL };
	int from = open(other, O_RDONLY | O_CLOEXEC);
	int to = memfd_create("x", MFD_CLOEXEC);
	char bytes[4096];
	ssize_t n;

	if (from < 0 || to < 0)
		die("memfd");
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		if (write(to, bytes, (size_t)n) != n)
			die("write");
	(void)fexecve(to, argv, environ);
	printf("exec from memory: %s\n", error_name(-1));
}

static void
call_oneself(const char *other, char **rest)
{
	int fd = open(other, O_RDONLY | O_CLOEXEC);
	int r = prctl(PR_SET_MM, PR_SET_MM_EXE_FILE, fd, 0, 0);
	int s;

	printf("exe %s\n", error_name(r));
	(void)fflush(stdout);
	s = joined();
	ask(s, rest[0], rest[1], NULL);
	tell(s);
}

/* --- into another process */
static void
hold(char **rest)
{
	int s = joined();
	char bytes[64];

	printf("%d\n", (int)getpid());
	(void)fflush(stdout);
	while (read(0, bytes, sizeof(bytes)) > 0)
		;
	ask(s, rest[0], rest[1], NULL);
	tell(s);
}

static int
trace_child(const char *other)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
			_exit(errno);
		(void)execl(other, other, "keep", NULL);
		_exit(0);
	}
	(void)waitpid(pid, &status, 0);
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	if (!WIFEXITED(status))
		(void)kill(pid, SIGKILL);
	return errno != 0 ? -1 : 0;
}

static void
reach(const char *other, pid_t pid)
{
	static char bytes[16];
	struct iovec here = { bytes, sizeof(bytes) };
	struct iovec there = { bytes, sizeof(bytes) };
	char path[64];
	int fd;

	printf("attach %s\n",
	    error_name((int)ptrace(PTRACE_ATTACH, pid, 0, 0)));
	printf("seize %s\n", error_name((int)ptrace(PTRACE_SEIZE, pid, 0, 0)));
	printf("trace a child %s\n", error_name(trace_child(other)));
	printf("write memory %s\n",
	    error_name((int)process_vm_writev(pid, &here, 1, &there, 1, 0)));
	(void)text_fmt(path, sizeof(path), "/proc/%d/mem", (int)pid);
	printf("open memory %s\n", error_name(open(path, O_RDWR)));
	(void)text_fmt(path, sizeof(path), "/proc/%d/fd/3", (int)pid);
	printf("open descriptor %s\n", error_name(open(path, O_RDWR)));
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	printf("pidfd %s\n", error_name(fd));
	printf("take descriptor %s\n",
	    error_name((int)syscall(SYS_pidfd_getfd, fd, 3, 0)));
}

static void
on(int s, char **rest)
{
	ask(s, rest[0], rest[1], NULL);
	tell(s);
}

static void
taken(char **rest, bool alone)
{
	int s = take(3);

	/* Until the giver has ended. */
	if (alone)
		(void)!read(3, &(char){ 0 }, 1);
	on(s, rest);
}

int
main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	char **rest = argv + 3;

	(void)signal(SIGPIPE, SIG_IGN);
	if (strcmp(how, "keep") == 0) {
		(void)!write(1, "x", 1);
		(void)pause();
	} else if (strcmp(how, "outlived") == 0) {
		outlived();
	} else if ((strcmp(how, "taken") == 0 || strcmp(how, "alone") == 0) &&
	    argc == 4) {
		taken(argv + 2, how[0] == 'a');
	} else if (strcmp(how, "hold") == 0 && argc == 4) {
		hold(argv + 2);
	} else if (strcmp(how, "reach") == 0 && argc == 4) {
		reach(argv[2], (pid_t)atoi(argv[3]));
	} else if (strcmp(how, "ask") == 0 && argc >= 4) {
		int s = joined();

		ask(s, argv[2], argv[3], argv + 4);
		tell(s);
	} else if (argc != 5) {
		return 2;
	} else if (strcmp(how, "on") == 0) {
		on(atoi(argv[2]), rest);
	} else if (strcmp(how, "pass") == 0 || strcmp(how, "leave") == 0) {
		pass(argv[2], rest, how[0] == 'p');
	} else if (strcmp(how, "fork") == 0 || strcmp(how, "orphan") == 0) {
		hand_on(argv[2], rest, how[0] == 'f');
	} else if (strcmp(how, "become") == 0) {
		other_on(argv[2], joined(), rest);
	} else if (strcmp(how, "late") == 0) {
		late(argv[2], rest, "keep");
	} else if (strcmp(how, "shade") == 0) {
		late(argv[2], rest, "outlived");
	} else if (strcmp(how, "memfd") == 0) {
		from_memory(argv[2], rest);
	} else if (strcmp(how, "name") == 0) {
		call_oneself(argv[2], rest);
	}
	return 0;
}
