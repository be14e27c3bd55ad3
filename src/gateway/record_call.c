/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The row of a call: who called by which program, on what, in whose tree.
 * Parent, root and user are those of the sandbox that it is about, or else of
 * the sandbox that called. And the rows of what the gateway did by itself.
 */
#include <string.h>

#include "gateway/record.h"

enum {
	PROGRAM = 512, /* path and digest, as a row holds it */
	PATH_CUT = 400,
};

/* The tree that a call is in; empty: none is known. */
struct kin {
	struct arena arena;
	struct store_lineage row;
};

/* Of the first of both that has one. */
static void
find_kin(struct gateway *g, const char *id, const char *otherwise,
    struct kin *k)
{
	const char *const ids[] = { id, otherwise };

	arena_init(&k->arena, 64 << 10);
	memset(&k->row, 0, sizeof(k->row));
	for (size_t i = 0; i < NELEM(ids); i++) {
		struct fault ignored = { 0 };

		if (ids[i][0] == '\0')
			continue;
		if (store_lineage_by_id(g->store, ids[i], &k->arena, &k->row,
			&ignored) == 0)
			return;
		memset(&k->row, 0, sizeof(k->row));
	}
}

/* "PATH sha256:HEX" of a sandbox's process; the path alone on the host. */
static void
program_of(const struct call *c, char out[PROGRAM])
{
	const struct grant_executable *e = &c->caller.evidence.self;
	char hex[2 * sizeof(e->sha256) + 1];
	int n = e->path.len < PATH_CUT ? (int)e->path.len : PATH_CUT;

	(void)text_copy(out, PROGRAM, span_str(c->caller.program));
	if (!(c->caller.who & CALL_SANDBOX) || e->path.len == 0)
		return;
	hex_format(e->sha256, sizeof(e->sha256), hex);
	(void)text_fmt(out, PROGRAM, "%.*s sha256:%s", n,
	    (const char *)e->path.ptr, hex);
}

int
record_call(struct call *c, struct fault *f)
{
	char program[PROGRAM];
	struct audit_row row = {
		.time_ms = clock_wall_ms(),
		.caller = c->caller.text,
		.program = program,
		.verb = c->method->verb,
		.sandbox_id = c->sandbox_id,
		.sandbox = c->sandbox,
		.request_id = c->request_id,
		.verdict = audit_verdict_of(&c->fault),
		.reason = c->fault.code == FAULT_NONE
		    ? ""
		    : fault_reason(c->fault.code),
	};
	struct kin k;
	int rc;

	program_of(c, program);
	find_kin(c->g, c->sandbox_id, c->caller.sandbox_id, &k);
	row.parent = k.row.parent;
	row.root = k.row.root;
	if (k.row.user[0] != '\0' && strcmp(k.row.user, c->caller.text) != 0)
		call_note(c, "%suser %s", c->detail.len > 0 ? "; " : "",
		    k.row.user);
	row.detail = (const char *)buf_ptr(&c->detail);
	rc = audit_append(c->g->store, &row, f);
	arena_release(&k.arena);
	return rc;
}

int
record_own(struct gateway *g, const struct audit_row *told, struct fault *f)
{
	struct audit_row row = *told;
	struct kin k;
	int rc;

	find_kin(g, row.sandbox_id, "", &k);
	row.time_ms = clock_wall_ms();
	row.caller = "gateway";
	row.parent = k.row.parent;
	row.root = k.row.root;
	if (k.row.user[0] != '\0')
		row.detail = arena_fmt(&k.arena, "%s%suser %s", told->detail,
		    told->detail[0] != '\0' ? "; " : "", k.row.user);
	rc = audit_append(g->store, &row, f);
	arena_release(&k.arena);
	return rc;
}
