/* SPDX-License-Identifier: Apache-2.0 */
/* The message as a third text: what it says, and what it cannot. */
#include <string.h>

#include "../../lib/unit.h"
#include "policy/policy.h"
#include "proto/openshell_sandbox_v1.pb.h"

static struct arena arena;
static struct yaml_errors errors;

typedef openshell_sandbox_v1_SandboxPolicy message;

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

static struct policy
parsed(const char *text)
{
	struct policy p = { 0 };
	struct fault f = { 0 };

	if (policy_parse(span_str(text), &arena, &p, &errors, &f) != 0)
		fail_msg("%s: %s", text, f.text);
	return p;
}

static const char *const texts[] = {
	"version: 1\n",
	"version: 1\nprocess: {run_as_user: 7, run_as_group: sandbox}\n"
	"landlock: {}\nfilesystem_policy: {read_only: [/a, /b], read_write: "
	"[/c]}\n",
	"version: 1\nlandlock: {compatibility: best_effort}\n"
	"filesystem_policy: {include_workdir: true}\nprocess: {}\n",
	"version: 1\nnetwork_policies:\n"
	"  a:\n"
	"    name: other\n"
	"    binaries: [{path: /c}, {path: /d/**}]\n"
	"    endpoints:\n"
	"      - {host: x.com, ports: [443, 444, 80], tls: skip}\n"
	"      - {port: 9, allowed_ips: [public, 10.0.0.0/8, fd12::/16]}\n"
	"      - {host: y.com, port: 1, protocol: rest, path: /v/**, "
	"enforcement: audit, access: read-write, deny_rules: [{method: GET, "
	"path: /x, query: {k: v, e: '', m: {any: [a, b]}}}], "
	"allow_encoded_slash: true, request_body_credential_rewrite: true, "
	"websocket_credential_rewrite: true, allow_uninspected_credentials: "
	"true, credential_binding: {provider: p}}\n"
	"      - {host: z.com, port: 1, protocol: websocket, rules: [{allow: "
	"{method: GET}}, {allow: {path: /c}}], credential_signing: sigv4, "
	"signing_service: s, signing_region: r}\n"
	"  b:\n"
	"    binaries: [{path: /**}]\n"
	"    endpoints:\n"
	"      - {host: j.com, port: 1, protocol: json-rpc, rules: [{allow: "
	"{method: 'a*'}}], json_rpc: {max_body_bytes: 9}}\n"
	"      - {host: m.com, port: 1, protocol: mcp, mcp: {max_body_bytes: "
	"8, allow_all_known_mcp_methods: true}, rules: [{allow: {tool: "
	"get_*}}], deny_rules: [{tool: {any: [a, b]}}]}\n"
	"      - {host: n.com, port: 1, protocol: mcp, mcp: "
	"{strict_tool_names: false}, rules: [{allow: {method: tools/list}}]}\n"
	"      - {host: t.com, port: 1, protocol: tcp}\n"
	"  c: {binaries: [{path: /c}]}\n",
};

static void
a_policy_and_its_message_say_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(texts); i++) {
		struct policy p = parsed(texts[i]);
		struct policy q;
		struct fault f = { 0 };
		message m;

		assert_int_equal(policy_message(&p, &arena, &m, &f), 0);
		if (policy_read_message(&m, 0, &arena, &q, &errors, &f) != 0)
			fail_msg("%s: %s", texts[i], f.text);
		assert_string_equal(policy_format(&q), policy_format(&p));
	}
}

static void
says(const message *m, unsigned flags, const char *what)
{
	struct policy p;
	struct fault f = { 0 };

	if (policy_read_message(m, flags, &arena, &p, &errors, &f) == 0)
		fail_msg("taken, not: %s", what);
	assert_string_equal(f.text, what);
	assert_int_equal(f.code, FAULT_INVALID);
}

/* One entry "a" for /c with that endpoint. */
struct one {
	message m;
	openshell_sandbox_v1_SandboxPolicy_NetworkPoliciesEntry entry[2];
	openshell_sandbox_v1_NetworkBinary binary;
	openshell_sandbox_v1_NetworkEndpoint e;
};

static void
fill(struct one *o)
{
	static char key[] = "a";
	static char path[] = "/c";
	static char host[] = "x.com";

	memset(o, 0, sizeof(*o));
	o->binary.path = path;
	o->e.host = host;
	o->e.port = 443;
	o->entry[0].key = key;
	o->entry[0].has_value = true;
	o->entry[0].value.endpoints = &o->e;
	o->entry[0].value.endpoints_count = 1;
	o->entry[0].value.binaries = &o->binary;
	o->entry[0].value.binaries_count = 1;
	o->entry[1] = o->entry[0];
	o->m.version = 1;
	o->m.network_policies = o->entry;
	o->m.network_policies_count = 1;
}

static void
mistakes_are_named_by_their_fields(void **state)
{
	static char odd[] = "Rest";
	static char root[] = "root";
	static char broken[] = "x\xff";
	static char skip[] = "skip";
	openshell_sandbox_v1_SandboxPolicy_NetworkMiddlewaresEntry middleware =
	    openshell_sandbox_v1_SandboxPolicy_NetworkMiddlewaresEntry_init_zero;
	openshell_sandbox_v1_NetworkEndpoint skips;
	uint32_t ports[] = { 443, 80 };
	struct policy p;
	struct fault f = { 0 };
	struct one o;

	(void)state;
	fill(&o);
	o.m.version = 0;
	says(&o.m, 0, "version is missing: write 'version: 1'");
	fill(&o);
	o.m.has_process = true;
	o.m.process.run_as_user = root;
	says(&o.m, 0,
	    "process.run_as_user: must be 'sandbox' or 1..4294967294, not "
	    "root");
	fill(&o);
	o.e.protocol = odd;
	says(&o.m, 0,
	    "network_policies.a.endpoints[0].protocol: must be one of: tcp, "
	    "rest, websocket, json-rpc, mcp");
	fill(&o);
	o.e.host = broken;
	says(&o.m, 0,
	    "network_policies.a.endpoints[0].host: control bytes and broken "
	    "UTF-8 are not supported");
	fill(&o);
	o.e.ports = ports;
	o.e.ports_count = 2;
	assert_int_equal(policy_read_message(&o.m, 0, &arena, &p, &errors, &f),
	    0);
	o.e.port = 81;
	says(&o.m, 0,
	    "network_policies.a.endpoints[0].port: port is not one of ports");
	fill(&o);
	o.m.network_policies_count = 2;
	says(&o.m, 0, "network_policies.a: the same key twice");
	fill(&o);
	o.e.graphql_max_body_bytes = 1;
	says(&o.m, 0,
	    "network_policies.a.endpoints[0].graphql_max_body_bytes: graphql "
	    "is not supported until built: remove it");
	fill(&o);
	o.m.network_middlewares = &middleware;
	o.m.network_middlewares_count = 1;
	says(&o.m, 0,
	    "network_middlewares: middlewares are not supported: remove them");
	fill(&o);
	o.m.network_policies_count = 2;
	o.entry[1].key = odd;
	o.entry[1].value.endpoints = &skips;
	skips = o.e;
	skips.tls = skip;
	says(&o.m, 0,
	    "Rest endpoint 0 overlaps a endpoint 0, but their tls differs: "
	    "write the same in both");
	fill(&o);
	o.e.advisor_proposed = true;
	says(&o.m, 0,
	    "network_policies.a.endpoints[0]: unknown key 'advisor_proposed': remove it");
	assert_int_equal(policy_read_message(&o.m, POLICY_READ_PROVIDER, &arena,
			     &p, &errors, &f),
	    0);
}

/* Which of two would hold? */
static void
a_tool_is_named_once(void **state)
{
	static char mcp[] = "mcp";
	static char call[] = "tools/call";
	static char name[] = "name";
	static char tools[][4] = { "one", "two" };
	openshell_sandbox_v1_L7Allow_ParamsEntry params[2];
	openshell_sandbox_v1_L7Rule rule =
	    openshell_sandbox_v1_L7Rule_init_zero;
	struct policy p;
	struct fault f = { 0 };
	struct one o;

	(void)state;
	memset(params, 0, sizeof(params));
	fill(&o);
	o.e.protocol = mcp;
	o.e.rules = &rule;
	o.e.rules_count = 1;
	rule.has_allow = true;
	rule.allow.method = call;
	rule.allow.params = params;
	rule.allow.params_count = 1;
	for (size_t i = 0; i < NELEM(params); i++) {
		params[i].key = name;
		params[i].has_value = true;
		params[i].value.glob = tools[i];
	}
	assert_int_equal(policy_read_message(&o.m, 0, &arena, &p, &errors, &f),
	    0);
	rule.allow.params_count = 2;
	says(&o.m, 0,
	    "network_policies.a.endpoints[0].rules[0].allow.params.name: the "
	    "same key twice");
}

static void
an_absent_map_is_an_empty_one_in_a_child(void **state)
{
	message m = openshell_sandbox_v1_SandboxPolicy_init_zero;
	struct policy p;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(
	    policy_read_message(&m, POLICY_READ_CHILD, &arena, &p, &errors, &f),
	    0);
	assert_string_equal(policy_format(&p),
	    "version: 1\nnetwork_policies: {}\n");
	m.version = 1;
	assert_int_equal(policy_read_message(&m, 0, &arena, &p, &errors, &f),
	    0);
	assert_string_equal(policy_format(&p), "version: 1\n");
}

static void
a_small_arena_is_a_limit_at_any_size(void **state)
{
	struct policy p = parsed(texts[3]);
	struct policy q;
	struct fault f = { 0 };
	message m;
	bool done = false;

	(void)state;
	assert_int_equal(policy_message(&p, &arena, &m, &f), 0);
	for (size_t cap = 0; cap < 200000 && !done; cap += 256) {
		struct arena a;
		message out;

		arena_init(&a, cap);
		f = (struct fault){ 0 };
		done = policy_read_message(&m, 0, &a, &q, &errors, &f) == 0;
		if (!done)
			assert_int_equal(f.code, FAULT_LIMIT);
		arena_release(&a);
		arena_init(&a, cap);
		f = (struct fault){ 0 };
		if (policy_message(&p, &a, &out, &f) != 0)
			assert_int_equal(f.code, FAULT_LIMIT);
		arena_release(&a);
	}
	assert_true(done);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_policy_and_its_message_say_the_same),
		cmocka_unit_test(mistakes_are_named_by_their_fields),
		cmocka_unit_test(a_tool_is_named_once),
		cmocka_unit_test(an_absent_map_is_an_empty_one_in_a_child),
		cmocka_unit_test(a_small_arena_is_a_limit_at_any_size),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, end);
}
