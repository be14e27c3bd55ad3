/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds a socket: /proc/PID/task/TID/fd of all, as a thread may have
 * descriptors of its own. There is no other way, so it is done for requests
 * to a door only, and a slice a tick. A descriptor on its way in a message is
 * nobody's until it is taken, and is seen at the next lookup.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "sandbox/evidence.h"

static DIR *
folder_at(int at, const char *path)
{
	with_fd fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	if (d)
		(void)fd_take(&fd);
	return d;
}

static void
folder_close(DIR **d)
{
	if (*d)
		(void)closedir(*d);
	*d = NULL;
}

/* The process ended: its name is not there, or it ended behind its name. */
static bool
is_gone(void)
{
	return errno == ENOENT || errno == ESRCH;
}

/* The next entry that is a number; false at the end, which closes it. */
static bool
next_number(DIR **d, int *n, bool *failed)
{
	for (;;) {
		const struct dirent *e;
		uint64_t value;

		errno = 0;
		/* Of our own folder, in our one thread. */
		/* NOLINTNEXTLINE(concurrency-mt-unsafe) */
		e = readdir(*d);
		if (!e) {
			*failed |= errno != 0 && !is_gone();
			folder_close(d);
			return false;
		}
		if (num_parse(span_str(e->d_name), INT32_MAX, &value)) {
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
	char want[64];
	ssize_t n;

	(void)text_fmt(name, sizeof(name), "%d", fd);
	n = readlinkat(dirfd(l->files), name, link, sizeof(link));
	(void)text_fmt(want, sizeof(want), "socket:[%llu]",
	    (unsigned long long)l->socket);
	return n > 0 && span_is(span_of(link, (size_t)n), want);
}

static bool
is_own(const struct lookups *ls, const struct program *p)
{
	return ls->own_inode != 0 && p->inode == ls->own_inode &&
	    p->device == ls->own_device;
}

static void
count_holder(struct lookups *ls, struct lookup *l)
{
	struct holder *h = &l->holders[l->n];
	struct fault f = { 0 };

	l->is_counted = true;
	if (l->n == EVIDENCE_HOLDERS) {
		l->is_cut = true;
		return;
	}
	h->pid = l->pid;
	/* One that has ended since holds nothing any more. */
	if (evidence_program(ls->eyes, l->pid, &l->arena, &h->program, NULL,
		&f) != 0 ||
	    is_own(ls, &h->program))
		return;
	l->n++;
}

/* One descriptor, or one step to where there are some. False at the end. */
static bool
step(struct lookups *ls, struct lookup *l)
{
	char path[32];
	bool failed = false;
	int n;

	if (l->files) {
		if (l->is_counted)
			folder_close(&l->files);
		else if (next_number(&l->files, &n, &failed) && is_socket(l, n))
			count_holder(ls, l);
	} else if (l->threads) {
		if (!l->is_counted && next_number(&l->threads, &n, &failed)) {
			(void)text_fmt(path, sizeof(path), "%d/fd", n);
			l->files = folder_at(dirfd(l->threads), path);
			failed |= !l->files && !is_gone();
		} else {
			folder_close(&l->threads);
		}
	} else if (next_number(&l->processes, &n, &failed)) {
		l->pid = (pid_t)n;
		l->is_counted = false;
		(void)text_fmt(path, sizeof(path), "%d/task", n);
		if (n != getpid())
			l->threads = folder_at(ls->eyes->proc, path);
		failed |= n != getpid() && !l->threads && !is_gone();
	}
	l->is_cut |= failed;
	return l->processes != NULL;
}

static void
lookup_free(struct lookup *l)
{
	folder_close(&l->files);
	folder_close(&l->threads);
	folder_close(&l->processes);
	arena_release(&l->arena);
	free(l);
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
	if (!goes_on) {
		ls->first = l->next;
		ls->n--;
		l->done(l);
		lookup_free(l);
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
		lookup_free(l);
	}
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
	l = must_alloc(sizeof(*l));
	l->socket = socket;
	l->done = done;
	l->owner = owner;
	arena_init(&l->arena, EVIDENCE_HOLDERS * LIMIT_PATH);
	l->processes = folder_at(ls->eyes->proc, ".");
	if (!l->processes) {
		(void)fault_sys(f, "cannot list the processes");
		lookup_free(l);
		return NULL;
	}
	while (*last)
		last = &(*last)->next;
	*last = l;
	ls->n++;
	loop_later(ls->loop, &ls->turn);
	return l;
}
