/* SPDX-License-Identifier: Apache-2.0 */
/* Appending, and finding the end again after a restart. */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "gateway/journal.h"
#include "gateway/journal_inner.h"

static void
put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static void
put64(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t
get(const uint8_t *p, int n)
{
	uint64_t v = 0;

	for (int i = 0; i < n; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

void
journal_parse_head(const uint8_t head[JOURNAL_HEAD], struct journal_record *r)
{
	memset(r, 0, sizeof(*r));
	if (get(head, 4) != JOURNAL_MAGIC)
		return;
	r->data.len = (size_t)get(head + 4, 4);
	r->launch = get(head + 8, 8);
	r->offset = get(head + 16, 8);
	r->time_ms = (int64_t)get(head + 24, 8);
	r->is_error = get(head + 32, 4) == 1;
}

bool
journal_parse(struct span s, struct journal_record *r, size_t *used)
{
	if (s.len < JOURNAL_HEAD)
		return false;
	journal_parse_head(s.ptr, r);
	if (r->launch == 0 || r->data.len > JOURNAL_DATA ||
	    s.len - JOURNAL_HEAD < r->data.len)
		return false;
	r->data.ptr = s.ptr + JOURNAL_HEAD;
	*used = JOURNAL_HEAD + r->data.len;
	return true;
}

static void
format_head(const struct journal_record *r, uint8_t head[JOURNAL_HEAD])
{
	memset(head, 0, JOURNAL_HEAD);
	put32(head, JOURNAL_MAGIC);
	put32(head + 4, (uint32_t)r->data.len);
	put64(head + 8, r->launch);
	put64(head + 16, r->offset);
	put64(head + 24, (uint64_t)r->time_ms);
	put32(head + 32, r->is_error);
}

static int
open_log(const struct gateway *g, const char *id, const char *name, int flags,
    int *fd, struct fault *f)
{
	char path[LIMIT_PATH];

	if (!sandbox_path(g, id, name, path, sizeof(path)))
		return fault_set(f, FAULT_SYSTEM, "the path is too long");
	*fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*fd < 0 && (flags & O_CREAT || errno != ENOENT))
		return fault_sys(f, "cannot open '%s'", path);
	return 0;
}

int
journal_segment(const struct gateway *g, const char *id, const char *name,
    int *fd, struct fault *f)
{
	return open_log(g, id, name, O_RDONLY, fd, f);
}

/* Walk the records of a segment: where the last whole one ends, and where
 * that launch's output does. */
static int
scan(int fd, uint64_t launch, uint64_t *whole, uint64_t *end, struct fault *f)
{
	uint8_t head[JOURNAL_HEAD];
	struct stat st;
	uint64_t at = 0;

	if (fstat(fd, &st) < 0)
		return fault_sys(f, "cannot look at a log");
	while (pread(fd, head, sizeof(head), (off_t)at) == JOURNAL_HEAD) {
		uint64_t n = get(head + 4, 4);

		if (get(head, 4) != JOURNAL_MAGIC || n > JOURNAL_DATA ||
		    at + JOURNAL_HEAD + n > (uint64_t)st.st_size)
			break;
		if (get(head + 8, 8) == launch)
			*end = get(head + 16, 8) + n;
		at += JOURNAL_HEAD + n;
	}
	*whole = at;
	return 0;
}

int
journal_open(const struct gateway *g, struct journal *j, const char *id,
    uint64_t launch, struct fault *f)
{
	uint64_t whole;
	with_fd old = -1;

	memset(j, 0, sizeof(*j));
	j->launch = launch;
	(void)text_copy(j->id, sizeof(j->id), span_str(id));
	if (journal_segment(g, id, "log.1", &old, f) < 0)
		return -1;
	if (old >= 0 && scan(old, launch, &whole, &j->end, f) < 0)
		return -1;
	if (open_log(g, id, "log", O_RDWR | O_CREAT, &j->fd, f) < 0)
		return -1;
	j->is_open = true;
	/* A record that was never finished is written over. */
	if (scan(j->fd, launch, &j->size, &j->end, f) < 0 ||
	    ftruncate(j->fd, (off_t)j->size) < 0) {
		journal_close(j);
		return f->code != FAULT_NONE ? -1
					     : fault_sys(f, "cannot cut a log");
	}
	return 0;
}

void
journal_close(struct journal *j)
{
	if (j->is_open)
		fd_close(&j->fd);
	j->is_open = false;
}

/* Also after a rotation that could not be ended: nothing is lost by it. */
static int
reopen(const struct gateway *g, struct journal *j, struct fault *f)
{
	uint64_t end = j->end;

	if (open_log(g, j->id, "log", O_RDWR | O_CREAT, &j->fd, f) < 0)
		return -1;
	j->is_open = true;
	if (scan(j->fd, j->launch, &j->size, &end, f) == 0)
		return 0;
	journal_close(j);
	return -1;
}

static int
rotate(const struct gateway *g, struct journal *j, struct fault *f)
{
	char from[LIMIT_PATH];
	char to[LIMIT_PATH];

	if (!sandbox_path(g, j->id, "log", from, sizeof(from)) ||
	    !sandbox_path(g, j->id, "log.1", to, sizeof(to)))
		return fault_set(f, FAULT_SYSTEM, "the path is too long");
	if (rename(from, to) < 0)
		return fault_sys(f, "cannot rename '%s'", from);
	journal_close(j);
	return reopen(g, j, f);
}

static int
write_record(struct journal *j, const struct journal_record *r, struct fault *f)
{
	uint8_t head[JOURNAL_HEAD];

	if (lseek(j->fd, (off_t)j->size, SEEK_SET) < 0)
		return fault_sys(f, "cannot write a log");
	format_head(r, head);
	if (fd_write_all(j->fd, head, sizeof(head), f) < 0)
		return -1;
	return fd_write_all(j->fd, r->data.ptr, r->data.len, f);
}

int
journal_append(const struct gateway *g, struct journal *j,
    const struct journal_record *r, struct fault *f)
{
	struct journal_record rest = *r;

	if (r->data.len > JOURNAL_DATA)
		return fault_set(f, FAULT_INVALID, "a log chunk is too long");
	if (r->offset > INT64_MAX)
		return fault_field(f, "offset", "is no place in a log");
	if (j->end > r->offset) {
		uint64_t known = j->end - r->offset;

		if (known >= r->data.len)
			return 0;
		rest.offset = j->end;
		rest.data = span_from(r->data, (size_t)known);
	}
	rest.launch = j->launch;
	if (!j->is_open && reopen(g, j, f) < 0)
		return -1;
	if (j->size + JOURNAL_HEAD + rest.data.len > JOURNAL_SEGMENT &&
	    j->size > 0 && rotate(g, j, f) < 0)
		return -1;
	if (write_record(j, &rest, f) < 0)
		return -1;
	j->size += JOURNAL_HEAD + rest.data.len;
	j->end = rest.offset + rest.data.len;
	return 0;
}
