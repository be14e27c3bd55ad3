/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chain walked from its first row to its head, a step at a time, against
 * what was signed of it. Whatever stands in the store may be anybody's; only
 * the trusted key's word counts.
 */
#include <string.h>

#include "audit/inner.h"

enum {
	CHECKPOINTS = 16, /* signatures checked a step, about */
};

const char *
audit_wrong_name(enum audit_wrong w)
{
	static const char *const names[] = {
		[AUDIT_WHOLE] = "whole",
		[AUDIT_CHANGED] = "changed",
		[AUDIT_MISSING] = "missing",
		[AUDIT_INSERTED] = "inserted",
		[AUDIT_CUT] = "cut",
		[AUDIT_REWRITTEN] = "rewritten",
		[AUDIT_FORGED] = "forged",
		[AUDIT_UNSIGNED] = "unsigned",
	};

	return names[w];
}

void
audit_walk_say(const struct audit_walk *w, char *out, size_t size)
{
	static const char *const texts[][2] = {
		[AUDIT_WHOLE] = { "the record is whole, its last row is", "" },
		[AUDIT_CHANGED] = { "row", " was changed" },
		[AUDIT_MISSING] = { "row", " is missing" },
		[AUDIT_INSERTED] = { "row", " was inserted" },
		[AUDIT_CUT] = { "the rows from", " on were cut off" },
		[AUDIT_REWRITTEN] = { "row",
		    " is not the one that was signed" },
		[AUDIT_FORGED] = { "the checkpoint at row",
		    " is not signed by the key" },
		[AUDIT_UNSIGNED] = { "the rows from",
		    " on lack their checkpoint" },
	};
	uint64_t row = w->wrong == AUDIT_WHOLE ? w->row : w->at;

	(void)text_fmt(out, size, "%s %lld%s%s", texts[w->wrong][0],
	    (long long)row, texts[w->wrong][1],
	    w->wrong == AUDIT_CUT && w->has_wanted && !w->wanted_seen
		? ": none has the hash that one must have"
		: "");
}

void
audit_walk_init(struct audit_walk *w, const uint8_t pin[STORE_HASH],
    const uint8_t *wanted)
{
	memset(w, 0, sizeof(*w));
	memcpy(w->pin, pin, sizeof(w->pin));
	w->has_wanted = wanted != NULL;
	if (wanted != NULL)
		memcpy(w->wanted, wanted, sizeof(w->wanted));
}

static void
finish(struct audit_walk *w, enum audit_wrong wrong, uint64_t at)
{
	w->done = true;
	w->wrong = wrong;
	w->at = at;
}

static bool
is_trusted(const struct audit_walk *w, const struct store_checkpoint *c)
{
	return audit_checkpoint_is_by(c, w->pin);
}

static void
look_for_wanted(struct audit_walk *w)
{
	if (w->has_wanted && memcmp(w->head, w->wanted, sizeof(w->head)) == 0)
		w->wanted_seen = true;
}

/* The next checkpoint; when there is none, where to look again is kept. */
static int
look_further(struct audit_walk *w, struct store *s, struct fault *f)
{
	struct store_checkpoint c = w->next;

	if (store_checkpoint_next(s, &c, &w->has_next, f) < 0)
		return -1;
	if (w->has_next)
		w->next = c;
	return 0;
}

/* The checkpoints of the row that the walk has come to. */
static int
check_signed(struct audit_walk *w, struct store *s, struct fault *f)
{
	if (!w->has_next && look_further(w, s, f) < 0)
		return -1;
	while (w->has_next && w->next.row <= w->row) {
		struct store_checkpoint c = w->next;

		if (c.row == w->row) {
			if (!is_trusted(w, &c)) {
				finish(w, AUDIT_FORGED, c.row);
				return 0;
			}
			if (memcmp(c.hash, w->head, sizeof(c.hash)) != 0) {
				finish(w, AUDIT_REWRITTEN, c.row);
				return 0;
			}
			w->last = c;
			w->checkpoints++;
			w->stopped = c.kind == AUDIT_STOP;
			w->is_signed |= c.kind != AUDIT_PRUNED;
			if (c.kind == AUDIT_START)
				w->start = 0;
		}
		if (look_further(w, s, f) < 0)
			return -1;
	}
	return 0;
}

/* Where the chain begins: at row 1, or after what was pruned. Pruning may
 * also overtake a walk. */
static int
begin(struct audit_walk *w, struct store *s, struct fault *f)
{
	struct store_checkpoint pruned;
	uint64_t row;
	bool found;

	if (store_checkpoint_last_of(s, AUDIT_PRUNED, &pruned, &found, f) < 0)
		return -1;
	if (found && (!w->began || pruned.row > w->row)) {
		if (!is_trusted(w, &pruned)) {
			finish(w, AUDIT_FORGED, pruned.row);
			return 0;
		}
		w->row = pruned.row;
		memcpy(w->head, pruned.hash, sizeof(w->head));
		w->stopped = false;
		w->start = 0;
		look_for_wanted(w);
	}
	w->first = pruned.row;
	w->began = true;
	/* Rows before the first: also of numbers that none can have. */
	if (store_audit_first(s, &row, &found, f) < 0)
		return -1;
	if (found && (int64_t)row <= (int64_t)w->first)
		finish(w, AUDIT_INSERTED, row);
	return 0;
}

/* A gateway signs its start with the row of it: one without is no gateway's,
 * but of the time before anything was signed. */
static bool
is_start_signed(struct audit_walk *w)
{
	if (w->start == 0)
		return true;
	finish(w, AUDIT_INSERTED, w->start);
	return false;
}

static bool
may_follow(struct audit_walk *w, const struct store_audit *row)
{
	bool is_start = strcmp(row->verb, "gateway.start") == 0;

	if (!is_start_signed(w))
		return false;
	if (w->stopped && !is_start) {
		finish(w, AUDIT_INSERTED, row->row);
		return false;
	}
	w->stopped = false;
	if (is_start && w->is_signed)
		w->start = row->row;
	return true;
}

struct steps {
	struct audit_walk *w;
	struct store *s;
	uint32_t rows;
	uint64_t checkpoints; /* before */
	uint64_t suspect;     /* its hash does not fit */
	bool full;
};

static int
check_row(void *owner, const struct store_audit *row, struct fault *f)
{
	struct steps *p = owner;
	struct audit_walk *w = p->w;
	uint8_t hash[STORE_HASH];

	if (w->done || p->suspect != 0 || p->full)
		return 0;
	p->rows++;
	if (row->row != w->row + 1) {
		finish(w, AUDIT_MISSING, w->row + 1);
		return 0;
	}
	audit_hash(row, w->head, hash);
	if (memcmp(hash, row->hash, sizeof(hash)) != 0) {
		p->suspect = row->row;
		return 0;
	}
	if (!may_follow(w, row))
		return 0;
	w->row = row->row;
	memcpy(w->before, w->head, sizeof(w->before));
	memcpy(w->head, hash, sizeof(w->head));
	look_for_wanted(w);
	if (w->has_next && check_signed(w, p->s, f) < 0)
		return -1;
	p->full = w->checkpoints - p->checkpoints >= CHECKPOINTS;
	return 0;
}

/*
 * What happened to a row whose hash does not fit: whoever inserts or removes
 * one must number those behind it anew, which their hashes tell.
 */
struct suspect {
	const struct audit_walk *w;
	unsigned seen;
	uint8_t hash[STORE_HASH]; /* of the first */
	enum audit_wrong wrong;
	uint64_t at;
};

static bool
was(const struct store_audit *row, uint64_t number, const uint8_t *before)
{
	struct store_audit old = *row;
	uint8_t hash[STORE_HASH];

	old.row = number;
	audit_hash(&old, before, hash);
	return memcmp(hash, row->hash, sizeof(hash)) == 0;
}

static int
judge(void *owner, const struct store_audit *row, struct fault *f)
{
	struct suspect *p = owner;
	uint64_t n = p->w->row + 1;

	(void)f;
	p->seen++;
	if (p->seen == 1) {
		memcpy(p->hash, row->hash, sizeof(p->hash));
		if (n > 1 && was(row, n - 1, p->w->before)) {
			p->wrong = AUDIT_INSERTED;
			p->at = n - 1;
		}
	} else if (p->wrong == AUDIT_CHANGED) {
		if (was(row, n, p->w->head))
			p->wrong = AUDIT_INSERTED;
		else if (was(row, n + 2, p->hash))
			p->wrong = AUDIT_MISSING;
	}
	return 0;
}

static int
find_cause(struct audit_walk *w, struct store *s, struct fault *f)
{
	struct suspect p = {
		.w = w,
		.wrong = AUDIT_CHANGED,
		.at = w->row + 1,
	};

	if (store_audit_walk(s, w->row, 2, judge, &p, f) < 0)
		return -1;
	finish(w, p.wrong, p.at);
	return 0;
}

/* No row is left. */
static int
end(struct audit_walk *w, struct store *s, struct fault *f)
{
	if (check_signed(w, s, f) < 0 || w->done)
		return w->done ? 0 : -1;
	if (!is_start_signed(w))
		return 0;
	if (w->has_next && !is_trusted(w, &w->next))
		finish(w, AUDIT_FORGED, w->next.row);
	else if (w->has_next || (w->has_wanted && !w->wanted_seen))
		finish(w, AUDIT_CUT, w->row + 1);
	else if (!store_is_dirty(s) && w->row - w->last.row >= AUDIT_EVERY)
		finish(w, AUDIT_UNSIGNED, w->last.row + 1);
	else
		finish(w, AUDIT_WHOLE, 0);
	return 0;
}

int
audit_walk_step(struct audit_walk *w, struct store *s, uint32_t rows,
    struct fault *f)
{
	struct steps p = { .w = w, .s = s, .checkpoints = w->checkpoints };

	if (w->done)
		return 0;
	if (begin(w, s, f) < 0)
		return -1;
	if (!w->done && check_signed(w, s, f) < 0)
		return -1;
	if (w->done)
		return 0;
	if (store_audit_walk(s, w->row, rows, check_row, &p, f) < 0)
		return -1;
	if (p.suspect != 0)
		return find_cause(w, s, f);
	if (!w->done && p.rows < rows && !p.full)
		return end(w, s, f);
	return 0;
}
