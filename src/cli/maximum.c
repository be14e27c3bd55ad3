/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre policy set, set-maximum and get-maximum: policies that the gateway
 * keeps. Files are read and checked here, so that what is wrong with one has
 * its line; the gateway reads what it gets once more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inner.h"
#include "json/json.h"
#include "policy/policy.h"
#include "proto/nacre_v1.pb.h"
#include "proto/openshell_v1.pb.h"

/* Read a file into a; what is wrong with it goes to stderr but the first. */
static int
load(const char *path, unsigned flags, struct arena *a, struct policy *p,
    struct fault *f)
{
	struct yaml_errors *errors = must_alloc(sizeof(*errors));
	int rc = cli_policy_load(a, path, flags, p, errors, f);

	if (rc != 0 && errors->count > 1)
		cli_policy_errors(path, errors);
	free(errors);
	return rc == 0 ? 0 : fault_prefix(f, "%s", path);
}

int
cli_policy_message(struct cli *c, const char *path,
    struct _openshell_sandbox_v1_SandboxPolicy *out, struct fault *f)
{
	struct policy p;

	if (load(path, 0, &c->arena, &p, f) != 0)
		return -1;
	return policy_message(&p, &c->arena, out, f);
}

void
cli_enforcement_print(const struct _openshell_v1_PolicyEnforcement *e, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)printf("  %s: %s: %s\n", cli_text(e[i].section),
		    e[i].enforced ? "enforced" : "not enforced yet",
		    cli_text(e[i].detail));
}

void
cli_enforcement_json(struct json_out *o,
    const struct _openshell_v1_PolicyEnforcement *e, size_t n)
{
	json_out_array(o);
	for (size_t i = 0; i < n; i++) {
		json_out_object(o);
		json_out_key(o, "section");
		json_out_text(o, cli_text(e[i].section));
		json_out_key(o, "enforced");
		json_out_bool(o, e[i].enforced);
		json_out_key(o, "detail");
		json_out_text(o, cli_text(e[i].detail));
		json_out_end(o);
	}
	json_out_end(o);
}

/* --- a sandbox's own */

static int
set(struct client *cl, const char *name, const char *path, struct fault *f)
{
	static char network[] = "network_policies";
	static char *inherit[] = { network };
	openshell_v1_UpdateConfigRequest ask =
	    openshell_v1_UpdateConfigRequest_init_zero;
	openshell_v1_UpdateConfigResponse a =
	    openshell_v1_UpdateConfigResponse_init_zero;
	struct policy p;

	if (load(path, 0, &cl->cli->arena, &p, f) != 0 ||
	    policy_message(&p, &cl->cli->arena, &ask.policy, f) != 0)
		return -1;
	ask.has_policy = true;
	/* The message cannot say that it has no such section. */
	ask.inherit = inherit;
	ask.inherit_count = p.has_network ? 0 : 1;
	ask.name = arena_str(&cl->cli->arena, span_str(name));
	client_doing(cl, "waiting for the proof");
	if (CLIENT_UNARY(cl, "/openshell.v1.OpenShell/UpdateConfig",
		openshell_v1_UpdateConfigRequest, &ask,
		openshell_v1_UpdateConfigResponse, &a, f) != 0)
		return -1;
	if (cl->cli->json)
		(void)printf("{\"name\":\"%s\",\"policy_generation\":%u,"
			     "\"policy_hash\":\"%s\"}\n",
		    name, a.version, cli_text(a.policy_hash));
	else
		(void)printf("policy of '%s' is generation %u, sha256:%s; it "
			     "holds from the next start\n",
		    name, a.version, cli_text(a.policy_hash));
	return 0;
}

int
cmd_policy_set(struct cli *c, char **argv)
{
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0 ||
	    cli_want(&w, 2, "policy set NAME FILE", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	rc = set(&cl, w.word[0], w.word[1], &f);
	client_close(&cl);
	return rc == 0 ? 0 : client_fail(&cl, &f);
}

/* --- the maximum */

static int
print_json(const nacre_v1_MaximumPolicy *m, struct fault *f)
{
	const struct cli_text_member texts[] = {
		{ "policy", m->policy },
		{ "hash", m->hash },
		{ "set_by", m->set_by },
	};
	struct json_out o;
	struct buf b;
	int rc;

	buf_init(&b, CLI_OUTPUT);
	json_out_init(&o, &b);
	json_out_object(&o);
	json_out_key(&o, "is_set");
	json_out_bool(&o, m->is_set);
	json_out_key(&o, "generation");
	json_out_uint(&o, m->generation);
	cli_json_texts(&o, texts, NELEM(texts));
	json_out_key(&o, "set_ms");
	json_out_int(&o, m->set_ms);
	json_out_end(&o);
	rc = cli_json_print(&b, &o, f);
	buf_release(&b);
	return rc;
}

static int
set_maximum(struct client *cl, const char *path, struct fault *f)
{
	nacre_v1_SetMaximumPolicyRequest ask =
	    nacre_v1_SetMaximumPolicyRequest_init_zero;
	nacre_v1_MaximumPolicy a = nacre_v1_MaximumPolicy_init_zero;
	struct policy p;

	ask.none = path == NULL;
	if (path) {
		if (load(path, POLICY_READ_MAXIMUM, &cl->cli->arena, &p, f) !=
		    0)
			return -1;
		ask.policy = arena_str(&cl->cli->arena, p.text);
		if (!ask.policy)
			return fault_set(f, FAULT_LIMIT, "'%s' is too long",
			    path);
	}
	if (CLIENT_UNARY(cl, "/nacre.v1.Nacre/SetMaximumPolicy",
		nacre_v1_SetMaximumPolicyRequest, &ask, nacre_v1_MaximumPolicy,
		&a, f) != 0)
		return -1;
	if (cl->cli->json)
		return print_json(&a, f);
	if (a.is_set)
		(void)printf("maximum is generation %llu, sha256:%s\n",
		    (unsigned long long)a.generation, cli_text(a.hash));
	else
		(void)printf("there is no maximum now (generation %llu)\n",
		    (unsigned long long)a.generation);
	return 0;
}

int
cmd_policy_set_maximum(struct cli *c, char **argv)
{
	bool none = false;
	const struct cli_option options[] = {
		{ "--none", CLI_FLAG, &none, 0 },
	};
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, none ? 0 : 1, "policy set-maximum FILE | --none",
		&f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	rc = set_maximum(&cl, none ? NULL : w.word[0], &f);
	client_close(&cl);
	return rc == 0 ? 0 : client_fail(&cl, &f);
}

/* The text is a file that set-maximum takes. */
static int
print_maximum(struct cli *c, const nacre_v1_MaximumPolicy *m, struct fault *f)
{
	char when[32];

	if (c->json)
		return print_json(m, f);
	if (m->generation == 0) {
		(void)printf("# no maximum was ever set\n");
		return 0;
	}
	time_format(m->set_ms, when);
	(void)printf("# generation %llu, set %s by %s\n",
	    (unsigned long long)m->generation, when, cli_text(m->set_by));
	if (m->is_set)
		(void)printf("# sha256:%s\n%s", cli_text(m->hash),
		    cli_text(m->policy));
	else
		(void)printf("# none: there is no maximum\n");
	return 0;
}

int
cmd_policy_get_maximum(struct cli *c, char **argv)
{
	const nacre_v1_GetMaximumPolicyRequest ask =
	    nacre_v1_GetMaximumPolicyRequest_init_zero;
	nacre_v1_MaximumPolicy a = nacre_v1_MaximumPolicy_init_zero;
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0 ||
	    cli_want(&w, 0, "policy get-maximum", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	rc = CLIENT_UNARY(&cl, "/nacre.v1.Nacre/GetMaximumPolicy",
	    nacre_v1_GetMaximumPolicyRequest, &ask, nacre_v1_MaximumPolicy, &a,
	    &f);
	if (rc == 0)
		rc = print_maximum(c, &a, &f);
	client_close(&cl);
	return rc == 0 ? 0 : client_fail(&cl, &f);
}
