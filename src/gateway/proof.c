/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line of proofs. The first PROOF_TURNS of it take turns:
 *
 *	g->proofs -> a -> b -> c -> d | e -> f        slice of a, then
 *	g->proofs -> b -> c -> d -> a | e -> f
 *
 * The others hold no memory yet. Nothing here reads a clock.
 */
#include "gateway/proof.h"

static void
put_at(struct gateway *g, struct proof *p, size_t at)
{
	struct proof **to = &g->proofs;

	for (; at > 0 && *to != NULL; at--)
		to = &(*to)->next;
	p->next = *to;
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
	while (p->link < PROOF_LINKS && p->above[p->link] == NULL)
		p->link++;
	if (p->link == PROOF_LINKS)
		return true;
	if (!open_link(p)) {
		out_of_memory(p);
		return true;
	}
	if (!prover_run(p->prover, PROVER_TICK, &p->result))
		return false;
	p->prover = NULL;
	p->steps += p->result.steps;
	if (p->result.verdict != PROVER_WITHIN)
		return true;
	p->link++;
	return false;
}

static void
on_turn(struct deferred *d)
{
	struct gateway *g = CONTAINER_OF(d, struct gateway, prove);
	struct proof *p = g->proofs;

	if (p == NULL)
		return;
	if (slice(p)) {
		finish(p);
	} else {
		take_out(g, p);
		put_at(g, p, PROOF_TURNS - 1);
	}
	if (g->proofs != NULL)
		loop_later(g->loop, &g->prove);
}

int
proof_begin(struct gateway *g, struct proof *p, struct fault *f)
{
	if (g->proofs_n >= PROOF_MOST)
		return fault_set(f, FAULT_BUSY, "%d proofs are under way",
		    PROOF_MOST);
	p->g = g;
	p->prover = NULL;
	p->link = PROOF_PARENT;
	p->steps = 0;
	p->result = (struct prover_result){ .verdict = PROVER_WITHIN };
	p->queued = true;
	put_at(g, p, p->has_turn ? PROOF_TURNS - 1 : g->proofs_n);
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
