/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that are hard to keep, for use inside a sandbox.
 *
 *   life forks N     N double forks, a hundred at a time; nothing waits for
 *                    the grandchildren
 *   life sizes N     the terminal's size, at once and at each of N changes
 *   life args ...    how many arguments, and the last
 *   life spew BYTES  that much to stdout
 *   life deaf        ignore what can be ignored, say so, wait
 *   life hoard N M   N processes that hold M files each; how many in all; wait
 */
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BATCH = 100
};

static int
forks(long n)
{
	long made = 0;

	for (long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			pid = fork();
			if (pid == 0)
				_exit(0); /* an orphan, mostly */
			_exit(pid < 0);
		}
		if (pid > 0) {
			int status;

			if (waitpid(pid, &status, 0) == pid && status == 0)
				made++;
		}
		if (i % BATCH == BATCH - 1)
			fflush(stdout);
	}
	printf("%ld\n", made);
	return 0;
}

static int
sizes(long n)
{
	struct winsize w;
	sigset_t set;
	int sig;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGWINCH);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	for (long i = 0; i <= n; i++) {
		if (ioctl(0, TIOCGWINSZ, &w) != 0)
			return 1;
		printf("[%d %d]\n", w.ws_col, w.ws_row);
		fflush(stdout);
		if (i < n)
			(void)sigwait(&set, &sig);
	}
	return 0;
}

static int
spew(long n)
{
	static char bytes[65536];

	while (n > 0) {
		ssize_t got = write(1, bytes,
		    n < (long)sizeof(bytes) ? (size_t)n : sizeof(bytes));

		if (got < 0)
			return 1;
		n -= got;
	}
	return 0;
}

static _Noreturn void
deaf(void)
{
	for (int sig = 1; sig <= 64; sig++)
		(void)signal(sig, SIG_IGN);
	printf("deaf\n");
	fflush(stdout);
	for (;;)
		(void)pause();
}

/* A process of its own that opens n files, says how many and keeps them. */
static void
hold(int say, long n)
{
	struct rlimit most;
	long got = 0;

	if (fork() != 0)
		return;
	if (getrlimit(RLIMIT_NOFILE, &most) == 0) {
		most.rlim_cur = most.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &most);
	}
	while (got < n && open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		got++;
	if (write(say, &got, sizeof(got)) != sizeof(got))
		_exit(1);
	for (;;)
		(void)pause();
}

static int
hoard(long processes, long files)
{
	long all = 0;
	long got;
	int ends[2];

	if (pipe(ends) != 0)
		return 1;
	for (long i = 0; i < processes; i++)
		hold(ends[1], files);
	for (long i = 0; i < processes; i++)
		if (read(ends[0], &got, sizeof(got)) == sizeof(got))
			all += got;
	printf("%ld\n", all);
	fflush(stdout);
	for (;;)
		(void)pause();
}

int
main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

	if (strcmp(verb, "forks") == 0)
		return forks(n);
	if (strcmp(verb, "sizes") == 0)
		return sizes(n);
	if (strcmp(verb, "spew") == 0)
		return spew(n);
	if (strcmp(verb, "deaf") == 0)
		deaf();
	if (strcmp(verb, "hoard") == 0)
		return hoard(n, argc > 3 ? strtol(argv[3], NULL, 10) : 0);
	if (strcmp(verb, "args") == 0) {
		printf("%d %s\n", argc, argv[argc - 1]);
		return 0;
	}
	return 2;
}
