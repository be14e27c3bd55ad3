/* SPDX-License-Identifier: Apache-2.0 */
/* nacre grant create | get | list | update | revoke. */
#include <stdio.h>
#include <string.h>

#include "cli/inner.h"
#include "grant/grant.h"
#include "json/json.h"
#include "proto/nacre_v1.pb.h"

#define NACRE "/nacre.v1.Nacre/"

/* What stands on the command line; NULL: not given. */
struct wish {
	const char *max[GRANT_LIMITS];
	const char *expires;
	struct cli_list programs;
};

#define WISH_OPTIONS(w)                                         \
 { "--max-depth", CLI_TEXT, &(w).max[GRANT_DEPTH], 0 },         \
     { "--max-breadth", CLI_TEXT, &(w).max[GRANT_BREADTH], 0 }, \
     { "--max-total", CLI_TEXT, &(w).max[GRANT_TOTAL], 0 },     \
     { "--expires", CLI_TEXT, &(w).expires, 0 },                \
 {                                                              \
  "--program", CLI_TEXTS, &(w).programs, 0                      \
 }

int
cli_grant_limits(const char *const text[3], bool has[3], int64_t value[3],
    struct fault *f)
{
	struct grant_wish w = { 0 };

	for (int l = 0; l < GRANT_LIMITS; l++) {
		has[l] = text[l] != NULL;
		if (has[l] &&
		    grant_wish_limit_text(&w, (enum grant_limit)l,
			span_str(text[l]), f) < 0)
			return -1;
		value[l] = w.max[l];
	}
	return 0;
}

char **
cli_grant_programs(struct cli *c, const struct cli_list *l)
{
	char **to = arena_get(&c->arena, (l->n + 1) * sizeof(*to));

	for (size_t i = 0; to && i < l->n; i++)
		to[i] = arena_str(&c->arena, span_str(l->items[i]));
	return to;
}

static int
fill(struct cli *c, const struct wish *w, nacre_v1_UpdateGrantRequest *m,
    struct fault *f)
{
	bool has[GRANT_LIMITS];
	int64_t value[GRANT_LIMITS];

	if (cli_grant_limits(w->max, has, value, f) < 0)
		return -1;
	m->has_max_depth = has[GRANT_DEPTH];
	m->max_depth = value[GRANT_DEPTH];
	m->has_max_breadth = has[GRANT_BREADTH];
	m->max_breadth = value[GRANT_BREADTH];
	m->has_max_total = has[GRANT_TOTAL];
	m->max_total = value[GRANT_TOTAL];
	if (w->expires)
		m->expires = arena_str(&c->arena, span_str(w->expires));
	m->programs = cli_grant_programs(c, &w->programs);
	m->programs_count = (pb_size_t)w->programs.n;
	return m->programs ? 0
			   : fault_set(f, FAULT_LIMIT, "too many '--program'");
}

/* --- what is shown */

static void
limit_json(struct json_out *o, const char *key, const nacre_v1_GrantLimit *l)
{
	json_out_key(o, key);
	json_out_object(o);
	json_out_key(o, "max");
	json_out_uint(o, l->max);
	json_out_key(o, "used");
	json_out_uint(o, l->used);
	json_out_key(o, "left");
	json_out_uint(o, l->left);
	json_out_end(o);
}

static void
programs_json(struct json_out *o, const nacre_v1_Grant *g)
{
	json_out_key(o, "programs");
	json_out_array(o);
	for (pb_size_t i = 0; i < g->programs_count; i++) {
		const struct cli_text_member m[] = {
			{ "path", cli_text(g->programs[i].path) },
			{ "resolved", cli_text(g->programs[i].resolved) },
			{ "sha256", cli_text(g->programs[i].sha256) },
		};

		json_out_object(o);
		cli_json_texts(o, m, NELEM(m));
		json_out_key(o, "pinned");
		json_out_bool(o, g->programs[i].pinned);
		json_out_end(o);
	}
	json_out_end(o);
}

static void
grant_json(struct json_out *o, const nacre_v1_Grant *g)
{
	char expires[32];
	char set_at[32];
	const struct cli_text_member texts[] = {
		{ "id", cli_text(g->id) },
		{ "root", cli_text(g->root) },
		{ "root_name", cli_text(g->root_name) },
		{ "user", cli_text(g->user) },
		{ "state", cli_text(g->state) },
		{ "expires_at", expires },
		{ "set_by", cli_text(g->set_by) },
		{ "set_at", set_at },
	};

	time_format(g->expires_ms, expires);
	time_format(g->set_ms, set_at);
	json_out_object(o);
	cli_json_texts(o, texts, NELEM(texts));
	limit_json(o, "depth", &g->depth);
	limit_json(o, "breadth", &g->breadth);
	limit_json(o, "total", &g->total);
	programs_json(o, g);
	json_out_key(o, "generation");
	json_out_uint(o, g->generation);
	json_out_end(o);
}

static void
print_limit(const char *name, const nacre_v1_GrantLimit *l)
{
	(void)printf("%-9s %u used of %u, %u left\n", name, l->used, l->max,
	    l->left);
}

static void
print_grant(const nacre_v1_Grant *g)
{
	char when[32];

	time_format(g->expires_ms, when);
	(void)printf("grant     %s of '%s', %s\n", cli_text(g->id),
	    cli_text(g->root_name), cli_text(g->state));
	print_limit("depth", &g->depth);
	print_limit("breadth", &g->breadth);
	print_limit("total", &g->total);
	(void)printf("expires   %s\n", when);
	for (pb_size_t i = 0; i < g->programs_count; i++) {
		const nacre_v1_GrantProgram *p = &g->programs[i];
		const char *resolved = cli_text(p->resolved);

		(void)printf("program   %s%s%s%s%s%s\n", cli_text(p->path),
		    *resolved && strcmp(resolved, cli_text(p->path)) != 0
			? " -> "
			: "",
		    *resolved && strcmp(resolved, cli_text(p->path)) != 0
			? resolved
			: "",
		    p->sha256 ? " sha256:" : "", cli_text(p->sha256),
		    p->pinned ? " (pinned)" : "");
	}
	time_format(g->set_ms, when);
	(void)printf("set       %s by %s\n", when, cli_text(g->set_by));
}

static int
show(struct cli *c, const nacre_v1_GrantReply *r, struct fault *f)
{
	struct json_out o;
	struct buf b;

	if (!c->json) {
		if (r->granted)
			print_grant(&r->grant);
		else
			(void)puts("no grant: no child can be created");
		return 0;
	}
	buf_init(&b, CLI_OUTPUT);
	json_out_init(&o, &b);
	json_out_object(&o);
	json_out_key(&o, "granted");
	json_out_bool(&o, r->granted);
	if (r->granted) {
		json_out_key(&o, "grant");
		grant_json(&o, &r->grant);
	}
	json_out_end(&o);
	return cli_json_print(&b, &o, f);
}

/* --- commands */

static int
ask(struct client *cl, const char *path, const struct pb_msgdesc_s *fields,
    const void *message, struct fault *f)
{
	const struct client_question q = { path, fields, message };
	nacre_v1_GrantReply r = nacre_v1_GrantReply_init_zero;

	if (client_unary(cl, &q, nacre_v1_GrantReply_fields, &r, f) != 0)
		return -1;
	return show(cl->cli, &r, f);
}

static int
set(struct client *cl, const char *path, const char *name, const struct wish *w,
    struct fault *f)
{
	nacre_v1_UpdateGrantRequest m = nacre_v1_UpdateGrantRequest_init_zero;

	/* Create and update have the same request. */
	m.sandbox = arena_str(&cl->cli->arena, span_str(name));
	if (fill(cl->cli, w, &m, f) != 0)
		return -1;
	return ask(cl, path, nacre_v1_UpdateGrantRequest_fields, &m, f);
}

static int
set_command(struct cli *c, char **argv, const char *path, const char *usage)
{
	struct wish wish = { 0 };
	const struct cli_option options[] = { WISH_OPTIONS(wish) };
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 1, usage, &f) != 0 || client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	rc = set(&cl, path, w.word[0], &wish, &f);
	client_close(&cl);
	return rc == 0 ? 0 : client_fail(&cl, &f);
}

int
cmd_grant_create(struct cli *c, char **argv)
{
	return set_command(c, argv, NACRE "CreateGrant",
	    "grant create NAME --max-depth N --max-breadth N --max-total N "
	    "--program PATH... [--expires TIME]");
}

int
cmd_grant_update(struct cli *c, char **argv)
{
	return set_command(c, argv, NACRE "UpdateGrant",
	    "grant update NAME [--max-depth N] [--max-breadth N] "
	    "[--max-total N] [--program PATH]... [--expires TIME]");
}

int
cmd_grant_get(struct cli *c, char **argv)
{
	nacre_v1_GetGrantRequest m = nacre_v1_GetGrantRequest_init_zero;
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0 ||
	    cli_want(&w, 1, "grant get NAME", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	m.sandbox = arena_str(&c->arena, span_str(w.word[0]));
	rc =
	    ask(&cl, NACRE "GetGrant", nacre_v1_GetGrantRequest_fields, &m, &f);
	client_close(&cl);
	return rc == 0 ? 0 : client_fail(&cl, &f);
}

int
cmd_grant_revoke(struct cli *c, char **argv)
{
	nacre_v1_RevokeGrantRequest m = nacre_v1_RevokeGrantRequest_init_zero;
	const struct cli_option options[] = {
		{ "--stop-children", CLI_FLAG, &m.stop_children, 0 },
	};
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 1, "grant revoke NAME [--stop-children]", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	m.sandbox = arena_str(&c->arena, span_str(w.word[0]));
	rc = ask(&cl, NACRE "RevokeGrant", nacre_v1_RevokeGrantRequest_fields,
	    &m, &f);
	client_close(&cl);
	return rc == 0 ? 0 : client_fail(&cl, &f);
}

/* --- list */

struct listing {
	struct cli_table table;
	struct json_out json;
	struct buf buf;
	size_t n;
};

static const char *
used(struct cli *c, const nacre_v1_GrantLimit *l)
{
	const char *s = arena_fmt(&c->arena, "%u/%u", l->used, l->max);

	return cli_text(s);
}

static void
add(struct cli *c, struct listing *l, const nacre_v1_Grant *g)
{
	l->n++;
	if (c->json) {
		grant_json(&l->json, g);
	} else {
		char when[32];
		const char *cells[] = { cli_text(g->root_name),
			cli_text(g->state), used(c, &g->depth),
			used(c, &g->breadth), used(c, &g->total), when };

		time_format(g->expires_ms, when);
		cli_table_row(c, &l->table, cells);
	}
}

static int
list(struct client *cl, struct listing *l, struct fault *f)
{
	nacre_v1_ListGrantsRequest m = nacre_v1_ListGrantsRequest_init_zero;

	for (;;) {
		nacre_v1_ListGrantsReply r = nacre_v1_ListGrantsReply_init_zero;

		if (CLIENT_UNARY(cl, NACRE "ListGrants",
			nacre_v1_ListGrantsRequest, &m,
			nacre_v1_ListGrantsReply, &r, f) != 0)
			return -1;
		for (pb_size_t i = 0; i < r.grants_count; i++)
			add(cl->cli, l, &r.grants[i]);
		if (!r.next_cursor || !*r.next_cursor)
			return 0;
		m.cursor = r.next_cursor;
	}
}

int
cmd_grant_list(struct cli *c, char **argv)
{
	static const char *const heads[] = { "ROOT", "STATE", "DEPTH",
		"BREADTH", "TOTAL", "EXPIRES" };
	struct listing l = { 0 };
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0 ||
	    cli_want(&w, 0, "grant list", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	cli_table_init(&l.table, heads, NELEM(heads));
	buf_init(&l.buf, CLI_OUTPUT);
	json_out_init(&l.json, &l.buf);
	json_out_array(&l.json);
	rc = list(&cl, &l, &f);
	json_out_end(&l.json);
	if (rc == 0 && c->json)
		rc = cli_json_print(&l.buf, &l.json, &f);
	else if (rc == 0 && l.n == 0)
		(void)puts("no grants");
	else if (rc == 0)
		cli_table_print(&l.table);
	client_close(&cl);
	return rc == 0 ? 0 : client_fail(&cl, &f);
}
