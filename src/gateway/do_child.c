/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CreateChildSandbox, in the order of GRANTS.md 2. The policy is judged while
 * the call waits; the transaction at the end holds only what was judged under
 * the grant, the parent's policy and the maximum of that moment.
 */
#include <string.h>

#include "gateway/await.h"
#include "gateway/child.h"
#include "gateway/do.h"
#include "gateway/fleet.h"
#include "gateway/line.h"
#include "gateway/note.h"
#include "gateway/obituary.h"
#include "gateway/object.h"
#include "gateway/plan.h"
#include "gateway/refuse.h"
#include "gateway/sandbox.h"
#include "gateway/stale.h"
#include "wire/wire.h"

static int child_turn(struct call *c, struct fault *f);

static bool
is_sandbox(const struct call *c)
{
	return c->caller.who & CALL_SANDBOX;
}

static void
note_ask(struct call *c, const struct grant_create *ask)
{
	struct note n;
	struct note names;

	note_init(&n);
	note_init(&names);
	for (size_t i = 0; i < ask->command_n; i++)
		note_word(&n, ask->command[i]);
	for (size_t i = 0; i < ask->environment_n; i++)
		note_name(&names, ask->environment[i].name);
	call_note(c, "%s %s", ask->kind == GRANT_TOOL ? "tool" : "agent",
	    n.text);
	note_names(c, &names);
	if (ask->has_request_id)
		(void)text_copy(c->request_id, sizeof(c->request_id),
		    ask->request_id);
}

static struct grant_child
place_of(const struct child_create *k)
{
	return (struct grant_child){
		.parent = k->parent.node,
		.kind = k->ask.kind,
		.providers = k->ask.providers,
		.providers_n = k->ask.providers_n,
	};
}

static int
may_create(struct call *c, const struct child_create *k, struct fault *f)
{
	const struct grant_child place = place_of(k);
	struct grant_refusal r;

	if (grant_may_go_on(&k->parent.ask, &c->caller.evidence, &r) < 0 ||
	    grant_may_create(&k->parent.ask, &place, &r) < 0)
		return refuse(c, &r, f);
	return 0;
}

int
do_child_decide(struct call *c, struct fault *f)
{
	const nacre_v1_CreateChildSandboxRequest *ask = c->ask;
	struct child_create *k = arena_get(&c->arena, sizeof(*k));

	BUG_IF(k == NULL);
	c->work = k;
	/* Whether a sandbox's program may is asked before what it asks for. */
	if (is_sandbox(c) && which_open(c, NULL, "parent", &k->parent, f) < 0)
		return -1;
	if (child_ask(c, &k->ask, f) < 0 ||
	    grant_create_check(&k->ask, is_sandbox(c), f) < 0)
		return -1;
	note_ask(c, &k->ask);
	if (!k->ask.has_parent && !is_sandbox(c))
		return do_root_decide(c, k, f);
	if (!is_sandbox(c) &&
	    which_open(c, ask->parent, "parent", &k->parent, f) < 0)
		return -1;
	/* What is sent once and what the grant refuses waits for no turn. */
	if (!k->ask.has_request_id && may_create(c, k, f) < 0)
		return -1;
	return judge_turn(c, &k->judgement, child_turn, f);
}

/* --- sent twice */

static const char *
parent_id(const struct child_create *k)
{
	return k->parent.row == NULL ? "" : k->parent.row->id;
}

static int
find_first(struct call *c, const struct child_create *k,
    struct grant_first *first, struct fault *f)
{
	struct store_request *r = arena_get(&c->arena, sizeof(*r));
	struct store_lineage l;

	*first = (struct grant_first){ 0 };
	if (!k->ask.has_request_id)
		return 0;
	if (r == NULL)
		return fault_set(f, FAULT_LIMIT, "the call is too big");
	r->parent = parent_id(k);
	r->caller = c->caller.text;
	r->request_id = arena_str(&c->arena, k->ask.request_id);
	if (store_request_get(c->g->store, r, &first->is_found, f) < 0)
		return -1;
	if (!first->is_found)
		return 0;
	if (store_lineage_by_id(c->g->store, r->child, &c->arena, &l, f) < 0)
		return -1;
	memcpy(first->digest, r->digest, sizeof(first->digest));
	first->child = span_str(r->child);
	first->is_done = l.began;
	return 0;
}

/* 0 and k->is_repeat: the first one's result is the answer. */
int
child_repeat(struct call *c, struct child_create *k, struct fault *f)
{
	struct grant_first first;
	struct grant_refusal r;

	if (find_first(c, k, &first, f) < 0)
		return -1;
	if (grant_may_repeat(&first, k->digest, &k->is_repeat, &r) < 0)
		return refuse(c, &r, f);
	if (!k->is_repeat)
		return 0;
	(void)text_copy(c->sandbox_id, sizeof(c->sandbox_id), first.child);
	call_note(c, "; repeated");
	return 0;
}

void
child_digest(struct child_create *k)
{
	uint8_t hash[DIGEST_SIZE];

	if (k->unread.code == FAULT_NONE)
		memcpy(hash, k->written.hash, sizeof(hash));
	else
		digest_of(k->ask.policy, hash);
	grant_create_digest(&k->ask, k->ask.has_policy ? hash : NULL,
	    k->digest);
}

/* --- judged */

static int
generations(struct call *c, const struct child_create *k,
    struct grant_generations *out, struct fault *f)
{
	struct store_sandbox row;
	struct boundary above;

	if (which_row(c, &k->parent, &row, f) < 0 ||
	    boundary_read(&row, &c->arena, &above, f) < 0 ||
	    maximum_generation(c->g, &out->maximum, f) < 0)
		return -1;
	out->grant_id = k->parent.tree.grant.id;
	out->grant = k->parent.tree.grant.generation;
	out->parent_policy = above.generation;
	return 0;
}

/* Within; but is it still the same question? */
static int
child_judged(struct call *c, struct fault *f)
{
	struct child_create *k = c->work;
	struct grant_generations now;
	struct grant_refusal r;

	if (which_again(c, &k->parent, f) < 0 || generations(c, k, &now, f) < 0)
		return -1;
	if (grant_is_same(&now, &k->judged))
		return 0;
	if (grant_may_judge_again(++k->tries, &r) < 0)
		return refuse(c, &r, f);
	return judge_turn(c, &k->judgement, child_turn, f);
}

static int
complete(struct call *c, struct child_create *k, struct fault *f)
{
	if (which_row(c, &k->parent, &k->parent_row, f) < 0 ||
	    boundary_of(&k->parent_row, &c->arena, &k->above, f) < 0)
		return -1;
	if (plan_complete(k->ask.has_policy ? &k->written : NULL,
		&k->above.policy, k->ask.inherit, &c->arena, &k->policy, f) < 0)
		return -1;
	return scene_of_sandbox(c->g, &k->parent_row, &c->arena, &k->scene, f);
}

static int
begin_judging(struct call *c, struct child_create *k, struct fault *f)
{
	if (complete(c, k, f) < 0 || generations(c, k, &k->judged, f) < 0)
		return -1;
	k->judgement.child = &k->policy;
	k->judgement.parent = &k->above.policy;
	k->judgement.scene = &k->scene;
	k->judgement.then = child_judged;
	(void)text_copy(k->judgement.tree, LIMIT_ID + 1,
	    span_str(k->parent.tree.row[0].id));
	return judge(c, &k->judgement, f);
}

static int
child_turn(struct call *c, struct fault *f)
{
	struct child_create *k = c->work;

	if (which_again(c, &k->parent, f) < 0 || child_policy(c, k, f) < 0)
		return -1;
	child_digest(k);
	if (child_repeat(c, k, f) < 0)
		return -1;
	if (k->is_repeat)
		return 0;
	if (may_create(c, k, f) < 0)
		return -1;
	if (k->unread.code != FAULT_NONE) {
		*f = k->unread;
		return -1;
	}
	return begin_judging(c, k, f);
}

/* --- reserved */

int
child_keep_request(struct call *c, const struct child_create *k,
    struct fault *f)
{
	struct store_request r = {
		.parent = parent_id(k),
		.caller = c->caller.text,
	};

	if (!k->ask.has_request_id)
		return 0;
	r.request_id = arena_str(&c->arena, k->ask.request_id);
	memcpy(r.digest, k->digest, sizeof(r.digest));
	(void)text_copy(r.child, sizeof(r.child), span_str(k->row.id));
	return store_request_put(c->g->store, &r, f);
}

static int
insert(struct call *c, struct child_create *k,
    const struct grant_charge *charge, struct fault *f)
{
	struct tree *t = &k->parent.tree;

	if (child_row(c, k, charge, f) < 0 ||
	    store_sandbox_insert(c->g->store, &k->row, f) < 0 ||
	    store_lineage_insert(c->g->store, &k->lineage, f) < 0 ||
	    child_keep_request(c, k, f) < 0)
		return -1;
	grant_charge(&t->grant, charge);
	if (tree_keep_grant(c->g, t, f) < 0)
		return -1;
	call_note(c, "; parent %s, depth %u, total %u of %u", k->parent.row->id,
	    (unsigned)charge->depth, (unsigned)t->grant.used_total,
	    (unsigned)t->grant.max[GRANT_TOTAL]);
	return 0;
}

static int
check_memory(struct call *c, const struct child_create *k, struct fault *f)
{
	const struct resources r = {
		.cpus = k->parent_row.cpus,
		.memory_mib = k->parent_row.memory_mib,
	};

	return fleet_check_memory(c->g, &r, f);
}

int
do_child(struct call *c, struct fault *f)
{
	struct child_create *k = c->work;
	struct grant_child place;
	struct grant_charge charge;
	struct grant_refusal r;
	struct grant_slot slot = { .queue = line_queue(c->g) };

	if (k->is_repeat)
		return 0;
	/* Others of this tick have come before it. */
	if (which_again(c, &k->parent, f) < 0 || child_repeat(c, k, f) < 0)
		return -1;
	if (k->is_repeat)
		return 0;
	place = place_of(k);
	slot.tree = k->parent.tree.memory->number;
	slot.name = k->ask.name;
	if (grant_may_reserve(&k->parent.ask, &place, &slot, &charge, &r) < 0)
		return refuse(c, &r, f);
	if (sandbox_may_add(c, f) < 0 || check_memory(c, k, f) < 0 ||
	    insert(c, k, &charge, f) < 0)
		return -1;
	if (line_join(c->g, k->row.id, slot.tree, false, &r) < 0)
		return refuse(c, &r, f);
	if (line_begin(c->g, &k->row, f) < 0)
		return -1;
	crash_at("before_commit");
	c->undo = await_undo;
	if (k->above.generation != k->above.written)
		stale_begin(c->g);
	return 0;
}

void
do_child_answer(struct call *c)
{
	const struct child_create *k = c->work;

	if (!k->is_repeat)
		crash_at("after_reserve");
	await_start(c, k->is_repeat ? 0 : k->ask.wait_ms);
}
