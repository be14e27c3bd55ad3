/* SPDX-License-Identifier: Apache-2.0 */
/* nacre sandbox list | get | delete | console. */
#include <stdio.h>
#include <string.h>

#include "cli/inner.h"
#include "json/json.h"
#include "proto/nacre_v1.pb.h"
#include "proto/openshell_v1.pb.h"
#include "wire/wire.h"

enum {
	LIST_PAGE = 1000
};

static const char *
phase_word(openshell_v1_SandboxPhase p)
{
	static const char *const words[] = { "unknown", "starting", "ready",
		"failed", "deleting", "unknown", "stopping", "stopped",
		"starting" };

	return (size_t)p < NELEM(words) ? words[p] : "unknown";
}

int
cli_sandbox(struct client *cl, const char *name,
    struct _openshell_v1_Sandbox *out, struct fault *f)
{
	openshell_v1_GetSandboxRequest ask =
	    openshell_v1_GetSandboxRequest_init_zero;
	openshell_v1_SandboxResponse a = openshell_v1_SandboxResponse_init_zero;

	ask.name = arena_str(&cl->cli->arena, span_str(name));
	if (CLIENT_UNARY(cl, "/openshell.v1.OpenShell/GetSandbox",
		openshell_v1_GetSandboxRequest, &ask,
		openshell_v1_SandboxResponse, &a, f) != 0)
		return -1;
	*out = a.sandbox;
	return 0;
}

static void
sandbox_json(struct json_out *o, const openshell_v1_Sandbox *s)
{
	json_out_object(o);
	json_out_key(o, "id");
	json_out_text(o, s->metadata.id);
	json_out_key(o, "name");
	json_out_text(o, s->metadata.name);
	json_out_key(o, "image");
	json_out_text(o, s->spec.template.image);
	json_out_key(o, "state");
	json_out_text(o, phase_word(s->status.phase));
	json_out_key(o, "created_ms");
	json_out_int(o, s->metadata.created_at_ms);
	if (s->status.has_exit_code) {
		json_out_key(o, "exit_code");
		json_out_int(o, s->status.exit_code);
	}
	json_out_key(o, "policy_generation");
	json_out_uint(o, s->status.current_policy_version);
	json_out_key(o, "stale_maximum");
	json_out_bool(o, s->status.stale_maximum);
	json_out_key(o, "stale_boundary");
	json_out_bool(o, s->status.stale_boundary);
	json_out_key(o, "command");
	json_out_array(o);
	for (pb_size_t i = 0; i < s->spec.command_count; i++)
		json_out_text(o, s->spec.command[i]);
	json_out_end(o);
	json_out_end(o);
}

static void
table_row(struct cli *c, struct cli_table *t, const openshell_v1_Sandbox *s)
{
	char when[32];
	char state[48];
	const char *cells[] = { cli_text(s->metadata.name), state,
		cli_text(s->spec.template.image), when };

	if (s->status.has_exit_code)
		(void)snprintf(state, sizeof(state), "%s (exit %d)",
		    phase_word(s->status.phase), s->status.exit_code);
	else
		(void)snprintf(state, sizeof(state), "%s",
		    phase_word(s->status.phase));
	time_format(s->metadata.created_at_ms, when);
	cli_table_row(c, t, cells);
}

struct listing {
	struct cli_table table;
	struct json_out json;
	struct buf buf;
	uint32_t seen;
	uint32_t shown;
	bool stale; /* only those */
};

static bool
is_stale(const openshell_v1_SandboxStatus *s)
{
	return s->stale_maximum || s->stale_boundary;
}

static int
list_page(struct client *cl, struct listing *l, uint32_t *got, struct fault *f)
{
	openshell_v1_ListSandboxesRequest ask =
	    openshell_v1_ListSandboxesRequest_init_zero;
	openshell_v1_ListSandboxesResponse a =
	    openshell_v1_ListSandboxesResponse_init_zero;

	ask.limit = LIST_PAGE;
	ask.offset = l->seen;
	if (CLIENT_UNARY(cl, "/openshell.v1.OpenShell/ListSandboxes",
		openshell_v1_ListSandboxesRequest, &ask,
		openshell_v1_ListSandboxesResponse, &a, f) != 0)
		return -1;
	for (pb_size_t i = 0; i < a.sandboxes_count; i++) {
		if (l->stale && !is_stale(&a.sandboxes[i].status))
			continue;
		l->shown++;
		if (cl->cli->json)
			sandbox_json(&l->json, &a.sandboxes[i]);
		else
			table_row(cl->cli, &l->table, &a.sandboxes[i]);
	}
	*got = a.sandboxes_count;
	l->seen += a.sandboxes_count;
	return 0;
}

int
cmd_list(struct cli *c, char **argv)
{
	static const char *const heads[] = { "NAME", "STATE", "IMAGE",
		"CREATED" };
	struct listing l = { 0 };
	const struct cli_option options[] = {
		{ "--stale", CLI_FLAG, &l.stale, 0 },
	};
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	uint32_t got = 0;
	int rc;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 0, "sandbox list [--stale]", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	cli_table_init(&l.table, heads, NELEM(heads));
	buf_init(&l.buf, CLI_OUTPUT);
	json_out_init(&l.json, &l.buf);
	json_out_array(&l.json);
	rc = list_page(&cl, &l, &got, &f);
	while (rc == 0 && got == LIST_PAGE)
		rc = list_page(&cl, &l, &got, &f);
	json_out_end(&l.json);
	if (rc == 0 && c->json)
		rc = cli_json_print(&l.buf, &l.json, &f);
	else if (rc == 0 && l.shown == 0)
		(void)puts(l.stale ? "no stale sandboxes" : "no sandboxes");
	else if (rc == 0)
		cli_table_print(&l.table);
	client_close(&cl);
	return rc == 0 ? 0 : cli_fail(&f, cl.hint);
}

static void
print_timings(const nacre_v1_SandboxDetails *d)
{
	char assigned[32];
	char connected[32];
	char ready[32];
	char private[32];
	char code[32];

	cli_micros(d->assigned_us, assigned);
	cli_micros(d->connected_us, connected);
	cli_micros(d->ready_us, ready);
	cli_bytes(d->private_bytes, private);
	cli_bytes(d->code_bytes, code);
	(void)printf("launch      clone given after %s, session after %s, "
		     "first instruction after %s%s\n",
	    assigned, connected, ready,
	    d->cold              ? " (cold boot)"
		: d->from_parked ? " (parked clone)"
				 : "");
	if (d->private_bytes)
		(void)printf(
		    "memory      %s private, %s of it translated code\n",
		    private, code);
}

static void
print_place(const nacre_v1_SandboxDetails *d)
{
	char depth[32] = "";

	if (d->has_depth)
		(void)snprintf(depth, sizeof(depth), " at depth %u", d->depth);
	(void)printf("place       %s%s below %s, root %s\n", cli_text(d->kind),
	    depth, d->parent, cli_text(d->root));
}

static void
print_details(const nacre_v1_SandboxDetails *d)
{
	char when[32];

	time_format(d->created_ms, when);
	(void)printf("name        %s\n", cli_text(d->name));
	(void)printf("id          %s\n", cli_text(d->id));
	if (d->parent && *d->parent)
		print_place(d);
	(void)printf("state       %s%s%s\n", cli_text(d->state),
	    d->reason && *d->reason ? ": " : "", cli_text(d->reason));
	if (d->has_exit)
		(void)printf("exit code   %d\n", d->exit_code);
	(void)printf("image       %s sha256:%s\n", cli_text(d->image),
	    cli_text(d->image_digest));
	(void)printf("machine     %u cpu, %u MiB, %s; keeper %d, vmm %d\n",
	    d->cpus, d->memory_mib, cli_text(d->accelerator), d->keeper_pid,
	    d->vmm_pid);
	(void)printf("user        %s\n", cli_text(d->user));
	(void)printf("command    ");
	for (pb_size_t i = 0; i < d->command_count; i++) {
		char safe[256];

		text_escape(span_str(d->command[i]), safe, sizeof(safe));
		(void)printf(" %s", safe);
	}
	(void)printf("\ncreated     %s\n", when);
	print_timings(d);
	(void)printf("supervisor  sha256:%s\n", cli_text(d->supervisor_digest));
	(void)printf("kernel      sha256:%s\n", cli_text(d->kernel_digest));
	(void)printf("boot id     %s\n", cli_text(d->boot_id));
	(void)printf("policy      generation %llu, sha256:%s%s%s\n",
	    (unsigned long long)d->policy_generation, cli_text(d->policy_hash),
	    d->stale_maximum ? ", exceeds the maximum of now" : "",
	    d->stale_boundary ? ", exceeds its parent's policy of now" : "");
	if (d->generation_in_force != 0 &&
	    d->generation_in_force != d->policy_generation)
		(void)printf("in force    generation %llu, until it starts "
			     "again\n",
		    (unsigned long long)d->generation_in_force);
	(void)printf("enforced    %s\n", cli_text(d->enforced));
	cli_enforcement_print(d->enforcement, d->enforcement_count);
	for (pb_size_t i = 0; i < d->probes_count; i++)
		(void)printf("probe       %s %s%s%s\n",
		    d->probes[i].passed ? "ok    " : "FAILED",
		    cli_text(d->probes[i].name),
		    d->probes[i].detail && *d->probes[i].detail ? ": " : "",
		    cli_text(d->probes[i].detail));
	if (d->policy && *d->policy)
		(void)printf("\n%s", d->policy);
}

static void
details_numbers(struct json_out *o, const nacre_v1_SandboxDetails *d)
{
	const struct cli_number_member numbers[] = {
		{ "cpus", d->cpus },
		{ "memory_mib", d->memory_mib },
		{ "keeper_pid", d->keeper_pid },
		{ "vmm_pid", d->vmm_pid },
		{ "private_bytes", (int64_t)d->private_bytes },
		{ "code_bytes", (int64_t)d->code_bytes },
		{ "assigned_us", (int64_t)d->assigned_us },
		{ "connected_us", (int64_t)d->connected_us },
		{ "ready_us", (int64_t)d->ready_us },
		{ "created_ms", d->created_ms },
		{ "started_ms", d->started_ms },
		{ "launches", (int64_t)d->launches },
		{ "policy_generation", (int64_t)d->policy_generation },
		{ "maximum_generation", (int64_t)d->maximum_generation },
		{ "generation_in_force", (int64_t)d->generation_in_force },
	};

	cli_json_numbers(o, numbers, NELEM(numbers));
	if (d->has_depth) {
		json_out_key(o, "depth");
		json_out_int(o, d->depth);
	}
	if (d->has_exit) {
		json_out_key(o, "exit_code");
		json_out_int(o, d->exit_code);
	}
	json_out_key(o, "from_parked");
	json_out_bool(o, d->from_parked);
	json_out_key(o, "cold");
	json_out_bool(o, d->cold);
	json_out_key(o, "stale_maximum");
	json_out_bool(o, d->stale_maximum);
	json_out_key(o, "stale_boundary");
	json_out_bool(o, d->stale_boundary);
	json_out_key(o, "enforcement");
	cli_enforcement_json(o, d->enforcement, d->enforcement_count);
}

static int
details_json(const nacre_v1_SandboxDetails *d, struct fault *f)
{
	const struct cli_text_member texts[] = {
		{ "id", d->id },
		{ "name", d->name },
		{ "state", d->state },
		{ "reason", d->reason },
		{ "image", d->image },
		{ "image_digest", d->image_digest },
		{ "supervisor_digest", d->supervisor_digest },
		{ "kernel_digest", d->kernel_digest },
		{ "accelerator", d->accelerator },
		{ "boot_id", d->boot_id },
		{ "user", d->user },
		{ "policy_hash", d->policy_hash },
		{ "policy", d->policy },
		{ "enforced", d->enforced },
		{ "parent", cli_text(d->parent) },
		{ "root", cli_text(d->root) },
		{ "kind", cli_text(d->kind) },
	};
	struct buf b;
	struct json_out o;

	buf_init(&b, CLI_OUTPUT);
	json_out_init(&o, &b);
	json_out_object(&o);
	cli_json_texts(&o, texts, NELEM(texts));
	details_numbers(&o, d);
	json_out_key(&o, "command");
	json_out_array(&o);
	for (pb_size_t i = 0; i < d->command_count; i++)
		json_out_text(&o, d->command[i]);
	json_out_end(&o);
	json_out_key(&o, "probes");
	json_out_array(&o);
	for (pb_size_t i = 0; i < d->probes_count; i++) {
		json_out_object(&o);
		json_out_key(&o, "name");
		json_out_text(&o, d->probes[i].name);
		json_out_key(&o, "passed");
		json_out_bool(&o, d->probes[i].passed);
		json_out_key(&o, "detail");
		json_out_text(&o, d->probes[i].detail);
		json_out_end(&o);
	}
	json_out_end(&o);
	json_out_end(&o);
	return cli_json_print(&b, &o, f);
}

int
cmd_get(struct cli *c, char **argv)
{
	nacre_v1_DescribeSandboxRequest ask =
	    nacre_v1_DescribeSandboxRequest_init_zero;
	nacre_v1_SandboxDetails d = nacre_v1_SandboxDetails_init_zero;
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0 ||
	    cli_want(&w, 1, "sandbox get NAME", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	ask.name = arena_str(&c->arena, span_str(w.word[0]));
	rc = CLIENT_UNARY(&cl, "/nacre.v1.Nacre/DescribeSandbox",
	    nacre_v1_DescribeSandboxRequest, &ask, nacre_v1_SandboxDetails, &d,
	    &f);
	if (rc == 0 && c->json)
		rc = details_json(&d, &f);
	else if (rc == 0)
		print_details(&d);
	client_close(&cl);
	return rc == 0 ? 0 : cli_fail(&f, cl.hint);
}

static int
delete_one(struct client *cl, const char *name, struct fault *f)
{
	openshell_v1_DeleteSandboxRequest ask =
	    openshell_v1_DeleteSandboxRequest_init_zero;
	openshell_v1_DeleteSandboxResponse a =
	    openshell_v1_DeleteSandboxResponse_init_zero;

	ask.name = arena_str(&cl->cli->arena, span_str(name));
	client_doing(cl, "waiting for the sandbox to end");
	if (CLIENT_UNARY(cl, "/openshell.v1.OpenShell/DeleteSandbox",
		openshell_v1_DeleteSandboxRequest, &ask,
		openshell_v1_DeleteSandboxResponse, &a, f) != 0)
		return -1;
	if (!a.deleted)
		return fault_set(f, FAULT_NOT_FOUND, "sandbox '%s' not found",
		    name);
	if (!cl->cli->json)
		(void)printf("deleted sandbox '%s'\n", name);
	return 0;
}

int
cmd_delete(struct cli *c, char **argv)
{
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc = 0;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0)
		return cli_fail(&f, NULL);
	if (w.n == 0) {
		(void)fault_set(&f, FAULT_INVALID,
		    "usage: nacre sandbox delete NAME...");
		return cli_fail(&f, NULL);
	}
	if (client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	for (size_t i = 0; i < w.n && rc == 0; i++)
		rc = delete_one(&cl, w.word[i], &f);
	client_close(&cl);
	return rc == 0 ? 0 : cli_fail(&f, cl.hint);
}

int
cmd_console(struct cli *c, char **argv)
{
	nacre_v1_DescribeSandboxRequest ask =
	    nacre_v1_DescribeSandboxRequest_init_zero;
	nacre_v1_ConsoleText a = nacre_v1_ConsoleText_init_zero;
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0 ||
	    cli_want(&w, 1, "sandbox console NAME", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	ask.name = arena_str(&c->arena, span_str(w.word[0]));
	rc = CLIENT_UNARY(&cl, "/nacre.v1.Nacre/SandboxConsole",
	    nacre_v1_DescribeSandboxRequest, &ask, nacre_v1_ConsoleText, &a,
	    &f);
	if (rc == 0 && a.text)
		(void)fwrite(a.text->bytes, 1, a.text->size, stdout);
	client_close(&cl);
	return rc == 0 ? 0 : cli_fail(&f, cl.hint);
}
