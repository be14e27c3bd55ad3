/* SPDX-License-Identifier: Apache-2.0 */
/* nacre audit list: pages of the record, asked for until enough is there. */
#include <stdio.h>
#include <string.h>

#include "cli/audit.h"
#include "wire/wire.h"

enum {
	DEFAULT = 100,
	MOST = 10000,
	PAGE = 1000,
};

/* What several pages gave, in order. */
struct rows {
	nacre_v1_AuditRow *row;
	size_t n;
	size_t most;
};

void
audit_row_json(struct json_out *o, const nacre_v1_AuditRow *r)
{
	const struct cli_text_member texts[] = {
		{ "caller", r->caller },
		{ "program", r->program },
		{ "parent", r->parent },
		{ "root", r->root },
		{ "verb", r->verb },
		{ "sandbox_id", r->sandbox_id },
		{ "sandbox", r->sandbox },
		{ "request_id", r->request_id },
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

void
audit_row_why(const nacre_v1_AuditRow *r, char *out, size_t size)
{
	const char *reason = cli_text(r->reason);
	const char *detail = cli_text(r->detail);

	(void)snprintf(out, size, "%s%s%s", reason,
	    *reason && *detail ? ": " : "", detail);
}

static void
print_table(struct cli *c, const struct rows *all)
{
	static const char *const heads[] = { "ROW", "TIME", "CALLER", "VERB",
		"SANDBOX", "VERDICT", "DETAIL" };
	struct cli_table t;

	cli_table_init(&t, heads, NELEM(heads));
	for (size_t i = 0; i < all->n; i++) {
		const nacre_v1_AuditRow *r = &all->row[i];
		char row[32];
		char when[32];
		char detail[256];
		const char *cells[] = { row, when, cli_text(r->caller),
			cli_text(r->verb), cli_text(r->sandbox),
			cli_text(r->verdict), detail };

		(void)snprintf(row, sizeof(row), "%llu",
		    (unsigned long long)r->row);
		time_format(r->time_ms, when);
		audit_row_why(r, detail, sizeof(detail));
		cli_table_row(c, &t, cells);
	}
	cli_table_print(&t);
}

static int
print_rows(struct cli *c, const struct rows *all, struct fault *f)
{
	struct buf b;
	struct json_out o;

	if (!c->json) {
		print_table(c, all);
		return 0;
	}
	buf_init(&b, CLI_OUTPUT);
	json_out_init(&o, &b);
	json_out_array(&o);
	for (size_t i = 0; i < all->n; i++)
		audit_row_json(&o, &all->row[i]);
	json_out_end(&o);
	return cli_json_print(&b, &o, f);
}

/* A page goes behind what is there, or before it. */
static void
take_page(struct rows *all, const nacre_v1_ListAuditReply *a, bool before)
{
	size_t n = a->rows_count;

	if (n > all->most - all->n)
		n = all->most - all->n;
	if (n == 0)
		return;
	if (before)
		memmove(all->row + n, all->row, all->n * sizeof(*all->row));
	memcpy(before ? all->row : all->row + all->n,
	    before ? a->rows + a->rows_count - n : a->rows,
	    n * sizeof(*all->row));
	all->n += n;
}

/* Page by page, until enough rows are there or there are no more. */
static int
collect(struct client *cl, nacre_v1_ListAuditRequest *ask, struct rows *all,
    struct fault *f)
{
	bool on = ask->after > 0 || ask->from_start;

	for (;;) {
		nacre_v1_ListAuditReply a = nacre_v1_ListAuditReply_init_zero;
		size_t left = all->most - all->n;

		ask->limit = (uint32_t)(left < PAGE ? left : PAGE);
		if (CLIENT_UNARY(cl, "/nacre.v1.Nacre/ListAudit",
			nacre_v1_ListAuditRequest, ask, nacre_v1_ListAuditReply,
			&a, f) != 0)
			return -1;
		take_page(all, &a, !on);
		ask->after = on ? a.next_after : 0;
		ask->before = on ? ask->before : a.next_before;
		if (all->n == all->most ||
		    (on ? a.next_after : a.next_before) == 0)
			return 0;
	}
}

int
cmd_audit_list(struct cli *c, char **argv)
{
	nacre_v1_ListAuditRequest ask = nacre_v1_ListAuditRequest_init_zero;
	struct audit_wish wish = { 0 };
	uint64_t limit = DEFAULT;
	uint64_t after = 0;
	const struct cli_option options[] = {
		AUDIT_WISHES(wish),
		{ "--limit", CLI_NUMBER, &limit, MOST },
		{ "--after", CLI_NUMBER, &after, INT64_MAX },
		{ "--from-start", CLI_FLAG, &ask.from_start, 0 },
	};
	struct rows all = { 0 };
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 0, "audit list", &f) != 0 ||
	    audit_wish_take(c, &wish, &ask.filter, &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	ask.has_filter = true;
	ask.after = after;
	all.most = limit == 0 ? DEFAULT : limit;
	all.row = arena_get(&c->arena, all.most * sizeof(*all.row));
	BUG_IF(all.row == NULL);
	client_doing(&cl, "reading the record");
	rc = collect(&cl, &ask, &all, &f);
	if (rc == 0)
		rc = print_rows(c, &all, &f);
	client_close(&cl);
	return rc == 0 ? 0 : cli_fail(&f, cl.hint);
}
