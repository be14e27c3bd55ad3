/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre policy: reads policy files and answers questions about them. Nothing
 * here talks to a gateway.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cli/inner.h"
#include "json/json.h"
#include "policy/policy.h"

enum {
	ARENA = 64 << 20, /* of one policy: its tree, form and text */
};

static bool
is_json(const char *path)
{
	size_t n = strlen(path);

	return n > 5 && strcmp(path + n - 5, ".json") == 0;
}

int
cli_policy_bytes(const char *path, struct buf *b, struct fault *f)
{
	buf_init(b, POLICY_BYTES);
	if (file_read(AT_FDCWD, path, b, f) == 0)
		return 0;
	if (f->code == FAULT_LIMIT)
		f->code = FAULT_POLICY_INVALID;
	return -1;
}

int
cli_policy_load(struct arena *a, const char *path, unsigned flags,
    struct policy *p, struct yaml_errors *errors, struct fault *f)
{
	struct buf b;
	int rc;

	yaml_errors_init(errors);
	rc = cli_policy_bytes(path, &b, f);
	if (rc == 0 && is_json(path))
		rc = policy_read_json(buf_span(&b), flags, a, p, errors, f);
	else if (rc == 0)
		rc = policy_read_yaml(buf_span(&b), flags, a, p, errors, f);
	buf_release(&b);
	return rc;
}

static size_t
kept(const struct yaml_errors *errors)
{
	return errors->count < YAML_ERRORS ? errors->count : YAML_ERRORS;
}

void
cli_policy_errors(const char *path, const struct yaml_errors *errors)
{
	char one[YAML_ERROR_TEXT + 32];

	for (size_t i = 0; i < kept(errors); i++) {
		policy_error_format(errors, i, one, sizeof(one));
		(void)fprintf(stderr, "%s:%s%s\n", path,
		    errors->list[i].line ? "" : " ", one);
	}
	if (errors->count > kept(errors))
		(void)fprintf(stderr, "%s: and %zu more\n", path,
		    errors->count - kept(errors));
}

static int
check_json(const struct policy *p, const struct yaml_errors *errors,
    struct fault *f)
{
	char hex[2 * POLICY_HASH + 1] = "";
	char one[YAML_ERROR_TEXT + 32];
	struct json_out o;
	struct buf b;
	int rc;

	buf_init(&b, 64 << 10);
	json_out_init(&o, &b);
	json_out_object(&o);
	json_out_key(&o, "valid");
	json_out_bool(&o, errors->count == 0);
	json_out_key(&o, "hash");
	if (errors->count == 0)
		hex_format(p->hash, POLICY_HASH, hex);
	json_out_text(&o, hex);
	json_out_key(&o, "errors");
	json_out_array(&o);
	for (size_t i = 0; i < kept(errors); i++) {
		policy_error_format(errors, i, one, sizeof(one));
		json_out_text(&o, one);
	}
	json_out_end(&o);
	json_out_key(&o, "count");
	json_out_uint(&o, errors->count);
	json_out_end(&o);
	rc = cli_json_print(&b, &o, f);
	buf_release(&b);
	return rc;
}

static int
check(struct cli *c, struct arena *a, const char *path, struct fault *f)
{
	struct yaml_errors *errors = must_alloc(sizeof(*errors));
	char hex[2 * POLICY_HASH + 1];
	struct policy p = { 0 };
	int rc = cli_policy_load(a, path, 0, &p, errors, f);

	if (rc != 0 && errors->count == 0)
		return fault_prefix(f, "%s", path);
	if (c->json) {
		fault_clear(f);
		return check_json(&p, errors, f) != 0 ? -1
		    : errors->count ? fault_exit(FAULT_INVALID)
				    : 0;
	}
	if (rc != 0) {
		cli_policy_errors(path, errors);
		return fault_exit(FAULT_INVALID);
	}
	hex_format(p.hash, POLICY_HASH, hex);
	(void)printf("%s: valid, sha256:%s\n", path, hex);
	return 0;
}

int
cmd_policy_check(struct cli *c, char **argv)
{
	struct cli_words w;
	struct arena a;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0 ||
	    cli_want(&w, 1, "policy check FILE", &f) != 0)
		return cli_fail(&f, NULL);
	arena_init(&a, ARENA);
	rc = check(c, &a, w.word[0], &f);
	arena_release(&a);
	return rc >= 0 ? rc : cli_fail(&f, NULL);
}

/* --- explain */

struct question {
	const char *address; /* of the host; NULL: a public one */
	const char *tool;
	struct span program;
	struct policy_request request;
	char host[POLICY_HOST + 1];
	char path[POLICY_PATH];
};

static const struct scheme {
	const char *prefix;
	uint16_t port;
} schemes[] = { { "https://", 443 }, { "http://", 80 }, { "wss://", 443 },
	{ "ws://", 80 } };

static int
authority_parse(struct question *q, struct span s, struct fault *f)
{
	size_t colon = s.len;
	uint64_t port;

	for (size_t i = s.len; i > 0 && s.ptr[i - 1] != ']'; i--)
		if (s.ptr[i - 1] == ':')
			colon = i - 1;
	if (colon < s.len) {
		if (!num_parse(span_from(s, colon + 1), UINT16_MAX, &port) ||
		    port == 0)
			return fault_set(f, FAULT_INVALID,
			    "the port of the URL is no number 1..65535");
		q->request.port = (uint16_t)port;
	}
	if (!policy_host_canonical(span_of(s.ptr, colon), q->host,
		&q->request.host))
		return fault_set(f, FAULT_INVALID,
		    "the host of the URL is no name and no address");
	return 0;
}

static int
url_parse(struct question *q, struct arena *a, const char *url, struct fault *f)
{
	struct span rest = { NULL, 0 };
	struct span query;
	size_t slash;

	for (size_t i = 0; i < NELEM(schemes); i++)
		if (span_starts(span_str(url), schemes[i].prefix)) {
			q->request.port = schemes[i].port;
			rest = span_str(url + strlen(schemes[i].prefix));
		}
	if (rest.len == 0)
		return fault_set(f, FAULT_INVALID,
		    "a URL begins with https://, http://, wss:// or ws://");
	slash = span_find(rest, '/');
	if (authority_parse(q, span_of(rest.ptr, slash), f) != 0)
		return -1;
	rest = slash < rest.len ? span_from(rest, slash) : span_str("/");
	if (policy_path_canonical(rest, q->path, &q->request.path, &query, f) !=
	    0)
		return -1;
	return policy_query_parse(query, a, &q->request.query,
	    &q->request.query_n, f);
}

static int
address_find(struct question *q, struct fault *f)
{
	struct span host = q->request.host;

	if (q->address)
		return policy_address_parse(span_str(q->address),
			   &q->request.address)
		    ? 0
		    : fault_field(f, "--address", "'%s' is no address",
			  q->address);
	if (!policy_address_parse(host, &q->request.address))
		q->request.address = policy_address_v4(0x01010101);
	return 0;
}

/* What is done there follows from the kind of its endpoints. */
static enum policy_act
act_of(const struct policy *p, const struct policy_request *r)
{
	enum policy_kind kind = POLICY_REST;

	(void)policy_route(p, r->host, r->port, r->path, &kind);
	switch (kind) {
	case POLICY_OPAQUE:
		return POLICY_ACT_OPAQUE;
	case POLICY_WEBSOCKET:
		return span_is(r->method, "WEBSOCKET_TEXT")
		    ? POLICY_ACT_FRAME
		    : POLICY_ACT_UPGRADE;
	case POLICY_JSON_RPC:
		return POLICY_ACT_RPC;
	case POLICY_MCP:
		return span_is(r->method, "GET") ? POLICY_ACT_STREAM
						 : POLICY_ACT_MCP;
	case POLICY_REST:
		break;
	}
	return POLICY_ACT_HTTP;
}

static void
where_print(const struct policy_box *b)
{
	const struct policy_place *at =
	    b->rule ? &b->rule->place : &b->endpoint->place;
	char name[256];

	policy_box_format(b, name, sizeof(name));
	(void)printf("  %s", name);
	if (at->line > 0)
		(void)printf(", line %u", (unsigned)at->line);
	(void)printf("\n");
}

static int
explain_json(const struct policy_decision *d, struct fault *f)
{
	char name[256] = "";
	struct json_out o;
	struct buf b;
	int rc;

	if (d->box)
		policy_box_format(d->box, name, sizeof(name));
	buf_init(&b, 4096);
	json_out_init(&o, &b);
	json_out_object(&o);
	json_out_key(&o, "allowed");
	json_out_bool(&o, d->allowed);
	json_out_key(&o, "reason");
	json_out_text(&o, policy_reason_text(d->reason));
	json_out_key(&o, "rule");
	json_out_text(&o, name);
	json_out_end(&o);
	rc = cli_json_print(&b, &o, f);
	buf_release(&b);
	return rc;
}

static int
explain(struct cli *c, struct arena *a, const char *path, struct question *q,
    struct fault *f)
{
	struct yaml_errors *errors = must_alloc(sizeof(*errors));
	struct policy_decision d;
	struct policy p;

	if (cli_policy_load(a, path, 0, &p, errors, f) != 0) {
		if (errors->count == 0)
			return fault_prefix(f, "%s", path);
		cli_policy_errors(path, errors);
		return fault_exit(FAULT_INVALID);
	}
	q->request.act = act_of(&p, &q->request);
	d = policy_decide(&p, &q->request);
	if (c->json) {
		if (explain_json(&d, f) != 0)
			return -1;
	} else {
		(void)printf("%s: %s\n", d.allowed ? "allowed" : "refused",
		    policy_reason_text(d.reason));
		if (d.box)
			where_print(d.box);
	}
	return d.allowed ? 0 : fault_exit(FAULT_REFUSED);
}

int
cmd_policy_explain(struct cli *c, char **argv)
{
	struct question q = { 0 };
	const struct cli_option options[] = {
		{ "--address", CLI_TEXT, &q.address, 0 },
		{ "--tool", CLI_TEXT, &q.tool, 0 },
	};
	const char *usage = "policy explain [--address IP] [--tool NAME] FILE "
			    "-- PROGRAM METHOD URL";
	struct cli_words w;
	struct arena a;
	struct fault f = { 0 };
	int rc = -1;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 1, usage, &f) != 0)
		return cli_fail(&f, NULL);
	if (!w.command || w.command_n != 3) {
		(void)fault_set(&f, FAULT_INVALID, "usage: nacre %s", usage);
		return cli_fail(&f, NULL);
	}
	q.program = span_str(w.command[0]);
	q.request.programs = &q.program;
	q.request.programs_n = 1;
	q.request.method = span_str(w.command[1]);
	q.request.tool = span_str(q.tool);
	arena_init(&a, ARENA);
	if (url_parse(&q, &a, w.command[2], &f) == 0 &&
	    address_find(&q, &f) == 0)
		rc = explain(c, &a, w.word[0], &q, &f);
	arena_release(&a);
	return rc >= 0 ? rc : cli_fail(&f, NULL);
}
