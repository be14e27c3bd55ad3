/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A proof from begin to end: landlock, process, files, each at once, then the
 * network for as long as it takes. A policy is a product of its sections, and
 *
 *	A x B <= A' x B'   iff   A <= A' and B <= B'
 *
 * (no factor is empty), so the sections are judged alone and the verdict of
 * most weight is kept. An excess ends the proof, when no plainer one is left to
 * look for or the budget has ended; what is unsupported does not, for there may
 * be an excess elsewhere. A replay that disagrees ends it too.
 */
#include <string.h>

#include "prover/inner.h"

enum {
	SMALL,
	NETWORK,
	DONE,
};

struct prover *
prover_new(const struct prover_question *q, struct arena *a)
{
	struct prover *p = arena_get(a, sizeof(*p));

	if (!p)
		return NULL;
	p->q = *q;
	if (p->q.steps == 0)
		p->q.steps = PROVER_STEPS;
	region_solver_init(&p->s, a, PROVER_ARENA - sizeof(*p), p->q.steps);
	p->literals.size = p->cuts.size = sizeof(struct region_literal);
	p->hits.size = p->minus.size = sizeof(const void *);
	diff_init(p);
	network_init(p);
	p->result.verdict = PROVER_WITHIN;
	return p;
}

bool
tell(struct prover *p, enum prover_verdict v, enum policy_section s)
{
	if (v >= p->result.verdict)
		return false;
	p->result.verdict = v;
	p->result.section = s;
	p->result.code = PROVER_NONE;
	p->result.place[0] = '\0';
	return true;
}

void
tell_unsupported(struct prover *p, enum policy_section s, enum prover_code code,
    struct span place)
{
	if (!tell(p, PROVER_UNSUPPORTED, s))
		return;
	p->result.code = code;
	text_escape(place.len ? place : SPAN_LIT("the working directory"),
	    p->result.place, sizeof(p->result.place));
}

bool
prover_run(struct prover *p, uint64_t steps, struct prover_result *out)
{
	uint64_t left = p->s.steps < p->q.steps ? p->q.steps - p->s.steps : 0;

	p->s.until = p->s.steps + (steps < left ? steps : left);
	if (p->stage == SMALL) {
		p->stage = NETWORK;
		landlock_prove(p);
		process_prove(p);
		files_prove(p);
	}
	if (p->stage == NETWORK && p->result.verdict != PROVER_EXCEEDS) {
		enum region_found found = network_run(p);

		if (found == REGION_WAIT && !p->s.spent &&
		    p->s.steps < p->q.steps)
			return false;
		p->result.shortest = found == REGION_SOME;
		if (p->excess.child)
			tell_network(p);
		else if (found == REGION_WAIT)
			(void)tell(p, PROVER_OUT_OF_BUDGET, POLICY_NETWORK);
	}
	p->stage = DONE;
	p->result.steps = p->s.steps;
	*out = p->result;
	return true;
}

uint64_t
prover_steps(const struct prover *p)
{
	return p->s.steps;
}

void
prover_prove(const struct prover_question *q, struct arena *a,
    struct prover_result *out)
{
	struct prover *p = prover_new(q, a);

	if (p && prover_run(p, UINT64_MAX, out))
		return;
	memset(out, 0, sizeof(*out));
	out->verdict = PROVER_OUT_OF_BUDGET;
	out->section = POLICY_NETWORK;
}
