/* SPDX-License-Identifier: Apache-2.0 */
/* nacre audit verify: 0 the record is whole, 1 it is not. */
#include <stdio.h>
#include <string.h>

#include "cli/audit.h"

static void
print_verdict(const nacre_v1_VerifyAuditReply *a)
{
	const nacre_v1_AuditCheckpoint *p = &a->checkpoint;

	if (a->whole)
		(void)printf("whole       rows %llu to %llu\n",
		    (unsigned long long)a->first, (unsigned long long)a->last);
	else
		(void)printf("broken      row %lld %s: %s\n", (long long)a->row,
		    cli_text(a->wrong), cli_text(a->message));
	(void)printf("head        %s, row %llu\n", cli_text(a->head),
	    (unsigned long long)a->last);
	if (a->has_checkpoint) {
		char when[32];

		time_format(p->time_ms, when);
		(void)printf(
		    "checkpoints %llu, the last (%s) at row %llu, %s\n",
		    (unsigned long long)a->checkpoints, cli_text(p->kind),
		    (unsigned long long)p->row, when);
	} else {
		(void)puts("checkpoints none");
	}
	(void)printf("key         %s\n", cli_text(a->pin));
}

static int
print_verdict_json(const nacre_v1_VerifyAuditReply *a, struct fault *f)
{
	const struct cli_text_member texts[] = {
		{ "wrong", a->wrong },
		{ "message", a->message },
		{ "head", a->head },
		{ "pin", a->pin },
		{ "key", a->key },
	};
	const struct cli_number_member numbers[] = {
		{ "row", a->row },
		{ "first", (int64_t)a->first },
		{ "last", (int64_t)a->last },
		{ "checkpoints", (int64_t)a->checkpoints },
		{ "checkpoint_row", (int64_t)a->checkpoint.row },
	};
	struct buf b;
	struct json_out o;

	buf_init(&b, CLI_OUTPUT);
	json_out_init(&o, &b);
	json_out_object(&o);
	json_out_key(&o, "whole");
	json_out_bool(&o, a->whole);
	cli_json_numbers(&o, numbers, NELEM(numbers));
	cli_json_texts(&o, texts, NELEM(texts));
	json_out_end(&o);
	return cli_json_print(&b, &o, f);
}

int
cmd_audit_verify(struct cli *c, char **argv)
{
	nacre_v1_VerifyAuditRequest ask = nacre_v1_VerifyAuditRequest_init_zero;
	nacre_v1_VerifyAuditReply a = nacre_v1_VerifyAuditReply_init_zero;
	const char *head = NULL;
	const char *key = NULL;
	const struct cli_option options[] = {
		{ "--head", CLI_TEXT, &head, 0 },
		{ "--key", CLI_TEXT, &key, 0 },
	};
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 0, "audit verify [--head HEX] [--key PIN]", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	if (head)
		ask.head = arena_str(&c->arena, span_str(head));
	if (key)
		ask.key = arena_str(&c->arena, span_str(key));
	client_doing(&cl, "walking the record");
	rc = CLIENT_UNARY(&cl, "/nacre.v1.Nacre/VerifyAudit",
	    nacre_v1_VerifyAuditRequest, &ask, nacre_v1_VerifyAuditReply, &a,
	    &f);
	if (rc == 0 && c->json)
		rc = print_verdict_json(&a, &f);
	else if (rc == 0)
		print_verdict(&a);
	client_close(&cl);
	if (rc != 0)
		return cli_fail(&f, cl.hint);
	return a.whole ? 0 : fault_exit(FAULT_REFUSED);
}
