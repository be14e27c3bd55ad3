/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands on the record share. */
#ifndef CLI_AUDIT_H
#define CLI_AUDIT_H

#include "cli/inner.h"
#include "json/json.h"
#include "proto/nacre_v1.pb.h"

/* Which rows are wanted, as options say it. */
struct audit_wish {
	const char *sandbox;
	const char *verb;
	const char *caller;
	const char *verdict;
	const char *root;
	const char *since;
	const char *until;
};
#define AUDIT_WISHES(w)                          \
 { "--sandbox", CLI_TEXT, &(w).sandbox, 0 },     \
     { "--verb", CLI_TEXT, &(w).verb, 0 },       \
     { "--caller", CLI_TEXT, &(w).caller, 0 },   \
     { "--verdict", CLI_TEXT, &(w).verdict, 0 }, \
     { "--root", CLI_TEXT, &(w).root, 0 },       \
     { "--since", CLI_TEXT, &(w).since, 0 },     \
 {                                               \
  "--until", CLI_TEXT, &(w).until, 0             \
 }

/* The wish as a filter whose texts live in c->arena. */
int audit_wish_take(struct cli *c, const struct audit_wish *w,
    nacre_v1_AuditFilter *out, struct fault *f) MUST_CHECK;
/* "15m" (ago) or RFC 3339 with a zone. */
int audit_time_parse(const char *text, int64_t now_ms, int64_t *out);

void audit_row_json(struct json_out *o, const nacre_v1_AuditRow *r);
/* Reason and detail. */
void audit_row_why(const nacre_v1_AuditRow *r, char *out, size_t size);

#endif
