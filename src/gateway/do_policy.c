/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The maximum, set and told, and the proof alone. A narrower maximum touches
 * nothing that runs: whose policy is not inside it any more is found by
 * stale.c and listed.
 */
#include "gateway/boundary.h"
#include "gateway/do.h"
#include "gateway/judge.h"
#include "gateway/open.h"
#include "gateway/plan.h"
#include "gateway/sandbox.h"
#include "gateway/stale.h"
#include "proto/nacre_v1.pb.h"
#include "wire/wire.h"

static char *
hash_text(const struct policy *p, struct arena *a)
{
	char hex[2 * POLICY_HASH + 1];

	hex_format(p->hash, POLICY_HASH, hex);
	return arena_str(a, span_str(hex));
}

static int
reply_maximum(struct call *c, const struct maximum *m, struct fault *f)
{
	nacre_v1_MaximumPolicy reply = nacre_v1_MaximumPolicy_init_zero;

	reply.is_set = m->is_set;
	reply.generation = m->generation;
	if (m->generation > 0) {
		reply.set_ms = m->set_ms;
		reply.set_by = arena_str(&c->arena, span_str(m->set_by));
	}
	if (m->is_set) {
		reply.policy = arena_str(&c->arena, m->policy.text);
		reply.hash = hash_text(&m->policy, &c->arena);
		if (reply.policy == NULL || reply.hash == NULL)
			return fault_set(f, FAULT_LIMIT,
			    "the answer is too long");
	}
	return CALL_REPLY(c, nacre_v1_MaximumPolicy, &reply, f);
}

int
do_maximum_set_decide(struct call *c, struct fault *f)
{
	const nacre_v1_SetMaximumPolicyRequest *ask = c->ask;
	struct maximum *m = arena_get(&c->arena, sizeof(*m));

	BUG_IF(m == NULL);
	c->work = m;
	m->is_set = !ask->none;
	m->set_by = c->caller.text;
	if (ask->none && ask->policy != NULL && ask->policy[0] != '\0')
		return fault_field(f, "policy", "a policy, or none: not both");
	if (ask->none)
		return 0;
	if (maximum_parse(span_str(ask->policy), &c->arena, &m->policy, f) == 0)
		return 0;
	c->hint = "a maximum has all four sections: filesystem_policy, "
		  "landlock, process, network_policies; an empty one grants "
		  "nothing";
	return -1;
}

int
do_maximum_set(struct call *c, struct fault *f)
{
	struct maximum *m = c->work;

	if (maximum_write(c->g, &c->arena, m, f) < 0)
		return -1;
	call_note(c, "generation %llu, maximum %s%s",
	    (unsigned long long)m->generation, m->is_set ? "sha256:" : "none",
	    m->is_set ? hash_text(&m->policy, &c->arena) : "");
	stale_begin(c->g);
	return reply_maximum(c, m, f);
}

int
do_maximum_get(struct call *c, struct fault *f)
{
	struct maximum m;

	if (maximum_read(c->g, &c->arena, &m, f) < 0)
		return -1;
	return reply_maximum(c, &m, f);
}

/* --- the proof alone */

struct prove {
	struct policy written;
	struct policy child; /* completed */
	struct policy parent;
	struct boundary above;
	bool has_parent;
	struct scene scene;
	struct judgement judgement;
};

static int
proved(struct call *c, struct fault *f)
{
	(void)c;
	(void)f;
	return 0;
}

/* The parent and the image of a sandbox. */
static int
set_sandbox(struct call *c, const char *name, struct prove *k, struct fault *f)
{
	struct store_sandbox row;

	if (open_name(c, name, &row, f) < 0 ||
	    boundary_of(&row, &c->arena, &k->above, f) < 0)
		return -1;
	k->parent = k->above.policy;
	k->has_parent = true;
	k->judgement.scene = &k->scene;
	return scene_of_sandbox(c->g, &row, &c->arena, &k->scene, f);
}

static bool
is_given(const char *s)
{
	return s != NULL && *s != '\0';
}

/* A sandbox asks about children of its own. */
static int
set_caller(struct call *c, const nacre_v1_ProvePolicyRequest *ask,
    struct prove *k, struct fault *f)
{
	struct store_sandbox row;

	if (is_given(ask->sandbox) || is_given(ask->parent) ||
	    is_given(ask->image))
		return fault_field(f, "parent",
		    "a sandbox asks about its own children only");
	if (open_id(c, c->caller.sandbox_id, &row, f) < 0)
		return -1;
	return set_sandbox(c, row.name, k, f);
}

static int
set_above(struct call *c, const nacre_v1_ProvePolicyRequest *ask,
    struct prove *k, struct fault *f)
{
	if (c->caller.who & CALL_SANDBOX)
		return set_caller(c, ask, k, f);
	if (is_given(ask->sandbox) &&
	    (is_given(ask->parent) || is_given(ask->image)))
		return fault_field(f, "sandbox",
		    "a sandbox has a policy and an image already");
	if (is_given(ask->sandbox))
		return set_sandbox(c, ask->sandbox, k, f);
	if (is_given(ask->parent)) {
		k->has_parent = true;
		if (plan_policy_asked(span_str(ask->parent), 0, &c->arena,
			&k->parent, f) < 0)
			return fault_prefix(f, "parent");
	}
	return 0;
}

/* A child works where its parent does; without one, where its user does. */
static int
set_image(struct call *c, const char *name, struct prove *k, struct fault *f)
{
	const struct policy *of = k->has_parent ? &k->parent : &k->child;
	struct image_account who;

	k->judgement.scene = &k->scene;
	if (image_find(&c->g->images, name, &c->arena, &k->scene.info, f) < 0 ||
	    image_run_as(&k->scene.info, of->user, of->group, &who, f) < 0)
		return -1;
	return scene_of_image(c->g, image_workdir(&k->scene.info, &who),
	    &c->arena, &k->scene, f);
}

static int
prove_turn(struct call *c, struct fault *f)
{
	const nacre_v1_ProvePolicyRequest *ask = c->ask;
	struct prove *k = c->work;

	k->judgement.child = &k->child;
	k->judgement.reports = true;
	k->judgement.then = proved;
	if (set_above(c, ask, k, f) < 0 ||
	    plan_policy_asked(span_str(ask->policy),
		k->has_parent ? POLICY_READ_CHILD : 0, &c->arena, &k->written,
		f) < 0)
		return -1;
	k->child = k->written;
	if (k->has_parent) {
		k->judgement.parent = &k->parent;
		if (plan_complete(&k->written, &k->parent, 0, &c->arena,
			&k->child, f) < 0)
			return -1;
	}
	if (is_given(ask->image) && set_image(c, ask->image, k, f) < 0)
		return -1;
	return judge(c, &k->judgement, f);
}

int
do_prove_decide(struct call *c, struct fault *f)
{
	struct prove *k = arena_get(&c->arena, sizeof(*k));

	BUG_IF(k == NULL);
	c->work = k;
	return judge_turn(c, &k->judgement, prove_turn, f);
}

static void
tell_failure(const struct proof *p, struct arena *a, nacre_v1_Proof *reply)
{
	const struct prover_result *r = &p->result;

	reply->link = arena_str(a, span_str(proof_link_name(p->link)));
	reply->section =
	    arena_str(a, span_str(prover_section_name(r->section)));
	reply->code = arena_str(a, span_str(prover_code_name(r->code)));
	reply->place = arena_str(a, span_str(r->place));
	if (r->verdict != PROVER_EXCEEDS)
		return;
	reply->has_counterexample = true;
	reply->counterexample = judge_counterexample(r, a);
	reply->hint = arena_str(a, span_str(judge_hint(p, a)));
}

int
do_prove(struct call *c, struct fault *f)
{
	const struct prove *k = c->work;
	const struct proof *p = &k->judgement.proof;
	const struct maximum *m = &k->judgement.maximum;
	nacre_v1_Proof reply = nacre_v1_Proof_init_zero;
	struct arena *a = &c->arena;

	reply.verdict =
	    arena_str(a, span_str(prover_verdict_name(p->result.verdict)));
	if (p->result.verdict != PROVER_WITHIN)
		tell_failure(p, a, &reply);
	reply.completed = arena_str(a, k->child.text);
	reply.hash = hash_text(&k->child, a);
	if (k->has_parent)
		reply.parent_hash = hash_text(&k->parent, a);
	if (m->is_set)
		reply.maximum_hash = hash_text(&m->policy, a);
	reply.maximum_generation = m->generation;
	reply.steps = p->steps;
	return CALL_REPLY(c, nacre_v1_Proof, &reply, f);
}
