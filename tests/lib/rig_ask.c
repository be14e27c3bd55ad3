/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/nacre_v1.pb.h"
#include "proto/openshell_v1.pb.h"
#include "rig_ask.h"
#include "unit.h"
#include "wire/wire.h"

enum {
	ARENA = 8 << 20,
	ROWS = 200, /* of the record, the last ones */
	PATIENCE_MS = 60000,
};

#define NACRE     "/nacre.v1.Nacre/"
#define OPENSHELL "/openshell.v1.OpenShell/"

static char *
text(struct arena *a, const char *s)
{
	return s != NULL ? arena_str(a, span_str(s)) : NULL;
}

void
rig_must(struct rig *r, struct rig_answer *a, const char *what)
{
	rig_until(r, &a->is_done, what);
	if (!a->is_yes)
		fail_msg("%s: %s %s", what, a->word, a->text);
	rig_answer_release(a);
}

void
rig_call_root(struct rig *r, struct rig_answer *a, const char *name)
{
	openshell_v1_CreateSandboxRequest ask =
	    openshell_v1_CreateSandboxRequest_init_zero;
	char *command[] = { NULL };
	struct arena arena;

	arena_init(&arena, ARENA);
	command[0] = text(&arena, "/bin/pi");
	ask.name = text(&arena, name);
	ask.has_spec = ask.spec.has_template = true;
	ask.spec.template.image = text(&arena, "tiny");
	ask.spec.command = command;
	ask.spec.command_count = 1;
	rig_call(r, a, OPENSHELL "CreateSandbox",
	    openshell_v1_CreateSandboxRequest_fields, &ask);
	arena_release(&arena);
}

void
rig_call_child(struct rig *r, struct rig_answer *a, const struct rig_child *c)
{
	nacre_v1_CreateChildSandboxRequest ask =
	    nacre_v1_CreateChildSandboxRequest_init_zero;
	struct arena arena;
	char *command[2];

	arena_init(&arena, ARENA);
	command[0] = text(&arena, RIG_PROGRAM);
	command[1] = text(&arena, c->word);
	ask.parent = text(&arena, c->parent);
	if (c->parent == NULL)
		ask.from = text(&arena, "tiny");
	ask.name = text(&arena, c->name);
	ask.request_id = text(&arena, c->request_id);
	ask.kind = text(&arena, c->is_tool ? "tool" : "agent");
	ask.has_wait_ms = true;
	ask.wait_ms = c->wait_ms;
	if (c->is_tool) {
		ask.has_idle_seconds = true;
		ask.idle_seconds = 86400 - (int64_t)strlen(c->word);
	} else {
		ask.command = command;
		ask.command_count = 2;
	}
	rig_call(r, a, NACRE "CreateChildSandbox",
	    nacre_v1_CreateChildSandboxRequest_fields, &ask);
	arena_release(&arena);
}

void
rig_door_child(struct rig_guest *g, struct rig_answer *a,
    const struct rig_child *c, const char *program)
{
	const char *what;
	const char *name = "";
	const char *request = "";
	struct arena arena;

	arena_init(&arena, ARENA);
	what = c->is_tool ? arena_fmt(&arena, "\"idle_seconds\":%d",
				86400 - (int)strlen(c->word))
			  : arena_fmt(&arena, "\"command\":[\"%s\",\"%s\"]",
				RIG_PROGRAM, c->word);
	if (c->name != NULL)
		name = arena_fmt(&arena, ",\"name\":\"%s\"", c->name);
	if (c->request_id != NULL)
		request =
		    arena_fmt(&arena, ",\"request_id\":\"%s\"", c->request_id);
	rig_door(g, a, "create_sandbox",
	    arena_fmt(&arena, "{\"kind\":\"%s\",\"wait_ms\":%lld,%s%s%s}",
		c->is_tool ? "tool" : "agent", (long long)c->wait_ms, what,
		name, request),
	    program);
	arena_release(&arena);
}

void
rig_call_stop(struct rig *r, struct rig_answer *a, const char *id)
{
	nacre_v1_StopChildRequest ask = nacre_v1_StopChildRequest_init_zero;
	struct arena arena;

	arena_init(&arena, ARENA);
	ask.id = text(&arena, id);
	rig_call(r, a, NACRE "StopChild", nacre_v1_StopChildRequest_fields,
	    &ask);
	arena_release(&arena);
}

void
rig_call_delete(struct rig *r, struct rig_answer *a, const char *id)
{
	nacre_v1_DeleteChildRequest ask = nacre_v1_DeleteChildRequest_init_zero;
	struct arena arena;

	arena_init(&arena, ARENA);
	ask.id = text(&arena, id);
	rig_call(r, a, NACRE "DeleteChild", nacre_v1_DeleteChildRequest_fields,
	    &ask);
	arena_release(&arena);
}

void
rig_call_start(struct rig *r, struct rig_answer *a, const char *full_name)
{
	openshell_v1_StartSandboxRequest ask =
	    openshell_v1_StartSandboxRequest_init_zero;
	struct arena arena;

	arena_init(&arena, ARENA);
	ask.name = text(&arena, full_name);
	rig_call(r, a, OPENSHELL "StartSandbox",
	    openshell_v1_StartSandboxRequest_fields, &ask);
	arena_release(&arena);
}

void
rig_call_end(struct rig *r, struct rig_answer *a)
{
	const nacre_v1_StopGatewayRequest ask = { .stop_sandboxes = true };

	rig_call(r, a, NACRE "StopGateway", nacre_v1_StopGatewayRequest_fields,
	    &ask);
}

/* --- grants */

#define ZEROS                                           \
 "@sha256:00000000000000000000000000000000000000000000" \
 "00000000000000000000"
static char program[] = RIG_PROGRAM ZEROS;
static char other[] = RIG_OTHER ZEROS;
static char *programs[] = { program };
static char *others[] = { other };

#define FILL(ask, l)                                                   \
 do {                                                                  \
  (ask).has_max_depth = (l)->max[0] >= 0;                              \
  (ask).max_depth = (l)->max[0];                                       \
  (ask).has_max_breadth = (l)->max[1] >= 0;                            \
  (ask).max_breadth = (l)->max[1];                                     \
  (ask).has_max_total = (l)->max[2] >= 0;                              \
  (ask).max_total = (l)->max[2];                                       \
  if ((l)->life_s > 0)                                                 \
   (ask).expires = arena_fmt(&arena, "%llds", (long long)(l)->life_s); \
 } while (0)

void
rig_ask_grant(struct rig *r, struct rig_answer *a, const char *act,
    const char *root, const struct rig_limits *l)
{
	struct arena arena;

	arena_init(&arena, ARENA);
	if (strncmp(act, "create", 6) == 0) {
		nacre_v1_CreateGrantRequest ask =
		    nacre_v1_CreateGrantRequest_init_zero;

		ask.sandbox = text(&arena, root);
		ask.programs = act[6] == '\0' ? programs : others;
		ask.programs_count = 1;
		FILL(ask, l);
		rig_ask(r, a, NACRE "CreateGrant",
		    nacre_v1_CreateGrantRequest_fields, &ask);
	} else if (strcmp(act, "update") == 0) {
		nacre_v1_UpdateGrantRequest ask =
		    nacre_v1_UpdateGrantRequest_init_zero;

		ask.sandbox = text(&arena, root);
		FILL(ask, l);
		rig_ask(r, a, NACRE "UpdateGrant",
		    nacre_v1_UpdateGrantRequest_fields, &ask);
	} else {
		nacre_v1_RevokeGrantRequest ask =
		    nacre_v1_RevokeGrantRequest_init_zero;

		ask.sandbox = text(&arena, root);
		ask.stop_children = strcmp(act, "revoke") != 0;
		rig_ask(r, a, NACRE "RevokeGrant",
		    nacre_v1_RevokeGrantRequest_fields, &ask);
	}
	arena_release(&arena);
}

static void
take_grant(const nacre_v1_Grant *g, struct rig_grant *out)
{
	out->is_there = true;
	(void)text_copy(out->state, sizeof(out->state), span_str(g->state));
	out->max[0] = g->depth.max;
	out->max[1] = g->breadth.max;
	out->max[2] = g->total.max;
	out->used_total = g->total.used;
}

void
rig_grant_of(struct rig *r, const char *root, struct rig_grant *out)
{
	nacre_v1_GetGrantRequest ask = nacre_v1_GetGrantRequest_init_zero;
	nacre_v1_GrantReply reply = nacre_v1_GrantReply_init_zero;
	struct fault f = { 0 };
	struct rig_answer a;
	struct arena arena;

	memset(out, 0, sizeof(*out));
	arena_init(&arena, ARENA);
	ask.sandbox = text(&arena, root);
	rig_ask(r, &a, NACRE "GetGrant", nacre_v1_GetGrantRequest_fields, &ask);
	if (a.is_yes) {
		if (WIRE_DECODE(nacre_v1_GrantReply, &reply, buf_span(&a.bytes),
			&arena, &f) != 0)
			fail_msg("%s", f.text);
		if (reply.granted)
			take_grant(&reply.grant, out);
	}
	rig_answer_release(&a);
	arena_release(&arena);
}

/* --- looking */

void
rig_ask_get(struct rig *r, struct rig_answer *a, const char *id)
{
	nacre_v1_GetChildRequest ask = nacre_v1_GetChildRequest_init_zero;
	struct arena arena;

	arena_init(&arena, ARENA);
	ask.id = text(&arena, id);
	rig_ask(r, a, NACRE "GetChild", nacre_v1_GetChildRequest_fields, &ask);
	if (a->is_yes)
		rig_answer_child(a);
	arena_release(&arena);
}

static void
take_row(const nacre_v1_Child *c, struct rig_row *out)
{
	(void)text_copy(out->id, sizeof(out->id), span_str(c->id));
	(void)text_copy(out->parent, sizeof(out->parent), span_str(c->parent));
	(void)text_copy(out->full_name, sizeof(out->full_name),
	    span_str(c->full_name));
	(void)text_copy(out->state, sizeof(out->state), span_str(c->state));
	out->depth = c->depth;
	out->is_tool = c->kind != NULL && strcmp(c->kind, "tool") == 0;
}

/* False: it was the last page. */
static bool
list_page(struct rig *r, const char *root, char *cursor, size_t size,
    struct rig_row *out, size_t *n)
{
	nacre_v1_ListChildrenRequest ask =
	    nacre_v1_ListChildrenRequest_init_zero;
	nacre_v1_ListChildrenReply reply = nacre_v1_ListChildrenReply_init_zero;
	struct fault f = { 0 };
	struct rig_answer a;
	struct arena arena;

	arena_init(&arena, ARENA);
	ask.parent = text(&arena, root);
	ask.descendants = true;
	ask.limit = 200;
	ask.cursor = text(&arena, cursor);
	rig_ask(r, &a, NACRE "ListChildren",
	    nacre_v1_ListChildrenRequest_fields, &ask);
	cursor[0] = '\0';
	if (a.is_yes) {
		if (WIRE_DECODE(nacre_v1_ListChildrenReply, &reply,
			buf_span(&a.bytes), &arena, &f) != 0)
			fail_msg("%s", f.text);
		for (size_t i = 0; i < reply.sandboxes_count; i++) {
			assert_true(*n < RIG_ROWS);
			take_row(&reply.sandboxes[i], &out[(*n)++]);
		}
		(void)text_copy(cursor, size, span_str(reply.next_cursor));
	}
	rig_answer_release(&a);
	arena_release(&arena);
	return cursor[0] != '\0';
}

size_t
rig_list(struct rig *r, const char *root, struct rig_row out[RIG_ROWS])
{
	char cursor[64] = "";
	size_t n = 0;

	while (list_page(r, root, cursor, sizeof(cursor), out, &n))
		continue;
	return n;
}

size_t
rig_rows(struct rig *r, const struct rig_wanted *w)
{
	nacre_v1_ListAuditRequest ask = nacre_v1_ListAuditRequest_init_zero;
	nacre_v1_ListAuditReply reply = nacre_v1_ListAuditReply_init_zero;
	struct fault f = { 0 };
	struct rig_answer a;
	struct arena arena;
	size_t n = 0;

	arena_init(&arena, ARENA);
	ask.limit = ROWS;
	ask.has_filter = true;
	ask.filter.root = text(&arena, w->root);
	ask.filter.sandbox = text(&arena, w->id);
	ask.filter.verb = text(&arena, w->verb);
	rig_ask(r, &a, NACRE "ListAudit", nacre_v1_ListAuditRequest_fields,
	    &ask);
	if (!a.is_yes ||
	    WIRE_DECODE(nacre_v1_ListAuditReply, &reply, buf_span(&a.bytes),
		&arena, &f) != 0)
		fail_msg("%s%s", a.text, f.text);
	for (size_t i = 0; i < reply.rows_count; i++)
		n += w->reason == NULL ||
		    strcmp(reply.rows[i].reason, w->reason) == 0;
	rig_answer_release(&a);
	arena_release(&arena);
	return n;
}

/* --- what takes some steps */

struct rig_guest *
rig_launched(struct rig *r, const char *sandbox)
{
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;
	struct rig_guest *g;

	for (;;) {
		g = rig_guest_of(r, sandbox);
		if (g != NULL && g->is_open && !g->has_exited)
			return g;
		if (rig_real_ms() > end_ms)
			fail_msg("no machine for %s", sandbox);
		rig_tick(r);
	}
}

struct rig_guest *
rig_new_root(struct rig *r, const char *name)
{
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;
	struct rig_guest *g;
	struct rig_answer a;

	rig_call_root(r, &a, name);
	rig_until(r, &a.is_done, "a root");
	if (!a.is_yes)
		fail_msg("no root: %s %s", a.word, a.text);
	rig_answer_release(&a);
	rig_ask_get(r, &a, name);
	g = rig_launched(r, a.id);
	rig_say_ready(g);
	while (strcmp(a.state, "running") != 0) {
		if (rig_real_ms() > end_ms)
			fail_msg("root %s is %s", name, a.state);
		rig_answer_release(&a);
		rig_tick(r);
		rig_ask_get(r, &a, name);
	}
	rig_answer_release(&a);
	return g;
}

size_t
rig_count(struct rig *r, const char *root, const char *state)
{
	static struct rig_row rows[RIG_ROWS];
	size_t n = rig_list(r, root, rows);
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += state == NULL || strcmp(rows[i].state, state) == 0;
	return found;
}

void
rig_new_child(struct rig *r, const char *parent, bool is_tool,
    char id[LIMIT_ID + 1])
{
	const struct rig_child c = { .parent = parent,
		.word = "1",
		.is_tool = is_tool };
	struct rig_answer a;

	rig_call_child(r, &a, &c);
	rig_until(r, &a.is_done, "a child");
	if (!a.is_yes)
		fail_msg("a child: %s %s", a.word, a.text);
	rig_answer_child(&a);
	(void)text_copy(id, LIMIT_ID + 1, span_str(a.id));
	rig_answer_release(&a);
}
