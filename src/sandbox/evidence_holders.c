/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds a socket: /proc/PID/fd and /proc/PID/task/TID/fd of all, as a
 * thread may have descriptors of its own. There is no other way, so it is done
 * for requests to a door only, and a slice a tick. A descriptor on its way in a
 * message is nobody's until it is taken, and is seen at the next lookup.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/evidence.h"

/* Links of a folder of threads: two are its own. */
#define LINKS_OF_ONE_THREAD 3

/* What getdents64(2) gives. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t size;
	uint8_t type;
	char name[];
};

static bool
listing_is_open(const struct listing *d)
{
	return d->fd >= 0;
}

static bool
listing_open(struct listing *d, int at, const char *path)
{
	d->at = d->end = 0;
	d->fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return listing_is_open(d);
}

/* The process ended: its name is not there, or it ended behind its name. */
static bool
is_gone(void)
{
	return errno == ENOENT || errno == ESRCH;
}

static bool
listing_fill(struct listing *d)
{
	long n = syscall(SYS_getdents64, d->fd, d->bytes, sizeof(d->bytes));

	d->at = 0;
	d->end = n > 0 ? (size_t)n : 0;
	return n >= 0;
}

/* The next entry that is a number; false at the end, which closes it. */
static bool
next_number(struct listing *d, int *n, bool *failed)
{
	for (;;) {
		struct entry e;
		const char *name;
		uint64_t value;

		if (d->at == d->end) {
			*failed |= !listing_fill(d) && !is_gone();
			if (d->end == 0) {
				fd_close(&d->fd);
				return false;
			}
		}
		memcpy(&e, d->bytes + d->at, sizeof(e));
		name = (const char *)d->bytes + d->at +
		    offsetof(struct entry, name);
		d->at += e.size;
		if (num_parse(span_str(name), INT32_MAX, &value)) {
			*n = (int)value;
			return true;
		}
	}
}

static bool
is_socket(const struct lookup *l, int fd)
{
	char name[16];
	char link[64];
	ssize_t n;

	(void)text_fmt(name, sizeof(name), "%d", fd);
	n = readlinkat(l->files.fd, name, link, sizeof(link));
	return n > 0 && span_is(span_of(link, (size_t)n), l->link);
}

static bool
is_own(const struct lookups *ls, uint64_t device, uint64_t inode)
{
	return ls->own_inode != 0 && inode == ls->own_inode &&
	    device == ls->own_device;
}

static void
count_holder(struct lookups *ls, struct lookup *l)
{
	struct holder *h = &l->holders[l->n];
	struct fault f = { 0 };

	if (l->n == EVIDENCE_HOLDERS) {
		l->is_cut = true;
		l->is_counted = true;
		return;
	}
	h->pid = l->pid;
	/* Of the thread that has it: the first one may have ended, and then has
	 * no program. One that has ended since holds nothing any more, but the
	 * others may. */
	if (evidence_program(ls->eyes, l->tid, &l->arena, &h->program, NULL,
		&f) != 0)
		return;
	l->is_counted = true;
	if (!is_own(ls, h->program.device, h->program.inode))
		l->n++;
}

/* Is it a child of ours before its exec? */
static bool
runs_own(const struct lookups *ls, pid_t pid)
{
	char path[32];
	struct stat st;

	(void)text_fmt(path, sizeof(path), "%d/exe", (int)pid);
	return fstatat(ls->eyes->proc, path, &st, 0) == 0 &&
	    is_own(ls, st.st_dev, st.st_ino);
}

/* The descriptors of its first thread, which are those of all as a rule. */
static void
open_process(struct lookups *ls, struct lookup *l, pid_t pid, bool *failed)
{
	char path[32];

	l->pid = l->tid = pid;
	l->is_counted = false;
	l->has_more = pid != getpid() && !runs_own(ls, pid);
	(void)text_fmt(path, sizeof(path), "%d/fd", (int)pid);
	if (l->has_more && !listing_open(&l->files, ls->eyes->proc, path))
		*failed |= !is_gone();
}

/* Only now: a thread that was made while the first one's were looked at may
 * have taken them along. */
static void
open_threads(struct lookups *ls, struct lookup *l, bool *failed)
{
	char path[32];
	struct stat st;

	l->has_more = false;
	(void)text_fmt(path, sizeof(path), "%d/task", (int)l->pid);
	if (fstatat(ls->eyes->proc, path, &st, 0) == 0 &&
	    st.st_nlink <= LINKS_OF_ONE_THREAD)
		return;
	*failed |=
	    !listing_open(&l->threads, ls->eyes->proc, path) && !is_gone();
}

/* One descriptor, or one step to where there are some. False at the end. */
static bool
step(struct lookups *ls, struct lookup *l)
{
	char path[32];
	bool failed = false;
	int n;

	if (listing_is_open(&l->files)) {
		if (l->is_counted)
			fd_close(&l->files.fd);
		else if (next_number(&l->files, &n, &failed) && is_socket(l, n))
			count_holder(ls, l);
	} else if (l->has_more && !l->is_counted) {
		open_threads(ls, l, &failed);
	} else if (listing_is_open(&l->threads)) {
		if (!l->is_counted && next_number(&l->threads, &n, &failed)) {
			l->tid = (pid_t)n;
			(void)text_fmt(path, sizeof(path), "%d/fd", n);
			failed |=
			    !listing_open(&l->files, l->threads.fd, path) &&
			    !is_gone();
		} else {
			fd_close(&l->threads.fd);
		}
	} else if (next_number(&l->processes, &n, &failed)) {
		open_process(ls, l, (pid_t)n, &failed);
	}
	l->is_cut |= failed;
	return listing_is_open(&l->processes);
}

static void
lookup_end(struct lookups *ls, struct lookup *l)
{
	fd_close(&l->files.fd);
	fd_close(&l->threads.fd);
	fd_close(&l->processes.fd);
	arena_release(&l->arena);
	if (ls->kept)
		free(l);
	else
		ls->kept = l;
}

static struct lookup *
lookup_new(struct lookups *ls)
{
	struct lookup *l = ls->kept ? ls->kept : must_alloc(sizeof(*l));

	ls->kept = NULL;
	l->n = 0;
	l->pid = l->tid = 0;
	l->steps = 0;
	l->is_cut = l->is_counted = l->has_more = false;
	l->next = NULL;
	l->processes.fd = l->threads.fd = l->files.fd = -1;
	arena_init(&l->arena, EVIDENCE_HOLDERS * LIMIT_PATH);
	return l;
}

static void
look(struct deferred *d)
{
	struct lookups *ls = CONTAINER_OF(d, struct lookups, turn);
	struct lookup *l = ls->first;
	bool goes_on = true;

	if (!l)
		return;
	for (int i = 0; i < EVIDENCE_LINKS && goes_on; i++)
		goes_on = step(ls, l);
	l->steps += EVIDENCE_LINKS;
	/* An agent's threads, each with all its descriptors, are millions:
	 * nobody is told whose they are, and the next may look. */
	if (goes_on && l->steps >= EVIDENCE_STEPS) {
		l->is_cut = true;
		goes_on = false;
	}
	if (!goes_on) {
		ls->first = l->next;
		ls->n--;
		l->done(l);
		lookup_end(ls, l);
	}
	if (ls->first)
		loop_later(ls->loop, &ls->turn);
}

void
lookups_init(struct lookups *ls, struct loop *l, const struct eyes *eyes)
{
	*ls = (struct lookups){ .loop = l,
		.eyes = eyes,
		.turn = { .run = look } };
}

int
lookups_skip_own(struct lookups *ls, struct fault *f)
{
	struct stat st;
	with_fd exe = openat(ls->eyes->proc, "self/exe", O_PATH | O_CLOEXEC);

	if (exe < 0 || fstat(exe, &st) != 0)
		return fault_sys(f, "cannot look at the own executable");
	ls->own_device = st.st_dev;
	ls->own_inode = st.st_ino;
	return 0;
}

void
lookups_release(struct lookups *ls)
{
	loop_deferred_drop(ls->loop, &ls->turn);
	while (ls->first) {
		struct lookup *l = ls->first;

		ls->first = l->next;
		lookup_end(ls, l);
	}
	free(ls->kept);
	ls->kept = NULL;
	ls->n = 0;
}

struct lookup *
lookup_start(struct lookups *ls, uint64_t socket,
    void (*done)(struct lookup *l), void *owner, struct fault *f)
{
	struct lookup **last = &ls->first;
	struct lookup *l;

	if (ls->n == EVIDENCE_LOOKUPS) {
		(void)fault_set(f, FAULT_BUSY, "%d lookups run already",
		    EVIDENCE_LOOKUPS);
		return NULL;
	}
	l = lookup_new(ls);
	(void)text_fmt(l->link, sizeof(l->link), "socket:[%llu]",
	    (unsigned long long)socket);
	l->socket = socket;
	l->done = done;
	l->owner = owner;
	if (!listing_open(&l->processes, ls->eyes->proc, ".")) {
		(void)fault_sys(f, "cannot list the processes");
		lookup_end(ls, l);
		return NULL;
	}
	while (*last)
		last = &(*last)->next;
	*last = l;
	ls->n++;
	loop_later(ls->loop, &ls->turn);
	return l;
}
