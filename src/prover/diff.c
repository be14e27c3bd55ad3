/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A region minus boxes:  R - N1 - .. - Nk,  empty or not.
 *
 * If N1 does not meet R, it takes nothing. Else, with N1 = L1 & .. & Ln,
 *
 *	R - N1  =  R & ~L1   |   R & L1 & ~L2   |   R & L1 & L2 & ~L3  ...
 *
 * each again a region (the complement of a literal is a term; that of a query
 * literal that must hold for all values is two), and each is asked minus
 * N2 .. Nk. The pieces that are left when no box is left are the answer, one
 * after the other. Literals that R is inside of give no piece; boxes with one
 * other literal only, sets to take away (p->cuts), are taken together first. A
 * stack of frames holds the pieces under way; the terms of a frame are dropped
 * with it. All of a piece is in what it was cut from, so nothing in it is
 * plainer: one that begins above the excess at hand is dropped.
 */
#include <string.h>

#include "prover/inner.h"

struct frame {
	struct region whole;
	struct region rest;      /* inside the literals before `literal` */
	uint32_t at;             /* of p->minus */
	uint32_t scan;           /* boxes before it were looked at, */
	uint32_t best;           /* and this one is the best of them, */
	int least;               /* by literals that it leaves open */
	struct region_mark mark; /* before it */
	uint16_t literal;
	uint8_t piece;
	bool picked; /* the box at `at` */
	bool meets;  /* known; cutting up */
};

void
diff_init(struct prover *p)
{
	p->frames.size = sizeof(struct frame);
}

static void
frame_at(struct frame *f, uint32_t at)
{
	f->at = f->scan = f->best = at;
	f->least = INT32_MAX;
	f->picked = false;
}

static bool
frame_push(struct prover *p, const struct region *r, uint32_t at,
    struct region_mark mark)
{
	struct frame *f = region_pool_add(&p->s, &p->frames);

	if (!f)
		return false;
	*f = (struct frame){ .whole = *r, .mark = mark };
	frame_at(f, at);
	return true;
}

void
diff_start(struct prover *p, const struct region *r)
{
	p->frames.n = 0;
	(void)frame_push(p, r, 0, region_mark(&p->s));
}

/* How the complement of a literal is said, piece by piece. */
static bool
complement(const struct region_literal *l, uint8_t piece,
    enum region_mode *mode)
{
	static const enum region_mode said[][3] = {
		[REGION_IN] = { REGION_OUT },
		[REGION_ALL_IN] = { REGION_ABSENT, REGION_SOME_OUT },
		[REGION_SOME_IN] = { REGION_NONE_IN },
	};

	*mode = said[l->mode][piece];
	return *mode != REGION_IN; /* 0: no more */
}

/* One literal's next piece, or on to the next literal. NONE: f is done. */
static enum region_found
cut(struct prover *p, struct frame *f, const struct box *b)
{
	const struct region_literal *l;
	struct region_mark mark = region_mark(&p->s);
	struct region piece = f->rest;
	enum region_found found;
	enum region_mode mode;

	if (f->literal == b->n)
		return REGION_NONE;
	l = box_literal(p, b, f->literal);
	if (f->piece == 0 && region_inside(&p->s, &f->rest, l)) {
		f->literal++;
		return REGION_SOME;
	}
	if (!complement(l, f->piece, &mode)) {
		found =
		    region_add(&p->s, &f->rest, l, (enum region_mode)l->mode);
		if (found == REGION_SOME) {
			f->literal++;
			f->piece = 0;
		}
		return found;
	}
	found = region_add(&p->s, &piece, l, mode);
	if (found == REGION_WAIT)
		return found;
	f->piece++;
	if (found == REGION_SOME && !frame_push(p, &piece, f->at + 1, mark))
		return REGION_WAIT;
	return REGION_SOME;
}

/*
 * The next box of f: the one that leaves the fewest literals open, as a clause
 * is chosen to be satisfied; one that leaves none holds all of f (NONE). Where
 * there are no queries boxes stay in order, they do not take turns so much.
 */
static enum region_found
pick(struct prover *p, struct frame *f)
{
	const struct box **at = p->minus.items;
	const struct box *b;

	while (f->scan < p->minus.n && p->s.keys.n > 1) {
		uint32_t i = f->scan++;
		uint16_t last;
		int open;

		b = at[i];
		open = box_open(p, &f->whole, b, &last);
		if (open == 0)
			return REGION_NONE;
		if (open < 0) { /* it takes nothing */
			f->best = f->best == f->at ? i : f->best;
			at[i] = at[f->at];
			at[f->at++] = b;
		} else if (open < f->least) {
			f->least = open;
			f->best = i;
		}
		if (region_pauses(&p->s))
			return REGION_WAIT;
	}
	f->picked = true;
	if (f->at < p->minus.n) {
		b = at[f->best];
		at[f->best] = at[f->at];
		at[f->at] = b;
	}
	return REGION_SOME;
}

/* SOME: go on; NONE: the frame is done. */
static enum region_found
frame_step(struct prover *p, struct frame *f)
{
	const struct box *b = ((const struct box **)p->minus.items)[f->at];
	struct region_mark mark = region_mark(&p->s);
	struct region both = f->whole;
	enum region_found found;

	if (f->meets)
		return cut(p, f, b);
	if (!f->picked)
		return pick(p, f);
	found = box_enter(p, &both, b);
	region_back(&p->s, mark);
	if (found == REGION_NONE)
		frame_at(f, f->at + 1);
	if (found == REGION_SOME) {
		f->meets = true;
		f->rest = f->whole;
	}
	return found == REGION_WAIT ? REGION_WAIT : REGION_SOME;
}

void
diff_drop(struct prover *p)
{
	const struct frame *frames = p->frames.items;

	region_back(&p->s, frames[--p->frames.n].mark);
}

enum region_found
diff_run(struct prover *p, struct region *out)
{
	while (p->frames.n > 0) {
		struct frame *f =
		    (struct frame *)p->frames.items + (p->frames.n - 1);

		if (region_pauses(&p->s))
			return REGION_WAIT;
		p->s.steps++;
		if (p->cuts.n > 0) {
			enum region_found found = region_cut(&p->s, &f->whole,
			    p->cuts.items, p->cuts.n);

			if (found != REGION_SOME)
				return found;
			p->cuts.n = 0;
		}
		if (excess_bounds(p, &f->whole)) {
			diff_drop(p);
			continue;
		}
		if (f->at == p->minus.n) {
			*out = f->whole;
			return REGION_SOME;
		}
		switch (frame_step(p, f)) {
		case REGION_WAIT:
			return REGION_WAIT;
		case REGION_NONE:
			diff_drop(p);
			break;
		case REGION_SOME:
			break;
		}
	}
	return REGION_NONE;
}
