/* SPDX-License-Identifier: Apache-2.0 */
/* One request against one policy: the table of POLICY.md 2 by example. */
#include <string.h>

#include "../../lib/unit.h"
#include "policy/policy.h"

static struct arena arena;

static int
start(void **state)
{
	(void)state;
	arena_init(&arena, 16 << 20);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

/* Endpoints of an entry for /c, and others for /d. */
static struct policy
policy_of(const char *c, const char *d)
{
	static struct yaml_errors errors;
	char text[8192];
	struct policy p = { 0 };
	struct fault f = { 0 };

	assert_true(text_fmt(text, sizeof(text),
	    "version: 1\nnetwork_policies:\n  c:\n    binaries: [{path: /c}]\n"
	    "    endpoints: [%s]\n  d:\n    binaries: [{path: /d/*}]\n"
	    "    endpoints: [%s]\n",
	    c, d));
	if (policy_parse(span_str(text), &arena, &p, &errors, &f) != 0)
		fail_msg("%s: %s", c, f.text);
	return p;
}

/* "ACT METHOD target [tool]" to x.com:443 at 1.1.1.1 by /c. */
struct ask {
	enum policy_act act;
	const char *method;
	const char *target;
	const char *tool;
	const char *host;
	const char *address;
	const char *program;
	uint16_t port;
};

static struct policy_decision
decided(const struct policy *p, const struct ask *ask)
{
	static char path[POLICY_PATH];
	static char host[POLICY_HOST + 1];
	struct span programs[2] = { span_str("/other"),
		span_str(ask->program ? ask->program : "/c") };
	struct policy_request r = { .programs = programs,
		.programs_n = 2,
		.act = ask->act,
		.method = span_str(ask->method),
		.tool = span_str(ask->tool),
		.port = ask->port ? ask->port : 443 };
	struct span query;
	struct fault f = { 0 };

	assert_true(policy_host_canonical(
	    span_str(ask->host ? ask->host : "x.com"), host, &r.host));
	if (!policy_address_parse(r.host, &r.address))
		assert_true(policy_address_parse(
		    span_str(ask->address ? ask->address : "1.1.1.1"),
		    &r.address));
	assert_int_equal(
	    policy_path_canonical(span_str(ask->target ? ask->target : "/"),
		path, &r.path, &query, &f),
	    0);
	assert_int_equal(
	    policy_query_parse(query, &arena, &r.query, &r.query_n, &f), 0);
	return policy_decide(p, &r);
}

#define AT      "host: x.com, port: 443, "
#define REST    "protocol: rest, "
#define WS      "protocol: websocket, "
#define MCP     "protocol: mcp, path: /m, "
#define RULE(s) "rules: [{allow: {" s "}}]"
#define DENY(s) ", deny_rules: [{" s "}]"

enum {
	OPAQUE = POLICY_ACT_OPAQUE,
	HTTP = POLICY_ACT_HTTP,
	UPGRADE = POLICY_ACT_UPGRADE,
	FRAME = POLICY_ACT_FRAME,
	RPC = POLICY_ACT_RPC,
	CALL = POLICY_ACT_MCP,
	STREAM = POLICY_ACT_STREAM,
	ANSWER = POLICY_ACT_ANSWER,
	PASS = POLICY_PASSES,
	NO = POLICY_NO_RULE,
	DENIED = POLICY_DENIED,
	NO_KIND = POLICY_NO_KIND,
};

/* clang-format off */
static const struct {
	const char *endpoint;
	int act;
	const char *method;
	const char *target;
	const char *tool;
	int reason;
} table[] = {
	/* opaque covers everything */
	{ "{" AT "}", OPAQUE, NULL, NULL, NULL, PASS },
	{ "{" AT "}", HTTP, "GET", "/a%2Fb", NULL, PASS },
	{ "{" AT "tls: skip}", FRAME, NULL, "/", NULL, PASS },
	{ "{" AT "protocol: tcp}", CALL, "tools/call", "/", "a b", PASS },
	/* rest: methods and paths */
	{ "{" AT REST "access: full}", OPAQUE, NULL, NULL, NULL, NO_KIND },
	{ "{" AT REST "access: read-only}", HTTP, "get", "/", NULL, PASS },
	{ "{" AT REST "access: read-only}", HTTP, "OPTIONS", "/", NULL, PASS },
	{ "{" AT REST "access: read-only}", HTTP, "POST", "/", NULL, NO },
	{ "{" AT REST "access: read-write}", HTTP, "PATCH", "/", NULL, PASS },
	{ "{" AT REST "access: read-write}", HTTP, "DELETE", "/", NULL, NO },
	{ "{" AT REST "access: full}", HTTP, "X-PROBE", "/", NULL, PASS },
	{ "{" AT REST RULE("method: GET") "}", HTTP, "HEAD", "/", NULL, PASS },
	{ "{" AT REST RULE("method: HEAD") "}", HTTP, "GET", "/", NULL, NO },
	{ "{" AT REST RULE("path: /x/**") "}", HTTP, "GET", "/x", NULL, NO },
	{ "{" AT REST RULE("path: /x/**") "}", HTTP, "PUT", "/x/", NULL, PASS },
	{ "{" AT REST RULE("path: /a") "}", HTTP, "GET", "/b/../a;v=1", NULL, PASS },
	{ "{" AT REST RULE("path: /X") "}", HTTP, "GET", "/x", NULL, NO },
	{ "{" AT REST "access: full}", HTTP, "GET", "/a%2Fb", NULL, NO },
	{ "{" AT REST "access: full, allow_encoded_slash: true}", HTTP, "GET", "/a%2Fb", NULL, PASS },
	{ "{" AT REST "path: /v1/**, access: full}", HTTP, "GET", "/v2/", NULL, NO },
	/* queries */
	{ "{" AT REST RULE("query: {k: 'v*'}") "}", HTTP, "GET", "/?k=v1", NULL, PASS },
	{ "{" AT REST RULE("query: {k: 'v*'}") "}", HTTP, "GET", "/", NULL, NO },
	{ "{" AT REST RULE("query: {k: 'v*'}") "}", HTTP, "GET", "/?k=v&k=w", NULL, NO },
	{ "{" AT REST RULE("query: {k: {any: [v, w]}}") "}", HTTP, "GET", "/?k=v&k=w&j=1", NULL, PASS },
	{ "{" AT REST RULE("query: {k: '*'}") "}", HTTP, "GET", "/?k=a.b", NULL, PASS },
	{ "{" AT REST RULE("query: {k: ''}") "}", HTTP, "GET", "/?k", NULL, PASS },
	{ "{" AT REST RULE("query: {K: '*'}") "}", HTTP, "GET", "/?k=a", NULL, NO },
	/* denies */
	{ "{" AT REST "access: full" DENY("path: /admin/**") "}", HTTP, "GET", "/admin/", NULL, DENIED },
	{ "{" AT REST "access: full" DENY("path: /admin/**") "}", HTTP, "GET", "/admin", NULL, PASS },
	{ "{" AT REST "access: full" DENY("method: GET") "}", HTTP, "HEAD", "/", NULL, DENIED },
	{ "{" AT REST "access: full" DENY("method: GET") "}", HTTP, "POST", "/", NULL, PASS },
	{ "{" AT REST "access: full" DENY("query: {f: t}") "}", HTTP, "GET", "/?f=x&f=t", NULL, DENIED },
	{ "{" AT REST "access: full" DENY("query: {f: t, g: '*'}") "}", HTTP, "GET", "/?f=t", NULL, PASS },
	/* audit */
	{ "{" AT REST "access: read-only, enforcement: audit" DENY("path: /x") "}", HTTP, "PUT", "/x", NULL, POLICY_PASSES_AUDIT },
	{ "{" AT REST "access: read-only, enforcement: audit}", HTTP, "GET", "/", NULL, PASS },
	{ "{" AT REST "path: /v1, access: full, enforcement: audit}", HTTP, "GET", "/v2", NULL, NO },
	{ "{" AT REST "access: full, enforcement: audit}", HTTP, "GET", "/a%2F", NULL, NO },
	{ "{" AT REST "access: full, enforcement: audit}", OPAQUE, NULL, NULL, NULL, NO_KIND },
	/* rest covers what is carried by HTTP */
	{ "{" AT REST RULE("method: GET") "}", UPGRADE, NULL, "/", NULL, PASS },
	{ "{" AT REST RULE("method: GET") "}", FRAME, NULL, "/", NULL, PASS },
	{ "{" AT REST RULE("method: GET") "}", RPC, "ping", "/", NULL, NO },
	{ "{" AT REST RULE("method: POST") "}", RPC, "ping", "/", NULL, PASS },
	{ "{" AT REST RULE("method: POST") "}", CALL, "tools/call", "/", "x", PASS },
	{ "{" AT REST RULE("method: POST") "}", ANSWER, NULL, "/", NULL, PASS },
	{ "{" AT REST RULE("method: POST") "}", STREAM, NULL, "/", NULL, NO },
	/* websocket */
	{ "{" AT WS "access: read-only}", UPGRADE, NULL, "/c", NULL, PASS },
	{ "{" AT WS "access: read-only}", FRAME, NULL, "/c", NULL, NO },
	{ "{" AT WS "access: read-write}", FRAME, NULL, "/c", NULL, PASS },
	{ "{" AT WS "access: full}", HTTP, "GET", "/c", NULL, NO_KIND },
	{ "{" AT WS "rules: [{allow: {method: GET, path: /a}}, {allow: {method: WEBSOCKET_TEXT}}]}", FRAME, NULL, "/b", NULL, NO },
	{ "{" AT WS RULE("method: WEBSOCKET_TEXT") "}", FRAME, NULL, "/", NULL, NO },
	{ "{" AT WS "access: full" DENY("method: WEBSOCKET_TEXT, path: /q") "}", FRAME, NULL, "/q", NULL, DENIED },
	{ "{" AT WS "access: full" DENY("method: WEBSOCKET_TEXT, path: /q") "}", UPGRADE, NULL, "/q", NULL, PASS },
	{ "{" AT WS "access: full" DENY("method: GET, path: /q") "}", FRAME, NULL, "/q", NULL, DENIED },
	/* json-rpc */
	{ "{" AT "protocol: json-rpc, " RULE("method: 'eth_*'") "}", RPC, "eth_call", "/", NULL, PASS },
	{ "{" AT "protocol: json-rpc, " RULE("method: 'eth_*'") "}", RPC, "net_x", "/", NULL, NO },
	{ "{" AT "protocol: json-rpc, " RULE("method: '*'") DENY("method: net_x") "}", RPC, "net_x", "/", NULL, DENIED },
	{ "{" AT "protocol: json-rpc, " RULE("method: '*'") "}", ANSWER, NULL, "/", NULL, NO_KIND },
	/* mcp */
	{ "{" AT MCP RULE("method: tools/call, tool: 'get_*'") "}", CALL, "tools/call", "/m", "get_x", PASS },
	{ "{" AT MCP RULE("method: tools/call, tool: 'get_*'") "}", CALL, "tools/call", "/m", "set_x", NO },
	{ "{" AT MCP RULE("method: tools/call, tool: 'get_*'") "}", CALL, "tools/call", "/n", "get_x", NO },
	{ "{" AT MCP RULE("method: tools/call, tool: '*'") "}", CALL, "tools/call", "/m", "a b", NO },
	{ "{" AT MCP RULE("method: tools/call, tool: '*'") "}", CALL, "tools/call", "/m", "a.b", PASS },
	{ "{" AT MCP RULE("method: tools/*") "}", CALL, "tools/call", "/m", "x", PASS },
	{ "{" AT MCP RULE("method: tools/*") "}", CALL, "tools/list", "/m", NULL, PASS },
	{ "{" AT MCP RULE("method: tools/list") "}", CALL, "tools/call", "/m", "x", NO },
	{ "{" AT MCP RULE("method: tools/list") "}", STREAM, NULL, "/m", NULL, PASS },
	{ "{" AT MCP RULE("method: tools/list") "}", ANSWER, NULL, "/m", NULL, PASS },
	{ "{" AT MCP RULE("method: tools/list") "}", STREAM, NULL, "/n", NULL, NO },
	{ "{" AT MCP "mcp: {allow_all_known_mcp_methods: true}}", CALL, "tools/call", "/m", "x", PASS },
	{ "{" AT MCP "mcp: {allow_all_known_mcp_methods: true}}", CALL, "any", "/m", NULL, PASS },
	{ "{" AT MCP "mcp: {allow_all_known_mcp_methods: true}, " RULE("tool: a") "}", CALL, "tools/call", "/m", "b", NO },
	{ "{" AT MCP "mcp: {allow_all_known_mcp_methods: true}, " RULE("tool: a") "}", CALL, "tools/call", "/m", "a", PASS },
	{ "{" AT MCP "mcp: {allow_all_known_mcp_methods: true}, " RULE("tool: a") "}", CALL, "prompts/get", "/m", NULL, PASS },
	{ "{" AT MCP "mcp: {allow_all_known_mcp_methods: true, strict_tool_names: false}}", CALL, "tools/call", "/m", "a b", PASS },
	{ "{" AT MCP "mcp: {allow_all_known_mcp_methods: true}" DENY("tool: 'rm_*'") "}", CALL, "tools/call", "/m", "rm_x", DENIED },
	{ "{" AT MCP "mcp: {allow_all_known_mcp_methods: true}" DENY("tool: 'rm_*'") "}", CALL, "rm_x", "/m", NULL, PASS },
	{ "{" AT MCP "mcp: {allow_all_known_mcp_methods: true}, enforcement: audit, " RULE("tool: a") "}", CALL, "tools/call", "/m", "b", POLICY_PASSES_AUDIT },
	{ "{" AT MCP "mcp: {allow_all_known_mcp_methods: true}, enforcement: audit}", CALL, "tools/call", "/m", "a b", NO },
};
/* clang-format on */

static void
requests_pass_as_the_page_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(table); i++) {
		struct policy p = policy_of(table[i].endpoint, "");
		struct ask ask = { .act = (enum policy_act)table[i].act,
			.method = table[i].method,
			.target = table[i].target,
			.tool = table[i].tool };
		struct policy_decision d = decided(&p, &ask);

		if ((int)d.reason != table[i].reason)
			fail_msg("%s %s %s: %s", table[i].endpoint,
			    table[i].method ? table[i].method : "",
			    table[i].target ? table[i].target : "",
			    policy_reason_text(d.reason));
		assert_int_equal(d.allowed,
		    d.reason == POLICY_PASSES ||
			d.reason == POLICY_PASSES_AUDIT);
		assert_int_equal(d.box != NULL,
		    d.allowed || d.reason == POLICY_DENIED);
		if (d.box)
			assert_int_equal(d.box->deny, !d.allowed);
	}
}

/* clang-format off */
static const struct {
	const char *endpoint;
	const char *host;
	const char *address;
	uint16_t port;
	int reason;
} places[] = {
	{ "{" AT "}", "X.com", NULL, 443, PASS },
	{ "{" AT "}", "y.com", NULL, 443, POLICY_NO_ENDPOINT },
	{ "{" AT "}", "x.com", NULL, 80, POLICY_NO_ENDPOINT },
	{ "{" AT "}", "x.com", "10.0.0.1", 443, PASS },
	{ "{" AT "}", "x.com", "fd00::1", 443, PASS },
	{ "{" AT "}", "x.com", "127.0.0.1", 443, POLICY_NEVER_DIALLED },
	{ "{" AT "}", "x.com", "64:ff9b::7f00:1", 443, POLICY_NEVER_DIALLED },
	{ "{" AT "}", "x.com", "2002:a9fe:a9fe::1", 443, POLICY_NEVER_DIALLED },
	{ "{host: '*.x.com', port: 443}", "a.x.com", NULL, 443, PASS },
	{ "{host: '*.x.com', port: 443}", "a.x.com", "10.0.0.1", 443, POLICY_NO_ADDRESS },
	{ "{host: '*.x.com', port: 443}", "a.x.com", "::ffff:192.168.0.1", 443, POLICY_NO_ADDRESS },
	{ "{host: '*.x.com', port: 443}", "a.x.com", "64:ff9b::a00:1", 443, POLICY_NO_ADDRESS },
	{ "{host: '*.x.com', port: 443}", "a.b.x.com", NULL, 443, POLICY_NO_ENDPOINT },
	{ "{host: '**.x.com', port: 443}", "a.b.x.com", NULL, 443, PASS },
	{ "{host: '**.x.com', port: 443}", "x.com", NULL, 443, POLICY_NO_ENDPOINT },
	{ "{host: '**.google.internal', port: 80}", "metadata.google.internal", NULL, 80, POLICY_NEVER_DIALLED },
	{ "{port: 443, allowed_ips: [public]}", "localhost", NULL, 443, POLICY_NEVER_DIALLED },
	{ "{port: 443, allowed_ips: [10.0.0.0/8]}", "any", "10.1.1.1", 443, PASS },
	{ "{port: 443, allowed_ips: [10.0.0.0/8]}", "any", "::ffff:10.1.1.1", 443, PASS },
	{ "{port: 443, allowed_ips: [10.0.0.0/8]}", "10.1.1.1", NULL, 443, PASS },
	{ "{port: 443, allowed_ips: [10.0.0.0/8]}", "any", "1.1.1.1", 443, POLICY_NO_ADDRESS },
	{ "{port: 443, allowed_ips: [any]}", "any", "192.168.0.1", 443, PASS },
	{ "{port: 443, allowed_ips: [any]}", "any", "192.168.0.1", 6443, POLICY_NEVER_DIALLED },
	{ "{port: 443, allowed_ips: [public, 10.0.0.0/8]}", "any", "9.9.9.9", 443, PASS },
	{ "{" AT "allowed_ips: [10.0.0.0/8]}", "x.com", "1.1.1.1", 443, POLICY_NO_ADDRESS },
	{ "{host: 10.0.0.5, port: 443}", "10.0.0.5", NULL, 443, PASS },
	{ "{host: 10.0.0.5, port: 443}", "[::ffff:10.0.0.5]", NULL, 443, PASS },
	{ "{host: 10.0.0.5, port: 443}", "10.0.0.6", NULL, 443, POLICY_NO_ENDPOINT },
	{ "{host: '[FD00:0::5]', port: 443}", "fd00::5", NULL, 443, PASS },
};
/* clang-format on */

static void
places_are_reached_as_the_page_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(places); i++) {
		struct policy p = policy_of(places[i].endpoint, "");
		struct ask ask = { .act = POLICY_ACT_OPAQUE,
			.host = places[i].host,
			.address = places[i].address,
			.port = places[i].port };
		struct policy_decision d = decided(&p, &ask);

		if ((int)d.reason != places[i].reason)
			fail_msg("%s to %s %s: %s", places[i].endpoint,
			    places[i].host,
			    places[i].address ? places[i].address : "",
			    policy_reason_text(d.reason));
	}
}

static void
programs_bind_allows_and_not_denies(void **state)
{
	struct policy p = policy_of("{" AT REST "access: full}",
	    "{" AT REST RULE("method: PUT") DENY("path: /x") "}");
	struct ask ask = { .act = POLICY_ACT_HTTP,
		.method = "GET",
		.target = "/x" };

	(void)state;
	assert_int_equal(decided(&p, &ask).reason, POLICY_DENIED);
	ask.target = "/y";
	assert_int_equal(decided(&p, &ask).reason, POLICY_PASSES);
	ask.program = "/d/e";
	assert_int_equal(decided(&p, &ask).reason, POLICY_NO_RULE);
	ask.method = "PUT";
	assert_int_equal(decided(&p, &ask).reason, POLICY_PASSES);
	ask.program = "/d/e/f";
	assert_int_equal(decided(&p, &ask).reason, POLICY_NO_PROGRAM);
}

static void
a_box_is_called_by_its_place_in_the_file(void **state)
{
	static const struct {
		const char *endpoint;
		const char *target;
		const char *name;
	} names[] = {
		{ "{host: y, port: 1}, {" AT REST "access: full}", "/",
		    "network_policies.c endpoint 1 access full" },
		{ "{" AT REST "rules: [{allow: {path: /a}}, {allow: {path: "
		  "/b}}], deny_rules: [{path: /q}, {path: /z}]}",
		    "/b", "network_policies.c endpoint 0 rule 1" },
		{ "{" AT REST "access: full" DENY("path: /z") "}", "/z",
		    "network_policies.c endpoint 0 deny 0" },
		{ "{" AT "}", "/", "network_policies.c endpoint 0" },
		{ "{" AT REST "access: read-only, enforcement: audit}", "/",
		    "network_policies.c endpoint 0 audit" },
	};
	char out[256];

	(void)state;
	for (size_t i = 0; i < NELEM(names); i++) {
		struct policy p = policy_of(names[i].endpoint, "");
		struct ask ask = { .act = POLICY_ACT_HTTP,
			.method = "GET",
			.target = names[i].target };

		policy_box_format(decided(&p, &ask).box, out, sizeof(out));
		assert_string_equal(out, names[i].name);
	}
}

static void
a_use_must_be_of_the_endpoint_that_allows(void **state)
{
	struct policy p = policy_of(
	    "{" AT REST RULE(
		"path: /a") ", credential_binding: {provider: p}, credential_signing: sigv4, "
			    "signing_service: s}, {" AT REST RULE(
				"path: /b") "}",
	    "");
	struct policy_capabilities of = { .provider = SPAN_LIT("p"),
		.signing = POLICY_SIGNING_SIGV4,
		.signing_service = SPAN_LIT("s"),
		.max_body = 1 << 30 };
	struct span program = SPAN_LIT("/c");
	struct policy_request r = { .programs = &program,
		.programs_n = 1,
		.host = SPAN_LIT("x.com"),
		.port = 443,
		.address = policy_address_v4(0x01010101),
		.act = POLICY_ACT_HTTP,
		.method = SPAN_LIT("GET"),
		.path = SPAN_LIT("/a"),
		.use = POLICY_USE_BINDING,
		.use_of = &of };

	(void)state;
	assert_true(policy_decide(&p, &r).allowed);
	r.use = POLICY_USE_SIGNING;
	assert_true(policy_decide(&p, &r).allowed);
	r.use = POLICY_USE_BODY;
	assert_true(policy_decide(&p, &r).allowed);
	r.use = POLICY_USE_BODY_REWRITE;
	assert_int_equal(policy_decide(&p, &r).reason, POLICY_NO_CAPABILITY);
	r.use = POLICY_USE_BINDING;
	r.path = SPAN_LIT("/b");
	assert_int_equal(policy_decide(&p, &r).reason, POLICY_NO_CAPABILITY);
	of.provider = SPAN_LIT("q");
	r.path = SPAN_LIT("/a");
	assert_int_equal(policy_decide(&p, &r).reason, POLICY_NO_CAPABILITY);
}

/* A body without a limit is above every limit, and fits where there is none. */
static void
a_body_without_a_limit_fits_only_where_there_is_none(void **state)
{
	static const struct {
		const char *endpoint;
		enum policy_act act;
		uint32_t body;
		enum policy_reason reason;
	} bodies[] = {
		{ AT MCP "mcp: {max_body_bytes: 9}, rules: [{allow: {method: "
			 "ping}}]",
		    POLICY_ACT_MCP, 9, POLICY_PASSES },
		{ AT MCP "mcp: {max_body_bytes: 9}, rules: [{allow: {method: "
			 "ping}}]",
		    POLICY_ACT_MCP, 10, POLICY_NO_CAPABILITY },
		{ AT MCP "mcp: {max_body_bytes: 9}, rules: [{allow: {method: "
			 "ping}}]",
		    POLICY_ACT_MCP, 0, POLICY_NO_CAPABILITY },
		{ AT REST "access: full", POLICY_ACT_MCP, 0, POLICY_PASSES },
		{ AT REST "access: full", POLICY_ACT_MCP, 10, POLICY_PASSES },
		{ AT, POLICY_ACT_OPAQUE, 0, POLICY_PASSES },
	};
	struct span program = SPAN_LIT("/c");

	(void)state;
	for (size_t i = 0; i < NELEM(bodies); i++) {
		char text[256];
		struct policy p;
		struct policy_capabilities of = { .max_body = bodies[i].body };
		struct policy_request r = { .programs = &program,
			.programs_n = 1,
			.host = SPAN_LIT("x.com"),
			.port = 443,
			.address = policy_address_v4(0x01010101),
			.act = bodies[i].act,
			.method = SPAN_LIT("ping"),
			.path = SPAN_LIT("/m"),
			.use = POLICY_USE_BODY,
			.use_of = &of };

		assert_true(
		    text_fmt(text, sizeof(text), "{%s}", bodies[i].endpoint));
		p = policy_of(text, "");
		assert_int_equal(policy_decide(&p, &r).reason,
		    bodies[i].reason);
	}
}

static void
connections_and_routes_are_known_before_requests(void **state)
{
	struct policy p = policy_of("{host: o.com, port: 443}, "
				    "{" AT REST "path: /r/**, access: full}, "
				    "{" AT MCP RULE("method: ping") "}",
	    "");
	struct span program = SPAN_LIT("/c");
	struct policy_request r = { .programs = &program,
		.programs_n = 1,
		.host = SPAN_LIT("x.com"),
		.port = 443,
		.address = policy_address_v4(0x01010101) };
	enum policy_kind kind;
	bool opaque;

	(void)state;
	assert_true(policy_connect(&p, &r, &opaque).allowed && !opaque);
	r.host = SPAN_LIT("o.com");
	assert_true(policy_connect(&p, &r, &opaque).allowed && opaque);
	program = SPAN_LIT("/e");
	assert_int_equal(policy_connect(&p, &r, &opaque).reason,
	    POLICY_NO_PROGRAM);
	assert_true(
	    policy_route(&p, SPAN_LIT("x.com"), 443, SPAN_LIT("/r/a"), &kind));
	assert_int_equal(kind, POLICY_REST);
	assert_true(
	    policy_route(&p, SPAN_LIT("x.com"), 443, SPAN_LIT("/m"), &kind));
	assert_int_equal(kind, POLICY_MCP);
	assert_false(
	    policy_route(&p, SPAN_LIT("x.com"), 443, SPAN_LIT("/q"), &kind));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_pass_as_the_page_says),
		cmocka_unit_test(places_are_reached_as_the_page_says),
		cmocka_unit_test(programs_bind_allows_and_not_denies),
		cmocka_unit_test(a_box_is_called_by_its_place_in_the_file),
		cmocka_unit_test(a_use_must_be_of_the_endpoint_that_allows),
		cmocka_unit_test(
		    a_body_without_a_limit_fits_only_where_there_is_none),
		cmocka_unit_test(
		    connections_and_routes_are_known_before_requests),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, end);
}
