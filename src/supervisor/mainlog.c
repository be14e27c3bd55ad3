/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of the main process: a ring of bytes with offsets since the launch.
 * Pieces remember stream and time. While the gateway is there, what it has
 * not acknowledged is never dropped (the process waits); without it the
 * oldest bytes go, and the gap shows in the offsets.
 */
#include <string.h>

#include "supervisor/inner.h"

void
mainlog_init(struct mainlog *m)
{
	*m = (struct mainlog){ 0 };
	m->bytes = must_alloc(MAINLOG_BYTES);
}

static size_t
slot(const struct mainlog *m, uint32_t i)
{
	return (m->first + i) % MAINLOG_PIECES;
}

static struct mainlog_piece *
piece(struct mainlog *m, uint32_t i)
{
	return &m->pieces[slot(m, i)];
}

static uint64_t
begin(const struct mainlog *m)
{
	return m->count ? m->pieces[m->first].offset : m->end;
}

/* Let go of what lies below offset. */
static void
drop_below(struct mainlog *m, uint64_t offset)
{
	while (m->count) {
		struct mainlog_piece *p = piece(m, 0);

		if (p->offset + p->len <= offset) {
			m->first = (m->first + 1) % MAINLOG_PIECES;
			m->count--;
			continue;
		}
		if (p->offset < offset) {
			p->len -= (uint32_t)(offset - p->offset);
			p->offset = offset;
		}
		return;
	}
}

size_t
mainlog_room(struct mainlog *m, bool keep)
{
	size_t held = (size_t)(m->end - begin(m));

	if (!keep)
		return MAINLOG_BYTES / 4;
	if (m->count == MAINLOG_PIECES)
		return 0;
	return MAINLOG_BYTES - held;
}

static void
copy_in(struct mainlog *m, struct span s)
{
	size_t at = (size_t)(m->end % MAINLOG_BYTES);
	size_t n = MAINLOG_BYTES - at < s.len ? MAINLOG_BYTES - at : s.len;

	memcpy(m->bytes + at, s.ptr, n);
	memcpy(m->bytes, s.ptr + n, s.len - n);
}

void
mainlog_add(struct mainlog *m, struct span s, bool is_error, int64_t now_ms)
{
	struct mainlog_piece *last;

	if (s.len > MAINLOG_BYTES)
		s = span_from(s, s.len - MAINLOG_BYTES);
	if (m->end + s.len > MAINLOG_BYTES)
		drop_below(m, m->end + s.len - MAINLOG_BYTES);
	copy_in(m, s);
	last = m->count ? piece(m, m->count - 1) : NULL;
	if (last && last->is_error == is_error && last->time_ms == now_ms) {
		last->len += (uint32_t)s.len;
	} else {
		if (m->count == MAINLOG_PIECES)
			drop_below(m, piece(m, 1)->offset);
		*piece(m, m->count++) = (struct mainlog_piece){
			.offset = m->end,
			.time_ms = now_ms,
			.len = (uint32_t)s.len,
			.is_error = is_error,
		};
	}
	m->end += s.len;
}

void
mainlog_ack(struct mainlog *m, uint64_t offset)
{
	if (offset > m->end)
		offset = m->end;
	if (offset <= m->acked)
		return;
	m->acked = offset;
	drop_below(m, offset);
}

void
mainlog_resume(struct mainlog *m, uint64_t offset)
{
	mainlog_ack(m, offset);
	m->sent = offset < m->end ? offset : m->end;
}

bool
mainlog_next(const struct mainlog *m, size_t most, uint64_t *offset,
    struct span *s, bool *is_error, int64_t *time_ms)
{
	uint64_t from = m->sent > begin(m) ? m->sent : begin(m);

	for (uint32_t i = 0; i < m->count; i++) {
		const struct mainlog_piece *p = &m->pieces[slot(m, i)];
		size_t at = (size_t)(from % MAINLOG_BYTES);
		size_t n;

		if (p->offset + p->len <= from)
			continue;
		n = (size_t)(p->offset + p->len - from);
		if (n > most)
			n = most;
		/* Not past the end of the memory: the rest is the next one. */
		if (n > MAINLOG_BYTES - at)
			n = MAINLOG_BYTES - at;
		*offset = from;
		*s = span_of(m->bytes + at, n);
		*is_error = p->is_error;
		*time_ms = p->time_ms;
		return true;
	}
	return false;
}

void
mainlog_sent(struct mainlog *m, uint64_t upto)
{
	m->sent = upto;
}
