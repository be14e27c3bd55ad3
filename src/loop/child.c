/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children by pidfd and signals by signalfd: no handlers, so nothing here
 * ever runs between two statements of somebody else. Both are answered in
 * the tick's third phase, after the last words of a pipe have been read.
 */
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/base.h"
#include "loop/inner.h"

/* The status of waitpid() from what waitid() tells. */
static int
wait_status(const siginfo_t *info)
{
	if (info->si_code == CLD_EXITED)
		return (info->si_status & 0xff) << 8;
	return (info->si_status & 0x7f) |
	    (info->si_code == CLD_DUMPED ? 0x80 : 0);
}

static void
child_ready(struct watch *w, unsigned events)
{
	struct child *c = CONTAINER_OF(w, struct child, watch);
	siginfo_t info = { 0 };
	int status = -1;
	int r;

	(void)events;
	do
		r = waitid(P_PIDFD, (id_t)w->fd, &info, WEXITED | WNOHANG);
	while (r != 0 && errno == EINTR);
	if (r == 0 && info.si_pid == 0)
		return;
	if (r == 0)
		status = wait_status(&info);
	loop_child_forget(c);
	c->exited(c, status);
}

int
loop_child(struct loop *l, struct child *c, pid_t pid, struct fault *f)
{
	int fd;

	BUG_IF(c->pid != 0 || !c->exited || pid <= 0);
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return fault_sys(f, "cannot open pidfd of %d", (int)pid);
	c->watch.ready = child_ready;
	if (loop_watch(l, &c->watch, fd, LOOP_IN, f) != 0) {
		(void)close(fd);
		return -1;
	}
	c->pid = pid;
	return 0;
}

void
loop_child_forget(struct child *c)
{
	int fd = c->watch.fd;

	if (c->pid == 0)
		return;
	loop_unwatch(&c->watch);
	fd_close(&fd);
	c->pid = 0;
}

static void
signals_ready(struct watch *w, unsigned events)
{
	struct loop *l = w->loop;
	struct signalfd_siginfo info;

	(void)events;
	while (loop_is_watched(w) &&
	    read(w->fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		struct taker *t = &l->takers[info.ssi_signo % NSIG];

		if (t->taken)
			t->taken(t->owner, (int)info.ssi_signo);
	}
}

int
loop_signal(struct loop *l, int sig, void (*taken)(void *owner, int sig),
    void *owner, struct fault *f)
{
	int fd;

	BUG_IF(sig <= 0 || sig >= NSIG || l->takers[sig].taken);
	sigaddset(&l->signal_mask, sig);
	if (sigprocmask(SIG_BLOCK, &l->signal_mask, NULL) != 0)
		return fault_sys(f, "cannot block signal %d", sig);
	fd = signalfd(l->signals.fd, &l->signal_mask,
	    SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return fault_sys(f, "cannot take signal %d", sig);
	l->takers[sig] = (struct taker){ taken, owner };
	if (loop_is_watched(&l->signals))
		return 0;
	l->signals.ready = signals_ready;
	if (loop_watch(l, &l->signals, fd, LOOP_IN, f) == 0)
		return 0;
	(void)close(fd);
	return -1;
}

void
loop_signals_close(struct loop *l)
{
	int fd = l->signals.fd;

	loop_unwatch(&l->signals);
	fd_close(&fd);
}

bool
loop_is_child_watch(const struct watch *w)
{
	return w->ready == child_ready || w->ready == signals_ready;
}
