/* SPDX-License-Identifier: Apache-2.0 */
/* Counting and showing lines; tail.h has the contracts. */
#include <stdlib.h>

#include "gateway/tail.h"

enum {
	LINE_FIXED = 128, /* of a line in an answer, beside its text */
};

/* The last lines that were counted: how many, what they take. */
struct tail_window {
	uint32_t first;
	uint32_t count;
	size_t bytes;
	uint32_t size[];
};

void
tail_init(struct tail *t, uint32_t lines, int64_t since_ms,
    const char *const *sources, size_t n)
{
	*t = (struct tail){ .lines = lines, .since_ms = since_ms };
	t->is_muted = n > 0;
	for (size_t i = 0; i < n; i++) {
		if (span_is(span_str(sources[i]), "sandbox"))
			t->is_muted = false;
	}
}

static bool
is_wanted(const struct tail *t, const struct journal_line *line)
{
	return !t->is_muted && line->time_ms >= t->since_ms;
}

static void
drop_first(struct tail_window *w, uint32_t room)
{
	w->bytes -= w->size[w->first];
	w->first = (w->first + 1) % room;
	w->count--;
}

/* In it are at most t->lines, and no more bytes than may be. */
static void
widen(const struct tail *t, size_t size)
{
	struct tail_window *w = t->window;

	if (w->count == t->lines)
		drop_first(w, t->lines);
	w->size[(w->first + w->count) % t->lines] = (uint32_t)size;
	w->count++;
	w->bytes += size;
	while (w->bytes > t->bytes_most)
		drop_first(w, t->lines);
}

static bool
count_line(void *owner, const struct journal_line *line)
{
	struct tail *t = owner;

	if (!is_wanted(t, line))
		return true;
	t->total++;
	if (t->window != NULL)
		widen(t, line->text.len + LINE_FIXED);
	return true;
}

int
tail_count(const struct gateway *g, const char *id, struct tail *t,
    struct fault *f)
{
	struct journal_reader r;
	int rc;

	t->total = t->dropped = 0;
	if (t->bytes_most > 0 && t->lines > 0)
		t->window = must_alloc(
		    sizeof(*t->window) + t->lines * sizeof(t->window->size[0]));
	journal_reader_init(&r, id);
	rc = journal_read(g, &r, true, count_line, t, f);
	journal_reader_release(&r);
	t->skip = t->total > t->lines ? t->total - t->lines : 0;
	if (t->window != NULL) {
		t->dropped = t->total - t->skip - t->window->count;
		t->skip += t->dropped;
		free(t->window);
		t->window = NULL;
	}
	return rc;
}

bool
tail_passes_over(struct tail *t, const struct journal_line *line)
{
	if (!is_wanted(t, line))
		return true;
	if (t->skip == 0)
		return false;
	t->skip--;
	return true;
}

void
tail_line(const char *id, const struct journal_line *line, struct arena *a,
    openshell_v1_SandboxLogLine *out)
{
	out->sandbox_id = arena_str(a, span_str(id));
	out->timestamp_ms = line->time_ms;
	out->level = arena_str(a, SPAN_LIT("INFO"));
	out->target = arena_str(a,
	    line->is_error ? SPAN_LIT("stderr") : SPAN_LIT("stdout"));
	out->source = arena_str(a, SPAN_LIT("sandbox"));
	out->message = arena_str(a, line->text);
}
