/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program has to be made of to use rig.h, in its one source file. By
 * its name it is the test or the gateway; its own clock_gettime() and
 * timerfd_settime() take the time from a page that the test writes, so no
 * time passes but what the test lets pass; and its own execve() is, for the
 * gateway's keeper, the stand-in of rig_keeper.c.
 */
#ifndef TESTS_LIB_RIG_PROGRAM_H
#define TESTS_LIB_RIG_PROGRAM_H

#include <sys/syscall.h>
#include <sys/timerfd.h>

#include <time.h>
#include <unistd.h>

#include "rig.h"

int
clock_gettime(clockid_t id, struct timespec *t)
{
	const struct rig_clock *c = rig_clock();
	int64_t ms;

	if (c == NULL)
		return (int)syscall(SYS_clock_gettime, id, t);
	ms = id == CLOCK_REALTIME ? c->wall_ms : c->mono_ms;
	t->tv_sec = ms / 1000;
	t->tv_nsec = ms % 1000 * 1000000;
	return 0;
}

/* Timers are looked at in each tick; what has to wake one is a call. */
int
timerfd_settime(int fd, int flags, const struct itimerspec *when,
    struct itimerspec *before)
{
	if (rig_clock() == NULL)
		return (
		    int)syscall(SYS_timerfd_settime, fd, flags, when, before);
	return 0;
}

int
execve(const char *path, char *const argv[], char *const env[])
{
	size_t n = strlen(path);

	if (n >= 13 && strcmp(path + n - 13, "/nacre-keeper") == 0)
		rig_keeper_main(argv);
	return (int)syscall(SYS_execve, path, argv, env);
}

#endif
