/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre sandbox create --parent, children and lineage: sandboxes as members of
 * a tree. Policies of children go as they are written: what is absent in them
 * is the parent's.
 */
#include <stdio.h>
#include <string.h>

#include "cli/inner.h"
#include "json/json.h"
#include "proto/nacre_v1.pb.h"

#define NACRE "/nacre.v1.Nacre/"

enum {
	LEVELS = 18,
	LIST_PAGE = 200,
};

/* --- what is shown */

static void
child_json(struct json_out *o, const nacre_v1_Child *s)
{
	const struct cli_text_member texts[] = {
		{ "id", cli_text(s->id) },
		{ "name", cli_text(s->name) },
		{ "full_name", cli_text(s->full_name) },
		{ "kind", cli_text(s->kind) },
		{ "state", cli_text(s->state) },
		{ "parent", cli_text(s->parent) },
		{ "root", cli_text(s->root) },
		{ "user", cli_text(s->user) },
		{ "grant", cli_text(s->grant) },
		{ "policy_hash", cli_text(s->policy_hash) },
		{ "reason", cli_text(s->reason) },
	};
	const struct cli_number_member numbers[] = {
		{ "created_ms", s->created_ms },
		{ "ended_ms", s->ended_ms },
	};

	json_out_object(o);
	cli_json_texts(o, texts, NELEM(texts));
	cli_json_numbers(o, numbers, NELEM(numbers));
	if (s->has_depth) {
		json_out_key(o, "depth");
		json_out_int(o, s->depth);
	}
	if (s->has_exit) {
		json_out_key(o, "exit_code");
		json_out_int(o, s->exit_code);
	}
	json_out_end(o);
}

static int
print_child_json(const nacre_v1_Child *s, struct fault *f)
{
	struct json_out o;
	struct buf b;

	buf_init(&b, CLI_OUTPUT);
	json_out_init(&o, &b);
	child_json(&o, s);
	return cli_json_print(&b, &o, f);
}

/* --- create */

static int
read_policy(struct cli *c, const char *path, char **out, struct fault *f)
{
	struct buf b;
	int rc;

	rc = cli_policy_bytes(path, &b, f);
	if (rc == 0)
		*out = arena_str(&c->arena, buf_span(&b));
	buf_release(&b);
	return rc;
}

static int
put_env(struct cli *c, const struct cli_list *env,
    nacre_v1_CreateChildSandboxRequest *m, struct fault *f)
{
	m->environment =
	    arena_get(&c->arena, (env->n + 1) * sizeof(*m->environment));
	if (!m->environment)
		return fault_set(f, FAULT_LIMIT, "too many '--env'");
	for (size_t i = 0; i < env->n; i++) {
		if (cli_pair(c, env->items[i], &m->environment[i].key,
			&m->environment[i].value, f) < 0)
			return -1;
	}
	m->environment_count = (pb_size_t)env->n;
	return 0;
}

static int
put_number(const char *option, const char *text, bool *has, int64_t *out,
    struct fault *f)
{
	uint64_t n;

	*has = text != NULL;
	if (!text)
		return 0;
	if (!num_parse(span_str(text), INT32_MAX, &n))
		return fault_field(f, option, "'%s' wants a number, not '%s'",
		    option, text);
	*out = (int64_t)n;
	return 0;
}

static char *
copy(struct cli *c, const char *text)
{
	return text ? arena_str(&c->arena, span_str(text)) : NULL;
}

int
cli_child_create(struct client *cl, const struct cli_child *k,
    const struct cli_words *w, struct fault *f)
{
	nacre_v1_CreateChildSandboxRequest m =
	    nacre_v1_CreateChildSandboxRequest_init_zero;
	nacre_v1_ChildReply r = nacre_v1_ChildReply_init_zero;
	struct cli *c = cl->cli;

	m.parent = copy(c, k->parent);
	m.name = copy(c, k->name);
	m.kind = copy(c, k->kind);
	m.request_id = copy(c, k->request_id);
	m.command = w->command;
	m.command_count = (pb_size_t)w->command_n;
	if ((k->policy && read_policy(c, k->policy, &m.policy, f) != 0) ||
	    put_env(c, k->env, &m, f) != 0 ||
	    put_number("--idle", k->idle, &m.has_idle_seconds, &m.idle_seconds,
		f) != 0 ||
	    put_number("--wait-ms", k->wait_ms, &m.has_wait_ms, &m.wait_ms,
		f) != 0)
		return -1;
	client_doing(cl, "waiting for the sandbox to start");
	if (CLIENT_UNARY(cl, NACRE "CreateChildSandbox",
		nacre_v1_CreateChildSandboxRequest, &m, nacre_v1_ChildReply, &r,
		f) != 0)
		return -1;
	if (c->json)
		return print_child_json(&r.sandbox, f);
	(void)printf("sandbox '%s/%s' is %s, also known as '%s'\n", k->parent,
	    cli_text(r.sandbox.name), cli_text(r.sandbox.state),
	    cli_text(r.sandbox.full_name));
	return 0;
}

/* --- children: a tree, indented */

struct listing {
	struct cli *cli;
	struct json_out json;
	struct buf buf;
	struct cli_table table;
	const char *above[LEVELS]; /* ids from the top down */
	nacre_v1_Child *child;
	size_t n;
	size_t room;
};

static void
keep(struct listing *l, const nacre_v1_Child *s)
{
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 64;
		nacre_v1_Child *grown =
		    arena_get(&l->cli->arena, room * sizeof(*grown));

		if (!grown)
			return;
		if (l->n)
			memcpy(grown, l->child, l->n * sizeof(*grown));
		l->child = grown;
		l->room = room;
	}
	l->child[l->n++] = *s;
}

static void
row(struct listing *l, const nacre_v1_Child *s, int level)
{
	char name[128];
	char state[64];
	char when[32];
	const char *cells[] = { name, cli_text(s->kind), state,
		cli_text(s->full_name), when };

	(void)snprintf(name, sizeof(name), "%*s%s", 2 * level, "",
	    cli_text(s->name));
	if (s->has_exit)
		(void)snprintf(state, sizeof(state), "%s (exit %d)",
		    cli_text(s->state), s->exit_code);
	else
		(void)snprintf(state, sizeof(state), "%s", cli_text(s->state));
	time_format(s->created_ms, when);
	cli_table_row(l->cli, &l->table, cells);
}

static void
rows_below(struct listing *l, const char *parent, int level)
{
	for (size_t i = 0; i < l->n && level < LEVELS; i++) {
		if (strcmp(cli_text(l->child[i].parent), parent) != 0)
			continue;
		row(l, &l->child[i], level);
		rows_below(l, cli_text(l->child[i].id), level + 1);
	}
}

static int
list(struct client *cl, struct listing *l, const char *name, struct fault *f)
{
	nacre_v1_ListChildrenRequest m = nacre_v1_ListChildrenRequest_init_zero;

	m.parent = copy(cl->cli, name);
	m.descendants = true;
	m.limit = LIST_PAGE;
	for (;;) {
		nacre_v1_ListChildrenReply r =
		    nacre_v1_ListChildrenReply_init_zero;

		if (CLIENT_UNARY(cl, NACRE "ListChildren",
			nacre_v1_ListChildrenRequest, &m,
			nacre_v1_ListChildrenReply, &r, f) != 0)
			return -1;
		for (pb_size_t i = 0; i < r.sandboxes_count; i++)
			keep(l, &r.sandboxes[i]);
		if (!r.next_cursor || !*r.next_cursor)
			return 0;
		m.cursor = r.next_cursor;
	}
}

static int
show(struct client *cl, struct listing *l, const char *name, struct fault *f)
{
	static const char *const heads[] = { "NAME", "KIND", "STATE",
		"FULL NAME", "CREATED" };
	nacre_v1_GetChildRequest m = nacre_v1_GetChildRequest_init_zero;
	nacre_v1_ChildReply top = nacre_v1_ChildReply_init_zero;

	m.id = copy(cl->cli, name);
	if (CLIENT_UNARY(cl, NACRE "GetChild", nacre_v1_GetChildRequest, &m,
		nacre_v1_ChildReply, &top, f) != 0 ||
	    list(cl, l, name, f) != 0)
		return -1;
	if (cl->cli->json) {
		buf_init(&l->buf, CLI_OUTPUT);
		json_out_init(&l->json, &l->buf);
		json_out_array(&l->json);
		for (size_t i = 0; i < l->n; i++)
			child_json(&l->json, &l->child[i]);
		json_out_end(&l->json);
		return cli_json_print(&l->buf, &l->json, f);
	}
	cli_table_init(&l->table, heads, NELEM(heads));
	row(l, &top.sandbox, 0);
	rows_below(l, cli_text(top.sandbox.id), 1);
	cli_table_print(&l->table);
	return 0;
}

int
cmd_children(struct cli *c, char **argv)
{
	struct listing l = { .cli = c };
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0 ||
	    cli_want(&w, 1, "sandbox children NAME", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	rc = show(&cl, &l, w.word[0], &f);
	client_close(&cl);
	return rc == 0 ? 0 : client_fail(&cl, &f);
}

/* --- lineage */

static void
lineage_json(struct json_out *o, const nacre_v1_LineageRow *r)
{
	const struct cli_text_member texts[] = {
		{ "id", cli_text(r->id) },
		{ "name", cli_text(r->name) },
		{ "parent", cli_text(r->parent) },
		{ "root", cli_text(r->root) },
		{ "kind", cli_text(r->kind) },
		{ "grant", cli_text(r->grant) },
		{ "user", cli_text(r->user) },
		{ "program", cli_text(r->program) },
		{ "sha256", cli_text(r->sha256) },
		{ "policy_hash", cli_text(r->policy_hash) },
		{ "why", cli_text(r->why) },
	};
	const struct cli_number_member numbers[] = {
		{ "created_ms", r->created_ms },
		{ "ended_ms", r->ended_ms },
	};

	json_out_object(o);
	cli_json_texts(o, texts, NELEM(texts));
	cli_json_numbers(o, numbers, NELEM(numbers));
	if (r->has_depth) {
		json_out_key(o, "depth");
		json_out_int(o, r->depth);
	}
	json_out_end(o);
}

static void
lineage_row(struct cli *c, struct cli_table *t, const nacre_v1_LineageRow *r)
{
	char depth[16] = "-";
	char created[32];
	char ended[32] = "";
	const char *program = cli_text(r->program);
	const char *cells[] = { cli_text(r->name), depth, cli_text(r->kind),
		*program ? program : cli_text(r->user), created, ended,
		cli_text(r->why), cli_text(r->id) };

	if (r->has_depth)
		(void)snprintf(depth, sizeof(depth), "%u", r->depth);
	time_format(r->created_ms, created);
	if (r->ended_ms)
		time_format(r->ended_ms, ended);
	cli_table_row(c, t, cells);
}

/* A page at a time; one of the table or of the array takes each row. */
static int
lineage_rows(struct client *cl, const char *name, struct cli_table *t,
    struct json_out *o, struct fault *f)
{
	nacre_v1_GetLineageRequest m = nacre_v1_GetLineageRequest_init_zero;

	m.id = copy(cl->cli, name);
	m.limit = LIST_PAGE;
	for (;;) {
		nacre_v1_GetLineageReply r = nacre_v1_GetLineageReply_init_zero;

		if (CLIENT_UNARY(cl, NACRE "GetLineage",
			nacre_v1_GetLineageRequest, &m,
			nacre_v1_GetLineageReply, &r, f) != 0)
			return -1;
		if (r.is_deleted)
			(void)fprintf(stderr,
			    "nacre: no sandbox '%s' is there: the newest"
			    " deleted one\n",
			    cli_text(m.id));
		for (pb_size_t i = 0; i < r.rows_count; i++)
			if (cl->cli->json)
				lineage_json(o, &r.rows[i]);
			else
				lineage_row(cl->cli, t, &r.rows[i]);
		if (!r.next_cursor || !*r.next_cursor)
			return 0;
		m.id = r.rows[0].root; /* a name may come to mean another */
		m.cursor = r.next_cursor;
	}
}

static int
lineage(struct client *cl, const char *name, struct fault *f)
{
	static const char *const heads[] = { "NAME", "DEPTH", "KIND", "BY",
		"CREATED", "ENDED", "WHY", "ID" };
	struct cli_table t;
	struct json_out o;
	struct buf b;

	cli_table_init(&t, heads, NELEM(heads));
	buf_init(&b, CLI_OUTPUT);
	json_out_init(&o, &b);
	json_out_array(&o);
	if (lineage_rows(cl, name, &t, &o, f) != 0) {
		buf_release(&b);
		return -1;
	}
	json_out_end(&o);
	if (cl->cli->json)
		return cli_json_print(&b, &o, f);
	buf_release(&b);
	cli_table_print(&t);
	return 0;
}

int
cmd_lineage(struct cli *c, char **argv)
{
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0 ||
	    cli_want(&w, 1, "sandbox lineage NAME", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	rc = lineage(&cl, w.word[0], &f);
	client_close(&cl);
	return rc == 0 ? 0 : client_fail(&cl, &f);
}
