/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines out of the journal. A reader remembers its segment by its first record
 * (inode numbers are used again): when the file under "log" is another one,
 * its own is log.1 now; when it is neither, it was lapped and goes on with the
 * oldest bytes that are left.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/journal.h"
#include "gateway/journal_inner.h"

enum {
	WINDOW = 2 * (JOURNAL_HEAD + JOURNAL_DATA), /* at least one record */
};

struct output {
	bool (*each)(void *owner, const struct journal_line *line);
	size_t (*bytes)(void *owner, const struct journal_record *rec);
	void *owner;
};

void
journal_reader_init(struct journal_reader *r, const char *id)
{
	memset(r, 0, sizeof(*r));
	(void)text_copy(r->id, sizeof(r->id), span_str(id));
	for (size_t i = 0; i < NELEM(r->line); i++)
		buf_init(&r->line[i].text, JOURNAL_LINE);
}

void
journal_reader_release(struct journal_reader *r)
{
	for (size_t i = 0; i < NELEM(r->line); i++)
		buf_release(&r->line[i].text);
}

/* Bytes that are no text become text. */
static bool
tell_text(struct journal_line *line, const struct output *o)
{
	char safe[4 * JOURNAL_LINE + 1];

	if (utf8_valid(line->text) &&
	    span_find(line->text, 0) == line->text.len)
		return o->each(o->owner, line);
	text_escape(line->text, safe, sizeof(safe));
	line->text = span_str(safe);
	return o->each(o->owner, line);
}

/* Tell the line of that stream; false: it must be told again. */
static bool
tell(struct journal_reader *r, bool is_error, const struct output *o)
{
	struct journal_line line = {
		.time_ms = r->line[is_error].time_ms,
		.is_error = is_error,
		.text = buf_span(&r->line[is_error].text),
	};

	if (line.text.len > 0 && line.text.ptr[line.text.len - 1] == '\r')
		line.text.len--;
	if (!tell_text(&line, o))
		return false;
	buf_clear(&r->line[is_error].text);
	r->line[is_error].whole = false;
	return true;
}

/* Use the bytes of one record from r->taken on; false: the receiver is full. */
static bool
use_record(struct journal_reader *r, const struct journal_record *rec,
    const struct output *o)
{
	struct buf *text = &r->line[rec->is_error].text;
	struct fault ignored = { 0 };

	while (r->taken < rec->data.len) {
		struct span rest = span_from(rec->data, (size_t)r->taken);
		size_t n = span_find(rest, '\n');
		size_t used = n < rest.len ? n + 1 : n;

		if (text->len == 0)
			r->line[rec->is_error].time_ms = rec->time_ms;
		if (n > buf_left(text))
			n = used = buf_left(text); /* too long: in pieces */
		if (buf_add(text, rest.ptr, n, &ignored) < 0)
			return false;
		r->taken += used;
		r->line[rec->is_error].whole = used > n || buf_left(text) == 0;
		if (r->line[rec->is_error].whole && !tell(r, rec->is_error, o))
			return false;
	}
	return true;
}

/* The same without lines. */
static bool
use_bytes(struct journal_reader *r, const struct journal_record *rec,
    const struct output *o)
{
	struct journal_record rest = *rec;

	while (r->taken < rec->data.len) {
		size_t n;

		rest.data = span_from(rec->data, (size_t)r->taken);
		rest.offset = rec->offset + r->taken;
		n = o->bytes(o->owner, &rest);
		if (n == 0)
			return false;
		r->taken += n;
	}
	return true;
}

/* All whole records of s, which begins at r->at; false: the receiver is
 * full. */
static bool
use_window(struct journal_reader *r, struct span s, const struct output *o)
{
	struct journal_record rec;
	size_t used;

	while (journal_parse(s, &rec, &used)) {
		if (!(o->bytes ? use_bytes : use_record)(r, &rec, o))
			return false;
		s = span_from(s, used);
		r->at += used;
		r->taken = 0;
	}
	return true;
}

/* Segments as they are now; fd -1 where there is none. */
struct segments {
	int fd[2];                      /* log.1, log */
	struct journal_record first[2]; /* launch 0: there is none */
};

static int
read_first(int fd, struct journal_record *first, struct fault *f)
{
	uint8_t head[JOURNAL_HEAD];
	ssize_t n;

	memset(first, 0, sizeof(*first));
	if (fd < 0)
		return 0;
	n = pread(fd, head, sizeof(head), 0);
	if (n < 0)
		return fault_sys(f, "cannot read a log");
	if (n == JOURNAL_HEAD)
		journal_parse_head(head, first);
	return 0;
}

static bool
is_own(const struct journal_reader *r, const struct journal_record *first)
{
	return r->launch != 0 && first->launch == r->launch &&
	    first->offset == r->offset;
}

static int
open_segments(const struct gateway *g, const char *id, struct segments *s,
    struct fault *f)
{
	static const char *const names[] = { "log.1", "log" };

	s->fd[0] = s->fd[1] = -1;
	for (size_t i = 0; i < NELEM(names); i++) {
		if (journal_segment(g, id, names[i], &s->fd[i], f) < 0 ||
		    read_first(s->fd[i], &s->first[i], f) < 0)
			return -1;
	}
	return 0;
}

static void
close_segments(struct segments *s)
{
	fd_close(&s->fd[0]);
	fd_close(&s->fd[1]);
}

static int
read_at(int fd, uint64_t at, uint8_t *into, size_t size, size_t *n,
    struct fault *f)
{
	*n = 0;
	while (*n < size) {
		ssize_t got = pread(fd, into + *n, size - *n, (off_t)(at + *n));

		if (got < 0)
			return fault_sys(f, "cannot read a log");
		if (got == 0)
			break;
		*n += (size_t)got;
	}
	return 0;
}

/* What is behind r->at in one segment, a window at a time. */
static int
use_segment(struct journal_reader *r, int fd, const struct output *o,
    bool *is_full, struct fault *f)
{
	uint8_t *window = must_alloc(WINDOW);
	uint64_t before;
	size_t n = 0;
	int rc;

	do {
		before = r->at;
		rc = read_at(fd, r->at, window, WINDOW, &n, f);
		*is_full = rc == 0 && !use_window(r, span_of(window, n), o);
	} while (rc == 0 && !*is_full && r->at > before);
	free(window);
	return rc;
}

static int
read_from(struct journal_reader *r, const struct segments *s, size_t first,
    const struct output *o, struct fault *f)
{
	bool is_full = false;
	int rc = 0;

	for (size_t i = first; i < NELEM(s->fd) && rc == 0 && !is_full; i++) {
		if (s->fd[i] < 0)
			continue;
		if (!is_own(r, &s->first[i])) {
			r->launch = s->first[i].launch;
			r->offset = s->first[i].offset;
			r->at = r->taken = 0;
		}
		rc = use_segment(r, s->fd[i], o, &is_full, f);
	}
	return rc;
}

int
journal_read(const struct gateway *g, struct journal_reader *r, bool finish,
    bool (*each)(void *owner, const struct journal_line *line), void *owner,
    struct fault *f)
{
	const struct output o = { .each = each, .owner = owner };
	struct segments s;
	int rc;

	for (int i = 0; i < 2; i++) {
		if (r->line[i].whole && !tell(r, i == 1, &o))
			return 0;
	}
	rc = open_segments(g, r->id, &s, f);
	if (rc == 0)
		rc = read_from(r, &s, is_own(r, &s.first[1]) ? 1 : 0, &o, f);
	close_segments(&s);
	for (int i = 0; i < 2 && finish && rc == 0; i++) {
		if (r->line[i].text.len > 0 && !r->line[i].whole)
			(void)tell(r, i == 1, &o);
	}
	return rc;
}

int
journal_bytes(const struct gateway *g, struct journal_reader *r,
    size_t (*each)(void *owner, const struct journal_record *rec), void *owner,
    struct fault *f)
{
	const struct output o = { .bytes = each, .owner = owner };
	struct segments s;
	int rc = open_segments(g, r->id, &s, f);

	if (rc == 0)
		rc = read_from(r, &s, is_own(r, &s.first[1]) ? 1 : 0, &o, f);
	close_segments(&s);
	return rc;
}
