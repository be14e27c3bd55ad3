/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UpdateConfig: a sandbox's own policy is replaced, as a new generation,
 * proved like the first one, that holds from the next start. The process is
 * settled at create: the disk is its user's. A live sandbox's files cannot be
 * changed. Nothing else that existing clients ask here is served.
 */
#include <string.h>

#include "gateway/boundary.h"
#include "gateway/check.h"
#include "gateway/do.h"
#include "gateway/judge.h"
#include "gateway/object.h"
#include "gateway/open.h"
#include "gateway/plan.h"
#include "gateway/refuse.h"
#include "gateway/sandbox.h"
#include "gateway/stale.h"
#include "proto/openshell_v1.pb.h"
#include "wire/wire.h"

struct write {
	char id[LIMIT_ID + 1];
	uint64_t version; /* of the row that was judged */
	uint32_t uid;
	uint32_t gid;
	struct policy old;
	struct policy written;
	struct policy policy;                       /* of a child: completed */
	openshell_sandbox_v1_SandboxPolicy message; /* as it is told */
	struct boundary above; /* what is in force in its parent, of a child */
	struct scene scene;
	struct judgement judgement;
};

static int
unserved(const char *field, struct fault *f)
{
	fault_set(f, FAULT_UNIMPLEMENTED, "%s is not served by this gateway",
	    field);
	(void)text_copy(f->field, sizeof(f->field), span_str(field));
	return -1;
}

static int
check_ask(struct call *c, const openshell_v1_UpdateConfigRequest *ask,
    struct fault *f)
{
	if (ask->global && ask->has_policy) {
		c->hint = "'nacre policy set-maximum FILE' caps every policy";
		return fault_set(f, FAULT_PRECONDITION,
		    "a global policy does not replace policies here: use "
		    "set-maximum");
	}
	if (ask->global)
		return unserved("global", f);
	if ((ask->setting_key != NULL && *ask->setting_key != '\0') ||
	    ask->has_setting_value || ask->delete_setting)
		return unserved("setting_key", f);
	if (ask->merge_operations_count > 0)
		return unserved("merge_operations", f);
	if (ask->annotations_count > 0)
		return unserved("annotations", f);
	if (!ask->has_policy)
		return fault_field(f, "policy", "the policy is missing");
	return check_workspace(ask->workspace, f);
}

static bool
same_files(const struct policy_files *a, const struct policy_files *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!span_equal(a->file[i].path, b->file[i].path))
			return false;
	return true;
}

static bool
same_boundary(const struct policy *a, const struct policy *b)
{
	return a->best_effort == b->best_effort &&
	    a->include_workdir == b->include_workdir &&
	    same_files(&a->read_only, &b->read_only) &&
	    same_files(&a->read_write, &b->read_write);
}

static bool
is_down(const struct store_sandbox *row)
{
	return row->state == STATE_STOPPED || row->state == STATE_FAILED;
}

static int
check_change(struct call *c, const struct write *w,
    const struct store_sandbox *row, struct fault *f)
{
	struct image_account who;

	if (image_run_as(&w->scene.info, w->policy.user, w->policy.group, &who,
		f) < 0)
		return -1;
	if (who.uid != w->uid || who.gid != w->gid) {
		fault_field(f, "process",
		    "process is settled when a sandbox is created");
		f->code = FAULT_POLICY_INVALID;
		return -1;
	}
	if (is_down(row) || same_boundary(&w->policy, &w->old))
		return 0;
	c->hint = "stop it, write the policy, start it";
	fault_set(f, FAULT_NOT_READY,
	    "the files of '%s' cannot be changed while it is %s", row->name,
	    state_name((enum state)row->state));
	return refuse_in_state(c, row->state, f);
}

static int
check_row(struct call *c, const struct store_sandbox *row, struct fault *f)
{
	const openshell_v1_UpdateConfigRequest *ask = c->ask;

	if (row->state == STATE_DELETING) {
		fault_set(f, FAULT_NOT_READY, "sandbox '%s' is being deleted",
		    row->name);
		return refuse_in_state(c, row->state, f);
	}
	if (ask->expected_resource_version != 0 &&
	    ask->expected_resource_version != row->version)
		return fault_set(f, FAULT_CONFLICT,
		    "sandbox '%s' is at version %llu", row->name,
		    (unsigned long long)row->version);
	return 0;
}

static int
config_judged(struct call *c, struct fault *f)
{
	(void)c;
	(void)f;
	return 0;
}

/* As at create: a child is completed before anything is judged. */
static int
read_policy(struct call *c, struct write *w, struct fault *f)
{
	const openshell_v1_UpdateConfigRequest *ask = c->ask;
	bool is_child = w->above.parent[0] != '\0';
	unsigned inherit;

	if (plan_inherit(ask->inherit, ask->inherit_count, &inherit, f) < 0 ||
	    plan_policy(&ask->policy, is_child ? POLICY_READ_CHILD : 0,
		&c->arena, &w->written, f) < 0)
		return -1;
	w->policy = w->written;
	w->message = ask->policy;
	if (!is_child)
		return 0;
	if (plan_complete(&w->written, &w->above.policy, inherit, &c->arena,
		&w->policy, f) < 0)
		return -1;
	return policy_message(&w->policy, &c->arena, &w->message, f);
}

static int
config_turn(struct call *c, struct fault *f)
{
	const openshell_v1_UpdateConfigRequest *ask = c->ask;
	struct write *w = c->work;
	nacre_store_v1_Plan plan;
	struct store_sandbox row;

	if (open_name(c, ask->name, &row, f) < 0 || check_row(c, &row, f) < 0 ||
	    sandbox_plan(&row, &c->arena, &plan, f) < 0 ||
	    plan_policy_text(wire_span(plan.policy), 0, &c->arena, &w->old, f) <
		0 ||
	    boundary_above(c->g, row.id, &c->arena, &w->above, f) < 0 ||
	    read_policy(c, w, f) < 0 ||
	    scene_of_sandbox(c->g, &row, &c->arena, &w->scene, f) < 0)
		return -1;
	(void)text_copy(w->id, sizeof(w->id), span_str(row.id));
	w->version = row.version;
	w->uid = plan.uid;
	w->gid = plan.gid;
	if (check_change(c, w, &row, f) < 0)
		return -1;
	w->judgement.child = &w->policy;
	w->judgement.scene = &w->scene;
	w->judgement.then = config_judged;
	if (w->above.parent[0] != '\0')
		w->judgement.parent = &w->above.policy;
	return judge(c, &w->judgement, f);
}

int
do_config_decide(struct call *c, struct fault *f)
{
	struct write *w = arena_get(&c->arena, sizeof(*w));

	BUG_IF(w == NULL);
	c->work = w;
	if (check_ask(c, c->ask, f) < 0)
		return -1;
	return judge_turn(c, &w->judgement, config_turn, f);
}

static int
put_plan(struct call *c, struct store_sandbox *row, const struct policy *p,
    struct fault *f)
{
	nacre_store_v1_Plan plan;
	struct buf b;
	int rc;

	if (sandbox_plan(row, &c->arena, &plan, f) < 0)
		return -1;
	plan.policy = wire_bytes(&c->arena, p->text);
	if (plan.policy == NULL)
		return fault_set(f, FAULT_LIMIT, "the policy is too big");
	buf_init(&b, LIMIT_MESSAGE);
	rc = WIRE_ENCODE(nacre_store_v1_Plan, &plan, &b, f);
	if (rc == 0)
		row->plan = arena_dup(&c->arena, buf_span(&b));
	buf_release(&b);
	return rc;
}

/* Lineage tells of the same policy as the sandbox. */
static int
put_hash(struct call *c, const char *id, const char *hash, struct fault *f)
{
	struct store_lineage l;

	if (store_lineage_by_id(c->g->store, id, &c->arena, &l, f) < 0)
		return -1;
	(void)text_copy(l.policy_hash, sizeof(l.policy_hash), span_str(hash));
	return store_lineage_update(c->g->store, &l, f);
}

/* Those below are judged anew by what it allows now; so is it, when another
 * policy than the one in force waits above it. */
static int
put_policy(struct call *c, struct store_sandbox *row, const char *hash,
    struct object_policy *p, struct fault *f)
{
	struct write *w = c->work;

	if (!span_equal(w->policy.text, w->old.text)) {
		p->generation++;
		p->message = &w->message;
		stale_begin(c->g);
	}
	p->hash = hash;
	p->maximum_generation = w->judgement.maximum.generation;
	p->is_stale = false;
	if (boundary_mark(&w->above, true, p))
		stale_begin(c->g);
	if (put_plan(c, row, &w->policy, f) < 0 ||
	    put_hash(c, row->id, hash, f) < 0 ||
	    object_mark(row, p, &c->arena, f) < 0)
		return -1;
	return store_sandbox_update(c->g->store, row, f);
}

/* The same policy again is no new generation. */
int
do_config(struct call *c, struct fault *f)
{
	struct write *w = c->work;
	openshell_v1_UpdateConfigResponse reply =
	    openshell_v1_UpdateConfigResponse_init_zero;
	char hash[2 * POLICY_HASH + 1];
	struct store_sandbox row;
	struct object_policy p;

	if (open_id(c, w->id, &row, f) < 0 || check_row(c, &row, f) < 0 ||
	    object_policy(&row, &c->arena, &p, f) < 0)
		return -1;
	if (row.version != w->version)
		return fault_set(f, FAULT_CONFLICT,
		    "sandbox '%s' was changed while the policy was judged",
		    row.name);
	hex_format(w->policy.hash, POLICY_HASH, hash);
	if (boundary_again(c->g, &w->above, &c->arena, f) < 0)
		return -1;
	if (put_policy(c, &row, hash, &p, f) < 0)
		return -1;
	call_note(c, ", policy generation %u", (unsigned)p.generation);
	reply.version = p.generation;
	reply.policy_hash = arena_str(&c->arena, span_str(hash));
	return CALL_REPLY(c, openshell_v1_UpdateConfigResponse, &reply, f);
}
