/* SPDX-License-Identifier: Apache-2.0 */
/* nacre audit list. */
#include <stdio.h>
#include <string.h>

#include "cli/inner.h"
#include "json/json.h"
#include "proto/nacre_v1.pb.h"
#include "wire/wire.h"

static void
row_json(struct json_out *o, const nacre_v1_AuditRow *r)
{
	const struct cli_text_member texts[] = {
		{ "caller", r->caller },
		{ "verb", r->verb },
		{ "sandbox_id", r->sandbox_id },
		{ "sandbox", r->sandbox },
		{ "verdict", r->verdict },
		{ "reason", r->reason },
		{ "detail", r->detail },
		{ "hash", r->hash },
	};

	json_out_object(o);
	json_out_key(o, "row");
	json_out_uint(o, r->row);
	json_out_key(o, "time_ms");
	json_out_int(o, r->time_ms);
	cli_json_texts(o, texts, NELEM(texts));
	json_out_end(o);
}

static int
print_rows(struct cli *c, const nacre_v1_ListAuditReply *a, struct fault *f)
{
	static const char *const heads[] = { "ROW", "TIME", "CALLER", "VERB",
		"SANDBOX", "VERDICT", "DETAIL" };
	struct cli_table t;
	struct buf b;
	struct json_out o;

	if (c->json) {
		buf_init(&b, CLI_OUTPUT);
		json_out_init(&o, &b);
		json_out_array(&o);
		for (pb_size_t i = 0; i < a->rows_count; i++)
			row_json(&o, &a->rows[i]);
		json_out_end(&o);
		return cli_json_print(&b, &o, f);
	}
	cli_table_init(&t, heads, NELEM(heads));
	for (pb_size_t i = 0; i < a->rows_count; i++) {
		const nacre_v1_AuditRow *r = &a->rows[i];
		char row[32];
		char when[32];
		char detail[256];
		const char *cells[] = { row, when, cli_text(r->caller),
			cli_text(r->verb), cli_text(r->sandbox),
			cli_text(r->verdict), detail };

		(void)snprintf(row, sizeof(row), "%llu",
		    (unsigned long long)r->row);
		time_format(r->time_ms, when);
		(void)snprintf(detail, sizeof(detail), "%s%s%s",
		    cli_text(r->reason),
		    r->reason && *r->reason && r->detail && *r->detail ? ": "
								       : "",
		    cli_text(r->detail));
		cli_table_row(c, &t, cells);
	}
	cli_table_print(&t);
	return 0;
}

int
cmd_audit_list(struct cli *c, char **argv)
{
	nacre_v1_ListAuditRequest ask = nacre_v1_ListAuditRequest_init_zero;
	nacre_v1_ListAuditReply a = nacre_v1_ListAuditReply_init_zero;
	const char *sandbox = NULL;
	const char *verb = NULL;
	uint64_t limit = 0;
	uint64_t after = 0;
	const struct cli_option options[] = {
		{ "--sandbox", CLI_TEXT, &sandbox, 0 },
		{ "--verb", CLI_TEXT, &verb, 0 },
		{ "--limit", CLI_NUMBER, &limit, 10000 },
		{ "--after", CLI_NUMBER, &after, INT64_MAX },
	};
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 0, "audit list", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	ask.limit = (uint32_t)limit;
	ask.after = after;
	if (sandbox)
		ask.sandbox = arena_str(&c->arena, span_str(sandbox));
	if (verb)
		ask.verb = arena_str(&c->arena, span_str(verb));
	rc = CLIENT_UNARY(&cl, "/nacre.v1.Nacre/ListAudit",
	    nacre_v1_ListAuditRequest, &ask, nacre_v1_ListAuditReply, &a, &f);
	if (rc == 0)
		rc = print_rows(c, &a, &f);
	client_close(&cl);
	return rc == 0 ? 0 : cli_fail(&f, cl.hint);
}
