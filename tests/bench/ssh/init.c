/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PID 1 of the VM in which ssh is measured: as little as there can be. The
 * port is a byte stream to one client after the other; each gets an sshd of
 * its own, in inetd's way, as the agent. When a client has gone the port hangs
 * up, its sshd ends, and the next one is waited for.
 */
#define _GNU_SOURCE
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum {
	AGENT = 1000
};

static void
must(int r, const char *what)
{
	if (r >= 0)
		return;
	perror(what);
	for (;;)
		(void)pause();
}

static void
serve(int port)
{
	static char *const argv[] = { "/usr/sbin/sshd", "-i", "-e", "-f",
		"/etc/ssh/sshd_config", NULL };
	static char *const env[] = { "PATH=/bin", NULL };

	(void)setsid();
	must(dup2(port, 0), "dup2");
	must(dup2(port, 1), "dup2");
	must(setgroups(0, NULL), "setgroups");
	must(setresgid(AGENT, AGENT, AGENT), "setresgid");
	must(setresuid(AGENT, AGENT, AGENT), "setresuid");
	(void)execve(argv[0], argv, env);
	must(-1, "execve");
}

int
main(void)
{
	struct pollfd p = { .events = POLLIN };

	must(mount("dev", "/dev", "devtmpfs", 0, NULL), "/dev");
	must(open("/dev/console", O_RDWR), "console");
	must(dup2(0, 1), "dup2");
	must(dup2(0, 2), "dup2");
	must(mount("proc", "/proc", "proc", 0, NULL), "/proc");
	must(mkdir("/dev/pts", 0755), "mkdir");
	must(mount("pts", "/dev/pts", "devpts", 0, "mode=0620,ptmxmode=0666"),
	    "/dev/pts");
	must(chmod("/dev/ptmx", 0666), "ptmx");
	p.fd = open("/dev/vport0p1", O_RDWR | O_CLOEXEC);
	must(p.fd, "port");
	for (;;) {
		char c;
		pid_t pid;

		/* Without a client it hangs up, which poll() cannot wait out. */
		while (poll(&p, 1, 1000) < 1 || (p.revents & POLLHUP))
			(void)usleep(1000);
		pid = fork();
		if (pid == 0)
			serve(p.fd);
		while (waitpid(-1, NULL, 0) != pid) {
		}
		(void)kill(-1, SIGKILL);
		while (waitpid(-1, NULL, WNOHANG) > 0) {
		}
		/* What the last client left. */
		(void)fcntl(p.fd, F_SETFL, O_NONBLOCK);
		while (read(p.fd, &c, 1) == 1) {
		}
		(void)fcntl(p.fd, F_SETFL, 0);
	}
}
