/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openshell.v1.Sandbox from a row. Phases are wider than our states: a
 * sandbox whose main process ended but whose machine goes on is READY, with
 * its exit code, since it can be used as before.
 */
#include <string.h>

#include "gateway/enforced.h"
#include "gateway/object.h"
#include "gateway/sandbox.h"
#include "gateway/state.h"
#include "wire/wire.h"

bool
object_is_stillborn(const struct store_sandbox *row)
{
	return row->state == STATE_DELETING && row->reason[0] != '\0';
}

static openshell_v1_SandboxPhase
coming(bool is_first)
{
	return is_first ? openshell_v1_SandboxPhase_SANDBOX_PHASE_PROVISIONING
			: openshell_v1_SandboxPhase_SANDBOX_PHASE_STARTING;
}

static openshell_v1_SandboxPhase
phase_of(const struct store_sandbox *row)
{
	switch ((enum state)row->state) {
	case STATE_RESERVED:
		return coming(row->launches == 0);
	case STATE_STARTING:
		return coming(row->launches <= 1);
	case STATE_RUNNING:
	case STATE_ENDED:
		return openshell_v1_SandboxPhase_SANDBOX_PHASE_READY;
	case STATE_STOPPING:
		return openshell_v1_SandboxPhase_SANDBOX_PHASE_STOPPING;
	case STATE_STOPPED:
	case STATE_OVER:
		return openshell_v1_SandboxPhase_SANDBOX_PHASE_STOPPED;
	case STATE_FAILED:
		return openshell_v1_SandboxPhase_SANDBOX_PHASE_ERROR;
	case STATE_DELETING:
		return openshell_v1_SandboxPhase_SANDBOX_PHASE_DELETING;
	case STATE_REMOVED:
		break;
	}
	return openshell_v1_SandboxPhase_SANDBOX_PHASE_UNKNOWN;
}

/* The condition "Ready" in the words that existing clients know. */
static void
set_condition(const struct store_sandbox *row, struct arena *a,
    openshell_v1_SandboxStatus *out)
{
	static const char *const reasons[STATE_COUNT] = {
		[STATE_STARTING] = "Starting",
		[STATE_RUNNING] = "DependenciesReady",
		[STATE_STOPPING] = "Stopping",
		[STATE_STOPPED] = "Stopped",
		[STATE_ENDED] = "MainProcessExited",
		[STATE_FAILED] = "StartFailed",
		[STATE_DELETING] = "Deleting",
		[STATE_RESERVED] = "Reserved",
		[STATE_OVER] = "MainProcessExited",
	};
	openshell_v1_SandboxCondition *c = arena_get(a, sizeof(*c));
	const char *message = row->detail;

	if (c == NULL)
		return;
	if (row->state == STATE_RUNNING)
		message = "Supervisor session connected";
	c->type = arena_str(a, SPAN_LIT("Ready"));
	c->status = arena_str(a,
	    state_is_open((enum state)row->state) ? SPAN_LIT("True")
						  : SPAN_LIT("False"));
	c->reason = arena_str(a, span_str(reasons[row->state]));
	c->message = arena_str(a, span_str(message));
	out->conditions = c;
	out->conditions_count = 1;
}

int
object_of(const struct store_sandbox *row, struct arena *a,
    openshell_v1_Sandbox *out, struct fault *f)
{
	openshell_datamodel_v1_ObjectMeta *m = &out->metadata;
	openshell_v1_SandboxStatus *s = &out->status;

	BUG_IF(row->state >= STATE_COUNT);
	memset(out, 0, sizeof(*out));
	if (WIRE_DECODE(openshell_v1_Sandbox, out, row->object, a, f) < 0)
		return fault_prefix(f, "row of '%s'", row->name);
	out->has_metadata = out->has_spec = out->has_status = true;
	m->id = arena_str(a, span_str(row->id));
	m->name = arena_str(a, span_str(row->name));
	m->workspace = arena_str(a, SPAN_LIT("default"));
	m->created_at_ms = row->created_ms;
	m->resource_version = row->version;
	m->deletion_timestamp_ms = row->deleted_ms;
	s->phase = phase_of(row);
	s->sandbox_name = m->name;
	s->has_exit_code = row->has_exit;
	s->exit_code = row->exit_code;
	if (s->current_policy_version == 0)
		s->current_policy_version = 1;
	s->main_process_instance_id = arena_str(a, span_str(row->launch));
	set_condition(row, a, s);
	if (m->id == NULL || m->name == NULL || s->conditions == NULL)
		return fault_set(f, FAULT_LIMIT, "the answer is too long");
	return 0;
}

int
object_tell_policy(const struct store_sandbox *row, struct arena *a,
    openshell_v1_Sandbox *out, struct fault *f)
{
	nacre_store_v1_Plan plan;

	if (sandbox_plan(row, a, &plan, f) < 0)
		return -1;
	out->status.enforcement = enforced_today(&plan,
	    out->spec.has_policy ? &out->spec.policy : NULL, a);
	if (out->status.enforcement == NULL)
		return fault_set(f, FAULT_LIMIT, "the answer is too long");
	out->status.enforcement_count = ENFORCED_SECTIONS;
	return 0;
}

static int
encode(const openshell_v1_Sandbox *kept, struct arena *a, struct span *out,
    struct fault *f)
{
	struct buf b;
	int rc;

	buf_init(&b, LIMIT_MESSAGE);
	rc = WIRE_ENCODE(openshell_v1_Sandbox, kept, &b, f);
	if (rc == 0)
		*out = arena_dup(a, buf_span(&b));
	buf_release(&b);
	if (rc == 0 && out->ptr == NULL)
		rc = fault_set(f, FAULT_LIMIT, "the request is too large");
	return rc;
}

static void
put_policy(openshell_v1_Sandbox *kept, const struct object_policy *p,
    struct arena *a)
{
	kept->has_status = true;
	kept->status.current_policy_version = p->generation;
	kept->status.maximum_generation = p->maximum_generation;
	kept->status.stale_maximum = p->is_stale;
	kept->status.boundary_generation = p->boundary_generation;
	kept->status.stale_boundary = p->is_stale_boundary;
	kept->status.policy_hash = arena_str(a, span_str(p->hash));
}

int
object_policy(const struct store_sandbox *row, struct arena *a,
    struct object_policy *out, struct fault *f)
{
	openshell_sandbox_v1_SandboxPolicy *message;
	openshell_v1_Sandbox kept = openshell_v1_Sandbox_init_zero;

	if (WIRE_DECODE(openshell_v1_Sandbox, &kept, row->object, a, f) < 0)
		return fault_prefix(f, "row of '%s'", row->name);
	*out = (struct object_policy){
		.generation = kept.status.current_policy_version,
		.maximum_generation = kept.status.maximum_generation,
		.is_stale = kept.status.stale_maximum,
		.boundary_generation = kept.status.boundary_generation,
		.is_stale_boundary = kept.status.stale_boundary,
		.hash = kept.status.policy_hash,
	};
	if (out->generation == 0)
		out->generation = 1;
	if (out->hash == NULL)
		out->hash = "";
	if (!kept.spec.has_policy)
		return 0;
	message = arena_get(a, sizeof(*message));
	if (message == NULL)
		return fault_set(f, FAULT_LIMIT, "the policy is too big");
	*message = kept.spec.policy;
	out->message = message;
	return 0;
}

int
object_mark(struct store_sandbox *row, const struct object_policy *p,
    struct arena *a, struct fault *f)
{
	openshell_v1_Sandbox kept = openshell_v1_Sandbox_init_zero;

	if (WIRE_DECODE(openshell_v1_Sandbox, &kept, row->object, a, f) < 0)
		return fault_prefix(f, "row of '%s'", row->name);
	put_policy(&kept, p, a);
	if (p->message != NULL) {
		kept.spec.has_policy = true;
		kept.spec.policy = *p->message;
	}
	return encode(&kept, a, &row->object, f);
}

static int
keep_labels(const openshell_v1_CreateSandboxRequest *ask, struct arena *a,
    struct span *out, struct fault *f)
{
	struct buf b;
	int rc = 0;

	*out = span_of(NULL, 0);
	if (ask->labels_count == 0)
		return 0;
	buf_init(&b, LIMIT_HEADERS * 2);
	rc = buf_add(&b, "\n", 1, f);
	for (pb_size_t i = 0; i < ask->labels_count && rc == 0; i++) {
		if (buf_fmt(&b, "%s=%s\n", ask->labels[i].key,
			ask->labels[i].value == NULL
			    ? ""
			    : ask->labels[i].value) < 0)
			rc = fault_field(f, "labels", "labels are too long");
	}
	if (rc == 0)
		*out = arena_dup(a, buf_span(&b));
	buf_release(&b);
	return rc;
}

int
object_keep(const openshell_v1_CreateSandboxRequest *ask,
    const struct object_policy *p, struct arena *a, struct span *object,
    struct span *labels, struct fault *f)
{
	openshell_v1_Sandbox kept = openshell_v1_Sandbox_init_zero;

	_Static_assert(sizeof(*kept.metadata.labels) == sizeof(*ask->labels) &&
		sizeof(*kept.metadata.annotations) == sizeof(*ask->annotations),
	    "one form of pairs");
	kept.has_metadata = kept.has_spec = true;
	kept.spec = ask->spec;
	kept.metadata.labels = (void *)ask->labels;
	kept.metadata.labels_count = ask->labels_count;
	kept.metadata.annotations = (void *)ask->annotations;
	kept.metadata.annotations_count = ask->annotations_count;
	put_policy(&kept, p, a);
	if (encode(&kept, a, object, f) < 0)
		return -1;
	return keep_labels(ask, a, labels, f);
}
