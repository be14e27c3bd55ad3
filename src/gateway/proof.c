/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line of proofs, in order of arrival; those with a turn hold memory, the
 * others do not yet. Each tick
 *
 *	turns    while one is free: to who has the fewest, then to who was
 *	         served longest ago, at most PROOF_ASKER_TURNS each
 *	slice    of the proof with a turn whose asker was served longest ago
 *
 * and the proof that had a slice goes behind the others. What asker was served
 * when stands in each of its proofs; one that comes new was never served.
 * Nothing here reads a clock.
 */
#include <string.h>

#include "gateway/proof.h"

static void
put_last(struct gateway *g, struct proof *p)
{
	struct proof **to = &g->proofs;

	while (*to != NULL)
		to = &(*to)->next;
	p->next = NULL;
	*to = p;
}

static void
take_out(struct gateway *g, struct proof *p)
{
	struct proof **from = &g->proofs;

	while (*from != p)
		from = &(*from)->next;
	*from = p->next;
	p->next = NULL;
}

static bool
is_alike(const struct proof *a, const struct proof *b)
{
	return strcmp(a->asker, b->asker) == 0;
}

static void
note_served(struct gateway *g, const struct proof *p)
{
	uint64_t now = ++g->proof_turns;

	for (struct proof *q = g->proofs; q != NULL; q = q->next)
		if (is_alike(p, q))
			q->served = now;
}

/* Proofs with a turn: of p's asker, or (NULL) all. */
static size_t
turns_of(const struct gateway *g, const struct proof *p)
{
	size_t n = 0;

	for (const struct proof *q = g->proofs; q != NULL; q = q->next)
		n += q->has_turn && (p == NULL || is_alike(p, q));
	return n;
}

static struct proof *
next_turn(const struct gateway *g)
{
	size_t fewest = PROOF_ASKER_TURNS;
	struct proof *best = NULL;

	for (struct proof *p = g->proofs; p != NULL; p = p->next) {
		size_t n = p->has_turn ? SIZE_MAX : turns_of(g, p);

		if (n < fewest ||
		    (best != NULL && n == fewest && p->served < best->served)) {
			best = p;
			fewest = n;
		}
	}
	return best;
}

static void
give_turns(struct gateway *g)
{
	size_t n = turns_of(g, NULL);
	struct proof *p;

	for (; n < PROOF_TURNS && (p = next_turn(g)) != NULL; n++)
		p->has_turn = true;
}

static struct proof *
next_slice(const struct gateway *g)
{
	struct proof *best = NULL;

	for (struct proof *p = g->proofs; p != NULL; p = p->next)
		if (p->has_turn && (best == NULL || p->served < best->served))
			best = p;
	return best;
}

/* No link is left, or this one could not begin. */
static void
finish(struct proof *p)
{
	take_out(p->g, p);
	p->g->proofs_n--;
	p->queued = false;
	p->done(p);
}

static void
out_of_memory(struct proof *p)
{
	p->result = (struct prover_result){
		.verdict = PROVER_OUT_OF_BUDGET,
		.section = POLICY_NETWORK,
	};
}

/* The prover of the link at hand. */
static bool
open_link(struct proof *p)
{
	const struct prover_question q = {
		.child = p->child,
		.parent = p->above[p->link],
		.image = p->image,
	};

	if (p->prover == NULL)
		p->prover = prover_new(&q, p->arena);
	return p->prover != NULL;
}

/* Go on; true: the chain is judged. */
static bool
slice(struct proof *p)
{
	uint64_t before;
	bool is_done;

	while (p->link < PROOF_LINKS && p->above[p->link] == NULL)
		p->link++;
	if (p->link == PROOF_LINKS)
		return true;
	if (!open_link(p)) {
		out_of_memory(p);
		return true;
	}
	before = prover_steps(p->prover);
	is_done = prover_run(p->prover, PROVER_TICK, &p->result);
	p->steps += prover_steps(p->prover) - before;
	if (!is_done)
		return false;
	p->prover = NULL;
	if (p->result.verdict != PROVER_WITHIN)
		return true;
	p->link++;
	return false;
}

static void
on_turn(struct deferred *d)
{
	struct gateway *g = CONTAINER_OF(d, struct gateway, prove);
	struct proof *p;

	give_turns(g);
	p = next_slice(g);
	if (p == NULL)
		return;
	note_served(g, p);
	if (slice(p)) {
		finish(p);
	} else {
		take_out(g, p);
		put_last(g, p);
	}
	if (g->proofs != NULL)
		loop_later(g->loop, &g->prove);
}

int
proof_begin(struct gateway *g, struct proof *p, struct fault *f)
{
	size_t alike = 0;

	p->served = 0;
	for (const struct proof *q = g->proofs; q != NULL; q = q->next) {
		if (!is_alike(p, q))
			continue;
		alike++;
		p->served = q->served;
	}
	if (g->proofs_n >= PROOF_MOST || alike >= PROOF_ASKER_MOST)
		return fault_set(f, FAULT_BUSY, "%zu proofs are under way",
		    alike >= PROOF_ASKER_MOST ? alike : g->proofs_n);
	p->g = g;
	p->prover = NULL;
	p->link = PROOF_PARENT;
	p->steps = 0;
	p->result = (struct prover_result){ .verdict = PROVER_WITHIN };
	p->queued = true;
	put_last(g, p);
	g->proofs_n++;
	g->prove.run = on_turn;
	loop_later(g->loop, &g->prove);
	return 0;
}

void
proof_drop(struct proof *p)
{
	if (!p->queued)
		return;
	take_out(p->g, p);
	p->g->proofs_n--;
	p->queued = false;
}

const char *
proof_link_name(enum proof_link link)
{
	return link == PROOF_MAXIMUM ? "maximum" : "parent";
}
