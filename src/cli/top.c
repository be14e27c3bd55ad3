/* SPDX-License-Identifier: Apache-2.0 */
/* nacre sandbox top: what runs in a sandbox, those that worked most first. */
#include <stdio.h>

#include "cli/inner.h"
#include "json/json.h"
#include "proto/nacre_v1.pb.h"
#include "wire/wire.h"

static int
print_json(const nacre_v1_Processes *p, struct fault *f)
{
	struct buf b;
	struct json_out o;
	int rc;

	buf_init(&b, CLI_OUTPUT);
	json_out_init(&o, &b);
	json_out_object(&o);
	cli_json_numbers(&o,
	    (const struct cli_number_member[]){
		{ "cpu_us", (int64_t)p->cpu_us },
		{ "memory_bytes", (int64_t)p->memory_bytes },
		{ "memory_limit", (int64_t)p->memory_limit },
		{ "pids", p->pids },
		{ "pids_limit", p->pids_limit },
		{ "left_out", p->left_out },
	    },
	    6);
	json_out_key(&o, "processes");
	json_out_array(&o);
	for (pb_size_t i = 0; i < p->rows_count; i++) {
		const nacre_v1_Process *r = &p->rows[i];

		json_out_object(&o);
		cli_json_numbers(&o,
		    (const struct cli_number_member[]){
			{ "pid", r->pid },
			{ "parent", r->parent },
			{ "uid", r->uid },
			{ "threads", r->threads },
			{ "cpu_us", (int64_t)r->cpu_us },
			{ "memory_bytes", (int64_t)r->memory_bytes },
			{ "age_ms", (int64_t)r->age_ms },
		    },
		    7);
		cli_json_texts(&o,
		    (const struct cli_text_member[]){
			{ "state", r->state },
			{ "command", r->command },
		    },
		    2);
		json_out_end(&o);
	}
	json_out_end(&o);
	json_out_end(&o);
	rc = cli_json_print(&b, &o, f);
	buf_release(&b);
	return rc;
}

static void
print_row(struct cli *c, struct cli_table *t, const nacre_v1_Process *r)
{
	char memory[32];
	char cpu[32];
	char age[32];
	const char *cells[9];

	cli_bytes(r->memory_bytes, memory);
	cli_micros(r->cpu_us, cpu);
	cli_micros(r->age_ms * 1000, age);
	cells[0] = arena_fmt(&c->arena, "%u", r->pid);
	cells[1] = arena_fmt(&c->arena, "%u", r->parent);
	cells[2] = arena_fmt(&c->arena, "%u", r->uid);
	cells[3] = cli_text(r->state);
	cells[4] = arena_fmt(&c->arena, "%u", r->threads);
	cells[5] = arena_str(&c->arena, span_str(cpu));
	cells[6] = arena_str(&c->arena, span_str(memory));
	cells[7] = arena_str(&c->arena, span_str(age));
	cells[8] = cli_text(r->command);
	cli_table_row(c, t, cells);
}

/* "12 MiB of 128 MiB"; no limit is not told. */
static void
print_bytes_of(uint64_t n, uint64_t limit)
{
	char text[32];

	cli_bytes(n, text);
	(void)printf("memory %s", text);
	cli_bytes(limit, text);
	if (limit > 0)
		(void)printf(" of %s", text);
}

static void
print_table(struct cli *c, const nacre_v1_Processes *p)
{
	static const char *const heads[] = { "PID", "PARENT", "UID", "STATE",
		"THREADS", "CPU", "MEMORY", "AGE", "COMMAND" };
	struct cli_table t;
	char cpu[32];

	cli_micros(p->cpu_us, cpu);
	(void)printf("pids %u", p->pids);
	if (p->pids_limit > 0)
		(void)printf(" of %u", p->pids_limit);
	(void)printf(", ");
	print_bytes_of(p->memory_bytes, p->memory_limit);
	(void)printf(", cpu %s\n", cpu);
	cli_table_init(&t, heads, NELEM(heads));
	for (pb_size_t i = 0; i < p->rows_count; i++)
		print_row(c, &t, &p->rows[i]);
	cli_table_print(&t);
	if (p->left_out > 0)
		(void)printf("and %u more\n", p->left_out);
}

int
cmd_top(struct cli *c, char **argv)
{
	nacre_v1_ListProcessesRequest ask =
	    nacre_v1_ListProcessesRequest_init_zero;
	nacre_v1_Processes reply = nacre_v1_Processes_init_zero;
	struct client cl;
	struct cli_words w;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0 ||
	    cli_want(&w, 1, "sandbox top NAME", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	ask.sandbox = arena_str(&c->arena, span_str(w.word[0]));
	rc = CLIENT_UNARY(&cl, "/nacre.v1.Nacre/ListProcesses",
	    nacre_v1_ListProcessesRequest, &ask, nacre_v1_Processes, &reply,
	    &f);
	client_close(&cl);
	if (rc == 0 && c->json)
		rc = print_json(&reply, &f);
	else if (rc == 0)
		print_table(c, &reply);
	return rc == 0 ? 0 : client_fail(&cl, &f);
}
