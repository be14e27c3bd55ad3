/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells: memory that this process shares with one child until its exec. It
 * holds the child's stack, the plan, and all that the plan points to:
 *
 *     | stack, grows down | plan | pointers and words ... |
 *
 * The rest of our memory the child does not have at all. Not a shared one,
 * because the kernel ends all who share the memory of a process that it ends
 * for want of memory, and we would be among them; nor a copied one, because
 * each page of ours would then fault at our next write. What a child can see
 * is a cell and the file that it runs.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/inner.h"

enum {
	STACK_BYTES = 16384,
	MAPS_BYTES = 16384, /* a line of /proc/self/maps is some 60 */
};

int
cell_open(struct cell *c, size_t bytes, struct fault *f)
{
	size_t size = STACK_BYTES + sizeof(struct child_plan) + bytes;
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return fault_sys(f, "cannot map memory for a child");
	c->at = at;
	c->size = size;
	cell_lend(c, false);
	return 0;
}

void
cell_lend(const struct cell *c, bool lent)
{
	(void)madvise(c->at, c->size, lent ? MADV_DOFORK : MADV_DONTFORK);
}

void
cell_close(struct cell *c)
{
	if (c->at)
		(void)munmap(c->at, c->size);
	*c = (struct cell){ 0 };
}

uint8_t *
cell_stack(const struct cell *c, size_t *size)
{
	*size = STACK_BYTES;
	return c->at;
}

struct child_plan *
cell_plan(const struct cell *c)
{
	return (void *)((uint8_t *)c->at + STACK_BYTES);
}

static size_t
count(char *const *list)
{
	size_t n = 0;

	while (list[n])
		n++;
	return n;
}

static size_t
bytes_of(char *const *list, size_t n)
{
	size_t bytes = (n + 1) * sizeof(*list);

	for (size_t i = 0; i < n; i++)
		bytes += strlen(list[i]) + 1;
	return bytes;
}

/* What follows it stays aligned. */
static size_t
jail_bytes(const struct child_plan *p)
{
	return p->jail ? (confine_agent_size() + 15) / 16 * 16 : 0;
}

size_t
cell_need(const struct child_plan *p)
{
	return jail_bytes(p) + bytes_of(p->argv, count(p->argv)) +
	    bytes_of(p->env, count(p->env)) + bytes_of(p->files, p->files_n) +
	    strlen(p->workdir) + 1;
}

/* Room at the end of what is taken; the need was checked before. */
static void *
take(uint8_t **at, size_t n)
{
	void *p = *at;

	*at += n;
	return p;
}

static char *
put_word(uint8_t **at, const char *word)
{
	size_t n = strlen(word) + 1;

	return memcpy(take(at, n), word, n);
}

static char **
put_list(uint8_t **pointers, uint8_t **words, char *const *list, size_t n)
{
	char **out = take(pointers, (n + 1) * sizeof(*out));

	for (size_t i = 0; i < n; i++)
		out[i] = put_word(words, list[i]);
	out[n] = NULL;
	return out;
}

bool
cell_fill(const struct cell *c, const struct child_plan *from)
{
	struct child_plan *to = cell_plan(c);
	struct child_plan p = *from;
	uint8_t *jail = (uint8_t *)(to + 1);
	uint8_t *pointers = jail + jail_bytes(from);
	size_t argc = count(from->argv);
	size_t envc = count(from->env);
	uint8_t *words =
	    pointers + (argc + envc + from->files_n + 3) * sizeof(char *);

	if (STACK_BYTES + sizeof(p) + cell_need(from) > c->size)
		return false;
	if (from->jail)
		p.jail = memcpy(jail, from->jail, confine_agent_size());
	p.argv = put_list(&pointers, &words, from->argv, argc);
	p.env = put_list(&pointers, &words, from->env, envc);
	p.files = put_list(&pointers, &words, from->files, from->files_n);
	p.workdir = put_word(&words, from->workdir);
	/* A spare on its way looks at what does not change: its descriptors,
	 * who it is, the jail and its place. */
	*to = p;
	return true;
}

/*
 * "start-end rw-p ...": private and writable is what a fork would copy. The
 * kernel told numbers and gets them back: none is a pointer of ours.
 */
static void
keep_line(const char *line)
{
	char *at;
	uintptr_t from = strtoull(line, &at, 16);
	uintptr_t to = *at == '-' ? strtoull(at + 1, &at, 16) : 0;

	if (to > from && strlen(at) > 5 && at[2] == 'w' && at[4] == 'p')
		(void)syscall(SYS_madvise, from, to - from, MADV_DONTFORK);
}

void
cell_keep_memory(void)
{
	char text[MAPS_BYTES];
	size_t n = 0;
	ssize_t got = 1;
	char *line = text;
	with_fd fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && got > 0 && n < sizeof(text) - 1) {
		got = read(fd, text + n, sizeof(text) - 1 - n);
		n += got > 0 ? (size_t)got : 0;
	}
	text[n] = '\0';
	for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = '\0';
		keep_line(line);
	}
}
