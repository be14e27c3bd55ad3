/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre sandbox create: reads the policy file, asks, and waits until the
 * sandbox is ready (or, with --attach, until its main process has ended).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/wait.h"
#include "json/json.h"
#include "wire/wire.h"

struct create {
	const char *name;
	const char *from;
	const char *policy;
	uint64_t cpus;
	uint64_t memory;
	struct cli_list env;
	bool tty;
	bool attach;
	struct cli_child child;
	const char *grant[3]; /* depth, breadth, total */
	const char *grant_expires;
	struct cli_list grant_programs;
};

/* Append a length-delimited protobuf field. */
static int
put_field(struct buf *b, uint8_t number, struct span s, struct fault *f)
{
	uint8_t head[4];
	size_t n = 0;

	head[n++] = (uint8_t)(number << 3 | 2);
	if (s.len >= 128)
		head[n++] = (uint8_t)(s.len & 127) | 128;
	head[n++] = (uint8_t)(s.len >= 128 ? s.len >> 7 : s.len);
	return buf_add(b, head, n, f) != 0 || buf_add(b, s.ptr, s.len, f) != 0
	    ? -1
	    : 0;
}

/* One entry of google.protobuf.Struct.fields: key and an encoded Value. */
static int
put_entry(struct buf *b, const char *key, struct span value, struct fault *f)
{
	struct buf entry;
	int rc;

	buf_init(&entry, 4096);
	rc = put_field(&entry, 1, span_str(key), f);
	if (rc == 0)
		rc = put_field(&entry, 2, value, f);
	if (rc == 0)
		rc = put_field(b, 1, buf_span(&entry), f);
	buf_release(&entry);
	return rc;
}

static int
put_string(struct buf *b, const char *key, const char *text, struct fault *f)
{
	struct buf value;
	int rc;

	buf_init(&value, 1024);
	rc = put_field(&value, 3, span_str(text), f);
	if (rc == 0)
		rc = put_entry(b, key, buf_span(&value), f);
	buf_release(&value);
	return rc;
}

/* template.resources as clients send it: {limits: {cpu, memory}}. */
static int
put_resources(struct cli *c, const struct create *k,
    openshell_v1_SandboxTemplate *t, struct fault *f)
{
	struct buf limits;
	struct buf value;
	struct buf all;
	char text[32];
	int rc = 0;

	if (k->cpus == 0 && k->memory == 0)
		return 0;
	buf_init(&limits, 4096);
	buf_init(&value, 4096);
	buf_init(&all, 4096);
	if (k->cpus) {
		(void)snprintf(text, sizeof(text), "%llu",
		    (unsigned long long)k->cpus);
		rc = put_string(&limits, "cpu", text, f);
	}
	if (rc == 0 && k->memory) {
		(void)snprintf(text, sizeof(text), "%lluMi",
		    (unsigned long long)k->memory);
		rc = put_string(&limits, "memory", text, f);
	}
	if (rc == 0)
		rc = put_field(&value, 5, buf_span(&limits), f);
	if (rc == 0)
		rc = put_entry(&all, "limits", buf_span(&value), f);
	if (rc == 0)
		t->resources = wire_bytes(&c->arena, buf_span(&all));
	buf_release(&limits);
	buf_release(&value);
	buf_release(&all);
	return rc;
}

static int
put_env(struct cli *c, const struct cli_list *env, openshell_v1_SandboxSpec *s,
    struct fault *f)
{
	s->environment =
	    arena_get(&c->arena, (env->n + 1) * sizeof(*s->environment));
	if (!s->environment)
		return fault_set(f, FAULT_LIMIT, "too many '--env'");
	for (size_t i = 0; i < env->n; i++) {
		if (cli_pair(c, env->items[i], &s->environment[i].key,
			&s->environment[i].value, f) < 0)
			return -1;
	}
	s->environment_count = (pb_size_t)env->n;
	return 0;
}

static int
put_policy(struct cli *c, const char *path, openshell_v1_SandboxSpec *s,
    struct fault *f)
{
	int rc = cli_policy_message(c, path, &s->policy, f);

	s->has_policy = rc == 0;
	return rc;
}

static int
put_grant(struct cli *c, const struct create *k,
    openshell_v1_CreateSandboxRequest *ask, struct fault *f)
{
	openshell_v1_GrantWish *w = &ask->grant;
	bool has[3];
	int64_t value[3];

	if (cli_grant_limits(k->grant, has, value, f) != 0)
		return -1;
	ask->has_grant = has[0] || has[1] || has[2] || k->grant_expires ||
	    k->grant_programs.n;
	w->has_max_depth = has[0];
	w->max_depth = value[0];
	w->has_max_breadth = has[1];
	w->max_breadth = value[1];
	w->has_max_total = has[2];
	w->max_total = value[2];
	if (k->grant_expires)
		w->expires = arena_str(&c->arena, span_str(k->grant_expires));
	w->programs = cli_grant_programs(c, &k->grant_programs);
	w->programs_count = (pb_size_t)k->grant_programs.n;
	return w->programs ? 0 : fault_set(f, FAULT_LIMIT, "too many programs");
}

static int
fill(struct cli *c, const struct create *k, const struct cli_words *w,
    openshell_v1_CreateSandboxRequest *ask, struct fault *f)
{
	openshell_v1_SandboxSpec *s = &ask->spec;

	if (!k->from)
		return fault_field(f, "--from",
		    "'--from IMAGE' is missing: 'nacre image list' shows them");
	/* Not given: the gateway makes one up. Given and empty: a mistake. */
	if (k->name && !*k->name)
		return fault_field(f, "--name",
		    "'--name' is empty: 1 to %d of "
		    "[a-z0-9-]",
		    LIMIT_NAME);
	ask->name = arena_str(&c->arena, span_str(cli_text(k->name)));
	ask->has_spec = true;
	s->has_template = true;
	s->template.image = arena_str(&c->arena, span_str(k->from));
	s->tty = k->tty;
	s->command = w->command;
	s->command_count = (pb_size_t)w->command_n;
	if (w->command_n > LIMIT_ARGS)
		return fault_field(f, "command", "over %d arguments",
		    LIMIT_ARGS);
	if (put_env(c, &k->env, s, f) != 0 || put_grant(c, k, ask, f) != 0 ||
	    put_resources(c, k, &s->template, f) != 0)
		return -1;
	return k->policy ? put_policy(c, k->policy, s, f) : 0;
}

static int
print_json(const openshell_v1_Sandbox *s, struct fault *f)
{
	const openshell_v1_SandboxStatus *t = &s->status;
	struct json_out o;
	struct buf b;
	int rc;

	buf_init(&b, CLI_OUTPUT);
	json_out_init(&o, &b);
	json_out_object(&o);
	json_out_key(&o, "id");
	json_out_text(&o, s->metadata.id);
	json_out_key(&o, "name");
	json_out_text(&o, s->metadata.name);
	json_out_key(&o, "policy_hash");
	json_out_text(&o, t->policy_hash);
	json_out_key(&o, "policy_generation");
	json_out_uint(&o, t->current_policy_version);
	json_out_key(&o, "enforcement");
	cli_enforcement_json(&o, t->enforcement, t->enforcement_count);
	json_out_end(&o);
	rc = cli_json_print(&b, &o, f);
	buf_release(&b);
	return rc;
}

/* Whoever gives a policy is told what becomes of it. */
static int
print_created(struct cli *c, const struct create *k,
    const openshell_v1_Sandbox *s, struct fault *f)
{
	if (c->json)
		return print_json(s, f);
	(void)printf("sandbox '%s' is ready\n", cli_text(s->metadata.name));
	if (k->policy)
		cli_enforcement_print(s->status.enforcement,
		    s->status.enforcement_count);
	return 0;
}

static int
create(struct client *cl, const struct create *k, const struct cli_words *words,
    struct fault *f)
{
	openshell_v1_CreateSandboxRequest ask =
	    openshell_v1_CreateSandboxRequest_init_zero;
	openshell_v1_SandboxResponse a = openshell_v1_SandboxResponse_init_zero;
	struct wait w = { .attach = k->attach,
		.until = openshell_v1_SandboxPhase_SANDBOX_PHASE_READY };

	if (fill(cl->cli, k, words, &ask, f) != 0)
		return -1;
	client_doing(cl, "waiting for the sandbox to start");
	if (CLIENT_UNARY(cl, "/openshell.v1.OpenShell/CreateSandbox",
		openshell_v1_CreateSandboxRequest, &ask,
		openshell_v1_SandboxResponse, &a, f) != 0)
		return -1;
	if (cli_wait(cl, cli_text(a.sandbox.metadata.id), &w, f) != 0)
		return -1;
	if (k->attach)
		return w.exit_code;
	return print_created(cl->cli, k, &a.sandbox, f);
}

/* What only a root can be given, and only a child. */
static int
create_child(struct client *cl, struct create *k, const struct cli_words *words,
    struct fault *f)
{
	if (k->from || k->cpus || k->memory || k->tty || k->attach ||
	    k->grant[0] || k->grant[1] || k->grant[2] || k->grant_expires ||
	    k->grant_programs.n)
		return fault_field(f, "--parent",
		    "a child has its parent's image and size: '--parent' goes "
		    "without '--from', '--cpus', '--memory', '--tty', "
		    "'--attach' and '--grant-...'");
	k->child.name = k->name;
	k->child.policy = k->policy;
	k->child.env = &k->env;
	return cli_child_create(cl, &k->child, words, f);
}

int
cmd_create(struct cli *c, char **argv)
{
	struct create k = { 0 };
	const struct cli_option options[] = {
		{ "--name", CLI_TEXT, &k.name, 0 },
		{ "--from", CLI_TEXT, &k.from, 0 },
		{ "--policy", CLI_TEXT, &k.policy, 0 },
		{ "--cpus", CLI_NUMBER, &k.cpus, 1024 },
		{ "--memory", CLI_NUMBER, &k.memory, 1 << 20 },
		{ "--env", CLI_TEXTS, &k.env, 0 },
		{ "--tty", CLI_FLAG, &k.tty, 0 },
		{ "--attach", CLI_FLAG, &k.attach, 0 },
		{ "--grant-max-depth", CLI_TEXT, &k.grant[0], 0 },
		{ "--grant-max-breadth", CLI_TEXT, &k.grant[1], 0 },
		{ "--grant-max-total", CLI_TEXT, &k.grant[2], 0 },
		{ "--grant-expires", CLI_TEXT, &k.grant_expires, 0 },
		{ "--grant-program", CLI_TEXTS, &k.grant_programs, 0 },
		{ "--parent", CLI_TEXT, &k.child.parent, 0 },
		{ "--kind", CLI_TEXT, &k.child.kind, 0 },
		{ "--idle", CLI_TEXT, &k.child.idle, 0 },
		{ "--request-id", CLI_TEXT, &k.child.request_id, 0 },
		{ "--wait-ms", CLI_TEXT, &k.child.wait_ms, 0 },
	};
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 0,
		"sandbox create --name NAME --from IMAGE [-- CMD...]",
		&f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	if (k.child.parent)
		rc = create_child(&cl, &k, &w, &f);
	else
		rc = create(&cl, &k, &w, &f);
	client_close(&cl);
	return rc >= 0 ? rc : client_fail(&cl, &f);
}

/* Start or stop each named sandbox and wait until it is there. */
static int
act(struct client *cl, const char *name, bool start, struct fault *f)
{
	openshell_v1_StopSandboxRequest ask =
	    openshell_v1_StopSandboxRequest_init_zero;
	openshell_v1_SandboxResponse a = openshell_v1_SandboxResponse_init_zero;
	struct wait w = { .until = start
		    ? openshell_v1_SandboxPhase_SANDBOX_PHASE_READY
		    : openshell_v1_SandboxPhase_SANDBOX_PHASE_STOPPED };

	/* Start and stop have the same request. */
	ask.name = arena_str(&cl->cli->arena, span_str(name));
	client_doing(cl,
	    start ? "waiting for the sandbox to start"
		  : "waiting for the sandbox to stop");
	if (CLIENT_UNARY(cl,
		start ? "/openshell.v1.OpenShell/StartSandbox"
		      : "/openshell.v1.OpenShell/StopSandbox",
		openshell_v1_StopSandboxRequest, &ask,
		openshell_v1_SandboxResponse, &a, f) != 0)
		return -1;
	if (cli_wait(cl, cli_text(a.sandbox.metadata.id), &w, f) != 0)
		return -1;
	if (!cl->cli->json)
		(void)printf("sandbox '%s' is %s\n", name,
		    start ? "ready" : "stopped");
	return 0;
}

static int
act_all(struct cli *c, char **argv, bool start)
{
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc = 0;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0)
		return cli_fail(&f, NULL);
	if (w.n == 0) {
		(void)fault_set(&f, FAULT_INVALID,
		    "usage: nacre sandbox %s NAME...",
		    start ? "start" : "stop");
		return cli_fail(&f, NULL);
	}
	if (client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	for (size_t i = 0; i < w.n && rc == 0; i++)
		rc = act(&cl, w.word[i], start, &f);
	client_close(&cl);
	return rc == 0 ? 0 : client_fail(&cl, &f);
}

int
cmd_stop(struct cli *c, char **argv)
{
	return act_all(c, argv, false);
}

int
cmd_start(struct cli *c, char **argv)
{
	return act_all(c, argv, true);
}
