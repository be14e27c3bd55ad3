/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program is told when it starts, one fact a line, for comparing two
 * ways of starting it: arguments, environment in order of names, folder, mask,
 * ids, signals, descriptors, terminal. Bytes that are no plain text are \xHH.
 * PWD is left out: whether it is there is a matter of taste.
 */
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum {
	SIGNALS = 64,
	FDS = 256,
	GROUPS = 64
};

static void
text(const char *what, const char *s)
{
	printf("%s ", what);
	for (; *s; s++)
		if (*s > ' ' - 1 && *s < 0x7f && *s != '\\')
			putchar(*s);
		else
			printf("\\x%02x", (unsigned)*s & 0xffU);
	putchar('\n');
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
environment(void)
{
	size_t n = 0;

	while (environ[n])
		n++;
	qsort(environ, n, sizeof(*environ), by_name);
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "PWD=", 4) != 0)
			text("env", environ[i]);
}

static void
ids(void)
{
	gid_t groups[GROUPS];
	int n = getgroups(GROUPS, groups);

	printf("ids %u %u %u %u\ngroups", getuid(), geteuid(), getgid(),
	    getegid());
	for (int i = 0; i < n; i++)
		if (groups[i] != getgid())
			printf(" %u", groups[i]);
	putchar('\n');
}

static void
signals(void)
{
	sigset_t blocked;

	(void)sigprocmask(SIG_BLOCK, NULL, &blocked);
	printf("signals");
	for (int i = 1; i <= SIGNALS; i++) {
		struct sigaction a;

		if (sigaction(i, NULL, &a) != 0)
			continue;
		if (a.sa_handler == SIG_IGN)
			printf(" %d-ignored", i);
		if (sigismember(&blocked, i) == 1)
			printf(" %d-blocked", i);
	}
	putchar('\n');
}

static const char *
kind(mode_t mode)
{
	if (S_ISFIFO(mode))
		return "pipe";
	if (S_ISCHR(mode))
		return "device";
	if (S_ISREG(mode))
		return "file";
	return S_ISSOCK(mode) ? "socket" : "other";
}

static void
descriptors(void)
{
	for (int fd = 0; fd < FDS; fd++) {
		struct stat st;
		int flags = fcntl(fd, F_GETFL);

		if (flags < 0 || fstat(fd, &st) != 0)
			continue;
		printf("fd %d %s%s%s\n", fd, kind(st.st_mode),
		    isatty(fd) ? " terminal" : "",
		    flags & O_NONBLOCK ? " nonblocking" : "");
	}
}

static void
terminal(void)
{
	struct winsize w;
	struct termios t;
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);

	printf("controlled %s\n", fd >= 0 ? "yes" : strerror(errno));
	if (fd < 0)
		return;
	if (ioctl(fd, TIOCGWINSZ, &w) == 0)
		printf("size %u %u\n", w.ws_col, w.ws_row);
	if (tcgetattr(fd, &t) == 0) {
		printf("modes %o %o %o %o\nkeys", t.c_iflag, t.c_oflag,
		    t.c_cflag, t.c_lflag);
		for (size_t i = 0; i < NCCS; i++)
			printf(" %u", t.c_cc[i]);
		putchar('\n');
	}
	printf("foreground %s\n", tcgetpgrp(fd) == getpgrp() ? "yes" : "no");
	(void)close(fd);
}

int
main(int argc, char **argv)
{
	char folder[4096];
	mode_t mask = umask(0);

	(void)umask(mask);
	printf("arguments %d\n", argc);
	for (int i = 0; i < argc; i++)
		text("argument", argv[i]);
	environment();
	text("folder", getcwd(folder, sizeof(folder)) ? folder : "none");
	printf("mask %03o\nnice %d\n", (unsigned)mask, nice(0));
	ids();
	signals();
	descriptors();
	terminal();
	return 0;
}
