/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CreateSandbox: everything that can be wrong is found before a row is
 * written, and its policy is proved to be within the maximum, which may take
 * some ticks; the row is durable before a machine is touched; the answer says
 * PROVISIONING, and the sandbox is on its way whatever becomes of the caller.
 */
#include <string.h>

#include "gateway/do.h"
#include "gateway/fleet.h"
#include "gateway/grants.h"
#include "gateway/judge.h"
#include "gateway/line.h"
#include "gateway/note.h"
#include "gateway/obituary.h"
#include "gateway/object.h"
#include "gateway/plan.h"
#include "gateway/programs.h"
#include "gateway/refusal.h"
#include "gateway/refuse.h"
#include "gateway/sandbox.h"
#include "wire/wire.h"

enum {
	LOG_LEVEL = 32,
	TEMPLATE_TEXT = 1024,
};

struct create {
	struct store_sandbox row;
	nacre_store_v1_Plan plan;
	struct policy policy;
	struct scene scene;
	struct judgement judgement;
	struct grant_wish wish; /* of the grant that comes with it */
};

static const struct pair *
pairs(const void *entries)
{
	return entries; /* plan.c and object.c assert that they are one form */
}

static int
unserved(const char *field, struct fault *f)
{
	fault_set(f, FAULT_UNIMPLEMENTED, "%s is not served by this gateway",
	    field);
	(void)text_copy(f->field, sizeof(f->field), span_str(field));
	return -1;
}

static bool
is_set(const char *s)
{
	return s != NULL && *s != '\0';
}

static int
check_served(const openshell_v1_SandboxSpec *s, struct fault *f)
{
	const openshell_v1_SandboxTemplate *t = &s->template;

	if (s->providers_count > 0)
		return unserved("providers", f);
	if (s->resource_requirements.has_gpu)
		return unserved("resource_requirements.gpu", f);
	if (is_set(t->runtime_class_name))
		return unserved("template.runtime_class_name", f);
	if (is_set(t->agent_socket))
		return unserved("template.agent_socket", f);
	if (t->user_namespaces)
		return unserved("template.user_namespaces", f);
	if (wire_span(t->driver_config).len > 0)
		return unserved("template.driver_config", f);
	return 0;
}

static int
check_spec(const openshell_v1_CreateSandboxRequest *ask, struct fault *f)
{
	const openshell_v1_SandboxSpec *s = &ask->spec;
	const openshell_v1_SandboxTemplate *t = &s->template;

	if (!ask->has_spec || !s->has_template || !is_set(t->image))
		return fault_field(f, "image",
		    "the image to start from is missing");
	if (s->log_level != NULL && strlen(s->log_level) > LOG_LEVEL)
		return fault_field(f, "log_level", "log_level is too long");
	if (check_served(s, f) < 0 ||
	    check_labels(pairs(ask->labels), ask->labels_count, "labels", f) <
		0 ||
	    check_annotations(pairs(ask->annotations), ask->annotations_count,
		"annotations", f) < 0 ||
	    check_annotations(pairs(t->labels), t->labels_count,
		"template.labels", f) < 0 ||
	    check_annotations(pairs(t->annotations), t->annotations_count,
		"template.annotations", f) < 0 ||
	    check_environment(pairs(t->environment), t->environment_count,
		"template.environment", f) < 0 ||
	    check_environment(pairs(s->environment), s->environment_count,
		"environment", f) < 0)
		return -1;
	return check_command(s->command, s->command_count, LIMIT_ARGS,
	    "command", f);
}

/* Two words, as clients that name nothing expect. */
static void
make_name(char out[LIMIT_NAME + 1])
{
	static const char *const first[] = { "amber", "brisk", "calm", "clear",
		"eager", "fair", "gentle", "keen", "lucid", "merry", "noble",
		"quiet", "rapid", "solid", "sunny", "vivid" };
	static const char *const second[] = { "cove", "coral", "dune", "fern",
		"finch", "grove", "heron", "inlet", "kelp", "lark", "otter",
		"pearl", "reef", "shell", "tide", "wren" };
	uint8_t r[4];

	random_bytes(r, sizeof(r));
	(void)text_fmt(out, LIMIT_NAME + 1, "%s-%s-%02x%02x",
	    first[r[0] % NELEM(first)], second[r[1] % NELEM(second)], r[2],
	    r[3]);
}

static int
set_name(struct call *c, const openshell_v1_CreateSandboxRequest *ask,
    struct store_sandbox *row, struct fault *f)
{
	if (is_set(ask->name)) {
		if (check_name(ask->name, "name", f) < 0)
			return -1;
		(void)text_copy(row->name, sizeof(row->name),
		    span_str(ask->name));
	} else {
		make_name(row->name);
	}
	(void)text_copy(c->sandbox, sizeof(c->sandbox), span_str(row->name));
	return 0;
}

static int
set_image(struct call *c, const char *name, struct image_info *image,
    struct store_sandbox *row, struct fault *f)
{
	if (!name_valid(span_str(name), LIMIT_NAME))
		fault_set(f, FAULT_NOT_FOUND, "image '%.64s' not found", name);
	else if (image_find(&c->g->images, name, &c->arena, image, f) == 0) {
		(void)text_copy(row->image, sizeof(row->image), span_str(name));
		(void)text_copy(row->image_digest, sizeof(row->image_digest),
		    span_str(image->digest));
		return 0;
	}
	if (f->code == FAULT_NOT_FOUND) {
		fault_clear(f);
		fault_set(f, FAULT_NOT_FOUND, "image '%.64s' not found", name);
		c->hint = "'nacre image list' shows what is there, 'nacre "
			  "image import NAME PATH' brings more";
	}
	return -1;
}

static int
set_size(const openshell_v1_SandboxTemplate *t, struct store_sandbox *row,
    struct fault *f)
{
	struct resources r;

	if (check_resources(wire_span(t->resources), &r, f) < 0 ||
	    check_size(&r, f) < 0)
		return -1;
	row->cpus = r.cpus;
	row->memory_mib = r.memory_mib;
	return 0;
}

/* Is there room for one more of that name? */
static int
check_room(struct call *c, const struct store_sandbox *row, struct fault *f)
{
	const struct resources r = { row->cpus, row->memory_mib };
	struct store_sandbox there;

	if (fleet_check_memory(c->g, &r, f) < 0) {
		c->hint = "stop a sandbox, or ask for less memory";
		return -1;
	}
	if (sandbox_may_add(c, f) < 0)
		return -1;
	if (store_sandbox_by_name(c->g->store, row->name, &c->arena, &there,
		f) == 0) {
		c->hint = "choose another name, or delete that one first";
		fault_set(f, FAULT_EXISTS, "sandbox '%s' already exists",
		    row->name);
		return refuse_taken(c, row->name, f);
	}
	if (f->code != FAULT_NOT_FOUND)
		return -1;
	fault_clear(f);
	return 0;
}

static int
encode_plan(struct call *c, struct create *k, struct fault *f)
{
	struct buf b;
	int rc;

	buf_init(&b, LIMIT_MESSAGE);
	rc = WIRE_ENCODE(nacre_store_v1_Plan, &k->plan, &b, f);
	if (rc == 0)
		k->row.plan = arena_dup(&c->arena, buf_span(&b));
	buf_release(&b);
	return rc;
}

/* A row holds its image; until there is one, the image may be deleted. */
static int
check_image(struct call *c, const struct store_sandbox *row, struct fault *f)
{
	struct image_info image;

	return image_find_blob(&c->g->images, row->image_digest, &c->arena,
	    &image, f);
}

/* It was proved; what has changed meanwhile is asked again. */
static int
create_judged(struct call *c, struct fault *f)
{
	char hash[2 * POLICY_HASH + 1];
	struct create *k = c->work;
	const struct object_policy p = {
		.generation = 1,
		.maximum_generation = k->judgement.maximum.generation,
		.hash = hash,
	};

	hex_format(k->policy.hash, POLICY_HASH, hash);
	if (check_room(c, &k->row, f) < 0 || check_image(c, &k->row, f) < 0 ||
	    encode_plan(c, k, f) < 0)
		return -1;
	return object_keep(c->ask, &p, &c->arena, &k->row.object,
	    &k->row.labels, f);
}

/* Its turn: the policy is read and judged. */
static int
create_turn(struct call *c, struct fault *f)
{
	const openshell_v1_CreateSandboxRequest *ask = c->ask;
	struct create *k = c->work;

	if (plan_policy(ask->spec.has_policy ? &ask->spec.policy : NULL, 0,
		&c->arena, &k->policy, f) < 0 ||
	    plan_make(&ask->spec, &k->scene.info, &k->policy, &c->arena,
		&k->plan, f) < 0)
		return -1;
	call_note(c, ", user %s", k->plan.user);
	k->judgement.child = &k->policy;
	k->judgement.scene = &k->scene;
	k->judgement.then = create_judged;
	if (scene_of_image(c->g, k->plan.workdir, &c->arena, &k->scene, f) < 0)
		return -1;
	return judge(c, &k->judgement, f);
}

static void
note_ask(struct call *c, const openshell_v1_SandboxSpec *s)
{
	const openshell_v1_SandboxTemplate *t = &s->template;
	struct note n;
	struct note names;

	note_init(&n);
	note_init(&names);
	for (pb_size_t i = 0; i < s->command_count; i++)
		note_word(&n, span_str(s->command[i]));
	for (pb_size_t i = 0; i < t->environment_count; i++)
		note_name(&names, span_str(t->environment[i].key));
	for (pb_size_t i = 0; i < s->environment_count; i++)
		note_name(&names, span_str(s->environment[i].key));
	call_note(c, "command %s", n.text);
	note_names(c, &names);
}

/* A grant that comes with it is as good as one that is set later. */
static int
read_grant(struct call *c, struct create *k, struct fault *f)
{
	const openshell_v1_CreateSandboxRequest *m = c->ask;
	const openshell_v1_GrantWish *w = &m->grant;
	const struct grants_ask ask = {
		.has = { w->has_max_depth, w->has_max_breadth,
		    w->has_max_total },
		.max = { w->max_depth, w->max_breadth, w->max_total },
		.expires = w->expires,
		.programs = w->programs,
		.programs_n = w->programs_count,
	};

	if (!m->has_grant)
		return 0;
	if (!c->caller.may_grant) {
		c->hint = "use a token made with --scope grant:write";
		if (refusal_of(c) != NULL)
			refusal_of(c)->why =
			    arena_str(&c->arena, SPAN_LIT("scope"));
		return fault_set(f, FAULT_REFUSED,
		    "this token lacks the scope grant:write");
	}
	if (grants_wish(&ask, &k->wish, f) < 0 ||
	    grant_wish_check_create(&k->wish, clock_wall_ms(), f) < 0)
		return -1;
	return programs_resolve(c->g, k->row.image_digest, &c->arena, &k->wish,
	    f);
}

/* In the transaction that makes its root. */
static int
set_grant(struct call *c, const struct create *k, struct fault *f)
{
	const openshell_v1_CreateSandboxRequest *ask = c->ask;
	struct tree *t = arena_get(&c->arena, sizeof(*t));

	if (!ask->has_grant)
		return 0;
	BUG_IF(t == NULL);
	if (tree_read(c->g, k->row.id, &c->arena, t, f) < 0 ||
	    grants_make(c, t, &k->wish, f) < 0)
		return -1;
	call_note(c, ", grant %.*s: depth %u, breadth %u, total %u",
	    (int)t->grant.id.len, (const char *)t->grant.id.ptr,
	    (unsigned)t->grant.max[GRANT_DEPTH],
	    (unsigned)t->grant.max[GRANT_BREADTH],
	    (unsigned)t->grant.max[GRANT_TOTAL]);
	return 0;
}

int
do_create_decide(struct call *c, struct fault *f)
{
	const openshell_v1_CreateSandboxRequest *ask = c->ask;
	struct create *k = arena_get(&c->arena, sizeof(*k));

	BUG_IF(k == NULL);
	c->work = k;
	note_ask(c, &ask->spec);
	if (check_workspace(ask->workspace, f) < 0 ||
	    set_name(c, ask, &k->row, f) < 0 || check_spec(ask, f) < 0 ||
	    set_image(c, ask->spec.template.image, &k->scene.info, &k->row, f) <
		0 ||
	    read_grant(c, k, f) < 0 ||
	    set_size(&ask->spec.template, &k->row, f) < 0)
		return -1;
	call_note(c, "; image %s, %u cpus, %u MiB", k->row.image, k->row.cpus,
	    k->row.memory_mib);
	if (check_room(c, &k->row, f) < 0)
		return -1;
	return judge_turn(c, &k->judgement, create_turn, f);
}

/* A root of a tree of its own. */
static int
insert_lineage(struct call *c, const struct create *k, struct fault *f)
{
	struct store_lineage l = { .created_ms = k->row.created_ms };

	(void)text_copy(l.id, sizeof(l.id), span_str(k->row.id));
	(void)text_copy(l.root, sizeof(l.root), span_str(k->row.id));
	(void)text_copy(l.name, sizeof(l.name), span_str(k->row.name));
	(void)text_copy(l.user, sizeof(l.user), span_str(c->caller.text));
	hex_format(k->policy.hash, POLICY_HASH, l.policy_hash);
	return store_lineage_insert(c->g->store, &l, f);
}

/* Before anything is written; who finds no room leaves nothing. */
static int
join(struct call *c, const char *id, struct fault *f)
{
	struct grant_refusal r;

	if (line_join(c->g, id, tree_number(c->g, id), true, &r) == 0)
		return 0;
	tree_forget(c->g, id);
	return refuse(c, &r, f);
}

int
do_create(struct call *c, struct fault *f)
{
	struct create *k = c->work;
	openshell_v1_SandboxResponse reply =
	    openshell_v1_SandboxResponse_init_zero;

	uuid_make(k->row.id);
	if (join(c, k->row.id, f) < 0)
		return -1;
	obituary_forget(c->g, k->row.name);
	(void)text_copy(c->sandbox_id, sizeof(c->sandbox_id),
	    span_str(k->row.id));
	k->row.created_ms = clock_wall_ms();
	k->row.version = 1;
	k->row.state = STATE_RESERVED;
	if (store_sandbox_insert(c->g->store, &k->row, f) < 0 ||
	    insert_lineage(c, k, f) < 0 || set_grant(c, k, f) < 0 ||
	    line_begin(c->g, &k->row, f) < 0)
		return -1;
	crash_at("before_commit");
	reply.has_sandbox = true;
	if (object_of(&k->row, &c->arena, &reply.sandbox, f) < 0 ||
	    object_tell_policy(&k->row, &c->arena, &reply.sandbox, f) < 0)
		return -1;
	return CALL_REPLY(c, openshell_v1_SandboxResponse, &reply, f);
}
