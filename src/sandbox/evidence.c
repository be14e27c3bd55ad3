/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /proc says of a process. Its own folder is held open, so that nothing
 * an agent does to paths comes in between. A program is named as the kernel
 * prints its path, which is from the agent's root: this process shares it.
 */
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/evidence.h"

#define GONE " (deleted)"

enum {
	STAT_TEXT = 1024,
	STAT_PARENT = 4, /* fields of proc_pid_stat(5) */
	STAT_START = 22,
};

static int
read_text(int proc, const char *path, char *text, size_t size, struct fault *f)
{
	with_fd fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;

	if (n < 0)
		return fault_sys(f, "cannot read /proc/%s", path);
	text[n] = '\0';
	return 0;
}

/* Number in the field, counted from 1; the name in the second one may hold
 * blanks and brackets, so counting begins behind the last bracket. */
static bool
stat_field(const char *text, unsigned field, uint64_t *out)
{
	const char *at = strrchr(text, ')');
	struct span rest;

	if (!at)
		return false;
	rest = span_str(at + 1);
	for (unsigned i = 2; i < field; i++)
		rest = span_from(rest, span_find(rest, ' ') + 1);
	rest.len = span_find(rest, ' ');
	return num_parse(rest, UINT64_MAX, out);
}

static int
read_stat(const struct eyes *eyes, pid_t pid, pid_t *parent, uint64_t *start,
    struct fault *f)
{
	char text[STAT_TEXT];
	char path[32];
	uint64_t up;

	(void)text_fmt(path, sizeof(path), "%d/stat", (int)pid);
	if (read_text(eyes->proc, path, text, sizeof(text), f) != 0)
		return -1;
	if (!stat_field(text, STAT_PARENT, &up) ||
	    !stat_field(text, STAT_START, start))
		return fault_set(f, FAULT_PROTOCOL, "/proc/%s is not known",
		    path);
	*parent = (pid_t)up;
	return 0;
}

/* The process of a thread. */
static int
read_group(const struct eyes *eyes, pid_t tid, pid_t *pid, struct fault *f)
{
	static const char key[] = "\nTgid:\t";
	char text[STAT_TEXT];
	char path[32];
	uint64_t n = 0;
	const char *at;

	(void)text_fmt(path, sizeof(path), "%d/status", (int)tid);
	if (read_text(eyes->proc, path, text, sizeof(text), f) != 0)
		return -1;
	at = strstr(text, key);
	if (at) {
		struct span digits = span_str(at + sizeof(key) - 1);

		digits.len = span_find(digits, '\n');
		if (!num_parse(digits, INT32_MAX, &n))
			n = 0;
	}
	if (n == 0)
		return fault_set(f, FAULT_PROTOCOL, "/proc/%s is not known",
		    path);
	*pid = (pid_t)n;
	return 0;
}

/* --- the executable */
static bool
is_same(const struct stat *a, const struct program *p)
{
	return a->st_dev == p->device && a->st_ino == p->inode;
}

/* The link's text; the arena's. Empty when it cannot be read. */
static const char *
read_name(const struct eyes *eyes, const char *exe, struct arena *a)
{
	NOT_ZEROED char text[LIMIT_PATH + sizeof(GONE)];
	ssize_t n = readlinkat(eyes->proc, exe, text, sizeof(text));
	char *name = NULL;

	if (n > 0 && (size_t)n < sizeof(text))
		name = arena_str(a, span_of(text, (size_t)n));
	return name ? name : "";
}

/* Has the name another file, or none, then which of them? */
static void
judge_name(struct program *p, struct arena *a)
{
	struct span name = span_str(p->path);
	size_t tail = sizeof(GONE) - 1;
	struct stat st;

	if (name.len > 0 && name.ptr[0] == '/' && lstat(p->path, &st) == 0 &&
	    is_same(&st, p)) {
		p->state = PROGRAM_FILE;
		return;
	}
	if (name.len > tail &&
	    span_is(span_from(name, name.len - tail), GONE)) {
		char *cut;

		name.len -= tail;
		cut = arena_str(a, name);
		p->path = cut ? cut : "";
		p->state = span_starts(name, "/memfd:") ? PROGRAM_MEMFD
							: PROGRAM_DELETED;
		return;
	}
	p->state = name.len > 0 ? PROGRAM_CHANGED : PROGRAM_UNREADABLE;
}

/* A file below the folder, by its path from the root; -1 with errno. */
static int
open_layer(int folder, const char *path)
{
	return fd_open_under(folder, path + 1, O_PATH | O_NOFOLLOW,
	    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

/*
 * A file of the root that is not in the writable layer is the image's: the
 * union neither follows a rename of a folder nor copies without a trace
 * (redirect_dir and metacopy are off).
 *
 * It may be renamed while we look, where a folder of the agent's hides the
 * image's. So it must be as the image's file is, whose last change the agent
 * cannot give to a file of its own: no call sets that time.
 */
static bool
is_of_image(const struct eyes *eyes, const struct program *p, int file,
    const struct stat *st)
{
	struct statfs fs;
	struct stat image;
	with_fd in_upper = -1;
	with_fd in_image = -1;

	if (eyes->upper < 0 || p->state != PROGRAM_FILE ||
	    fstatfs(file, &fs) != 0 || fs.f_type != OVERLAYFS_SUPER_MAGIC)
		return false;
	in_upper = open_layer(eyes->upper, p->path);
	if (in_upper >= 0 || errno != ENOENT)
		return false;
	in_image = open_layer(eyes->image, p->path);
	return in_image >= 0 && fstat(in_image, &image) == 0 &&
	    S_ISREG(image.st_mode) && image.st_size == st->st_size &&
	    image.st_ctim.tv_sec == st->st_ctim.tv_sec &&
	    image.st_ctim.tv_nsec == st->st_ctim.tv_nsec;
}

int
evidence_program(const struct eyes *eyes, pid_t tid, struct arena *a,
    struct program *p, int *file, struct fault *f)
{
	char exe[32];
	struct stat st;
	with_fd fd = -1;
	with_fd place = -1;

	*p = (struct program){ .path = "", .state = PROGRAM_UNREADABLE };
	if (file)
		*file = -1;
	(void)text_fmt(exe, sizeof(exe), "%d/exe", (int)tid);
	place = openat(eyes->proc, exe, O_PATH | O_CLOEXEC);
	if (place < 0 && (errno == ENOENT || errno == ESRCH))
		return fault_sys(f, "thread %d has ended", (int)tid);
	p->path = read_name(eyes, exe, a);
	if (place < 0 || fstat(place, &st) != 0)
		return 0;
	p->device = st.st_dev;
	p->inode = st.st_ino;
	judge_name(p, a);
	if (!file)
		return 0;
	p->in_image = is_of_image(eyes, p, place, &st);
	if (p->state != PROGRAM_FILE || p->in_image)
		return 0;
	fd = openat(eyes->proc, exe, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0 || !is_same(&st, p) ||
	    !S_ISREG(st.st_mode))
		p->state = PROGRAM_UNREADABLE;
	else
		*file = fd_take(&fd);
	return 0;
}

/*
 * One step up. A parent may end meanwhile and its number be another's: it is
 * taken when it is the same one before and after its name was read.
 */
static int
take_ancestor(const struct eyes *eyes, struct evidence *e, pid_t pid,
    pid_t *parent)
{
	struct ancestor *a = &e->ancestors[e->ancestors_n];
	struct fault f = { 0 };
	struct program p;
	uint64_t before = 0;
	uint64_t after = 0;

	if (read_stat(eyes, pid, parent, &before, &f) != 0 ||
	    evidence_program(eyes, pid, &e->arena, &p, NULL, &f) != 0 ||
	    read_stat(eyes, pid, parent, &after, &f) != 0 || before != after)
		return -1;
	a->pid = pid;
	a->path = p.path;
	e->ancestors_n++;
	return p.path[0] ? 0 : -1;
}

/* Up to this process, which is the root of them all. */
static void
take_ancestors(const struct eyes *eyes, struct evidence *e, pid_t parent)
{
	while (parent > 1 && parent != getpid()) {
		if (e->ancestors_n == EVIDENCE_ANCESTORS ||
		    take_ancestor(eyes, e, parent, &parent) != 0) {
			e->is_cut = true;
			return;
		}
	}
}

/* --- the bytes that are hashed */
/* The writable layer's own file: what the union refuses and counts is its own
 * affair. -1 with errno. */
static int
open_bytes(const struct eyes *eyes, const char *path, int file)
{
	struct statfs fs;

	if (fstatfs(file, &fs) != 0)
		return -1;
	if (eyes->upper < 0 || fs.f_type != OVERLAYFS_SUPER_MAGIC)
		return fcntl(file, F_DUPFD_CLOEXEC, 0);
	return fd_open_under(eyes->upper, path + 1,
	    O_RDONLY | O_NONBLOCK | O_NOFOLLOW,
	    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

/*
 * Put a lease on e->file, which is what the union shows in its place: the path
 * may have led to another one meanwhile, but whose name was changed since
 * `then` was changed since then.
 *
 * That what runs cannot be opened for writing is not enough: the union knows
 * nothing of a shared mapping from before the exec. A lease is refused while
 * there is one, and makes who would open the file for writing wait.
 */
static bool
pin(struct evidence *e, int shown, const struct timespec *then)
{
	struct hash_key union_key;

	/* Who is asked to give it up is told by a signal: one of no effect. */
	return fcntl(e->file, F_SETSIG, SIGURG) == 0 &&
	    fcntl(e->file, F_SETLEASE, F_RDLCK) == 0 &&
	    hash_key_read(e->file, &e->key) &&
	    hash_key_read(shown, &union_key) && e->key.size == union_key.size &&
	    e->key.ctime_s == union_key.ctime_s &&
	    e->key.ctime_ns == union_key.ctime_ns &&
	    hash_key_settled(&e->key, then);
}

void
evidence_let_go(struct evidence *e)
{
	/* A child before its exec has it open too. */
	if (e->file >= 0)
		(void)fcntl(e->file, F_SETLEASE, F_UNLCK);
	fd_close(&e->file);
}

static void
take_bytes(const struct eyes *eyes, struct evidence *e, int shown,
    const struct timespec *then)
{
	e->file = open_bytes(eyes, e->program.path, shown);
	if (e->file >= 0 && pin(e, shown, then))
		return;
	evidence_let_go(e);
	e->program.state = PROGRAM_CHANGED;
	e->is_settled = false;
}

int
evidence_take(const struct eyes *eyes, pid_t tid, struct evidence *e,
    struct fault *f)
{
	struct timespec then;
	pid_t parent = 0;
	with_fd shown = -1;

	*e = (struct evidence){ .file = -1, .is_settled = true };
	arena_init(&e->arena, EVIDENCE_BYTES);
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &then);
	if (read_group(eyes, tid, &e->pid, f) != 0 ||
	    read_stat(eyes, e->pid, &parent, &e->start_ticks, f) != 0 ||
	    evidence_program(eyes, tid, &e->arena, &e->program, &shown, f) != 0)
		return -1;
	if (shown >= 0)
		take_bytes(eyes, e, shown, &then);
	take_ancestors(eyes, e, parent);
	return 0;
}

void
evidence_release(struct evidence *e)
{
	evidence_let_go(e);
	arena_release(&e->arena);
}
